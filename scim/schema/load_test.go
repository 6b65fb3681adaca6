package schema

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

const (
	widgetSchema = `{"schemas":["` + scim.SchemaSchema +
		`"],"id":"urn:example:Widget","name":"Widget","attributes":[{"name":"label","required":true}]}`
	widgetType = `{"schemas":["` + scim.ResourceTypeSchema +
		`"],"id":"Widget","name":"Widget","endpoint":"/Widgets","schema":"urn:example:Widget"}`
)

func directory(files map[string]string) fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

// TestLoad_ServedDocuments checks that Load reads the discovery documents as the server returns them.
func TestLoad_ServedDocuments(t *testing.T) {
	user := UserType()
	user.Extensions = append(user.Extensions, Extension{Schema: &Schema{ID: "urn:example:Badge", Name: "Badge", Attributes: []*Attribute{
		{Name: "color", Type: String, Mutability: ReadWrite, Returned: Default, Uniqueness: None}}}, Required: true})
	userDoc, err := user.Resource().MarshalJSON()
	require.NoError(t, err)
	badge, err := user.Extensions[1].Schema.MarshalJSON()
	require.NoError(t, err)
	types, err := Load(
		directory(
			map[string]string{"a.json": widgetType, "b.json": widgetSchema, "c.json": string(userDoc), "d.json": string(badge), "notes.txt": "x"}))
	require.NoError(t, err)
	require.Len(t, types, 3)
	require.Empty(t, cmp.Diff(user, types[0]))
	require.Empty(t, cmp.Diff(GroupType(), types[1]))
	require.Equal(t, "/Widgets", types[2].Endpoint)
	require.True(t, types[2].Schema.Attributes[0].Required)

	types, err = Load(directory(nil))
	require.NoError(t, err)
	require.Len(t, types, 2, "an empty directory adds nothing")
}

func TestLoad_Rejects(t *testing.T) {
	resourceType := func(members string) string { return `{"schemas":["` + scim.ResourceTypeSchema + `"],` + members + `}` }
	for _, test := range []struct{ name, text, want string }{
		{"no JSON", "{", "x.json"},
		{"another document", `{"schemas":["urn:x"]}`, "names neither"},
		{"a schema without attributes", `{"schemas":["` + scim.SchemaSchema + `"],"id":"urn:example:Empty"}`, "no attributes"},
		{"a schema given twice", widgetSchema, "has the same id"},
		{"an unused schema", `{"schemas":["` + scim.SchemaSchema + `"],"id":"urn:example:Lonely","attributes":[{"name":"a"}]}`,
			"no resource type uses"},
		{"an unknown schema", resourceType(`"name":"A","endpoint":"/As","schema":"urn:example:None"`), `schema "urn:example:None" not found`},
		{"an unknown extension",
			resourceType(`"name":"A","endpoint":"/As","schema":"urn:example:Widget","schemaExtensions":[{"schema":"urn:example:None"}]`),
			"schemaExtensions[0]"},
		{"an extension named twice",
			resourceType(`"name":"A","endpoint":"/As","schema":"urn:example:Widget","schemaExtensions":[{"schema":"urn:example:widget"}]`),
			"named twice"},
		{"no name", resourceType(`"endpoint":"/As","schema":"urn:example:Widget"`), "no letter"},
		{"no endpoint", resourceType(`"name":"A","schema":"urn:example:Widget"`), "endpoint"},
		{"a deep endpoint", resourceType(`"name":"A","endpoint":"/a/b","schema":"urn:example:Widget"`), "endpoint"},
		{"a name that is taken", resourceType(`"name":"wid-get","endpoint":"/As","schema":"urn:example:Widget"`), "another resource type"},
		{"an endpoint that is taken", resourceType(`"name":"A","endpoint":"/Widgets","schema":"urn:example:Widget"`), "another resource type"},
		{"a built-in endpoint", resourceType(`"name":"A","endpoint":"/Users","schema":"urn:example:Widget"`), "built-in"},
		{"a built-in name in another case", resourceType(`"name":"user","endpoint":"/As","schema":"urn:example:Widget"`), "built-in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(directory(map[string]string{"a.json": widgetType, "b.json": widgetSchema, "x.json": test.text}))
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "x.json")
		})
	}
}
