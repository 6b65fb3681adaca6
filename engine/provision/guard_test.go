package provision_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestGuard_AllowsLargerBound(t *testing.T) {
	require.Equal(t, 5, engine.Guard{Limit: 5, Percent: 10}.Allowed(20))
	require.Equal(t, 10, engine.Guard{Limit: 5, Percent: 10}.Allowed(100))
	require.Equal(t, 5, engine.Guard{Limit: 5}.Allowed(1_000_000))
	require.Equal(t, 0, engine.Guard{Percent: 10}.Allowed(9))
}

// TestGuard_MassDeactivation checks that a mass of deactivations waits for an approval while other changes continue.
//
// Invariant 13
func TestGuard_MassDeactivation(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.as(func(t *engine.Target) { t.Guard = engine.Guard{Limit: 3} })
		id := func(i int) string { return fmt.Sprintf("u-%02d", i) }
		var marks []engine.Mark
		for i := range 12 {
			w.dir.SetUser(app, id(i), user(id(i), id(i)))
			marks = append(marks, userMark(id(i)))
		}
		w.mark(marks...)
		w.wait()
		inactive := func() (n int) {
			for _, u := range w.fake.Users() {
				if on, _ := u.Bool("active"); !on {
					n++
				}
			}
			return n
		}
		held := func() int {
			n, err := w.engine.Apps().Counts(t.Context(), app)
			require.NoError(t, err)
			return n[engine.StatusHeld]
		}
		w.set(id(0), off(id(0), id(0)))
		w.set(id(1), off(id(1), id(1)))
		w.wait()
		require.Equal(t, 2, inactive(), "a few deactivations are allowed")

		for i := range 12 {
			w.dir.SetUser(app, id(i), off(id(i), id(i)))
		}
		w.mark(marks...)
		w.wait()
		require.Equal(t, 2, inactive(), "not even the first of a mass deactivation")
		require.Equal(t, 10, held())
		s := w.state(engine.User, id(5))
		require.Equal(t, engine.OpDeactivate, s.LastOperation)
		require.Contains(t, s.LastError,
			"deactivate: 12 accounts would be removed within 24h0m0s, more than the deletion guard allows: approval required")

		w.set("u-new", user("u-new", "new"))
		w.set(id(11), user(id(11), "renamed"))
		w.wait()
		require.Len(t, w.fake.Users(), 13, "everything else continues")
		require.Equal(t, 9, held(), "one is desired again")

		require.ErrorIs(t, w.engine.Apps().Approve(t.Context(), app, 10), engine.ErrStale)
		require.NoError(t, w.engine.Apps().Approve(t.Context(), app, 9))
		w.wait()
		require.Equal(t, 11, inactive())
		require.Zero(t, held())
	})
}

// TestGuard_MassGroupDeletion checks that a mass of group deletions waits for an approval.
func TestGuard_MassGroupDeletion(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.Guard = engine.Guard{Limit: 1} })
	for _, want := range []engine.GroupState{{Want: engine.Active}, {Want: engine.Absent, DeleteRemote: true}} {
		var marks []engine.Mark
		for i := range 9 {
			id := fmt.Sprint("g", i)
			want.DisplayName = id
			w.dir.SetGroup(app, id, want)
			marks = append(marks, groupMark(id))
		}
		w.mark(marks...)
		w.wait()
	}
	require.Len(t, w.fake.Groups(), 9)
	require.Equal(t, engine.StatusHeld, w.state(engine.Group, "g1").Status)
	require.NoError(t, w.engine.Apps().Approve(t.Context(), app, 9))
	w.wait()
	require.Empty(t, w.fake.Groups())
}

// TestLinkAsk_WaitsForDecision checks that the engine links an existing account only after the directory names it, and to one user only.
func TestLinkAsk_WaitsForDecision(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.OnExisting = engine.LinkAsk })
	theirs := w.fake.Add("Users", user("", "ann").Resource)
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	s := w.state(engine.User, "u-1")
	require.Equal(t, engine.StatusHeld, s.Status)
	require.Equal(t, "account "+theirs+" already exists: confirm that it belongs to the user", s.LastError)
	require.Empty(t, s.RemoteID)
	require.Empty(t, w.fake.Users()[0].ExternalID(), "no write")

	linked := user("u-1", "ann")
	linked.RemoteID = theirs
	w.set("u-1", linked)
	w.wait()
	s = w.state(engine.User, "u-1")
	require.Equal(t, []any{engine.StatusClean, theirs, engine.Linked}, []any{s.Status, s.RemoteID, s.Origin}, s.LastError)
	require.Equal(t, "u-1", w.fake.Users()[0].ExternalID())

	other := user("u-2", "bob")
	other.RemoteID = theirs
	w.set("u-2", other)
	w.wait()
	s = w.state(engine.User, "u-2")
	require.Equal(t, engine.StatusHeld, s.Status)
	require.Equal(t, "account "+theirs+" already belongs to user u-1", s.LastError)

	other.RemoteID = "nobody"
	w.set("u-2", other)
	w.wait()
	require.Equal(t, engine.StatusFailed, w.state(engine.User, "u-2").Status, "no other account is linked instead")
	require.Len(t, w.fake.Users(), 1)
}
