package oracle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
)

func TestFree_ClientChosenAttributes(t *testing.T) {
	p := person()
	var free []string
	for _, a := range p.Attributes {
		if a.Free() {
			free = append(free, a.Name)
		}
	}
	require.Equal(t, []string{"title", "code", "vague", "active", "size", "weight", "born", "name", "emails", "aliases", "department"}, free)
	for name, spoil := range map[string]func(a *Attribute){
		"read-only": func(a *Attribute) { a.Mutability = "readOnly" }, "immutable": func(a *Attribute) { a.Mutability = "immutable" },
		"never returned": func(a *Attribute) { a.Returned = "never" }, "on request": func(a *Attribute) { a.Returned = "request" },
		"unique": func(a *Attribute) { a.Uniqueness = "server" }, "a reference": func(a *Attribute) { a.Kind = "reference" },
		"ruled": func(a *Attribute) { a.Name = "locale" }, "a type without canonical values": func(a *Attribute) {
			a.Name, a.Canonical = "type", []string{}
		},
		"complex without parts": func(a *Attribute) { a.Kind = "complex" },
	} {
		a := *p.attribute("title")
		spoil(&a)
		require.False(t, a.Free(), name)
	}
}

func TestValue_FitsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rand(rapid.Uint64().Draw(t, "seed"), "values")
		h := Habit{Always: true, Plain: rapid.Bool().Draw(t, "plain")}
		p := person()
		for _, a := range p.Attributes {
			if !a.Free() {
				continue
			}
			v := a.Value(r, h, "Name", "example.com")
			require.NotNil(t, v, a.Name)
			require.True(t, a.Same(v, v), "%s: %v", a.Name, v)
			list, isList := v.([]any)
			require.Equal(t, a.Multi, isList, a.Name)
			primaries := 0
			for i, e := range list {
				if primary, _ := object(e).Bool("primary"); primary {
					primaries++
				}
				for _, other := range list[:i] {
					require.False(t, a.alike(e, other), "%v twice", e)
				}
			}
			require.LessOrEqual(t, primaries, 1)
			reversed := slices.Clone(list)
			slices.Reverse(reversed)
			if a.Multi {
				require.True(t, a.Same(v, reversed), "the order of values is ignored")
				require.False(t, a.Same(v, append(reversed, list[0])), "an additional element makes a different value")
			}
		}
	})
}

func TestSame_IgnoresServerAdditions(t *testing.T) {
	p := person()
	emails, name, born := p.attribute("emails"), p.attribute("name"), p.attribute("born")
	of := func(a *Attribute, text string) any { return a.Of(decoded(t, text)) }
	sent := of(emails, `{"emails":[{"value":"a","type":"work"}]}`)
	require.True(t, emails.Same(sent, of(emails, `{"emails":[{"value":"a","type":"work","primary":false,"display":"A","$ref":"x"}]}`)))
	require.False(t, emails.Same(sent, of(emails, `{"emails":[{"value":"a","type":"work","primary":true}]}`)))
	require.False(t, emails.Same(sent, of(emails, `{"emails":[{"value":"a","type":"home"}]}`)))
	require.False(t, emails.Same(sent, nil))
	require.True(t, emails.Same(nil, of(emails, `{"emails":[]}`)))
	require.True(t,
		name.Same(of(name, `{"name":{"givenName":"A"}}`), of(name, `{"name":{"givenName":"A","formatted":"A B","familyName":null}}`)))
	require.True(t, born.Same("2020-01-01T00:00:00Z", "2020-01-01T01:00:00.000+01:00"))
	require.False(t, born.Same("2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00"))
	require.True(t, scim.Equal(emails.Shown(of(emails, `{"emails":[{"value":"a","display":"A"}]}`)), []any{decoded(t, `{"value":"a"}`)}))
}

func TestRand_IndependentPerPurpose(t *testing.T) {
	require.Equal(t, Rand(1, "a").Uint64(), Rand(1, "a").Uint64())
	require.NotEqual(t, Rand(1, "a").Uint64(), Rand(1, "b").Uint64())
	require.NotEqual(t, Rand(1, "a").Uint64(), Rand(2, "a").Uint64())
}

// TestCollate_LettersAndDigits checks that two strings have the same order in all collations only if their first different characters are
// two letters or two digits, or if one string is a prefix of the other.
func TestCollate_LettersAndDigits(t *testing.T) {
	for _, tt := range []struct {
		x, y string
		want bool
	}{{"oak", "elm", true}, {"oak", "oakum", true}, {"a1", "a2", true}, {"a1", "ab", false}, {"a-b", "a b", false}, {"a.b", "ab", false},
		{"é", "z", false}, {"", "a", true}} {
		require.Equal(t, tt.want, collate(tt.x, tt.y), "%q and %q", tt.x, tt.y)
	}
}
