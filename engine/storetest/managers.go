package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// work calls Begin for users with the desired state.
func (s *suite) work(l engine.Lease, want engine.Want, ids ...string) {
	s.t.Helper()
	var intents []store.Intent
	for _, id := range ids {
		intents = append(intents, store.Intent{Kind: engine.User, ID: id, Want: want})
	}
	require.NoError(s.t, s.store.Begin(s.t.Context(), l, intents))
}

// manage calls Begin for users that have a manager.
func (s *suite) manage(l engine.Lease, manager string, ids ...string) {
	s.t.Helper()
	var intents []store.Intent
	for _, id := range ids {
		intents = append(intents, store.Intent{Kind: engine.User, ID: id, Want: engine.Active, Manager: manager})
	}
	require.NoError(s.t, s.store.Begin(s.t.Context(), l, intents))
}

func waitingFor(id, manager string) store.Finish {
	return store.Finish{ID: id, Status: engine.StatusWaiting, RemoteID: "r" + id, Manager: manager, WaitingOn: []string{manager},
		Error: "waiting"}
}

// Invariant 19
func testManagers(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "boss"}, engine.Mark{ID: "c"}, engine.Mark{ID: "heir"})
	l := s.claim()
	s.work(l, engine.Active, "boss")
	s.manage(l, "boss", "a", "b", "c")
	require.Equal(t, "boss", s.state(engine.User, "a").Manager, "the manager is stored before the first request")
	require.Equal(t, engine.StatusWaiting, s.finish(l, waitingFor("a", "boss")))
	require.Equal(t, engine.StatusWaiting, s.finish(l, waitingFor("b", "boss")))
	a := s.state(engine.User, "a")
	require.Equal(t, []any{"boss", []string{"boss"}, a.Desired, false}, []any{a.Manager, a.WaitingOn, a.Synced, a.Activating})
	s.work(l, engine.Inactive, "b")
	require.Equal(t, "boss", s.state(engine.User, "b").Manager)
	s.finish(l, store.Finish{ID: "heir"})

	s.finish(l, store.Finish{ID: "boss", RemoteID: "r1"})
	require.ElementsMatch(t, []string{"user a", "user c"}, s.due(), "only active users need a manager")
	require.Equal(t, engine.StatusDirty, s.state(engine.User, "a").Status)
	require.Empty(t, s.state(engine.User, "a").WaitingOn)
	s.finish(l, store.Finish{ID: "a", RemoteID: "ra", Manager: "boss"})
	require.Equal(t, engine.StatusDirty, s.finish(l, store.Finish{ID: "c", Gen: 1, RemoteID: "rc", Manager: "boss"}),
		"the manager got its account during the sequence")
	s.finish(l, store.Finish{ID: "c", RemoteID: "rc", Manager: "boss"})
	s.mark(engine.Mark{ID: "boss"})
	s.finish(l, store.Finish{ID: "boss", RemoteID: "r1"})
	require.Empty(t, s.due(), "no account has changed")

	s.mark(engine.Mark{ID: "boss"})
	s.finish(l, store.Finish{ID: "boss", RemoteID: "r2"})
	require.ElementsMatch(t, []string{"user a", "user c"}, s.due(), "the manager has another account")
	s.finish(l, store.Finish{ID: "a", RemoteID: "ra", Manager: "boss"})
	s.finish(l, store.Finish{ID: "c", RemoteID: "rc", Manager: "boss"})

	s.work(l, engine.Inactive, "boss")
	s.work(l, engine.Active, "heir")
	s.finish(l, store.Finish{ID: "heir", RemoteID: "r2"})
	require.ElementsMatch(t, []string{"user a", "user c", "user heir"}, s.due(), "the account of the manager belongs to another user")
	for _, id := range []string{"a", "c"} {
		s.finish(l, store.Finish{ID: id, RemoteID: "r" + id})
		require.Empty(t, s.state(engine.User, id).Manager)
	}
	s.manage(l, "heir", "heir")
	s.finish(l, store.Finish{ID: "heir", RemoteID: "r3", Manager: "heir"})
	require.Equal(t, []string{"user heir"}, s.due(), "a user may be its own manager")
	s.finish(l, store.Finish{ID: "heir", RemoteID: "r3", Manager: "heir"})
	require.Empty(t, s.due())
}

// testManagerRace gives a manager its account while Begin stores it as the manager of a user. It also gives two users that manage each
// other their accounts at the same time.
//
// Invariant 19
func testManagerRace(t *testing.T, s *suite) {
	for range 20 {
		s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "boss"})
		l := s.claim()
		s.work(l, engine.Active, "a", "boss")
		var both sync.WaitGroup
		read := ""
		both.Go(func() {
			s.manage(l, "boss", "a")
			read = s.state(engine.User, "boss").RemoteID
		})
		both.Go(func() { s.race(l, store.Finish{ID: "boss", RemoteID: "rboss"}) })
		both.Wait()
		if read == "" {
			require.Equal(t, engine.StatusDirty, s.finish(l, store.Finish{ID: "a", Gen: 1, Manager: "boss", Status: engine.StatusWaiting}),
				"Finish of the manager requeues the user that has not read the manager's account")
		}
		s.finish(l, store.Finish{ID: "a"})
		s.finish(l, store.Finish{ID: "boss"})

		s.manage(l, "boss", "a")
		s.manage(l, "a", "boss")
		s.race(l, waitingFor("a", "boss"), waitingFor("boss", "a"))
		require.ElementsMatch(t, []string{"user a", "user boss"}, s.due())
		s.finish(l, store.Finish{ID: "a"})
		s.finish(l, store.Finish{ID: "boss"})
		s.release(l, engine.Hold{}, time.Time{})
		s.now = s.now.Add(time.Second)
		require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error { return s.store.Forget(t.Context(), tx, s.app) }))
	}
}

// testAccountRace finishes sequences of users that have found the same account at the same time: one of them gets it. It also does so when
// the owner of the account gets another one.
//
// Invariant 6
func testAccountRace(t *testing.T, s *suite) {
	users := []string{"a", "b", "c", "d"}
	owners := func(account string) (out []string) {
		found, err := s.store.States(t.Context(), engine.StateQuery{App: s.app, Kind: engine.User, RemoteID: account})
		require.NoError(t, err)
		for _, u := range found {
			out = append(out, u.ID)
		}
		return out
	}
	for n := range 20 {
		var marks []engine.Mark
		for _, u := range users {
			marks = append(marks, engine.Mark{ID: u})
		}
		s.mark(marks...)
		l := s.claim()
		s.work(l, engine.Active, users...)
		first, second := fmt.Sprint("first-", n), fmt.Sprint("second-", n)
		var all []store.Finish
		for _, u := range users {
			all = append(all, store.Finish{ID: u, RemoteID: first})
		}
		s.race(l, all...)
		got := owners(first)
		require.Len(t, got, 1)
		for i := range all {
			if all[i].ID == got[0] {
				all[i].RemoteID = second
			}
		}
		s.race(l, all...)
		require.Equal(t, got, owners(second))
		require.LessOrEqual(t, len(owners(first)), 1)
		s.release(l, engine.Hold{}, time.Time{})
		s.now = s.now.Add(time.Second)
		require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error { return s.store.Forget(t.Context(), tx, s.app) }))
	}
}

// race finishes several sequences concurrently.
func (s *suite) race(l engine.Lease, finishes ...store.Finish) {
	s.t.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(finishes))
	for i, f := range finishes { // read all generations before the first sequence is finished
		f.Kind, f.Gen, f.At = engine.User, s.state(engine.User, f.ID).Desired, s.now
		if f.Status == "" {
			f.Status = engine.StatusClean
		}
		finishes[i] = f
	}
	for i, f := range finishes {
		all.Go(func() { _, errs[i] = s.store.Finish(s.t.Context(), l, f) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(s.t, err)
	}
}
