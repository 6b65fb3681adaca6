package provision_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/alltest"
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

// TestMarkAll_MillionDuringWork checks that an engine on SQLite keeps its process and continues its work although MarkAll of a million
// principals occupies the database for longer than the lease of a process and the time limits of its writes.
func TestMarkAll_MillionDuringWork(t *testing.T) {
	alltest.Only(t, "marks 1,000,000 principals")
	const many, marked, users = "many", 1_000_000, 800
	s := newLargeWorld(t, sqldbtest.SQLite(t, sqldbtest.Durable), 0)
	s.fake.latency = benchLatency
	paused := s.directory.target[app]
	paused.Paused = true
	s.directory.target[many] = paused
	s.mark(engine.Mark{App: many, Kind: engine.User, ID: crowdID(0)})
	s.seed(0)
	require.NoError(t, s.db.Update(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO scimwright_sync_state (app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew, next_at,
				attempts, remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at, dirty_since)
			SELECT app_id, kind, printf('m%07d', i), 1, 1, 0, status, want, tried, 0, NULL, 0, printf('r-m%07d', i), '', link_origin, '', 0, '', 0, 0
			FROM scimwright_sync_state, n WHERE app_id = ?`, marked-1, many)
		return err
	}))
	var marks []engine.Mark
	for n := range users {
		marks = append(marks, userMark(crowdID(n)))
	}
	s.mark(marks...)
	var during atomic.Int64
	e := s.start(provision.Options{Observer: engine.ObserverFunc(func(context.Context, engine.Result) { during.Add(1) })}, 0)
	before, err := s.store.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, before, 1)
	require.Eventually(t, func() bool { return during.Load() > 0 }, deadline, time.Millisecond)
	begun := time.Now()
	require.NoError(t, s.db.Update(t.Context(), func(tx *sqldb.Tx) error {
		n, err := s.store.MarkAll(t.Context(), tx.Execer(), time.Now(), engine.MarkAll{App: many})
		require.EqualValues(t, marked, n)
		return err
	}))
	t.Logf("MarkAll took %s; %d of %d users were finished then", time.Since(begun).Round(time.Millisecond), during.Load(), users)
	s.wait(e, app)
	after, err := s.store.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, after, 1)
	require.Equal(t, before[0].ID, after[0].ID)
	pending, err := s.store.Pending(t.Context(), many)
	require.NoError(t, err)
	require.Equal(t, marked, pending)
	s.stop(e)
}
