package provision_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// many is the number of users, more than a lane reads at a time.
const many = 80

// provisionMany provisions many users, and the user "leaver", whom the tests deactivate.
func (w *world) provisionMany() {
	w.t.Helper()
	w.changeTitles("clerk")
	w.set("leaver", user("leaver", "leaver"))
	w.wait()
}

// changeTitles changes the titles of the users.
func (w *world) changeTitles(title string) {
	w.t.Helper()
	var marks []engine.Mark
	for i := range many {
		id := fmt.Sprintf("u-%02d", i)
		w.dir.SetUser(app, id, withTitle(id, "name-"+id, title))
		marks = append(marks, userMark(id))
	}
	w.mark(marks...)
}

// TestAccepted_DeactivationBehindMany checks that a deactivation is sent while the maximum number of accepted changes is pending, although
// many updates were queued before it.
func TestAccepted_DeactivationBehindMany(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, quick(provision.Options{}))
		w.as(func(t *engine.Target) { t.MaxPending, t.Concurrency = 3, 1 })
		w.provisionMany()
		w.respond202(enginetest.Fault{Method: "PUT"})
		w.changeTitles("lead")
		w.poll("three pending updates", func() bool { return w.counts()[engine.StatusPending] == 3 })
		w.set("leaver", off("leaver", "leaver"))
		w.poll("the deactivation", func() bool { return w.state(engine.User, "leaver").Status == engine.StatusClean })
		require.False(t, w.active()["leaver"])
		require.Equal(t, 3, w.counts()[engine.StatusPending])
		require.Equal(t, many-3, w.counts()[engine.StatusDirty])
	})
}

// TestQuarantine_DeactivationBehindMany checks that a deactivation is sent during a quarantine, although many updates that the target
// denies were queued before it.
//
// Invariant 11
func TestQuarantine_DeactivationBehindMany(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
		w.provisionMany()
		w.fake.Inject(enginetest.Fault{Method: "PUT", Status: 403, Times: -1})
		w.changeTitles("lead")
		w.poll("the quarantine", func() bool { l := w.lane(); return l.Hold.Kind == "quarantine" && l.Owner == "" })
		w.set("leaver", off("leaver", "leaver"))
		w.poll("the deactivation", func() bool { return w.state(engine.User, "leaver").Status == engine.StatusClean })
		require.False(t, w.active()["leaver"])
		require.EqualValues(t, "quarantine", w.lane().Hold.Kind)
		require.Greater(t, w.counts()[engine.StatusDirty], many/2)
	})
}
