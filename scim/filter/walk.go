package filter

import "github.com/scimwright/scimwright/scim"

// Walk calls visit for the expression. If visit returns true, Walk also visits the expressions inside it. The filter of a ValuePath is
// inside the ValuePath; its paths name sub-attributes.
func Walk(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	switch e := e.(type) {
	case And:
		Walk(e.X, visit)
		Walk(e.Y, visit)
	case Or:
		Walk(e.X, visit)
		Walk(e.Y, visit)
	case Not:
		Walk(e.X, visit)
	case ValuePath:
		Walk(e.Filter, visit)
	}
}

// Equal reports whether two expressions have the same structure. Paths are compared case-insensitively and numbers by value. "a and b" does
// not equal "b and a".
func Equal(a, b Expr) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case And:
		b, ok := b.(And)
		return ok && Equal(a.X, b.X) && Equal(a.Y, b.Y)
	case Or:
		b, ok := b.(Or)
		return ok && Equal(a.X, b.X) && Equal(a.Y, b.Y)
	case Not:
		b, ok := b.(Not)
		return ok && Equal(a.X, b.X)
	case Compare:
		b, ok := b.(Compare)
		return ok && a.Path.Equal(b.Path) && a.Op == b.Op && scim.Equal(a.Value, b.Value)
	case Present:
		b, ok := b.(Present)
		return ok && a.Path.Equal(b.Path)
	case ValuePath:
		b, ok := b.(ValuePath)
		return ok && a.Path.Equal(b.Path) && Equal(a.Filter, b.Filter) &&
			scim.EqualName(a.Sub, b.Sub) && a.Op == b.Op && scim.Equal(a.Value, b.Value)
	}
	return false
}
