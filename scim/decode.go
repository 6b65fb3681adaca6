package scim

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim/internal/jsonlit"
)

// Limits of [Decode]. Resources of RFC 7643 are four levels deep and have about thirty members. The limits protect the decoder against
// malicious input.
const (
	// MaxDepth is the maximum number of nested objects and arrays.
	MaxDepth = 32
	// MaxMembers is the maximum number of members per object.
	MaxMembers = 1024
	// MaxValueDepth is the maximum nesting depth of [DecodeValue].
	MaxValueDepth = 512
)

// usualMembers is the initial size of a decoder's stack of members: enough for most resources.
const usualMembers = 24

// linearMembers is the number of members up to which a linear comparison of names is faster than a map.
const linearMembers = 16

// SyntaxError reports the position at which the input is not the single JSON object or value that was expected.
type SyntaxError struct {
	Offset int64 // number of bytes before the error
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (at byte %d)", e.Msg, e.Offset)
}

// Decode reads exactly one JSON object. The input must be valid UTF-8 without byte order mark, and nothing may follow the object. An object
// must not have two members whose names are equal ignoring case. [MaxDepth] and [MaxMembers] apply. Decode rejects an escape that is half
// of a surrogate pair. The error is a *SyntaxError. Numbers keep their original notation. The strings of the result share memory: one copy
// of data.
func Decode(data []byte) (*Object, error) {
	d, err := newDecoder(data)
	if err != nil {
		return nil, err
	}
	defer d.release()
	d.space()
	if d.pos >= len(d.s) {
		return nil, d.fail("the input is empty, a JSON object is expected")
	}
	if d.s[d.pos] != '{' {
		return nil, d.fail("a JSON object is expected")
	}
	o, err := d.object()
	if err != nil {
		return nil, err
	}
	if d.space(); d.pos < len(d.s) {
		return nil, d.fail("text after the JSON object")
	}
	return o, nil
}

// DecodeValue reads exactly one JSON value of any kind, for JSON that is not SCIM. It is as strict as [Decode], with three differences:
// names that differ in case are different names, the number of members is not limited, and the depth is limited by [MaxValueDepth]. Objects
// are returned as map[string]any, arrays as []any, numbers as json.Number.
func DecodeValue(data []byte) (any, error) {
	d, err := newDecoder(data)
	if err != nil {
		return nil, err
	}
	defer d.release()
	d.exact, d.maxDepth, d.maxMembers = true, MaxValueDepth, math.MaxInt
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	if d.space(); d.pos < len(d.s) {
		return nil, d.fail("text after the JSON value")
	}
	return v, nil
}

// DecodeResource does the same as [Decode], for a resource.
func DecodeResource(data []byte) (*Resource, error) {
	o, err := Decode(data)
	if err != nil {
		return nil, err
	}
	return &Resource{Object: *o}, nil
}

func invalidUTF8(s string) int64 {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return int64(i)
		}
		i += n
	}
	return int64(len(s))
}

// decoder reads JSON from s. The members and elements of open objects and arrays are collected on two stacks. A finished object or array is
// copied once, to its exact size.
type decoder struct {
	s        string
	pos      int
	depth    int
	members  []Member
	elements []any

	exact                bool // for DecodeValue
	maxDepth, maxMembers int
}

func newDecoder(data []byte) (*decoder, error) {
	if len(data) >= 3 && data[0] == 0xEF && data[1] == 0xBB && data[2] == 0xBF {
		return nil, &SyntaxError{0, "byte order mark before the JSON text"}
	}
	s := string(data)
	if !utf8.ValidString(s) {
		return nil, &SyntaxError{invalidUTF8(s), "the input is not valid UTF-8"}
	}
	d, ok := decoders.Get().(*decoder)
	if !ok {
		d = &decoder{}
	}
	*d = decoder{s: s, members: d.members, elements: d.elements, maxDepth: MaxDepth, maxMembers: MaxMembers}
	return d, nil
}

// decoders has decoders whose stacks are used again.
var decoders sync.Pool

// keptStack is the maximum size of a stack that is used again.
const keptStack = 256

// release ends the use of the decoder. Its stacks then refer to no values.
func (d *decoder) release() {
	if cap(d.members) > keptStack || cap(d.elements) > keptStack {
		return
	}
	clear(d.members[:cap(d.members)])
	clear(d.elements[:cap(d.elements)])
	d.s, d.members, d.elements = "", d.members[:0], d.elements[:0]
	decoders.Put(d)
}

func (d *decoder) fail(msg string) error {
	return &SyntaxError{int64(d.pos), msg}
}

func (d *decoder) space() {
	for d.pos < len(d.s) {
		switch d.s[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte at the reading position, 0 at the end.
func (d *decoder) next() byte {
	d.space()
	if d.pos < len(d.s) {
		return d.s[d.pos]
	}
	return 0
}

func (d *decoder) open() error {
	if d.depth++; d.depth > d.maxDepth {
		return d.fail(fmt.Sprintf("more than %d levels of objects and arrays", d.maxDepth))
	}
	d.pos++
	return nil
}

func (d *decoder) value() (any, error) {
	switch c := d.next(); c {
	case '{':
		if d.exact {
			return d.mapping()
		}
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.string()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		end, err := jsonlit.Number(d.s, d.pos)
		if err != nil {
			return nil, &SyntaxError{int64(err.Pos), err.Msg}
		}
		n := json.Number(d.s[d.pos:end])
		d.pos = end
		return n, nil
	default:
		return nil, d.fail("a JSON value is expected")
	}
}

func (d *decoder) word(w string) error {
	if !strings.HasPrefix(d.s[d.pos:], w) {
		return d.fail("a JSON value is expected")
	}
	d.pos += len(w)
	return nil
}

func (d *decoder) string() (string, error) {
	v, end, err := jsonlit.String(d.s, d.pos)
	if err != nil {
		return "", &SyntaxError{int64(err.Pos), err.Msg}
	}
	d.pos = end
	return v, nil
}

func (d *decoder) array() ([]any, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	base := len(d.elements)
	if d.next() == ']' {
		d.pos++
		d.depth--
		return []any{}, nil
	}
	for {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		d.elements = append(d.elements, v)
		switch d.next() {
		case ',':
			d.pos++
		case ']':
			d.pos++
			d.depth--
			out := slices.Clone(d.elements[base:])
			d.elements = d.elements[:base]
			return out, nil
		default:
			return nil, d.fail("a comma or the end of the array is expected")
		}
	}
}

func (d *decoder) object() (*Object, error) {
	base := len(d.members)
	if err := d.names(base); err != nil {
		return nil, err
	}
	o := &Object{}
	if len(d.members) > base {
		o.members = slices.Clone(d.members[base:])
	}
	d.members = d.members[:base]
	return o, nil
}

func (d *decoder) mapping() (map[string]any, error) {
	base := len(d.members)
	if err := d.names(base); err != nil {
		return nil, err
	}
	m := make(map[string]any, len(d.members)-base)
	for _, member := range d.members[base:] {
		m[member.Name] = member.Value
	}
	d.members = d.members[:base]
	return m, nil
}

// names reads the members of an object and pushes them onto the stack. base is the number of members on the stack before this object.
func (d *decoder) names(base int) error {
	if err := d.open(); err != nil {
		return err
	}
	if d.next() == '}' {
		d.pos++
		d.depth--
		return nil
	}
	if d.members == nil {
		d.members = make([]Member, 0, usualMembers)
	}
	var seen map[string]struct{}
	for {
		if d.next() != '"' {
			return d.fail("a member name in quotes is expected")
		}
		at := d.pos
		name, err := d.string()
		if err != nil {
			return err
		}
		if seen, err = d.checkName(name, base, seen); err != nil {
			d.pos = at
			return d.fail(err.Error())
		}
		if d.next() != ':' {
			return d.fail("a colon is expected after the member name")
		}
		d.pos++
		v, err := d.value()
		if err != nil {
			return err
		}
		d.members = append(d.members, Member{Name: name, Value: v})
		switch d.next() {
		case ',':
			d.pos++
		case '}':
			d.pos++
			d.depth--
			return nil
		default:
			return d.fail("a comma or the end of the object is expected")
		}
	}
}

// checkName rejects a duplicate name in the object whose members start at base on the stack.
func (d *decoder) checkName(name string, base int, seen map[string]struct{}) (map[string]struct{}, error) {
	members := d.members[base:]
	switch {
	case len(members) >= d.maxMembers:
		return nil, fmt.Errorf("more than %d members in an object", d.maxMembers)
	case len(members) < linearMembers:
		for i := range members {
			if members[i].Name == name || !d.exact && EqualName(members[i].Name, name) {
				return nil, fmt.Errorf("the name %q occurs twice in an object", name)
			}
		}
		return nil, nil
	case seen == nil:
		seen = make(map[string]struct{}, 2*linearMembers)
		for _, m := range members {
			seen[d.key(m.Name)] = struct{}{}
		}
	}
	key := d.key(name)
	if _, twice := seen[key]; twice {
		return nil, fmt.Errorf("the name %q occurs twice in an object", name)
	}
	seen[key] = struct{}{}
	return seen, nil
}

// key maps names that are duplicates of each other to the same string.
func (d *decoder) key(name string) string {
	if d.exact {
		return name
	}
	return lowerName(name)
}

// lowerName maps names that are equal by [EqualName], and only those, to the same string.
func lowerName(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for i, c := range b {
				if c >= 'A' && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
