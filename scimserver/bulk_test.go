package scimserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// bulkOf returns the body of a bulk request.
func bulkOf(operations ...object) object {
	return object{"schemas": []string{scim.BulkRequestMessage}, "Operations": append([]object{}, operations...)}
}

func bulkPost(bulkID, path string, data any) object {
	return object{"method": "POST", "bulkId": bulkID, "path": path, "data": data}
}

func bulkOp(method, path string, data any) object {
	o := object{"method": method, "path": path}
	if data != nil {
		o["data"] = data
	}
	return o
}

// bulk sends a bulk request and returns the results of its operations.
func (h *harness) bulk(t testing.TB, body object) []*scim.Object {
	t.Helper()
	a := h.do(t, http.MethodPost, "/Bulk", body).want(t, http.StatusOK)
	require.Equal(t, []any{scim.BulkResponseMessage}, a.body.Array("schemas"))
	_, there := a.body.Get("failOnErrors")
	require.False(t, there)
	var out []*scim.Object
	for _, v := range a.body.Array("Operations") {
		out = append(out, v.(*scim.Object))
	}
	return out
}

// statuses returns the statuses of results, which must be strings.
func statuses(results []*scim.Object) string {
	var out []string
	for _, r := range results {
		out = append(out, r.Text("status"))
	}
	return strings.Join(out, " ")
}

// createdID returns the id of the resource in the result with a bulkId.
func createdID(t testing.TB, h *harness, results []*scim.Object, bulkID string) string {
	t.Helper()
	i := slices.IndexFunc(results, func(r *scim.Object) bool { return r.Text("bulkId") == bulkID })
	require.GreaterOrEqual(t, i, 0, bulkID)
	require.Equal(t, "201", results[i].Text("status"), "%s: %s", bulkID, results[i].AppendJSON(nil))
	location := results[i].Text("location")
	require.True(t, strings.HasPrefix(location, h.url+"/"), location)
	return location[strings.LastIndex(location, "/")+1:]
}

func wantFailure(t testing.TB, result *scim.Object, status string, scimType scim.Type) {
	t.Helper()
	text := string(result.AppendJSON(nil))
	require.Equal(t, status, result.Text("status"), text)
	response := result.Complex("response")
	require.Equal(t, []any{scim.ErrorMessage}, response.Array("schemas"), text)
	require.Equal(t, status, response.Text("status"), text)
	require.Equal(t, string(scimType), response.Text("scimType"), text)
	require.NotEmpty(t, response.Text("detail"), text)
}

func TestBulk_MatchesSingleRequests(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		ann, team := h.newUser(t, "ann"), h.newGroup(t, "team")
		results := h.bulk(t, bulkOf(
			bulkPost("new", "/Users", user("bob")),
			object{"method": "PUT", "path": "/Users/" + ann.id(), "bulkId": "echoed", "data": user("anna")},
			bulkOp("PATCH", "/Users/"+ann.id(), patchOf(op("add", "nickName", "An"))),
			bulkOp("PATCH", "/Groups/"+team.id(), patchOf(op("add", "members", refs(ann.id())))),
			bulkOp("DELETE", "/Groups/"+team.id(), nil),
		))
		require.Equal(t, "201 200 200 204 204", statuses(results))
		for i, method := range []string{"POST", "PUT", "PATCH", "PATCH", "DELETE"} {
			require.Equal(t, method, results[i].Text("method"))
			_, there := results[i].Get("response")
			require.False(t, there, "a successful result has no response")
		}
		require.Equal(t, "echoed", results[1].Text("bulkId"))
		bob := h.get(t, "/Users/"+createdID(t, h, results, "new"))
		require.Equal(t, bob.header.Get("ETag"), results[0].Text("version"))
		now := h.get(t, "/Users/"+ann.id())
		require.Equal(t, `"anna"`, now.json("userName"))
		require.Equal(t, `"An"`, now.json("nickName"))
		require.Equal(t, now.header.Get("ETag"), results[2].Text("version"))
		require.Equal(t, h.url+"/Users/"+ann.id(), results[2].Text("location"))
		require.Equal(t, h.url+"/Groups/"+team.id(), results[3].Text("location"))
		require.Equal(t, h.url+"/Groups/"+team.id(), results[4].Text("location"))
		h.do(t, http.MethodGet, "/Groups/"+team.id(), nil).want(t, http.StatusNotFound)
	})
}

func TestBulk_References(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		memberIDs := func(group string) []string {
			var ids []string
			for _, v := range h.get(t, "/Groups/"+group).body.Array("members") {
				ids = append(ids, v.(*scim.Object).Text("value"))
			}
			return ids
		}
		t.Run("to resources created before and after, in data, extensions, $ref and paths", func(t *testing.T) {
			old := h.newGroup(t, "old")
			managed := user("managed",
				object{scim.EnterpriseUserSchema: object{"manager": object{"value": "bulkId:boss", "$ref": "../Users/bulkId:boss"}}})
			results := h.bulk(t, bulkOf(
				bulkOp("PATCH", "/Groups/bulkId:g", patchOf(op("add", "members", refs("bulkId:boss")))),
				bulkPost("g", "/Groups", group("g", "bulkId:u", "bulkId:managed")),
				bulkPost("u", "/Users", user("u")),
				bulkPost("managed", "/Users", managed),
				bulkPost("boss", "/Users", user("boss")),
				bulkOp("PATCH", "/Groups/bulkId:g", patchOf(op("remove", `members[value eq "bulkId:u"]`))),
				bulkOp("PATCH", "/Groups/"+old.id(), patchOf(op("add", "members", refs("bulkId:u")))),
				bulkOp("PUT", "/Users/bulkId:u", user("u2")),
			))
			require.Equal(t, "204 201 201 201 201 204 204 200", statuses(results))
			u, boss, m := createdID(t, h, results, "u"), createdID(t, h, results, "boss"), createdID(t, h, results, "managed")
			require.Equal(t, []string{m, boss}, memberIDs(createdID(t, h, results, "g")))
			require.Equal(t, []string{u}, memberIDs(old.id()))
			require.Equal(t, `"u2"`, h.get(t, "/Users/"+u).json("userName"))
			manager := h.get(t, "/Users/"+m).body.Complex(scim.EnterpriseUserSchema).Complex("manager")
			require.Equal(t, boss, manager.Text("value"))
			require.Equal(t, "../Users/"+boss, manager.Text("$ref"))
			require.NotContains(t, h.get(t, "/Users").text+h.get(t, "/Groups").text, "bulkId")
		})
		t.Run("in cycles", func(t *testing.T) {
			results := h.bulk(t, bulkOf(
				bulkPost("a", "/Groups", group("cycle a", "bulkId:b")),
				bulkPost("b", "/Groups", group("cycle b", "bulkId:c", "bulkId:x")),
				bulkPost("c", "/Groups", group("cycle c", "bulkId:a")),
				bulkPost("x", "/Users", user("cycle x", object{scim.EnterpriseUserSchema: object{"manager": object{"value": "bulkId:x"}}})),
			))
			require.Equal(t, "201 201 201 201", statuses(results))
			a, b, c, x := createdID(t, h, results, "a"), createdID(t, h, results, "b"), createdID(t, h, results, "c"), createdID(t, h, results, "x")
			require.Equal(t, []string{b}, memberIDs(a))
			require.ElementsMatch(t, []string{c, x}, memberIDs(b))
			require.Equal(t, []string{a}, memberIDs(c))
			require.Equal(t, x, h.get(t, "/Users/"+x).body.Complex(scim.EnterpriseUserSchema).Complex("manager").Text("value"))
			for i, id := range []string{a, b, c} {
				require.Equal(t, h.get(t, "/Groups/"+id).header.Get("ETag"), results[i].Text("version"), "the version of the finished resource")
			}
		})
		t.Run("a cycle with a failed operation creates nothing", func(t *testing.T) {
			results := h.bulk(t, bulkOf(
				bulkPost("a", "/Groups", group("broken a", "bulkId:b")),
				bulkPost("b", "/Groups", object{"schemas": []string{scim.GroupSchema}, "members": refs("bulkId:a")}),
				bulkPost("c", "/Groups", group("broken c", "bulkId:d")),
				bulkPost("d", "/Groups", group("broken d", "bulkId:c", "nobody")),
			))
			wantFailure(t, results[0], "409", "")
			wantFailure(t, results[1], "400", scim.InvalidValue)
			wantFailure(t, results[2], "409", "")
			wantFailure(t, results[3], "400", scim.InvalidValue)
			total, _ := h.get(t, filtered("/Groups", `displayName sw "broken"`)).list(t, "id")
			require.Equal(t, "0", total)
		})
		t.Run("an unknown reference fails only its operation", func(t *testing.T) {
			results := h.bulk(t, bulkOf(
				bulkPost("g", "/Groups", group("lonely", "bulkId:nobody")),
				bulkPost("bad", "/Users", user("")),
				bulkPost("h", "/Groups", group("lonely", "bulkId:bad")),
				bulkOp("DELETE", "/Users/bulkId:bad", nil),
				bulkPost("ok", "/Groups", group("fine")),
			))
			wantFailure(t, results[0], "400", scim.InvalidValue)
			wantFailure(t, results[1], "400", scim.InvalidValue)
			wantFailure(t, results[2], "409", "")
			wantFailure(t, results[3], "409", "")
			createdID(t, h, results, "ok")
			for _, r := range results[:4] {
				require.NotContains(t, r.Text("location"), "bulkId")
			}
		})
	})
}

// TestBulk_KeepsOrder checks that the server executes bulk operations in order if one affects another.
func TestBulk_KeepsOrder(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		t.Run("the first of two creates with the same unique value succeeds", func(t *testing.T) {
			var ops []object
			for i := range 20 {
				ops = append(ops, bulkPost(fmt.Sprint(i), "/Users", user([]string{"twin", "TWIN"}[i%2])))
			}
			results := h.bulk(t, bulkOf(ops...))
			createdID(t, h, results, "0")
			for _, r := range results[1:] {
				wantFailure(t, r, "409", scim.Uniqueness)
			}
		})
		t.Run("a name can be released and used again", func(t *testing.T) {
			first := h.newUser(t, "name")
			results := h.bulk(t, bulkOf(
				bulkOp("DELETE", "/Users/"+first.id(), nil),
				bulkPost("b", "/Users", user("name")),
				bulkOp("PATCH", "/Users/bulkId:b", patchOf(op("replace", "userName", "other"))),
				bulkPost("c", "/Users", user("name")),
				bulkOp("PUT", "/Users/bulkId:c", user("third")),
				bulkOp("PUT", "/Users/bulkId:b", user("name")),
			))
			require.Equal(t, "204 201 200 201 200 200", statuses(results))
		})
		t.Run("operations on one resource run in order", func(t *testing.T) {
			u := h.newUser(t, "turns")
			ops := []object{}
			for i := range 30 {
				ops = append(ops, bulkOp("PATCH", "/Users/"+u.id(), patchOf(op("replace", "nickName", fmt.Sprint(i)))))
			}
			h.bulk(t, bulkOf(ops...))
			require.Equal(t, `"29"`, h.get(t, "/Users/"+u.id()).json("nickName"))
		})
	})
}

func TestBulk_VersionPrecondition(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		u := h.newUser(t, "ann")
		stale := u.header.Get("ETag")
		fresh := h.patch(t, "/Users/"+u.id(), op("add", "nickName", "x")).header.Get("ETag")
		versioned := func(version string, o object) object { return merge(o, []object{{"version": version}}) }
		results := h.bulk(t, bulkOf(
			versioned(stale, bulkOp("PUT", "/Users/"+u.id(), user("ann"))),
			versioned(stale, bulkOp("PATCH", "/Users/"+u.id(), patchOf(op("remove", "nickName")))),
			versioned(stale, bulkOp("DELETE", "/Users/"+u.id(), nil)),
			versioned(fresh, bulkOp("PATCH", "/Users/"+u.id(), patchOf(op("replace", "nickName", "y")))),
		))
		for _, r := range results[:3] {
			wantFailure(t, r, "412", "")
			require.Equal(t, h.url+"/Users/"+u.id(), r.Text("location"))
		}
		require.Equal(t, "200", results[3].Text("status"))
		require.Equal(t, `"y"`, h.get(t, "/Users/"+u.id()).json("nickName"))
	})
}

func TestBulk_FailOnErrors(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		job := func(prefix string) []object {
			return []object{
				bulkPost("1", "/Users", user(prefix+"1")), bulkPost("2", "/Users", user("")), bulkPost("3", "/Users", user(prefix+"3")),
				bulkPost("4", "/Users", user("")), bulkPost("5", "/Users", user(prefix+"5")),
			}
		}
		for _, test := range []struct {
			failOnErrors any
			want         string
		}{{nil, "201 400 201 400 201"}, {0, "201 400"}, {1, "201 400"}, {2, "201 400 201 400"}, {3, "201 400 201 400 201"}} {
			t.Run(fmt.Sprint(test.failOnErrors), func(t *testing.T) {
				prefix := fmt.Sprintf("fail%v-", test.failOnErrors)
				require.Equal(t, test.want, statuses(h.bulk(t, merge(bulkOf(job(prefix)...), []object{{"failOnErrors": test.failOnErrors}}))))
				total, _ := h.get(t, filtered("/Users", `userName sw "`+prefix+`"`)).list(t, "id")
				require.Equal(t, fmt.Sprint(strings.Count(test.want, "201")), total, "earlier operations take effect, later operations do not run")
			})
		}
	})
}

func TestBulk_InvalidOperations(t *testing.T) {
	h := serve(t, newMapStore())
	ann := "/Users/" + h.newUser(t, "ann").id()
	for _, test := range []struct {
		name      string
		operation object
		status    string
		scimType  scim.Type
	}{
		{"no method", object{"path": "/Users", "bulkId": "b", "data": user("x")}, "400", scim.InvalidSyntax},
		{"GET", bulkOp("GET", ann, nil), "400", scim.InvalidValue},
		{"a method in lower case", bulkOp("delete", ann, nil), "400", scim.InvalidValue},
		{"no path", object{"method": "POST", "bulkId": "b", "data": user("x")}, "400", scim.InvalidSyntax},
		{"an absolute path", bulkOp("DELETE", h.url+ann, nil), "400", scim.InvalidValue},
		{"a path to another host", bulkOp("DELETE", "//example.com"+ann, nil), "400", scim.InvalidValue},
		{"a path with a query", bulkOp("PATCH", ann+"?attributes=id", patchOf(op("remove", "nickName"))), "400", scim.InvalidValue},
		{"a path with a fragment", bulkOp("DELETE", ann+"#x", nil), "400", scim.InvalidValue},
		{"a path without a slash", bulkPost("b", "Users", user("x")), "400", scim.InvalidValue},
		{"an unknown endpoint", bulkPost("b", "/Printers", user("x")), "404", ""},
		{"discovery", bulkPost("b", "/Schemas", user("x")), "404", ""},
		{"the endpoint Bulk", bulkPost("b", "/Bulk", bulkOf()), "404", ""},
		{"a deeper path", bulkOp("DELETE", ann+"/name", nil), "404", ""},
		{"a path with ..", bulkOp("DELETE", "/Users/../"+ann, nil), "404", ""},
		{"an unknown resource", bulkOp("DELETE", "/Users/unknown", nil), "404", ""},
		{"a resource of another type", bulkOp("DELETE", "/Groups"+strings.TrimPrefix(ann, "/Users"), nil), "404", ""},
		{"POST on a resource", bulkPost("b", ann, user("x")), "405", ""},
		{"PUT on an endpoint", bulkOp("PUT", "/Users", user("x")), "405", ""},
		{"DELETE on an endpoint", bulkOp("DELETE", "/Users", nil), "405", ""},
		{"POST without bulkId", bulkOp("POST", "/Users", user("x")), "400", scim.InvalidSyntax},
		{"POST without data", bulkOp("POST", "/Users", nil), "400", scim.InvalidSyntax},
		{"PUT without data", bulkOp("PUT", ann, nil), "400", scim.InvalidSyntax},
		{"data that is a string", bulkOp("PUT", ann, "{}"), "400", scim.InvalidSyntax},
		{"PATCH with data that is not a PatchOp", bulkOp("PATCH", ann, user("x")), "400", scim.InvalidSyntax},
		{"a name in use", bulkPost("b", "/Users", user("ANN")), "409", scim.Uniqueness},
	} {
		t.Run(test.name, func(t *testing.T) {
			results := h.bulk(t, bulkOf(test.operation))
			require.Len(t, results, 1)
			wantFailure(t, results[0], test.status, test.scimType)
		})
	}
	t.Run("a duplicate bulkId", func(t *testing.T) {
		results := h.bulk(t, bulkOf(bulkPost("b", "/Users", user("first")), bulkPost("b", "/Users", user("second"))))
		createdID(t, h, results[:1], "b")
		wantFailure(t, results[1], "400", scim.InvalidValue)
	})
	total, _ := h.get(t, "/Users").list(t, "id")
	require.Equal(t, "2", total, "no other resource was created or deleted")
}

func TestBulk_RejectsWholeRequest(t *testing.T) {
	h := serve(t, newMapStore(), func(o *scimserver.Options) {
		o.Limits = scimserver.Limits{MaxBulkOperations: 2, MaxBulkPayload: 2000}
	})
	one := bulkPost("b", "/Users", user("x"))
	for _, test := range []struct {
		name     string
		body     any
		status   int
		scimType scim.Type
		detail   string
	}{
		{"too many operations", bulkOf(one, one, one), 413, "", "maxOperations (2)"},
		{"too large", bulkOf(bulkPost("b", "/Users", user(strings.Repeat("x", 2000)))), 413, "", "maxPayloadSize (2000)"},
		{"no schema", object{"Operations": []object{}}, 400, scim.InvalidSyntax, ""},
		{"no Operations", object{"schemas": []string{scim.BulkRequestMessage}}, 400, scim.InvalidSyntax, ""},
		{"an operation that is not an object", object{"schemas": []string{scim.BulkRequestMessage}, "Operations": []any{1}}, 400,
			scim.InvalidSyntax,
			""},
		{"a negative failOnErrors", merge(bulkOf(), []object{{"failOnErrors": -1}}), 400, scim.InvalidValue, ""},
		{"no JSON", "{", 400, scim.InvalidSyntax, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := h.do(t, http.MethodPost, "/Bulk", test.body).wantError(t, test.status, test.scimType)
			require.Contains(t, a.body.Text("detail"), test.detail)
		})
	}
	require.Empty(t, h.bulk(t, bulkOf()), "no operations")
	total, _ := h.get(t, "/Users").list(t, "id")
	require.Equal(t, "0", total)
	config := h.get(t, "/ServiceProviderConfig")
	require.JSONEq(t, `{"supported": true, "maxOperations": 2, "maxPayloadSize": 2000}`, config.json("bulk"))
}

func TestBulk_RequiresWriteToken(t *testing.T) {
	store := newMapStore()
	h := serve(t, store, func(o *scimserver.Options) { o.Tokens = readOnlyToken(token) })
	h.do(t, http.MethodPost, "/Bulk", bulkOf(bulkPost("b", "/Users", user("x")))).wantError(t, http.StatusForbidden, "")
	total, _ := h.get(t, "/Users").list(t, "id")
	require.Equal(t, "0", total)
}
