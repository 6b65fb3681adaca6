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

// Textual reports whether the operator searches for a substring: co, sw and ew.
func (o Op) Textual() bool { return o == Co || o == Sw || o == Ew }

// Finds reports whether text contains part as the operator requires: anywhere for co, at the start for sw, at the end for ew. It returns
// false for any other operator.
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

// Holds reports whether a comparison with eq, ne, gt, ge, lt or le is true. order is the order of the two values, as returned by
// cmp.Compare. Holds returns false for any other operator.
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

// Expr is a filter expression: one of the values And, Or, Not, Compare, Present and ValuePath (never a pointer to one of them).
type Expr interface {
	// String returns the expression as a filter string, which Parse reads as an equal expression.
	String() string
	appendTo(dst []byte) []byte
}

// And is true if both X and Y are true.
type And struct{ X, Y Expr }

// Or is true if X or Y is true.
type Or struct{ X, Y Expr }

// Not is true if X is false.
type Not struct{ X Expr }

// Compare compares an attribute with a value: nil, bool, string or json.Number. Op is never Pr.
type Compare struct {
	Path  scim.AttrPath
	Op    Op
	Value any
}

// Present is true if the attribute has a value that is not empty.
type Present struct{ Path scim.AttrPath }

// ValuePath is true if one element of the attribute matches Filter, whose paths name sub-attributes. With Op set, the comparison of the
// element's sub-attribute Sub must also be true: emails[type eq "work"].value eq "x". RFC 7644 allows that form only as a PATCH path.
// Clients send it as a filter, so Parse accepts it.
type ValuePath struct {
	Path   scim.AttrPath
	Filter Expr
	Sub    string
	Op     Op
	Value  any
}

// Path is the path of a PATCH operation (RFC 7644 section 3.5.2): attrPath / valuePath [subAttr]. Filter is nil and Sub empty if the path
// is an attribute path. A sub-attribute without filter is in Attr.Sub.
type Path struct {
	Attr   scim.AttrPath
	Filter Expr
	Sub    string
}
