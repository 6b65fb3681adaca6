package filter

import "github.com/scimwright/scimwright/scim"

// String returns "X and Y", with parentheses where the precedence requires them.
func (e And) String() string { return string(e.appendTo(nil)) }

// String returns "X or Y", with parentheses where the precedence requires them.
func (e Or) String() string { return string(e.appendTo(nil)) }

// String returns "not (X)".
func (e Not) String() string { return string(e.appendTo(nil)) }

// String returns "path op value".
func (e Compare) String() string { return string(e.appendTo(nil)) }

// String returns "path pr".
func (e Present) String() string { return string(e.appendTo(nil)) }

// String returns "path[filter]" and, with Op set, ".sub op value".
func (e ValuePath) String() string { return string(e.appendTo(nil)) }

// String returns the path in the form that ParsePath reads.
func (p Path) String() string {
	dst := []byte(p.Attr.String())
	if p.Filter != nil {
		dst = append(dst, '[')
		dst = p.Filter.appendTo(dst)
		dst = append(dst, ']')
		if p.Sub != "" {
			dst = append(dst, '.')
			dst = append(dst, p.Sub...)
		}
	}
	return string(dst)
}

func (e And) appendTo(dst []byte) []byte {
	_, or := e.X.(Or)
	dst = appendGroup(dst, e.X, or)
	dst = append(dst, " and "...)
	switch e.Y.(type) {
	case And, Or:
		return appendGroup(dst, e.Y, true)
	}
	return e.Y.appendTo(dst)
}

func (e Or) appendTo(dst []byte) []byte {
	dst = e.X.appendTo(dst)
	dst = append(dst, " or "...)
	_, or := e.Y.(Or)
	return appendGroup(dst, e.Y, or)
}

func (e Not) appendTo(dst []byte) []byte {
	return appendGroup(append(dst, "not "...), e.X, true)
}

func (e Compare) appendTo(dst []byte) []byte {
	return appendComparison(append(dst, e.Path.String()...), e.Op, e.Value)
}

func (e Present) appendTo(dst []byte) []byte {
	return appendComparison(append(dst, e.Path.String()...), Pr, nil)
}

func (e ValuePath) appendTo(dst []byte) []byte {
	dst = append(dst, e.Path.String()...)
	dst = append(dst, '[')
	dst = e.Filter.appendTo(dst)
	dst = append(dst, ']')
	if e.Op == "" {
		return dst
	}
	dst = append(dst, '.')
	return appendComparison(append(dst, e.Sub...), e.Op, e.Value)
}

func appendComparison(dst []byte, op Op, value any) []byte {
	dst = append(dst, ' ')
	dst = append(dst, op...)
	if op == Pr {
		return dst
	}
	dst = append(dst, ' ')
	return scim.AppendValue(dst, value)
}

func appendGroup(dst []byte, e Expr, parentheses bool) []byte {
	if !parentheses {
		return e.appendTo(dst)
	}
	dst = append(dst, '(')
	dst = e.appendTo(dst)
	return append(dst, ')')
}
