package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// halts returns the halts of the test's app, without those for all apps, because other tests share the store.
func (s *suite) halts() (own []engine.Halt) {
	s.t.Helper()
	all, err := s.store.Halts(s.t.Context(), s.app)
	require.NoError(s.t, err)
	for _, h := range all {
		if h.App == s.app {
			own = append(own, h)
		}
	}
	return own
}

func (s *suite) halt(app, reason string, ops ...engine.Operation) {
	s.t.Helper()
	require.NoError(s.t, s.can.halts.Halt(s.t.Context(), app, ops, reason, s.now))
}

func (s *suite) resume(app string, ops ...engine.Operation) {
	s.t.Helper()
	require.NoError(s.t, s.can.halts.Resume(s.t.Context(), app, ops, s.now))
}

func heldBy(id string, op engine.Operation) store.Finish {
	return store.Finish{ID: id, Status: engine.StatusHeld, Operation: op, Halted: true, Error: "halted", RemoteID: "r" + id}
}

func testHalts(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"}, engine.Mark{ID: "d"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	s.halt(s.app, "first", engine.OpUpdate, engine.OpDeactivate)
	since := s.now
	s.now = s.now.Add(time.Minute)
	s.halt(s.app, "second", engine.OpDeactivate)
	want := []engine.Halt{
		{App: s.app, Operation: engine.OpDeactivate, Reason: "second", Since: since},
		{App: s.app, Operation: engine.OpUpdate, Reason: "first", Since: since},
	}
	require.Empty(t, cmp.Diff(want, s.halts()))

	require.Equal(t, engine.StatusHeld, s.finish(l, heldBy("a", engine.OpUpdate)))
	require.Equal(t, engine.StatusHeld, s.finish(l, heldBy("b", engine.OpDeactivate)))
	// c is held, but not because of a halt
	s.finish(l, store.Finish{ID: "c", Status: engine.StatusHeld, Operation: engine.OpUpdate, RemoteID: "rc"})
	require.Equal(t, engine.StatusDirty, s.finish(l, heldBy("d", engine.OpCreate)), "the operation is no longer halted")
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusHeld, Operation: engine.OpUpdate, Halted: true})
	require.Equal(t, []string{"user d"}, s.due())
	require.False(t, s.state(engine.User, "d").Halted)
	s.finish(l, store.Finish{ID: "d", RemoteID: "rd"})
	a := s.state(engine.User, "a")
	require.True(t, a.Halted)
	require.Equal(t, []any{engine.StatusHeld, int64(1), int64(0), engine.OpUpdate}, []any{a.Status, a.Desired, a.Synced, a.LastOperation},
		"a halted principal is not synchronized")
	n, err := s.can.approvals.Approve(t.Context(), s.app, s.now, 0)
	require.NoError(t, err, "approvals do not count halted principals")
	require.Zero(t, n)

	s.release(l, engine.Hold{}, time.Time{})
	require.False(t, s.claimable())
	s.resume(s.app, engine.OpUpdate, engine.OpLink)
	require.Equal(t, []string{"user a", "group g"}, s.due())
	require.True(t, s.claimable())
	require.Equal(t, engine.StatusDirty, s.state(engine.User, "a").Status)
	require.Equal(t, engine.StatusHeld, s.state(engine.User, "c").Status,
		"resuming the operations does not release a principal that waits for a decision")
	require.Equal(t, want[:1], s.halts())

	// The halt for all apps uses an operation that no other test uses.
	const all = engine.Operation("delete-by-test")
	s.halt("", "everywhere", all)
	l = s.claim()
	s.finish(l, heldBy("a", all))
	s.resume(s.app, all)
	require.Contains(t, s.due(), "user a")
	require.Equal(t, engine.StatusHeld, s.finish(l, heldBy("a", all)), "resuming one app does not end a halt for all apps")
	found, err := s.store.Halts(t.Context(), "")
	require.NoError(t, err)
	require.Contains(t, found, engine.Halt{Operation: all, Reason: "everywhere", Since: s.now})
	s.resume("", all)
	require.Contains(t, s.due(), "user a")

	s.mark(engine.Mark{ID: "b"})
	require.False(t, s.state(engine.User, "b").Halted, "a mark requeues a halted principal")
}

// testHaltRace ends a halt while the result of a principal that it blocks is stored. The principal must be requeued.
//
// Invariant 14
func testHaltRace(t *testing.T, s *suite) {
	for range 20 {
		s.mark(engine.Mark{ID: "a"})
		l := s.claim()
		s.halt(s.app, "", engine.OpUpdate)
		f := heldBy("a", engine.OpUpdate)
		f.Kind, f.Gen, f.At = engine.User, s.state(engine.User, "a").Desired, s.now
		var both sync.WaitGroup
		var finished, resumed error
		both.Go(func() { _, finished = s.store.Finish(t.Context(), l, f) })
		both.Go(func() { resumed = s.can.halts.Resume(t.Context(), s.app, []engine.Operation{engine.OpUpdate}, s.now) })
		both.Wait()
		require.NoError(t, finished)
		require.NoError(t, resumed)
		require.Equal(t, []string{"user a"}, s.due())
		s.release(l, engine.Hold{}, time.Time{})
	}
}
