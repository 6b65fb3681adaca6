package filter

import (
	"strings"

	"github.com/scimwright/scimwright/scim"
)

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

// Textual says whether the operator looks for a part of a text: co, sw and ew.
func (o Op) Textual() bool { return o == Co || o == Sw || o == Ew }

// Finds says whether a text has the part that a textual operator looks for. No other operator finds anything.
func (o Op) Finds(text, part string) bool {
	switch o {
	case Co:
		return strings.Contains(text, part)
	case Sw:
		return strings.HasPrefix(text, part)
	case Ew:
		return strings.HasSuffix(text, part)
	}
	return false
}

// Holds says whether values in that order (as cmp.Compare tells it) fulfil eq, ne, gt, ge, lt or le. No other operator holds.
func (o Op) Holds(order int) bool {
	switch o {
	case Eq:
		return order == 0
	case Ne:
		return order != 0
	case Gt:
		return order > 0
	case Ge:
		return order >= 0
	case Lt:
		return order < 0
	case Le:
		return order <= 0
	}
	return false
}

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
