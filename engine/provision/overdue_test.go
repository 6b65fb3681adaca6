package provision_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// alarms is an observer of overdue deactivations.
type alarms struct {
	mu       sync.Mutex
	reported []engine.Overdue
}

func (a *alarms) Result(context.Context, engine.Result) {}

func (a *alarms) Overdue(_ context.Context, o engine.Overdue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reported = append(a.reported, o)
}

// take returns the reports since the last call.
func (a *alarms) take() []engine.Overdue {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.reported
	a.reported = nil
	return all
}

func (a *alarms) users() (ids []string) {
	for _, o := range a.take() {
		ids = append(ids, o.ID)
	}
	return ids
}

// watched stops the world's engine. It returns a function that runs one search for overdue deactivations by a second engine, which is not
// started and whose clock is c.
func (w *world) watched(a *alarms, c *clock) func() {
	w.t.Helper()
	w.stop(w.engine)
	idle, err := provision.New(provision.Options{Store: w.store, Directory: w.dir, Observer: a, Now: c.Now})
	require.NoError(w.t, err)
	look := idle.Watch()
	return func() {
		w.t.Helper()
		require.NoError(w.t, look(w.t.Context()))
	}
}

// TestOverdue_ReportedOnce checks that each overdue deactivation is reported once, and a later deactivation of the same user again.
//
// Invariant 22
func TestOverdue_ReportedOnce(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w, c, a := newWorld(t, db, provision.Options{}), &clock{}, &alarms{}
		for _, id := range []string{"u-1", "u-2", "u-3"} {
			w.set(id, user(id, id))
		}
		w.wait()
		look := w.watched(a, c)
		w.set("u-1", off("u-1", "u-1")) // the engine is down and has not queried the directory since
		w.set("u-2", user("u-2", "renamed"))
		w.set("u-4", user("u-4", "u-4"))
		look()
		require.Empty(t, a.take(), "not yet")

		c.ahead.Store(int64(5*time.Minute + time.Second))
		look()
		want := []engine.Overdue{{
			App: app, ID: "u-1", RemoteID: w.state(engine.User, "u-1").RemoteID, Want: engine.Inactive,
			Status: engine.StatusDirty, Since: w.state(engine.User, "u-1").DirtySince,
		}}
		require.Empty(t, cmp.Diff(want, a.take()), "only the overdue deactivation")
		w.set("u-1", off("u-1", "u-1"))
		look()
		require.Empty(t, a.take(), "once")

		e := w.start(provision.Options{})
		w.wait()
		w.stop(e)
		w.set("u-1", user("u-1", "u-1"))
		e = w.start(provision.Options{})
		w.wait()
		w.stop(e)
		w.set("u-1", off("u-1", "u-1"))
		look()
		require.Equal(t, []string{"u-1"}, a.users(), "another deactivation")
	})
}

// TestOverdue_AnyCause checks that an overdue deactivation is reported for any cause: rejections, outages, credentials, pauses and the
// guard.
func TestOverdue_AnyCause(t *testing.T) {
	for name, hinder := range map[string]func(w *world){
		"a target that rejects it":       func(w *world) { w.fake.Inject(enginetest.Fault{Path: "/Users/u1", Status: 400, Times: -1}) },
		"a target that is down":          func(w *world) { w.fake.Inject(enginetest.Fault{Status: 500, Times: -1}) },
		"rejected credentials":           func(w *world) { w.fake.Inject(enginetest.Fault{Status: 401, Times: -1}) },
		"a target that requests a pause": func(w *world) { w.fake.Inject(enginetest.Fault{Status: 429, RetryAfter: "3600", Times: -1}) },
		"a paused app": func(w *world) {
			w.as(func(t *engine.Target) { t.Paused = true })
		},
		"a guard": func(w *world) {
			w.as(func(t *engine.Target) { t.Guard = engine.Guard{Percent: 1} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, c, a := newWorld(t, sqldbtest.SQLite(t), provision.Options{}), &clock{}, &alarms{}
			w.set("u-1", user("u-1", "ann"))
			w.wait()
			w.stop(w.engine) // a running lane would continue with the target that it has read
			hinder(w)
			w.engine = w.start(provision.Options{})
			w.set("u-1", off("u-1", "ann"))
			look := w.watched(a, c)
			c.ahead.Store(int64(6 * time.Minute))
			look()
			require.Equal(t, []string{"u-1"}, a.users())
			look()
			require.Empty(t, a.take())
		})
	}
}

func TestOverdue_ReportsLaneHold(t *testing.T) {
	w, c, a := newWorld(t, sqldbtest.SQLite(t), provision.Options{}), &clock{}, &alarms{}
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Status: 401, Times: -1})
	w.set("u-1", off("u-1", "ann"))
	w.poll("the quarantine", func() bool {
		l, err := w.engine.Apps().Get(t.Context(), app)
		require.NoError(t, err)
		return l.Hold.Kind == engine.HoldQuarantine
	})
	look := w.watched(a, c)
	c.ahead.Store(int64(6 * time.Minute))
	look()
	reported := a.take()
	require.Len(t, reported, 1)
	require.Equal(t, engine.HoldQuarantine, reported[0].Hold.Kind)
	require.Contains(t, reported[0].Error, "401")
}

// TestOverdue_DirectoryFailure checks that during a directory failure the engine reports deactivations it has read before, and the others
// afterwards.
func TestOverdue_DirectoryFailure(t *testing.T) {
	w, c, a := newWorld(t, sqldbtest.SQLite(t), provision.Options{}), &clock{}, &alarms{}
	w.set("u-1", user("u-1", "ann"))
	w.set("u-2", user("u-2", "bob"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 400, Times: -1}, enginetest.Fault{Method: "PUT", Status: 400, Times: -1})
	w.set("u-1", off("u-1", "ann"))
	w.wait()
	look := w.watched(a, c)
	w.set("u-2", off("u-2", "bob"))
	w.dir.Fail(errors.New("down"))
	c.ahead.Store(int64(6 * time.Minute))
	look()
	require.Equal(t, []string{"u-1"}, a.users())
	w.dir.Fail(nil)
	look()
	require.Equal(t, []string{"u-2"}, a.users())
}

// TestOverdue_DeactivationsDisabled checks that nothing is reported for an app with deactivations disabled.
func TestOverdue_DeactivationsDisabled(t *testing.T) {
	w, c, a := newWorld(t, sqldbtest.SQLite(t), provision.Options{}), &clock{}, &alarms{}
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	look := w.watched(a, c) // this also stops the engine, so that it does not skip the user first
	w.set("u-1", off("u-1", "ann"))
	w.as(func(t *engine.Target) { t.DeactivateUsers = false })
	c.ahead.Store(int64(6 * time.Minute))
	look()
	require.Empty(t, a.take())
}

// TestOverdue_BoundedQueries checks that each check queries the directory for a bounded number of users, and that the checks cover all
// users in turn.
func TestOverdue_BoundedQueries(t *testing.T) {
	w, c, a := newWorld(t, sqldbtest.SQLite(t), provision.Options{}), &clock{}, &alarms{}
	look := w.watched(a, c)
	const users = 1500 // more users than one check queries
	var marks []engine.Mark
	for i := range users {
		marks = append(marks, userMark(fmt.Sprintf("u-%04d", i)))
	}
	w.mark(marks...)
	leases := w.claim("test")
	var intents []store.Intent
	for _, m := range marks {
		intents = append(intents, store.Intent{Kind: engine.User, ID: m.ID, Want: engine.Active})
	}
	require.NoError(t, w.store.Begin(t.Context(), leases[0], intents))
	c.ahead.Store(int64(6 * time.Minute))
	for i := range users - 1 {
		w.dir.SetUser(app, marks[i].ID, user(marks[i].ID, marks[i].ID))
	}
	look() // all users except the last are still assigned, and the first check does not reach the last user
	require.Empty(t, a.take())
	look()
	require.Equal(t, []string{marks[users-1].ID}, a.users())
	w.dir.SetUser(app, marks[0].ID, off(marks[0].ID, marks[0].ID))
	look()
	require.Equal(t, []string{marks[0].ID}, a.users(), "then the checks start again")
}

func TestOverdue_CheckedWhileRunning(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w, a := newJobWorld(t, db, provision.Options{}), &alarms{}
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		w.stop(w.engine)
		w.as(func(t *engine.Target) { t.Paused = true })
		o := provision.Options{Store: w.store, Directory: w.dir, Observer: a, DeactivateWithin: time.Millisecond}
		if w.jobs != nil {
			o.Jobs = w.jobs()
		}
		e, err := provision.New(o)
		require.NoError(t, err)
		require.NoError(t, e.Start(t.Context()))
		defer w.stop(e)
		w.set("u-1", off("u-1", "ann"))
		w.poll("the alarm", func() bool { return len(a.take()) > 0 })
	})
}

func TestLag(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	_, err := w.engine.Apps().Lag(t.Context(), app)
	require.ErrorIs(t, err, engine.ErrNotFound)
	begin := time.Now().Truncate(time.Millisecond)
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	lag, err := w.engine.Apps().Lag(t.Context(), app)
	require.NoError(t, err)
	require.Zero(t, lag.Due)
	require.Zero(t, lag.Oldest)
	require.False(t, lag.LastSuccess.Before(begin))
	w.stop(w.engine)
	w.set("u-1", off("u-1", "ann"))
	lags, err := w.engine.Apps().Lags(t.Context())
	require.NoError(t, err)
	require.Len(t, lags, 1)
	require.Equal(t, 1, lags[0].Due)
	require.False(t, lags[0].Oldest.Before(lag.LastSuccess))
}
