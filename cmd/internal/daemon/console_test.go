package daemon_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console/browsertest"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/internal/alltest"
)

// window is a browser at the console of a daemon.
type window struct {
	t    *testing.T
	base string
	http *http.Client
}

func openWindow(t *testing.T, d *daemon.Daemon) *window {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &window{t, d.Ready().BaseURL, &http.Client{Jar: jar}}
}

func (w *window) send(method, path string, form url.Values) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, strings.NewReader(form.Encode()))
	require.NoError(w.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", w.base)
	}
	res, err := w.http.Do(r)
	require.NoError(w.t, err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, string(page)
}

func (w *window) get(path string) string {
	w.t.Helper()
	status, page := w.send(http.MethodGet, path, nil)
	require.Equal(w.t, http.StatusOK, status, page)
	return page
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (w *window) post(path string, form url.Values) (int, string) {
	w.t.Helper()
	if found := csrfField.FindStringSubmatch(w.get("/console/requests")); found != nil {
		form.Set("csrf", found[1])
	}
	return w.send(http.MethodPost, path, form)
}

const consoleApp = `{"version":1,"target":{"baseUrl":"http://127.0.0.1:1/scim"}}`

// A login with the printed link has a token of its own, which ends with the session; the audit log has the login and the actions.
func TestConsole_LoginLink(t *testing.T) {
	each(t, func(t *testing.T, db string) {
		d, _ := start(t, daemon.Options{DB: db})
		c := callerOf(t, d)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", consoleApp, &struct{}{})
		w := openWindow(t, d)
		require.Contains(t, w.get("/"), "API token", "the root leads to the login")
		require.Contains(t, w.get(strings.TrimPrefix(d.Ready().ConsoleURL, w.base)), "crm")
		require.Contains(t, w.get("/console/apps/crm/target"), "http://127.0.0.1:1/scim")
		require.Contains(t, w.get("/console/apps/crm/target"), "Settings and mapping")
		_, page := w.post("/console/do/haltApp", url.Values{
			"app": {"crm"}, "reason": {"audit"}, "operations": {"create"}, "back": {"/console/apps/crm"},
		})
		require.Contains(t, page, "create is halted for this app: audit")

		granted := func() (n int) {
			var tokens []struct{ ID string }
			c.do(http.StatusOK, http.MethodGet, "/tokens", "", &tokens)
			for _, token := range tokens {
				if strings.HasPrefix(token.ID, "console-") {
					n++
				}
			}
			return n
		}
		require.Equal(t, 1, granted())
		_, page = w.post("/console/logout", url.Values{})
		require.Contains(t, page, "API token")
		require.Zero(t, granted(), "the token ends with the session")

		var audit []struct{ Operation, Name string }
		c.do(http.StatusOK, http.MethodGet, "/audit?limit=1000", "", &audit)
		text, err := json.Marshal(audit)
		require.NoError(t, err)
		require.Contains(t, string(text), `{"Operation":"consoleLogin","Name":"console"}`)
		require.Contains(t, string(text), `{"Operation":"haltApp","Name":"console"}`)
	})
}

// In the console, a caller has the permissions of the token, for the apps of its tenant.
func TestConsole_TenantAndPermissions(t *testing.T) {
	d, _ := start(t, daemon.Options{})
	c := callerOf(t, d)
	acme, other := c.as("acme", "read", "apps", "write", "secrets"), c.as("other", "apps", "write", "read", "secrets")
	acme.do(http.StatusOK, http.MethodPut, "/apps/crm", consoleApp, &struct{}{})
	other.do(http.StatusOK, http.MethodPut, "/apps/foreign", consoleApp, &struct{}{})
	viewer := c.as("acme", "read")
	w := openWindow(t, d)
	status, page := w.send(http.MethodPost, "/console/login", url.Values{"token": {viewer.token}})
	require.Equal(t, http.StatusOK, status, page)
	require.Contains(t, page, "crm")
	require.Contains(t, page, "read only")
	require.NotContains(t, page, "foreign")
	status, _ = w.send(http.MethodGet, "/console/apps/foreign", nil)
	require.Equal(t, http.StatusNotFound, status)
	status, page = w.post("/console/do/haltApp", url.Values{"app": {"crm"}})
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, page, "requires the permission apps")
	require.NotContains(t, w.get("/console/requests"), "foreign")

	none := openWindow(t, d)
	status, _ = none.send(http.MethodPost, "/console/login", url.Values{"token": {"wrong"}})
	require.Equal(t, http.StatusForbidden, status)
}

func TestConsole_Disabled(t *testing.T) {
	d, _ := start(t, daemon.Options{NoConsole: true})
	require.Empty(t, d.Ready().ConsoleURL)
	status, _ := openWindow(t, d).send(http.MethodGet, "/console/", nil)
	require.Equal(t, http.StatusUnauthorized, status, "an unknown path of the API")
}

// The code of the login link has all permissions, and a service manager stores the output.
func TestConsole_LoginLinkOnTerminal(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		d, _ := start(t, daemon.Options{TokenElsewhere: terminal})
		var welcome strings.Builder
		d.PrintWelcome(&welcome)
		require.Contains(t, welcome.String(), "/console/")
		require.Equal(t, terminal, strings.Contains(welcome.String(), "code="), welcome.String())
		link := "scimwright console link --url " + d.Ready().EngineURL + " --api-token TOKEN"
		require.Equal(t, terminal, strings.Contains(welcome.String(), link), welcome.String())
	}
}

// The page that connects an app writes it to the desired state, keeps the members that the form does not have, and requires permissions.
func TestConsole_ConnectsApp(t *testing.T) {
	each(t, func(t *testing.T, db string) {
		d, _ := start(t, daemon.Options{DB: db})
		c, w := callerOf(t, d), openWindow(t, d)
		_, page := w.send(http.MethodGet, strings.TrimPrefix(d.Ready().ConsoleURL, d.Ready().BaseURL), nil)
		require.Contains(t, page, `href="/console/connect"`)
		served, base := newTarget(t)
		served.Token = "token-of-the-target"
		form := func(pairs ...string) url.Values {
			values := url.Values{"create": {"true"}, "update": {"true"}, "scheme": {"BEARER"}, "do": {"save"}}
			for i := 0; i+1 < len(pairs); i += 2 {
				values.Set(pairs[i], pairs[i+1])
			}
			return values
		}
		_, page = w.post("/console/connect", form("id", "crm", "baseUrl", base, "secret", "wrong-token", "do", "test"))
		require.Contains(t, page, "The connection does not work")
		require.NotContains(t, page, "wrong-token")
		_, page = w.post("/console/connect", form("id", "crm", "baseUrl", base, "secret", served.Token, "do", "test"))
		require.Contains(t, page, "The connection works")
		_, page = w.post("/console/connect", form("id", "crm", "baseUrl", base, "secret", served.Token))
		require.Contains(t, page, "The app is connected.")
		_, page = w.post("/console/connect", form("id", "crm", "baseUrl", base, "secret", served.Token))
		require.Contains(t, page, "An app with this id exists")
		_, page = w.post("/console/connect", form("id", "Not Valid/", "baseUrl", "ftp://x", "secret", served.Token))
		require.Contains(t, page, "Nothing was stored.")

		c.do(http.StatusOK, http.MethodPut, "/apps/wiki",
			`{"version":7,"target":{"baseUrl":"`+base+`","rate":3,"pushGroups":true,"auth":{"secret":"x"}},`+
				`"mapping":{"attributes":{"login":"string"},"rules":[{"target":"userName","expression":"user.login"}]}}`, &struct{}{})
		require.Contains(t, w.get("/console/connect?app=wiki"), "Change the connection")
		_, page = w.post("/console/connect", form("app", "wiki", "baseUrl", base+"/v2", "secret", served.Token))
		require.Contains(t, page, "The connection is changed.")
		var app struct {
			Version int64
			Target  struct {
				BaseURL                 string
				Rate                    float64
				CreateUsers, PushGroups bool
			}
			Mapping struct{ Rules []struct{ Target string } }
		}
		c.do(http.StatusOK, http.MethodGet, "/apps/wiki", "", &app)
		require.Equal(t, int64(8), app.Version)
		require.Equal(t, base+"/v2", app.Target.BaseURL)
		require.Equal(t, []any{float64(3), true, false}, []any{app.Target.Rate, app.Target.CreateUsers, app.Target.PushGroups})
		require.Equal(t, "userName", app.Mapping.Rules[0].Target)

		_, page = w.post("/console/do/deleteApp", url.Values{"app": {"wiki"}, "version": {"9"}})
		require.Contains(t, page, "Type wiki to confirm")
		_, page = w.post("/console/do/deleteApp", url.Values{"app": {"wiki"}, "version": {"9"}, "typed": {"wiki"}})
		require.Contains(t, page, "The app is deleted.")
		c.do(http.StatusNotFound, http.MethodGet, "/apps/wiki", "")
	})
}

// No page of the console has a problem that axe-core finds, without apps and with one. The sandbox has the same pages with more data.
func TestBrowser_Accessible(t *testing.T) {
	d, _ := start(t, daemon.Options{})
	b := browsertest.Start(t)
	b.Open(d.Ready().ConsoleURL)
	inspect := func(state string, pages ...string) {
		t.Helper()
		for _, page := range pages {
			b.Size(1440, 1000)
			b.Open(d.Ready().BaseURL + "/console/" + page)
			b.Accessible("daemon-"+state+strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(page), alltest.All())
		}
	}
	inspect("empty", "", "requests", "connect")
	c := callerOf(t, d)
	c.do(http.StatusOK, http.MethodPut, "/apps/wiki", `{"version":1,"target":{"baseUrl":"http://127.0.0.1:1/scim","createUsers":true},`+
		`"mapping":{"attributes":{"login":"string"},"rules":[{"target":"userName","expression":"user.login"}]}}`, &struct{}{})
	c.do(http.StatusOK, http.MethodPut, "/apps/wiki/users/u1",
		`{"version":1,"want":"active","profile":{"login":"ada@northwind.example"}}`, &struct{}{})
	b.Open(d.Ready().BaseURL + "/console/apps/wiki/people")
	b.Wait(`document.querySelectorAll("#rows tbody tr").length > 0`)
	inspect("app-", "", "apps/wiki", "apps/wiki/people", "apps/wiki/user/u1", "apps/wiki/requests", "apps/wiki/tasks", "apps/wiki/plans",
		"apps/wiki/imports", "apps/wiki/target", "apps/wiki/events", "requests", "connect?app=wiki", "do/deleteApp?app=wiki")
	require.Empty(t, b.Faults())
	require.Empty(t, b.Foreign(d.Ready().BaseURL))
}
