package desiredapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// deadline is the maximum duration of every wait in these tests.
const deadline = 2 * time.Minute

// host is a program with a store, an engine, both APIs and a fake target.
type host struct {
	t      *testing.T
	url    string // of the API
	store  *desired.Store
	engine *provision.Engine
	target *enginetest.Target
	remote string // URL of the target
}

func serve(t *testing.T, db *sqldb.DB, adjust ...func(*desiredapi.Options)) *host {
	t.Helper()
	h := &host{t: t, target: enginetest.NewTarget()}
	fake := httptest.NewServer(h.target)
	t.Cleanup(fake.Close)
	h.remote = fake.URL
	key, err := desired.NewKey(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	dialect := sqlstore.Dialect(db.Dialect().String())
	h.store, err = desired.Open(t.Context(), db.Writer(), desired.Options{Dialect: dialect, Seal: key})
	require.NoError(t, err)
	engineStore, err := sqlstore.Open(t.Context(), db.Writer(), sqlstore.Options{Dialect: dialect})
	require.NoError(t, err)
	h.engine, err = provision.New(provision.Options{Store: engineStore, Directory: h.store})
	require.NoError(t, err)
	h.store.Attach(h.engine)
	require.NoError(t, h.engine.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, h.engine.Stop(context.WithoutCancel(t.Context()))) })
	pass := func(next http.Handler) http.Handler { return next }
	operators, err := control.New(control.Options{
		Engine: h.engine, Directory: h.store, Update: control.InTx(db.Writer()), Authorize: pass,
	})
	require.NoError(t, err)
	o := desiredapi.Options{Store: h.store, Authorize: pass, Next: operators}
	for _, f := range adjust {
		f(&o)
	}
	api, err := desiredapi.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	h.url = server.URL + desiredapi.DefaultPrefix
	return h
}

func each(t *testing.T, fn func(t *testing.T, h *host)) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { fn(t, serve(t, db)) })
}

// response is a response of the API.
type response struct {
	status int
	header http.Header
	body   string
}

func (h *host) send(method, path, media string, body io.Reader) response {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, body)
	require.NoError(h.t, err)
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return response{res.StatusCode, res.Header, string(text)}
}

// do sends a request with a JSON body, requires the status, and returns the response.
func (h *host) do(status int, method, path, body string) response {
	h.t.Helper()
	r := h.send(method, path, "application/json", strings.NewReader(body))
	require.Equal(h.t, status, r.status, "%s %s: %s", method, path, r.body)
	return r
}

// batch uploads lines and returns the report.
func (h *host) batch(query string, lines ...string) (out desiredapi.Report) {
	h.t.Helper()
	r := h.send(http.MethodPost, "/apps/crm/batch"+query, "application/x-ndjson", strings.NewReader(strings.Join(lines, "\n")))
	require.Equal(h.t, http.StatusOK, r.status, r.body)
	require.NoError(h.t, json.Unmarshal([]byte(r.body), &out))
	return out
}

func (h *host) putApp(version int) {
	h.t.Helper()
	h.do(200, "PUT", "/apps/crm", fmt.Sprintf(`{"version":%d,"target":{"baseUrl":%q,"createUsers":true,"updateUsers":true,`+
		`"deactivateUsers":true,"pushGroups":true}}`, version, h.remote))
}

func (h *host) wait() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), deadline)
	defer cancel()
	require.NoError(h.t, h.engine.Wait(ctx, "crm"))
}

func TestAPI_Walk(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		h.putApp(1)
		const ann = `{"version":1,"want":"active","resource":{"userName":"ann","externalId":"u-1","title":null}}`
		require.JSONEq(t, `{"id":"u-1","version":1,"changed":true}`, h.do(200, "PUT", "/apps/crm/users/u-1", ann).body)
		require.JSONEq(t, `{"id":"u-1","version":1,"changed":false}`, h.do(200, "PUT", "/apps/crm/users/u-1", ann).body)
		h.do(200, "PUT", "/apps/crm/groups/g-1", `{"version":1,"want":"active","displayName":"Sales"}`)
		h.do(200, "PUT", "/apps/crm/groups/g-1/members", `{"version":1,"members":[]}`)
		h.do(200, "PATCH", "/apps/crm/groups/g-1/members", `{"base":1,"version":2,"add":["u-1"]}`)
		h.wait()
		require.Len(t, h.target.Users(), 1)
		require.Equal(t, "ann", h.target.Users()[0].Text("userName"))
		require.Len(t, h.target.Groups()[0].Array("members"), 1)

		var shown map[string]any
		require.NoError(t, json.Unmarshal([]byte(h.do(200, "GET", "/apps/crm/users/u-1", "").body), &shown))
		require.Equal(t, map[string]any{"userName": "ann", "externalId": "u-1", "title": nil}, shown["resource"])
		members := h.do(200, "GET", "/apps/crm/groups/g-1/members", "")
		require.Contains(t, members.body, `"version":2,"members":["u-1"]`)
		// A client may send back what it has read, with the next version.
		shown["version"] = 2
		back, err := json.Marshal(shown)
		require.NoError(t, err)
		require.JSONEq(t, `{"id":"u-1","version":2,"changed":false}`, h.do(200, "PUT", "/apps/crm/users/u-1", string(back)).body)

		late := h.do(409, "PUT", "/apps/crm/users/u-1", ann)
		require.Equal(t, "2", late.header.Get(desiredapi.HeaderVersion))
		require.Contains(t, late.body, "older than the stored version 2")
		other := h.do(409, "PUT", "/apps/crm/users/u-1", `{"version":2,"want":"inactive"}`)
		require.Contains(t, other.body, "with other content")
		gap := h.do(409, "PATCH", "/apps/crm/groups/g-1/members", `{"base":5,"version":6,"add":["u-2"]}`)
		require.Equal(t, "2", gap.header.Get(desiredapi.HeaderVersion))

		h.do(200, "DELETE", "/apps/crm/users/u-1?version=3", "")
		require.Contains(t, h.do(200, "GET", "/apps/crm/users/u-1", "").body, `"want":"absent"`)
		h.do(200, "DELETE", "/apps/crm/groups/g-1?version=2&deleteRemote=true", "")
		h.wait()
		require.Empty(t, h.target.Groups())
		active, _ := h.target.Users()[0].Bool("active")
		require.False(t, active)

		// The operators' API is served with the same prefix.
		require.Contains(t, h.do(200, "GET", "/engine/apps/crm", "").body, `"crm"`)
		h.do(200, "GET", "/apps/crm/principals/user/u-1/explanation", "")

		h.do(200, "DELETE", "/apps/crm?version=2", "")
		h.do(404, "GET", "/apps/crm", "")
		require.Equal(t, "2", h.do(409, "PUT", "/apps/crm", `{"version":1,"target":{"baseUrl":"https://example.com"}}`).header.
			Get(desiredapi.HeaderVersion))
	})
}

func TestBatch_OverHTTP(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		h.putApp(1)
		lines := make([]string, 0, 6000)
		for n := range 6000 {
			lines = append(lines, fmt.Sprintf(`{"op":"putUser","id":"u-%d","version":2,"want":"keep"}`, n))
		}
		lines[4999] = `{"op":"putUser","id":"u-4999"`
		report := h.batch("", lines...)
		require.Equal(t, 5999, report.Applied)
		require.Len(t, report.FailedLines, 1)
		require.Equal(t, 5000, report.FailedLines[0].Line)
		require.Equal(t, "invalid", report.FailedLines[0].Reason)
		report = h.batch("", lines...)
		require.Equal(t, 5999, report.Unchanged)
		report = h.batch("", `{"op":"deleteUser","id":"u-1","version":1}`, `{"op":"deleteUser","id":"u-1","version":2}`,
			`{"op":"changeMembers","id":"g","base":3,"version":4,"add":[]}`)
		require.Equal(t, []desiredapi.LineError{
			{Line: 1, ID: "u-1", Reason: "stale", Current: 2, Error: "desired: the version is older than the stored version 2"},
		}, report.StaleLines)
		require.Equal(t, "content", report.FailedLines[0].Reason)
		require.Equal(t, "gap", report.FailedLines[1].Reason)
	})
}

func TestSnapshot_OverHTTP(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		h.putApp(1)
		for _, id := range []string{"a", "b", "c"} {
			h.do(200, "PUT", "/apps/crm/users/"+id, fmt.Sprintf(`{"version":1,"want":"active","resource":{"userName":%q}}`, id))
		}
		h.wait()
		require.Contains(t, h.do(201, "POST", "/apps/crm/snapshots", `{"kind":"user"}`).body, `"snapshot":1,"kind":"user","state":"open"`)
		h.batch("?snapshot=1", `{"op":"presentUser","id":"b"}`)
		require.Contains(t, h.do(200, "POST", "/apps/crm/snapshots/1/end", "").body, `"missing":2`)
		missing := h.do(200, "GET", "/apps/crm/snapshots/1/missing?limit=1", "")
		require.JSONEq(t, `["a"]`, missing.body)
		require.Contains(t, strings.Join(missing.header.Values("Link"), " "), "after=a")
		h.do(409, "POST", "/apps/crm/snapshots/1/confirm", `{"expected":3}`)
		h.wait()
		for _, u := range h.target.Users() {
			active, _ := u.Bool("active")
			require.True(t, active, "a snapshot that is not confirmed deactivates no user")
		}
		require.Contains(t, h.do(200, "POST", "/apps/crm/snapshots/1/confirm", `{"expected":2}`).body, `"state":"confirmed"`)
		h.wait()
		for _, u := range h.target.Users() {
			active, _ := u.Bool("active")
			require.Equal(t, u.Text("userName") == "b", active, u.Text("userName"))
		}
	})
}

// TestBadInput_NamedErrors sends invalid requests to each kind of operation. None changes anything.
func TestBadInput_NamedErrors(t *testing.T) {
	const user, group, members, app = "/apps/crm/users/u", "/apps/crm/groups/g", "/apps/crm/groups/g/members", "/apps/new"
	long := strings.Repeat("x", 2000)
	many := `"u"` + strings.Repeat(`,"u"`, desired.MaxMembers)
	cases := []struct {
		method, path, body string
		status             int
		want               string // part of the response
	}{
		{"PUT", app, ``, 400, "no body"},
		{"PUT", app, `{`, 400, "not valid JSON"},
		{"PUT", app, `[]`, 400, "not a JSON object"},
		{"PUT", app, `{}`, 400, "version: The field cannot be left blank"},
		{"PUT", app, `{"version":"1","target":{"baseUrl":"https://example.com"}}`, 400, "version: The value must be"},
		{"PUT", app, `{"version":0,"target":{"baseUrl":"https://example.com"}}`, 400, "version: The value must be"},
		{"PUT", app, `{"version":9007199254740993,"target":{"baseUrl":"https://example.com"}}`, 400, "version: the version must be"},
		{"PUT", app, `{"version":1}`, 400, "target: The field cannot be left blank"},
		{"PUT", app, `{"version":1,"target":{}}`, 400, "target.baseUrl: The field cannot be left blank"},
		{"PUT", app, `{"version":1,"target":{"baseUrl":"file:///etc"}}`, 400, "target.baseUrl: an http or https URL"},
		{"PUT", app, `{"version":1,"target":{"baseUrl":"https://example.com","style":"x"}}`, 400, "target.style: The value must be one of"},
		{"PUT", app, `{"version":1,"target":{"baseUrl":"https://example.com","rate":-1}}`, 400, "target.rate"},
		{"PUT", app, `{"version":1,"target":{"baseUrl":"https://example.com","maintenance":[{"from":"25:00","to":"03:00"}]}}`, 400,
			"target.maintenance[0]"},
		{"PUT", app, `{"version":1,"target":{"baseUrl":"https://example.com"},"mapping":{"rules":[{"target":"userName","expression":"("}]}}`, 400,
			"mapping: rule 1"},
		{"PUT", "/apps/a%2Fb", `{"version":1,"target":{"baseUrl":"https://example.com"}}`, 400, "app: the id of an app"},
		{"GET", "/apps/nosuch", ``, 404, "nosuch (App)"},
		{"DELETE", "/apps/nosuch", ``, 400, "version"},
		{"DELETE", "/apps/crm?version=1", ``, 409, "with other content"},
		{"DELETE", "/apps/crm?version=x", ``, 400, "version"},

		{"PUT", user, ``, 400, "no body"},
		{"PUT", user, `nonsense`, 400, "not valid JSON"},
		{"PUT", user, `{"version":1,"version":2}`, 400, "not valid JSON"},
		{"PUT", user, `{"version":1}`, 400, "want: The field cannot be left blank"},
		{"PUT", user, `{"version":1,"want":"gone"}`, 400, "want: The value must be one of"},
		{"PUT", user, `{"version":1,"want":"active"}`, 400, "resource: an active user needs"},
		{"PUT", user, `{"version":1,"want":"active","resource":"x"}`, 400, "resource: The value must be an object"},
		{"PUT", user, `{"version":1,"want":"active","resource":{"password":"x"}}`, 400, "resource.password: the engine sets"},
		{"PUT", user, `{"version":1,"want":"active","resource":{"a":1,"A":2}}`, 400, "resource: a map has two names"},
		{"PUT", user, `{"version":1,"want":"active","resource":{"a":"\u0000"}}`, 400, "U+0000"},
		{"PUT", user, `{"version":1,"want":"active","resource":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, 400,
			"nested objects and arrays"},
		{"PUT", user, `{"version":1,"want":"active","resource":{"a":"` + strings.Repeat("x", desired.MaxResource) + `"}}`, 400,
			"resource: the user must have at most"},
		{"PUT", user, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "larger than"},
		{"PUT", user, `{"version":1,"want":"active","profile":{"a":1}}`, 400, "profile: the app has no mapping rules"},
		{"PUT", user, `{"version":1,"want":"keep","remoteId":"` + long + `"}`, 400, "remoteId: The field must have"},
		{"PUT", "/apps/crm/users/" + long, `{"version":1,"want":"keep"}`, 400, "id: the id must have at most"},
		{"PUT", "/apps/crm/users/a%07b", `{"version":1,"want":"keep"}`, 400, "id: the id must not contain"},
		{"PUT", "/apps/nosuch/users/u", `{"version":1,"want":"keep"}`, 404, "nosuch (App)"},
		{"GET", "/apps/nosuch/users", ``, 404, "nosuch (App)"},
		{"GET", "/apps/crm/users/nosuch", ``, 404, "nosuch (User)"},
		{"GET", "/apps/crm/users?limit=x", ``, 400, "limit"},
		{"DELETE", user, ``, 400, "version: The field cannot be left blank"},
		{"POST", user, `{}`, 405, ""},

		{"PUT", group, ``, 400, "no body"},
		{"PUT", group, `{"version":1,"want":"keep"}`, 400, "want: The value must be one of"},
		{"PUT", group, `{"version":1,"want":"active"}`, 400, "displayName: an active group needs"},
		{"PUT", group, `{"version":1,"want":"active","displayName":7}`, 400, "displayName: The value must be a string"},
		{"GET", group, ``, 404, "g (Group)"},

		{"PUT", members, ``, 400, "no body"},
		{"PUT", members, `{"version":1}`, 400, "members: The field cannot be left blank"},
		{"PUT", members, `{"version":1,"members":"u"}`, 400, "members: The value must be an array"},
		{"PUT", members, `{"version":1,"members":[1]}`, 400, "members[0]: The value must be a string"},
		{"PUT", members, `{"version":1,"members":[""]}`, 400, "members[0]: the id must not be empty"},
		{"PUT", members, `{"version":1,"members":[` + many + `]}`, 400, "members: The field must have"},
		{"PATCH", members, `{"version":2,"add":["u"]}`, 400, "base: The field cannot be left blank"},
		{"PATCH", members, `{"base":2,"version":2}`, 400, "base: base must be"},
		{"PATCH", members, `{"base":0,"version":1,"add":["u"],"remove":["u"]}`, 400, "remove: the user"},
		{"PATCH", members, `{"base":7,"version":8,"add":["u"]}`, 409, "based on version 7"},

		{"POST", "/apps/crm/snapshots", `{"kind":"x"}`, 400, "kind: The value must be one of"},
		{"POST", "/apps/nosuch/snapshots", `{"kind":"user"}`, 404, "nosuch (App)"},
		{"GET", "/apps/crm/snapshots/9", ``, 404, "9 (Snapshot)"},
		{"GET", "/apps/crm/snapshots/x", ``, 404, "x (Snapshot)"},
		{"POST", "/apps/crm/snapshots/9/confirm", `{}`, 400, "expected: The field cannot be left blank"},
	}
	each(t, func(t *testing.T, h *host) {
		h.putApp(1)
		for _, c := range cases {
			r := h.send(c.method, c.path, "application/json", strings.NewReader(c.body))
			about := fmt.Sprintf("%s %.60s %.60s: %d %s", c.method, c.path, c.body, r.status, r.body)
			assert.Equal(t, c.status, r.status, about)
			assert.Contains(t, r.body, c.want, about)
		}
		require.Contains(t, h.send("PUT", user, "text/plain", strings.NewReader(`{}`)).body, "Content-Type")
		r := h.send("POST", "/apps/crm/batch", "application/x-ndjson", nil)
		require.Equal(t, 400, r.status)
		require.Contains(t, r.body, "no body")
		r = h.send("POST", "/apps/crm/batch", "application/x-ndjson", io.MultiReader(strings.NewReader("\n\n"))) // chunked
		require.Equal(t, 400, r.status)
		require.Contains(t, r.body, "no lines")
		require.Equal(t, 400, h.send("POST", "/apps/crm/batch", "application/json", strings.NewReader("{}")).status)
		require.Equal(t, 404, h.send("POST", "/apps/nosuch/batch", "application/x-ndjson", strings.NewReader("{}")).status)
		require.Equal(t, 409, h.send("POST", "/apps/crm/batch?snapshot=5", "application/x-ndjson",
			strings.NewReader(`{"op":"deleteUser","id":"u","version":1}`)).status)
		require.JSONEq(t, `[]`, h.do(200, "GET", "/apps/crm/users", "").body)
		require.JSONEq(t, `[]`, h.do(200, "GET", "/apps/crm/groups", "").body)
		require.Contains(t, h.do(200, "GET", members, "").body, `"version":0,"members":[]`)
		require.Empty(t, h.target.Requests())
	})
}

// TestPaths_AnyID uses ids with characters that have a meaning in URLs.
func TestPaths_AnyID(t *testing.T) {
	h := serve(t, sqldbtest.SQLite(t))
	h.putApp(1)
	for _, id := range []string{"a/b", "a%2Fb", "..a", "a b", "ü?#", `CN=Ann,OU="x"`, "a//b", "+"} {
		path := "/apps/crm/users/" + url.PathEscape(id)
		h.do(200, "PUT", path, `{"version":1,"want":"keep"}`)
		var shown desiredapi.User
		require.NoError(t, json.Unmarshal([]byte(h.do(200, "GET", path, "").body), &shown))
		require.Equal(t, id, shown.ID)
	}
}

func TestLists_Pages(t *testing.T) {
	h := serve(t, sqldbtest.SQLite(t))
	h.putApp(1)
	lines := make([]string, 0, 120)
	for n := range 120 {
		lines = append(lines, fmt.Sprintf(`{"op":"putUser","id":"u-%03d","version":1,"want":"keep","resource":{"a":%q}}`, n,
			strings.Repeat("x", 30_000)))
	}
	require.Equal(t, 120, h.batch("", lines...).Applied)
	seen, pages := 0, 0
	for path := "/apps/crm/users?limit=110"; path != ""; pages++ {
		r := h.do(200, "GET", path, "")
		var users []desiredapi.User
		require.NoError(t, json.Unmarshal([]byte(r.body), &users))
		require.Less(t, len(r.body), 5<<19)
		require.Equal(t, fmt.Sprintf("u-%03d", seen), users[0].ID)
		seen += len(users)
		path = ""
		for _, link := range r.header.Values("Link") {
			if next, ok := strings.CutSuffix(link, `>; rel="next"`); ok {
				_, path, _ = strings.Cut(next, desiredapi.DefaultPrefix)
			}
		}
	}
	require.Equal(t, 120, seen)
	require.Equal(t, 2, pages, "a page ends at 2 MiB")
}

// TestSecrets_NeverReturned reads all objects after they were written with secrets.
func TestSecrets_NeverReturned(t *testing.T) {
	h := serve(t, sqldbtest.SQLite(t))
	h.do(200, "PUT", "/apps/crm", `{"version":1,"target":{"baseUrl":"https://example.com","paused":true,`+
		`"auth":{"scheme":"HEADER","header":"X-Key","secret":"s-4711"},"tls":{"ca":"c","certificate":"c","key":"k-4711"}}}`)
	h.do(200, "PUT", "/apps/crm/users/u-1",
		`{"version":1,"want":"active","resource":{"userName":"a"},"password":"p-4711","passwordVersion":"1"}`)
	for _, path := range []string{"/apps", "/apps/crm", "/apps/crm/users", "/apps/crm/users/u-1"} {
		body := h.do(200, "GET", path, "").body
		require.NotContains(t, body, "4711", path)
	}
	require.Contains(t, h.do(200, "GET", "/apps/crm", "").body, `"hasCredentials":true`)
	require.Contains(t, h.do(200, "GET", "/apps/crm/users/u-1", "").body, `"hasPassword":true`)
}

// TestApp_EveryMember writes an app with all members and reads it back.
func TestApp_EveryMember(t *testing.T) {
	h := serve(t, sqldbtest.SQLite(t))
	const body = `{"id":"full","version":1,"target":{"baseUrl":"https://example.com","auth":{"scheme":"CLIENT_CREDENTIALS","oauth":{` +
		`"tokenUrl":"https://example.com/token","clientId":"c","scope":"a b","inBody":true}},"tls":{"ca":"ca","certificate":"cert",` +
		`"minVersion":"1.3"},"style":"wizard","fallback":"none","createUsers":true,"updateUsers":true,"deactivateUsers":true,` +
		`"pushGroups":true,"syncPasswords":true,"userNameAttribute":"nickName","onMissing":"fail","onExisting":"ask","onRecycled":"never",` +
		`"holdNames":"-","concurrency":2,"timeoutSeconds":1.5,"memberBatch":3,"rate":2.5,"burst":4,"guard":{"limit":5,"percent":6.5,` +
		`"windowSeconds":3600},"asyncTimeoutSeconds":60,"maxPending":7,"maintenance":[{"days":["friday","sunday"],"from":"22:00","to":"04:00",` +
		`"zone":"Europe/Berlin"},{"begin":"2030-01-02T03:04:05Z","until":"2030-01-03T03:04:05Z"}],"paused":true},"mapping":{"attributes":{` +
		`"login":"string"},"rules":[{"target":"userName","expression":"user.login"},{"target":"locale","constant":"en","createOnly":true}]},` +
		`"hasCredentials":false}`
	h.do(200, "PUT", "/apps/full", body)
	var got, want map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.do(200, "GET", "/apps/full", "").body), &got))
	require.NoError(t, json.Unmarshal([]byte(body), &want))
	delete(got, "changedAt")
	require.Equal(t, want, got)
}

func TestAuthorize_BeforeEverything(t *testing.T) {
	h := serve(t, sqldbtest.SQLite(t), func(o *desiredapi.Options) {
		o.Authorize = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
		}
	})
	for _, op := range desiredapi.Operations("") {
		path := strings.NewReplacer("{", "", "}", "").Replace(strings.TrimPrefix(op.Path, desiredapi.DefaultPrefix))
		require.Equal(t, http.StatusForbidden, h.send(op.Method, path, "application/json", strings.NewReader("{")).status, op.ID)
	}
	require.Equal(t, http.StatusOK, h.send("GET", "/engine/apps", "", nil).status, "Next has an authorization of its own")
}

func TestNew_Required(t *testing.T) {
	h := serve(t, sqldbtest.SQLite(t))
	_, err := desiredapi.New(desiredapi.Options{Store: h.store})
	require.ErrorContains(t, err, "Options.Authorize is required")
	_, err = desiredapi.New(desiredapi.Options{Authorize: func(next http.Handler) http.Handler { return next }})
	require.ErrorContains(t, err, "Options.Store is required")
}

func TestOpenAPI_CheckedIn(t *testing.T) {
	text, err := desiredapi.OpenAPI(desiredapi.Options{})
	require.NoError(t, err)
	goldentest.Check(t, filepath.Join("..", "..", "..", "docs", "api", "desired.json"), string(text))
}

func TestOpenAPI_DescribesEveryMember(t *testing.T) {
	text, err := desiredapi.OpenAPI(desiredapi.Options{Prefix: "/x/", Scope: "x.write"})
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	require.Equal(t, len(desiredapi.Operations("")), strings.Count(string(text), `"operationId"`))
	require.Equal(t, strings.Count(string(text), `"operationId"`), strings.Count(string(text), `"x.write"`))
	require.NotNil(t, doc.Paths.Find("/x/apps/{app}/batch").Post.RequestBody.Value.Content["application/x-ndjson"])
	for name, schema := range doc.Components.Schemas {
		for member, property := range schema.Value.Properties {
			if !strings.HasPrefix(name, "Error") {
				require.NotEmpty(t, property.Value.Description, "%s.%s has no description", name, member)
			}
		}
	}
}

// TestPaths_DifferFromControl checks that no path is also a path of engine/control, which would be unreachable.
func TestPaths_DifferFromControl(t *testing.T) {
	paths := map[string]bool{}
	for _, op := range control.Operations("") {
		paths[op.Path] = true
	}
	for _, op := range desiredapi.Operations("") {
		require.False(t, paths[op.Path], op.Path)
	}
}

// TestBatch_MemoryBounded uploads 200,000 lines (20,000 in a plain run) over HTTP, and compares the live heap with that of a short
// upload.
func TestBatch_MemoryBounded(t *testing.T) {
	many := 20_000
	if alltest.All() {
		many = 200_000
	}
	h := serve(t, sqldbtest.SQLite(t))
	h.do(200, "PUT", "/apps/crm", `{"version":1,"target":{"baseUrl":"https://example.com","paused":true}}`)
	peak := func(lines int) (highest uint64) {
		reader, writer := io.Pipe()
		go func() {
			for n := range lines {
				if n%2000 == 1500 {
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					highest = max(highest, m.HeapAlloc)
				}
				_, err := fmt.Fprintf(writer, `{"op":"putUser","id":"u-%d","version":1,"want":"active","resource":{"userName":"user%d"}}`+"\n", n, n)
				if err != nil {
					return
				}
			}
			_ = writer.Close() // cannot fail
		}()
		r := h.send(http.MethodPost, "/apps/crm/batch", "application/x-ndjson", reader)
		require.Equal(t, 200, r.status, r.body)
		require.Contains(t, r.body, fmt.Sprintf(`"lines":%d`, lines))
		return highest
	}
	short, long := peak(4_000), peak(many)
	t.Logf("live heap: %d KiB with 4,000 lines, %d KiB with %d lines", short>>10, long>>10, many)
	require.Less(t, long, short+16<<20)
	_, err := h.store.StoredUser(t.Context(), "crm", fmt.Sprint("u-", many-1))
	require.NoError(t, err)
	counts, err := h.engine.Apps().Counts(t.Context(), "crm")
	require.NoError(t, err)
	require.Equal(t, map[engine.Status]int{engine.StatusDirty: many}, counts)
}
