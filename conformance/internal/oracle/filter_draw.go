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

// A Generator makes up filters that tell the objects of a population apart.
//
// It leaves out: ne and the operators of order on attributes that some object lacks or has several of, order among texts that
// collations put differently, false where there may be no value, order among booleans, operands with blanks at an end,
// attributes as a whole where a sub-attribute is meant, and everything that is not a [Attribute.Free] attribute.
type Generator struct {
	rand       *rand.Rand
	population []*scim.Object
	names      []Name // of what can be compared
	lists      []Name // of multi-valued complex attributes
}

// NewDrawer looks at what the target stored. Only the attributes of t that are free are used, and the carrier.
func NewDrawer(r *rand.Rand, t Type, population []*scim.Object) *Generator {
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

// spell writes a name in one of the ways that mean the same: any letter case, and with the URN of the base schema.
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

// Useful tells whether there is anything to compare.
func (d *Generator) Useful() bool { return len(d.names) > 0 }

// drawTries is how many filters are drawn for each one that is asked.
const drawTries = 30

// Filter makes up a filter, where there is something to compare ([Drawer.Useful]), of at most the given depth of junctions and negations.
// Of several it takes the one that tells most: where leaving out any part of it would find others, a target that gets any part wrong is
// found out.
func (d *Generator) Filter(depth int) Filter {
	var best Filter = Condition{Name: d.names[0], Operator: "pr"}
	most := -1
	for range drawTries {
		f := d.tree(depth)
		if !Unambiguous(f, d.population) {
			continue
		}
		if telling := d.telling(f); telling > most {
			best, most = f, telling
		}
	}
	return best
}

// telling grades a filter: nothing for one that finds nobody or everybody, else a point for every part that matters, and less
// than nothing for those that do not.
func (d *Generator) telling(f Filter) int {
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

// finds tells for each object whether it satisfies a filter.
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
		// Where and stands below or, precedence decides.
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

// negated is not, but for what is negated already: a row of nots shows little.
func negated(f Filter) Filter {
	if _, already := f.(Not); already {
		return f
	}
	return Not{f}
}

func (d *Generator) junction(word string, depth int, part func(depth int) Filter) Filter {
	j := Junction{Word: word, Shout: d.rand.IntN(10) == 0}
	below := depth - 1 // one part is as deep as it may be, the others are not, or nobody could read the filter
	for range 2 + d.rand.IntN(2) {
		j.Parts = append(j.Parts, part(below))
		below = d.rand.IntN(depth)
	}
	return j
}

// leaf is a condition or a value path.
func (d *Generator) leaf() Filter {
	if len(d.lists) > 0 && d.rand.IntN(5) == 0 {
		list := pick(d.rand, d.lists)
		if inner := d.inner(list, 1+d.rand.IntN(2)); inner != nil {
			return ValuePath{list, inner}
		}
	}
	return d.condition(pick(d.rand, d.names), d.population)
}

// inner is what stands in brackets; nil when no sub-attribute can be compared.
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

// condition compares what a name stands for with a value that one of the objects has, or nearly has.
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
			operators, operand = []string{"eq"}, true // nobody has to tell absent from false
		} else {
			operators = []string{"eq", "ne"}
		}
	case "integer", "decimal", "dateTime":
		if complete {
			operators = append(operators, "ne", "gt", "ge", "lt", "le")
		}
		if number, ok := operand.(json.Number); ok && leaf.Kind == "integer" {
			operand = neighbour(d.rand, number)
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

// operand cuts a text to what an operator looks for, and changes its case where that must not matter.
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
				to-- // nearly the value, but not quite
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

func neighbour(r *rand.Rand, n json.Number) any {
	i, err := strconv.Atoi(n.String())
	if err != nil {
		return n
	}
	return json.Number(strconv.Itoa(i + r.IntN(3) - 1))
}

// sortable tells whether all collations put the values in the same order, letter case aside.
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

// collate tells whether the first characters that differ are two letters or two digits of ASCII, or one text begins with the
// other. Punctuation and blanks have no place of their own in many collations, so behind one that both share nothing is known.
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
