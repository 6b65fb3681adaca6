package splice

import (
	"slices"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// Field is a sub-attribute of a derived attribute. Derived attributes are not stored with the resource: members of a group, and groups of
// a user.
type Field string

// The fields of members of a group and of groups of a user, in the order in which the server writes them.
const (
	Value   Field = "value"
	Ref     Field = "$ref"
	Type    Field = "type"
	Display Field = "display"
)

// The fields of the derived attributes, in the order of a response that contains all of them.
var (
	MemberFields = []Field{Value, Ref, Type, Display}
	GroupFields  = []Field{Value, Ref, Display, Type}
)

// elementField is a field with its name in the response.
type elementField struct {
	field Field
	name  string
}

// elementFields returns the fields of an element in the order of the response.
func elementFields(a schema.Visibility, all []Field) []elementField {
	var out []elementField
	switch a.Shown {
	case schema.Wholly:
		for _, f := range all {
			out = append(out, elementField{f, string(f)})
		}
	case schema.Partly:
		for _, sub := range a.Subs {
			i := slices.IndexFunc(all, func(f Field) bool { return scim.EqualName(sub, string(f)) })
			if i >= 0 {
				out = append(out, elementField{all[i], sub})
			}
		}
	}
	return out
}

// Element is a member of a group, or a group of a user.
type Element struct {
	Value string
	// Location is the prefix of the reference, as [Prefix] returns it. If it is nil, there is no reference.
	Location []byte
	Type     string
	Display  string // empty if there is none
}

// AppendElement appends an element of the derived attribute, preceded by a comma. If the projection of the request excludes all
// fields of the element, it appends nothing.
func (p *Plan) AppendElement(dst []byte, e *Element) []byte {
	start := len(dst)
	dst = append(dst, ',')
	separator := byte('{')
	for _, f := range p.element {
		text := ""
		switch f.field {
		case Value:
			text = e.Value
		case Type:
			text = e.Type
		case Display:
			if text = e.Display; text == "" {
				continue
			}
		case Ref:
			if e.Location == nil {
				continue
			}
		}
		dst = append(append(append(dst, separator, '"'), f.name...), '"', ':')
		separator = ','
		if f.field == Ref {
			dst = AppendReference(dst, e.Location, e.Value)
		} else {
			dst = scim.AppendString(dst, text)
		}
	}
	if separator == '{' {
		return dst[:start]
	}
	return append(dst, '}')
}
