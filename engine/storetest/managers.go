package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/lane"
)

// work begins what the users are worked towards.
func (s *suite) work(l lane.Lease, want engine.Want, ids ...string) {
	s.t.Helper()
	var intents []engine.Intent
	for _, id := range ids {
		intents = append(intents, engine.Intent{Kind: engine.User, ID: id, Want: want})
	}
	require.NoError(s.t, s.store.Begin(s.t.Context(), l, intents))
}

func waitingFor(id, manager string) engine.Finish {
	return engine.Finish{ID: id, Status: engine.StatusWaiting, RemoteID: "r" + id, Manager: manager, WaitingOn: []string{manager}, Error: "waiting"}
}

func testManagers(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "boss"}, engine.Mark{ID: "c"}, engine.Mark{ID: "heir"})
	l := s.claim()
	s.work(l, engine.Active, "a", "b", "boss", "c")
	require.Equal(t, engine.StatusWaiting, s.finish(l, waitingFor("a", "boss")))
	require.Equal(t, engine.StatusWaiting, s.finish(l, waitingFor("b", "boss")))
	a := s.state(engine.User, "a")
	require.Equal(t, []any{"boss", []string{"boss"}, a.Desired, false}, []any{a.Manager, a.WaitingOn, a.Synced, a.Anew})
	s.work(l, engine.Inactive, "b")
	s.finish(l, engine.Finish{ID: "c", RemoteID: "rc"})
	s.finish(l, engine.Finish{ID: "heir"})

	s.finish(l, engine.Finish{ID: "boss", RemoteID: "r1"})
	require.Equal(t, []string{"user a"}, s.due(), "who is not to be active needs no manager")
	require.Equal(t, engine.StatusDirty, s.state(engine.User, "a").Status)
	require.Empty(t, s.state(engine.User, "a").WaitingOn)
	s.finish(l, engine.Finish{ID: "a", RemoteID: "ra", Manager: "boss", ManagerID: "r1"})
	s.mark(engine.Mark{ID: "boss"})
	s.finish(l, engine.Finish{ID: "boss", RemoteID: "r1"})
	require.Empty(t, s.due(), "nothing moved")

	s.mark(engine.Mark{ID: "boss"})
	s.finish(l, engine.Finish{ID: "boss", RemoteID: "r2"})
	require.Equal(t, []string{"user a"}, s.due(), "it has another account")
	s.finish(l, engine.Finish{ID: "a", RemoteID: "ra", Manager: "boss", ManagerID: "r2"})

	s.mark(engine.Mark{ID: "c"})
	require.Equal(t, engine.StatusDirty, s.finish(l, engine.Finish{ID: "c", RemoteID: "rc", Manager: "boss", ManagerID: "r1"}),
		"the manager moved while the sequence ran")
	require.Equal(t, engine.StatusClean, s.finish(l, engine.Finish{ID: "c", RemoteID: "rc", Manager: "boss", ManagerID: "r2"}))

	s.work(l, engine.Inactive, "boss")
	s.work(l, engine.Active, "heir")
	s.finish(l, engine.Finish{ID: "heir", RemoteID: "r2"})
	require.ElementsMatch(t, []string{"user a", "user c", "user heir"}, s.due(), "the account of the manager is somebody else's")
	for _, id := range []string{"a", "c"} {
		s.finish(l, engine.Finish{ID: id, RemoteID: "r" + id})
		require.Empty(t, s.state(engine.User, id).Manager)
	}
	s.finish(l, engine.Finish{ID: "heir", RemoteID: "r2", Manager: "heir", ManagerID: "r2"})
	require.Empty(t, s.due(), "somebody may be the manager of himself")
	s.mark(engine.Mark{ID: "heir"})
	s.finish(l, engine.Finish{ID: "heir", RemoteID: "r3", Manager: "heir", ManagerID: "r2"})
	require.Equal(t, []string{"user heir"}, s.due())
	s.finish(l, engine.Finish{ID: "heir", RemoteID: "r3", Manager: "nobody"})
	require.Empty(t, s.due())
}

// testManagerRace gives a manager its account while a user is found to wait for it, and two users that manage each other theirs.
func testManagerRace(t *testing.T, s *suite) {
	for range 20 {
		s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "boss"})
		l := s.claim()
		s.work(l, engine.Active, "a", "boss")
		s.finish(l, engine.Finish{ID: "a"})
		s.finish(l, engine.Finish{ID: "boss"})
		s.race(l, waitingFor("a", "boss"), engine.Finish{ID: "boss", RemoteID: "rboss"})
		require.Equal(t, []string{"user a"}, s.due())

		s.finish(l, engine.Finish{ID: "a"})
		s.finish(l, engine.Finish{ID: "boss"})
		s.race(l, waitingFor("a", "boss"), waitingFor("boss", "a"))
		require.ElementsMatch(t, []string{"user a", "user boss"}, s.due())
		s.finish(l, engine.Finish{ID: "a"})
		s.finish(l, engine.Finish{ID: "boss"})
		require.NoError(t, s.store.Release(t.Context(), l, lane.Hold{}, time.Time{}))
	}
}

// race finishes several sequences at once.
func (s *suite) race(l lane.Lease, finishes ...engine.Finish) {
	s.t.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(finishes))
	for i, f := range finishes {
		f.Kind, f.Gen, f.At = engine.User, s.state(engine.User, f.ID).Desired, s.now
		if f.Status == "" {
			f.Status = engine.StatusClean
		}
		all.Go(func() { _, errs[i] = s.store.Finish(s.t.Context(), l, f) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(s.t, err)
	}
}
