package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/webhooks"
)

const pullSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// provider is the endpoint of an identity provider: users with a family name, and the group sales with all active users.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	users   map[string]providerUser
	fault   http.HandlerFunc // replaces all responses
	delay   time.Duration    // of each response
	queries []string
	badSign int
}

type providerUser struct{ state, family string }

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{users: map[string]providerUser{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) set(id, state, family string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[id] = providerUser{state, family}
}

func (p *provider) fail(f http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// asked returns the number of queries.
func (p *provider) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queries)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	fault := p.fault
	p.queries = append(p.queries, r.URL.Path+" "+string(body))
	if webhooks.Verify(r.Header, body, time.Now(), pullSecret) != nil {
		p.badSign++
	}
	p.mu.Unlock()
	if fault != nil {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		fault(w, r)
		return
	}
	if p.delay > 0 {
		select {
		case <-time.After(p.delay):
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p.answer(r.URL.Path, body))
}

func (p *provider) answer(path string, body []byte) map[string]any {
	var q struct {
		App, ID, Kind, After string
		Users                []string
	}
	_ = json.Unmarshal(body, &q)
	p.mu.Lock()
	defer p.mu.Unlock()
	var active []string
	for id, u := range p.users {
		if u.state == "active" && id > q.After {
			active = append(active, id)
		}
	}
	slices.Sort(active)
	out := map[string]any{"app": q.App, "id": q.ID}
	switch path {
	case "/user":
		u, ok := p.users[q.ID]
		if !ok {
			u.state = "absent"
		}
		out["state"] = u.state
		out["resource"] = map[string]any{"userName": q.ID + "@example.com", "name": map[string]any{"familyName": u.family}}
	case "/group":
		out["state"], out["displayName"] = "active", "Sales"
	case "/members":
		out["members"], out["more"], out["total"] = append([]string{}, active...), false, len(active)
	case "/is-member":
		is := map[string]bool{}
		for _, u := range q.Users {
			is[u] = slices.Contains(active, u)
		}
		out["members"] = is
	case "/principals":
		delete(out, "id")
		out["kind"], out["ids"], out["more"] = q.Kind, append([]string{}, active...), false
		if q.Kind == "group" {
			out["ids"] = []string{"sales"}
		}
	}
	return out
}

// pullBody returns the body of an app with an endpoint.
func pullBody(version int, target, url string) string {
	return strings.TrimSuffix(appBody(version, target), "}") + fmt.Sprintf(`,"pull":{"url":%q,"secrets":[%q]}}`, url, pullSecret)
}

// accounts returns the accounts of a target as "userName family active", sorted, and the number of the members of its groups.
func accounts(target *enginetest.Target) (users []string, members int) {
	for _, u := range target.Users() {
		active, _ := u.Get("active")
		users = append(users, fmt.Sprint(u.Text("userName"), " ", u.Complex("name").Text("familyName"), " ", active))
	}
	slices.Sort(users)
	for _, g := range target.Groups() {
		list, _ := g.Get("members")
		all, _ := list.([]any)
		members += len(all)
	}
	return users, members
}

// faults are responses of an endpoint without a desired state; reason is a part of the error in the task.
var faults = []struct {
	name    string
	respond http.HandlerFunc
	reason  string
}{
	{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "the endpoint responded 500"},
	{"404", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "the endpoint responded 404"},
	{"empty", replying(`{}`), "the response has no app or id"},
	{"other id", replying(`{"app":"crm","id":"u-999","state":"absent","members":[],"more":false,"total":0}`), "another object"},
	{"other app", replying(`{"app":"acme:crm","id":"u-1","state":"absent"}`), "another object"},
	{"sign-in page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>sign in</html>") }, "application/json"},
	{"abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed without a response"},
	{"empty lists", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ App, ID string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"app":%q,"id":%q,"members":[],"more":false}`, q.App, q.ID)
	}, "no state"},
}

func replying(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// TestPull_FaultDeactivatesNoAccount provisions an app from an endpoint, and then changes a user while the endpoint fails in different
// ways: the task shows the reason, no account changes, and everything is completed after the end of the failure.
func TestPull_FaultDeactivatesNoAccount(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		d, stop := start(t, daemon.Options{DB: databaseURL})
		target, targetURL := newTarget(t)
		idp := newProvider(t)
		c := callerOf(t, d).as("acme", "apps", "read", "write", "secrets")
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", pullBody(1, targetURL, idp.URL))
		shown := c.do(http.StatusOK, http.MethodGet, "/apps/crm", "").body
		require.Contains(t, shown, `"pull":{"url":"`+idp.URL+`"}`)
		require.NotContains(t, shown, "whsec")
		for _, id := range []string{"u-1", "u-2", "u-3"} {
			idp.set(id, "active", "A")
		}
		const all = `{"marks":[{"kind":"user","id":"u-1"},{"kind":"user","id":"u-2"},{"kind":"user","id":"u-3"},` +
			`{"kind":"group","id":"sales","allMembers":true}]}`
		settle := func() {
			t.Helper()
			c.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", strings.ReplaceAll(all, `"}`, `","retry":true}`))
			c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
		}
		settle()
		before, members := accounts(target)
		require.Equal(t, []string{"u-1@example.com A true", "u-2@example.com A true", "u-3@example.com A true"}, before)
		require.Equal(t, 3, members)
		require.Zero(t, idp.badSign)
		require.Contains(t, idp.queries[0], `"app":"crm"`, "without the prefix of the tenant")

		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
		defer other.Close()
		for i, fault := range append(slices.Clone(faults), struct {
			name    string
			respond http.HandlerFunc
			reason  string
		}{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "redirects are not followed"}) {
			family := fmt.Sprint("B", i)
			idp.set("u-1", "active", family)
			idp.fail(fault.respond)
			c.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", all)
			eventually(t, fault.name, func() bool {
				return strings.Count(c.do(http.StatusOK, http.MethodGet, "/apps/crm/tasks", "").body, fault.reason) >= 4
			})
			now, in := accounts(target)
			require.Equal(t, before, now, fault.name)
			require.Equal(t, 3, in, fault.name)
			idp.fail(nil)
			settle()
			before, _ = accounts(target)
			require.Equal(t, "u-1@example.com "+family+" true", before[0], fault.name)
		}

		// After a restart, the stored secret signs the queries. Only an explicit state deactivates.
		stop()
		d, _ = start(t, daemon.Options{DB: databaseURL})
		c.url = d.Ready().EngineURL
		idp.set("u-2", "inactive", "A")
		idp.mu.Lock()
		delete(idp.users, "u-3")
		idp.mu.Unlock()
		settle()
		now, in := accounts(target)
		require.Equal(t, []string{before[0], "u-2@example.com A false", "u-3@example.com A false"}, now)
		require.Equal(t, 1, in)
		require.Zero(t, idp.badSign)
	})
}

// TestPull_HangingEndpoint checks that an endpoint without a response does not delay an app of another tenant, changes nothing, and does
// not delay the end of the daemon.
func TestPull_HangingEndpoint(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		d, err := daemon.Start(t.Context(), daemon.Options{
			Listen: "127.0.0.1:0", DB: databaseURL, AdminToken: adminToken, Keys: daemon.KeyOptions{Keys: testKey},
		})
		require.NoError(t, err)
		idp, slow := newProvider(t), newProvider(t)
		released := make(chan struct{})
		defer close(released)
		slow.fail(func(http.ResponseWriter, *http.Request) { <-released })
		acme := callerOf(t, d).as("acme", "apps", "read", "write", "secrets")
		other := callerOf(t, d).as("other", "apps", "read", "write", "secrets")
		hung, hungURL := newTarget(t)
		quick, quickURL := newTarget(t)
		acme.do(http.StatusOK, http.MethodPut, "/apps/crm", pullBody(1, hungURL, slow.URL))
		other.do(http.StatusOK, http.MethodPut, "/apps/crm", pullBody(1, quickURL, idp.URL))
		var marks []string
		for i := range 50 {
			idp.set(fmt.Sprint("u-", i), "active", "A")
			marks = append(marks, fmt.Sprintf(`{"kind":"user","id":"u-%d"}`, i))
		}
		body := `{"marks":[` + strings.Join(marks, ",") + `]}`
		acme.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", body)
		eventually(t, "a query waits", func() bool { return slow.asked() > 0 })
		begin := time.Now()
		other.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", body)
		other.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
		require.Len(t, quick.Users(), 50)
		require.Less(t, time.Since(begin), 14*time.Second, "before the time limit of a query")
		require.Empty(t, hung.Users())
		// The time of serve engine is 10s.
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begin = time.Now()
		require.ErrorContains(t, d.Close(ctx), "running sequences were canceled")
		require.Less(t, time.Since(begin), 14*time.Second)
	})
}

// TestPull_SlowEndpoint checks that the first request to the target does not wait for the queries for all pending users.
func TestPull_SlowEndpoint(t *testing.T) {
	d, _ := start(t, daemon.Options{})
	idp := newProvider(t)
	idp.delay = 100 * time.Millisecond
	var before int // number of queries before the first request
	seen := sync.OnceFunc(func() { before = idp.asked() })
	target := enginetest.NewTarget()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			seen()
		}
		target.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := callerOf(t, d).as("acme", "apps", "read", "write", "secrets")
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", pullBody(1, server.URL, idp.URL))
	var marks []string
	for i := range 60 {
		idp.set(fmt.Sprint("u-", i), "active", "A")
		marks = append(marks, fmt.Sprintf(`{"kind":"user","id":"u-%d"}`, i))
	}
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", `{"marks":[`+strings.Join(marks, ",")+`]}`)
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
	require.Len(t, target.Users(), 60)
	require.Less(t, before, 30)
}

// TestPull_API checks what the operations return for an app with an endpoint.
func TestPull_API(t *testing.T) {
	d, _ := start(t, daemon.Options{})
	_, targetURL := newTarget(t)
	idp := newProvider(t)
	admin := callerOf(t, d)
	c := admin.as("default", "apps", "read", "write", "secrets")
	for body, want := range map[string]string{
		`"pull":{}`: "pull.url",
		`"pull":{"url":"https://idp.example.com"}`:                 "1 to 4 secrets are required",
		`"pull":{"url":"ftp://x","secrets":["whsec_AA"]}`:          "pull.url",
		`"pull":{"url":"https://idp.example.com","secrets":["s"]}`: "whsec_",
	} {
		text := strings.TrimSuffix(appBody(1, targetURL), "}") + "," + body + "}"
		require.Contains(t, c.do(http.StatusBadRequest, http.MethodPut, "/apps/crm", text).body, want, body)
	}
	admin.as("default", "apps").do(http.StatusForbidden, http.MethodPut, "/apps/crm", pullBody(1, targetURL, idp.URL))
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", pullBody(1, targetURL, idp.URL))
	for path, body := range map[string]string{
		"PUT /apps/crm/users/u-1": userBody(1, "ann"), "GET /apps/crm/users": "", "GET /apps/crm/users/u-1": "",
		"POST /apps/crm/batch":     `{"op":"deleteUser","id":"u-1","version":1}`,
		"POST /apps/crm/snapshots": `{"kind":"user"}`, "DELETE /apps/crm/groups/g?version=1": "", "PUT /apps/crm": appBody(2, targetURL),
	} {
		method, path, _ := strings.Cut(path, " ")
		media := "application/json"
		if strings.HasSuffix(path, "/batch") {
			media = "application/x-ndjson"
		}
		r, err := c.send(method, path, media, strings.NewReader(body))
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, r.status, "%s: %s", path, r.body)
		require.Contains(t, r.body, "pull", path)
	}
	idp.set("u-1", "active", "A")
	idp.fail(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for _, path := range []string{"GET %s/trace", "GET %s/proof", "GET %s/explanation", "POST %s/provision"} {
		method, path, _ := strings.Cut(fmt.Sprintf(path, "/apps/crm/principals/user/u-1"), " ")
		require.Contains(t, c.do(http.StatusBadRequest, method, path, "").body, "the endpoint responded 502", path)
	}
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", `{"marks":[{"kind":"user","id":"u-1"}]}`)
	eventually(t, "the task shows the reason", func() bool {
		return strings.Contains(c.do(http.StatusOK, http.MethodGet, "/apps/crm/tasks", "").body, "the endpoint responded 502")
	})
	n := idp.asked()
	c.do(http.StatusOK, http.MethodGet, "/apps/crm/principals", "")
	require.Equal(t, n, idp.asked(), "a list sends no queries")
	idp.fail(nil)
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/principals/user/u-1/provision", "")
	require.Contains(t, c.do(http.StatusOK, http.MethodGet, "/apps/crm/principals/user/u-1/explanation", "").body, "returns the state active")
}

// TestPull_Egress checks that the policy for addresses applies to endpoints.
func TestPull_Egress(t *testing.T) {
	d, _ := start(t, daemon.Options{Egress: "public"})
	c := callerOf(t, d).as("acme", "apps", "read", "write", "secrets")
	idp := newProvider(t)
	r := c.do(http.StatusBadRequest, http.MethodPut, "/apps/crm", pullBody(1, "https://crm.example.com", idp.URL))
	require.Contains(t, r.body, "must begin with https://")
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", pullBody(1, "https://crm.example.com", strings.Replace(idp.URL, "http:", "https:", 1)))
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", `{"marks":[{"kind":"user","id":"u-1"}]}`)
	eventually(t, "the task shows the reason", func() bool {
		return strings.Contains(c.do(http.StatusOK, http.MethodGet, "/apps/crm/tasks", "").body, "connections to it are not allowed")
	})
	require.Zero(t, idp.asked())
}

// TestPull_ConfigFile defines an app with an endpoint in the configuration file.
func TestPull_ConfigFile(t *testing.T) {
	target, targetURL := newTarget(t)
	idp := newProvider(t)
	file := filepath.Join(t.TempDir(), "engine.yaml")
	write := func(secret string) {
		text := fmt.Sprintf("apps:\n  crm:\n    target: {baseUrl: %q, createUsers: true}\n    pull:\n      url: %q\n      secrets: [%q]\n",
			targetURL, idp.URL, secret)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	o := daemon.Options{Config: file, LookupEnv: func(name string) (string, bool) {
		return map[string]string{"PULL_SECRET": pullSecret, "SHORT": "whsec_AAAA"}[name], true
	}}
	write(pullSecret)
	require.ErrorContains(t, o.Check(), file+":6:17: a secret is given by reference")
	write("env:SHORT")
	require.ErrorContains(t, o.Check(), file+":6:7: pull.secrets: a secret is")
	write("env:PULL_SECRET")
	d, _ := start(t, o)
	c := callerOf(t, d)
	idp.set("u-1", "active", "A")
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", `{"marks":[{"kind":"user","id":"u-1"}]}`)
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
	require.Len(t, target.Users(), 1)
	idp.set("u-2", "active", "A")
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/reconcile", "") // marks the listed users
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
	require.Len(t, target.Users(), 2)
	require.Zero(t, idp.badSign)
}
