// Package grammar reports whether a string is a filter or a PATCH path by the ABNF of RFC 7644 (sections 3.4.2.2 and 3.5.2), and the
// position of the first error. It checks syntax only: it builds no tree, evaluates nothing and uses no schemas. The suite parses strings of
// clients with it, so it shares no code with the parser of the reference server.
package grammar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// MaxDepth is the maximum nesting depth of parentheses and brackets.
const MaxDepth = 64

// An Error describes where a string violates the grammar.
type Error struct {
	// Offset is the number of bytes before the error.
	Offset int
	// Msg describes the error without operands, because they may be secrets.
	Msg string
	// Common reports that the grammar does not contain the form, but that many clients send it and many servers accept it: a sub-attribute
	// after the brackets of a filter, as in emails[type eq "work"].value eq "a".
	Common bool
}

func (e *Error) Error() string { return fmt.Sprintf("%s at character %d", e.Msg, e.Offset+1) }

// Filter returns nil if s is a FILTER, else a *Error.
func Filter(s string) error {
	p := &parser{s: s, common: -1}
	if err := p.disjunction(false); err != nil {
		return err
	}
	if p.blank(); p.i < len(p.s) {
		return p.errorf("unexpected text after the filter")
	}
	if p.common >= 0 {
		return &Error{Offset: p.common, Msg: "a comparison of a sub-attribute after brackets, which filters do not support", Common: true}
	}
	return nil
}

// Path returns nil if s is a PATH: an attribute, or an attribute with a filter in brackets and an optional sub-attribute after them.
// Otherwise it returns a *Error.
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
				return p.errorf("unexpected text after the brackets: only one sub-attribute is permitted")
			}
		}
	}
	if p.i < len(p.s) {
		return p.errorf("unexpected text after the path")
	}
	return nil
}

// parser reads s from i.
type parser struct {
	s      string
	i      int
	depth  int
	common int // position of a form with Error.Common, -1 if there is none
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

// word returns the next characters that may be part of a name or keyword, without consuming them.
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

// keyword consumes a word, ignoring case.
func (p *parser) keyword(w string) bool {
	if got := p.word(); strings.EqualFold(got, w) {
		p.i += len(got)
		return true
	}
	return false
}

// nested reads an expression up to its closing character. The opening character is already consumed.
func (p *parser) nested(closing byte, inBrackets bool) error {
	if p.depth++; p.depth > MaxDepth {
		return p.errorf("parentheses and brackets are nested more than %d levels deep", MaxDepth)
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
			return p.errorf("a space is missing")
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
		return p.errorf("not is not followed by a condition in parentheses")
	}
	if err := p.attribute(); err != nil {
		return err
	}
	if p.take('[') {
		if inBrackets {
			return p.errorf("brackets inside brackets")
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

// operand reads a JSON string, number, true, false or null.
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
		return p.errorf("a closing quotation mark is missing")
	}
	if !json.Valid([]byte(p.s[p.i:end])) {
		return p.errorf("the operand is not a JSON value: strings need double quotation marks")
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
		return p.errorf("an attribute name is missing")
	}
	if _, err := scim.ParseAttrPath(name); err != nil {
		return p.errorf("%q is not an attribute name", name)
	}
	p.i += len(name)
	return nil
}
