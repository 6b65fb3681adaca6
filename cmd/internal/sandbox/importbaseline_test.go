package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine/control/client"
)

// corrections is an app whose target rejects updates while frozen is set.
type corrections struct {
	t      *testing.T
	api    *sandbox.APIClient
	target *target
	app    string
	user   string
	frozen atomic.Bool
}

func newCorrections(t *testing.T, wizard bool) *corrections {
	c := &corrections{t: t}
	server := scimHandler(t)
	c.target = newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.frozen.Load() && r.Header.Get("X-Admin") == "" &&
			(r.Method == http.MethodPut || r.Method == http.MethodPatch || r.Method == http.MethodPost) {
			w.Header().Set("Content-Type", "application/scim+json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"frozen for an audit"}`)
			return
		}
		server.ServeHTTP(w, r)
	}))
	_, c.api = startSandbox(t, sandbox.Options{Empty: true})
	c.app = connectedApp(t, c.api, appBody(wizard), c.target.URL, scimToken)
	do(t, c.api, http.MethodPut, "/api/v1/apps/"+c.app+"/features/INBOUND_PROVISIONING", inboundOn, nil)
	return c
}

// person creates and assigns a user, and waits for the account.
func (c *corrections) person() {
	c.user = newUser(c.t, c.api, "ann@fix.example")
	do(c.t, c.api, http.MethodPost, "/api/v1/apps/"+c.app+"/users", `{"id":"`+c.user+`"}`, nil)
	c.drain()
}

func (c *corrections) drain() {
	c.t.Helper()
	do(c.t, c.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
}

// change changes the profile of the user in the directory.
func (c *corrections) change(profile string) {
	c.t.Helper()
	do(c.t, c.api, http.MethodPost, "/api/v1/users/"+c.user, `{"profile":`+profile+`}`, nil)
	c.drain()
}

func (c *corrections) imported() (out client.Import) {
	c.t.Helper()
	var begun struct{ JobID string }
	do(c.t, c.api, http.MethodPost, "/sandbox/v1/apps/"+c.app+"/import", `{"type":"USERS"}`, &begun)
	c.drain()
	do(c.t, c.api, http.MethodGet, "/sandbox/v1/apps/"+c.app+"/import/"+begun.JobID, "", &out)
	require.Empty(c.t, out.Errors)
	return out
}

// profile is the profile of the user in the directory.
func (c *corrections) profile() map[string]any {
	c.t.Helper()
	var u importedUser
	do(c.t, c.api, http.MethodGet, "/api/v1/users/"+c.user, "", &u)
	return u.Profile
}

type assignedUser struct {
	appUser
	Profile     map[string]any
	Credentials struct{ UserName string }
	Embedded    struct {
		Task struct{ ErrorSummary string }
	} `json:"_embedded"`
}

func (c *corrections) assignment() (u assignedUser) {
	c.t.Helper()
	do(c.t, c.api, http.MethodGet, "/api/v1/apps/"+c.app+"/users/"+c.user, "", &u)
	return u
}

// inError checks that the target rejected the last update of the user.
func (c *corrections) inError() {
	c.t.Helper()
	u := c.assignment()
	require.Equal(c.t, "ERROR", u.SyncState)
	require.Contains(c.t, u.Embedded.Task.ErrorSummary, "frozen for an audit")
}

// retried makes the target accept updates again, and retries the failed task.
func (c *corrections) retried() {
	c.t.Helper()
	c.frozen.Store(false)
	var tasks []struct{ ID string }
	do(c.t, c.api, http.MethodGet, "/sandbox/v1/apps/"+c.app+"/tasks", "", &tasks)
	require.Len(c.t, tasks, 1)
	do(c.t, c.api, http.MethodPost, "/sandbox/v1/apps/"+c.app+"/tasks/"+tasks[0].ID+"/retry", "", nil)
	c.drain()
	require.Equal(c.t, "SYNCHRONIZED", c.assignment().SyncState)
}

// atAccount changes the account on the target directly, even while the target rejects updates of the engine.
func (c *corrections) atAccount(operations string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPatch, c.target.URL+"/Users/"+c.assignment().ExternalID,
		strings.NewReader(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[`+operations+`]}`))
	require.NoError(c.t, err)
	r.Header.Set("Authorization", "Bearer "+scimToken)
	r.Header.Set("Content-Type", "application/scim+json")
	r.Header.Set("X-Admin", "yes")
	res, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	require.NoError(c.t, res.Body.Close())
	require.Equal(c.t, http.StatusOK, res.StatusCode)
}

// account returns the account on the target.
func (c *corrections) account(userName string) scimUser {
	c.t.Helper()
	list, err := find(c.t.Context(), c.target.URL, scimToken, userName)
	require.NoError(c.t, err)
	require.Len(c.t, list.Resources, 1)
	return list.Resources[0]
}

func TestImport_FirstKeepsRejectedCorrection(t *testing.T) {
	t.Parallel()
	bothStyles(t, func(t *testing.T, wizard bool) {
		c := newCorrections(t, wizard)
		c.person()
		c.frozen.Store(true)
		c.change(`{"lastName":"Corrected","login":"anna@fix.example","email":"anna@fix.example","middleName":"M"}`)
		c.inError()
		out := c.imported()
		require.Equal(t, []int{1, 0}, []int{out.UsersImported, out.UsersUpdated})
		p := c.profile()
		require.Equal(t, []any{"Corrected", "anna@fix.example", "anna@fix.example", "M"},
			[]any{p["lastName"], p["login"], p["email"], p["middleName"]})
		c.inError()
		c.imported()
		c.inError()
		require.Equal(t, "Corrected", c.profile()["lastName"], "the second import does not overwrite it either")
		c.retried()
		require.Equal(t, "Corrected", c.account("anna@fix.example").Name.FamilyName)
	})
}

// An import keeps a value of the directory that is newer than the value on the target. The mapping sends this value only when an account is
// created, so the target never receives it. No earlier import has read the account.
func TestImport_FirstKeepsUnpushedValue(t *testing.T) {
	c := newCorrections(t, true)
	c.person()
	var mappings []struct{ ID string }
	do(t, c.api, http.MethodGet, "/api/v1/mappings?targetId="+c.app, "", &mappings)
	require.Len(t, mappings, 1)
	do(t, c.api, http.MethodPost, "/api/v1/mappings/"+mappings[0].ID,
		`{"properties":{"familyName":{"expression":"user.lastName","pushStatus":"DONT_PUSH"}}}`, nil)
	c.change(`{"lastName":"Corrected"}`)
	require.NotEqual(t, "Corrected", c.account("ann@fix.example").Name.FamilyName)
	for range 2 {
		c.imported()
		require.Equal(t, "Corrected", c.profile()["lastName"])
	}
}

// An import does not restore a value that was removed in the directory, if the target rejected the removal.
func TestImport_FirstKeepsRejectedRemoval(t *testing.T) {
	t.Parallel()
	c := newCorrections(t, false)
	c.person()
	c.change(`{"displayName":"Shown"}`)
	c.frozen.Store(true)
	c.change(`{"displayName":null}`)
	c.inError()
	c.imported()
	require.Nil(t, c.profile()["displayName"])
	c.inError()
}

// An import keeps the current value of the directory in this case: the last import has read a first value, the target has received a second
// value from the directory and has rejected the third.
func TestImport_StaleBaselineKeepsCorrection(t *testing.T) {
	t.Parallel()
	c := newCorrections(t, false)
	c.person()
	c.imported()
	c.change(`{"lastName":"Second"}`)
	require.Equal(t, "Second", c.account("ann@fix.example").Name.FamilyName)
	c.frozen.Store(true)
	c.change(`{"lastName":"Third"}`)
	c.inError()
	c.atAccount(`{"op":"replace","path":"displayName","value":"Of the target"}`)
	c.imported()
	p := c.profile()
	require.Equal(t, []any{"Third", "Of the target"}, []any{p["lastName"], p["displayName"]},
		"values changed on the account alone are imported")
	c.retried()
	require.Equal(t, "Third", c.account("ann@fix.example").Name.FamilyName)
	c.imported()
	require.Equal(t, "Third", c.profile()["lastName"])
	c.atAccount(`{"op":"replace","path":"name.familyName","value":"Fourth"}`)
	c.imported()
	require.Equal(t, "Fourth", c.profile()["lastName"], "a later change of the account is imported")
}

// Imports do not overwrite values that an administrator has set on the assignment.
func TestImport_KeepsRejectedOverride(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"first import": false, "later import": true} {
		t.Run(name, func(t *testing.T) {
			c := newCorrections(t, false)
			do(t, c.api, http.MethodPost, "/api/v1/meta/schemas/apps/"+c.app+"/default", `{"definitions":{"custom":{"properties":{
				"badge":{"title":"Badge","type":"string","externalName":"title"}}}}}`, nil)
			c.person()
			give := func(badge string) {
				do(t, c.api, http.MethodPost, "/api/v1/apps/"+c.app+"/users/"+c.user, `{"profile":{"badge":"`+badge+`"}}`, nil)
				c.drain()
			}
			give("one")
			if before {
				c.imported()
			}
			c.frozen.Store(true)
			give("two")
			c.inError()
			c.atAccount(`{"op":"replace","path":"displayName","value":"Of the target"}`)
			c.imported()
			require.Equal(t, []any{"two", "Of the target"}, []any{c.assignment().Profile["badge"], c.profile()["displayName"]})
			c.inError()
		})
	}
}

// The target rejects a create because the account exists, and an import links this account. The import keeps the values of the directory,
// because the create was an attempt to send these values.
func TestImport_LinkKeepsRejectedCreate(t *testing.T) {
	t.Parallel()
	c := newCorrections(t, false)
	c.rejectedCreate()
	c.imported()
	require.Equal(t, "Person", c.profile()["lastName"])
	c.inError()
	c.retried()
	require.Equal(t, "Person", c.account("ann@fix.example").Name.FamilyName)
}

// Without Update User Attributes, no change is pending once the account is linked.
func TestImport_LinkSynchronizedWithoutUpdates(t *testing.T) {
	t.Parallel()
	c := newCorrections(t, false)
	c.rejectedCreate()
	do(t, c.api, http.MethodPut, "/api/v1/apps/"+c.app+"/features/USER_PROVISIONING",
		`{"update":{"profile":{"status":"DISABLED"},"lifecycleDeactivate":{"status":"DISABLED"}}}`, nil)
	c.imported()
	require.Equal(t, "Person", c.profile()["lastName"])
	u := c.assignment()
	require.Equal(t, []string{"SYNCHRONIZED", ""}, []string{u.SyncState, u.Embedded.Task.ErrorSummary})
}

// For a user who is assigned by the import, no change is pending, whatever the options of the app.
func TestImport_NewAssignmentSynchronized(t *testing.T) {
	t.Parallel()
	c := newCorrections(t, false)
	c.user = newUser(t, c.api, "ann@fix.example")
	atTarget(t, c.target.URL, scimToken, http.MethodPost, "/Users", person("ann@fix.example", "Ann", "Other", "ann@fix.example"))
	c.imported()
	u := c.assignment()
	require.Equal(t, []string{"ACTIVE", "SYNCHRONIZED"}, []string{u.Status, u.SyncState})
	require.Equal(t, "Other", c.profile()["lastName"])
}

// rejectedCreate assigns a user whose create is rejected, and creates an account with the same name on the target.
func (c *corrections) rejectedCreate() {
	t := c.t
	t.Helper()
	c.frozen.Store(true)
	c.user = newUser(t, c.api, "ann@fix.example")
	do(t, c.api, http.MethodPost, "/api/v1/apps/"+c.app+"/users", `{"id":"`+c.user+`"}`, nil)
	c.drain()
	c.inError()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.target.URL+"/Users",
		strings.NewReader(person("ann@fix.example", "Old", "Name", "ann@fix.example")))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+scimToken)
	r.Header.Set("Content-Type", "application/scim+json")
	r.Header.Set("X-Admin", "yes")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
}
