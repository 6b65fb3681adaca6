package sandbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/hookstest"
)

// account changes an account on the target, or creates one and returns its id.
func (w *walk) account(method, path, body string) string {
	w.t.Helper()
	atTarget(w.t, w.base, scimToken, method, path, body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = nil
	if method == http.MethodPost {
		return w.accounts[len(w.accounts)-1]
	}
	return ""
}

// atTarget sends a change to a target.
func atTarget(t *testing.T, base, token, method, path, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/scim+json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Less(t, res.StatusCode, 300)
}

// person returns an account with these names.
func person(userName, given, family, email string) string {
	return fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":%q,"name":{"givenName":%q,"familyName":%q},
		"emails":[{"value":%q,"type":"work","primary":true}],"active":true}`, userName, given, family, email)
}

// imported runs an import and returns its result.
func (w *walk) imported() (job string, out client.Import) {
	w.t.Helper()
	var begun struct{ JobID string }
	do(w.t, w.api, http.MethodPost, "/sandbox/v1/apps/"+w.app+"/import", `{"type":"USERS"}`, &begun)
	do(w.t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	do(w.t, w.api, http.MethodGet, "/sandbox/v1/apps/"+w.app+"/import/"+begun.JobID, "", &out)
	return begun.JobID, out
}

// importing returns a step that runs an import and stores the ids of the named users. A name is the part of the login before the @.
func (w *walk) importing(names ...string) func() {
	return func() {
		w.t.Helper()
		_, out := w.imported()
		fmt.Fprintf(&w.notes, "import: %s, %d read, %d matched, %d created, %d updated, %d pending, %d inactive, %d failed\n",
			out.Status, out.UsersImported, out.UsersMatched, out.UsersCreated, out.UsersUpdated, out.UsersPending, out.UsersInactive,
			out.UsersFailed)
		for _, e := range out.Errors {
			fmt.Fprintf(&w.notes, "error: %s\n", e)
		}
		for _, name := range names {
			w.users[name] = w.userOf(name).ID
		}
	}
}

type importedUser struct {
	ID      string
	Status  string
	Profile map[string]any
}

func (w *walk) userOf(name string) (u importedUser) {
	w.t.Helper()
	do(w.t, w.api, http.MethodGet, "/api/v1/users/"+url.PathEscape(name+"@walk.example"), "", &u)
	return u
}

const inboundOn = `{"importRules":{"userCreateAndMatch":{"autoConfirmExactMatch":true,"autoConfirmNewUsers":true,` +
	`"autoActivateNewUsers":true}}}`

func TestWalkImport(t *testing.T) {
	t.Parallel()
	bothStyles(t, func(t *testing.T, wizard bool) {
		w := newWalk(t, wizard, `{"update":{`+updateOn+`,`+deactivateOn+`}}`)
		w.unordered = true
		w.user("ann")
		ann := w.account(http.MethodPost, "/Users", person("ann@walk.example", "Ann", "Other", "ann@walk.example"))
		bob := w.account(http.MethodPost, "/Users", person("bob@walk.example", "Bob", "Builder", "bob@walk.example"))
		w.account(http.MethodPost, "/Users",
			strings.Replace(person("old@walk.example", "Old", "Hand", "old@walk.example"), `"active":true`, `"active":false`, 1))
		w.account(http.MethodPost, "/Users", person("no login", "No", "Login", "no@walk.example"))
		w.step("Imports are not configured: all accounts wait for a confirmation", w.importing())
		w.step("Imports are configured to confirm automatically", func() {
			w.do(http.MethodPut, w.path("/features/INBOUND_PROVISIONING"), inboundOn)()
			w.importing("bob")()
		})
		require.Equal(t, "Other", w.userOf("ann").Profile["lastName"], "rules with PUSH apply to existing users")
		require.Equal(t, "PROVISIONED", w.userOf("bob").Status)
		w.step("An account changes on the target", func() {
			w.account(http.MethodPut, "/Users/"+bob, person("bob@walk.example", "Robert", "Builder", "bob@walk.example"))
			w.importing()()
		})
		require.Equal(t, "Robert", w.userOf("bob").Profile["firstName"])
		w.step("The profile of an imported user changes",
			w.do(http.MethodPost, "/api/v1/users/"+w.users["bob"], `{"profile":{"lastName":"Mason"}}`))
		w.step("Nothing has changed on the target since", w.importing())
		w.step("An account is deactivated on the target", func() {
			w.account(http.MethodPatch, "/Users/"+ann,
				`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","value":{"active":false}}]}`)
			w.importing()()
		})
		w.step("An imported user is unassigned", w.do(http.MethodDelete, w.path("/users/"+w.users["bob"]), ""))
		w.step("An import assigns no user again", w.importing())
		w.end()
	})
}

func TestImport_ConfirmsPendingAccounts(t *testing.T) {
	t.Parallel()
	w := newWalk(t, false, "")
	w.user("ann")
	ann := w.account(http.MethodPost, "/Users", person("ann@walk.example", "ann", "Walker", "ann@walk.example"))
	bob := w.account(http.MethodPost, "/Users", person("bob@walk.example", "Bob", "Builder", "bob@walk.example"))
	job, out := w.imported()
	require.Equal(t, []int{2, 1, 0, 2}, []int{out.UsersImported, out.UsersMatched, out.UsersCreated, out.UsersPending})
	confirm := "/sandbox/v1/apps/" + w.app + "/import/" + job + "/confirm"
	require.ErrorContains(t, w.api.Do(t.Context(), http.MethodPost, confirm, object{"create": []string{bob, "unknown"}}, nil), "unknown")
	require.ErrorContains(t,
		w.api.Do(t.Context(), http.MethodPost, confirm, object{"links": []object{{"kind": "user", "id": "00unobody", "remoteId": bob}}}, nil),
		"00unobody")
	require.Error(t, w.api.Do(t.Context(), http.MethodGet, "/api/v1/users/bob@walk.example", nil, nil), "a rejected request has no effect")
	var n struct{ Linked, Created int }
	do(t, w.api, http.MethodPost, confirm, `{"create":["`+bob+`"]}`, &n)
	require.Equal(t, []int{0, 1}, []int{n.Linked, n.Created})
	require.Equal(t, "STAGED", w.userOf("bob").Status)
	do(t, w.api, http.MethodPost, confirm, "", &n)
	require.Equal(t, []int{1, 0}, []int{n.Linked, n.Created})
	for name, account := range map[string]string{"ann": ann, "bob": bob} {
		var a appUser
		do(t, w.api, http.MethodGet, w.path("/users/"+w.userOf(name).ID), "", &a)
		require.Equal(t, []string{"ACTIVE", "SYNCHRONIZED", account}, []string{a.Status, a.SyncState, a.ExternalID})
	}
	require.ErrorContains(t, w.api.Do(t.Context(), http.MethodPost, confirm, object{"create": []string{bob}}, nil), "login",
		"a user is not created twice")
}

func TestImport_ScheduledByClock(t *testing.T) {
	t.Parallel()
	w := newWalk(t, false, "")
	do(t, w.api, http.MethodPut, w.path("/features/INBOUND_PROVISIONING"), inboundOn, nil)
	do(t, w.api, http.MethodPut, w.path("/features/INBOUND_PROVISIONING"),
		`{"importSettings":{"schedule":{"status":"ENABLED","fullImport":{"expression":"0 3 * * *"}}}}`, nil)
	w.account(http.MethodPost, "/Users", person("bob@walk.example", "Bob", "Builder", "bob@walk.example"))
	advance(t, w.api, day)
	do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	require.Equal(t, "PROVISIONED", w.userOf("bob").Status)
}

func TestImport_DecidedByHook(t *testing.T) {
	t.Parallel()
	endpoint := hookstest.New(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, []byte(endpoint.CA), 0o600))
	w := newWalkOn(t, false, "", sandbox.Options{HookCA: file})
	w.user("ann")
	do(t, w.api, http.MethodPut, w.path("/features/INBOUND_PROVISIONING"), inboundOn, nil)
	do(t, w.api, http.MethodPost, "/api/v1/inlineHooks", fmt.Sprintf(`{"name":"h","type":"com.svc.import.transform","version":"1.0.0",
		"channel":{"type":"HTTP","version":"1.0.0","config":{"uri":%q}}}`, endpoint.URL), nil)
	answers := map[string]string{
		"bob@walk.example": `{"commands":[{"type":"com.svc.user.profile.update","value":{"nickName":"B","lastName":"Hooked"}},` +
			`{"type":"com.svc.appUser.profile.update","value":{"displayName":"Shown"}}]}`,
		"anna@walk.example": `{"commands":[{"type":"com.svc.action.update","value":{"result":"LINK_USER"}},{"type":"com.svc.user.update",` +
			`"value":{"id":"` + w.users["ann"] + `"}}]}`,
		"cy@walk.example":  `{"error":{"errorSummary":"no contractors"}}`,
		"dan@walk.example": `{"commands":[{"type":"com.svc.access.patch","value":[]}]}`,
		"eve@walk.example": `{"commands":[{"type":"com.svc.user.profile.update","value":{"login":"no login"}}]}`,
	}
	var asked []string
	endpoint.Answer(func(rw http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		for name, answer := range answers {
			if strings.Contains(string(body), `"userName":"`+name+`"`) {
				hookstest.JSON(http.StatusOK, answer)(rw, r)
				return
			}
		}
		hookstest.JSON(http.StatusNoContent, "")(rw, r)
	})
	for name := range answers {
		asked = append(asked, w.account(http.MethodPost, "/Users", person(name, "F", "L", name)))
	}
	_, out := w.imported()
	require.Equal(t, []int{2, 2, 2}, []int{out.UsersCreated, out.UsersFailed, out.UsersImported - 3}, out)
	calls := endpoint.Called(len(asked))
	require.Contains(t, calls[0].Body, `"eventType":"com.svc.import.transform"`)
	require.Contains(t, calls[0].Body, `"action":{"result":"CREATE_USER"}`)
	require.Contains(t, calls[0].Body, `"type":"import:users"`)
	bob := w.userOf("bob")
	require.Equal(t, []any{"B", "Hooked"}, []any{bob.Profile["nickName"], bob.Profile["lastName"]})
	var a struct {
		ExternalID  string
		Credentials struct{ UserName string }
	}
	do(t, w.api, http.MethodGet, w.path("/users/"+w.users["ann"]), "", &a)
	require.NotEmpty(t, a.ExternalID)
	require.Equal(t, "anna@walk.example", a.Credentials.UserName)
	w.userOf("dan") // checks that dan was created: the response of the hook for this account has no effect
	text := strings.Join(out.Errors, "\n")
	for _, part := range []string{"no contractors", "com.svc.access.patch", "login: The value must look like an e-mail address"} {
		require.Contains(t, text, part)
	}
	endpoint.Answer(hookstest.JSON(http.StatusNoContent, ""))
	w.imported()
	endpoint.Called(2) // the second import calls the hook only for the two accounts without a user
}
