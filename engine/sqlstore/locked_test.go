package sqlstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestClaim_SkipsLockedLane checks that Claim returns without a lane whose row another transaction has locked. A process that stalls in a
// transaction holds such locks until the server closes its connection.
//
// Invariant 17
func TestClaim_SkipsLockedLane(t *testing.T) {
	db := sqldbtest.Postgres(t)
	store, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	now := time.UnixMilli(1_800_000_000_000)
	mark := func(tx *sqldb.Tx, app string) error {
		return store.Mark(t.Context(), tx.Execer(), now, []engine.Mark{{App: app, Kind: engine.User, ID: "u"}})
	}
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		if err := mark(tx, "a"); err != nil {
			return err
		}
		return mark(tx, "b")
	}))
	var claimed []engine.Lease
	var next time.Time
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		if err := mark(tx, "a"); err != nil { // the mark locks the row of the lane until the transaction ends
			return err
		}
		claimed, next, err = store.Claim(t.Context(), "heir", now, now.Add(time.Minute), 8)
		return err
	}))
	require.Len(t, claimed, 1)
	require.Equal(t, "b", claimed[0].App)
	require.True(t, next.After(now) && next.Before(now.Add(time.Second)), "a is claimed again soon: %s", next)
	claimed, _, err = store.Claim(t.Context(), "heir", now, now.Add(time.Minute), 8)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.Equal(t, "a", claimed[0].App)
}

// TestTx_AbortedAfterStall checks that PostgreSQL aborts the transaction of a stalled engine, so that another engine can claim the lane.
func TestTx_AbortedAfterStall(t *testing.T) {
	db := sqldbtest.Postgres(t)
	store, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	now := time.Now()
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		return store.Mark(t.Context(), tx.Execer(), now, []engine.Mark{{App: "a", Kind: engine.User, ID: "u"}})
	}))
	claim := func(owner string, at time.Time) []engine.Lease {
		t.Helper()
		leases, _, err := store.Claim(t.Context(), owner, at, at.Add(time.Minute), 8)
		require.NoError(t, err)
		return leases
	}
	first := claim("frozen", now)
	require.Len(t, first, 1)
	frozen, woken, end := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := store.Learn(t.Context(), first[0], func(l *engine.Learned) {
			close(frozen) // the lane is locked
			<-woken
			l.MemberBatch = 7
		})
		end <- err
	}()
	<-frozen
	later := now.Add(time.Hour)
	for limit := now.Add(time.Minute); len(claim("heir", later)) == 0; time.Sleep(10 * time.Millisecond) { // poll interval
		require.True(t, time.Now().Before(limit), "the lane is still locked")
	}
	close(woken)
	require.Error(t, <-end)
	l, err := store.Lane(t.Context(), "a")
	require.NoError(t, err)
	require.Zero(t, l.Learned.MemberBatch, "the change was not stored")
	require.Equal(t, "heir", l.Owner)
}
