package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/alltest"
)

// noPages are the paths of the console that serve no page.
var noPages = []string{"/requests/stream", "/conformance/runs/{run}/report.json"}

const formsPath = "/do/{action}"

// visits are the pages that all inspections have opened: their paths in the form of http.ServeMux, and the paths of forms.
type visits struct {
	mu   sync.Mutex
	seen map[string]bool
	done int // inspections
}

// first records a visit, and reports whether it is the first one.
func (v *visits) first(page string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.seen[page]
	v.seen[page] = true
	return !known
}

// inspection opens pages of a console, and checks each with axe-core, see [browsertest.Browser.Accessible].
type inspection struct {
	*consoleWorld
	*visits

	routes *http.ServeMux // without handlers
	forms  []string       // the addresses of forms to which the inspected pages link
}

// No page of the console has a problem that axe-core finds, and no page is wider than the window: all pages with data, lists without data,
// pages after a form was sent, and the form of each action.
func TestBrowser_Accessible(t *testing.T) {
	t.Parallel()
	all, pages := &visits{seen: map[string]bool{}}, []string{}
	inspections := map[string]func(i *inspection){
		"engine": inspectEngine, "management": inspectManagement, "servers": inspectServers, "results": inspectResults, "empty": inspectEmpty,
	}
	t.Run("pages", func(t *testing.T) {
		for name, inspect := range inspections {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				i := &inspection{consoleWorld: newConsoleWorld(t, sandbox.Options{ConsoleOpen: true}), visits: all, routes: http.NewServeMux()}
				for _, pattern := range i.pages {
					i.routes.Handle(pattern, http.NotFoundHandler())
				}
				inspect(i)
				for _, address := range i.forms {
					if path, _, _ := strings.Cut(address, "?"); all.first(path) {
						i.open(strings.ReplaceAll(path[1:], "/", "-"), address)
					}
				}
				i.end()
				all.mu.Lock()
				defer all.mu.Unlock()
				all.done, pages = all.done+1, i.pages
			})
		}
	})
	if all.done < len(inspections) {
		return // some are not selected, or have failed
	}
	for _, page := range noPages {
		all.seen[page] = true
	}
	for _, page := range pages {
		require.True(t, all.seen[page], "no inspection opens %s", page)
	}
}

// open opens and checks a page. The page of an address without a scheme is one of the console.
func (i *inspection) open(name, address string) {
	i.t.Helper()
	i.Size(1440, 1000)
	i.Open(i.api.BaseURL + address)
	path, _, _ := strings.Cut(address, "?")
	_, page := i.routes.Handler(httptest.NewRequest(http.MethodGet, path, nil))
	if i.first(page); page == formsPath {
		i.first(path)
	}
	i.check(name)
}

// all opens and checks pages by their names.
func (i *inspection) all(pages map[string]string) {
	i.t.Helper()
	for name, address := range pages {
		i.open(name, address)
	}
}

// check checks the page that the browser shows.
func (i *inspection) check(name string) {
	i.t.Helper()
	links, _ := i.Eval(`[...document.querySelectorAll('a[href^="/do/"]')].map(a => a.getAttribute("href"))`).([]any)
	for _, link := range links {
		i.forms = append(i.forms, fmt.Sprint(link))
	}
	i.Accessible(name, alltest.All())
}

// inspectEngine opens the pages of the engine.
func inspectEngine(i *inspection) {
	t, w := i.t, i.consoleWorld
	ids := w.assign("ada@northwind.example")
	do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	w.broken.Store(true)
	w.assign("ben@northwind.example")
	do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	var plan struct{ ID string }
	do(t, w.api, http.MethodPost, "/sandbox/v1/apps/"+w.app+"/plans", `{"all":true}`, &plan)
	var job struct{ JobID string }
	do(t, w.api, http.MethodPost, "/sandbox/v1/apps/"+w.app+"/import", `{"type":"USERS"}`, &job)
	do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	do(t, w.api, http.MethodPost, "/sandbox/v1/apps/"+w.app+"/halt", `{"operations":["delete"],"reason":"audit"}`, nil)
	at := "/apps/" + w.app
	w.Open(w.api.BaseURL + "/requests")
	request, _ := w.Eval(`document.querySelector("#live td.path a").getAttribute("href")`).(string)
	require.True(t, strings.HasPrefix(request, "/requests/"), request)
	i.all(map[string]string{
		"overview": "/", "app": at, "people": at + "/people", "person": at + "/user/" + ids[0], "app-requests": at + "/requests",
		"tasks": at + "/tasks", "plans": at + "/plans", "plan": at + "/plans/" + plan.ID, "imports": at + "/imports",
		"import": at + "/imports/" + job.JobID, "connection": at + "/target", "events": at + "/events", "requests": "/requests",
		"request": request, "halt": "/do/haltApp?app=" + w.app, "drift": "/do/driftReport?app=" + w.app, "login": "/login",
		"missing": "/nowhere", "connect": "/connect", "connect-server": "/connect?server=chat", "connect-change": "/connect?app=" + w.app,
		"app-deactivate": "/do/deactivateApplication?app=" + w.app, "app-feature": "/do/updateFeature?app=" + w.app,
		"welcome": "/welcome/token", "reset-password": "/reset_password/token", "recovery": "/signin/reset-password/token",
	})
}

// inspectManagement opens the pages of users, groups, assignments, the system log, tokens, the clock and the settings.
func inspectManagement(i *inspection) {
	t, w := i.t, i.consoleWorld
	id := w.assign("ada@northwind.example")[0]
	do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	var group struct{ ID string }
	do(t, w.api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"Crew","description":"Flies"}}`, &group)
	do(t, w.api, http.MethodPut, "/api/v1/groups/"+group.ID+"/users/"+id, "", nil)
	do(t, w.api, http.MethodPut, "/api/v1/apps/"+w.app+"/groups/"+group.ID, "{}", nil)
	do(t, w.api, http.MethodPost, "/oauth2/v1/clients", `{"client_name":"Export","grant_types":["client_credentials"],`+
		`"response_types":["token"],"application_type":"service"}`, nil)
	do(t, w.api, http.MethodPost, "/api/v1/users/"+id+"/factors", `{"factorType":"question","provider":"SVC","profile":`+
		`{"question":"disliked_food","answer":"mushrooms"}}`, nil)
	w.Open(w.api.BaseURL + "/log")
	event, _ := w.Eval(`document.querySelector("td.name a[href^='/log/']").getAttribute("href")`).(string)
	require.True(t, strings.HasPrefix(event, "/log/"), event)
	u, g, a := "/users/"+id, "/groups/"+group.ID, "/apps/"+w.app+"/assignments"
	i.all(map[string]string{
		"users": "/users", "user": u, "user-apps": u + "/apps", "user-groups": u + "/groups", "groups": "/groups", "group": g,
		"group-users": g + "/users", "group-apps": g + "/apps", "assignments": a, "assign-users": a + "/users", "assign-groups": a + "/groups",
		"log": "/log", "log-rejected": "/log?filter=x", "event": event, "tokens": "/tokens", "clock": "/clock", "settings": "/settings",
	})
}

// inspectServers opens the pages of the SCIM servers, the suite, the outbox and the hooks, and the mapping of an app.
func inspectServers(i *inspection) {
	t, w := i.t, i.consoleWorld
	b := &consoleBrowser{t: t, api: w.api}
	b.form("/servers/default/quirks", url.Values{"quirk": {"no-patch"}, "on": {"true"}})
	run := suiteRun(t, b, url.Values{"server": {"default"}, "profile": {"rfc", "okta", "entra"}})
	other := suiteRun(t, b, url.Values{"server": {"chat"}, "profile": {"okta"}})
	do(t, w.api, http.MethodPost, "/api/v1/users?activate=true", `{"profile":{"login":"ada@northwind.example",`+
		`"email":"ada@northwind.example","firstName":"Ada","lastName":"L"}}`, nil)
	var made struct{ Token string }
	do(t, w.api, http.MethodPost, "/sandbox/v1/scim/chat/tokens", `{}`, &made)
	user, err := createSCIM(t.Context(), w.api.BaseURL+"/t/chat/scim/v2/Users", made.Token,
		`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ada@northwind.example"}`)
	require.NoError(t, err)
	i.all(map[string]string{
		"conformance": "/conformance", "conformance-run": "/conformance/runs/" + run,
		"conformance-check":   "/conformance/runs/" + run + "/checks/okta.catalog-deactivate",
		"conformance-compare": "/conformance/compare?before=" + run + "&after=" + other,
		"servers":             "/servers", "server": "/servers/default", "server-tokens": "/servers/chat", "quirks": "/servers/default/quirks",
		"resources": "/servers/chat/resources/Users", "resource": "/servers/chat/resources/Users/" + user,
		"outbox": "/outbox", "hooks": "/hooks", "hook": newHook(b), "mapping": "/apps/" + w.app + "/mapping",
	})
}

// newHook creates a hook whose endpoint does not respond, tests it, and returns the path of its page.
func newHook(b *consoleBrowser) string {
	b.t.Helper()
	page := b.from("/hooks", "createInlineHook", url.Values{
		"name": {"passwords"}, "type": {"com.svc.user.credential.password.import"}, "channel.config.uri": {"https://127.0.0.1:1/hook"},
		"channel.config.authScheme.key": {"Authorization"}, "channel.config.authScheme.value": {"secret"},
	})
	hook := regexp.MustCompile(`/hooks/[0-9A-Za-z]+`).FindString(page)
	require.NotEmpty(b.t, hook, page)
	b.form(hook+"/execute", url.Values{"envelope": {`{}`}})
	return hook
}

// inspectResults checks pages that follow a form.
func inspectResults(i *inspection) {
	t, w := i.t, i.consoleWorld
	blocked := make(chan struct{})
	slow := newTarget(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-blocked:
		case <-r.Context().Done():
		}
	}))
	id := w.assign("ada@northwind.example")[0]
	fill := func(fields ...string) {
		t.Helper()
		for n := 0; n+1 < len(fields); n += 2 {
			w.Click("#" + strings.ReplaceAll(fields[n], ".", `\.`))
			w.Type(fields[n+1])
		}
	}
	at := func(path, shows string) {
		t.Helper()
		i.Size(1440, 1000)
		w.Open(w.api.BaseURL + path)
		w.WaitText(shows)
	}
	at("/do/createAPIToken", "Owner")
	fill("f-name", "build")
	w.Click("main form.stack button")
	w.WaitText("it cannot be read again")
	i.check("result-token")

	at("/do/createUser", "First name")
	fill("f-profile.login", "ada@northwind.example", "f-profile.email", "ada@northwind.example")
	fill("f-profile.firstName", "Ada", "f-profile.lastName", "L")
	w.ClickText("Create")
	w.WaitText("Correct the input")
	i.check("result-rejected")

	at("/connect", "Another SCIM server")
	fill("f-label", "Mail", "f-baseUrl", "http://127.0.0.1:1/scim", "secret", "none")
	w.ClickText("Test the connection")
	w.Wait(`!!document.querySelector("p.error[role=alert]")`)
	i.check("result-connect")

	at("/apps/"+w.app+"/mapping?user="+id, "Draft of the rule")
	w.Eval(`document.querySelector("#r-familyName").value = "user.firstName"`)
	w.ClickText("Preview")
	w.WaitText("would change")
	i.check("result-mapping")

	hook := newHook(&consoleBrowser{t: t, api: w.api})
	at(hook, "Envelope")
	w.ClickText("Send")
	w.WaitText("The call has failed")
	i.check("result-hook")

	at("/login?code=none", "was used before or has expired")
	i.check("result-login")

	at("/conformance", "Another server")
	fill("f-url", slow.URL, "f-token", "none")
	w.Click("input[name=consent]")
	w.ClickText("Run")
	w.WaitText("The same with the command line")
	i.check("result-running")
	close(blocked)
	w.ClickText("Cancel")
	w.runEnds()
}

// inspectEmpty opens the pages of an organization without data: lists, and an app, a user, a group and a server without anything in them.
func inspectEmpty(i *inspection) {
	t, w := i.t, i.consoleWorld
	do(t, w.api, http.MethodPost, "/api/v1/apps/"+w.app+"/lifecycle/deactivate", "", nil)
	do(t, w.api, http.MethodDelete, "/api/v1/apps/"+w.app, "", nil)
	for _, page := range i.pages {
		if page == "/{$}" || !strings.Contains(page, "{") && !slices.Contains(noPages, page) {
			i.open("empty"+strings.ReplaceAll(page, "/", "-"), strings.TrimSuffix(page, "{$}"))
		}
	}
	var app, user, group struct{ ID string }
	do(t, w.api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"CRM","settings":{"app":{}}}`, &app)
	do(t, w.api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"Crew"}}`, &group)
	a := "/apps/" + app.ID
	i.all(map[string]string{"empty-mapping": a + "/mapping", "empty-assign-users": a + "/assignments/users"})
	do(t, w.api, http.MethodPost, "/api/v1/users", `{"profile":{"login":"ada@northwind.example","email":"ada@northwind.example",`+
		`"firstName":"Ada","lastName":"L"}}`, &user)
	u, g := "/users/"+user.ID, "/groups/"+group.ID
	i.all(map[string]string{
		"empty-app": a, "empty-people": a + "/people", "empty-tasks": a + "/tasks", "empty-plans": a + "/plans", "empty-imports": a + "/imports",
		"empty-connection": a + "/target", "empty-events": a + "/events", "empty-app-requests": a + "/requests",
		"empty-assignments": a + "/assignments", "empty-assign-groups": a + "/assignments/groups",
		"empty-user": u, "empty-user-apps": u + "/apps", "empty-user-groups": u + "/groups",
		"empty-group": g, "empty-group-users": g + "/users", "empty-group-apps": g + "/apps",
		"empty-server": "/servers/chat", "empty-resources": "/servers/chat/resources/Users", "empty-search": "/users?q=none",
	})
}
