package sandbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// A sandbox is killed while it creates users for the accounts of an import: one batch is complete and another one has started. The import
// calls a hook for each account, and this hook blocks in the second batch until the sandbox is killed. After a restart the import
// continues. Each account becomes one user, is counted once and is logged once.
func TestKilledImport_CreatesEachUserOnce(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { killImport(t, "--data", t.TempDir()) })
	t.Run("postgres", func(t *testing.T) {
		killImport(t, "--db", sqldbtest.PostgresURL(t), "--secret-key-file", filepath.Join(t.TempDir(), "secret.key"))
	})
}

// killImport runs the test with the options of a database.
func killImport(t *testing.T, database ...string) {
	const (
		accounts = 120
		heldAt   = 75 // in the second batch of 50
	)
	tg := newTarget(t, scimHandler(t))
	for i := range accounts {
		name := fmt.Sprintf("import%03d@chain.example", i)
		atTarget(t, tg.URL, scimToken, http.MethodPost, "/Users", person(name, "Import", fmt.Sprint(i), name))
	}
	endpoint := hookstest.New(t)
	var asked atomic.Int64
	held, over := make(chan struct{}), make(chan struct{})
	endpoint.Answer(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n == heldAt:
			close(held)
			fallthrough
		case n > heldAt:
			select {
			case <-r.Context().Done():
				return
			case <-over:
			}
		}
		hookstest.JSON(http.StatusNoContent, "")(w, r)
	})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, []byte(endpoint.CA), 0o600))
	args := append([]string{"sandbox", "--listen", "127.0.0.1:0", "--empty", "--no-rate-limits", "--hook-ca", ca}, database...)

	first := startCommand(t, args...)
	api := first.api()
	app := newApp(t, api, tg.URL, scimToken)
	do(t, api, http.MethodPut, "/api/v1/apps/"+app+"/features/INBOUND_PROVISIONING", inboundOn, nil)
	do(t, api, http.MethodPost, "/api/v1/inlineHooks", fmt.Sprintf(`{"name":"h","type":"com.svc.import.transform","version":"1.0.0",
		"channel":{"type":"HTTP","version":"1.0.0","config":{"uri":%q}}}`, endpoint.URL), nil)
	var begun struct{ JobID string }
	do(t, api, http.MethodPost, "/sandbox/v1/apps/"+app+"/import", `{"type":"USERS"}`, &begun)
	<-held
	first.kill()
	close(over)

	second := startCommand(t, args...)
	api = second.api()
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain?timeoutSeconds=120", "", nil)
	var out client.Import
	do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/import/"+begun.JobID, "", &out)
	require.Equal(t, []any{engine.ImportDone, accounts, accounts, 0, 0, 0},
		[]any{out.Status, out.UsersImported, out.UsersCreated, out.UsersMatched, out.UsersFailed, out.UsersPending}, "%+v", out)
	require.Less(t, asked.Load(), int64(accounts+heldAt), "the first batch is not repeated")
	seen := map[string]bool{}
	for _, u := range allAppUsers(t, api, app) {
		require.Equal(t, "SYNCHRONIZED", u.SyncState)
		seen[u.ExternalID] = true
	}
	require.Len(t, seen, accounts, "each account belongs to one user")
	for event, times := range map[string]int{"user.lifecycle.create": accounts, "application.user_membership.add": accounts} {
		var events []any
		filter := fmt.Sprintf(`eventType eq %q and transaction.type eq "JOB"`, event)
		do(t, api, http.MethodGet, "/api/v1/logs?limit=1000&filter="+url.QueryEscape(filter), "", &events)
		require.Len(t, events, times, event)
	}
	require.EqualValues(t, accounts, tg.posts.Load(), "the engine creates no account on the target")
}
