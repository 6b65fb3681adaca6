package conformance

import (
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

func TestNamed_RequestAttributes(t *testing.T) {
	for _, c := range []struct {
		name     string
		req      Request
		mentions []string
		not      []string
	}{
		{"members of a body, at any depth", Request{Method: "POST", Body: Doc{"nickName": "title", "name": Doc{"givenName": "x"}}},
			[]string{"nickName", "givenName"}, []string{"title"}},
		{"a body that is not JSON", Request{Method: "POST", Body: []byte(`{"nickName":"x"`)}, []string{"nickName"}, nil},
		{"the path of an operation",
			Request{Method: "PATCH", Body: Doc{"Operations": []Doc{{"op": "remove", "path": `emails[type eq "title"].value`}}}},
			[]string{"emails", "value"}, []string{"title"}},
		{"a path with a URN", Request{Method: "PATCH", Body: Doc{"Operations": []Doc{{"op": "remove", "path": scim.UserSchema + ":nickName"}}}},
			[]string{"nickName"}, nil},
		{"a filter", Request{Query: url.Values{"filter": {`nickName eq "title" and active eq true`}}}, []string{"nickName", "active"},
			[]string{"title"}},
		{"lists of attributes", Request{Query: url.Values{"attributes": {"userName,nickName"}, "sortBy": {"title"}}},
			[]string{"nickName", "title"}, nil},
		{"a search", Request{Method: "POST", Path: "/Users/.search",
			Body: Doc{"filter": `nickName eq "userType"`, "attributes": []string{"title", "emails"}}},
			[]string{"nickName", "title", "emails"}, []string{"userType"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := attributeWords(c.req)
			require.Subset(t, names, c.mentions)
			for _, name := range c.not {
				require.False(t, slices.Contains(names, name), "%s is a value", name)
			}
		})
	}
}

// TestUndeclared_OptionalAttributes checks that an optional attribute is undeclared if the target neither lists it in its schemas nor
// returns it.
func TestUndeclared_OptionalAttributes(t *testing.T) {
	schema, err := scim.Decode([]byte(`{"id":"` + scim.UserSchema + `","attributes":[{"name":"userName"},{"name":"TITLE"}]}`))
	require.NoError(t, err)
	asks := func(name string) []Request {
		return []Request{{Method: "GET", Path: "/Users", Query: url.Values{"filter": {name + ` eq "x"`}}}}
	}
	s := &session{caps: &Capabilities{Schemas: []*scim.Object{schema}}, shown: map[string]bool{}, shownByDefault: map[string]bool{}}
	require.Equal(t, "nickName", s.undeclared(asks("NICKNAME")))
	require.Empty(t, s.undeclared(asks("title")), "listed")
	require.Empty(t, s.undeclared(asks("password")), "no target may return it")
	plain := Doc{"userName": "a@example.com", "emails": []Doc{{"value": "a@example.com", "type": "work", "primary": true}}}
	require.Empty(t, s.undeclared([]Request{{Method: "POST", Path: "/Users", Body: plain}}), "a default of every user")
	require.Contains(t, plain, "emails")
	require.Equal(t, "emails",
		s.undeclared([]Request{{Method: "POST", Path: "/Users", Body: Doc{"userName": "a", "emails": []Doc{{"value": "b"}}}}}))
	require.Empty(t, s.undeclared([]Request{{Method: "PUT", Path: "/Users/1", Body: Doc{"name": defaultName(), "active": true}}}))
	require.Empty(t, s.undeclared([]Request{{Method: "GET", Path: "/Groups", Query: url.Values{"filter": {`nickName eq "x"`}}}}),
		"no schema of groups")
	s.recordShown(Request{Method: "GET", Path: "/Users/1"}, &Response{Status: 200, Body: []byte(`{"id":"1","nickName":"Nick"}`)})
	require.Empty(t, s.undeclared(asks("nickName")), "shown by the target")
	s = &session{caps: &Capabilities{}, shown: map[string]bool{}, shownByDefault: map[string]bool{}}
	require.Empty(t, s.undeclared(asks("nickName")), "a target without /Schemas declares nothing")
}
