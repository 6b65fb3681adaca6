package oracle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
)

// changeable returns person with all attributes known to be optional.
func changeable() Type {
	p := person()
	for i := range p.Attributes {
		p.Attributes[i].Optional = true
		for j := range p.Attributes[i].Subs {
			p.Attributes[i].Subs[j].Optional = true
		}
	}
	return p
}

// at returns an operation on an attribute.
func at(p Type, op, attribute string, value any) Operation {
	a := p.attribute(attribute)
	return Operation{Op: op, Attribute: a, Spelled: a.Path(), Value: value}
}

// where restricts an operation on emails to the elements of a type.
func (op Operation) where(p Type, kind string) Operation {
	op.Filter = Condition{Name: Name{Sub: p.attribute("emails").sub("type"), Text: "type"}, Operator: "eq", Operand: kind}
	return op
}

func (op Operation) part(name string) Operation {
	op.Sub = op.Attribute.sub(name)
	return op
}

func stored(text string) any {
	o, err := scim.Decode([]byte(`{"v":` + text + `}`))
	if err != nil {
		panic(err) // the operation is a literal of a test below
	}
	v, _ := o.Get("v")
	return v
}

func TestApply_FollowsRFC(t *testing.T) {
	p := changeable()
	o := decoded(t, ada)
	for name, tt := range map[string]struct {
		op   Operation
		path string // of the operation
		of   string // the attribute to check
		want string // "" for absent
	}{
		"add sets a single value":      {at(p, "add", "title", "x"), "title", "title", `"x"`},
		"replace sets a single value":  {at(p, "replace", "title", "x"), "title", "title", `"x"`},
		"replace sets an absent value": {at(p, "replace", "vague", "x"), "vague", "vague", `"x"`},
		"remove unassigns":             {at(p, "remove", "title", nil), "title", "title", ""},
		"add appends to a list":        {at(p, "add", "aliases", stored(`["z"]`)), "aliases", "aliases", `["x","Y","z"]`},
		"replace replaces a list":      {at(p, "replace", "aliases", stored(`["z"]`)), "aliases", "aliases", `["z"]`},
		"remove empties a list":        {at(p, "remove", "emails", nil), "emails", "emails", ""},
		"replace merges a complex attribute": {at(p, "replace", "name", stored(`{"familyName":"L"}`)), "name", "name",
			`{"givenName":"Ada","familyName":"L"}`},
		"a sub-attribute is set alone": {at(p, "add", "name", "B").part("givenName"), "name.givenName", "name",
			`{"givenName":"B"}`},
		"add of a primary removes it from the others": {at(p, "add", "emails", stored(`[{"value":"c","type":"other","primary":true}]`)),
			"emails", "emails", `[{"value":"a@work","type":"work"},{"value":"b@home","type":"home"},{"value":"c","type":"other","primary":true}]`},
		"remove with a filter removes the matches": {at(p, "remove", "emails", nil).where(p, "WORK"), `emails[type eq "WORK"]`, "emails",
			`[{"value":"b@home","type":"home"}]`},
		"replace under a filter changes only the matches": {at(p, "replace", "emails", "c").where(p, "home").part("value"),
			`emails[type eq "home"].value`, "emails", `[{"value":"a@work","type":"work","primary":true},{"value":"c","type":"home"}]`},
		"primary under a filter moves": {at(p, "replace", "emails", true).where(p, "home").part("primary"),
			`emails[type eq "home"].primary`, "emails", `[{"value":"a@work","type":"work"},{"value":"b@home","type":"home","primary":true}]`},
		"remove of a part under a filter removes it": {at(p, "remove", "emails", nil).where(p, "work").part("primary"),
			`emails[type eq "work"].primary`, "emails", `[{"value":"a@work","type":"work"},{"value":"b@home","type":"home"}]`},
		"an extension is addressed by its URN": {at(p, "replace", "department", "D"), "urn:x:Ext:department", "department", `"D"`},
		"an operation without a path sets its parts": {
			Operation{Op: "add", Parts: []Part{{p.attribute("title"), "x"}, {p.attribute("aliases"), stored(`["z"]`)}}}, "", "aliases",
			`["x","Y","z"]`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.path, tt.op.Path())
			after, defined := Apply(o, []Operation{tt.op})
			require.True(t, defined)
			a := p.attribute(tt.of)
			var want any
			if tt.want != "" {
				want = stored(tt.want)
			}
			require.True(t, a.Same(want, a.Of(after)), "want %s, got %v", tt.want, string(scim.AppendValue(nil, a.Of(after))))
			require.True(t, scim.Equal(o, decoded(t, ada)), "the resource itself is not modified")
			for _, other := range p.Attributes {
				if other.Name != tt.of && len(tt.op.Parts) == 0 {
					require.True(t, other.Same(other.Of(o), other.Of(after)), other.Name)
				}
			}
		})
	}
}

func TestApply_UnspecifiedNotPredicted(t *testing.T) {
	p := changeable()
	o := decoded(t, ada)
	kept := person() // Optional is not set, because no observed resource lacks the attribute.
	for name, op := range map[string]Operation{
		"remove of an absent attribute":                  at(p, "remove", "vague", nil),
		"remove of an attribute that may have a default": at(kept, "remove", "title", nil),
		"remove of a required attribute": func() Operation {
			q := changeable()
			q.attribute("title").Required = true
			return at(q, "remove", "title", nil)
		}(),
		"remove of an absent part":                       at(p, "remove", "name", nil).part("familyName"),
		"add of a complex attribute that has a value":    at(p, "add", "name", stored(`{"familyName":"L"}`)),
		"a complex attribute with a value, without path": {Op: "replace", Parts: []Part{{p.attribute("name"), stored(`{"familyName":"L"}`)}}},
		"remove without a path":                          {Op: "remove"},
		"add of an existing value":                       at(p, "add", "aliases", stored(`["X"]`)),
		"a filter that selects nothing":                  at(p, "remove", "emails", nil).where(p, "other"),
		"replace of whole elements":                      at(p, "replace", "emails", stored(`{"value":"c"}`)).where(p, "work"),
		"add under a filter":                             at(p, "add", "emails", "c").where(p, "work").part("value"),
		"one value for two elements": func() Operation {
			op := at(p, "replace", "emails", "c").part("value")
			op.Filter = Condition{Name: Name{Sub: p.attribute("emails").sub("type"), Text: "type"}, Operator: "pr"}
			return op
		}(),
		"a part of a list without a filter": at(p, "replace", "emails", "c").part("value"),
	} {
		_, defined := Apply(o, []Operation{op})
		require.False(t, defined, name)
	}
	_, defined := Apply(decoded(t, `{"name":{"givenName":"A"}}`), []Operation{at(p, "remove", "name", nil).part("givenName")})
	require.False(t, defined, "remove of the last part of a complex attribute")
}

// TestRejectable_ElementsOfSameType checks that the oracle permits a server to reject two elements with the same type.
func TestRejectable_ElementsOfSameType(t *testing.T) {
	p := changeable()
	home := `{"type": "home", "value": "h@x.test"}`
	for name, tt := range map[string]struct {
		start string // emails before
		ops   []Operation
		want  bool
	}{
		"a list with two": {`[]`,
			[]Operation{at(p, "replace", "emails", stored(`[`+home+`, {"type": "HOME", "value": "i@x.test"}]`))}, true},
		"an element added to another": {`[` + home + `]`,
			[]Operation{at(p, "add", "emails", stored(`[{"type": "home", "value": "i@x.test"}]`))}, true},
		"two that are removed again": {`[` + home + `]`,
			[]Operation{at(p, "add", "emails", stored(`[{"type": "home", "value": "i@x.test"}]`)), at(p, "remove", "emails", nil)}, true},
		"a list in a value without path": {`[]`,
			[]Operation{{Op: "replace", Parts: []Part{{p.attribute("emails"), stored(`[` + home + `, {"type": "home", "value": "i@x.test"}]`)}}}},
			true},
		"two types": {`[` + home + `]`,
			[]Operation{at(p, "add", "emails", stored(`[{"type": "work", "value": "i@x.test"}]`))}, false},
		"elements without a type": {`[]`,
			[]Operation{at(p, "replace", "emails", stored(`[{"value": "h@x.test"}, {"value": "i@x.test"}]`))}, false},
		"a single value next to two of a type": {
			`[` + home + `, {"type": "home", "value": "i@x.test"}]`, []Operation{at(p, "replace", "title", "x")},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			o := decoded(t, ada)
			p.attribute("emails").set(o, stored(tt.start))
			_, defined := Apply(o, tt.ops)
			require.True(t, defined)
			require.Equal(t, tt.want, MayBeRejected(o, tt.ops))
		})
	}
}

// TestRejectable_ExceptGroupMembers checks that the oracle permits no rejection of group members because they have the same type.
func TestRejectable_ExceptGroupMembers(t *testing.T) {
	group := decoded(t, `{"members": [{"value": "a", "type": "User"}, {"value": "b", "type": "User"}]}`)
	members := MembersOf()
	ops := []Operation{{Op: "add", Attribute: &members, Spelled: "members", Value: stored(`[{"value": "c"}]`)}}
	_, defined := Apply(group, ops)
	require.True(t, defined)
	require.False(t, MayBeRejected(group, ops))
}

func TestRandomOperations_ObeyLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		kind, population := populated(seed)
		for i := range kind.Attributes {
			kind.Attributes[i].Observe(population)
		}
		same := func(a, b *scim.Object) {
			for _, attribute := range kind.Attributes {
				require.True(t, attribute.Same(attribute.Of(a), attribute.Of(b)), attribute.Path())
			}
		}
		p := NewPatcher(Rand(seed, "laws"), kind, "example.com")
		o := population[0]
		operations := p.Operations(o, 4)
		require.NotEmpty(t, operations)
		after, defined := Apply(o, operations)
		require.True(t, defined, "generated operations have a defined result")

		half := len(operations) / 2
		first, _ := Apply(o, operations[:half])
		second, defined := Apply(first, operations[half:])
		require.True(t, defined)
		same(after, second)

		for _, op := range operations {
			if op.Op != "replace" || op.Filter != nil {
				continue
			}
			if once, ok := Apply(o, []Operation{op}); ok {
				if twice, ok := Apply(once, []Operation{op}); ok {
					same(once, twice)
				}
			}
		}

		emails := kind.attribute("emails")
		added := scim.NewObject(scim.Member{Name: "value", Value: "added@example.com"}, scim.Member{Name: "type", Value: "other"})
		with, defined := Apply(o, []Operation{{Op: "add", Attribute: emails, Spelled: "emails", Value: []any{added}}})
		require.True(t, defined)
		filter := Condition{Name: Name{Sub: emails.sub("value"), Text: "value"}, Operator: "eq", Operand: "added@example.com"}
		without, defined := Apply(with, []Operation{{Op: "remove", Attribute: emails, Spelled: "emails", Filter: filter}})
		require.True(t, defined)
		same(o, without)
	})
}

func TestRandomMembers_FormSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rand(rapid.Uint64().Draw(t, "seed"), "members")
		ids := []string{"1", "2", "3", "4", "5"}
		group := decoded(t, `{"displayName":"g","members":[{"value":"2"}]}`)
		members := map[string]bool{"2": true}
		operations := Membership(r, group, ids, 5)
		require.NotEmpty(t, operations)
		for _, op := range operations {
			if op.Op == "replace" || op.Op == "remove" && op.Filter == nil {
				clear(members)
			}
			for _, e := range elements(op.Value) {
				members[object(e).Text("value")] = true
			}
			for _, id := range ids {
				if op.Filter != nil && Matches(op.Filter, scim.NewObject(scim.Member{Name: "value", Value: id})) {
					delete(members, id)
				}
			}
		}
		after, defined := Apply(group, operations)
		require.True(t, defined)
		var got []string
		for _, e := range after.Array("members") {
			got = append(got, object(e).Text("value"))
		}
		require.Len(t, got, len(members))
		for _, id := range got {
			require.True(t, members[id], id)
		}
	})
}

func TestShrink_SmallestFailingRequest(t *testing.T) {
	p := changeable()
	bad := at(p, "remove", "emails", nil)
	bad.Filter = Or(Condition{Name: Name{Sub: p.attribute("emails").sub("value"), Text: "value"}, Operator: "eq", Operand: "x"},
		at(p, "remove", "emails", nil).where(p, "work").Filter)
	bad.Spelled = "EMAILS"
	start := []Operation{at(p, "add", "title", "x"), bad, at(p, "replace", "aliases", stored(`["a","b"]`))}
	// The simulated server gives a wrong result for every remove whose filter contains type.
	least := Shrink(start, Simpler, func(operations []Operation) bool {
		return slices.ContainsFunc(operations, func(op Operation) bool {
			return op.Op == "remove" && op.Filter != nil &&
				slices.ContainsFunc(slices.Collect(leaves(op.Filter)), func(c Condition) bool { return c.Name.Text == "type" })
		})
	}, 100)
	require.Len(t, least, 1)
	require.Equal(t, `{"op":"remove","path":"emails[type eq \"work\"]"}`, string(least[0].Object().AppendJSON(nil)))
}

func TestOperation_EncodesPATCH(t *testing.T) {
	p := changeable()
	for want, op := range map[string]Operation{
		`{"op":"add","value":{"title":"x","urn:x:Ext":{"department":"D"}}}`: {Op: "add",
			Parts: []Part{{p.attribute("title"), "x"}, {p.attribute("department"), "D"}}},
		`{"op":"replace","path":"emails[type eq \"work\"].primary","value":true}`: at(p, "replace", "emails", true).where(p,
			"work").part("primary"),
		`{"op":"remove","path":"urn:x:Ext:department"}`: at(p, "remove", "department", nil),
	} {
		require.Equal(t, want, string(op.Object().AppendJSON(nil)))
	}
}
