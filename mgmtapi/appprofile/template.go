package appprofile

import (
	"fmt"
	"strings"
)

// DefaultTemplate is the user name template of an application that names none.
const DefaultTemplate = "${source.login}"

// MaxTemplateLength is the longest template accepted, in bytes.
const MaxTemplateLength = 1024

// maxNesting bounds calls within calls.
const maxNesting = 8

// Template is a compiled user name template: literal text mixed with
// expressions in ${...}. An expression is source.<attribute> or
// user.<attribute>, both the user's profile attribute; a quoted string; or
// fn:substringBefore(expression, expression). Safe for concurrent use.
type Template struct{ parts []expression }

// Attributes gives the text of a user's profile attribute, "" when unset.
type Attributes func(name string) string

// expression evaluates to text.
type expression func(Attributes) string

// CompileTemplate compiles a template. The predicate says which attributes a
// user can have. The error is meant for the caller.
func CompileTemplate(text string, known func(attribute string) bool) (*Template, error) {
	if len(text) > MaxTemplateLength {
		return nil, fmt.Errorf("the template is longer than %d bytes", MaxTemplateLength)
	}
	t := &Template{}
	for text != "" {
		start := strings.Index(text, "${")
		if start < 0 {
			t.parts = append(t.parts, literal(text))
			break
		}
		if start > 0 {
			t.parts = append(t.parts, literal(text[:start]))
		}
		p := parser{rest: text[start+len("${"):], known: known}
		e, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		if !p.take("}") {
			return nil, p.unexpected(`"}"`)
		}
		t.parts = append(t.parts, e)
		text = p.rest
	}
	return t, nil
}

// Eval returns the text for one user. Unset attributes count as empty.
func (t *Template) Eval(attributes Attributes) string {
	var b strings.Builder
	for _, part := range t.parts {
		b.WriteString(part(attributes))
	}
	return b.String()
}

func literal(text string) expression { return func(Attributes) string { return text } }

// parser reads one expression by recursive descent.
type parser struct {
	rest  string
	known func(string) bool
}

func (p *parser) expression(depth int) (expression, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("calls are nested deeper than %d", maxNesting)
	}
	p.space()
	if p.rest != "" && strings.ContainsRune(`"'`, rune(p.rest[0])) {
		return p.quoted()
	}
	name := p.word()
	switch {
	case name == "":
		return nil, p.unexpected("an expression")
	case p.take("("):
		return p.call(name, depth)
	}
	owner, attribute, _ := strings.Cut(name, ".")
	if owner != "source" && owner != "user" || attribute == "" {
		return nil, fmt.Errorf("%q is not supported: use source.<attribute>, user.<attribute> or fn:substringBefore", name)
	}
	if !p.known(attribute) {
		return nil, fmt.Errorf("%q names no attribute of the user profile", name)
	}
	return func(a Attributes) string { return a(attribute) }, nil
}

// call reads the arguments of a function, after its opening parenthesis.
func (p *parser) call(name string, depth int) (expression, error) {
	if name != "fn:substringBefore" {
		return nil, fmt.Errorf("the function %q is not supported: use fn:substringBefore", name)
	}
	text, err := p.expression(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.take(",") {
		return nil, p.unexpected(`","`)
	}
	separator, err := p.expression(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.unexpected(`")"`)
	}
	// A text without the separator is kept whole: a short login is then still
	// a user name.
	return func(a Attributes) string {
		whole, cut := text(a), separator(a)
		if cut == "" {
			return whole
		}
		before, _, _ := strings.Cut(whole, cut)
		return before
	}, nil
}

func (p *parser) quoted() (expression, error) {
	quote := p.rest[:1]
	text, rest, closed := strings.Cut(p.rest[1:], quote)
	if !closed {
		return nil, fmt.Errorf("the string %s is not closed", p.rest)
	}
	if text == "" {
		return nil, fmt.Errorf("an empty string has no use in a template")
	}
	p.rest = rest
	return literal(text), nil
}

// word reads the longest run of characters that a name is made of.
func (p *parser) word() string {
	rest := strings.TrimLeftFunc(p.rest, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.:", r)
	})
	word := p.rest[:len(p.rest)-len(rest)]
	p.rest = rest
	return word
}

func (p *parser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *parser) unexpected(want string) error {
	if p.rest == "" {
		return fmt.Errorf("the template ends where %s is expected", want)
	}
	return fmt.Errorf("%s is expected at %q", want, p.rest)
}
