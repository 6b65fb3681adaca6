package provision_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func (w *world) waiting() map[string]engine.Waiting {
	w.t.Helper()
	all, err := w.engine.Tasks().Waiting(w.t.Context(), app, 100)
	require.NoError(w.t, err)
	byID := map[string]engine.Waiting{}
	for _, one := range all {
		byID[one.ID] = one
	}
	return byID
}

// throttled pauses a lane: the target responds to one user with 429, and two users are not sent.
func (w *world) throttled() {
	w.t.Helper()
	w.as(func(t *engine.Target) { t.Concurrency = 1 })
	w.fake.Inject(enginetest.Fault{Status: http.StatusTooManyRequests, RetryAfter: "3600", Times: -1})
	w.dir.SetUser(app, "u-2", user("u-2", "bob"))
	w.dir.SetUser(app, "u-3", user("u-3", "cid"))
	w.set("u-1", user("u-1", "ann"))
	w.poll("the pause", func() bool { return w.lane().Hold.Kind != "" && w.lane().Owner == "" })
	w.mark(userMark("u-2"), userMark("u-3"))
}

func (w *world) lane() engine.Lane {
	w.t.Helper()
	l, err := w.engine.Apps().Get(w.t.Context(), app)
	if err != nil {
		require.ErrorIs(w.t, err, engine.ErrNotFound)
	}
	return l
}

// TestTasks_ListOnPausedLane checks that users that wait for a paused lane are tasks, and that a retry ends the pause.
func TestTasks_ListOnPausedLane(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.throttled()
		until := w.lane().Hold.Until
		require.WithinDuration(t, time.Now().Add(time.Hour), until, deadline)
		tasks := w.tasks()
		require.Len(t, tasks, 3)
		for _, task := range tasks {
			require.Equal(t, engine.StatusDirty, task.Status, task.ID)
			require.Contains(t, task.Error, "injected 429", "the target's message")
			require.Equal(t, until, task.NextAt)
			require.NotZero(t, task.Since)
			require.Zero(t, task.Attempts)
		}
		require.Equal(t, 429, tasks[0].HTTP)
		page, err := w.engine.Tasks().List(t.Context(), engine.TaskQuery{App: app, Limit: 2})
		require.NoError(t, err)
		require.Equal(t, tasks[:2], page)
		page, err = w.engine.Tasks().List(t.Context(), engine.TaskQuery{After: &tasks[1]})
		require.NoError(t, err)
		require.Equal(t, tasks[2:], page)

		w.fake.ClearFaults()
		w.fake.Requests()
		require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-2"))
		w.wait()
		require.Len(t, w.fake.Users(), 3, "a retry ends the pause")
		require.Empty(t, w.tasks())
	})
}

func TestTasks_RetryAllEndsPause(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.throttled()
	w.fake.ClearFaults()
	n, err := w.engine.Tasks().RetryAll(t.Context(), app)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	w.wait()
	require.Len(t, w.fake.Users(), 3)
}

func TestTasks_DismissOnPausedLane(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.throttled()
	require.NoError(t, w.engine.Tasks().Dismiss(t.Context(), app, engine.User, "u-1"))
	require.Len(t, w.tasks(), 2)
	require.ErrorIs(t, w.engine.Tasks().Dismiss(t.Context(), app, engine.User, "u-1"), engine.ErrStale)
}

func TestTasks_QueuedNotListed(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.stop(w.engine)
	w.set("u-1", user("u-1", "ann"))
	require.Empty(t, w.tasks(), "no tasks")
	require.ErrorIs(t, w.engine.Tasks().Dismiss(t.Context(), app, engine.User, "u-1"), engine.ErrStale)
}

func TestWaiting_ReportsReasonAndTime(t *testing.T) {
	hour := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		hinder func(w *world)
		status engine.Status
		reason string
		until  time.Time // zero: no time, or a time in the next seconds
	}{
		"a pause": {
			hinder: func(w *world) { w.fake.Inject(enginetest.Fault{Status: 429, RetryAfter: "3600", Times: -1}) },
			status: engine.StatusDirty, reason: "on hold (pause): lookup by userName: 429: injected 429", until: hour,
		},
		"a backoff": {
			hinder: func(w *world) { w.fake.Inject(enginetest.Fault{Status: 500, Times: -1}) },
			status: engine.StatusRetrying, reason: "lookup by userName: 500: injected 500", until: hour,
		},
		"a quarantine": {
			hinder: func(w *world) { w.fake.Inject(enginetest.Fault{Status: 401, Times: -1}) },
			status: engine.StatusRetrying, reason: "on hold (quarantine): lookup by userName: 401: injected 401",
			until: hour.Add(time.Hour), // a denied principal waits twice as long as its lane
		},
		"an accepted change": {
			hinder: func(w *world) { w.respond202(enginetest.Fault{}) },
			status: engine.StatusPending, reason: "with transaction t1, not carried out yet", until: time.Now().Add(10 * time.Minute),
		},
		"a paused app": {
			hinder: func(w *world) { w.target.Paused = true; w.dir.SetTarget(app, w.target) },
			status: engine.StatusDirty, reason: "the app is paused",
		},
		"maintenance": {
			hinder: func(w *world) { w.target.Maintenance = []engine.Window{{Until: hour}}; w.dir.SetTarget(app, w.target) },
			status: engine.StatusDirty, reason: "maintenance", until: hour,
		},
		"a hanging target": {
			hinder: func(w *world) {
				hang := make(chan struct{})
				w.t.Cleanup(func() { close(hang) })
				w.fake.Inject(enginetest.Fault{Hang: hang})
			},
			status: engine.StatusDirty, reason: "is being provisioned",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour, BreakerAfter: 100})
			c.hinder(w)
			w.set("u-1", user("u-1", "ann"))
			var got engine.Waiting
			w.poll(c.reason, func() bool {
				got = w.waiting()["u-1"]
				said := got.Reason == c.reason || c.status == engine.StatusPending && strings.Contains(got.Reason, c.reason)
				return said && got.Status == c.status // poll again: the reason and the status are not stored at the same time
			})
			require.Contains(t, got.Reason, c.reason)
			require.Equal(t, c.status, got.Status)
			require.Equal(t, w.state(engine.User, "u-1").DirtySince, got.Since)
			if c.until.IsZero() {
				require.Zero(t, got.Until)
			} else {
				require.WithinDuration(t, c.until, got.Until, 25*time.Minute) // a backoff has jitter
			}
			one, err := w.engine.Tasks().WaitingFor(t.Context(), app, engine.User, "u-1")
			require.NoError(t, err)
			require.Equal(t, []engine.Waiting{got}, one)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, w.engine.Wait(ctx, app), context.DeadlineExceeded)
		})
	}
}

func TestWaiting_ConvergedNotListed(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	require.Empty(t, w.waiting())
	for _, id := range []string{"u-1", "nobody"} {
		one, err := w.engine.Tasks().WaitingFor(t.Context(), app, engine.User, id)
		require.NoError(t, err)
		require.Empty(t, one)
	}
}

func TestRunning_WhileSequenceRuns(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	hang := make(chan struct{})
	w.fake.Inject(enginetest.Fault{Hang: hang})
	w.set("u-1", user("u-1", "ann"))
	w.poll("the sequence", func() bool { return w.engine.Tasks().Running(app, engine.User, "u-1") })
	require.False(t, w.engine.Tasks().Running(app, engine.Group, "u-1"))
	require.False(t, w.engine.Tasks().Running("other", engine.User, "u-1"))
	close(hang)
	w.wait()
	require.False(t, w.engine.Tasks().Running(app, engine.User, "u-1"))
}
