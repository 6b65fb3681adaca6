package rehearse_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/rehearse"
	"github.com/scimwright/scimwright/scim"
)

const secret = "s3cr3t-token"

// world is a fake target that fails the test on any request that is not a GET.
type world struct {
	t      *testing.T
	fake   *enginetest.Target
	client *rehearse.Client
}

func newWorld(t *testing.T, o rehearse.Options) *world {
	w := &world{t: t, fake: enginetest.NewTarget()}
	w.fake.Token, w.fake.ETags = secret, true
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s reached the target", r.Method, r.URL)
		}
		w.fake.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	network := &connect.Network{}
	t.Cleanup(network.CloseIdleConnections)
	c, err := connect.New(connect.Config{BaseURL: server.URL, Auth: engine.Auth{Secret: secret}, Network: network})
	require.NoError(t, err)
	o.Secrets = append(o.Secrets, secret)
	w.client = rehearse.New(c, o)
	return w
}

func object(t *testing.T, text string) *scim.Object {
	t.Helper()
	o, err := scim.Decode([]byte(text))
	require.NoError(t, err)
	return o
}

// do sends a request and compares the response; body and want are JSON, empty for none.
func (w *world) do(method, path, body string, status int, want string) plan.Response {
	w.t.Helper()
	r := plan.Request{Method: method, Path: path}
	if body != "" {
		r.Body = object(w.t, body)
	}
	got := w.client.Do(w.t.Context(), r)
	require.NoError(w.t, got.Err)
	require.Equal(w.t, status, got.Status, "%s %s", method, path)
	if want != "" {
		require.NotNil(w.t, got.Body)
		require.JSONEq(w.t, want, string(got.Body.AppendJSON(nil)))
	}
	return got
}

func (w *world) add(endpoint, text string) string {
	w.t.Helper()
	return w.fake.Add(endpoint, &scim.Resource{Object: *object(w.t, text)})
}

// TestClient_SimulatesWrites checks that reads show the simulated writes, and that the target receives no write.
func TestClient_SimulatesWrites(t *testing.T) {
	w := newWorld(t, rehearse.Options{})
	bob := w.add("Users", `{"userName": "bob", "title": "Cook", "active": true}`)
	before := w.fake.Users()
	byName := func(name string) string {
		return "/Users?filter=userName%20eq%20%22" + name + "%22&startIndex=1&count=100"
	}
	lookup := func(name string) (ids []string) {
		for _, v := range w.do("GET", byName(name), "", 200, "").Body.Array("Resources") {
			o, _ := v.(*scim.Object)
			ids = append(ids, o.Text("id"))
		}
		return ids
	}
	require.Empty(t, lookup("ann"))
	w.do("POST", "/Users", `{"userName": "ann", "password": "hush-hush", "groups": []}`, 201,
		`{"id": "pretended-1", "userName": "ann", "groups": []}`)
	require.Equal(t, []string{"pretended-1"}, lookup("ann"), "a matching lookup finds it")
	w.do("GET", "/Users/pretended-1", "", 200, `{"id": "pretended-1", "userName": "ann", "groups": []}`)

	read := w.do("GET", "/Users/"+bob, "", 200, `{"id": "`+bob+`", "userName": "bob", "title": "Cook", "active": true}`)
	off := w.do("PATCH", "/Users/"+bob,
		`{"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [{"op": "replace", "value": {"active": false}}]}`, 200, "")
	active, _ := off.Body.Bool("active")
	require.False(t, active)
	require.NotEqual(t, read.ETag, off.ETag, "the version has changed")
	w.do("PUT", "/Users/"+bob, `{"userName": "bobby", "title": "Chef"}`, 200, `{"userName": "bobby", "title": "Chef", "id": "`+bob+`"}`)
	require.Empty(t, lookup("bob"), "the name has changed")
	require.Equal(t, []string{bob}, lookup("bobby"))
	w.do("DELETE", "/Users/pretended-1", "", 204, "")
	require.Empty(t, lookup("ann"))
	w.do("GET", "/Users/pretended-1", "", 404, "")
	w.do("DELETE", "/Users/nobody", "", 404, "")
	w.do("PUT", "/Users/nobody", `{"userName": "x"}`, 404, "")
	w.do("TRACE", "/Users", "", 501, "")

	require.Empty(t, cmp.Diff(texts(before), texts(w.fake.Users())))
	changes := w.client.Changes()
	require.Len(t, changes, 2)
	require.Nil(t, changes[0].Before)
	require.Nil(t, changes[0].After)
	require.Equal(t, []string{"Users", bob, "bob", "bobby"},
		[]string{changes[1].Endpoint, changes[1].ID, changes[1].Before.Text("userName"), changes[1].After.Text("userName")})
}

func texts(all []*scim.Resource) (out []string) {
	for _, r := range all {
		out = append(out, string(r.AppendJSON(nil)))
	}
	return out
}

// TestClient_SimulatedResourcesOnLastPage checks that a list without a filter contains the simulated creates on its last page.
func TestClient_SimulatedResourcesOnLastPage(t *testing.T) {
	w := newWorld(t, rehearse.Options{})
	a, b := w.add("Groups", `{"displayName": "A"}`), w.add("Groups", `{"displayName": "B"}`)
	w.do("POST", "/Groups", `{"displayName": "C"}`, 201, "")
	w.do("DELETE", "/Groups/"+a, "", 204, "")
	got := w.do("GET", "/Groups?startIndex=1&count=100", "", 200, `{
		"schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"], "totalResults": 2, "startIndex": 1, "itemsPerPage": 2,
		"Resources": [{"displayName": "B", "id": "`+b+`"}, {"displayName": "C", "id": "pretended-1"}]}`)
	require.Equal(t, 200, got.Status)
}

func TestClient_RecordsRequestsWithoutSecrets(t *testing.T) {
	w := newWorld(t, rehearse.Options{MaxBody: 60})
	bob := w.add("Users", `{"userName": "bob", "nickName": "`+secret+`"}`)
	w.do("GET", "/Users/"+bob, "", 200, "")
	got := w.client.Do(t.Context(), plan.Request{
		Method: "PUT", Path: "/Users/" + bob, IfMatch: `W/"0"`, Body: object(t, `{"userName": "bob", "password": "tiny", "title": "`+secret+`"}`),
	})
	require.Equal(t, 200, got.Status)
	w.do("DELETE", "/Users/"+bob, "", 204, "")
	require.Empty(t, cmp.Diff([]rehearse.Request{
		{Method: "GET", Path: "/Users/" + bob, Status: 200, Answer: `{"userName":"bob","nickName":"[redacted]","id":"` + bob + `"}`},
		{Method: "PUT", Path: "/Users/" + bob, IfMatch: `W/"0"`, Pretended: true, Status: 200,
			Body:   `{"userName":"bob","password":"[redacted]","title":"[redacted…`,
			Answer: `{"userName":"bob","title":"[redacted]","id":"` + bob + `"}`},
		{Method: "DELETE", Path: "/Users/" + bob, Pretended: true, Status: 204},
	}, w.client.Requests()))
}

// TestClient_AppliesPATCH checks that the client applies a PATCH request by the schema, also to attributes the target hides or no schema
// defines.
func TestClient_AppliesPATCH(t *testing.T) {
	const head = `{"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [`
	for name, c := range map[string]struct{ endpoint, have, operations, want string }{
		"members are added and removed, and the group is renamed": {
			"Groups", `{"displayName": "A", "members": [{"value": "1"}, {"value": "2"}]}`,
			`{"op": "replace", "value": {"displayName": "B"}}, {"op": "remove", "path": "members[value eq \"1\"]"}, {"op": "add", "path": ` +
				`"members", "value": [{"value": "3"}]}`,
			`{"displayName": "B", "members": [{"value": "2"}, {"value": "3"}]}`,
		},
		"a hidden member is removed": {
			"Groups", `{"displayName": "A"}`,
			`{"op": "remove", "path": "members[value eq \"1\"]"}, {"op": "add", "path": "members", "value": [{"value": "3"}]}`,
			`{"displayName": "A", "members": [{"value": "3"}]}`,
		},
		"an attribute of no schema": {
			"Users", `{"userName": "ann", "urn:x:y": {"a": 1}}`,
			`{"op": "replace", "value": {"urn:x:y": {"b": 2}}}, {"op": "replace", "path": "urn:x:y:c", "value": 3}, {"op": "remove", "path": ` +
				`"urn:x:y:a"}`,
			`{"userName": "ann", "urn:x:y": {"b": 2, "c": 3}}`,
		},
		"an account without a returned name": {
			"Users", `{"active": true}`,
			`{"op": "replace", "value": {"active": false}}, {"op": "replace", "path": "name.givenName", "value": "Ann"}`,
			`{"active": false, "name": {"givenName": "Ann"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, rehearse.Options{})
			id := w.add(c.endpoint, c.have)
			got := w.do("PATCH", "/"+c.endpoint+"/"+id, head+c.operations+`]}`, 200, "")
			got.Body.Delete("id")
			got.Body.Delete("schemas")
			require.JSONEq(t, c.want, string(got.Body.AppendJSON(nil)))
			require.Len(t, w.client.Requests(), 1, "the read for it is not part of the sequence")
		})
	}
	w := newWorld(t, rehearse.Options{})
	id := w.add("Users", `{"userName": "ann"}`)
	w.do("PATCH", "/Users/"+id, head+`{"op": "replace", "path": "emails[", "value": "x"}]}`, 400, "")
	require.Empty(t, w.client.Changes())
}

// TestClient_ReturnsReadErrors checks that a write returns the error of the read if the target cannot return the resource.
func TestClient_ReturnsReadErrors(t *testing.T) {
	w := newWorld(t, rehearse.Options{})
	id := w.add("Users", `{"userName": "ann"}`)
	w.fake.Inject(enginetest.Fault{Status: 503, Times: 1}, enginetest.Fault{HTML: true})
	w.do("DELETE", "/Users/"+id, "", 503, "")
	require.Error(t, w.client.Do(t.Context(), plan.Request{Method: "DELETE", Path: "/Users/" + id}).Err)
	require.NotEmpty(t, w.client.Requests()[1].Error)
	require.Empty(t, w.client.Changes())
	w.do("DELETE", "/Users/"+id, "", 204, "")
}
