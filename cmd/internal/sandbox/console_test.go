package sandbox_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// The page of an application shows failed principals first and links to their requests.
func TestConsole_AppPageShowsFailuresFirst(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	inner := scimHandler(t)
	server := newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method == http.MethodPost && strings.Contains(string(body), "zoe@") {
			w.Header().Set("Content-Type", "application/scim+json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"no Zoes here"}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	app := newApp(t, api, server.URL, scimToken)
	for _, login := range []string{"ben@northwind.example", "zoe@northwind.example", "ada@northwind.example"} {
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+newUser(t, api, login)+`"}`, nil)
	}
	eventually(t, "all users were processed", func() bool {
		page := consolePage(t, api, "/apps/"+app+"/people")
		return strings.Contains(page, " failed</span>") && strings.Count(page, " in sync</span>") == 2
	})
	tasks, requests, found := strings.Cut(consolePage(t, api, "/apps/"+app), "Latest requests")
	require.True(t, found)
	require.Contains(t, tasks, "zoe@northwind.example")
	require.NotContains(t, tasks, "ada@northwind.example", "only what is not in sync")
	require.Contains(t, tasks, "no Zoes here")
	require.Contains(t, requests, "<b>POST</b>")
	eventually(t, "the overview has the failure; its delays are at most a second old", func() bool {
		return strings.Contains(consolePage(t, api, "/"), "1 change rejected by the target.")
	})

	opened := regexp.MustCompile(`/requests/\w+/\d+`).FindString(requests)
	request := consolePage(t, api, opened)
	require.Contains(t, request, "Repeat with curl")
	require.Regexp(t, `<p class="line"><code>(201 Created|400 Bad Request)</code></p>`+
		`<details class="fold" open><summary>\d+ headers</summary>`, request,
		"the exchange looks as in the report of the suite")
	link := regexp.MustCompile(`/apps/\w+/user/\w+`).FindString(tasks)
	history := consolePage(t, api, link)
	require.Contains(t, history, "The user is assigned to the application directly.")
	require.Contains(t, history, "<code>user.firstName</code>")
	do(t, api, http.MethodPost, "/sandbox/v1/apps/"+app+"/halt", `{"operations":["update"],"reason":"audit"}`, nil)
	require.Contains(t, consolePage(t, api, "/apps/"+app), "update is halted for this app: audit")
}

// An operator halts an app, sees the failure of the target, and retries after it has recovered; every step is a form of the console.
func TestConsole_OperatesApp(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	inner := scimHandler(t)
	var broken atomic.Bool
	server := newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() && r.Method != http.MethodGet {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	app := newApp(t, api, server.URL, scimToken)
	broken.Store(true)
	user := newUser(t, api, "ada@northwind.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+user+`"}`, nil)
	b := consoleLogin(t, api)
	eventually(t, "the change has failed", func() bool { return strings.Contains(b.get("/apps/"+app+"/tasks"), " failed</span>") })

	halted := b.act("haltApp", url.Values{"app": {app}, "operations": {"create"}, "reason": {"maintenance of the target"}})
	require.Contains(t, halted, "Halted.")
	require.Contains(t, b.get("/apps/"+app), "create is halted for this app: maintenance of the target")
	require.Contains(t, b.act("resumeApp", url.Values{"app": {app}, "operations": {"create"}}), "Resumed.")
	require.Contains(t, b.act("testApp", url.Values{"app": {app}}), "The connection works")
	require.Contains(t, b.act("rehearsePrincipal", url.Values{"app": {app}, "kind": {"user"}, "principal": {user}}), "not sent")

	broken.Store(false)
	require.Contains(t, b.act("retryAllProvisioningTasks", url.Values{"app": {app}}), "1 change retried.")
	eventually(t, "the change has succeeded", func() bool { return strings.Contains(b.get("/apps/"+app+"/user/"+user), " in sync</span>") })
	one := url.Values{"app": {app}, "kind": {"user"}, "principal": {user}}
	require.Contains(t, b.act("verifyPrincipal", one), "The target has the desired state.")
	require.Contains(t, b.act("driftReport", url.Values{"app": {app}, "kind": {"user"}}), "no difference")
	require.Contains(t, b.act("createPlan", url.Values{"app": {app}, "all": {"true"}, "reason": {"trial"}}), "trial")
	require.Contains(t, b.act("startImport", url.Values{"app": {app}, "type": {"USERS"}}), "Import ")
	require.Contains(t, b.get("/apps/"+app+"/events"), "user.created")
	require.Contains(t, b.get("/requests?app="+app), "ada@northwind.example")
}

// A READ_ONLY_ADMIN sees the pages and cannot act. Other administrators have no access.
func TestConsole_RolesBind(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	app := newApp(t, api, newTarget(t, scimHandler(t)).URL, scimToken)
	token := func(login, role string) *sandbox.APIClient {
		id := newUser(t, api, login)
		do(t, api, http.MethodPost, "/api/v1/users/"+id+"/roles", `{"type":"`+role+`"}`, nil)
		var made struct{ Token string }
		do(t, api, http.MethodPost, "/sandbox/v1/api-tokens", `{"name":"`+role+`","userId":"`+id+`"}`, &made)
		return &sandbox.APIClient{BaseURL: api.BaseURL, Token: made.Token}
	}
	b := consoleLogin(t, token("reader@northwind.example", "READ_ONLY_ADMIN"))
	page := b.get("/apps/" + app)
	require.Contains(t, page, "read only")
	require.NotContains(t, page, "/do/haltApp")
	require.Contains(t, b.act("haltApp", url.Values{"app": {app}}), "You may not do this")
	require.NotContains(t, consolePage(t, api, "/apps/"+app), "halted")

	other := &consoleBrowser{t: t, api: token("apps@northwind.example", "APP_ADMIN")}
	require.Contains(t, other.login(), "gives no access")
}

// The printed address logs in once. Without it, pages lead to the login, and those of the links in messages do not.
func TestConsole_RequiresLogin(t *testing.T) {
	t.Parallel()
	s, api := startOne(t, sandbox.Options{Empty: true})
	b := &consoleBrowser{t: t, api: api}
	require.Contains(t, b.get("/"), "API token")
	require.Contains(t, b.get("/welcome/3DX0SCRVXut4Hhys2YQu"), "Activate an account")
	require.Contains(t, b.get(strings.TrimPrefix(s.Ready().ConsoleURL, api.BaseURL)), "Apps")
	require.NotContains(t, b.get("/requests"), "API token")
	require.Contains(t, (&consoleBrowser{t: t, api: api}).get(strings.TrimPrefix(s.Ready().ConsoleURL, api.BaseURL)), "used before")
	open, openAPI := startOne(t, sandbox.Options{Empty: true, ConsoleOpen: true})
	require.Equal(t, openAPI.BaseURL+"/", open.Ready().ConsoleURL)
	require.NotContains(t, (&consoleBrowser{t: t, api: openAPI}).get("/"), "API token")
}

// Replicas on one database share the sessions of the console.
func TestConsole_ReplicasShareSessions(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true})
	b := consoleLogin(t, p.balanced)
	for range 6 {
		require.NotContains(t, b.get("/"), "API token")
	}
}

// eachDatabase runs a test of the console on SQLite and on PostgreSQL.
func eachDatabase(t *testing.T, test func(t *testing.T, o sandbox.Options)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sandbox.Options{})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, sandbox.Options{DB: sqldbtest.PostgresURL(t), SecretKeyFile: filepath.Join(t.TempDir(), "secret.key")})
	})
}

// consolePage returns a page of the console.
func consolePage(t *testing.T, api *sandbox.APIClient, path string) string {
	t.Helper()
	return consoleLogin(t, api).get(path)
}

// consoleBrowser is a browser with the token of a client.
type consoleBrowser struct {
	t   testing.TB
	api *sandbox.APIClient
	jar http.CookieJar
}

// consoleLogin returns a browser that has logged in.
func consoleLogin(t testing.TB, api *sandbox.APIClient) *consoleBrowser {
	t.Helper()
	b := &consoleBrowser{t: t, api: api}
	require.NotContains(t, b.login(), "gives no access")
	return b
}

func (b *consoleBrowser) login() string { return b.post("/login", url.Values{"token": {b.api.Token}}) }

func (b *consoleBrowser) send(method, path string, form url.Values) string {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.api.BaseURL+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.api.BaseURL)
	}
	res, page := b.do(req)
	require.Less(b.t, res.StatusCode, http.StatusInternalServerError)
	return page
}

// do sends a request with the cookies of the browser.
func (b *consoleBrowser) do(req *http.Request) (*http.Response, string) {
	b.t.Helper()
	if b.jar == nil {
		jar, err := cookiejar.New(nil)
		require.NoError(b.t, err)
		b.jar = jar
	}
	res, err := (&http.Client{Jar: b.jar}).Do(req)
	require.NoError(b.t, err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return res, string(page)
}

func (b *consoleBrowser) get(path string) string { return b.send(http.MethodGet, path, nil) }

func (b *consoleBrowser) post(path string, form url.Values) string {
	return b.send(http.MethodPost, path, form)
}

var consoleCSRF = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// act sends the form of an action and returns the page that follows.
func (b *consoleBrowser) act(action string, form url.Values) string {
	b.t.Helper()
	found := consoleCSRF.FindStringSubmatch(b.get("/requests"))
	require.Len(b.t, found, 2)
	form.Set("csrf", found[1])
	form.Set("back", "/apps/"+form.Get("app"))
	return b.post("/do/"+action, form)
}
