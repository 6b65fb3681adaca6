package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim"
)

// Limits of the reader.
const (
	// MaxSize is the maximum size of a document, in bytes.
	MaxSize = 16 << 20
	// MaxDepth is the maximum nesting depth of objects and arrays.
	MaxDepth = 64
	// MaxFindings is the maximum number of findings in a report; further ones are counted.
	MaxFindings = 500
)

// kind is the JSON kind of a value.
type kind string

const (
	kindObject kind = "an object"
	kindArray  kind = "an array"
	kindString kind = "a string"
	kindNumber kind = "a number"
	kindBool   kind = "a boolean"
	kindNull   kind = "null"
	kindBroken kind = "not a JSON value"
)

// A node is a JSON value with its place. The reading methods accept nil, which means absent.
type node struct {
	kind    kind
	at      int    // offset of its first byte
	path    string // JSONPath
	text    string // the value of a string, the source text of a number, boolean or null
	members []member
	items   []*node
	secret  bool // the value must not be shown
}

type member struct {
	name  string
	at    int
	value *node
}

// get returns the first member with that name, ignoring case.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if scim.EqualName(m.name, name) {
			return m.value
		}
	}
	return nil
}

// given is get, but returns nil for null, which SCIM treats as absent.
func (n *node) given(name string) *node {
	if v := n.get(name); v != nil && v.kind != kindNull {
		return v
	}
	return nil
}

func (n *node) is(k kind) bool { return n != nil && n.kind == k }

// string returns the value of a string, "" for any other value.
func (n *node) string() string {
	if n.is(kindString) {
		return n.text
	}
	return ""
}

// texts returns the strings of an array.
func (n *node) texts() []string {
	var out []string
	if n != nil {
		for _, item := range n.items {
			if item.kind == kindString {
				out = append(out, item.text)
			}
		}
	}
	return out
}

// integer returns the value of a JSON integer in the range of int.
func (n *node) integer() (int, bool) {
	if !n.is(kindNumber) || strings.ContainsAny(n.text, ".eE") {
		return 0, false
	}
	i, err := json.Number(n.text).Int64()
	return int(i), err == nil
}

// value converts a node to the types that package scim uses.
func (n *node) value() any {
	switch n.kind {
	case kindString:
		return n.text
	case kindNumber:
		return json.Number(n.text)
	case kindBool:
		return n.text == "true"
	case kindArray:
		out := make([]any, 0, len(n.items))
		for _, item := range n.items {
			out = append(out, item.value())
		}
		return out
	case kindObject:
		o := &scim.Object{}
		for _, m := range n.members {
			if _, twice := o.Get(m.name); !twice {
				o.Set(m.name, m.value.value())
			}
		}
		return o
	}
	return nil
}

// maxShown is the maximum number of characters of a value in a finding.
const maxShown = 80

// show returns a value as text for a finding. It never shows secrets, and shows only the kind of objects and arrays.
func (n *node) show() string {
	switch {
	case n == nil:
		return "nothing"
	case n.kind == kindObject, n.kind == kindArray, n.kind == kindNull:
		return string(n.kind)
	case n.secret:
		return "[redacted]"
	}
	text := n.text
	if n.kind == kindString {
		text = `"` + text + `"`
	}
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return text
}

// visible replaces control characters, with which a document could write over a terminal, by spaces.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// secretNames are parts of the names of members whose values are never shown.
var secretNames = []string{"password", "passwd", "secret", "token", "assertion", "apikey", "privatekey"}

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, s := range secretNames {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// A reader parses a document into nodes. It reports violations of JSON with an unambiguous meaning and continues: a byte order mark, bytes
// that are not UTF-8, duplicate names, NaN, a trailing comma. Any other violation stops it.
type reader struct {
	data  []byte
	i     int
	depth int
	l     *linter
}

// stop is the panic value for a violation that the reader cannot continue after.
type stop struct {
	at   int
	rule string
	want string
	got  string
}

// document reads the whole document. It returns nil if it is not JSON.
func (r *reader) document() (root *node) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case stop:
			r.l.at(v.at, "$", v.rule, v.want, v.got)
			root = nil
		default:
			panic(v)
		}
	}()
	if rest, found := bytes.CutPrefix(r.data[r.i:], []byte("\uFEFF")); found {
		r.l.at(0, "$", "json.byte-order-mark", "no byte order mark", "U+FEFF")
		r.i = len(r.data) - len(rest)
	}
	r.encoding()
	root = r.value("$", false)
	if r.space(); r.i < len(r.data) {
		panic(stop{r.i, "json.syntax", "the end of the document", r.next()})
	}
	return root
}

// encoding reports the first byte that is not UTF-8.
func (r *reader) encoding() {
	for i := r.i; i < len(r.data); {
		c, size := utf8.DecodeRune(r.data[i:])
		if c == utf8.RuneError && size == 1 {
			r.l.at(i, "$", "json.utf8", "UTF-8", fmt.Sprintf("the byte 0x%02X", r.data[i]))
			return
		}
		i += size
	}
}

func (r *reader) space() {
	for r.i < len(r.data) && strings.IndexByte(" \t\r\n", r.data[r.i]) >= 0 {
		r.i++
	}
}

// next names the next character, or the end of the document.
func (r *reader) next() string {
	if r.i >= len(r.data) {
		return "the end"
	}
	c, _ := utf8.DecodeRune(r.data[r.i:])
	if unicode.IsControl(c) || c == utf8.RuneError {
		return fmt.Sprintf("the byte 0x%02X", r.data[r.i])
	}
	return fmt.Sprintf("the character %c", c)
}

func (r *reader) fail(want string) { panic(stop{r.i, "json.syntax", want, r.next()}) }

func (r *reader) value(path string, secret bool) *node {
	r.space()
	n := &node{at: r.i, path: path, secret: secret}
	if r.i >= len(r.data) {
		r.fail("a value")
	}
	switch c := r.data[r.i]; {
	case c == '{':
		r.nest(func() { r.object(n) })
	case c == '[':
		r.nest(func() { r.array(n) })
	case c == '"':
		n.kind, n.text = kindString, r.text(path)
	case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		r.word(n)
	default:
		r.fail("a value")
	}
	return n
}

func (r *reader) nest(read func()) {
	if r.depth++; r.depth > MaxDepth {
		panic(stop{r.i, "json.depth", fmt.Sprintf("at most %d levels", MaxDepth), "more"})
	}
	read()
	r.depth--
}

func (r *reader) object(n *node) {
	n.kind = kindObject
	open := r.i
	r.i++
	seen := map[string]bool{}
	for first := true; ; first = false {
		if r.done('}', open, first) {
			return
		}
		at := r.i
		if r.i >= len(r.data) || r.data[r.i] != '"' {
			r.fail("a name in double quotation marks")
		}
		name := r.text(n.path)
		path := n.path + step(name)
		if folded := strings.ToLower(name); seen[folded] {
			r.l.at(at, path, "json.duplicate-member", "each name once, ignoring case", fmt.Sprintf("%q again", name))
		} else {
			seen[folded] = true
		}
		if r.space(); r.i >= len(r.data) || r.data[r.i] != ':' {
			r.fail("a colon")
		}
		r.i++
		n.members = append(n.members, member{name, at, r.value(path, n.secret || secretName(name))})
	}
}

func (r *reader) array(n *node) {
	n.kind = kindArray
	open := r.i
	r.i++
	for first := true; ; first = false {
		if r.done(']', open, first) {
			return
		}
		n.items = append(n.items, r.value(fmt.Sprintf("%s[%d]", n.path, len(n.items)), n.secret))
	}
}

// done moves to the next member or element. It reports whether it found the closing bracket instead.
func (r *reader) done(closing byte, open int, first bool) bool {
	r.space()
	if r.i < len(r.data) && r.data[r.i] == closing {
		r.i++
		return true
	}
	if first {
		if r.i >= len(r.data) {
			panic(stop{open, "json.syntax", fmt.Sprintf("a closing %c", closing), "the end"})
		}
		return false
	}
	if r.i >= len(r.data) || r.data[r.i] != ',' {
		r.fail(fmt.Sprintf("a comma or a closing %c", closing))
	}
	comma := r.i
	r.i++
	if r.space(); r.i < len(r.data) && r.data[r.i] == closing {
		r.l.at(comma, "$", "json.trailing-comma", fmt.Sprintf("no comma before %c", closing), "a comma")
		r.i++
		return true
	}
	return false
}

// text reads a string whose opening quotation mark is the next character.
func (r *reader) text(path string) string {
	start := r.i
	for r.i++; r.i < len(r.data) && r.data[r.i] != '"'; r.i++ {
		switch c := r.data[r.i]; {
		case c == '\\':
			r.i++
		case c < ' ':
			panic(stop{r.i, "json.syntax", "control characters in strings written as escapes, such as \\n", fmt.Sprintf("the byte 0x%02X", c)})
		}
	}
	if r.i >= len(r.data) {
		panic(stop{start, "json.syntax", "a closing quotation mark", "the end"})
	}
	r.i++
	raw := r.data[start:r.i]
	var text string
	if json.Unmarshal(raw, &text) != nil {
		panic(stop{start, "json.syntax", "only escapes that JSON defines", "an escape that JSON does not define"})
	}
	if strings.ContainsRune(text, utf8.RuneError) && utf8.Valid(raw) && !bytes.ContainsRune(raw, utf8.RuneError) &&
		!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
		r.l.at(start, path, "json.utf8", "pairs of surrogates", "an escape of half a surrogate pair")
	}
	return text
}

// word reads a number or one of the literals. It reports other literals, such as True or NaN.
func (r *reader) word(n *node) {
	start := r.i
	for r.i < len(r.data) && (r.data[r.i] == '-' || r.data[r.i] == '+' || r.data[r.i] == '.' || isAlphanumeric(r.data[r.i])) {
		r.i++
	}
	n.text = string(r.data[start:r.i])
	switch n.text {
	case "null":
		n.kind = kindNull
	case "true", "false":
		n.kind = kindBool
	case "NaN", "Infinity", "-Infinity", "undefined", "None", "True", "False":
		n.kind = kindBroken
		r.l.at(start, n.path, "json.literal", "true, false, null or a number", n.text)
	default:
		if n.kind = kindNumber; !json.Valid([]byte(n.text)) {
			r.i = start
			r.fail("a number, true, false, null or a string in double quotation marks")
		}
	}
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// step returns the part of a JSONPath that selects a member.
func step(name string) string {
	for i, c := range name {
		if c != '_' && (c > unicode.MaxASCII || !isAlphanumeric(byte(c)) || i == 0 && c <= '9') {
			quoted, _ := json.Marshal(name) // a string always has a JSON form
			return "[" + string(quoted) + "]"
		}
	}
	if name == "" {
		return `[""]`
	}
	return "." + name
}
