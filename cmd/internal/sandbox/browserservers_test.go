package sandbox_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// An operator switches a quirk on, tests the server with the suite, and opens the finding with its request and response; all by clicks.
func TestBrowser_SuiteFinding(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, sandbox.Options{ConsoleOpen: true})
	w.Open(w.link)
	w.ClickText("SCIM servers")
	w.ClickText("default")
	w.ClickText("Quirks")
	w.WaitText("returns 501 for PATCH")
	w.Click(`button[aria-label="Switch on no-patch"]`)
	w.WaitText("The quirk no-patch is on.")
	w.ClickText("Conformance")
	w.WaitText("There is no run yet.")
	w.Click(`button[aria-label="Run against default"]`)
	w.WaitText("The same with the command line")
	w.runEnds()
	w.WaitText("Download the JSON report") // without a reload by the operator
	w.WaitText("breaks")
	w.Screenshot("conformance")
	w.Eval(`document.querySelectorAll("details").forEach(d => { d.open = true })`)
	w.ClickText("okta.catalog-deactivate")
	w.WaitText("501 Not Implemented")
	w.WaitText("PATCH is not supported")
	w.Screenshot("finding")
	w.end()
}

// runEnds waits for the end of the active run. A run of 1,015 checks takes longer than the patience of a browser on a busy machine.
func (w *consoleWorld) runEnds() {
	w.t.Helper()
	b := &consoleBrowser{t: w.t, api: w.api}
	for end := time.Now().Add(4 * patience); time.Now().Before(end); {
		if !strings.Contains(b.get("/conformance"), " running</span>") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatal("the run has not ended")
}

// The progress of a run needs no script.
func TestBrowser_SuiteWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, sandbox.Options{ConsoleOpen: true})
	w.Scripts(false)
	w.Open(w.api.BaseURL + "/conformance")
	w.Click(`button[aria-label="Run against default"]`)
	w.WaitText("The same with the command line")
	w.ClickText("Reload")
	w.WaitText("The same with the command line")
	w.runEnds()
	w.Open(w.api.BaseURL + "/conformance")
	w.Click(`main table a[href^="/conformance/runs/"]`)
	w.WaitText("Download the JSON report")
	w.end()
}

// The pages of SCIM servers, outbox, hooks and suite have no problem that axe-core finds, in light and dark colors, and none is wider than
// the window.
func TestBrowser_ServersAccessible(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, sandbox.Options{ConsoleOpen: true})
	b := &consoleBrowser{t: t, api: w.api}
	b.form("/servers/default/quirks", url.Values{"quirk": {"no-patch"}, "on": {"true"}})
	run := suiteRun(t, b, url.Values{"server": {"default"}, "profile": {"rfc", "okta", "entra"}})
	other := suiteRun(t, b, url.Values{"server": {"chat"}, "profile": {"okta"}})
	b.form("/servers/default/quirks", url.Values{"quirk": {"no-patch"}})
	do(t, w.api, http.MethodPost, "/api/v1/users?activate=true", `{"profile":{"login":"ada@northwind.example",`+
		`"email":"ada@northwind.example","firstName":"Ada","lastName":"L"}}`, nil)
	var made struct{ Token string }
	do(t, w.api, http.MethodPost, "/sandbox/v1/scim/chat/tokens", `{}`, &made)
	user, err := createSCIM(t.Context(), w.api.BaseURL+"/t/chat/scim/v2/Users", made.Token,
		`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ada@northwind.example"}`)
	require.NoError(t, err)
	page := b.from("/hooks", "createInlineHook", url.Values{
		"name": {"passwords"}, "type": {"com.svc.user.credential.password.import"}, "channel.config.uri": {"https://127.0.0.1:1/hook"},
		"channel.config.authScheme.key": {"Authorization"}, "channel.config.authScheme.value": {"secret"},
	})
	hook := regexp.MustCompile(`/hooks/[0-9A-Za-z]+`).FindString(page)
	b.form(hook+"/execute", url.Values{"envelope": {`{}`}})
	w.eachAccessible(map[string]string{
		"conformance": "/conformance", "conformance-run": "/conformance/runs/" + run,
		"conformance-check":   "/conformance/runs/" + run + "/checks/okta.catalog-deactivate",
		"conformance-compare": "/conformance/compare?before=" + run + "&after=" + other,
		"servers":             "/servers", "server": "/servers/default", "quirks": "/servers/default/quirks",
		"resources": "/servers/chat/resources/Users", "resource": "/servers/chat/resources/Users/" + user,
		"server-new": "/do/createProvider", "server-reset": "/do/resetProvider?provider=default",
		"outbox": "/outbox", "hooks": "/hooks", "hook": hook, "hook-new": "/do/createInlineHook",
		"mapping": "/apps/" + w.app + "/mapping",
	})
	w.end()
}

// eachAccessible checks pages in light and dark colors and three widths.
func (w *consoleWorld) eachAccessible(pages map[string]string) {
	w.t.Helper()
	for name, path := range pages {
		for _, colors := range []string{"light", "dark"} {
			w.Colors(colors)
			for width, label := range map[int]string{1440: "1440", 1024: "1024", 390: "390"} {
				w.Size(width, 1000)
				w.Open(w.api.BaseURL + path)
				if w.Eval(`document.documentElement.scrollWidth <= innerWidth`) != true {
					w.t.Errorf("%s is wider than %d", name, width)
				}
				w.Screenshot(name + "-" + colors + "-" + label)
				if width == 1024 {
					continue
				}
				violations, _ := w.Axe()
				for _, v := range violations {
					w.t.Errorf("%s in %s colors at %d: %s", name, colors, width, v)
				}
			}
		}
	}
}
