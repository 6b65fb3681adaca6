package scimserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// bodyRequest is a request with a body.
type bodyRequest struct {
	name, method, path string
	valid              string // a valid body; with it, a request for a change changes the resource
}

// bodyRequests returns all requests that have a body, for an existing user and group.
func bodyRequests(user, group string) []bodyRequest {
	text := func(v any) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	newUser := object{"schemas": []string{scim.UserSchema}, "userName": "new"}
	change := patchOf(op("replace", "displayName", "new"))
	search := object{"schemas": []string{scim.SearchRequestMessage}, "count": 1}
	return []bodyRequest{
		{"POST", "POST", "/Users", text(newUser)},
		{"PUT", "PUT", user, text(newUser)},
		{"PATCH", "PATCH", user, text(change)},
		{"POST of a group", "POST", "/Groups", text(object{"schemas": []string{scim.GroupSchema}, "displayName": "new"})},
		{"PATCH of a group", "PATCH", group, text(change)},
		{"PUT of /Me", "PUT", "/Me", text(newUser)},
		{"PATCH of /Me", "PATCH", "/Me", text(change)},
		{"bulk", "POST", "/Bulk", text(bulkOf(bulkPost("b", "/Users", newUser)))},
		{"search", "POST", "/Users/.search", text(search)},
		{"search at the root", "POST", "/.search", text(search)},
	}
}

// lateSubject accepts every token as the token of the user *id. The test sets *id after the server is started and the user is created.
type lateSubject struct{ id *string }

func (l lateSubject) VerifyToken(context.Context, string) (scimserver.Grant, error) {
	return scimserver.Grant{Subject: scimserver.Subject{Type: "User", ID: *l.id}}, nil
}

// meIs assigns every token to a user.
func meIs(id *string) func(*scimserver.Options) {
	return func(o *scimserver.Options) { o.Tokens = lateSubject{id} }
}

func TestBody_RejectsBrokenJSON(t *testing.T) {
	var me string
	eachStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann")
		me = ann.id()
		team := h.newGroup(t, "team", ann.id())
		before := h.get(t, "").text
		whole := map[string]func(valid string) string{
			"nothing":                    func(string) string { return "" },
			"an array":                   func(valid string) string { return "[" + valid + "]" },
			"a string":                   func(string) string { return `"x"` },
			"null":                       func(string) string { return "null" },
			"a byte order mark":          func(valid string) string { return "\uFEFF" + valid },
			"UTF-16":                     func(valid string) string { return "\xff\xfe" + strings.Join(strings.Split(valid, ""), "\x00") },
			"text after the object":      func(valid string) string { return valid + "x" },
			"a second object":            func(valid string) string { return valid + valid },
			"a missing end":              func(valid string) string { return valid[:len(valid)-1] },
			"a second schemas attribute": func(valid string) string { return strings.Replace(valid, "{", `{"SCHEMAS":[],`, 1) },
		}
		for name, member := range map[string]string{
			"a name twice": `"x":1,"x":1`, "a name twice in another case": `"x":1,"X":2`, "a name twice inside": `"x":[{"a":1,"a":1}]`,
			"NaN": `"x":NaN`, "Infinity": `"x":-Infinity`, "a number with a leading zero": `"x":01`, "a number with a plus": `"x":+1`,
			"a number without fraction digits": `"x":1.`,
			"single quotes":                    `"x":'a'`, "an unknown escape": `"x":"\x41"`, "half a surrogate pair": `"x":"\ud800"`,
			"invalid UTF-8": "\"x\":\"\xc3\x28\"", "invalid UTF-8 in a name": "\"\xff\":1",
			"an overlong encoding": "\"x\":\"\xc0\xaf\"", "a raw control character": "\"x\":\"a\x00b\"", "a trailing comma": `"x":1,`,
			"a comment":        `"x":1/**/`,
			"deep nesting":     `"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
			"unclosed nesting": `"x":` + strings.Repeat(`{"a":`, 100_000),
			"too many members": `"x":{"0":0` + manyNames(3000) + `}`,
		} {
			whole[name] = func(valid string) string { return valid[:len(valid)-1] + "," + member + "}" }
		}
		for _, request := range bodyRequests("/Users/"+ann.id(), "/Groups/"+team.id()) {
			for _, name := range slices.Sorted(maps.Keys(whole)) {
				t.Run(request.name+" with "+name, func(t *testing.T) {
					a := h.do(t, request.method, request.path, whole[name](request.valid)).wantError(t, http.StatusBadRequest, scim.InvalidSyntax)
					require.Regexp(t, `\(at byte \d+\)`, a.body.Text("detail"), "the detail contains the position")
				})
			}
		}
		require.Equal(t, before, h.get(t, "").text, "no resource was changed")
	}, meIs(&me))
}

// manyNames returns n additional members.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":0`, i)
	}
	return b.String()
}

// TestBody_ErrorNamesAttribute checks for POST, PUT, PATCH and bulk requests that the error of an invalid value names its attribute, and
// that nothing is changed.
func TestBody_ErrorNamesAttribute(t *testing.T) {
	measured := schema.UserType()
	measured.Extensions = append(measured.Extensions,
		schema.Extension{Schema: &schema.Schema{ID: "urn:example:Measured", Attributes: []*schema.Attribute{
			{Name: "whole", Type: schema.Integer}, {Name: "real", Type: schema.Decimal}, {Name: "when", Type: schema.DateTime},
			{Name: "bytes", Type: schema.Binary},
		}}})
	types := []*schema.ResourceType{measured, schema.GroupType()}
	h := serve(t, sqliteStore(t, types...), func(o *scimserver.Options) { o.Types = types })
	ann := h.newUser(t, "ann")
	path := "/Users/" + ann.id()
	huge := json.Number("1" + strings.Repeat("0", 5000))
	for attribute, values := range map[string][]any{
		"title": {5, true, object{}, []string{"x"}, huge}, "userName": {"", 7, []string{"x"}}, "active": {"maybe", 1, "", object{}},
		"name":       {"x", 1, []string{"x"}, object{"givenName": 1}},
		"emails":     {5, []int{1}, []object{{"value": 1}}, []object{{"value": "x", "primary": "maybe"}}},
		"profileUrl": {"", "a b", 1}, "password": {"", 1}, "externalId": {1, object{}},
		"urn:example:Measured:whole": {1.5, "1", json.Number("1e3"), huge, json.Number("9223372036854775808")},
		"urn:example:Measured:real":  {"1", json.Number("1e400"), json.Number("-1e999999999"), true},
		"urn:example:Measured:when":  {"2020-01-02", "yesterday", 5, ""},
		"urn:example:Measured:bytes": {"*", 1, "A"},
	} {
		for i, value := range values {
			t.Run(fmt.Sprint(attribute, i), func(t *testing.T) {
				before := h.get(t, "").text
				body := user("new", object{"title": "new"})
				name := attribute
				if urn, last, qualified := strings.Cut(attribute, "Measured:"); qualified {
					body[urn+"Measured"], name = object{last: value}, last
				} else {
					body[attribute] = value
				}
				for _, method := range []string{"POST", "PUT"} {
					target := map[string]string{"POST": "/Users", "PUT": path}[method]
					a := h.do(t, method, target, body).wantError(t, http.StatusBadRequest, scim.InvalidValue)
					require.Contains(t, a.body.Text("detail"), name, method)
				}
				for _, change := range []object{op("replace", attribute, value), op("add", attribute, value)} {
					if attribute == "name" || attribute == "emails" {
						change["op"] = "replace" // not tested with add: add may change a single sub-attribute or element
					}
					a := h.patch(t, path, op("replace", "title", "new"), change).wantError(t, http.StatusBadRequest, scim.InvalidValue)
					require.Contains(t, a.body.Text("detail"), name, "PATCH")
				}
				results := h.bulk(t,
					bulkOf(bulkPost("b", "/Users", body), bulkOp("PUT", path, body), bulkOp("PATCH", path, patchOf(op("replace", attribute, value)))))
				for _, result := range results {
					wantFailure(t, result, "400", scim.InvalidValue)
					require.Contains(t, result.Complex("response").Text("detail"), name, "bulk")
				}
				require.Equal(t, before, h.get(t, "").text, "no resource was changed")
			})
		}
	}
	for name, value := range map[string]any{"count": "ten", "startIndex": 1.5, "filter": 5, "attributes": 5, "excludedAttributes": []int{1},
		"sortBy": []string{"x"}, "sortOrder": 1, "cursor": 7} {
		for _, path := range []string{"/Users/.search", "/.search"} {
			a := h.do(t, http.MethodPost, path, object{"schemas": []string{scim.SearchRequestMessage}, name: value}).wantError(t,
				http.StatusBadRequest, scim.InvalidValue)
			require.Contains(t, a.body.Text("detail"), name)
		}
	}
}
