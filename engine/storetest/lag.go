package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Invariant 22
func testLag(t *testing.T, s *suite) {
	lag := func() engine.Lag {
		found, err := s.can.lags.Lags(t.Context(), s.app)
		require.NoError(t, err)
		require.Len(t, found, 1)
		return found[0]
	}
	since := func(id string) time.Time { return s.state(engine.User, id).DirtySince }
	found, err := s.can.lags.Lags(t.Context(), s.app)
	require.NoError(t, err)
	require.Empty(t, found)

	first := s.now
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"}, engine.Mark{Kind: engine.Group, ID: "g"})
	s.now = s.now.Add(time.Minute)
	second := s.now
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "d"})
	require.Equal(t, first, since("a"), "a later mark does not change DirtySince")
	require.Equal(t, second, since("d"))
	require.Empty(t, cmp.Diff(engine.Lag{App: s.app, Due: 5, Oldest: first}, lag()))

	l := s.claim()
	s.now = s.now.Add(time.Minute)
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, Attempts: 1, NextAt: s.now.Add(time.Hour)})
	s.finish(l, store.Finish{ID: "b", Status: engine.StatusFailed})
	s.finish(l, store.Finish{ID: "c", Status: engine.StatusHeld})
	require.Equal(t, first, since("a"), "a failure does not change DirtySince")
	require.Equal(t, first, since("b"))
	want := engine.Lag{App: s.app, Due: 3, Oldest: first, Failed: 1, Held: 1, Retrying: 1}
	require.Empty(t, cmp.Diff(want, lag()))
	s.finish(l, store.Finish{ID: "a"})
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusWaiting})
	require.Zero(t, since("a"))
	want = engine.Lag{App: s.app, Due: 1, Oldest: second, Failed: 1, Held: 1, LastSuccess: s.now}
	require.Empty(t, cmp.Diff(want, lag()), "permanent failures do not count as due")

	s.now = s.now.Add(time.Minute)
	third := s.now
	s.mark(engine.Mark{ID: "d"})
	s.now = s.now.Add(time.Minute)
	s.finish(l, store.Finish{ID: "d", Gen: 1, Status: engine.StatusSkipped})
	require.Equal(t, third, since("d"), "the mark during the sequence is not synchronized yet")
	h := engine.Hold{Kind: engine.HoldQuarantine, Until: s.now.Add(time.Hour), Reason: "no", Streak: 2}
	s.release(l, h, time.Time{})
	want.Oldest, want.Hold = third, h
	require.Empty(t, cmp.Diff(want, lag()))

	all, err := s.can.lags.Lags(t.Context(), "")
	require.NoError(t, err)
	require.Contains(t, all, want)
}

// Invariant 22
func testOverdue(t *testing.T, s *suite) {
	ctx := t.Context()
	s.mark(engine.Mark{ID: "gone"}, engine.Mark{ID: "known"}, engine.Mark{ID: "tried"}, engine.Mark{ID: "new"},
		engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	require.NoError(t, s.store.Begin(ctx, l, []store.Intent{{Kind: engine.User, ID: "tried", Want: engine.Active}}))
	for _, id := range []string{"gone", "known"} {
		s.finish(l, store.Finish{ID: id, RemoteID: "r " + id, Origin: engine.Created})
		s.mark(engine.Mark{ID: id})
	}
	late := func(after *engine.State, limit int) (ids []string, page []engine.State) {
		page, err := s.can.lags.OverdueUsers(ctx, s.app, s.now, after, limit)
		require.NoError(t, err)
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		return ids, page
	}
	ids, _ := late(nil, 10)
	require.Equal(t, []string{"gone", "known", "tried"}, ids, "users that cannot have an account are not overdue")
	_, page := late(nil, 2)
	ids, _ = late(&page[1], 2)
	require.Equal(t, []string{"tried"}, ids)
	apps, err := s.can.lags.OverdueApps(ctx, s.now)
	require.NoError(t, err)
	require.Contains(t, apps, s.app)
	apps, err = s.can.lags.OverdueApps(ctx, s.now.Add(-time.Millisecond))
	require.NoError(t, err)
	require.NotContains(t, apps, s.app)

	overdue := func(id string, before time.Time) bool {
		first, err := s.can.lags.Overdue(ctx, s.app, id, before, s.now)
		require.NoError(t, err)
		return first
	}
	require.False(t, overdue("gone", s.now.Add(-time.Millisecond)), "not yet")
	require.True(t, overdue("gone", s.now))
	require.False(t, overdue("gone", s.now), "once")
	require.False(t, overdue("new", s.now))
	s.mark(engine.Mark{ID: "gone"})
	s.finish(l, store.Finish{ID: "gone", Status: engine.StatusFailed, RemoteID: "r gone"})
	require.False(t, overdue("gone", s.now), "the same deactivation is not reported twice")
	s.mark(engine.Mark{ID: "gone"})
	s.finish(l, store.Finish{ID: "gone", RemoteID: "r gone"})
	require.False(t, overdue("gone", s.now), "a synchronized deactivation is not overdue")
	s.mark(engine.Mark{ID: "gone"})
	require.True(t, overdue("gone", s.now), "another deactivation")
}
