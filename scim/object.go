package scim

import (
	"encoding/json"
	"iter"
	"slices"
)

// Object is a complex value: attributes in their original order with case-insensitive names (RFC 7643 section 2.1).
//
// A value has one of the stored kinds: nil, bool, string, json.Number, []any, *Object. The zero value of Object is an empty object. The
// reading methods accept a nil receiver and treat it as an empty object. Several goroutines may read an Object concurrently if no goroutine
// changes it.
type Object struct {
	members []Member
}

// Member is one name and its value.
type Member struct {
	Name  string
	Value any
}

// NewObject returns an object with the given members. A later member replaces an earlier one of the same name. Values are normalized as by
// [Object.Set].
func NewObject(members ...Member) *Object {
	o := &Object{members: make([]Member, 0, len(members))}
	for _, m := range members {
		o.Set(m.Name, m.Value)
	}
	return o
}

// Grow reserves space for n more members, so that setting them allocates once.
func (o *Object) Grow(n int) { o.members = slices.Grow(o.members, n) }

// Len returns the number of members.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.members)
}

// Get returns the value stored under name. The second result reports whether the member exists.
func (o *Object) Get(name string) (any, bool) {
	if i := o.find(name); i >= 0 {
		return o.members[i].Value, true
	}
	return nil, false
}

// Set stores value under name. An existing member keeps its position and its spelling. A new one is appended.
//
// The value is normalized by [Value]; a value of a stored kind is not copied. Set panics if the value cannot be represented in JSON (a
// channel, a NaN), because that is a programming error. Call Value first if the input could contain such a value.
func (o *Object) Set(name string, value any) {
	v, err := Value(value)
	if err != nil {
		panic("scim: Object.Set " + name + ": " + err.Error())
	}
	if i := o.find(name); i >= 0 {
		o.members[i].Value = v
		return
	}
	o.members = append(o.members, Member{Name: name, Value: v})
}

// Delete removes the member and reports whether it existed.
func (o *Object) Delete(name string) bool {
	i := o.find(name)
	if i < 0 {
		return false
	}
	o.members = slices.Delete(o.members, i, i+1)
	return true
}

// All yields the members in order. No member may be added or removed during the iteration.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for _, m := range o.members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// Copy returns a shallow copy: a separate member list with the same values. It returns nil for nil.
func (o *Object) Copy() *Object {
	if o == nil {
		return nil
	}
	return &Object{members: slices.Clone(o.members)}
}

// Clone returns a deep copy. It returns nil for nil.
func (o *Object) Clone() *Object {
	if o == nil {
		return nil
	}
	c := &Object{members: make([]Member, len(o.members))}
	for i, m := range o.members {
		c.members[i] = Member{Name: m.Name, Value: CloneValue(m.Value)}
	}
	return c
}

// CloneValue returns a deep copy of a stored value.
func CloneValue(v any) any {
	switch v := v.(type) {
	case *Object:
		if v == nil {
			return nil
		}
		return v.Clone()
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = CloneValue(e)
		}
		return c
	default:
		return v
	}
}

// Text returns the string stored under name, or "" if the member is absent or not a string.
func (o *Object) Text(name string) string {
	v, _ := o.Get(name)
	s, _ := v.(string)
	return s
}

// Bool returns the boolean stored under name. ok is false if the member is absent or not a boolean.
func (o *Object) Bool(name string) (value, ok bool) {
	v, _ := o.Get(name)
	value, ok = v.(bool)
	return value, ok
}

// Complex returns the object stored under name, or nil if the member is absent or not an object. The reading methods accept nil, so
// o.Complex("name").Text("familyName") is always safe.
func (o *Object) Complex(name string) *Object {
	v, _ := o.Get(name)
	c, _ := v.(*Object)
	return c
}

// Array returns the values stored under name. A value that is not an array is returned as one element. For null and an absent member, Array
// returns no elements.
func (o *Object) Array(name string) []any {
	v, _ := o.Get(name)
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	return o.AppendJSON(nil), nil
}

// UnmarshalJSON reads the object as [Decode] does.
func (o *Object) UnmarshalJSON(data []byte) error {
	d, err := Decode(data)
	if err != nil {
		return err
	}
	*o = *d
	return nil
}

var (
	_ json.Marshaler   = Object{}
	_ json.Unmarshaler = (*Object)(nil)
)

func (o *Object) find(name string) int {
	if o == nil {
		return -1
	}
	for i := range o.members {
		if EqualName(o.members[i].Name, name) {
			return i
		}
	}
	return -1
}

// EqualName reports whether two attribute names or URNs are equal, ignoring the case of ASCII letters. Names are ASCII (RFC 7643 section
// 2.1); if other letters were folded too, names with look-alike characters could match a known attribute.
func EqualName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	if a == b { // often the same string, which has the same address
		return true
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x|0x20 != y|0x20 {
			return false
		}
		if x |= 0x20; x < 'a' || x > 'z' {
			return false
		}
	}
	return true
}

// texts returns the strings among the values stored under name.
func (o *Object) texts(name string) []string {
	var out []string
	for _, v := range o.Array(name) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
