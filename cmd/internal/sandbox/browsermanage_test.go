package sandbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/scimwright/scimwright/cmd/internal/console/browsertest"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// A newcomer creates a user and a group, assigns the app to both, and sees the user in sync; all by clicks and keys.
func TestBrowser_ManagesUsers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, o sandbox.Options) {
		w := newConsoleWorld(t, o)
		w.Open(w.link)
		w.WaitText("No app needs attention.")
		w.Key("g")
		w.Key("u")
		w.Wait(`location.pathname === "/users" && document.readyState === "complete"`)
		w.ClickText("New user")
		fill := func(fields ...string) {
			t.Helper()
			for i := 0; i+1 < len(fields); i += 2 {
				w.Click("#f-" + strings.ReplaceAll(fields[i], ".", `\.`))
				w.Type(fields[i+1])
			}
		}
		w.WaitText("First name")
		fill("profile.login", "ada@northwind.example", "profile.email", "ada@northwind.example", "profile.firstName", "Ada")
		fill("profile.lastName", "Berg", "credentials.password.value", "Correct-horse-7")
		w.ClickText("Create")
		w.WaitText("The user ada@northwind.example is created.")
		w.ClickText("Assign an app")
		w.WaitText("The engine creates an account for the user in each assigned app.")
		w.ClickText("Assign")
		w.WaitText("The app is assigned.")
		do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
		w.ClickText("Done")
		w.WaitText("in sync")
		w.Picture("user", browsertest.PictureWidth)
		w.ClickText("Groups")
		w.ClickText("New group")
		w.WaitText("Its members get the apps")
		fill("profile.name", "Crew")
		w.ClickText("Create")
		w.WaitText("The group is created.")
		w.ClickText("Add members")
		w.WaitText("Each member gets the apps")
		w.Key("/")
		w.Type("ada")
		w.Key("Enter")
		w.Wait(`location.search.includes("q=ada") && document.querySelectorAll("tbody tr").length === 1`)
		w.ClickText("Add")
		w.WaitText("The user is in the group.")
		w.ClickText("Done")
		w.WaitText("ada@northwind.example")
		w.Key("g")
		w.Key("l")
		w.WaitText("Activate a user")
		w.end()
	})
}
