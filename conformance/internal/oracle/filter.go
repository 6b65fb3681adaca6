package oracle

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A Filter is a node of a filter (RFC 7644 section 3.4.2.2).
type Filter interface {
	// String returns the filter with the minimum of parentheses.
	String() string
	// match reports whether a resource satisfies the filter.
	match(o *scim.Object, c letterCase) bool
}

// letterCase is a way to compare strings.
type letterCase int

const (
	asDeclared      letterCase = iota // by caseExact of the schema, and case-insensitively if the schema omits it
	exactIfOmitted                    // by caseExact of the schema, and case-sensitively if the schema omits it
	alwaysSensitive                   // case-sensitively
)

// A Name is an attribute or a sub-attribute with its spelling in a filter.
type Name struct {
	Attribute *Attribute // nil inside brackets
	Sub       *Attribute // nil if the filter names an attribute without a sub-attribute
	Text      string
}

// leaf returns the definition of the named attribute or sub-attribute.
func (n Name) leaf() *Attribute {
	if n.Sub != nil {
		return n.Sub
	}
	return n.Attribute
}

// values returns all values that the named attribute or sub-attribute has in a resource or, inside brackets, in an element.
func (n Name) values(o *scim.Object) []any {
	if n.Attribute == nil {
		return elements(member(o, n.Sub.Name))
	}
	list := elements(n.Attribute.Of(o))
	if n.Sub == nil {
		return list
	}
	var out []any
	for _, e := range list {
		out = append(out, elements(member(object(e), n.Sub.Name))...)
	}
	return out
}

// A Condition compares an attribute with an operand. A resource satisfies the condition if at least one of the attribute's values satisfies
// the comparison.
type Condition struct {
	Name     Name
	Operator string // in lower case
	Operand  any    // of a type that package scim stores; not used by pr
	Shout    bool   // write the operator in capitals
}

func (c Condition) String() string {
	op := c.Operator
	if c.Shout {
		op = strings.ToUpper(op)
	}
	if c.Operator == "pr" {
		return c.Name.Text + " " + op
	}
	return c.Name.Text + " " + op + " " + string(scim.AppendValue(nil, c.Operand))
}

func (c Condition) match(o *scim.Object, letters letterCase) bool {
	leaf := c.Name.leaf()
	exact := letters != asDeclared
	if leaf.CaseStated && letters != alwaysSensitive {
		exact = leaf.CaseExact
	}
	return slices.ContainsFunc(c.Name.values(o), func(v any) bool { return compare(c.Operator, leaf.Kind, v, c.Operand, exact) })
}

// compare evaluates an operator on one value.
func compare(operator, kind string, v, operand any, exact bool) bool {
	if operator == "pr" {
		return !empty(v)
	}
	if n, ok := v.(json.Number); ok {
		m, isNumber := operand.(json.Number)
		return isNumber && ordered(operator, scim.CompareNumbers(n, m))
	}
	text, ok1 := v.(string)
	want, ok2 := operand.(string)
	if !ok1 || !ok2 {
		return operator == "eq" && v == operand || operator == "ne" && v != operand
	}
	if kind == "dateTime" {
		one, ok1 := instant(v)
		two, ok2 := instant(operand)
		return ok1 && ok2 && ordered(operator, one.Compare(two))
	}
	if !exact {
		text, want = strings.ToLower(text), strings.ToLower(want)
	}
	switch operator {
	case "co":
		return strings.Contains(text, want)
	case "sw":
		return strings.HasPrefix(text, want)
	case "ew":
		return strings.HasSuffix(text, want)
	}
	return ordered(operator, strings.Compare(text, want))
}

// ordered evaluates an operator of equality or order. c is the result of the comparison of the value with the operand.
func ordered(operator string, c int) bool {
	switch operator {
	case "eq":
		return c == 0
	case "ne":
		return c != 0
	case "gt":
		return c > 0
	case "ge":
		return c >= 0
	case "lt":
		return c < 0
	case "le":
		return c <= 0
	}
	return false
}

// empty reports whether the operator pr treats a value as absent: null, "", and an object without non-empty members.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case *scim.Object:
		for _, inner := range v.All() {
			if !empty(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// A Junction joins two or more filters by "and" or "or".
type Junction struct {
	Word  string
	Parts []Filter
	Shout bool // write the word in capitals
}

func (j Junction) String() string {
	word := j.Word
	if j.Shout {
		word = strings.ToUpper(word)
	}
	parts := make([]string, len(j.Parts))
	for i, p := range j.Parts {
		parts[i] = p.String()
		// and has a higher precedence than or. Nested junctions of the same word also need parentheses to preserve the tree.
		if inner, ok := p.(Junction); ok && (j.Word == "and" || inner.Word == j.Word) {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+word+" ")
}

func (j Junction) match(o *scim.Object, c letterCase) bool {
	for _, p := range j.Parts {
		if p.match(o, c) != (j.Word == "and") {
			return j.Word == "or"
		}
	}
	return j.Word == "and"
}

// And joins filters with and.
func And(parts ...Filter) Filter { return Junction{Word: "and", Parts: parts} }

// Or joins filters with or.
func Or(parts ...Filter) Filter { return Junction{Word: "or", Parts: parts} }

// A Not negates a filter.
type Not struct{ Filter Filter }

func (n Not) String() string { return "not (" + n.Filter.String() + ")" }

func (n Not) match(o *scim.Object, c letterCase) bool { return !n.Filter.match(o, c) }

// A ValuePath matches a resource if a single element of a multi-valued attribute satisfies the inner filter.
type ValuePath struct {
	Name  Name
	Inner Filter
}

func (p ValuePath) String() string { return p.Name.Text + "[" + p.Inner.String() + "]" }

func (p ValuePath) match(o *scim.Object, c letterCase) bool {
	return slices.ContainsFunc(elements(p.Name.Attribute.Of(o)), func(e any) bool { return p.Inner.match(object(e), c) })
}

// Matches reports whether a resource satisfies a filter.
func Matches(f Filter, o *scim.Object) bool { return f.match(o, asDeclared) }

// MatchesSensitively does the same for a target that compares all strings case-sensitively.
func MatchesSensitively(f Filter, o *scim.Object) bool { return f.match(o, alwaysSensitive) }

// Unambiguous reports whether the schemas determine which resources satisfy a filter: for attributes without caseExact, case-sensitive and
// case-insensitive comparison must give the same result.
func Unambiguous(f Filter, population []*scim.Object) bool {
	return !slices.ContainsFunc(population, func(o *scim.Object) bool { return f.match(o, asDeclared) != f.match(o, exactIfOmitted) })
}

// Within returns the filter f restricted to objects whose carrier starts with a prefix. If f is an or and spread is set, Within adds the
// restriction to each alternative of the or, without parentheses: the result then still depends on the precedence of and over or.
// Otherwise it adds the restriction once, to the whole filter.
func Within(f Filter, t Type, prefix string, spread bool) Filter {
	carrier := Attribute{Name: t.Carrier, Kind: "string"}
	scope := Condition{Name: Name{Attribute: &carrier, Text: t.Carrier}, Operator: "sw", Operand: prefix}
	if or, ok := f.(Junction); ok && or.Word == "or" && spread {
		out := Junction{Word: or.Word, Shout: or.Shout}
		for i, p := range or.Parts {
			both := []Filter{p, scope}
			if isAnd(p) {
				both = append(slices.Clone(p.(Junction).Parts), scope)
			}
			if i%2 == 1 {
				slices.Reverse(both)
			}
			out.Parts = append(out.Parts, And(both...))
		}
		return out
	}
	if isAnd(f) {
		return And(append([]Filter{scope}, f.(Junction).Parts...)...)
	}
	return And(scope, f)
}

// Smaller yields the filters that are one step simpler than f: a part of f alone, f without one of its parts, or f with one simpler part.
func Smaller(f Filter) iter.Seq[Filter] { return variants(f, simpler) }

// simpler returns the filters that are one step simpler than the node f. It does not simplify the parts of f.
func simpler(f Filter) []Filter {
	switch f := f.(type) {
	case Not:
		return []Filter{f.Filter}
	case Junction:
		out := slices.Clone(f.Parts)
		for i := range f.Parts {
			if len(f.Parts) > 2 {
				out = append(out, Junction{f.Word, slices.Delete(slices.Clone(f.Parts), i, i+1), f.Shout})
			}
		}
		return out
	case Condition:
		if plain := f.plain(); plain != f {
			return []Filter{plain}
		}
	}
	return nil
}

// misread returns the filter that a wrong parser builds from f if it gives or a higher precedence than and. The result is nil if the wrong
// precedence does not change f.
func misread(f Filter) []Filter {
	or, ok := f.(Junction)
	if !ok || or.Word != "or" || !slices.ContainsFunc(or.Parts, isAnd) {
		return nil
	}
	groups := [][]Filter{nil}
	for _, p := range or.Parts {
		parts := []Filter{p}
		if isAnd(p) {
			parts = p.(Junction).Parts
		}
		for i, part := range parts {
			if i > 0 {
				groups = append(groups, nil)
			}
			groups[len(groups)-1] = append(groups[len(groups)-1], part)
		}
	}
	and := Junction{Word: "and"}
	for _, group := range groups {
		and.Parts = append(and.Parts, Or(group...))
	}
	return []Filter{and}
}

func isAnd(f Filter) bool {
	j, ok := f.(Junction)
	return ok && j.Word == "and"
}

// variants yields copies of f in which one node is replaced by one of the filters that the function `forms` returns for the node. The
// topmost node comes first.
//
// Without the directive, the compiler inlines the recursion, which doubles the time to compile this package and conformance/checks.
//
//go:noinline
func variants(f Filter, forms func(Filter) []Filter) iter.Seq[Filter] {
	return func(yield func(Filter) bool) {
		for _, form := range forms(f) {
			if !yield(form) {
				return
			}
		}
		switch f := f.(type) {
		case Not:
			for inner := range variants(f.Filter, forms) {
				if !yield(Not{inner}) {
					return
				}
			}
		case Junction:
			for i, p := range f.Parts {
				for inner := range variants(p, forms) {
					parts := slices.Clone(f.Parts)
					parts[i] = inner
					if !yield(Junction{f.Word, parts, f.Shout}) {
						return
					}
				}
			}
		case ValuePath:
			for inner := range variants(f.Inner, forms) {
				if !yield(ValuePath{f.Name, inner}) {
					return
				}
			}
		}
	}
}

// plain returns the condition without capitals and without a redundant URN.
func (c Condition) plain() Condition {
	c.Shout = false
	if c.Name.Attribute == nil {
		c.Name.Text = c.Name.Sub.Name
		return c
	}
	c.Name.Text = c.Name.Attribute.Path()
	if c.Name.Sub != nil {
		c.Name.Text += "." + c.Name.Sub.Name
	}
	return c
}
