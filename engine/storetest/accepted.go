package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Invariant 23
func testAccepted(t *testing.T, s *suite) {
	ctx := t.Context()
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	p := &engine.Pending{
		Operation: engine.OpDeactivate, Method: "PATCH", Path: "/Users/ra", Txn: "t1", Location: "/Events/t1", RemoteID: "ra", Gen: 1,
		At: s.now.UTC(), Deadline: s.now.Add(10 * time.Minute).UTC(), Version: `W/"1"`,
		Expected: engine.Expectation{Attributes: map[string]engine.Expected{"active": {Sent: "x", Values: map[string]string{"": "y"}}}},
	}
	first := store.Finish{
		ID: "a", Status: engine.StatusPending, NextAt: s.now.Add(2 * time.Second), RemoteID: "ra", Origin: engine.Created,
		Operation: engine.OpDeactivate, HTTP: 202, Pending: p,
	}
	require.Equal(t, engine.StatusPending, s.finish(l, first))
	got := s.state(engine.User, "a")
	require.Empty(t, cmp.Diff(p, got.Pending))
	require.Equal(t, int64(0), got.Synced)
	require.NotZero(t, got.DirtySince, "an accepted change is unsynchronized")
	events := s.events(0)
	require.Equal(t, engine.UserAccepted, events[len(events)-1].Type)
	require.Equal(t, p.Deadline.UnixMilli(), events[len(events)-1].Data.Until.UnixMilli())
	accepted := func() int {
		n, err := s.store.Accepted(ctx, s.app)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1, accepted())

	s.mark(engine.Mark{ID: "a"})
	got = s.state(engine.User, "a")
	require.Equal(t, engine.StatusPending, got.Status, "a newer change does not end the status pending")
	require.Equal(t, first.NextAt, got.NextAt)
	require.Equal(t, int64(2), got.Desired)
	require.NoError(t, s.inTx(ctx, func(tx engine.Execer) error {
		_, err := s.can.markAll.MarkAll(ctx, tx, s.now, engine.MarkAll{App: s.app, Kind: engine.User})
		return err
	}))
	got = s.state(engine.User, "a")
	require.Equal(t, engine.StatusPending, got.Status)
	require.Equal(t, first.NextAt, got.NextAt)
	require.Equal(t, int64(3), got.Desired)
	require.Equal(t, []string{"user b", "group g"}, s.due())

	s.now = s.now.Add(2 * time.Second)
	require.Equal(t, []string{"user a", "user b", "group g"}, s.due(), "accepted changes are listed first")
	p.Reads++
	again := store.Finish{ID: "a", Gen: 1, Status: engine.StatusPending, NextAt: s.now.Add(time.Hour), RemoteID: "ra", Pending: p}
	s.finish(l, again)
	require.Len(t, s.events(0), len(events), "one event per accepted change")
	require.Equal(t, []string{"user b", "group g"}, s.due())
	s.release(l, engine.Hold{}, time.Time{})
	require.NoError(t, s.can.tasks.Retry(ctx, s.now, s.app, engine.User, "a"))
	require.Equal(t, []string{"user a", "user b", "group g"}, s.due(), "a retry makes the principal due immediately")
	require.Equal(t, engine.StatusPending, s.state(engine.User, "a").Status)
	tasks, err := s.can.tasks.Tasks(ctx, engine.TaskQuery{App: s.app})
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	require.Empty(t, cmp.Diff(p, tasks[0].Pending))

	l = s.claim()
	require.NoError(t, s.can.tasks.Dismiss(ctx, s.now, s.app, engine.User, "a"))
	require.Zero(t, accepted())
	require.NotNil(t, s.state(engine.User, "a").Pending, "the target may still apply the change")
	again.Gen = 4
	require.Equal(t, engine.StatusDismissed, s.finish(l, again))
	s.mark(engine.Mark{ID: "a"})
	require.Equal(t, engine.StatusDirty, s.state(engine.User, "a").Status)
	before := s.events(0)
	s.finish(l, store.Finish{ID: "a", Gen: 5, RemoteID: "ra", Operation: engine.OpDeactivate, Confirmed: engine.OpDeactivate})
	require.Nil(t, s.state(engine.User, "a").Pending)
	now := s.events(before[len(before)-1].Seq)
	require.Len(t, now, 1, "the earlier change was applied; this sequence sent nothing")
	require.Equal(t, engine.UserDeactivated, now[0].Type)
}

// Invariant 23, tested without capabilities.
func testPending(t *testing.T, s *suite) {
	accepted := func() int {
		n, err := s.store.Accepted(t.Context(), s.app)
		require.NoError(t, err)
		return n
	}
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"})
	l := s.claim()
	p := &engine.Pending{Operation: engine.OpUpdate, Gen: 1, At: s.now.UTC(), Deadline: s.now.Add(time.Hour).UTC()}
	status := s.finish(l, store.Finish{
		ID: "a", RemoteID: "ra", Status: engine.StatusPending, Operation: engine.OpUpdate, NextAt: s.now.Add(time.Minute), Pending: p,
	})
	require.Equal(t, engine.StatusPending, status)
	require.Equal(t, 1, accepted())
	require.Equal(t, []string{"user b"}, s.due())
	s.mark(engine.Mark{ID: "a"})
	got := s.state(engine.User, "a")
	require.Equal(t, engine.StatusPending, got.Status, "a mark keeps the status")
	require.Empty(t, cmp.Diff(p, got.Pending))
	require.Equal(t, []string{"user b"}, s.due())
	s.mark(engine.Mark{ID: "a", Retry: true})
	require.Equal(t, []string{"user a", "user b"}, s.due(), "a retry makes the principal due immediately, before others")
	s.finish(l, store.Finish{ID: "a", Gen: got.Desired + 1, RemoteID: "ra", Operation: engine.OpUpdate, Confirmed: engine.OpUpdate})
	require.Zero(t, accepted())
	require.Equal(t, []string{"user b"}, s.due())
}
