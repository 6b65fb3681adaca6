package sandbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// A newcomer creates a user and a group, assigns the app to both, and sees the user in sync; all by clicks and keys.
func TestBrowser_ManagesUsers(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, sandbox.Options{})
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
	w.Screenshot("user")
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
}

// The management pages have no accessibility problem that axe-core finds, and are not wider than the window.
func TestBrowser_ManagementAccessible(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, sandbox.Options{ConsoleOpen: true})
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
	w.checkPages(map[string]string{
		"users": "/users", "user": u, "user-apps": u + "/apps", "user-groups": u + "/groups", "groups": "/groups", "group": g,
		"group-users": g + "/users", "group-apps": g + "/apps", "assignments": a, "assign-users": a + "/users", "assign-groups": a + "/groups",
		"log": "/log", "log-rejected": "/log?filter=x", "event": event, "tokens": "/tokens", "clock": "/clock", "settings": "/settings",
		"new-user": "/do/createUser", "edit-user": "/do/updateUser?user=" + id, "deactivate": "/do/deactivateUser?user=" + id,
		"delete-group": "/do/deleteGroup?group=" + group.ID, "new-token": "/do/createAPIToken", "new-client": "/do/createClient",
		"advance": "/do/advanceClock", "reset": "/do/resetSandbox",
	})
}
