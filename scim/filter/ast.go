package filter

import "github.com/scimwright/scimwright/scim"

// Op is a comparison operator (RFC 7644 table 3), in lower case.
type Op string

// The operators.
const (
	Eq Op = "eq"
	Ne Op = "ne"
	Co Op = "co"
	Sw Op = "sw"
	Ew Op = "ew"
	Gt Op = "gt"
	Ge Op = "ge"
	Lt Op = "lt"
	Le Op = "le"
	Pr Op = "pr"
)

// Expr is a filter expression: one of the values And, Or, Not, Compare, Present and ValuePath (never pointers to them).
type Expr interface {
	// String writes the expression; Parse reads it back to an equal one.
	String() string
	appendTo(dst []byte) []byte
}

// And holds when both do.
type And struct{ X, Y Expr }

// Or holds when one of them does.
type Or struct{ X, Y Expr }

// Not holds when X does not.
type Not struct{ X Expr }

// Compare holds an attribute against a value: nil, bool, string or json.Number. Op is never Pr.
type Compare struct {
	Path  scim.AttrPath
	Op    Op
	Value any
}

// Present holds when the attribute has a value that is not empty.
type Present struct{ Path scim.AttrPath }

// ValuePath holds when one element of the attribute fulfils Filter, whose paths name sub-attributes. With Op set the
// element's sub-attribute Sub must stand the comparison too: emails[type eq "work"].value eq "x". RFC 7644 has that form
// only as a PATCH path; clients send it as a filter, so it is accepted.
type ValuePath struct {
	Path   scim.AttrPath
	Filter Expr
	Sub    string
	Op     Op
	Value  any
}

// Path is the path of a PATCH operation (RFC 7644 section 3.5.2): attrPath / valuePath [subAttr]. Filter is nil and Sub
// empty when the path is an attribute path; a sub-attribute without filter is Attr.Sub.
type Path struct {
	Attr   scim.AttrPath
	Filter Expr
	Sub    string
}
