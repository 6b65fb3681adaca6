package scimserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

const (
	token  = "the-token"
	prefix = "/scim/v2"
)

// harness is a server on loopback and a client for it.
type harness struct {
	url  string // base URL of the service
	log  *bytes.Buffer
	http *http.Client
}

// serve starts a server with the store.
func serve(t testing.TB, store scimserver.Store, change ...func(*scimserver.Options)) *harness {
	t.Helper()
	log := &bytes.Buffer{}
	opts := scimserver.Options{
		Store:        store,
		Tokens:       scimserver.StaticTokens(token, "second-token"),
		Prefix:       prefix,
		PasswordCost: 4,
		Logger:       slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, c := range change {
		c(&opts)
	}
	handler, err := scimserver.New(opts)
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &harness{url: server.URL + prefix, log: log, http: server.Client()}
}

// eachStore runs a test with a store that leaves filters to the server and one that has indexes.
func eachStore(t *testing.T, run func(t *testing.T, h *harness), change ...func(*scimserver.Options)) {
	t.Run("map store", func(t *testing.T) { run(t, serve(t, newMapStore(), change...)) })
	t.Run("sqlite", func(t *testing.T) { run(t, serve(t, sqliteStore(t), change...)) })
}

// response is a response.
type response struct {
	status int
	header http.Header
	text   string
	body   *scim.Object // nil without a body
	call   string
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// do sends a request. The body is a JSON string or a value to encode as JSON.
func (h *harness) do(t testing.TB, method, path string, body any, with ...func(*http.Request)) *response {
	t.Helper()
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	default:
		var err error
		text, err = json.Marshal(b)
		require.NoError(t, err)
	}
	if !strings.HasPrefix(path, "http") {
		path = h.url + path
	}
	req, err := http.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(text))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", scim.MediaType)
	}
	for _, w := range with {
		w(req)
	}
	resp, err := h.http.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := &response{status: resp.StatusCode, header: resp.Header, text: string(data), call: fmt.Sprintf("%s %s %s", method, path, text)}
	if len(data) > 0 {
		require.Equal(t, scim.MediaType, resp.Header.Get("Content-Type"), a.call)
		a.body, err = scim.Decode(data)
		require.NoError(t, err, a.text)
	}
	return a
}

// want fails the test unless the response has the status.
func (a *response) want(t testing.TB, status int) *response {
	t.Helper()
	require.Equal(t, status, a.status, "%s\n%s", a.call, a.text)
	return a
}

// wantError checks all parts of a SCIM error.
func (a *response) wantError(t testing.TB, status int, scimType scim.Type) *response {
	t.Helper()
	a.want(t, status)
	require.Equal(t, []any{scim.ErrorMessage}, a.body.Array("schemas"), a.text)
	require.Equal(t, fmt.Sprint(status), a.body.Text("status"), "status is a string: %s", a.text)
	require.Equal(t, string(scimType), a.body.Text("scimType"), "%s\n%s", a.call, a.text)
	require.NotEmpty(t, a.body.Text("detail"), a.text)
	return a
}

func (a *response) id() string { return a.body.Text("id") }

// json returns a part of the response as compact JSON: the member at a path like "meta.version", or the whole body.
func (a *response) json(path string) string {
	var v any = a.body
	for name := range strings.SplitSeq(path, ".") {
		o, _ := v.(*scim.Object)
		v, _ = o.Get(name)
	}
	return string(scim.AppendValue(nil, v))
}

// list returns totalResults and the named attribute of each listed resource.
func (a *response) list(t testing.TB, attribute string) (total string, values []string) {
	t.Helper()
	a.want(t, http.StatusOK)
	require.Equal(t, []any{scim.ListResponseMessage}, a.body.Array("schemas"))
	values = []string{}
	for _, r := range a.body.Array("Resources") {
		values = append(values, r.(*scim.Object).Text(attribute))
	}
	require.Equal(t, fmt.Sprint(len(values)), a.json("itemsPerPage"))
	return a.json("totalResults"), values
}

// filtered returns the path of a filtered list.
func filtered(endpoint, filter string, more ...string) string {
	return endpoint + "?filter=" + url.QueryEscape(filter) + strings.Join(append([]string{""}, more...), "&")
}

type object = map[string]any

// user returns the body of a user.
func user(name string, more ...object) object {
	o := object{"schemas": []string{scim.UserSchema}, "userName": name}
	return merge(o, more)
}

// group returns the body of a group with the given members.
func group(name string, members ...string) object {
	o := object{"schemas": []string{scim.GroupSchema}, "displayName": name}
	if len(members) > 0 {
		o["members"] = refs(members...)
	}
	return o
}

func refs(ids ...string) []object {
	out := []object{}
	for _, id := range ids {
		out = append(out, object{"value": id})
	}
	return out
}

func merge(o object, more []object) object {
	for _, m := range more {
		for k, v := range m {
			o[k] = v
		}
	}
	return o
}

// patchOf returns the body of a PATCH.
func patchOf(operations ...object) object {
	return object{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}
}

// op returns one operation: op(op, path) without a value, op(op, path, value) with one. An empty path is omitted.
func op(name, path string, value ...any) object {
	o := object{"op": name}
	if path != "" {
		o["path"] = path
	}
	if len(value) > 0 {
		o["value"] = value[0]
	}
	return o
}

func (h *harness) newUser(t testing.TB, name string, more ...object) *response {
	t.Helper()
	return h.do(t, http.MethodPost, "/Users", user(name, more...)).want(t, http.StatusCreated)
}

func (h *harness) newGroup(t testing.TB, name string, members ...string) *response {
	t.Helper()
	return h.do(t, http.MethodPost, "/Groups", group(name, members...)).want(t, http.StatusCreated)
}

func (h *harness) get(t testing.TB, path string) *response {
	t.Helper()
	return h.do(t, http.MethodGet, path, nil).want(t, http.StatusOK)
}

func (h *harness) patch(t testing.TB, path string, operations ...object) *response {
	t.Helper()
	return h.do(t, http.MethodPatch, path, patchOf(operations...))
}

// sameJSON compares a resource with the expected JSON, ignoring the order of names.
func sameJSON(t testing.TB, want string, got *scim.Object) {
	t.Helper()
	o, err := scim.Decode([]byte(want))
	require.NoError(t, err)
	if !scim.Equal(o, got) {
		require.JSONEq(t, want, string(got.AppendJSON(nil)))
	}
}

// without returns a copy of an object without some members.
func without(o *scim.Object, names ...string) *scim.Object {
	o = o.Clone()
	for _, n := range names {
		o.Delete(n)
	}
	return o
}
