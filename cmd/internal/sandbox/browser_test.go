package sandbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console/browsertest"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// consoleWorld is a sandbox with a connected app, whose target rejects changes while broken is set.
type consoleWorld struct {
	*browsertest.Browser

	t      *testing.T
	api    *sandbox.APIClient
	app    string
	link   string   // of the login
	pages  []string // the paths of the pages of the console, in the form of http.ServeMux
	broken atomic.Bool
}

func newConsoleWorld(t *testing.T, o sandbox.Options) *consoleWorld {
	t.Helper()
	w := &consoleWorld{t: t, Browser: browsertest.Start(t)}
	inner := scimHandler(t)
	server := newTarget(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.broken.Load() && r.Method != http.MethodGet {
			rw.Header().Set("Content-Type", "application/scim+json")
			rw.WriteHeader(http.StatusBadRequest)
			_, _ = rw.Write([]byte(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"the license is used up"}`))
			return
		}
		inner.ServeHTTP(rw, r)
	}))
	o.Empty = true
	var s *sandbox.Sandbox
	s, w.api = startOne(t, o)
	w.link, w.pages = s.Ready().ConsoleURL, s.ConsolePages()
	w.app = connectedApp(t, w.api, `{"name":"scim2_test_app","label":"CRM","settings":{"app":{}}}`, server.URL, scimToken)
	return w
}

// assign assigns new users to the app, and returns their ids.
func (w *consoleWorld) assign(logins ...string) (ids []string) {
	w.t.Helper()
	for _, login := range logins {
		id := newUser(w.t, w.api, login)
		do(w.t, w.api, http.MethodPost, "/api/v1/apps/"+w.app+"/users", `{"id":"`+id+`"}`, nil)
		ids = append(ids, id)
	}
	return ids
}

// end requires that the pages have loaded nothing from other hosts, and that no script failed and no policy was violated.
func (w *consoleWorld) end() {
	w.t.Helper()
	require.Empty(w.t, w.Foreign(w.api.BaseURL))
	require.Empty(w.t, w.Faults())
}

// A newcomer logs in with the printed link, sees the requests for a user as they are sent, sees a failure of the target where it matters,
// and retries after its end; all by clicks.
func TestBrowser_Newcomer(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, o sandbox.Options) {
		w := newConsoleWorld(t, o)
		w.Open(w.link)
		w.WaitText("No app needs attention.")
		w.ClickText("Requests")
		w.Wait(`document.querySelector("#live-state")?.textContent === "live"`)
		w.assign("ada@northwind.example")
		w.Wait(`[...document.querySelectorAll("#live tr.new")].map(e => e.innerText).some(s => s.includes("POST") && s.includes("ada@"))`)
		w.ClickText("Pause")
		w.assign("ben@northwind.example")
		w.Wait(`/paused, [1-9]/.test(document.querySelector("#live-state").textContent)`)
		require.Equal(t, false, w.Eval(`document.querySelector("#live").innerText.includes("ben@northwind.example")`))
		w.ClickText("Follow")
		w.WaitText("ben@northwind.example")
		w.Click(`#live td.path a`)
		w.WaitText("Repeat with curl")
		w.Picture("request", browsertest.PictureWidth)

		w.broken.Store(true)
		w.ClickText("Apps")
		w.WaitText("No app needs attention.")
		w.assign("cleo@northwind.example")
		w.WaitText("1 change rejected by the target.") // without a reload
		w.ClickText("Show")
		w.WaitText("the license is used up")
		w.broken.Store(false)
		w.ClickText("Retry")
		w.WaitText("The change is retried.")
		w.WaitText("No change failed, and none is on hold.")
		w.ClickText("Users and groups")
		w.ClickText("cleo@northwind.example")
		w.WaitText("in sync")
		w.ClickText("Read back")
		w.WaitText("The target has the desired state.")
		w.ClickText("Log out")
		w.WaitText("API token")
		w.end()
	})
}

// A target of the seed organization that rejects all changes needs attention; the requests of all apps are on one page.
func TestBrowser_SeedOrganization(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	_, api := startOne(t, sandbox.Options{ConsoleOpen: true, NoRateLimits: true})
	var apps []struct{ ID, Label string }
	do(t, api, http.MethodGet, "/api/v1/apps?q=Northwind", "", &apps)
	require.Len(t, apps, 2)
	page := &consoleBrowser{t: t, api: api}
	page.form("/servers/chat/quirks", url.Values{"quirk": {"forbidden"}, "on": {"true"}})
	b.Open(api.BaseURL + "/requests")
	b.Wait(`document.querySelector("#live-state")?.textContent === "live"`)
	for _, app := range apps {
		for _, login := range []string{"robin", "sasha"} {
			var user struct{ ID string }
			do(t, api, http.MethodPost, "/api/v1/users", fmt.Sprintf(`{"profile":{"login":"%[1]s.%[2]s@northwind.example",`+
				`"email":"%[1]s.%[2]s@northwind.example","firstName":"R","lastName":"L"}}`, login, strings.ToLower(app.Label[10:])), &user)
			do(t, api, http.MethodPost, "/api/v1/apps/"+app.ID+"/users", `{"id":"`+user.ID+`"}`, nil)
		}
	}
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	b.Wait(`["201", "403"].every(s => [...document.querySelectorAll("#live tr.new")].some(e => e.innerText.includes(s)))`)
	b.Size(1440, 640) // a picture of at most 200 KB
	b.Picture("requests", browsertest.PictureWidth)
	b.Size(1440, 1000)
	b.Open(api.BaseURL + "/")
	b.WaitText("The target rejects the credentials.")
	b.Picture("overview", 1100) // the table of apps with all columns
	require.Empty(t, b.Faults())
}

// The deletion guard blocks a mass removal; an operator sees whom it concerns, types the number, and approves.
func TestBrowser_ApprovesRemovals(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, o sandbox.Options) {
		o.Guard, o.ConsoleOpen = 1, true
		w := newConsoleWorld(t, o)
		var logins []string
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			logins = append(logins, name+"@leaving.example")
		}
		ids := w.assign(logins...)
		w.Open(w.link)
		w.Wait(`document.querySelector("tbody td.number")?.innerText === "6"`)
		do(t, w.api, http.MethodPost, "/sandbox/v1/apps/"+w.app+"/halt", `{"operations":["deactivate"]}`, nil)
		for _, id := range ids {
			do(t, w.api, http.MethodDelete, "/api/v1/apps/"+w.app+"/users/"+id, "", nil)
		}
		do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
		do(t, w.api, http.MethodPost, "/sandbox/v1/apps/"+w.app+"/resume", "", nil)
		w.Open(w.api.BaseURL + "/apps/" + w.app + "/tasks")
		w.WaitText("The deletion guard blocks")
		w.ClickText("Review removals")
		w.WaitText("@leaving.example")
		number, ok := w.Eval(`document.querySelector("label[for=typed]")?.innerText.match(/Type (\d+)/)[1]`).(string)
		require.True(t, ok, "a mass removal requires its number")
		w.Click("#typed")
		w.Type(number)
		w.Picture("approve", browsertest.PictureWidth)
		w.Eval(`document.querySelector("#typed").value = ""`)
		w.Type("1")
		w.Click("form button.primary")
		w.WaitText("to confirm this number")
		w.Click("#typed")
		w.Type(number)
		w.Click("form button.primary")
		w.WaitText("Removals approved: " + number)
		w.WaitText("No change failed, and none is on hold.")
		w.end()
	})
}

// All steps of an operator work with the keyboard, and the focus is visible.
func TestBrowser_Keyboard(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, sandbox.Options{ConsoleOpen: true})
	w.broken.Store(true)
	w.assign("ada@northwind.example")
	w.Open(w.link)
	w.WaitText("rejected by the target")
	w.Key("?")
	w.Wait(`document.querySelector("#keys").open`)
	w.Key("Escape")
	w.Wait(`!document.querySelector("#keys").open`)
	w.Key("/")
	w.Wait(`document.activeElement.id === "q"`)
	w.Type("crm")
	w.Key("Enter")
	w.Wait(`location.search.includes("q=crm")`)
	w.Wait(`document.readyState === "complete"`)
	w.Key("g")
	w.Key("r")
	w.Wait(`location.pathname === "/requests" && document.readyState === "complete"`)
	w.Key("g")
	w.Key("a")
	w.Wait(`location.pathname === "/" && document.readyState === "complete"`)
	w.Key("Tab")
	w.Wait(`document.activeElement.className === "skip" && getComputedStyle(document.activeElement).outlineStyle !== "none"`)
	w.broken.Store(false)
	for range 60 { // until the button has the focus
		if w.Eval(`document.activeElement.innerText.trim()`) == "Retry all" {
			break
		}
		w.Key("Tab")
	}
	require.Equal(t, "Retry all", w.Eval(`document.activeElement.innerText.trim()`))
	w.Key("Enter")
	w.WaitText("1 change retried.")
	w.WaitText("No app needs attention.")
	w.end()
}

// Without scripts, pages show their data and actions run.
func TestBrowser_WithoutScripts(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, sandbox.Options{ConsoleOpen: true})
	w.broken.Store(true)
	w.assign("ada@northwind.example")
	do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	w.Scripts(false)
	w.Open(w.link)
	w.WaitText("1 change rejected by the target.")
	require.Equal(t, true, w.Eval(`document.querySelector("main").innerText.includes("Retry all")`))
	w.broken.Store(false)
	w.ClickText("Retry all")
	w.WaitText("1 change retried.")
	do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	w.Open(w.api.BaseURL + "/apps/" + w.app + "/people")
	w.WaitText("in sync")
	w.Open(w.api.BaseURL + "/requests")
	require.Equal(t, true, w.Eval(`document.querySelector("#follow").hidden`), "a button that needs scripts")
	w.end()
}
