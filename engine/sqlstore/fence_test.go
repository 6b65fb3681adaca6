package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestFence_HoldsEpoch checks that nothing changes the epoch of a lane from a call of fence to the end of its transaction, and that marks
// and results of the lane do not wait for that transaction.
func TestFence_HoldsEpoch(t *testing.T) {
	pool := sqldbtest.PostgresPlace(t).Open(t)
	s, err := Open(t.Context(), pool, Options{Dialect: Postgres})
	require.NoError(t, err)
	now := time.Now()
	when := store.When{Now: now, Recheck: now}
	join := func(name string) string {
		p, _, err := s.Join(t.Context(), store.Joining{Name: name, Lease: time.Hour, When: when})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Leave(context.Background(), p.ID, when)) })
		return p.ID
	}
	mark := func(ctx context.Context, ids ...string) error {
		return s.update(ctx, func(tx *sqldb.Tx) error {
			var marks []engine.Mark
			for _, id := range ids {
				marks = append(marks, engine.Mark{App: "a", Kind: engine.User, ID: id})
			}
			return s.Mark(ctx, tx.Execer(), now, marks)
		})
	}
	require.NoError(t, mark(t.Context(), "u", "v"))
	heir, owner := join("heir"), join("owner")
	leases, err := s.Claim(t.Context(), owner, now, 8)
	require.NoError(t, err)
	_, err = pool.Exec(`UPDATE scimwright_process SET valid_until = 0 WHERE id = $1`, owner)
	require.NoError(t, err)
	require.Len(t, leases, 1)
	l := leases[0]

	waits := errors.New("waits for a lock")
	waiting := func() (pids []int) { // sessions that wait for a lock
		rows, err := pool.Query(`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		pids, err = collect(rows, err, func(r *sql.Rows, pid *int) error { return r.Scan(pid) })
		require.NoError(t, err)
		return pids
	}
	soon := func(fn func(ctx context.Context) error) error { // returns waits if fn waits for a lock
		before := waiting() // the server notices later that an earlier call was canceled
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- fn(ctx) }()
		for {
			select {
			case err := <-done:
				return err
			case <-time.After(5 * time.Millisecond): // poll interval
			}
			if slices.ContainsFunc(waiting(), func(pid int) bool { return !slices.Contains(before, pid) }) {
				cancel()
				<-done
				return waits
			}
		}
	}
	finish := func(ctx context.Context) error {
		_, err := s.Finish(ctx, l, store.Finish{Kind: engine.User, ID: "u", Gen: 1, Status: engine.StatusClean, RemoteID: "r", At: now})
		return err
	}
	release := func(ctx context.Context) error {
		_, err := s.Release(ctx, l, engine.Hold{}, time.Time{})
		return err
	}
	tx, err := pool.Begin() // without the idle limit of the store
	require.NoError(t, err)
	defer tx.Rollback()
	require.NoError(t, fence(t.Context(), s.db.Wrap(tx), l))
	require.NoError(t, soon(func(ctx context.Context) error { return mark(ctx, "v") }))
	require.NoError(t, soon(finish))
	require.NoError(t, soon(func(ctx context.Context) error {
		return s.Begin(ctx, l, []store.Intent{{Kind: engine.User, ID: "v", Want: engine.Active}})
	}))
	require.ErrorIs(t, soon(release), waits)
	locked, err := s.Reap(t.Context(), heir, when)
	require.NoError(t, err)
	require.Zero(t, lanesOf(locked))
	require.ErrorIs(t, soon(func(ctx context.Context) error {
		return s.update(ctx, func(tx *sqldb.Tx) error { return s.Forget(ctx, tx.Execer(), "a") })
	}), waits)
	require.NoError(t, tx.Commit())
	var taken []store.Takeover
	for limit := time.Now().Add(time.Minute); len(taken) == 0; time.Sleep(5 * time.Millisecond) { // poll interval
		taken, err = s.Reap(t.Context(), heir, when)
		require.NoError(t, err)
		require.True(t, time.Now().Before(limit), "the lane is still locked")
	}
	require.Equal(t, []string{"a"}, taken[0].Apps)
	require.ErrorIs(t, finish(t.Context()), engine.ErrLeaseLost)
	require.ErrorIs(t, release(t.Context()), engine.ErrLeaseLost)
}
