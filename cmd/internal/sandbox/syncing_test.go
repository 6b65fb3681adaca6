package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine/enginetest"
)

// assignment is the assignment of one user to an app.
type assignment struct {
	t              *testing.T
	api            *sandbox.APIClient
	app, user, url string
}

func assignTo(t *testing.T, api *sandbox.APIClient, app, login string) assignment {
	t.Helper()
	a := assignment{t: t, api: api, app: app, user: newUser(t, api, login)}
	a.url = "/api/v1/apps/" + app + "/users/" + a.user
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, a.user), nil)
	return a
}

func (a assignment) state() string {
	a.t.Helper()
	var u struct {
		Status    string `json:"status"`
		SyncState string `json:"syncState"`
	}
	do(a.t, a.api, http.MethodGet, a.url, "", &u)
	return u.Status + " " + u.SyncState
}

func (a assignment) becomes(state string) {
	a.t.Helper()
	last := ""
	eventually(a.t, state, func() bool { last = a.state(); return last == state })
}

// accepting is a SCIM server that can accept changes with 202 without carrying them out.
type accepting struct {
	*enginetest.Target
	sent atomic.Int64 // number of changes
}

func newAccepting(t *testing.T) (*accepting, string) {
	t.Helper()
	a := &accepting{Target: enginetest.NewTarget()}
	a.Token = scimToken
	a.Seen = func(method, _ string, _ []byte) {
		if method != http.MethodGet {
			a.sent.Add(1)
		}
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, server.URL
}

func TestSyncState_SyncingDuringSequence(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
	good := scimHandler(t)
	gate := make(chan struct{}) // the target carries out one accepted change for each value received from gate
	tg := newTarget(t, good)
	app := newApp(t, api, tg.URL, scimToken)
	tg.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		good.ServeHTTP(w, r)
	}))
	ann := assignTo(t, api, app, "ann@chain.example")
	ann.becomes("STAGED SYNCING")
	var list []struct{ SyncState string }
	do(t, api, http.MethodGet, "/api/v1/apps/"+app+"/users", "", &list)
	require.Equal(t, "SYNCING", list[0].SyncState)
	gate <- struct{}{}
	ann.becomes("PROVISIONED SYNCHRONIZED")

	do(t, api, http.MethodPost, "/api/v1/users/"+ann.user, `{"profile":{"lastName":"Changed"}}`, nil)
	ann.becomes("PROVISIONED SYNCING")
	gate <- struct{}{}
	ann.becomes("PROVISIONED SYNCHRONIZED")
}

// TestSyncState_SyncingAfterAcceptance checks that a change which a target accepts with 202 is not reported as provisioned before the
// target has carried it out.
func TestSyncState_SyncingAfterAcceptance(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
	tg, url := newAccepting(t)
	app := newApp(t, api, url, scimToken)
	tg.Inject(enginetest.Fault{Accept: true, Times: -1})
	ann := assignTo(t, api, app, "ann@chain.example")
	ann.becomes("STAGED SYNCING")
	tasks := func() []pendingTask {
		var list []pendingTask
		do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/tasks", "", &list)
		return list
	}
	var list []pendingTask
	// the sequence may still be running
	eventually(t, "the task of the accepted create", func() bool { list = tasks(); return len(list) == 1 })
	require.Equal(t, "pending", list[0].Status)
	require.Contains(t, list[0].ErrorSummary, "create: accepted at ")
	require.Contains(t, list[0].ErrorSummary, "with transaction t1, not carried out yet")
	require.Equal(t, "t1", list[0].Pending.Transaction)
	require.Equal(t, []string{"user.accepted"}, lifecycleTypes(t, api, app))
	require.Empty(t, loggedResults(t, api, "application.provision.user.push"), "an accepted change is not logged as a success")

	tg.CarryOut()
	ann.becomes("PROVISIONED SYNCHRONIZED")
	require.EqualValues(t, 1, tg.sent.Load())
	require.Equal(t, []string{"user.accepted", "user.created"}, lifecycleTypes(t, api, app))
	require.Equal(t, []string{"SUCCESS"}, loggedResults(t, api, "application.provision.user.push"))

	do(t, api, http.MethodDelete, ann.url, "", nil)
	eventually(t, "a pending deactivation", func() bool { l := tasks(); return len(l) == 1 && l[0].Status == "pending" })
	require.Empty(t, loggedResults(t, api, "application.provision.user.deactivate"))
	tg.CarryOut()
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain?timeoutSeconds=60", "", nil)
	require.EqualValues(t, 2, tg.sent.Load(), "a deactivation is sent once")
	require.Equal(t, []string{"SUCCESS"}, loggedResults(t, api, "application.provision.user.deactivate"))
	require.Empty(t, tasks())
}

// TestSyncState_Restart checks that an accepted change remains pending after a restart.
func TestSyncState_Restart(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Empty: true, RetryMax: testRetryMax, DB: "sqlite:" + filepath.Join(t.TempDir(), "sandbox.db"), Listen: "127.0.0.1:0"}
	s, api := startSandbox(t, o)
	tg, url := newAccepting(t)
	app := newApp(t, api, url, scimToken)
	tg.Inject(enginetest.Fault{Accept: true, Times: -1})
	ann := assignTo(t, api, app, "ann@chain.example")
	ann.becomes("STAGED SYNCING")
	require.NoError(t, s.Close(t.Context()))
	_, ann.api = startSandbox(t, o)
	require.Equal(t, "STAGED SYNCING", ann.state())
	tg.CarryOut()
	ann.becomes("PROVISIONED SYNCHRONIZED")
	require.EqualValues(t, 1, tg.sent.Load())
}

// TestSyncState_NotStuck checks that no user remains SYNCING after the connection is deactivated.
func TestSyncState_NotStuck(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
	tg, url := newAccepting(t)
	app := newApp(t, api, url, scimToken)
	tg.Inject(enginetest.Fault{Accept: true, Times: -1})
	ann := assignTo(t, api, app, "ann@chain.example")
	ann.becomes("STAGED SYNCING")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/connections/default/lifecycle/deactivate", "", nil)
	ann.becomes("STAGED OUT_OF_SYNC")
}

type pendingTask struct {
	ID, Status, ErrorSummary, UserID string
	NextAttempt                      string
	Pending                          struct{ Transaction, Deadline string }
}

func lifecycleTypes(t *testing.T, api *sandbox.APIClient, app string) (types []string) {
	t.Helper()
	var events []struct{ Type string }
	do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/events", "", &events)
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

// loggedResults returns the results of all events of a type in the log.
func loggedResults(t *testing.T, api *sandbox.APIClient, event string) (results []string) {
	t.Helper()
	var events []struct {
		EventType string
		Outcome   struct{ Result string }
	}
	do(t, api, http.MethodGet, "/api/v1/logs?filter="+strings.ReplaceAll(fmt.Sprintf("eventType eq %q", event), " ", "%20"), "", &events)
	for _, e := range events {
		results = append(results, e.Outcome.Result)
	}
	return results
}
