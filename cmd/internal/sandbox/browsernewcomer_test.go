package sandbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console/browsertest"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// newcomer is a browser at an empty sandbox, whose steps are clicks and keys only.
type newcomer struct {
	*consoleWorld

	second *browsertest.Browser // another window with the same console
}

func newNewcomer(t *testing.T, o sandbox.Options) *newcomer {
	t.Helper()
	w := &consoleWorld{t: t, Browser: browsertest.Start(t)}
	o.Empty, o.NoRateLimits = true, true
	s, api := startOne(t, o)
	w.api, w.link = api, s.Ready().ConsoleURL
	return &newcomer{consoleWorld: w}
}

// fill types values into the fields of a form, which are given by their names.
func (n *newcomer) fill(fields ...string) {
	n.t.Helper()
	for i := 0; i+1 < len(fields); i += 2 {
		n.Click("#f-" + strings.ReplaceAll(fields[i], ".", `\.`))
		n.Type(fields[i+1])
	}
}

// connect connects an app to the SCIM server chat of the sandbox.
func (n *newcomer) connect() {
	n.t.Helper()
	n.WaitText("There is no app yet.")
	n.ClickText("Connect an app")
	n.WaitText("A SCIM server of this sandbox")
	n.Click(`a[aria-label="Use chat"]`)
	n.WaitText("a new token of this server")
	n.fill("label", "CRM")
	n.ClickText("Test the connection")
	n.WaitText("The connection works")
	n.Picture("connect", browsertest.PictureWidth)
	n.ClickText("Connect")
	n.WaitText("The app is connected.")
}

// user creates a user and assigns the app to the user.
func (n *newcomer) user(login string) {
	n.t.Helper()
	n.ClickText("Users")
	n.ClickText("New user")
	n.WaitText("First name")
	n.fill("profile.login", login, "profile.email", login, "profile.firstName", "Ada", "profile.lastName", "Berg")
	n.ClickText("Create")
	n.WaitText("The user " + login + " is created.")
	n.ClickText("Assign an app")
	n.WaitText("The engine creates an account for the user in each assigned app.")
	n.ClickText("Assign")
	n.WaitText("The app is assigned.")
}

// quirk switches a quirk of the SCIM server chat on or off.
func (n *newcomer) quirk(name, state string) {
	n.t.Helper()
	n.ClickText("SCIM servers")
	n.ClickText("chat")
	n.ClickText("Quirks")
	n.Click(`button[aria-label="Switch ` + state + ` ` + name + `"]`)
	n.WaitText("The quirk " + name + " is " + state + ".")
}

// The whole way of a newcomer by clicks: log in, connect an app, assign a user, see the requests live, break the target with a quirk, see
// the failure in the overview, switch the quirk off, retry, see the user in sync.
func TestBrowser_NewcomerConnects(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, o sandbox.Options) {
		n := newNewcomer(t, o)
		n.Open(n.link)
		n.connect()

		n.second = browsertest.Start(t)
		n.second.Open(n.api.BaseURL + "/requests")
		n.second.WaitText("API token")
		n.second.Click("#token")
		n.second.Type(n.api.Token)
		n.second.ClickText("Log in")
		n.second.Wait(`document.querySelector("#live-state")?.textContent === "live"`)
		n.user("ada@northwind.example")
		n.second.Wait(`[...document.querySelectorAll("#live tr.new")].map(e => e.innerText).some(s => s.includes("POST") && s.includes("ada@"))`)

		n.quirk("forbidden", "on")
		n.user("ben@northwind.example")
		n.ClickText("Apps")
		n.WaitText("The target rejects the credentials.")
		n.ClickText("Show")
		n.WaitText("403: the token does not allow changes")
		n.ClickText("Tasks")
		n.WaitText("ben@northwind.example")
		n.quirk("forbidden", "off")
		n.ClickText("Apps")
		n.ClickText("Retry all")
		n.WaitText("1 change retried.")
		n.WaitText("No app needs attention.")
		n.ClickText("CRM")
		n.ClickText("Users and groups")
		n.ClickText("ben@northwind.example")
		n.WaitText("in sync")
		n.ClickText("CRM")
		n.ClickText("Connection")
		n.ClickText("Probe")
		n.Click("form button.primary")
		n.WaitText("Feature")
		require.Empty(t, n.second.Faults())
		n.end()
	})
}

// Without scripts, an app is connected and a user is provisioned.
func TestBrowser_NewcomerWithoutScripts(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t, sandbox.Options{})
	n.Scripts(false)
	n.Open(n.link)
	n.connect()
	n.user("ada@northwind.example")
	n.ClickText("Requests")
	n.WaitText("Search in path")
	// Without scripts, the page does not change when a request is sent: load it again until it has the request.
	n.Wait(`document.readyState === "complete" &&
		(document.body.innerText.includes("ada@northwind.example") || (location.reload(), false))`)
	n.WaitText("ada@northwind.example")
	n.ClickText("Apps")
	n.WaitText("No app needs attention.")
	n.ClickText("Connect an app")
	n.WaitText("Only for user and password.")
	n.end()
}

// With the keyboard alone, an app is connected.
func TestBrowser_NewcomerKeyboard(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t, sandbox.Options{})
	to := func(text string) {
		t.Helper()
		n.Wait(`document.readyState === "complete"`)
		for range 60 {
			name := n.Eval(`(e => e.getAttribute("aria-label") || e.innerText.trim() || e.name)(document.activeElement)`)
			if name == text {
				require.NotEqual(t, "none", n.Eval(`getComputedStyle(document.activeElement).outlineStyle`), "the focus is visible")
				return
			}
			n.Key("Tab")
		}
		t.Fatal("no element with the focus: " + text)
	}
	n.Open(n.link)
	n.WaitText("There is no app yet.")
	to("Connect an app")
	n.Key("Enter")
	n.WaitText("A SCIM server of this sandbox")
	to("Use chat")
	n.Key("Enter")
	n.WaitText("a new token of this server")
	to("label")
	n.Type("CRM")
	to("Connect")
	n.Key("Enter")
	n.WaitText("The app is connected.")
	n.Key("g")
	n.Key("a")
	n.Wait(`location.pathname === "/" && document.readyState === "complete"`)
	n.WaitText("CRM")
	n.end()
}
