package oracle

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// A Habit describes how the values of an attribute are generated for a population of objects.
type Habit struct {
	Always bool // every object has a value
	Plain  bool // strings are single words of ASCII letters, which every collation puts in the same order
}

// Habits generates a habit for every attribute of a type, by path. The attributes of the base schema that the parameter
// `always` names have a plain value in every object.
func Habits(r *rand.Rand, t Type, always ...string) map[string]Habit {
	out := map[string]Habit{}
	for _, a := range t.Attributes {
		h := Habit{Always: r.IntN(2) == 0, Plain: r.IntN(2) == 0}
		if a.URN == "" && slices.Contains(always, a.Name) {
			h = Habit{Always: true, Plain: true}
		}
		out[a.Path()] = h
	}
	return out
}

var (
	plainWords = []string{"Alder", "alder", "ALDER", "Birch", "birch", "Cedar", "Elm", "elm", "Fir", "Hazel", "hazel", "Larch", "Maple", "Oak",
		"OAK", "Oakum", "Pine", "Rowan", "Willow"}
	// oddWords are operands that give wrong results if a server searches for keywords in the text of a filter, inserts an operand into a
	// database query unescaped, or uses it as a pattern.
	oddWords = []string{
		"Alder Grove", "alder grove", "50% Oak", "5 of 50 Oaks", "under_score", "under-score", `the "Old" Elm`, `back\slash`, "O'Rowan", "東の森",
		"plus+minus", "semi;colon, comma", "Birch (north)", "Elm and not Oak", "or eq [x]", "null", "true",
	}
	kinds = []string{"work", "home", "other"}
	// always are the sub-attributes that every value of a complex attribute has.
	always = []string{"value", "type", "givenName", "familyName"}
)

// Value generates a value for a free attribute. If h.Always is false, it returns nil in two of five calls on average. Email addresses have
// the given domain and start with the given name, so that no two objects have the same address.
func (a Attribute) Value(r *rand.Rand, h Habit, name, domain string) any {
	if !h.Always && r.IntN(5) < 2 {
		return nil
	}
	return a.fill(r, h, name, domain)
}

func (a Attribute) fill(r *rand.Rand, h Habit, name, domain string) any {
	if !a.Multi {
		return a.one(r, h, name, domain)
	}
	var list []any
	for i := range 1 + r.IntN(3) {
		v := a.one(r, h, name+"."+string(rune('a'+i)), domain)
		if e := object(v); e != nil && slices.ContainsFunc(list, func(o any) bool { b, _ := object(o).Bool("primary"); return b }) {
			e.Delete("primary")
		}
		// Equal values are one value (RFC 7643 section 2.4).
		if !slices.ContainsFunc(list, func(o any) bool { return a.alike(o, v) }) {
			list = append(list, v)
		}
	}
	return list
}

// alike reports whether two elements are so similar that a server may treat them as duplicates.
func (a Attribute) alike(x, y any) bool {
	key := func(v any) any {
		if value := member(object(v), "value"); value != nil {
			return fold(value)
		}
		return fold(v)
	}
	return scim.Equal(key(x), key(y))
}

func fold(v any) any {
	if text, ok := v.(string); ok {
		return strings.ToLower(text)
	}
	return v
}

// one returns a single value.
func (a Attribute) one(r *rand.Rand, h Habit, name, domain string) any {
	switch a.Kind {
	case "boolean":
		return r.IntN(2) == 0
	case "integer":
		return json.Number(strconv.Itoa(r.IntN(12)))
	case "decimal":
		return json.Number(strconv.Itoa(r.IntN(6)) + ".5")
	case "dateTime":
		return time.Date(2020+r.IntN(4), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0,
			time.UTC).Format(time.RFC3339)
	case "complex":
		return a.complex(r, h, name, domain)
	}
	if len(a.Canonical) > 0 {
		return pick(r, a.Canonical)
	}
	if h.Plain {
		return pick(r, plainWords)
	}
	return pick(r, slices.Concat(plainWords, oddWords))
}

func (a Attribute) complex(r *rand.Rand, h Habit, name, domain string) any {
	out := scim.NewObject()
	for _, s := range a.parts() {
		switch {
		case scim.EqualName(s.Name, "primary"):
			// Servers need not distinguish absent from false, so only true is generated.
			if r.IntN(3) == 0 {
				out.Set(s.Name, true)
			}
		case scim.EqualName(a.Name, "emails") && scim.EqualName(s.Name, "value"):
			out.Set(s.Name, strings.ToLower(pick(r, plainWords)+"."+name)+"@"+domain)
		case scim.EqualName(s.Name, "type") && len(s.Canonical) == 0:
			out.Set(s.Name, pick(r, kinds))
		case s.Required || slices.Contains(always, s.Name) || r.IntN(3) > 0:
			out.Set(s.Name, s.one(r, h, name, domain))
		}
	}
	if out.Len() == 0 {
		s := a.parts()[0]
		out.Set(s.Name, s.one(r, h, name, domain))
	}
	return out
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// Same reports whether two values of the attribute are equal for the oracle. It ignores the order of elements and unknown sub-attributes,
// compares times as timestamps, and treats a false primary as absent.
func (a Attribute) Same(x, y any) bool {
	if !a.Multi {
		return a.sameOne(x, y)
	}
	left, right := elements(x), slices.Clone(elements(y))
	if len(left) != len(right) {
		return false
	}
	for _, v := range left {
		i := slices.IndexFunc(right, func(w any) bool { return a.sameOne(v, w) })
		if i < 0 {
			return false
		}
		right = slices.Delete(right, i, i+1)
	}
	return true
}

func (a Attribute) sameOne(x, y any) bool {
	if a.Kind == "complex" {
		for _, s := range a.parts() {
			if !s.sameOne(member(object(x), s.Name), member(object(y), s.Name)) {
				return false
			}
		}
		return true
	}
	if scim.EqualName(a.Name, "primary") && a.Kind == "boolean" {
		return (x == true) == (y == true)
	}
	if a.Kind == "dateTime" {
		one, ok1 := instant(x)
		two, ok2 := instant(y)
		if ok1 && ok2 {
			return one.Equal(two)
		}
	}
	return scim.Equal(x, y)
}

func instant(v any) (time.Time, bool) {
	text, _ := v.(string)
	at, err := schema.ParseDateTime(text)
	return at, err == nil
}

// Shown returns the part of the attribute's value that the oracle uses, for findings.
func (a Attribute) Shown(v any) any {
	if a.Kind != "complex" || v == nil {
		return v
	}
	var out []any
	for _, e := range elements(v) {
		slim := scim.NewObject()
		for _, s := range a.parts() {
			if part := member(object(e), s.Name); part != nil {
				slim.Set(s.Name, part)
			}
		}
		out = append(out, slim)
	}
	if !a.Multi && len(out) == 1 {
		return out[0]
	}
	return out
}
