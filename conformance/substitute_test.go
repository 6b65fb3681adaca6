package conformance

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

// swapped exchanges displayName and title.
func swapped() substitution {
	var x substitution
	x.swap("displayName", "title")
	return x
}

func TestSubstitution_Expressions(t *testing.T) {
	for given, want := range map[string]string{
		`displayName eq "displayName"`:                          `title eq "displayName"`,
		`not (TITLE pr) and displayName co "a \" title"`:        `not (DISPLAYNAME pr) and title co "a \" title"`,
		`userName,displayName`:                                  `userName,title`,
		scim.UserSchema + `:displayName`:                        scim.UserSchema + `:title`,
		scim.EnterpriseUserSchema + `:manager.displayName`:      scim.EnterpriseUserSchema + `:manager.displayName`,
		`emails[title eq "x"].value`:                            `emails[title eq "x"].value`,
		`manager.displayName sw "x" or title eq "y"`:            `manager.displayName sw "x" or displayName eq "y"`,
		scim.UserSchema:                                         scim.UserSchema,
		`meta.lastModified gt "2020-01-01T00:00:00Z" and title`: `meta.lastModified gt "2020-01-01T00:00:00Z" and displayName`,
	} {
		require.Equal(t, want, swapped().expression(given))
		require.Equal(t, given, swapped().expression(want), "the inverse, compared case-insensitively: "+given)
	}
}

func TestSubstitution_Requests(t *testing.T) {
	op := func(operations ...Doc) Doc { return Doc{"Operations": operations} }
	for name, tt := range map[string]struct{ given, want Request }{
		"a user": {Request{Method: "POST", Path: "/Users", Body: Doc{"displayName": "title", "roles": []Doc{{"title": 1}}}},
			Request{Method: "POST", Path: "/Users", Body: Doc{"title": "title", "roles": []Doc{{"title": 1}}}}},
		"a qualified member": {Request{Method: "PUT", Path: "/Users/1", Body: Doc{scim.UserSchema + ":title": 1}},
			Request{Method: "PUT", Path: "/Users/1", Body: Doc{scim.UserSchema + ":displayName": 1}}},
		"a group": {Request{Method: "POST", Path: "/Groups", Body: Doc{"displayName": "x"}},
			Request{Method: "POST", Path: "/Groups", Body: Doc{"displayName": "x"}}},
		"operations": {Request{Method: "PATCH", Path: "/Users/1",
			Body: op(Doc{"op": "add", "path": "title", "value": Doc{"title": 1}}, Doc{"op": "add", "value": Doc{"title": 1}})},
			Request{Method: "PATCH", Path: "/Users/1",
				Body: op(Doc{"op": "add", "path": "displayName", "value": Doc{"title": 1}}, Doc{"op": "add", "value": Doc{"displayName": 1}})}},
		"a query": {Request{Method: "GET", Path: "/Users", Query: url.Values{"sortBy": {"title"}, "count": {"1"}}},
			Request{Method: "GET", Path: "/Users", Query: url.Values{"sortBy": {"displayName"}, "count": {"1"}}}},
		"a search": {Request{Method: "POST", Path: "/Users/.search", Body: Doc{"filter": `title pr`, "attributes": []string{"title"}}},
			Request{Method: "POST", Path: "/Users/.search", Body: Doc{"filter": `displayName pr`, "attributes": []string{"displayName"}}}},
		"bytes": {Request{Method: "PATCH", Path: "/Users/1", Body: []byte(`{"path": "title", "value": {"title": "title"}`)},
			Request{Method: "PATCH", Path: "/Users/1", Body: []byte(`{"path": "displayName", "value": {"displayName": "title"}`)}},
		"a bulk request": {Request{Method: "POST", Path: "/Bulk", Body: op(
			Doc{"method": "POST", "path": "/Users", "data": Doc{"title": 1}},
			Doc{"method": "POST", "path": "/Groups", "data": Doc{"displayName": 1}},
			Doc{"method": "PATCH", "path": "/Users/1", "data": op(Doc{"op": "remove", "path": "title"})})},
			Request{Method: "POST", Path: "/Bulk", Body: op(
				Doc{"method": "POST", "path": "/Users", "data": Doc{"displayName": 1}},
				Doc{"method": "POST", "path": "/Groups", "data": Doc{"displayName": 1}},
				Doc{"method": "PATCH", "path": "/Users/1", "data": op(Doc{"op": "remove", "path": "displayName"})})}},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := json.Marshal(tt.given)
			require.NoError(t, err)
			require.Equal(t, tt.want, swapped().request(tt.given))
			after, err := json.Marshal(tt.given)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "the request of the check is not changed")
		})
	}
}

func TestSubstitution_OmitsRejected(t *testing.T) {
	x := substitution{without: []string{"title"}}
	require.Equal(t, Doc{"userName": "a"}, x.request(Request{Method: "POST", Path: "/Users", Body: Doc{"userName": "a", "Title": "x"}}).Body)
	patch := Doc{"Operations": []Doc{{"op": "add", "value": Doc{"title": "x"}}}}
	require.Equal(t, patch, x.request(Request{Method: "PATCH", Path: "/Users/1", Body: patch}).Body)
}

func TestSubstitution_Responses(t *testing.T) {
	user := `{"id":"1","title":"x","manager":{"displayName":"m"}}`
	read := func(path, body string) *scim.Object {
		return swapped().response(Request{Path: path}, &Response{Status: 200, Body: []byte(body)}).Object()
	}
	require.Equal(t, "x", read("/Users/1", user).Text("displayName"))
	require.Equal(t, "m", read("/Users/1", user).Complex("manager").Text("displayName"))
	require.Equal(t, "x", object(read("/Users", `{"Resources":[`+user+`]}`).Array("Resources")[0]).Text("displayName"))
	require.Equal(t, "x", read("/Groups/1", user).Text("title"))
	bulk := read("/Bulk", `{"Operations":[{"location":"https://h/Users/1","response":`+user+
		`},{"location":"https://h/Groups/1","response":`+user+`}]}`)
	require.Equal(t, "x", object(bulk.Array("Operations")[0]).Complex("response").Text("displayName"))
	require.Equal(t, "x", object(bulk.Array("Operations")[1]).Complex("response").Text("title"))
}
