package oracle

import (
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
)

// person returns a small type with an attribute of every kind that the oracle supports.
func person() Type {
	text := func(name string) Attribute {
		return Attribute{Name: name, Kind: "string", CaseStated: true, Mutability: "readWrite", Returned: "default", Uniqueness: "none"}
	}
	of := func(name, kind string) Attribute { a := text(name); a.Kind = kind; return a }
	code := text("code")
	code.CaseExact = true
	vague := text("vague")
	vague.CaseStated = false
	name := of("name", "complex")
	name.Subs = []Attribute{text("givenName"), text("familyName"), text("formatted")}
	emails := of("emails", "complex")
	emails.Multi, emails.Subs = true, []Attribute{text("value"), text("type"), of("primary", "boolean"), text("display")}
	aliases := text("aliases")
	aliases.Multi = true
	userName := text("userName")
	userName.Required, userName.Uniqueness = true, "server"
	department := text("department")
	department.URN = "urn:x:Ext"
	groups := emails
	groups.Name, groups.Mutability = "groups", "readOnly"
	return Type{Schema: "urn:x:Person", Carrier: "userName", Attributes: []Attribute{
		userName, text("title"), code, vague, of("active", "boolean"), of("size", "integer"), of("weight", "decimal"), of("born", "dateTime"),
		name, emails, aliases, groups, department,
	}}
}

func (t Type) attribute(name string) *Attribute {
	i := slices.IndexFunc(t.Attributes, func(a Attribute) bool { return a.Name == name })
	return &t.Attributes[i]
}

// on returns the name of an attribute or a sub-attribute.
func (t Type) on(name string, sub ...string) Name {
	n := Name{Attribute: t.attribute(name), Text: t.attribute(name).Path()}
	for _, s := range sub {
		n.Sub, n.Text = n.Attribute.sub(s), n.Text+"."+s
	}
	return n
}

func decoded(t require.TestingT, text string) *scim.Object {
	o, err := scim.Decode([]byte(text))
	require.NoError(t, err)
	return o
}

const ada = `{"userName":"Ada@x","title":"Chief Engineer","code":"aB","active":true,"size":10,"born":"2020-01-01T00:00:00Z",
	"name":{"givenName":"Ada","formatted":""},
	"emails":[{"value":"a@work","type":"work","primary":true},{"value":"b@home","type":"home"}],"aliases":["x","Y"],
	"urn:x:Ext":{"department":"R&D"}}`

func TestMatches_FollowsRFC(t *testing.T) {
	p := person()
	o := decoded(t, ada)
	for _, tt := range []struct {
		name     Name
		operator string
		operand  any
		want     bool
	}{
		{p.on("title"), "eq", "chief engineer", true}, {p.on("title"), "eq", "chief", false}, {p.on("title"), "ne", "chief", true},
		{p.on("title"), "ne", "CHIEF ENGINEER", false},
		{p.on("title"), "co", "F E", true}, {p.on("title"), "co", "fe", false}, {p.on("title"), "sw", "chi", true},
		{p.on("title"), "sw", "engineer", false},
		{p.on("title"), "ew", "NEER", true}, {p.on("title"), "ew", "chief", false}, {p.on("title"), "pr", nil, true},
		{p.on("title"), "gt", "chief", true}, {p.on("title"), "gt", "chief engineer", false}, {p.on("title"), "ge", "chief engineer", true},
		{p.on("title"), "lt", "dean", true}, {p.on("title"), "le", "CHIEF ENGINEER", true}, {p.on("title"), "lt", "chief engineer", false},
		{p.on("code"), "eq", "aB", true}, {p.on("code"), "eq", "ab", false}, {p.on("code"), "sw", "A", false},
		{p.on("vague"), "pr", nil, false}, {p.on("vague"), "eq", "x", false},
		{p.on("active"), "eq", true, true}, {p.on("active"), "eq", false, false}, {p.on("active"), "ne", false, true},
		{p.on("size"), "gt", jsonNumber("9"), true}, {p.on("size"), "eq", jsonNumber("10.0"), true},
		{p.on("size"), "lt", jsonNumber("10"), false},
		{p.on("born"), "eq", "2020-01-01T01:00:00+01:00", true}, {p.on("born"), "gt", "2019-12-31T23:59:59Z", true},
		{p.on("born"), "le", "2019-12-31T23:59:59Z", false},
		{p.on("name"), "pr", nil, true}, {p.on("name", "givenName"), "eq", "ADA", true}, {p.on("name", "familyName"), "pr", nil, false},
		{p.on("emails", "type"), "eq", "home", true}, {p.on("emails", "value"), "ew", "office", false},
		{p.on("emails", "primary"), "eq", true, true},
		{p.on("aliases"), "eq", "y", true}, {p.on("aliases"), "eq", "z", false}, {p.on("department"), "co", "&", true},
	} {
		c := Condition{Name: tt.name, Operator: tt.operator, Operand: tt.operand}
		require.Equal(t, tt.want, Matches(c, o), c.String())
	}
	empty := decoded(t, `{"title":"","aliases":[],"name":{"givenName":""},"emails":null}`)
	for _, n := range []Name{p.on("title"), p.on("aliases"), p.on("name"), p.on("emails"), p.on("size")} {
		require.False(t, Matches(Condition{Name: n, Operator: "pr"}, empty), n.Text)
	}
}

func jsonNumber(s string) any { return json.Number(s) }

func TestValuePath_MatchesSingleElement(t *testing.T) {
	p := person()
	o := decoded(t, ada)
	sub := func(name, operator string, operand any) Filter {
		return Condition{Name: Name{Sub: p.attribute("emails").sub(name), Text: name}, Operator: operator, Operand: operand}
	}
	path := func(inner Filter) Filter { return ValuePath{p.on("emails"), inner} }
	require.True(t, Matches(path(And(sub("type", "eq", "work"), sub("value", "sw", "a"))), o))
	require.False(t, Matches(path(And(sub("type", "eq", "work"), sub("value", "sw", "b"))), o))
	require.True(t, Matches(path(Not{sub("type", "eq", "work")}), o))
	require.False(t, Matches(Not{path(sub("type", "eq", "work"))}, o))
	require.Equal(t, `emails[type eq "work" and not (primary eq true)]`,
		path(And(sub("type", "eq", "work"), Not{sub("primary", "eq", true)})).String())
}

func TestFilter_MinimalParentheses(t *testing.T) {
	p := person()
	c := func(v string) Filter { return Condition{Name: p.on("title"), Operator: "eq", Operand: v} }
	for want, f := range map[string]Filter{
		`title eq "a" and title eq "b" or title eq "c"`:       Or(And(c("a"), c("b")), c("c")),
		`title eq "a" and (title eq "b" or title eq "c")`:     And(c("a"), Or(c("b"), c("c"))),
		`not (title eq "a" or title eq "b") and title eq "c"`: And(Not{Or(c("a"), c("b"))}, c("c")),
		`title eq "a" or (title eq "b" or title eq "c")`:      Or(c("a"), Or(c("b"), c("c"))),
		`title eq "a" AND title PR`: Junction{"and",
			[]Filter{c("a"), Condition{Name: p.on("title"), Operator: "pr", Shout: true}}, true},
		`title eq "the \"old\" \\"`:                                            c(`the "old" \`),
		`userName sw "p" and title eq "a"`:                                     Within(c("a"), p, "p", false),
		`userName sw "p" and (title eq "a" or title eq "b")`:                   Within(Or(c("a"), c("b")), p, "p", false),
		`title eq "a" and userName sw "p" or userName sw "p" and title eq "b"`: Within(Or(c("a"), c("b")), p, "p", true),
	} {
		require.Equal(t, want, f.String())
	}
}

// TestSettled_UnstatedCaseRule checks that a match is ambiguous if it depends on a case rule that the schema omits.
func TestSettled_UnstatedCaseRule(t *testing.T) {
	p := person()
	o := []*scim.Object{decoded(t, `{"vague":"Oak","title":"Oak"}`)}
	require.True(t, Unambiguous(Condition{Name: p.on("title"), Operator: "eq", Operand: "oak"}, o))
	require.True(t, Unambiguous(Condition{Name: p.on("vague"), Operator: "eq", Operand: "Oak"}, o))
	require.False(t, Unambiguous(Condition{Name: p.on("vague"), Operator: "eq", Operand: "oak"}, o))
}

// populated generates a population.
func populated(seed uint64) (Type, []*scim.Object) {
	p := person()
	r := Rand(seed, "test")
	habits := Habits(r, p, "name", "emails")
	var out []*scim.Object
	for i := range 8 {
		o := scim.NewObject(scim.Member{Name: "userName", Value: "p-" + string(rune('a'+i))})
		for _, a := range p.Attributes {
			if a.Free() {
				if v := a.Value(r, habits[a.Path()], "n"+string(rune('a'+i)), "example.com"); v != nil {
					a.set(o, v)
				}
			}
		}
		out = append(out, o)
	}
	return p, out
}

func TestRandomFilters_ObeyLogicLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		p, population := populated(seed)
		d := NewGenerator(Rand(seed, "laws"), p, population)
		require.True(t, d.Useful())
		a, b := d.tree(2), d.tree(2)
		same := func(f, g Filter) { require.Equal(t, d.finds(f), d.finds(g), "%s\n%s", f, g) }
		same(a, Not{Not{a}})
		same(And(a, b), And(b, a))
		same(And(a, a), a)
		same(Not{And(a, b)}, Or(Not{a}, Not{b}))
		same(Not{Or(a, b)}, And(Not{a}, Not{b}))
		same(Or(a, And(a, b)), a)
		same(Within(Or(a, b), p, "p-", true), Or(a, b))
		require.True(t, Unambiguous(d.Filter(1), population))
		for small := range Smaller(a) {
			require.Less(t, weight(small), weight(a), "%s is not smaller than %s", small, a)
		}
	})
}

// weight is a measure that each step of Smaller reduces.
func weight(f Filter) int {
	switch f := f.(type) {
	case Not:
		return 2 + weight(f.Filter)
	case ValuePath:
		return 2 + weight(f.Inner)
	case Junction:
		sum := 2
		for _, p := range f.Parts {
			sum += weight(p)
		}
		return sum
	case Condition:
		if f.plain() != f {
			return 2
		}
	}
	return 1
}

func TestRandomFilters_ReproducibleBySeed(t *testing.T) {
	draw := func(seed uint64) (out []string) {
		p, population := populated(seed)
		d := NewGenerator(Rand(seed, "again"), p, population)
		for range 5 {
			out = append(out, d.Filter(3).String())
		}
		return out
	}
	require.Equal(t, draw(7), draw(7))
	require.NotEqual(t, draw(7), draw(8))
}

func TestRandomFilters_DistinguishObjects(t *testing.T) {
	p, population := populated(3)
	d := NewGenerator(Rand(3, "apart"), p, population)
	for range 20 {
		f := d.Filter(3)
		found := d.finds(f)
		require.Contains(t, found, true, f.String())
		require.Contains(t, found, false, f.String())
	}
}

// TestMisread_LooserAnd checks that the only misreading of a filter gives "and" a lower precedence than "or".
func TestMisread_LooserAnd(t *testing.T) {
	p := person()
	c := func(v string) Filter { return Condition{Name: p.on("code"), Operator: "eq", Operand: v} }
	got := slices.Collect(variants(Or(c("a"), And(c("b"), c("d")), c("e")), misread))
	require.Len(t, got, 1)
	require.Equal(t, `(code eq "a" or code eq "b") and (code eq "d" or code eq "e")`, got[0].String())
}

func TestShrink_SmallestFailingFilter(t *testing.T) {
	p := person()
	c := func(v string) Filter { return Condition{Name: p.on("title"), Operator: "eq", Operand: v} }
	start := Or(And(c("a"), Not{Or(c("b"), c("bad"), c("d"))}), c("e"), And(c("f"), c("g")))
	asked := 0
	// The simulated server gives a wrong result for every filter with the value "bad" below a not.
	fails := func(f Filter) bool {
		asked++
		return containsNot(f)
	}
	require.Equal(t, `not (title eq "bad")`, Shrink(start, Smaller, fails, 100).String())
	require.LessOrEqual(t, asked, 100)

	asked = 0
	Shrink(start, Smaller, func(Filter) bool { asked++; return false }, 3)
	require.Equal(t, 3, asked, "no more calls than allowed")
	require.Equal(t, 0, Shrink(5, func(n int) iter.Seq[int] { return slices.Values([]int{n - 1}) }, func(n int) bool { return n >= 0 }, 100))
}

func containsNot(f Filter) bool {
	switch f := f.(type) {
	case Not:
		return slices.ContainsFunc(slices.Collect(leaves(f.Filter)), func(c Condition) bool { return c.Operand == "bad" })
	case Junction:
		return slices.ContainsFunc(f.Parts, containsNot)
	}
	return false
}

func leaves(f Filter) iter.Seq[Condition] {
	return func(yield func(Condition) bool) {
		switch f := f.(type) {
		case Condition:
			yield(f)
		case Not:
			leaves(f.Filter)(yield)
		case Junction:
			for _, p := range f.Parts {
				leaves(p)(yield)
			}
		}
	}
}
