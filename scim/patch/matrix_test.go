package patch

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

const enterprise = scim.EnterpriseUserSchema

// tags is an extension with attributes that the core schemas lack: simple multi-valued, immutable, read-only and required ones.
var tags = &schema.Schema{ID: "urn:example:Tags", Name: "Tags", Attributes: []*schema.Attribute{
	{Name: "labels", MultiValued: true},
	{Name: "serial", Mutability: schema.Immutable},
	{Name: "origin", Type: schema.Complex, SubAttributes: []*schema.Attribute{
		{Name: "country", Mutability: schema.Immutable},
		{Name: "note"},
		{Name: "checked", Type: schema.DateTime, Mutability: schema.ReadOnly},
	}},
	{Name: "score", Type: schema.Integer, Mutability: schema.ReadOnly},
	{Name: "codes", MultiValued: true, Mutability: schema.Immutable},
}}

func userType() *schema.ResourceType {
	rt := schema.UserType()
	rt.Extensions = append(rt.Extensions, schema.Extension{Schema: tags})
	return rt
}

const fullUser = `{
	"schemas": ["` + scim.UserSchema + `", "` + enterprise + `", "urn:example:Tags"],
	"id": "1",
	"userName": "bjensen",
	"name": {"givenName": "Barbara", "familyName": "Jensen"},
	"title": "Tour Guide",
	"active": true,
	"emails": [
		{"value": "b@work.example", "type": "work", "primary": true},
		{"value": "b@home.example", "type": "home"}
	],
	"groups": [{"value": "g1"}],
	"` + enterprise + `": {"employeeNumber": "7", "manager": {"value": "26", "displayName": "John"}},
	"urn:example:Tags": {"labels": ["a", "b"], "serial": "S1", "origin": {"country": "NO", "note": "n"}, "score": 5}
}`

const bareUser = `{"schemas": ["` + scim.UserSchema + `"], "id": "1", "userName": "bjensen"}`

func resource(t testing.TB, text string) *scim.Resource {
	t.Helper()
	r, err := scim.DecodeResource([]byte(text))
	require.NoError(t, err)
	return r
}

func request(t testing.TB, operations string) *scim.PatchRequest {
	t.Helper()
	var req scim.PatchRequest
	require.NoError(t, json.Unmarshal([]byte(`{"schemas":["`+scim.PatchOpMessage+`"],"Operations":[`+operations+`]}`), &req))
	return &req
}

// step is one PATCH with its expected result: the members in want (null: removed), or a scimType.
type step struct {
	name string
	on   string // default: fullUser
	ops  string
	want string // an object; "" for no change
	fail scim.Type
	opts Options
	rt   *schema.ResourceType
}

func (s step) run(t *testing.T) {
	t.Helper()
	if s.on == "" {
		s.on = fullUser
	}
	if s.rt == nil {
		s.rt = userType()
	}
	before := resource(t, s.on)
	untouched := before.Clone()
	out, changed, err := Apply(before, request(t, s.ops), s.rt, s.opts)
	require.True(t, scim.Equal(&before.Object, &untouched.Object), "Apply must not change its argument")
	if s.fail != "" {
		var e *scim.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, s.fail, e.ScimType, e.Detail)
		require.Equal(t, 400, e.Status)
		require.Nil(t, out)
		return
	}
	require.NoError(t, err)
	require.Equal(t, s.want != "", changed, "changed")
	expected := untouched.Clone()
	if s.want != "" {
		for name, v := range resource(t, s.want).All() {
			if v == nil {
				expected.Delete(name)
			} else {
				expected.Set(name, v)
			}
		}
	}
	if !scim.Equal(&expected.Object, &out.Object) {
		t.Fatal(cmp.Diff(pretty(expected), pretty(out)))
	}
}

func pretty(r *scim.Resource) string {
	b, _ := json.MarshalIndent(r, "", "  ")
	return string(b)
}

// TestMatrix runs three operations with eleven kinds of target, on a resource that has the value and on one that does not.
func TestMatrix(t *testing.T) {
	for _, group := range []struct {
		target string
		steps  []step
	}{
		{"no path", []step{
			{name: "add merges every attribute", ops: `{"op":"add","value":{"nickName":"Babs","emails":[{"value":"c@x","type":"other"}]}}`,
				want: `{"nickName":"Babs","emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"b@home.example",` +
					`"type":"home"},{"value":"c@x","type":"other"}]}`},
			{name: "add needs an object", ops: `{"op":"add","value":"x"}`, fail: scim.InvalidValue},
			{name: "replace changes only the named attributes",
				ops:  `{"op":"replace","value":{"title":"Boss","emails":[{"value":"c@x"}],"name":{"familyName":"J"}}}`,
				want: `{"title":"Boss","emails":[{"value":"c@x"}],"name":{"givenName":"Barbara","familyName":"J"}}`},
			{name: "replace with null inside unassigns one sub-attribute", ops: `{"op":"replace","value":{"name":{"familyName":null}}}`,
				want: `{"name":{"givenName":"Barbara"}}`},
			{name: "remove without path fails with noTarget", ops: `{"op":"remove"}`, fail: scim.NoTarget},
			{name: "remove with a value and without path fails with noTarget", ops: `{"op":"remove","value":{"title":"Tour Guide"}}`,
				fail: scim.NoTarget},
		}},
		{"single-valued simple", []step{
			{name: "add replaces", ops: `{"op":"add","path":"title","value":"Boss"}`, want: `{"title":"Boss"}`},
			{name: "add creates", on: bareUser, ops: `{"op":"add","path":"title","value":"Boss"}`, want: `{"title":"Boss"}`},
			{name: "replace sets", ops: `{"op":"replace","path":"TITLE","value":"Boss"}`, want: `{"title":"Boss"}`},
			{name: "replace of an absent value adds it", on: bareUser, ops: `{"op":"replace","path":"title","value":"Boss"}`,
				want: `{"title":"Boss"}`},
			{name: "remove unassigns", ops: `{"op":"remove","path":"title"}`, want: `{"title":null}`},
			{name: "remove of an absent value succeeds", on: bareUser, ops: `{"op":"remove","path":"title"}`},
		}},
		{"single-valued complex", []step{
			{name: "add merges", ops: `{"op":"add","path":"name","value":{"middleName":"M"}}`,
				want: `{"name":{"givenName":"Barbara","familyName":"Jensen","middleName":"M"}}`},
			{name: "add creates", on: bareUser, ops: `{"op":"add","path":"name","value":{"middleName":"M"}}`, want: `{"name":{"middleName":"M"}}`},
			{name: "add needs an object", ops: `{"op":"add","path":"name","value":"M"}`, fail: scim.InvalidValue},
			{name: "replace merges", ops: `{"op":"replace","path":"name","value":{"familyName":"M"}}`,
				want: `{"name":{"givenName":"Barbara","familyName":"M"}}`},
			{name: "replace with null unassigns", ops: `{"op":"replace","path":"name","value":null}`, want: `{"name":null}`},
			{name: "remove unassigns", ops: `{"op":"remove","path":"name"}`, want: `{"name":null}`},
		}},
		{"sub-attribute", []step{
			{name: "add sets only this sub-attribute", ops: `{"op":"add","path":"name.middleName","value":"M"}`,
				want: `{"name":{"givenName":"Barbara","familyName":"Jensen","middleName":"M"}}`},
			{name: "add creates the parent", on: bareUser, ops: `{"op":"add","path":"name.middleName","value":"M"}`,
				want: `{"name":{"middleName":"M"}}`},
			{name: "replace sets only this sub-attribute", ops: `{"op":"replace","path":"name.familyName","value":"M"}`,
				want: `{"name":{"givenName":"Barbara","familyName":"M"}}`},
			{name: "remove unassigns only this sub-attribute", ops: `{"op":"remove","path":"name.familyName"}`,
				want: `{"name":{"givenName":"Barbara"}}`},
			{name: "remove of the last sub-attribute unassigns the parent",
				ops: `{"op":"remove","path":"name.familyName"},{"op":"remove","path":"name.givenName"}`, want: `{"name":null}`},
			{name: "remove of an absent value succeeds", on: bareUser, ops: `{"op":"remove","path":"name.familyName"}`},
		}},
		{"multi-valued simple", []step{
			{name: "add appends", ops: `{"op":"add","path":"urn:example:Tags:labels","value":["b","c"]}`, want: tagged(`"labels":["a","b","c"]`)},
			{name: "add accepts a single value", ops: `{"op":"add","path":"urn:example:Tags:labels","value":"c"}`,
				want: tagged(`"labels":["a","b","c"]`)},
			{name: "replace replaces all", ops: `{"op":"replace","path":"urn:example:Tags:labels","value":["x"]}`, want: tagged(`"labels":["x"]`)},
			{name: "remove removes all", ops: `{"op":"remove","path":"urn:example:Tags:labels"}`, want: tagged(``)},
			{name: "remove by filter", ops: `{"op":"remove","path":"urn:example:Tags:labels[value eq \"A\"]"}`, want: tagged(`"labels":["b"]`)},
		}},
		{"multi-valued complex", []step{
			{name: "add appends", ops: `{"op":"add","path":"emails","value":[{"value":"c@x"}]}`,
				want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"b@home.example","type":"home"},{"value":"c@x"}]}`},
			{name: "add creates", on: bareUser, ops: `{"op":"add","path":"emails","value":{"value":"c@x"}}`, want: `{"emails":[{"value":"c@x"}]}`},
			{name: "replace replaces all", ops: `{"op":"replace","path":"emails","value":[{"value":"c@x"}]}`, want: `{"emails":[{"value":"c@x"}]}`},
			{name: "replace with nothing unassigns", ops: `{"op":"replace","path":"emails","value":[]}`, want: `{"emails":null}`},
			{name: "remove removes all", ops: `{"op":"remove","path":"emails"}`, want: `{"emails":null}`},
			{name: "remove with a value is rejected", ops: `{"op":"remove","path":"emails","value":[{"value":"b@home.example"}]}`,
				fail: scim.InvalidValue},
		}},
		{"value filter", []step{
			{name: "add merges into the match", ops: `{"op":"add","path":"emails[type eq \"home\"]","value":{"display":"B"}}`,
				want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"b@home.example","type":"home","display":"B"}]}`},
			{name: "add without match fails with noTarget", ops: `{"op":"add","path":"emails[type eq \"other\"]","value":{"value":"c@x"}}`,
				fail: scim.NoTarget},
			{name: "replace replaces the match as a whole", ops: `{"op":"replace","path":"emails[type eq \"HOME\"]","value":{"value":"c@x"}}`,
				want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"c@x"}]}`},
			{name: "replace of several matches", ops: `{"op":"replace","path":"emails[value co \"@\"]","value":{"value":"c@x"}}`,
				want: `{"emails":[{"value":"c@x"}]}`},
			{name: "replace without match fails with noTarget", ops: `{"op":"replace","path":"emails[type eq \"other\"]","value":{"value":"c@x"}}`,
				fail: scim.NoTarget},
			{name: "replace of an absent attribute fails with noTarget", on: bareUser,
				ops: `{"op":"replace","path":"emails[type eq \"work\"]","value":{"value":"c@x"}}`, fail: scim.NoTarget},
			{name: "replace with null removes the match", ops: `{"op":"replace","path":"emails[type eq \"work\"]","value":null}`,
				want: `{"emails":[{"value":"b@home.example","type":"home"}]}`},
			{name: "remove removes the match", ops: `{"op":"remove","path":"emails[type eq \"work\"]"}`,
				want: `{"emails":[{"value":"b@home.example","type":"home"}]}`},
			{name: "remove of the last match unassigns", ops: `{"op":"remove","path":"emails[value pr]"}`, want: `{"emails":null}`},
			{name: "remove without match succeeds", ops: `{"op":"remove","path":"emails[type eq \"other\"]"}`},
		}},
		{"value filter and sub-attribute", []step{
			{name: "add sets the sub-attribute on the match", ops: `{"op":"add","path":"emails[type eq \"home\"].display","value":"B"}`,
				want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"b@home.example","type":"home","display":"B"}]}`},
			{name: "add without match fails with noTarget", ops: `{"op":"add","path":"emails[type eq \"other\"].value","value":"c@x"}`,
				fail: scim.NoTarget},
			{name: "replace sets the sub-attribute on every match", ops: `{"op":"replace","path":"emails[value pr].display","value":"B"}`,
				want: `{"emails":[{"value":"b@work.example","type":"work","primary":true,"display":"B"},{"value":"b@home.example","type":"home",` +
					`"display":"B"}]}`},
			{name: "replace without match fails with noTarget", ops: `{"op":"replace","path":"emails[type eq \"other\"].value","value":"c@x"}`,
				fail: scim.NoTarget},
			{name: "remove unassigns the sub-attribute on the match", ops: `{"op":"remove","path":"emails[type eq \"home\"].type"}`,
				want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"b@home.example"}]}`},
			{name: "remove without match succeeds", ops: `{"op":"remove","path":"emails[type eq \"other\"].type"}`},
		}},
		{"sub-attribute of every element", []step{
			{name: "add", ops: `{"op":"add","path":"emails.display","value":"B"}`,
				want: `{"emails":[{"value":"b@work.example","type":"work","primary":true,"display":"B"},{"value":"b@home.example","type":"home",` +
					`"display":"B"}]}`},
			{name: "replace", ops: `{"op":"replace","path":"emails.type","value":"other"}`,
				want: `{"emails":[{"value":"b@work.example","type":"other","primary":true},{"value":"b@home.example","type":"other"}]}`},
			{name: "replace without elements fails with noTarget", on: bareUser, ops: `{"op":"replace","path":"emails.type","value":"other"}`,
				fail: scim.NoTarget},
			{name: "replace cannot set primary on all elements", ops: `{"op":"replace","path":"emails.primary","value":true}`,
				fail: scim.InvalidValue},
			{name: "remove", ops: `{"op":"remove","path":"emails.type"}`,
				want: `{"emails":[{"value":"b@work.example","primary":true},{"value":"b@home.example"}]}`},
		}},
		{"extension attribute", []step{
			{name: "add names the schema", on: bareUser, ops: `{"op":"add","path":"` + enterprise + `:employeeNumber","value":"9"}`,
				want: `{"schemas":["` + scim.UserSchema + `","` + enterprise + `"],"` + enterprise + `":{"employeeNumber":"9"}}`},
			{name: "add of a sub-attribute creates all its parents", on: bareUser,
				ops:  `{"op":"add","path":"` + enterprise + `:manager.value","value":"9"}`,
				want: `{"schemas":["` + scim.UserSchema + `","` + enterprise + `"],"` + enterprise + `":{"manager":{"value":"9"}}}`},
			{name: "replace", ops: `{"op":"replace","path":"` + enterprise + `:employeeNumber","value":"9"}`,
				want: `{"` + enterprise + `":{"employeeNumber":"9","manager":{"value":"26","displayName":"John"}}}`},
			{name: "remove", ops: `{"op":"remove","path":"` + enterprise + `:employeeNumber"}`,
				want: `{"` + enterprise + `":{"manager":{"value":"26","displayName":"John"}}}`},
			{name: "remove of the last writable sub-attribute removes the value", ops: `{"op":"remove","path":"` + enterprise + `:manager.value"}`,
				want: `{"` + enterprise + `":{"employeeNumber":"7"}}`},
			{name: "remove of the last attribute removes the schema",
				ops:  `{"op":"remove","path":"` + enterprise + `:employeeNumber"},{"op":"remove","path":"` + enterprise + `:manager"}`,
				want: `{"schemas":["` + scim.UserSchema + `","urn:example:Tags"],"` + enterprise + `":null}`},
		}},
		{"bare extension URN", []step{
			{name: "add merges", ops: `{"op":"add","path":"` + enterprise + `","value":{"department":"D"}}`,
				want: `{"` + enterprise + `":{"employeeNumber":"7","manager":{"value":"26","displayName":"John"},"department":"D"}}`},
			{name: "replace merges", ops: `{"op":"replace","path":"` + enterprise + `","value":{"employeeNumber":"8"}}`,
				want: `{"` + enterprise + `":{"employeeNumber":"8","manager":{"value":"26","displayName":"John"}}}`},
			{name: "remove removes the extension and its schema", ops: `{"op":"remove","path":"` + enterprise + `"}`,
				want: `{"schemas":["` + scim.UserSchema + `","urn:example:Tags"],"` + enterprise + `":null}`},
		}},
	} {
		t.Run(group.target, func(t *testing.T) {
			for _, s := range group.steps {
				t.Run(s.name, s.run)
			}
		})
	}
}

// tagged returns the tags extension of fullUser with other labels.
func tagged(labels string) string {
	if labels != "" {
		labels += ","
	}
	return `{"urn:example:Tags": {` + labels + `"serial": "S1", "origin": {"country": "NO", "note": "n"}, "score": 5}}`
}
