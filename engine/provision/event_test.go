package provision_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

func (w *world) events() []engine.Event {
	w.t.Helper()
	out, err := w.engine.Apps().Events(w.t.Context(), engine.EventQuery{App: app, Limit: 1000})
	require.NoError(w.t, err)
	for i, e := range out {
		require.EqualValues(w.t, i+1, e.Seq)
	}
	return out
}

// eventNames returns the events as "type principal".
func (w *world) eventNames() (out []string) {
	w.t.Helper()
	for _, e := range w.events() {
		out = append(out, fmt.Sprintf("%s %s", e.Type, e.Principal))
	}
	return out
}

// TestEvents_LifecycleOrder checks the order of the events of a user and a group, and that no event contains attribute values.
func TestEvents_LifecycleOrder(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.fake.Add("Users", user("", "bob").Resource)
		turn := func(marks ...engine.Mark) {
			w.mark(marks...)
			w.wait()
		}
		group := engine.Mark{App: app, Kind: engine.Group, ID: "g-1", AllMembers: true}
		w.dir.SetUser(app, "u-1", user("u-1", "ann"))
		turn(userMark("u-1"))
		turn(userMark("u-1")) // nothing changes
		w.dir.SetUser(app, "u-1", user("u-1", "anna"))
		turn(userMark("u-1"))
		w.dir.SetUser(app, "u-2", user("u-2", "bob"))
		turn(userMark("u-2"))
		w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "crew"})
		turn(group)
		w.dir.SetMember(app, "g-1", "u-1", true)
		turn(group)
		w.dir.SetUser(app, "u-1", off("u-1", "anna"))
		turn(userMark("u-1"))
		w.dir.SetUser(app, "u-1", user("u-1", "anna"))
		turn(userMark("u-1"))
		w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Absent})
		turn(group)
		turn(group)
		w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "crew"})
		turn(group)
		w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Absent, DeleteRemote: true})
		turn(group)
		require.Empty(t, cmp.Diff([]string{
			"user.created u-1", "user.updated u-1", "user.linked u-2", "group.created g-1", "group.updated g-1",
			"user.deactivated u-1", "user.reactivated u-1", "group.unlinked g-1", "group.linked g-1", "group.deleted g-1",
		}, w.eventNames()))
		text, err := json.Marshal(w.events())
		require.NoError(t, err)
		for _, value := range []string{"ann", "bob", "Quist", "crew", "s3cr3t"} {
			require.NotContains(t, string(text), value, "no attribute values, no secrets")
		}
		attempts, err := w.engine.Traces().Attempts(t.Context(), engine.AttemptQuery{App: app, Kind: engine.Group, Limit: 1})
		require.NoError(t, err)
		events := w.events()
		require.Equal(t, attempts[0].Run, events[len(events)-1].Data.Run, "the run of the event has exchanges")
	})
}

// TestEvents_FailureAndRecovery checks that a repeated failure is one event, and that its end is another.
func TestEvents_FailureAndRecovery(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "POST", Status: 500, Times: 3}, enginetest.Fault{Method: "POST", Status: 400, Times: 2})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.mark(userMark("u-1"))
	w.wait()
	require.Equal(t, []string{"user.failed u-1", "user.failed u-1"}, w.eventNames(), "one event for the outage, one for the rejection")
	w.mark(userMark("u-1"))
	w.wait()
	require.Equal(t, []string{"user.recovered u-1", "user.created u-1"}, w.eventNames()[2:])
	require.Equal(t, []int{500, 400, 201}, []int{w.events()[0].Data.HTTP, w.events()[1].Data.HTTP, w.events()[3].Data.HTTP})
}

// TestEvents_HoldAndRelease checks that the start and the end of a hold are one event each.
func TestEvents_HoldAndRelease(t *testing.T) {
	for status, want := range map[int]string{401: "app.quarantined ", 500: "app.breaker "} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{BreakerAfter: 2})
			// one request at a time, so that no response to an earlier request arrives after the hold has ended
			w.as(func(t *engine.Target) { t.Concurrency = 1 })
			w.fake.Inject(enginetest.Fault{Status: status, Times: -1})
			var marks []engine.Mark
			for i := range 4 {
				id := fmt.Sprint("u-", i)
				w.dir.SetUser(app, id, user(id, id))
				marks = append(marks, userMark(id))
			}
			w.mark(marks...)
			holds := func() (out []string) {
				return slices.DeleteFunc(w.eventNames(), func(e string) bool { return !strings.HasPrefix(e, "app.") })
			}
			w.poll("the hold", func() bool { return len(holds()) > 0 })
			w.fake.ClearFaults()
			w.wait()
			w.poll("its end", func() bool { return slices.Contains(holds(), "app.released ") })
			require.Equal(t, []string{want, "app.released "}, holds(), "a prolonged hold is not another event")
		})
	}
}

func TestEvents_OldRemoved(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.stop(w.engine)
	w.mark(userMark("u-1"))
	leases := w.claim("test")
	const more = 250
	for i := range engine.KeptEvents + more {
		_, err := w.store.Finish(t.Context(), leases[0], store.Finish{
			Kind: engine.User, ID: "u-1", Gen: 1, Status: engine.StatusClean, RemoteID: fmt.Sprint("r", i), Origin: engine.Created, At: time.Now(),
		})
		require.NoError(t, err)
	}
	first, err := w.engine.Apps().Events(t.Context(), engine.EventQuery{App: app, Limit: 1})
	require.NoError(t, err)
	require.Greater(t, first[0].Seq, int64(more/2), "the oldest events were removed")
	require.LessOrEqual(t, first[0].Seq, int64(more+1), "only the oldest")
}

func TestEvents_RequireApp(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	_, err := w.engine.Apps().Events(t.Context(), engine.EventQuery{})
	require.ErrorContains(t, err, "EventQuery.App")
}

// TestEvents_PerFinish checks the events that the result of one sequence causes (store.Finish.Tell).
func TestEvents_PerFinish(t *testing.T) {
	changed := []engine.Attempt{{Method: http.MethodGet, Status: 200}, {Method: http.MethodPatch, Status: 204}}
	refused := []engine.Attempt{{Method: http.MethodPatch, Status: 400}}
	for name, c := range map[string]struct {
		f              store.Finish
		remoteID, told string
		want           []engine.EventType
		now            string
	}{
		"an update that changed something": {
			store.Finish{Status: engine.StatusClean, Operation: engine.OpUpdate, RemoteID: "r", Exchanges: changed}, "r", "",
			[]engine.EventType{engine.UserUpdated}, "",
		},
		"one that changed nothing": {store.Finish{Status: engine.StatusClean, Operation: engine.OpUpdate, RemoteID: "r"}, "r", "", nil, ""},
		"a create before a failure": {
			store.Finish{Status: engine.StatusRetrying, Operation: engine.OpCreate, RemoteID: "r", Origin: engine.Created, Exchanges: changed}, "",
			"",
			[]engine.EventType{engine.UserCreated, engine.UserFailed}, "retrying",
		},
		"another account": {
			store.Finish{Status: engine.StatusClean, Operation: engine.OpCreate, RemoteID: "r2", Origin: engine.Created, Exchanges: changed}, "r1",
			"",
			[]engine.EventType{engine.UserCreated}, "",
		},
		"the same rejection again": {
			store.Finish{Status: engine.StatusFailed, Operation: engine.OpUpdate, HTTP: 400, RemoteID: "r", Exchanges: refused}, "r",
			"failed update 400",
			nil, "failed update 400",
		},
		"another rejection": {
			store.Finish{Status: engine.StatusFailed, Operation: engine.OpUpdate, HTTP: 409, RemoteID: "r", Exchanges: refused}, "r",
			"failed update 400",
			[]engine.EventType{engine.UserFailed}, "failed update 409",
		},
		"an aborted sequence": {
			store.Finish{Status: engine.StatusDirty, Operation: engine.OpUpdate, RemoteID: "r"}, "r", "retrying", nil, "retrying",
		},
		"a hold": {
			store.Finish{Status: engine.StatusHeld, Operation: engine.OpDeactivate, RemoteID: "r"}, "r", "",
			[]engine.EventType{engine.UserHeld}, "held deactivate",
		},
		"a failure of an existing account": {
			store.Finish{Status: engine.StatusSkipped, RemoteID: "r"}, "r", "retrying", []engine.EventType{engine.UserRecovered}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.f.Kind, c.f.ID = engine.User, "u-1"
			events, now := c.f.Tell(c.remoteID, c.told)
			var got []engine.EventType
			for _, e := range events {
				got = append(got, e.Type)
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.now, now)
		})
	}
}
