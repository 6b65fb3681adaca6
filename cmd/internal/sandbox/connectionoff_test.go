package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine/control/client"
)

// The connection of an unavailable target is deactivated while a create, an update, a deactivation and an import are pending. After the
// connection is activated again, the engine sends the deactivation, but neither the create nor the update.
func TestDeactivatedConnection_PreservesDeactivations(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
	good := scimHandler(t)
	tg := newTarget(t, good)
	app := newApp(t, api, tg.URL, scimToken)
	path, jobs := "/api/v1/apps/"+app, "/sandbox/v1/apps/"+app
	users := map[string]string{}
	assign := func(name string) {
		users[name] = newUser(t, api, name+"@chain.example")
		do(t, api, http.MethodPost, path+"/users", fmt.Sprintf(`{"id":%q}`, users[name]), nil)
	}
	lastName := func(name string) {
		do(t, api, http.MethodPost, "/api/v1/users/"+users[name], `{"profile":{"lastName":"Changed"}}`, nil)
	}
	drain := func() { do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil) }
	at := func(name string) (at scimUser) {
		list, err := find(t.Context(), tg.URL, scimToken, name+"@chain.example")
		require.NoError(t, err)
		if len(list.Resources) == 1 {
			at = list.Resources[0]
		}
		return at
	}
	for _, name := range []string{"ann", "bob", "cid", "dan"} {
		assign(name)
	}
	drain()

	tg.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) }))
	lastName("ann")
	do(t, api, http.MethodDelete, path+"/users/"+users["bob"], "", nil)
	assign("eve")
	var begun struct{ JobID string }
	do(t, api, http.MethodPost, jobs+"/import", `{"type":"USERS"}`, &begun)
	do(t, api, http.MethodPost, path+"/connections/default/lifecycle/deactivate", "", nil)
	var job client.Import
	eventually(t, "the import has ended", func() bool {
		do(t, api, http.MethodGet, jobs+"/import/"+begun.JobID, "", &job)
		return job.Status == "failed"
	})
	require.Contains(t, job.Errors, "The connection was deactivated")
	var tasks []struct{ ID string }
	do(t, api, http.MethodGet, jobs+"/tasks", "", &tasks)
	require.Empty(t, tasks)
	require.Error(t, api.Do(t.Context(), http.MethodPost, jobs+"/import", object{"type": "USERS"}, nil), "no import is started")

	do(t, api, http.MethodPost, "/api/v1/users/"+users["cid"]+"/lifecycle/deactivate", "", nil)
	lastName("dan")
	tg.set(good)
	posts := tg.posts.Load()
	do(t, api, http.MethodPost, path+"/connections/default/lifecycle/activate", "", nil)
	drain()
	require.Equal(t, posts, tg.posts.Load(), "the create is not sent later")
	require.Equal(t, "Person", at("ann").Name.FamilyName, "the update is not sent later")
	require.False(t, at("bob").Active, "unassigned before the deactivation of the connection")
	require.False(t, at("cid").Active, "deactivated while the connection was inactive")
	require.Equal(t, "Changed", at("dan").Name.FamilyName, "changed while the connection was inactive")
	var a appUser
	do(t, api, http.MethodGet, path+"/users/"+users["eve"], "", &a)
	require.Equal(t, "STAGED", a.Status, "app users keep their status")

	do(t, api, http.MethodPost, jobs+"/provision", fmt.Sprintf(`{"userIds":[%q]}`, users["eve"]), nil)
	do(t, api, http.MethodPost, "/api/v1/users/"+users["ann"], `{"profile":{"displayName":"Ann"}}`, nil)
	drain()
	require.True(t, at("eve").Active, "a requested provisioning creates the account")
	require.Equal(t, "Changed", at("ann").Name.FamilyName, "the next change sends the whole state")
}
