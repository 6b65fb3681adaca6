package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Invariant 13
func testRemovals(t *testing.T, s *suite) {
	var ids []string
	var intents []store.Intent
	for i := range 6 {
		ids = append(ids, fmt.Sprint("u", i))
		intents = append(intents, store.Intent{Kind: engine.User, ID: ids[i], Want: engine.Inactive})
		s.mark(engine.Mark{ID: ids[i]})
	}
	l := s.claim()
	for _, id := range ids {
		s.finish(l, store.Finish{ID: id, RemoteID: "r" + id, Origin: engine.Created})
	}
	guard := engine.Guard{Limit: 2, Percent: 50, Window: time.Hour}
	remove := func(id string) int {
		many, err := s.store.Remove(t.Context(), l, engine.User, id, s.now, guard)
		require.NoError(t, err)
		return many
	}
	hold := func(id string) {
		s.finish(l, store.Finish{ID: id, Status: engine.StatusHeld, Operation: engine.OpDeactivate, RemoteID: "r" + id})
	}
	leave := func(from, to int) {
		for _, id := range ids[from:to] {
			s.mark(engine.Mark{ID: id})
		}
		require.NoError(t, s.store.Begin(t.Context(), l, intents[from:to]))
	}
	leave(0, 1)
	require.Zero(t, remove("u0"))
	require.Zero(t, remove("u0"), "a repeated removal counts once")
	s.finish(l, store.Finish{ID: "u0", Operation: engine.OpDeactivate, RemoteID: "ru0"})

	leave(1, 4)
	require.Equal(t, 4, remove("u1"), "1 removal was carried out and 3 are pending; the guard allows 3 of 6")
	hold("u1")
	require.Equal(t, 4, remove("u2"), "removals on hold count too")
	hold("u2")
	require.Equal(t, 4, remove("u3"))
	hold("u3")

	_, err := s.can.approvals.Approve(t.Context(), s.app, s.now, 2)
	require.ErrorIs(t, err, engine.ErrStale)
	require.Equal(t, engine.StatusHeld, s.state(engine.User, "u1").Status)
	n, err := s.can.approvals.Approve(t.Context(), s.app, s.now, 3)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, engine.StatusDirty, s.state(engine.User, "u1").Status)
	for _, id := range ids[1:4] {
		require.Zero(t, remove(id))
		s.finish(l, store.Finish{ID: id, Operation: engine.OpDeactivate, RemoteID: "r" + id})
	}
	leave(4, 5)
	require.Zero(t, remove("u4"), "approved removals do not count")
	s.finish(l, store.Finish{ID: "u4", Operation: engine.OpDeactivate, RemoteID: "ru4"})

	s.now = s.now.Add(time.Hour)
	leave(0, 3)
	require.Zero(t, remove("u0"), "the window of the guard has passed")
	s.release(l, engine.Hold{}, time.Time{})
	_, err = s.store.Remove(t.Context(), l, engine.User, "u5", s.now, guard)
	require.ErrorIs(t, err, engine.ErrLeaseLost)
}
