package provision_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestMaintenance_RejectsInvalidWindow checks that an invalid maintenance window is an error of the connection, and that nothing is sent.
func TestMaintenance_RejectsInvalidWindow(t *testing.T) {
	now := time.Now()
	for want, broken := range map[string]engine.Window{
		`"25:00" is not a time of day`:     {From: "25:00", To: "06:00"},
		`"" is not a time of day`:          {From: "22:00"},
		"it starts and ends at 22:00":      {From: "22:00", To: "22:00"},
		"Europe/Atlantis":                  {From: "22:00", To: "23:00", Zone: "Europe/Atlantis"},
		"the zone Local differs":           {From: "22:00", To: "23:00", Zone: "Local"},
		"unknown weekday 7":                {From: "22:00", To: "23:00", Days: []time.Weekday{7}},
		"it has fields of a weekly window": {From: "22:00", Until: now},
		"Until must be after Begin":        {Begin: now, Until: now},
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.as(func(t *engine.Target) { t.Maintenance = []engine.Window{{From: "22:00", To: "23:00"}, broken} })
			require.ErrorContains(t, w.engine.Targets().Test(t.Context(), w.target), "maintenance window 2: ")
			require.ErrorContains(t, w.engine.Targets().Test(t.Context(), w.target), want)
			w.set("u-1", user("u-1", "ann"))
			w.poll("the error", func() bool { return w.state(engine.User, "u-1").LastError != "" })
			require.Contains(t, w.state(engine.User, "u-1").LastError, want)
			w.requests()
		})
	}
}

func TestMaintenance_SendsNothing(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		c := &clock{}
		o := provision.Options{Now: c.Now}
		w := newWorld(t, db, o)
		until := c.Now().Add(time.Hour).Truncate(time.Second)
		w.as(func(t *engine.Target) { t.Maintenance = []engine.Window{{Until: until}} })
		rest := func() engine.Suspension {
			l, err := w.engine.Apps().Get(t.Context(), app)
			require.NoError(t, err)
			return l.Suspension
		}
		want := engine.Suspension{Reason: engine.SuspensionMaintenance, Until: until}
		w.set("u-1", user("u-1", "ann"))
		w.poll("the suspension", func() bool { return cmp.Equal(want, rest()) })
		require.NoError(t, w.engine.Apps().Kick(t.Context(), app)) // Kick does not end the window
		w.advance(c, 59*time.Minute, o)
		require.Empty(t, cmp.Diff(want, rest()))
		w.requests()
		w.advance(c, 2*time.Minute, o)
		w.wait()
		require.Len(t, w.fake.Users(), 1)
		require.Zero(t, rest())

		w.stop(w.engine)
		w.as(func(t *engine.Target) { t.Paused = true })
		w.set("u-1", off("u-1", "ann"))
		w.engine = w.start(o)
		w.poll("the suspension", func() bool { return rest() == engine.Suspension{Reason: engine.SuspensionPaused} })
	})
}

// TestMaintenance_CompletesRunningSequence checks that a running sequence completes after a window has started, and that no other sequence
// starts.
func TestMaintenance_CompletesRunningSequence(t *testing.T) {
	c := &clock{}
	o := provision.Options{Now: c.Now}
	w := newWorld(t, sqldbtest.SQLite(t), o)
	var begin sync.Once
	w.front(func(rw http.ResponseWriter, r *http.Request) {
		begin.Do(func() { c.ahead.Add(int64(time.Minute)) }) // the window starts between the two requests of a create
		w.fake.ServeHTTP(rw, r)
	})
	begins := c.Now().Add(40 * time.Second)
	w.target.Maintenance = []engine.Window{{Begin: begins, Until: begins.Add(time.Hour)}}
	w.as(func(t *engine.Target) { t.Concurrency = 1 })
	var marks []engine.Mark
	for i := range 5 {
		id := fmt.Sprint("u-", i)
		w.dir.SetUser(app, id, user(id, id))
		marks = append(marks, userMark(id))
	}
	w.mark(marks...)
	w.poll("the suspension", func() bool {
		l, err := w.engine.Apps().Get(t.Context(), app)
		require.NoError(t, err)
		return l.Suspension.Reason == engine.SuspensionMaintenance
	})
	require.Len(t, w.fake.Requests(), 2, "a lookup and a create of one user only")
	require.Len(t, w.fake.Users(), 1)
	w.advance(c, time.Hour, o)
	w.wait()
	require.Len(t, w.fake.Users(), 5)
}
