package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim"
)

// Limits of the parser. They limit the cost of malicious input.
const (
	// MaxLength is the maximum length of a filter or path in bytes.
	MaxLength = 8192
	// MaxDepth is the maximum number of nested brackets.
	MaxDepth = 32
)

// Options extends the grammar, for languages based on this one.
type Options struct {
	// DeepPaths allows a.b.c.d. The path's Sub then holds "b.c.d". Default: at most one sub-attribute.
	DeepPaths bool
	// BareValues allows comparison values without quotes. They are strings unless they are JSON literals. Default: JSON literals only.
	BareValues bool
}

// Parse reads a filter (RFC 7644 section 3.4.2.2, figure 1). Operators and keywords are case-insensitive. The order of precedence is:
// grouping, attribute operators, not, and, or (erratum 4670). "not" needs parentheses, with or without a space before them (erratum 7319).
// Value filters may contain logical operators but no further value filter (errata 4690 and 7322). Several spaces count as one. Comparison
// values are JSON literals. In addition to the grammar, Parse accepts "$ref" as a name (erratum 8924) and a comparison after a value
// filter, see [ValuePath].
//
// The error is a *scim.Error, 400 invalidFilter, whose detail contains the position.
func Parse(s string) (Expr, error) {
	return ParseWith(s, Options{})
}

// ParseWith does the same as [Parse], with options.
func ParseWith(s string, o Options) (Expr, error) {
	p := parser{lexer: lexer{s: s, kind: scim.InvalidFilter, what: "filter"}, Options: o}
	if err := p.checkText(); err != nil {
		return nil, err
	}
	if p.space(); p.pos == len(s) {
		return nil, p.fail(0, "the filter is empty")
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(s) {
		return nil, p.fail(p.pos, "\"and\", \"or\" or the end is expected, not %s", p.found())
	}
	return e, nil
}

// ParsePath reads the path of a PATCH operation: attrPath / valuePath [subAttr] (RFC 7644 section 3.5.2). The value filter follows the
// rules of [Parse]. The error is a *scim.Error, 400 invalidPath, also for an error in the value filter.
func ParsePath(s string) (Path, error) {
	p := parser{lexer: lexer{s: s, kind: scim.InvalidPath, what: "path"}}
	if err := p.checkText(); err != nil {
		return Path{}, err
	}
	return p.path()
}

type parser struct {
	lexer
	Options
	depth   int
	inValue bool // inside the brackets of a value filter
}

func (p *parser) checkText() error {
	if len(p.s) > MaxLength {
		return p.fail(MaxLength, "more than %d bytes", MaxLength)
	}
	if !utf8.ValidString(p.s) {
		return p.fail(0, "the input is not valid UTF-8")
	}
	return nil
}

func (p *parser) path() (Path, error) {
	attr, err := p.attrPath()
	if err != nil {
		return Path{}, err
	}
	path := Path{Attr: attr}
	if p.peek() == '[' {
		if path.Filter, err = p.valueFilter(attr); err != nil {
			return Path{}, err
		}
		if p.peek() == '.' {
			if path.Sub, err = p.subAttribute(); err != nil {
				return Path{}, err
			}
		}
	}
	if p.pos < len(p.s) {
		return Path{}, p.fail(p.pos, "the end is expected, not %s", p.found())
	}
	return path, nil
}

func (p *parser) or() (Expr, error) {
	return p.chain("or", p.and, func(x, y Expr) Expr { return Or{x, y} })
}

func (p *parser) and() (Expr, error) {
	return p.chain("and", p.term, func(x, y Expr) Expr { return And{x, y} })
}

// chain reads operands joined by a keyword, grouped from the left.
func (p *parser) chain(keyword string, operand func() (Expr, error), join func(x, y Expr) Expr) (Expr, error) {
	x, err := operand()
	if err != nil {
		return nil, err
	}
	for {
		end := p.pos
		p.space()
		start := p.pos
		if !p.keyword(keyword) {
			p.pos = end
			return x, nil
		}
		if start == end || p.peek() != ' ' {
			return nil, p.fail(start, "spaces are expected around %q", keyword)
		}
		y, err := operand()
		if err != nil {
			return nil, err
		}
		x = join(x, y)
	}
}

func (p *parser) term() (Expr, error) {
	p.space()
	if p.peek() == '(' {
		return p.group()
	}
	start := p.pos
	if p.keyword("not") {
		afterNot := p.pos
		p.space()
		if p.peek() == '(' {
			x, err := p.group()
			return Not{x}, err
		}
		p.pos = start
		// An attribute may have the name "not". In that case, an operator follows.
		if e, err := p.attrExpr(); err == nil {
			return e, nil
		}
		return nil, p.fail(afterNot, "\"not\" needs parentheses")
	}
	return p.attrExpr()
}

// group reads a parenthesized filter.
func (p *parser) group() (Expr, error) {
	return p.nested('(', ')')
}

// nested reads a filter between two brackets.
func (p *parser) nested(opening, closing byte) (Expr, error) {
	start := p.pos
	if p.depth++; p.depth > MaxDepth {
		return nil, p.fail(start, "more than %d brackets are open", MaxDepth)
	}
	p.take(opening)
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	p.space()
	if !p.take(closing) {
		return nil, p.fail(p.pos, "%q is expected to close the %q at character %d, not %s",
			closing, opening, utf8.RuneCountInString(p.s[:start])+1, p.found())
	}
	p.depth--
	return e, nil
}

func (p *parser) attrExpr() (Expr, error) {
	path, err := p.attrPath()
	if err != nil {
		return nil, err
	}
	if p.peek() != '[' {
		op, value, err := p.comparison()
		if err != nil {
			return nil, err
		}
		if op == Pr {
			return Present{path}, nil
		}
		return Compare{path, op, value}, nil
	}
	e := ValuePath{Path: path}
	if e.Filter, err = p.valueFilter(path); err != nil {
		return nil, err
	}
	if p.peek() == '.' {
		if e.Sub, err = p.subAttribute(); err != nil {
			return nil, err
		}
		if e.Op, e.Value, err = p.comparison(); err != nil {
			return nil, err
		}
	}
	switch c := p.peek(); {
	case p.pos >= len(p.s), c == ' ', c == ')':
		return e, nil
	}
	return nil, p.fail(p.pos, "a space is expected after the value filter, not %s", p.found())
}

func (p *parser) attrPath() (scim.AttrPath, error) {
	start := p.pos
	w := p.word()
	if w == "" {
		return scim.AttrPath{}, p.fail(start, "an attribute is expected, not %s", p.found())
	}
	path, err := parseAttrPath(w, p.DeepPaths)
	if err != nil {
		return scim.AttrPath{}, p.fail(start, "%v", err)
	}
	if path.Name == "" && p.kind == scim.InvalidFilter {
		return scim.AttrPath{}, p.fail(start, "%q does not name an attribute", w)
	}
	if p.inValue && !p.DeepPaths && (path.URN != "" || path.Sub != "") {
		return scim.AttrPath{}, p.fail(start, "a value filter names sub-attributes, %q is not a sub-attribute", w)
	}
	return path, nil
}

// parseAttrPath does the same as scim.ParseAttrPath. In addition, the part after the first dot may contain dots if deep is set.
func parseAttrPath(w string, deep bool) (scim.AttrPath, error) {
	path, err := scim.ParseAttrPath(w)
	if err == nil || !deep {
		return path, err
	}
	colon := strings.LastIndexByte(w, ':') + 1
	name, rest, _ := strings.Cut(w[colon:], ".")
	if path, err = scim.ParseAttrPath(w[:colon] + name); err != nil {
		return scim.AttrPath{}, err
	}
	for part := range strings.SplitSeq(rest, ".") {
		if q, err := scim.ParseAttrPath(part); err != nil || q.Name != part {
			return scim.AttrPath{}, fmt.Errorf("%q is not an attribute name", part)
		}
	}
	path.Sub = rest
	return path, nil
}

func (p *parser) valueFilter(path scim.AttrPath) (Expr, error) {
	if p.inValue {
		return nil, p.fail(p.pos, "a value filter cannot be part of another")
	}
	if !p.DeepPaths && path.Sub != "" || path.Name == "" {
		return nil, p.fail(p.pos, "%q cannot have a value filter", path)
	}
	p.inValue = true
	defer func() { p.inValue = false }()
	return p.nested('[', ']')
}

// subAttribute reads the sub-attribute after a value filter, including its dot.
func (p *parser) subAttribute() (string, error) {
	p.take('.')
	start := p.pos
	w := p.word()
	sub, err := scim.ParseAttrPath(w)
	if err != nil || sub.Name != w {
		return "", p.fail(start, "a sub-attribute is expected, not %q", w)
	}
	return w, nil
}

func (p *parser) comparison() (Op, any, error) {
	if p.pos < len(p.s) && p.peek() != ' ' {
		return "", nil, p.fail(p.pos, "a space is expected, not %s", p.found())
	}
	p.space()
	start := p.pos
	op := Op(strings.ToLower(p.word()))
	switch op {
	case Pr:
		return Pr, nil, p.boundary()
	case Eq, Ne, Co, Sw, Ew, Gt, Ge, Lt, Le:
	default:
		p.pos = start
		return "", nil, p.fail(start, "an operator (eq, ne, co, sw, ew, gt, ge, lt, le, pr) is expected, not %s", p.found())
	}
	if p.pos < len(p.s) && p.peek() != ' ' {
		return "", nil, p.fail(p.pos, "a space is expected after the operator, not %s", p.found())
	}
	p.space()
	value, err := p.literal(p.BareValues)
	return op, value, err
}
