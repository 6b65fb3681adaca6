package oracle

import (
	"encoding/json"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A Generator generates filters that distinguish the objects of a population.
//
// Because correct servers treat them differently, the filters do not contain:
//   - ne, gt, ge, lt and le on an attribute that some object lacks, or that has several values in some object;
//   - gt, ge, lt and le on strings that collations order differently, and on booleans;
//   - false as operand for an attribute that may be absent;
//   - operands that start or end with a space;
//   - a complex attribute without a sub-attribute;
//   - attributes that are not [Attribute.Free].
type Generator struct {
	rand       *rand.Rand
	population []*scim.Object
	names      []Name // attributes and sub-attributes that can be compared
	lists      []Name // multi-valued complex attributes
}

// NewGenerator returns a generator for the stored objects of a target. It uses the carrier and the free attributes of t.
func NewGenerator(r *rand.Rand, t Type, population []*scim.Object) *Generator {
	d := &Generator{rand: r, population: population}
	for i := range t.Attributes {
		a := &t.Attributes[i]
		carrier := a.URN == "" && scim.EqualName(a.Name, t.Carrier)
		if !a.Free() && !carrier {
			continue
		}
		if a.Kind != "complex" {
			d.offer(&d.names, Name{Attribute: a, Text: spell(r, t, a.Path())})
			continue
		}
		for _, s := range a.parts() {
			d.offer(&d.names, Name{Attribute: a, Sub: &s, Text: spell(r, t, a.Path()+"."+s.Name)})
		}
		if a.Multi {
			d.offer(&d.lists, Name{Attribute: a, Text: a.Path()})
		}
	}
	return d
}

// offer adds a name if some object has a value for it.
func (d *Generator) offer(list *[]Name, n Name) {
	if slices.ContainsFunc(d.population, func(o *scim.Object) bool { return len(n.values(o)) > 0 }) {
		*list = append(*list, n)
	}
}

// spell returns a name in one of its equivalent spellings: in any case, and with the URN of the base schema.
func spell(r *rand.Rand, t Type, path string) string {
	cut := strings.LastIndex(path, ":") + 1
	urn, name := path[:cut], path[cut:]
	switch r.IntN(8) {
	case 0:
		return urn + strings.ToUpper(name)
	case 1:
		return urn + strings.ToLower(name)
	case 2:
		if urn == "" {
			return t.Schema + ":" + name
		}
	}
	return path
}

// Useful reports whether there is an attribute to compare.
func (d *Generator) Useful() bool { return len(d.names) > 0 }

// filterTries is the number of filters that are generated for each filter that Generator.Filter returns.
const filterTries = 30

// Filter generates a filter with at most the given depth of junctions and negations. There must be an attribute to compare
// ([Generator.Useful]). Filter generates filterTries filters and returns the filter with the highest score, because that filter detects
// errors of a target in the largest number of its parts.
func (d *Generator) Filter(depth int) Filter {
	var best Filter = Condition{Name: d.names[0], Operator: "pr"}
	most := -1
	for range filterTries {
		f := d.tree(depth)
		if !Unambiguous(f, d.population) {
			continue
		}
		if telling := d.score(f); telling > most {
			best, most = f, telling
		}
	}
	return best
}

// score returns the score of a filter: 0 if the filter matches no object or all objects. Otherwise, the function compares the filter with
// those of Smaller and misread. Each of them that finds other objects adds points; each that finds the same objects subtracts points.
func (d *Generator) score(f Filter) int {
	own := d.finds(f)
	if !slices.Contains(own, true) || !slices.Contains(own, false) {
		return 0
	}
	points := 1
	grade := func(others iter.Seq[Filter], right, wrong int) {
		for other := range others {
			if slices.Equal(d.finds(other), own) {
				points -= wrong
			} else {
				points += right
			}
		}
	}
	grade(Smaller(f), 1, 2)
	grade(variants(f, misread), 8, 2)
	return max(points, 0)
}

// finds returns for each object whether it satisfies a filter.
func (d *Generator) finds(f Filter) []bool {
	out := make([]bool, len(d.population))
	for i, o := range d.population {
		out[i] = Matches(f, o)
	}
	return out
}

func (d *Generator) tree(depth int) Filter {
	if depth <= 0 {
		return d.leaf()
	}
	switch d.rand.IntN(7) {
	case 0, 1:
		return d.junction("and", depth, d.tree)
	case 2, 3, 4:
		// An and inside an or tests the precedence.
		return d.junction("or", depth, func(depth int) Filter {
			if depth > 0 && d.rand.IntN(2) == 0 {
				return d.junction("and", depth, d.tree)
			}
			return d.tree(depth)
		})
	case 5:
		return negated(d.tree(depth - 1))
	}
	return d.leaf()
}

// negated returns the negation of a filter. It does not negate a negation: double negations test little.
func negated(f Filter) Filter {
	if _, already := f.(Not); already {
		return f
	}
	return Not{f}
}

func (d *Generator) junction(word string, depth int, part func(depth int) Filter) Filter {
	j := Junction{Word: word, Shout: d.rand.IntN(10) == 0}
	below := depth - 1 // only one part has the full depth, so that the filter stays readable
	for range 2 + d.rand.IntN(2) {
		j.Parts = append(j.Parts, part(below))
		below = d.rand.IntN(depth)
	}
	return j
}

// leaf returns a condition or a value path.
func (d *Generator) leaf() Filter {
	if len(d.lists) > 0 && d.rand.IntN(5) == 0 {
		list := pick(d.rand, d.lists)
		if inner := d.inner(list, 1+d.rand.IntN(2)); inner != nil {
			return ValuePath{list, inner}
		}
	}
	return d.condition(pick(d.rand, d.names), d.population)
}

// inner returns the filter in brackets, nil if no sub-attribute can be compared.
func (d *Generator) inner(list Name, depth int) Filter {
	var all []*scim.Object
	for _, o := range d.population {
		for _, e := range elements(list.Attribute.Of(o)) {
			all = append(all, object(e))
		}
	}
	var names []Name
	for _, s := range list.Attribute.parts() {
		if n := (Name{Sub: &s, Text: s.Name}); slices.ContainsFunc(all, func(e *scim.Object) bool { return len(n.values(e)) > 0 }) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return nil
	}
	var tree func(depth int) Filter
	tree = func(depth int) Filter {
		switch kind := d.rand.IntN(6); {
		case depth > 0 && kind < 2:
			return d.junction("and", depth, tree)
		case depth > 0 && kind == 2:
			return d.junction("or", depth, tree)
		case depth > 0 && kind == 3:
			return negated(tree(depth - 1))
		}
		return d.condition(pick(d.rand, names), all)
	}
	return tree(depth)
}

// condition returns a comparison of the attribute n with a value that one of the objects has, or with a similar value.
func (d *Generator) condition(n Name, among []*scim.Object) Filter {
	var values []any
	complete := true // every object has exactly one value
	for _, o := range among {
		list := n.values(o)
		complete = complete && len(list) == 1
		values = append(values, list...)
	}
	leaf := n.leaf()
	operand := pick(d.rand, values)
	operators := []string{"eq", "eq", "pr"}
	switch leaf.Kind {
	case "boolean":
		if !complete {
			operators, operand = []string{"eq"}, true // false is no operand here: a server need not distinguish an absent value from false
		} else {
			operators = []string{"eq", "ne"}
		}
	case "integer", "decimal", "dateTime":
		if complete {
			operators = append(operators, "ne", "gt", "ge", "lt", "le")
		}
		if number, ok := operand.(json.Number); ok && leaf.Kind == "integer" {
			operand = neighbor(d.rand, number)
		}
	default:
		operators = append(operators, "co", "sw", "ew")
		if complete {
			operators = append(operators, "ne")
		}
		if complete && leaf.CaseStated && !leaf.CaseExact && sortable(append(values, operand)) {
			operators = append(operators, "gt", "ge", "lt", "le")
		}
	}
	c := Condition{Name: n, Operator: pick(d.rand, operators), Operand: operand, Shout: d.rand.IntN(10) == 0}
	if text, ok := operand.(string); ok && leaf.Kind == "string" {
		c.Operand = d.operand(c.Operator, text, leaf)
	}
	if c.Operator == "pr" {
		c.Operand = nil
	}
	return c
}

// operand returns the part of a string that suits the operator. It changes the case if the attribute is case-insensitive.
func (d *Generator) operand(operator, text string, leaf *Attribute) string {
	runes := []rune(text)
	if n := len(runes); n > 2 {
		from, to := 0, n
		switch operator {
		case "co":
			from = d.rand.IntN(n - 1)
			to = from + 2 + d.rand.IntN(n-from-1)
		case "sw":
			to = 2 + d.rand.IntN(n-1)
		case "ew":
			from = d.rand.IntN(n - 1)
		case "eq":
			if d.rand.IntN(6) == 0 {
				to-- // almost the value
			}
		}
		if part := string(runes[from:to]); part == strings.TrimSpace(part) {
			text = part
		}
	}
	if leaf.CaseStated && !leaf.CaseExact {
		switch d.rand.IntN(3) {
		case 0:
			return strings.ToUpper(text)
		case 1:
			return strings.ToLower(text)
		}
	}
	return text
}

func neighbor(r *rand.Rand, n json.Number) any {
	i, err := strconv.Atoi(n.String())
	if err != nil {
		return n
	}
	return json.Number(strconv.Itoa(i + r.IntN(3) - 1))
}

// sortable reports whether all collations that ignore case put the values in the same order.
func sortable(values []any) bool {
	for i, v := range values {
		for _, w := range values[:i] {
			x, ok1 := v.(string)
			y, ok2 := w.(string)
			if !ok1 || !ok2 || !collate(strings.ToLower(x), strings.ToLower(y)) {
				return false
			}
		}
	}
	return true
}

// collate reports whether all collations order two strings equally: their first different characters are two ASCII letters or two digits,
// or one is a prefix of the other. Collations differ in the order of punctuation and spaces, and some ignore both. For strings whose first
// different character is of another kind, collate therefore returns false.
func collate(x, y string) bool {
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		letter := func(c byte) bool { return c >= 'a' && c <= 'z' }
		digit := func(c byte) bool { return c >= '0' && c <= '9' }
		return letter(x[i]) && letter(y[i]) || digit(x[i]) && digit(y[i])
	}
	return true
}
