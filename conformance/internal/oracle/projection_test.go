package oracle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
)

func TestProjection_ShowsOnlyNamed(t *testing.T) {
	p := person()
	o := decoded(t,
		`{"id":"1","meta":{"resourceType":"x"},"userName":"u","title":"t","name":{"givenName":"A","familyName":"B"},"emails":[{"value":"v",`+
			`"type":"work"}],"groups":[{"value":"g"}],"urn:x:Ext":{"department":"D"}}`)
	everything := []string{"userName", "title", "name.givenName", "name.familyName", "emails.value", "emails.type", "groups.value",
		"urn:x:Ext:department"}
	for name, tt := range map[string]struct {
		projection Projection
		value      string
		shown      []string
	}{
		"an attribute": {Projection{Names: []Name{p.on("title")}}, "title", []string{"title"}},
		"a whole":      {Projection{Names: []Name{p.on("name")}}, "name", []string{"name.givenName", "name.familyName"}},
		"a part":       {Projection{Names: []Name{p.on("emails", "value")}}, "emails.value", []string{"emails.value"}},
		"two parts": {Projection{Names: []Name{p.on("emails", "value"), p.on("emails", "type")}}, "emails.value,emails.type",
			[]string{"emails.value", "emails.type"}},
		"of an extension":     {Projection{Names: []Name{p.on("department")}}, "urn:x:Ext:department", []string{"urn:x:Ext:department"}},
		"an absent attribute": {Projection{Names: []Name{p.on("born")}}, "born", []string{}},
		"but an attribute":    {Projection{Exclude: true, Names: []Name{p.on("title")}}, "title", without(everything, "title")},
		"but a part": {Projection{Exclude: true, Names: []Name{p.on("name", "givenName")}}, "name.givenName",
			without(everything, "name.givenName")},
		"but a whole": {Projection{Exclude: true, Names: []Name{p.on("emails")}}, "emails",
			without(everything, "emails.value", "emails.type")},
		"but of the extension": {Projection{Exclude: true, Names: []Name{p.on("department")}}, "urn:x:Ext:department",
			without(everything, "urn:x:Ext:department")},
	} {
		require.Equal(t, tt.value, tt.projection.Value(), name)
		shown, hidden := tt.projection.Predict(p, o)
		require.ElementsMatch(t, tt.shown, shown, name)
		for _, path := range everything {
			require.Equal(t, !slices.Contains(tt.shown, path), slices.Contains(hidden, path), "%s: %s", name, path)
		}
	}
}

func without(list []string, taken ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(taken, s) })
}

func TestProjection_FollowsReturned(t *testing.T) {
	p := person()
	o := decoded(t, `{"title":"t","code":"c","emails":[{"value":"v","type":"work"}]}`)
	p.attribute("code").Returned = "always"
	p.attribute("vague").Returned = "request"
	p.attribute("emails").sub("type").Returned = "always"
	p.attribute("emails").sub("display").Returned = "request"

	shown, hidden := Projection{Names: []Name{p.on("title")}}.Predict(p, o)
	require.Equal(t, []string{"title", "code"}, shown)
	require.Subset(t, hidden, []string{"vague", "emails.value", "emails.type"})

	shown, hidden = Projection{Names: []Name{p.on("emails", "value")}}.Predict(p, o)
	require.Equal(t, []string{"code", "emails.value"}, shown)
	require.NotContains(t, hidden, "emails.type", "no prediction of a sub-attribute that is always returned")

	_, hidden = Projection{Names: []Name{p.on("emails")}}.Predict(p, o)
	require.NotContains(t, hidden, "emails.display", "no prediction of a sub-attribute that is returned on request")

	shown, hidden = Projection{Exclude: true, Names: []Name{p.on("title")}}.Predict(p, o)
	require.Equal(t, []string{"code", "emails.value"}, shown)
	require.Contains(t, hidden, "title")
	require.Contains(t, hidden, "vague")
	require.Equal(t, []string{"title"}, p.Has(o, []string{"title", "born"}))
}

func TestRandomProjections_NamePresentAttributes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		p, population := populated(seed)
		projection := DrawProjection(Rand(seed, "projection"), p, population[0])
		require.NotEmpty(t, projection.Names)
		shown, hidden := projection.Predict(p, population[0])
		for _, n := range projection.Names {
			require.NotEmpty(t, n.values(population[0]), n.Text)
			path := n.Attribute.Path()
			if n.Sub != nil {
				path += "." + n.Sub.Name
			}
			if n.leaf().Kind != "complex" {
				require.Equal(t, !projection.Exclude, slices.Contains(shown, path), path)
				require.Equal(t, projection.Exclude, slices.Contains(hidden, path), path)
			}
		}
		for smaller := range projection.Smaller() {
			require.Len(t, smaller.Names, len(projection.Names)-1)
		}
	})
}

// TestKeys_SortUnambiguously checks that Keys returns only string attributes whose values every server sorts in the same order.
func TestKeys_SortUnambiguously(t *testing.T) {
	p := person()
	population := []*scim.Object{
		decoded(t, `{"userName":"p-b","title":"Oak","code":"x","vague":"a","name":{"givenName":"Elm","familyName":"a-b"},"aliases":["x"]}`),
		decoded(t, `{"userName":"p-A","title":"elm","code":"y","vague":"b","name":{"givenName":"elm","familyName":"a b"},"aliases":["y"]}`),
	}
	var names []string
	for _, n := range Keys(p, population) {
		names = append(names, n.Text)
	}
	require.Equal(t, []string{"userName", "title", "name.givenName"}, names)
	population = append(population, decoded(t, `{"userName":"p-c","name":{"givenName":"x"}}`))
	require.Len(t, Keys(p, population), 2, "an object without title makes the order ambiguous")

	require.Equal(t, "oak", p.on("title").Key(population[0]))
	require.True(t, InOrder([]string{"a", "b", "b"}, false))
	require.False(t, InOrder([]string{"b", "a"}, false))
	require.True(t, InOrder([]string{"b", "b", "a"}, true))
	require.False(t, InOrder([]string{"a", "b"}, true))
}
