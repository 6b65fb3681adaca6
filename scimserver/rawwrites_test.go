package scimserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// variables are the parts of a response that differ between two servers with the same content: ids and times.
var variables = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// TestRaw_WritesEqualDecoding sends the same random writes to a server that splices its responses from encoded resources and to one that
// represents the decoded resources. Some attributes are returned on request or never.
func TestRaw_WritesEqualDecoding(t *testing.T) {
	types := []*schema.ResourceType{schema.UserType(), schema.GroupType()}
	types[0].Schema.Attribute("title").Returned = schema.Never
	types[0].Schema.Attribute("nickName").Returned = schema.Request
	types[0].Schema.Attribute("name").SubAttribute("middleName").Returned = schema.Request
	types[0].Extensions[0].Schema.Attribute("department").Returned = schema.Request
	types[0].Extensions[0].Schema.Attribute("division").Returned = schema.Never
	for _, test := range []struct {
		name  string
		types []*schema.ResourceType
	}{{"standard types", nil}, {"attributes returned on request", types}} {
		t.Run(test.name, func(t *testing.T) {
			change := func(o *scimserver.Options) { o.Types, o.BaseURL = test.types, "https://scim.example.com"+prefix }
			spliced := serve(t, sqliteStore(t, test.types...), change)
			decoded := serve(t, decoding(sqliteStore(t, test.types...)), change)
			made := 0
			rapid.Check(t, func(t2 *rapid.T) {
				made++
				equalWrites(t, t2, [2]*harness{decoded, spliced}, fmt.Sprint("user", made))
			})
		})
	}
}

// equalWrites creates a user, makes the user a member of nested groups and changes the user, on both servers.
func equalWrites(t *testing.T, t2 *rapid.T, servers [2]*harness, name string) {
	both := func(method string, target [2]string, body any) (ids [2]string) {
		var texts [2]string
		for i, h := range servers {
			got := h.do(t, method, target[i], body)
			require.Less(t, got.status, 300, got.text)
			location := strings.TrimSuffix(got.header.Get("Location"), "/"+got.id())
			texts[i] = variables.ReplaceAllString(fmt.Sprint(got.status, got.header.Get("ETag"), location, got.text), "*")
			ids[i] = got.id()
		}
		require.Equal(t, texts[0], texts[1], "%s with %v", method, body)
		return ids
	}
	projected := func(path string, ids [2]string) [2]string {
		list := rapid.SampledFrom([]string{"", "", "", "userName", "groups", "groups.value", "meta", "nickName,title", "name.middleName", "name",
			"emails.value", scim.EnterpriseUserSchema, scim.EnterpriseUserSchema + ":department", "password"}).Draw(t2, "attributes")
		query := ""
		if list != "" {
			query = "?" + rapid.SampledFrom([]string{"attributes", "excludedAttributes"}).Draw(t2, "projection") + "=" + url.QueryEscape(list)
		}
		return [2]string{path + ids[0] + query, path + ids[1] + query}
	}
	resource := func() object {
		o := user(name)
		add := func(name string, value any) {
			if rapid.Bool().Draw(t2, name) {
				o[name] = value
			}
		}
		add("active", rapid.Bool().Draw(t2, "value of active"))
		add("title", `Title <é> \`)
		add(rapid.SampledFrom([]string{"nickName", "NICKNAME"}).Draw(t2, "spelling"), "nick \u2028")
		add("password", "secret password")
		add("externalId", name)
		add("name", object{"givenName": "g", "middleName": "m"})
		add("emails", []object{{"value": name + "@example.com", "type": "work", "primary": true}, {"value": "b@example.com"}})
		add("roles", []object{})
		if rapid.Bool().Draw(t2, "extension") {
			o["schemas"] = []string{scim.UserSchema, scim.EnterpriseUserSchema}
			o[scim.EnterpriseUserSchema] = object{"department": "d", "division": "x", "manager": object{"value": "m"}}
		}
		return o
	}
	ids := both(http.MethodPost, projected("/Users", [2]string{}), resource())
	var groups [2]string
	if rapid.Bool().Draw(t2, "grouped") {
		for i, h := range servers {
			groups[i] = h.newGroup(t, "inner", ids[i]).id()
			h.newGroup(t, "outer", groups[i])
		}
	}
	both(http.MethodPut, projected("/Users/", ids), resource())
	value := rapid.SampledFrom([]object{
		{"nickName": "new"}, {"title": "new"}, {"active": false}, {"active": true}, {"name": object{"middleName": "n"}}, {"userName": name},
		{"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": object{"department": "new"}}, {"password": "another password"},
	}).Draw(t2, "value")
	operation := object{"op": "replace", "value": value}
	if rapid.Bool().Draw(t2, "remove") {
		operation = object{"op": "remove", "path": rapid.SampledFrom([]string{"nickName", "emails", "name.middleName"}).Draw(t2, "path")}
	}
	both(http.MethodPatch, projected("/Users/", ids), object{"schemas": []string{scim.PatchOpMessage}, "Operations": []object{operation}})
}

// TestRaw_SameID reads the groups of a user if another user has the id of the group.
func TestRaw_SameID(t *testing.T) {
	store := sqliteStore(t)
	raw, decoded := bothWays(t, store)
	member := grownUser(1)
	same := grownUser(2)
	_, err := store.Create(t.Context(), member, nil)
	require.NoError(t, err)
	_, err = store.Create(t.Context(), same, nil)
	require.NoError(t, err)
	resource, err := scim.DecodeResource([]byte(`{"schemas":["` + scim.GroupSchema + `"],"displayName":"the group"}`))
	require.NoError(t, err)
	group := &scimserver.Record{Type: "Group", ID: same.ID, Resource: resource, Display: "the group"}
	_, err = store.Create(t.Context(), group, []string{member.ID})
	require.NoError(t, err)
	for _, target := range []string{"/Users/" + member.ID, "/Users", "/Groups/" + same.ID} {
		want, got := decoded.get(t, target), raw.get(t, target)
		require.Equal(t, want.text, got.text)
	}
	require.Contains(t, raw.get(t, "/Users/"+member.ID).text, `"display":"the group"`)
}
