package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testTasks(t *testing.T, s *suite) {
	ctx := t.Context()
	list := func(q engine.TaskQuery) (ids []string) {
		q.App, q.Now = s.app, s.now
		found, err := s.can.tasks.Tasks(ctx, q)
		require.NoError(t, err)
		for _, f := range found {
			ids = append(ids, fmt.Sprintf("%s %s %s", f.Kind, f.ID, f.Status))
		}
		return ids
	}
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"}, engine.Mark{ID: "d"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	later := s.now.Add(time.Hour)
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, Attempts: 2, NextAt: later})
	s.finish(l, store.Finish{ID: "b", Status: engine.StatusFailed, Operation: engine.OpUpdate, HTTP: 400, RemoteID: "rb"})
	s.finish(l, store.Finish{ID: "c"})
	s.finish(l, store.Finish{ID: "d", Status: engine.StatusHeld})
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusFailed})
	all := []string{"group g failed", "user a retrying", "user b failed", "user d held"}
	require.Equal(t, all, list(engine.TaskQuery{}))
	require.Equal(t, all[:2], list(engine.TaskQuery{Limit: 2}))
	require.Equal(t, all[2:], list(engine.TaskQuery{After: &engine.Task{App: s.app, Kind: engine.User, ID: "a"}}))
	require.Empty(t, s.due())
	s.release(l, engine.Hold{Kind: engine.HoldBreaker, Until: later}, time.Time{})

	s.mark(engine.Mark{ID: "c"})
	held := []string{all[0], all[1], all[2], "user c dirty", all[3]}
	require.Equal(t, held, list(engine.TaskQuery{}), "principals that wait for the end of the hold are listed")
	require.Equal(t, held[:4], list(engine.TaskQuery{Limit: 4}))
	require.Equal(t, held[3:], list(engine.TaskQuery{After: &engine.Task{App: s.app, Kind: engine.User, ID: "b"}}))
	s.now = later
	require.Equal(t, all, list(engine.TaskQuery{}), "the hold has ended")
	s.now = start
	require.NoError(t, s.can.tasks.Dismiss(ctx, s.now, s.app, engine.User, "c"))
	require.Equal(t, all, list(engine.TaskQuery{}))

	require.ErrorIs(t, s.can.tasks.Retry(ctx, s.now, s.app, engine.User, "nobody"), engine.ErrNotFound)
	require.NoError(t, s.can.tasks.Retry(ctx, s.now, s.app, engine.User, "a"))
	require.Equal(t, []string{"user a"}, s.due())
	require.True(t, s.claimable(), "Retry ends the hold of the lane")
	n, err := s.can.tasks.RetryAll(ctx, s.now, s.app)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.ElementsMatch(t, []string{"user a", "user b", "user d", "group g"}, s.due())
	require.Empty(t, list(engine.TaskQuery{}))

	l = s.claim()
	s.finish(l, store.Finish{ID: "b", Status: engine.StatusFailed, Operation: engine.OpUpdate, HTTP: 400, RemoteID: "rb"})
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, Attempts: 2, NextAt: later})
	pending := func() int {
		n, err := s.store.Pending(ctx, s.app)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 3, pending())
	require.ErrorIs(t, s.can.tasks.Dismiss(ctx, s.now, s.app, engine.User, "nobody"), engine.ErrNotFound)
	require.ErrorIs(t, s.can.tasks.Dismiss(ctx, s.now, s.app, engine.User, "c"), engine.ErrStale)
	last := s.events(0)
	for _, id := range []string{"a", "b"} {
		require.NoError(t, s.can.tasks.Dismiss(ctx, s.now, s.app, engine.User, id))
		require.ErrorIs(t, s.can.tasks.Dismiss(ctx, s.now, s.app, engine.User, id), engine.ErrStale, "once")
		got := s.state(engine.User, id)
		require.Equal(t, engine.StatusDismissed, got.Status)
		require.Zero(t, got.NextAt)
		require.Zero(t, got.DirtySince)
	}
	require.Equal(t, 2, pending(), "dismissed principals are not pending")
	require.Empty(t, list(engine.TaskQuery{}))
	want := engine.Event{App: s.app, Seq: last[len(last)-1].Seq + 2, At: s.now, Type: engine.UserDismissed, Kind: engine.User, Principal: "b",
		Data: engine.EventData{Operation: engine.OpUpdate, HTTP: 400, RemoteID: "rb", Status: engine.StatusDismissed}}
	require.Empty(t, cmp.Diff([]engine.Event{want}, s.events(want.Seq-1)))
	n, err = s.can.tasks.RetryAll(ctx, s.now, s.app)
	require.NoError(t, err)
	require.Zero(t, n)
	s.now = s.now.Add(time.Minute)
	s.mark(engine.Mark{ID: "b"})
	got := s.state(engine.User, "b")
	require.Equal(t, engine.StatusDirty, got.Status)
	require.Equal(t, s.now, got.DirtySince)
	s.finish(l, store.Finish{ID: "b", Status: engine.StatusFailed, Operation: engine.OpUpdate, HTTP: 400, RemoteID: "rb"})
	told := s.events(want.Seq)
	require.Len(t, told, 1, "a later failure is reported again")
	require.Equal(t, engine.UserFailed, told[0].Type)
}

func testDrop(t *testing.T, s *suite) {
	ctx := t.Context()
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"}, engine.Mark{ID: "d"}, engine.Mark{ID: "e"},
		engine.Mark{Kind: engine.Group, ID: "g"})
	other := *s
	other.app = s.app + " other"
	other.mark(engine.Mark{ID: "a"})
	l := s.claim()
	later := s.now.Add(time.Hour)
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, Attempts: 2, NextAt: later})
	s.finish(l, store.Finish{ID: "b", Status: engine.StatusFailed})
	s.finish(l, store.Finish{ID: "c", RemoteID: "rc"})
	run := s.startImport(engine.ImportRequest{Kind: engine.User})
	reading := s.beginImport(run)
	require.NoError(t, s.inTx(ctx, func(tx engine.Execer) error {
		if err := s.can.tasks.Drop(ctx, tx, s.now, s.app, "app disabled"); err != nil {
			return err
		}
		return s.store.Mark(ctx, tx, s.now, []engine.Mark{{App: s.app, Kind: engine.User, ID: "a"}})
	}))
	require.Equal(t, []string{"user a"}, s.due(), "a later mark is due, without backoff")
	require.Len(t, other.due(), 1, "another app is not affected")
	require.Equal(t, engine.StatusClean, s.state(engine.User, "c").Status, "a synchronized user is not affected")
	for _, id := range []string{"b", "d", "e"} {
		got := s.state(engine.User, id)
		require.Equal(t, engine.StatusDismissed, got.Status, id)
		require.Zero(t, got.DirtySince)
	}
	require.Equal(t, engine.StatusDismissed, s.state(engine.Group, "g").Status)
	got, err := s.can.imports.ImportRun(ctx, run)
	require.NoError(t, err)
	require.Equal(t, engine.ImportFailed, got.State)
	require.Equal(t, "app disabled", got.Error)
	require.Equal(t, s.now, got.Ended)
	require.ErrorIs(t, s.savePage(reading, 1, true, engine.RemoteObject{RemoteID: "r1"}), engine.ErrLeaseLost)

	require.Equal(t, engine.StatusDismissed, s.finish(l, store.Finish{ID: "d", Status: engine.StatusRetrying, Attempts: 1, NextAt: later}),
		"the failure of a sequence that was in flight is not retried")
	require.Zero(t, s.state(engine.User, "d").NextAt)
	require.Equal(t, engine.StatusDismissed, s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusFailed}),
		"the failure of a sequence that was in flight is not a new task")
	tasks, err := s.can.tasks.Tasks(ctx, engine.TaskQuery{App: s.app, Now: s.now})
	require.NoError(t, err)
	require.Empty(t, tasks)
	s.finish(l, store.Finish{ID: "e", RemoteID: "re"})
	require.Equal(t, engine.StatusClean, s.state(engine.User, "e").Status, "the success of a sequence that was in flight is stored")
	s.mark(engine.Mark{ID: "d"})
	require.ElementsMatch(t, []string{"user a", "user d"}, s.due())
}
