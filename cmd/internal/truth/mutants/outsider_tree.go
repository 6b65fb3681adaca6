package mutants

import (
	"encoding/json"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// An expr is a filter expression (RFC 7644 section 3.4.2.2): conjunction, disjunction, negation, comparison, presence or bracketed. The
// mutants have their own reader of filters, so that an error in package filter cannot hide a fault.
type expr interface{ String() string }

type (
	conjunction struct{ x, y expr }
	disjunction struct{ x, y expr }
	negation    struct{ x expr }
	presence    struct{ path scim.AttrPath }
	// A comparison has the operator in lower case and the operand as JSON.
	comparison struct {
		path        scim.AttrPath
		op, operand string
	}
	// bracketed is a value path: an attribute and the filter in brackets.
	bracketed struct {
		path   scim.AttrPath
		filter expr
	}
)

// text returns the operand if it is a string.
func (c comparison) text() (text string, ok bool) {
	ok = json.Unmarshal([]byte(c.operand), &text) == nil && strings.HasPrefix(c.operand, `"`)
	return text, ok
}

func (e conjunction) String() string { return operand(e.x) + " and " + operand(e.y) }
func (e disjunction) String() string { return e.x.String() + " or " + e.y.String() }
func (e negation) String() string    { return "not (" + e.x.String() + ")" }
func (e presence) String() string    { return e.path.String() + " pr" }
func (c comparison) String() string  { return c.path.String() + " " + c.op + " " + c.operand }
func (e bracketed) String() string   { return e.path.String() + "[" + e.filter.String() + "]" }

// operand returns an operand of and, in parentheses if it is a disjunction.
func operand(e expr) string {
	if _, ok := e.(disjunction); ok {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// A filterReader reads a filter. ok becomes false at the first token that does not conform to the grammar.
type filterReader struct {
	rest string
	ok   bool
}

// parseFilter returns the tree of a filter. ok is false if the filter is invalid.
func parseFilter(filter string) (e expr, ok bool) {
	p := &filterReader{rest: filter, ok: true}
	e = p.disjunction()
	return e, p.ok && p.token() == ""
}

// token returns the next token and does not consume it: a parenthesis, a bracket, a string or a word.
func (p *filterReader) token() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	if p.rest == "" {
		return ""
	}
	switch p.rest[0] {
	case '(', ')', '[', ']':
		return p.rest[:1]
	case '"':
		for i := 1; i < len(p.rest); i++ {
			switch p.rest[i] {
			case '\\':
				i++
			case '"':
				return p.rest[:i+1]
			}
		}
		return p.rest
	}
	if end := strings.IndexAny(p.rest, ` ()[]"`); end >= 0 {
		return p.rest[:end]
	}
	return p.rest
}

func (p *filterReader) next() string {
	t := p.token()
	p.rest = p.rest[len(t):]
	return t
}

// take consumes the next token if it is word in any case.
func (p *filterReader) take(word string) bool {
	if !strings.EqualFold(p.token(), word) {
		return false
	}
	p.next()
	return true
}

func (p *filterReader) expect(word string) { p.ok = p.take(word) && p.ok }

func (p *filterReader) disjunction() expr {
	e := p.conjunction()
	for p.ok && p.take("or") {
		e = disjunction{e, p.conjunction()}
	}
	return e
}

func (p *filterReader) conjunction() expr {
	e := p.condition()
	for p.ok && p.take("and") {
		e = conjunction{e, p.condition()}
	}
	return e
}

func (p *filterReader) condition() expr {
	if p.take("not") {
		p.expect("(")
		e := p.disjunction()
		p.expect(")")
		return negation{e}
	}
	if p.take("(") {
		e := p.disjunction()
		p.expect(")")
		return e
	}
	path, err := scim.ParseAttrPath(p.next())
	if err != nil || !p.ok {
		p.ok = false
		return presence{}
	}
	if p.take("[") {
		e := p.disjunction()
		p.expect("]")
		p.ok = p.ok && !strings.HasPrefix(p.rest, ".")
		return bracketed{path, e}
	}
	op := strings.ToLower(p.next())
	if op == "pr" {
		return presence{path}
	}
	value := p.next()
	p.ok = p.ok && isKeyword(op) && json.Valid([]byte(value))
	return comparison{path, op, value}
}

// rebuild applies fn to every expression of a tree, the operands before the expression. It does not enter brackets.
func rebuild(e expr, fn func(expr) expr) expr {
	switch t := e.(type) {
	case conjunction:
		e = conjunction{rebuild(t.x, fn), rebuild(t.y, fn)}
	case disjunction:
		e = disjunction{rebuild(t.x, fn), rebuild(t.y, fn)}
	case negation:
		e = negation{rebuild(t.x, fn)}
	}
	return fn(e)
}

// rebuilt returns a filter after rebuild. An invalid filter does not change.
func rebuilt(filter string, fn func(expr) expr) string {
	e, ok := parseFilter(filter)
	if !ok {
		return filter
	}
	return rebuild(e, fn).String()
}

// never returns an expression that matches no resource and has the attributes of e.
func never(e expr) expr { return conjunction{e, negation{e}} }

// pathOf returns the path of a comparison or of pr.
func pathOf(e expr) (path scim.AttrPath, ok bool) {
	switch t := e.(type) {
	case comparison:
		return t.path, true
	case presence:
		return t.path, true
	}
	return scim.AttrPath{}, false
}

// splitPath returns the parts of the path of a PATCH operation: attribute, filter in brackets or "", and sub-attribute after the brackets.
func splitPath(path string) (attribute scim.AttrPath, filter, sub string) {
	before, rest, found := strings.Cut(path, "[")
	attribute, err := scim.ParseAttrPath(before)
	if err != nil || !found {
		return attribute, "", ""
	}
	insideBrackets(path, func(inner string) string {
		if filter == "" {
			filter = inner
		}
		return inner
	})
	return attribute, filter, strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(rest, filter), "]"), ".")
}
