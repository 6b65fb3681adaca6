package provision_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestMarkAll_RetriesFailed checks that one MarkAll retries all failed and retrying users, and no others.
func TestMarkAll_RetriesFailed(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
	w.set("u-0", user("u-0", "fine"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Method: "POST", Status: 400, Times: 3}, enginetest.Fault{Method: "POST", Status: 500})
	for i := range 4 {
		id := fmt.Sprint("u-", i+1)
		w.set(id, user(id, id))
	}
	counted := func(want map[engine.Status]int) func() bool {
		return func() bool {
			counts, err := w.engine.Apps().Counts(t.Context(), app)
			require.NoError(t, err)
			for status, n := range want {
				if counts[status] != n {
					return false
				}
			}
			return true
		}
	}
	w.poll("the failures", counted(map[engine.Status]int{engine.StatusClean: 1, engine.StatusFailed: 3, engine.StatusRetrying: 1}))
	w.fake.Requests()
	require.NoError(t, w.db.Update(t.Context(), func(tx *sqldb.Tx) error {
		n, err := w.engine.MarkAll(t.Context(), tx.Execer(), engine.MarkAll{
			App: app, Kind: engine.User, Retry: true, Status: []engine.Status{engine.StatusFailed, engine.StatusHeld, engine.StatusRetrying},
		})
		require.EqualValues(t, 4, n)
		return err
	}))
	w.engine.Wake(app)
	w.wait()
	require.True(t, counted(map[engine.Status]int{engine.StatusClean: 5})())
	require.Len(t, w.fake.Users(), 5)
	for _, r := range w.fake.Requests() {
		require.NotContains(t, r, "fine", "converged users are not marked")
	}
	for _, m := range []engine.MarkAll{{}, {App: app, Kind: "robot"}} {
		_, err := w.engine.MarkAll(t.Context(), nil, m)
		require.Error(t, err)
	}
}
