package console_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// pages are all pages with a session, and the operations with a form.
var pages = []string{
	"/", "/?q=crm&state=attention", "/apps/crm", "/apps/crm/people", "/apps/crm/people?q=ada", "/apps/crm/user/u1", "/apps/crm/requests",
	"/apps/crm/tasks", "/apps/crm/plans", "/apps/crm/plans/p1", "/apps/crm/imports", "/apps/crm/imports/1", "/apps/crm/target",
	"/apps/crm/events", "/requests", "/requests?q=%22%3E%3Cscript%3E&status=4xx", "/requests/crm/1", "/do/haltApp?app=crm",
	"/do/approveRemovals?app=crm", "/do/applyPlan?app=crm&plan=p1", "/do/createPlan?app=crm", "/do/probeApp?app=crm",
	"/do/driftReport?app=crm", "/do/startImport?app=crm", "/do/confirmImport?app=crm&job=1",
	"/do/dismissProvisioningTask?app=crm&task=u1", "/do/haltAllApps?reason=%22%3E%3Cscript%3E",
	"/do/provisionPrincipal?app=crm&kind=user&principal=u1", "/do/unlearn?app=crm", "/do/reconcileApp?app=crm",
	"/do/discardPlan?app=crm&plan=p1",
}

// No stored text becomes markup, on any page: names, errors, bodies, headers, reasons, ids.
func TestPages_EscapeStoredText(t *testing.T) {
	w := newWorld(t, nil)
	w.fake.add("crm", 400)
	w.fake.add("crm", 200)
	b := w.login(admin)
	csrf := b.csrf()
	check := func(name string, status int, page string) {
		require.Less(t, status, http.StatusInternalServerError, "%s: %s", name, page)
		for _, markup := range []string{"<script>", "<img", "onerror=alert(1)>"} {
			require.NotContains(t, page, markup, name)
		}
	}
	for _, path := range pages {
		status, page := b.get(path)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, page)
		check(path, status, page)
	}
	status, page := b.get("/apps/none" + url.PathEscape(evil))
	require.Equal(t, http.StatusNotFound, status)
	check("unknown app", status, page)
	for _, action := range []url.Values{
		{"action": {"verifyPrincipal"}, "app": {"crm"}, "kind": {"user"}, "principal": {"u1"}},
		{"action": {"rehearsePrincipal"}, "app": {"crm"}, "kind": {"user"}, "principal": {"u1"}},
		{"action": {"driftReport"}, "app": {"crm"}}, {"action": {"testApp"}, "app": {"crm"}},
		{"action": {"haltApp"}, "app": {evil}, "reason": {evil}},
	} {
		action.Set("csrf", csrf)
		status, page := b.post("/do/"+action.Get("action"), action)
		check(action.Get("action"), status, page)
	}
}

// Each page has the headers that forbid inline scripts, other hosts and frames.
func TestPages_Headers(t *testing.T) {
	w := newWorld(t, nil)
	b := w.login(admin)
	for _, path := range []string{"/", "/login", "/nowhere", "/apps/none", "/welcome/3DX0SCRVXut4Hhys2YQu"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+path, nil)
		require.NoError(t, err)
		res, err := b.http.Do(r)
		require.NoError(t, err)
		_ = res.Body.Close()
		policy := res.Header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'",
		} {
			require.Contains(t, policy, part, path)
		}
		require.NotContains(t, policy, "unsafe", path)
		require.Equal(t, "DENY", res.Header.Get("X-Frame-Options"), path)
		require.Equal(t, "no-store", res.Header.Get("Cache-Control"), path)
	}
}

// The templates have no inline script, handler or style, which the policy would block, and load nothing from other hosts.
func TestTemplates_NoInlineCode(t *testing.T) {
	files, err := filepath.Glob("pages/*.html")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, forbidden := range []string{"<style", " style=", " onclick", " onload", "javascript:", "http://", "https://", "<script>"} {
			require.NotContains(t, string(text), forbidden, file)
		}
	}
}

func TestScript_Size(t *testing.T) {
	info, err := os.Stat("assets/console.js")
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(40<<10))
}

func TestLogin_CodeOnce(t *testing.T) {
	w := newWorld(t, nil)
	path, err := w.console.LoginPath(t.Context())
	require.NoError(t, err)
	first, second := w.browser(), w.browser()
	status, page := first.get(path)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Needs attention")
	status, page = second.get(path)
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, page, "used before")
	status, page = second.get("/apps/crm")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "API token", "a page without a session leads to the login")
}

// After the login, the browser returns to the requested page, and never to another site.
func TestLogin_Next(t *testing.T) {
	w := newWorld(t, nil)
	for next, want := range map[string]string{
		"/apps/crm/tasks": "/apps/crm/tasks", "//evil.example/": "/", "https://evil.example/": "/", `/\evil.example`: "/", "": "/",
		"/\t/evil.example": "/",
	} {
		b := w.browser()
		b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res, err := b.http.Do(b.form("/login", url.Values{"token": {admin}, "next": {next}}))
		require.NoError(t, err)
		_ = res.Body.Close()
		require.Equal(t, http.StatusSeeOther, res.StatusCode)
		require.Equal(t, want, res.Header.Get("Location"), "next=%q", next)
	}
}

func TestLogin_WrongToken(t *testing.T) {
	w := newWorld(t, nil)
	b := w.browser()
	status, page := b.post("/login", url.Values{"token": {"wrong"}})
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, page, "gives no access")
	for range 40 {
		status, _ = b.post("/login", url.Values{"token": {"wrong"}})
	}
	require.Equal(t, http.StatusTooManyRequests, status, "the number of failed logins is limited")
}

// A cookie that another party has set before the login does not become a session.
func TestLogin_NoSessionFixation(t *testing.T) {
	w := newWorld(t, nil)
	b := w.browser()
	at, err := url.Parse(w.server.URL)
	require.NoError(t, err)
	name := "scimwright_" + at.Port()
	b.http.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: "chosen-by-the-attacker", Path: "/"}})
	status, _ := b.post("/login", url.Values{"token": {admin}})
	require.Equal(t, http.StatusOK, status)
	for _, c := range b.http.Jar.Cookies(at) {
		if c.Name == name {
			require.NotEqual(t, "chosen-by-the-attacker", c.Value)
		}
	}
	attacker := w.browser()
	attacker.http.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: "chosen-by-the-attacker", Path: "/"}})
	_, page := attacker.get("/")
	require.Contains(t, page, "API token")
}

func TestLogin_CookieAttributes(t *testing.T) {
	w := newWorld(t, func(o *console.Options) {
		o.Hosts, o.Proxies = []string{"id.example.com"}, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	send := func(remote, host string, header map[string]string) *http.Response {
		r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader("token="+admin))
		r.Host, r.RemoteAddr = host, remote
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		for name, value := range header {
			r.Header.Set(name, value)
		}
		rec := httptest.NewRecorder()
		w.console.ServeHTTP(rec, r)
		return rec.Result()
	}
	plain := send("127.0.0.1:5000", "127.0.0.1:8080", nil).Cookies()
	require.Len(t, plain, 1)
	require.True(t, plain[0].HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, plain[0].SameSite)
	require.False(t, plain[0].Secure)
	secure := send("10.1.2.3:5000", "id.example.com", map[string]string{"X-Forwarded-Proto": "https"}).Cookies()
	require.Len(t, secure, 1)
	require.True(t, secure[0].Secure)
	require.True(t, strings.HasPrefix(secure[0].Name, "__Host-"), "no other host can set the cookie")
}

// A revoked token ends its session at the next request.
func TestSession_EndsWithCredential(t *testing.T) {
	w := newWorld(t, nil)
	b := w.login(viewer)
	_, page := b.get("/")
	require.Contains(t, page, "read only")
	w.fake.mu.Lock()
	w.fake.gone[viewer] = true
	w.fake.mu.Unlock()
	_, page = b.get("/")
	require.Contains(t, page, "API token")
}

func TestLogout_EndsSession(t *testing.T) {
	w := newWorld(t, nil)
	path, err := w.console.LoginPath(t.Context())
	require.NoError(t, err)
	b := w.browser()
	_, _ = b.get(path)
	at, err := url.Parse(w.server.URL)
	require.NoError(t, err)
	before := b.http.Jar.Cookies(at)
	status, _ := b.post("/logout", url.Values{"csrf": {b.csrf()}})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []string{admin}, w.fake.ended(), "the credential of a one-time code ends with the session")
	thief := w.browser()
	thief.http.Jar.SetCookies(at, before)
	_, page := thief.get("/")
	require.Contains(t, page, "API token", "the cookie of an ended session is not valid")
}

// Requests to other host names, and over HTTP through names that are not loopback, are rejected before any page.
func TestAccess_Hosts(t *testing.T) {
	w := newWorld(t, func(o *console.Options) {
		o.Hosts, o.Proxies = []string{"id.example.com"}, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	tests := []struct {
		name, host, remote string
		header             map[string]string
		status             int
	}{
		{"the same machine", "localhost:8080", "127.0.0.1:5000", nil, 200},
		{"the same machine by IPv6", "[::1]:8080", "[::1]:5000", nil, 200},
		{"a published port of a container", "127.0.0.1:8080", "172.17.0.1:5000", nil, 200},
		{"a rebound host name", "evil.example", "127.0.0.1:5000", nil, 403},
		{"a port that is not a number", "127.0.0.1:$(date)", "127.0.0.1:5000", nil, 403},
		{"the name of this server over HTTP", "id.example.com", "10.0.0.9:5000", nil, 403},
		{"the name of this server over HTTPS of a trusted proxy", "id.example.com", "10.0.0.9:5000",
			map[string]string{"X-Forwarded-Proto": "https"}, 200},
		{"the same, by X-Forwarded-Host", "127.0.0.1:8080", "10.0.0.9:5000",
			map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "id.example.com"}, 200},
		{"the header of another client", "id.example.com", "192.0.2.1:5000", map[string]string{"X-Forwarded-Proto": "https"}, 403},
		{"a rebound name in the header of another client", "evil.example", "192.0.2.1:5000",
			map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "id.example.com"}, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/login", "/welcome/3DX0SCRVXut4Hhys2YQu"} {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host, r.RemoteAddr = tt.host, tt.remote
				for name, value := range tt.header {
					r.Header.Set(name, value)
				}
				rec := httptest.NewRecorder()
				w.console.ServeHTTP(rec, r)
				require.Equal(t, tt.status, rec.Code, rec.Body.String())
				require.NotContains(t, rec.Body.String(), "$(date)")
			}
		})
	}
}

// With Open, only callers on this machine need no login: not those of another machine, and not those of a proxy on this machine.
func TestOpen_LocalOnly(t *testing.T) {
	w := newWorld(t, func(o *console.Options) { o.Open = true })
	serve := func(remote string, header map[string]string, proto string) int {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.RemoteAddr = "127.0.0.1:8080", remote
		for name, value := range header {
			r.Header.Set(name, value)
		}
		if proto != "" {
			r.Proto, r.ProtoMajor, r.ProtoMinor = proto, 1, 0
		}
		rec := httptest.NewRecorder()
		w.console.ServeHTTP(rec, r)
		return rec.Code
	}
	require.Equal(t, http.StatusOK, serve("127.0.0.1:5000", nil, ""))
	require.Equal(t, http.StatusSeeOther, serve("172.17.0.1:5000", nil, ""))
	require.Equal(t, http.StatusSeeOther, serve("127.0.0.1:5000", nil, "HTTP/1.0"))
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via", "X-Original-URL", "True-Client-IP"} {
		require.Equal(t, http.StatusSeeOther, serve("127.0.0.1:5000", map[string]string{name: "x"}, ""), name)
	}
}

// A form runs only with the token of its session and from a page of this console.
func TestForm_RejectsForeignSites(t *testing.T) {
	w := newWorld(t, nil)
	b, other := w.login(admin), w.login(admin)
	token := b.csrf()
	require.NotEqual(t, token, other.csrf())
	retry := func(csrf string, change func(h http.Header)) int {
		r := b.form("/do/retryAllProvisioningTasks", url.Values{"app": {"crm"}, "csrf": {csrf}})
		change(r.Header)
		status, _ := b.send(r)
		return status
	}
	for name, status := range map[string]int{
		"without a token":           retry("", func(http.Header) {}),
		"the token of another user": retry(other.csrf(), func(http.Header) {}),
		"a foreign origin":          retry(token, func(h http.Header) { h.Set("Origin", "https://evil.example"); h.Del("Sec-Fetch-Site") }),
		"the origin of another port": retry(token, func(h http.Header) {
			h.Set("Origin", "http://127.0.0.1:1")
			h.Del("Sec-Fetch-Site")
		}),
		"another site":   retry(token, func(h http.Header) { h.Set("Sec-Fetch-Site", "cross-site") }),
		"the same site":  retry(token, func(h http.Header) { h.Set("Sec-Fetch-Site", "same-site") }),
		"without either": retry(token, func(h http.Header) { h.Del("Origin"); h.Del("Sec-Fetch-Site") }),
	} {
		require.Equal(t, http.StatusForbidden, status, name)
	}
	require.Empty(t, w.fake.made())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/do/retryAllProvisioningTasks?app=crm&csrf="+token, nil)
	require.NoError(t, err)
	_, _ = b.send(r)
	require.Empty(t, w.fake.made(), "a GET runs nothing")
	require.Equal(t, http.StatusOK, retry(token, func(http.Header) {}))
	require.Len(t, w.fake.made(), 1)
}

// A caller without the permission sees pages without buttons, and an action that it posts runs nothing.
func TestViewer_CannotAct(t *testing.T) {
	w := newWorld(t, nil)
	b := w.login(viewer)
	csrf := b.csrf()
	for _, path := range []string{"/", "/apps/crm", "/apps/crm/tasks", "/apps/crm/user/u1", "/apps/crm/target"} {
		status, page := b.get(path)
		require.Equal(t, http.StatusOK, status)
		require.NotContains(t, page, `action="/do/retry`, path)
		require.NotContains(t, page, "/do/haltApp", path)
	}
	for _, action := range console.ActionIDs() {
		if action == "verifyPrincipal" || action == "rehearsePrincipal" { // these read
			continue
		}
		status, _ := b.post("/do/"+action, url.Values{
			"csrf": {csrf}, "app": {"crm"}, "task": {"u1"}, "plan": {"p1"}, "job": {"1"}, "kind": {"user"}, "principal": {"u1"}, "typed": {"7"},
			"expected": {"1"}, "type": {"USERS"},
		})
		require.Equal(t, http.StatusForbidden, status, action)
	}
	require.Empty(t, w.fake.made())
}

// From massFrom things on, an action requires their number.
func TestAction_TypedConfirmation(t *testing.T) {
	w := newWorld(t, nil)
	b := w.login(admin)
	csrf := b.csrf()
	_, page := b.get("/do/applyPlan?app=crm&plan=p1")
	require.Contains(t, page, "Type 7 to confirm")
	for _, typed := range []string{"", "6", "yes"} {
		status, page := b.post("/do/applyPlan", url.Values{"csrf": {csrf}, "app": {"crm"}, "plan": {"p1"}, "typed": {typed}})
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, page, "Type 7 to confirm")
	}
	require.Empty(t, w.fake.made())
	status, page := b.post("/do/applyPlan", url.Values{"csrf": {csrf}, "app": {"crm"}, "plan": {"p1"}, "typed": {"7"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "The plan is being applied.")
	require.Contains(t, page, "/engine/v1/apps/crm/plans/p1/apply", "the same with curl")
	require.Equal(t, []string{"admin POST /engine/v1/apps/crm/plans/p1/apply "}, w.fake.made())
}

// The values of a form become the body of the request, and ids with special characters remain one segment of the path.
func TestAction_Request(t *testing.T) {
	w := newWorld(t, nil)
	b := w.login(admin)
	csrf := b.csrf()
	_, _ = b.post("/do/haltApp", url.Values{"csrf": {csrf}, "app": {"a/../b"}, "operations": {"create", "delete"}, "reason": {"audit"}})
	_, _ = b.post("/do/retryProvisioningTask", url.Values{"csrf": {csrf}, "app": {"crm"}, "task": {"../../x"}})
	status, _ := b.post("/do/haltApp", url.Values{"csrf": {csrf}, "app": {".."}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, []string{
		`admin POST /engine/v1/apps/a/../b/halt {"operations":["create","delete"],"reason":"audit"}`,
		`admin POST /engine/v1/apps/crm/tasks/../../x/retry `,
	}, w.fake.made(), "the decoded paths")
}

// An error of the API is shown on the page of the action.
func TestAction_ShowsError(t *testing.T) {
	w := newWorld(t, nil)
	b := w.login(admin)
	status, page := b.post("/do/testApp", url.Values{"csrf": {b.csrf()}, "app": {"crm"}, "back": {"/apps/crm/target"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Test connection failed: The target failed")
}

// The result of an action that another server of the machine has put into a cookie is not shown.
func TestFlash_Signed(t *testing.T) {
	w := newWorld(t, nil)
	b := w.login(admin)
	at, err := url.Parse(w.server.URL)
	require.NoError(t, err)
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"t":"Run this command","c":"curl evil.example"}`))
	for _, value := range []string{forged, forged + ".", forged + "." + forged} {
		b.http.Jar.SetCookies(at, []*http.Cookie{{Name: "scimwright_done", Value: value, Path: "/"}})
		_, page := b.get("/")
		require.NotContains(t, page, "Run this command")
	}
	_, page := b.post("/do/retryAllProvisioningTasks", url.Values{"app": {"crm"}, "csrf": {b.csrf()}})
	require.Contains(t, page, "2 changes retried.")
}

// New requests arrive on a live page within half a second, filtered, and the page ends with the server.
func TestStream_NewRequests(t *testing.T) {
	w := newWorld(t, nil)
	w.fake.add("crm", 200)
	b := w.login(viewer)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/requests/stream?status=failed&after=1", nil)
	require.NoError(t, err)
	res, err := b.http.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	require.Equal(t, ":", <-lines)
	var took []time.Duration
	for i := range 5 {
		w.fake.add("crm", 201)
		w.fake.add("crm", 500)
		began := time.Now()
		var id string
		for line := range lines {
			if text, ok := strings.CutPrefix(line, "id: "); ok {
				id = text
			}
			if strings.HasPrefix(line, "data: ") {
				require.NotContains(t, line, "<script>")
				break
			}
		}
		took = append(took, time.Since(began))
		require.Equal(t, strconv.Itoa(2*i+3), id, "the successful one is filtered out")
	}
	slices.Sort(took)
	t.Logf("a request is on the page after %v", took)
	require.Less(t, took[len(took)/2], 500*time.Millisecond, "%v", took)
	close(w.done)
	for range lines { // until the server ends the stream
	}
	w.done = make(chan struct{})
}

// Every action is an operation of the control API.
func TestActions_AreOperations(t *testing.T) {
	w := newWorld(t, nil)
	require.NotEmpty(t, console.ActionIDs())
	for _, id := range console.ActionIDs() {
		require.NotEmpty(t, w.console.Permission(id), id)
	}
}

// assetSum is the part of a path that changes with each change of an asset.
var assetSum = regexp.MustCompile(`console\.[0-9a-f]{12}\.`)

func TestPages_Golden(t *testing.T) {
	w := newWorld(t, nil)
	for name, path := range map[string]string{
		"login": "/login", "activation-link": "/welcome/3DX0SCRVXut4Hhys2YQu", "reset-link": "/reset_password/3DX0SCRVXut4Hhys2YQu",
		"link-after-a-forgotten-password": "/signin/reset-password/3DX0SCRVXut4Hhys2YQu", "link-with-an-invalid-token": "/welcome/$(date)",
		"unknown-page": "/nowhere",
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:5000"
			rec := httptest.NewRecorder()
			w.console.ServeHTTP(rec, r)
			goldentest.Check(t, filepath.Join("testdata", name+".html"), assetSum.ReplaceAllString(rec.Body.String(), "console.SUM."))
		})
	}
}

// A token with all permissions creates a login link, which is valid once. No other caller does.
func TestLoginLink_RequiresAllPermissions(t *testing.T) {
	w := newWorld(t, nil)
	ask := func(authorization, host string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, console.LinkPath, nil)
		r.Host, r.RemoteAddr = host, "127.0.0.1:5000"
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		rec := httptest.NewRecorder()
		w.console.ServeHTTP(rec, r)
		return rec
	}
	const local = "127.0.0.1:8080"
	require.Equal(t, http.StatusUnauthorized, ask("", local).Code)
	require.Equal(t, http.StatusUnauthorized, ask("Bearer wrong", local).Code)
	require.Equal(t, http.StatusUnauthorized, ask("Basic "+admin, local).Code)
	require.Equal(t, http.StatusForbidden, ask("Bearer "+viewer, local).Code)
	require.Equal(t, http.StatusForbidden, ask("Bearer "+admin, "evil.example").Code)
	rec := ask("Bearer "+admin, local)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	var made console.NewLink
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &made))
	path, ok := strings.CutPrefix(made.ConsoleURL, "http://"+local)
	require.True(t, ok, made.ConsoleURL)
	for _, status := range []int{http.StatusSeeOther, http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host, r.RemoteAddr = local, "127.0.0.1:5000"
		rec := httptest.NewRecorder()
		w.console.ServeHTTP(rec, r)
		require.Equal(t, status, rec.Code)
	}
}
