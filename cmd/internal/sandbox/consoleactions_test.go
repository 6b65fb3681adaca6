package sandbox_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// manageActions performs the actions of the management pages, and checks their effect by the API.
func manageActions(t *testing.T, o *organization) {
	t.Run("users", func(t *testing.T) { userActions(t, o.in(t)) })
	t.Run("factors", func(t *testing.T) { factorActions(t, o.in(t)) })
	t.Run("groups", func(t *testing.T) { groupActions(t, o.in(t)) })
	t.Run("tokens", func(t *testing.T) { tokenActions(t, o.in(t)) })
	t.Run("clock and work", func(t *testing.T) { clockActions(t, o.in(t)) })
}

var sentByCurl = regexp.MustCompile(`(?s)<summary>The same with curl</summary><pre[^>]*>(.*?)</pre>`)

// curlOf returns the command line of a page.
func curlOf(t *testing.T, page string) string {
	t.Helper()
	found := sentByCurl.FindStringSubmatch(page)
	require.Len(t, found, 2, page)
	return html.UnescapeString(found[1])
}

// runCommands runs the command lines of a page in a shell that has the variables of env. It requires that each request succeeds.
func runCommands(t *testing.T, api *sandbox.APIClient, commands string, env ...string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte("fail-with-body\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands)
	cmd.Env = append(append(os.Environ(), "HOME="+home, "TOKEN="+api.Token), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", commands, out)
}

func userActions(t *testing.T, o *organization) {
	const password = "Correct-horse-7"
	fields := []string{
		"profile.email", "eve@northwind.example", "profile.firstName", "Eve", "profile.lastName", "Moss", "credentials.password.value", password,
	}
	page := o.fill("createUser", nil, append(fields, "profile.login", "eve")...)
	require.Contains(t, page, `id="e-profile.login"`, "the error of the API is at the field")
	require.Contains(t, page, "Correct the input")
	require.Contains(t, page, `value="Moss"`)
	require.NotContains(t, page, password)
	page = o.fill("createUser", nil, append(fields, "profile.login", "eve@northwind.example")...)
	require.Contains(t, page, "The user eve@northwind.example is created. The status is ACTIVE.")
	require.NotContains(t, page, password)
	require.Contains(t, curlOf(t, page), `"password":{"value":"SECRET"}`)
	var u struct {
		ID, Status string
		Profile    map[string]any
	}
	read := func() {
		t.Helper()
		u.Profile = nil
		do(t, o.api, http.MethodGet, "/api/v1/users/eve@northwind.example", "", &u)
	}
	read()
	args := url.Values{"user": {u.ID}, "back": {"/users/" + u.ID}}

	require.Contains(t, o.fill("updateUser", args), "Nothing was changed.")
	page = o.fill("updateUser", args, "profile.title", "Pilot")
	require.Contains(t, page, "The profile is changed.")
	require.Contains(t, curlOf(t, page), `'{"profile":{"title":"Pilot"}}'`, "only what was changed")
	opened := o.open("updateUser", args)
	do(t, o.api, http.MethodPost, "/api/v1/users/"+u.ID, `{"profile":{"department":"Flight"}}`, nil)
	opened.Set("profile.title", "")
	o.post("/do/updateUser", opened)
	read()
	require.Nil(t, u.Profile["title"])
	require.Equal(t, "Flight", u.Profile["department"], "a change of another administrator after the form was opened")

	for _, step := range []struct {
		action string
		change []string
		text   string
		status string
	}{
		{"suspendUser", nil, "The user is suspended.", "SUSPENDED"},
		{"unsuspendUser", nil, "The suspension is ended.", "ACTIVE"},
		{"setPassword", []string{"credentials.password.value", "short"}, "Correct the input", "ACTIVE"},
		{"setPassword", []string{"credentials.password.value", "Correct-horse-8"}, "The password is set.", "ACTIVE"},
		{"expirePassword", []string{"tempPassword", "true"}, "Temporary password", "PASSWORD_EXPIRED"},
		{"resetPassword", []string{"sendEmail", ""}, "/reset_password/", "RECOVERY"},
		{"deactivateUser", nil, "The user is deactivated.", "DEPROVISIONED"},
		{"activateUser", []string{"sendEmail", ""}, "/welcome/", "ACTIVE"},
		{"resetPassword", nil, "The link for a new password is sent to the user.", "RECOVERY"},
		{"reactivateUser", []string{"sendEmail", ""}, "/welcome/", "PROVISIONED"},
		{"unlockUser", nil, "Load the page again", "PROVISIONED"},
		{"deactivateUser", nil, "The user is deactivated.", "DEPROVISIONED"},
	} {
		if direct := step.action == "unsuspendUser" || step.action == "unlockUser"; direct {
			page = o.sendForm(step.action, args)
		} else {
			page = o.fill(step.action, args, step.change...)
		}
		require.Contains(t, page, step.text, step.action)
		read()
		require.Equal(t, step.status, u.Status, step.action)
	}
	page = o.get("/users/" + u.ID)
	require.Contains(t, page, "/do/deleteUser")
	require.NotContains(t, page, "/do/suspendUser")
	require.Contains(t, o.fill("deleteUser", args), "The user is deleted.")
	status, _ := o.at("/users/" + u.ID)
	require.Equal(t, http.StatusNotFound, status)
}

func factorActions(t *testing.T, o *organization) {
	args := url.Values{"user": {o.user}, "back": {"/users/" + o.user}}
	enroll := func() {
		t.Helper()
		do(t, o.api, http.MethodPost, "/api/v1/users/"+o.user+"/factors", `{"factorType":"question","provider":"SVC","profile":`+
			`{"question":"disliked_food","answer":"mushrooms"}}`, nil)
	}
	var all []struct{ ID string }
	enroll()
	do(t, o.api, http.MethodGet, "/api/v1/users/"+o.user+"/factors", "", &all)
	require.Len(t, all, 1)
	require.Contains(t, o.get("/users/"+o.user), "<td>question</td>")
	require.Contains(t, o.fill("unenrollFactor", url.Values{"user": {o.user}, "factor": {all[0].ID}, "back": {"/users/" + o.user}}),
		"The factor is removed.")
	enroll()
	require.Contains(t, o.fill("resetFactors", args), "All factors are removed.")
	do(t, o.api, http.MethodGet, "/api/v1/users/"+o.user+"/factors", "", &all)
	require.Empty(t, all)
}

func groupActions(t *testing.T, o *organization) {
	page := o.fill("createGroup", nil, "profile.name", "Crew", "profile.description", "Flies")
	require.Contains(t, page, "The group is created.")
	var groups []struct {
		ID      string
		Profile map[string]any
	}
	read := func() {
		t.Helper()
		groups = nil
		do(t, o.api, http.MethodGet, "/api/v1/groups?search="+url.QueryEscape(`profile.name eq "Crew"`), "", &groups)
	}
	read()
	crew := groups[0].ID
	back := "/groups/" + crew
	require.Contains(t, o.fill("replaceGroup", url.Values{"group": {crew}, "back": {back}}, "profile.description", "Flies and lands"),
		"The group is changed.")
	read()
	require.Equal(t, map[string]any{"name": "Crew", "description": "Flies and lands"}, groups[0].Profile)

	pick := o.get("/groups/" + crew + "/users?q=ada.")
	require.Contains(t, pick, "Add ada.lindqvist@northwind.example")
	var ada struct{ ID string }
	do(t, o.api, http.MethodGet, "/api/v1/users/ada.lindqvist@northwind.example", "", &ada)
	member := url.Values{"group": {crew}, "user": {ada.ID}, "back": {"/groups/" + crew + "/users?q=ada."}}
	page = o.sendForm("addGroupUser", member)
	require.Contains(t, page, "The user is in the group.")
	require.Contains(t, page, `<span class="quiet">member</span>`)
	require.Contains(t, o.get(back), "ada.lindqvist@northwind.example")

	assigned := url.Values{"app": {o.app}, "group": {crew}, "back": {back}}
	require.Contains(t, o.get(back+"/apps"), "/do/assignGroupToApplication")
	require.Contains(t, o.fill("assignGroupToApplication", assigned), "The app is assigned to the group.")
	require.Contains(t, o.get("/apps/"+o.app+"/assignments"), "ada.lindqvist@northwind.example")
	inApp := url.Values{"app": {o.app}, "user": {ada.ID}, "back": {"/users/" + ada.ID}}
	require.Contains(t, o.fill("updateApplicationUser", inApp, "profile.displayName", "Ada L."), "Change the attribute of the user")
	var plain struct{ ID string }
	do(t, o.api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"Not connected","settings":{"app":{}}}`, &plain)
	do(t, o.api, http.MethodPost, "/api/v1/apps/"+plain.ID+"/users", `{"id":"`+ada.ID+`"}`, nil)
	inApp.Set("app", plain.ID)
	page = o.fill("updateApplicationUser", inApp, "profile.displayName", "Ada L.")
	require.Contains(t, page, "The profile in the app is changed.")
	require.Contains(t, curlOf(t, page), `'{"profile":{"displayName":"Ada L."}}'`)
	require.Contains(t, o.fill("unassignGroupFromApplication", assigned), "The assignment of the group is ended.")
	require.Contains(t, o.fill("removeGroupUser", member), "The user is removed from the group.")
	require.Contains(t, o.fill("deleteGroup", url.Values{"group": {crew}, "back": {back}}), "The group is deleted.")

	one := url.Values{"app": {o.app}, "id": {ada.ID}, "user": {ada.ID}, "back": {"/apps/" + o.app + "/assignments/users?q=ada."}}
	require.Contains(t, o.sendForm("assignUserToApplication", one), `<span class="quiet">assigned</span>`)
	require.Contains(t, o.fill("unassignUserFromApplication", url.Values{"app": {o.app}, "user": {ada.ID}, "back": {"/users"}}),
		"The assignment is ended.")

	mass := url.Values{"app": {o.app}, "group": {o.group}, "back": {"/apps/" + o.app + "/assignments"}}
	require.Contains(t, o.fill("unassignGroupFromApplication", mass), "Type 5 to confirm this number.")
	do(t, o.api, http.MethodGet, "/api/v1/apps/"+o.app+"/groups/"+o.group, "", nil)
	require.Contains(t, o.fill("unassignGroupFromApplication", mass, "typed", "5"), "The assignment of the group is ended.")
	require.Contains(t, o.fill("assignGroupToApplication", mass, "typed", "5"), "The app is assigned to the group.")
}

func tokenActions(t *testing.T, o *organization) {
	require.Contains(t, o.fill("createAPIToken", nil, "name", "build", "userId", "nobody@northwind.example"), "Not found")
	page := o.fill("createAPIToken", nil, "name", "build")
	secret := regexp.MustCompile(`<code id="value-1">([^<]+)</code>`).FindStringSubmatch(page)
	require.NotNil(t, secret, page)
	client := &sandbox.APIClient{BaseURL: o.api.BaseURL, Token: secret[1]}
	require.NoError(t, client.Do(t.Context(), http.MethodGet, "/api/v1/users/me", nil, nil))
	page = o.get("/tokens")
	require.NotContains(t, page, secret[1])
	id := regexp.MustCompile(`build <code class="quiet">([^<]+)</code>`).FindStringSubmatch(page)
	require.NotNil(t, id, page)
	require.Contains(t, o.fill("revokeApiToken", url.Values{"token": {id[1]}, "back": {"/tokens"}}), "The token is revoked.")
	require.Error(t, client.Do(t.Context(), http.MethodGet, "/api/v1/users/me", nil, nil))

	page = o.fill("createClient", nil, "client_name", "Nightly export")
	require.Contains(t, page, "Client secret")
	made := regexp.MustCompile(`<code id="value-1">([^<]+)</code>`).FindStringSubmatch(page)
	require.NotNil(t, made)
	require.Contains(t, o.get("/tokens?q=night"), "Nightly export")
	require.Contains(t, o.fill("deleteClient", url.Values{"client": {made[1]}, "back": {"/tokens"}}), "The client is deleted.")
	require.NotContains(t, o.get("/tokens"), made[1])
	require.Contains(t, o.fill("createClient", nil, "client_name", strings.Repeat("x", 101)), `id="e-client_name"`)
}

func clockActions(t *testing.T, o *organization) {
	var now struct{ AheadSeconds float64 }
	ahead := func() float64 {
		t.Helper()
		do(t, o.api, http.MethodGet, "/sandbox/v1/clock", "", &now)
		return now.AheadSeconds
	}
	args := url.Values{"back": {"/clock"}}
	require.Contains(t, o.fill("advanceClock", args, "amount", "soon"), "Step must be a number.")
	require.Contains(t, o.fill("advanceClock", args, "amount", "2", "unit", "days"), "2 days ahead of the real time.")
	require.InDelta(t, 2*24*60*60, ahead(), 60)
	require.Contains(t, o.sendForm("setRealTime", args), "The clock is")
	require.InDelta(t, 0, ahead(), 1)

	var work struct{ Hold bool }
	args = url.Values{"back": {"/settings"}}
	for action, held := range map[string]bool{"holdWork": true, "releaseWork": false} {
		o.sendForm(action, args)
		do(t, o.api, http.MethodGet, "/sandbox/v1/work", "", &work)
		require.Equal(t, held, work.Hold)
	}
	o.sendForm("releaseWork", args)
	require.Contains(t, o.get("/settings"), "/do/deactivateOrgFactor?factor=svc_call")
	factor := url.Values{"factor": {"svc_call"}, "back": {"/settings"}}
	require.Contains(t, o.fill("deactivateOrgFactor", factor), "The type of factor is not active.")
	require.Contains(t, o.sendForm("activateOrgFactor", factor), "The type of factor is active.")
}
