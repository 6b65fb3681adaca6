package sqlstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
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
	states, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	now := time.UnixMilli(1_800_000_000_000)
	mark := func(tx *sqldb.Tx, app string) error {
		return states.Mark(t.Context(), tx.Execer(), now, []engine.Mark{{App: app, Kind: engine.User, ID: "u"}})
	}
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		if err := mark(tx, "a"); err != nil {
			return err
		}
		return mark(tx, "b")
	}))
	heir := join(t, states, "heir", time.Minute)
	var claimed []engine.Lease
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		if err := mark(tx, "a"); err != nil { // the mark locks the row of the lane until the transaction ends
			return err
		}
		claimed, err = states.Claim(t.Context(), heir, now, 8)
		return err
	}))
	require.Len(t, claimed, 1)
	require.Equal(t, "b", claimed[0].App)
	claimed, err = states.Claim(t.Context(), heir, now, 8)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.Equal(t, "a", claimed[0].App)
}

// join adds a process that leaves at the end of the test.
func join(t *testing.T, s *sqlstore.Store, name string, lease time.Duration) string {
	t.Helper()
	now := time.Now()
	p, _, err := s.Join(t.Context(), store.Joining{Name: name, Lease: lease, When: when(now)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Leave(context.Background(), p.ID, when(now))) })
	return p.ID
}

func when(now time.Time) store.When { return store.When{Now: now, Recheck: now.Add(time.Minute)} }

// TestTx_AbortedAfterStall checks that PostgreSQL aborts the transaction of a stalled engine, so that another engine can claim the lane.
func TestTx_AbortedAfterStall(t *testing.T) {
	db := sqldbtest.Postgres(t)
	states, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	now := time.Now()
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		return states.Mark(t.Context(), tx.Execer(), now, []engine.Mark{{App: "a", Kind: engine.User, ID: "u"}})
	}))
	const lease = 200 * time.Millisecond
	first, err := states.Claim(t.Context(), join(t, states, "frozen", lease), now, 8)
	require.NoError(t, err)
	require.Len(t, first, 1)
	heir := join(t, states, "heir", time.Hour)
	taken := func() bool {
		t.Helper()
		taken, err := states.Reap(t.Context(), heir, when(now))
		require.NoError(t, err)
		return len(taken) > 0
	}
	frozen, woken, end := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := states.Learn(t.Context(), first[0], func(l *engine.Learned) {
			close(frozen) // the lane is locked
			<-woken
			l.MemberBatch = 7
		})
		end <- err
	}()
	<-frozen
	for dead := time.Now().Add(2 * lease); time.Now().Before(dead); time.Sleep(10 * time.Millisecond) { // poll interval
		require.False(t, taken(), "a takeover does not wait for the locked lane")
	}
	for limit := now.Add(time.Minute); !taken(); time.Sleep(10 * time.Millisecond) { // poll interval
		require.True(t, time.Now().Before(limit), "the lane is still locked")
	}
	claimed, err := states.Claim(t.Context(), heir, now, 8)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	close(woken)
	require.Error(t, <-end)
	l, err := states.Lane(t.Context(), "a")
	require.NoError(t, err)
	require.Zero(t, l.Learned.MemberBatch, "the change was not stored")
	require.Equal(t, "heir", l.Owner)
}

// TestSaveMembers_BeforeAccount checks that a sequence that gives a user an account finds the groups whose members another transaction is
// storing, whether the user is one of a few members or of many.
func TestSaveMembers_BeforeAccount(t *testing.T) {
	for _, others := range []int{0, 500} {
		db := sqldbtest.Postgres(t)
		states, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
		require.NoError(t, err)
		now := time.Now()
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			return states.Mark(t.Context(), tx.Execer(), now, []engine.Mark{
				{App: "a", Kind: engine.User, ID: "u"}, {App: "a", Kind: engine.Group, ID: "g"},
			})
		}))
		leases, err := states.Claim(t.Context(), join(t, states, "owner", time.Hour), now, 8)
		require.NoError(t, err)
		require.Len(t, leases, 1)
		l := leases[0]
		members := []store.MemberAnswer{{User: "u", Want: true}}
		for n := range others {
			members = append(members, store.MemberAnswer{User: fmt.Sprint("other-", n), Want: true})
		}
		waiting := func(n int) {
			t.Helper()
			for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // poll interval
				var found int
				require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&found))
				if found == n {
					return
				}
				require.True(t, time.Now().Before(limit), "%d transactions wait", found)
			}
		}
		saved, finished := make(chan error, 1), make(chan error, 1)
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT 1 FROM scimwright_app_lane FOR UPDATE`); err != nil {
				return err
			}
			go func() { saved <- states.SaveMembers(t.Context(), l, "g", 1, members) }()
			waiting(1) // the members are written and not committed
			go func() {
				_, err := states.Finish(t.Context(), l,
					store.Finish{Kind: engine.User, ID: "u", Gen: 1, Status: engine.StatusClean, RemoteID: "r", At: now})
				finished <- err
			}()
			waiting(2)
			return nil
		}))
		require.NoError(t, <-saved)
		require.NoError(t, <-finished)
		group, err := states.States(t.Context(), engine.StateQuery{App: "a", Kind: engine.Group, ID: "g"})
		require.NoError(t, err)
		require.EqualValues(t, 2, group[0].Desired, "the group is requeued")
	}
}
