// Package grammar tells whether a filter or a PATCH path is one by the ABNF of RFC 7644 (sections 3.4.2.2 and 3.5.2), and
// where it stops being one. It judges spelling only: it builds no tree, evaluates nothing and knows no schemas. The suite
// reads what clients send with it, so it shares no code with the parser of the reference server.
package grammar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// MaxDepth is how many parentheses and brackets may be open at once.
const MaxDepth = 64

// An Error says where a text leaves the grammar.
type Error struct {
	// Offset is the number of bytes before the offending place.
	Offset int
	// Msg says what is wrong there, without quoting operands: they may be secrets.
	Msg string
	// Common tells that the form is outside of the grammar but widely sent and understood: a sub-attribute behind the brackets
	// of a filter, as in emails[type eq "work"].value eq "a".
	Common bool
}

func (e *Error) Error() string { return fmt.Sprintf("%s at character %d", e.Msg, e.Offset+1) }

// Filter returns nil when s is a FILTER, else a *Error.
func Filter(s string) error {
	p := &parser{s: s, common: -1}
	if err := p.disjunction(false); err != nil {
		return err
	}
	if p.blank(); p.i < len(p.s) {
		return p.errorf("the filter goes on where it should end")
	}
	if p.common >= 0 {
		return &Error{Offset: p.common, Msg: "a sub-attribute behind brackets is compared, for which filters have no form", Common: true}
	}
	return nil
}

// Path returns nil when s is a PATH: an attribute, or an attribute with a filter in brackets and possibly a sub-attribute
// behind them. Else it returns a *Error.
func Path(s string) error {
	p := &parser{s: s}
	if err := p.attribute(); err != nil {
		return err
	}
	if p.take('[') {
		if err := p.bracketed(); err != nil {
			return err
		}
		if p.take('.') {
			start := p.i
			if err := p.attribute(); err != nil {
				return err
			}
			if strings.ContainsAny(p.s[start:p.i], ":.") {
				p.i = start
				return p.errorf("behind the brackets stands something other than one sub-attribute")
			}
		}
	}
	if p.i < len(p.s) {
		return p.errorf("the path goes on where it should end")
	}
	return nil
}

// parser reads s from i.
type parser struct {
	s      string
	i      int
	depth  int
	common int // where a form with Error.Common was seen, -1 for nowhere
}

func (p *parser) errorf(format string, args ...any) error {
	return &Error{Offset: min(p.i, len(p.s)), Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) blank() {
	for p.i < len(p.s) && p.s[p.i] == ' ' {
		p.i++
	}
}

func (p *parser) take(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

// word returns the run of characters that names and keywords are made of, without consuming it.
func (p *parser) word() string {
	end := p.i
	for end < len(p.s) && isWord(p.s[end]) {
		end++
	}
	return p.s[p.i:end]
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_$:.", c) >= 0
}

// keyword consumes a word without regard to its letter case.
func (p *parser) keyword(w string) bool {
	if got := p.word(); strings.EqualFold(got, w) {
		p.i += len(got)
		return true
	}
	return false
}

// nested reads something that has an opening and a closing character; the opening one is consumed.
func (p *parser) nested(closing byte, inBrackets bool) error {
	if p.depth++; p.depth > MaxDepth {
		return p.errorf("more than %d parentheses and brackets are open", MaxDepth)
	}
	defer func() { p.depth-- }()
	if err := p.disjunction(inBrackets); err != nil {
		return err
	}
	if p.blank(); !p.take(closing) {
		return p.errorf("a closing %q is missing", closing)
	}
	return nil
}

func (p *parser) bracketed() error { return p.nested(']', true) }

func (p *parser) disjunction(inBrackets bool) error {
	for {
		if err := p.condition(inBrackets); err != nil {
			return err
		}
		before := p.i
		p.blank()
		if p.i == before || !p.keyword("and") && !p.keyword("or") {
			p.i = before
			return nil
		}
		if p.i < len(p.s) && p.s[p.i] != ' ' && p.s[p.i] != '(' {
			return p.errorf("a blank is missing")
		}
	}
}

func (p *parser) condition(inBrackets bool) error {
	p.blank()
	if p.take('(') {
		return p.nested(')', inBrackets)
	}
	start := p.i
	if p.keyword("not") {
		if p.blank(); p.take('(') {
			return p.nested(')', inBrackets)
		}
		p.i = start
		return p.errorf("behind not stands something other than a condition in parentheses")
	}
	if err := p.attribute(); err != nil {
		return err
	}
	if p.take('[') {
		if inBrackets {
			return p.errorf("brackets stand inside of brackets")
		}
		if err := p.bracketed(); err != nil {
			return err
		}
		if !p.take('.') {
			return nil
		}
		p.common = p.i - 1
		if err := p.attribute(); err != nil {
			return err
		}
	}
	return p.comparison()
}

var operators = []string{"eq", "ne", "co", "sw", "ew", "gt", "lt", "ge", "le"}

func (p *parser) comparison() error {
	if !p.take(' ') {
		return p.errorf("an operator is missing")
	}
	p.blank()
	operator := strings.ToLower(p.word())
	switch {
	case operator == "pr":
		p.i += len(operator)
		return nil
	case !slices.Contains(operators, operator):
		return p.errorf("an operator is missing: operators are %s and pr", strings.Join(operators, ", "))
	}
	p.i += len(operator)
	if !p.take(' ') {
		return p.errorf("an operand is missing")
	}
	p.blank()
	return p.operand()
}

// operand reads a JSON text, number, true, false or null.
func (p *parser) operand() error {
	end := p.i
	if end < len(p.s) && p.s[end] == '"' {
		for end++; end < len(p.s) && p.s[end] != '"'; end++ {
			if p.s[end] == '\\' {
				end++
			}
		}
		end++
	} else {
		for end < len(p.s) && strings.IndexByte(" )]", p.s[end]) < 0 {
			end++
		}
	}
	if end > len(p.s) {
		return p.errorf("a quotation mark is never closed")
	}
	if !json.Valid([]byte(p.s[p.i:end])) {
		return p.errorf("the operand is no JSON value: texts stand in double quotation marks")
	}
	if first := p.s[p.i]; first == '{' || first == '[' {
		return p.errorf("the operand is an object or an array")
	}
	p.i = end
	return nil
}

func (p *parser) attribute() error {
	name := p.word()
	if name == "" {
		return p.errorf("an attribute is missing")
	}
	if _, err := scim.ParseAttrPath(name); err != nil {
		return p.errorf("%q is not the name of an attribute", name)
	}
	p.i += len(name)
	return nil
}
