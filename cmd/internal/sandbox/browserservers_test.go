package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// An operator switches a quirk on, tests the server with the suite, and opens the finding with its request and response; all by clicks.
func TestBrowser_SuiteFinding(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, o sandbox.Options) {
		o.ConsoleOpen = true
		w := newConsoleWorld(t, o)
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
	})
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
