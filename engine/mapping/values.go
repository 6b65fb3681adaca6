package mapping

import "github.com/scimwright/scimwright/internal/expression"

// Kind is the type of an attribute's value.
type Kind string

// The kinds of attributes. The type of an attribute of kind Any is determined at evaluation.
const (
	Any     Kind = "any"
	String  Kind = "string"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Array   Kind = "array"
	Object  Kind = "object"
)

// Names lists the attributes that expressions may refer to: their kind by object and attribute. [Compile] rejects any other attribute.
type Names map[string]map[string]Kind

// Values has the attributes of one user, by object and attribute, and the groups of that user.
type Values struct {
	Objects map[string]map[string]any
	// Groups of the user, for isMemberOf... and Groups.*.
	Groups []Group
}

// Group is a group of a user.
type Group struct {
	ID, Name string
	App      string // source of the group, the first argument of the functions Groups.*
}

func (n Names) expression() expression.Names {
	all := make(expression.Names, len(n))
	for object, attributes := range n {
		all[object] = make(map[string]expression.Kind, len(attributes))
		for name, kind := range attributes {
			all[object][name] = expression.Kind(kind)
		}
	}
	return all
}

func (v Values) expression() expression.Values {
	all := expression.Values{Objects: v.Objects}
	for _, g := range v.Groups {
		all.Groups = append(all.Groups, expression.Group(g))
	}
	return all
}
