package provision_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func (w *world) halt(reason string, ops ...engine.Operation) {
	w.t.Helper()
	require.NoError(w.t, w.engine.Apps().Halt(w.t.Context(), app, reason, ops...))
}

func (w *world) resume(ops ...engine.Operation) {
	w.t.Helper()
	require.NoError(w.t, w.engine.Apps().Resume(w.t.Context(), app, ops...))
	w.wait()
}

// TestHalt_BlocksUntilResumed checks for each operation that the engine puts it on hold during a halt and completes it after the resume.
func TestHalt_BlocksUntilResumed(t *testing.T) {
	lookup := "GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100"
	ann, anna := user("u-1", "ann"), user("u-1", "anna")
	tea := func(w *world, s engine.GroupState) {
		w.dir.SetGroup(app, "g", s)
		w.mark(groupMark("g"))
	}
	known := func(w *world) { w.set("u-1", ann) }
	pushed := func(w *world) {
		known(w)
		tea(w, engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	}
	for name, c := range map[string]struct {
		op     engine.Operation
		style  engine.Style
		before func(*world)
		change func(*world)
		held   []string // requests during the halt
		done   []string // requests after the resume
	}{
		"create": {op: engine.OpCreate, change: known, held: []string{lookup}, done: []string{lookup, "POST /Users"}},
		"link": {op: engine.OpLink, before: func(w *world) { w.fake.Add("Users", user("", "ann").Resource) }, change: known,
			held: []string{lookup}, done: []string{lookup, "GET /Users/u1", "PUT /Users/u1"}},
		"update": {op: engine.OpUpdate, before: known, change: func(w *world) {
			w.set("u-1", anna)
		}, held: []string{"GET /Users/u1"}, done: []string{"GET /Users/u1", "PUT /Users/u1"}},
		"deactivate": {op: engine.OpDeactivate, before: known, change: func(w *world) {
			w.set("u-1", off("u-1", "ann"))
		}, done: []string{"PATCH /Users/u1"}},
		"deactivate by PUT": {op: engine.OpDeactivate, style: engine.Wizard, before: known, change: func(w *world) {
			w.set("u-1", off("u-1", "ann"))
		}, held: []string{"GET /Users/u1"}, done: []string{"GET /Users/u1", "PUT /Users/u1"}},
		"reactivate": {op: engine.OpReactivate, before: func(w *world) {
			known(w)
			w.wait()
			w.set("u-1", off("u-1", "ann"))
		}, change: known, held: []string{"GET /Users/u1"}, done: []string{"GET /Users/u1", "PATCH /Users/u1"}},
		"update in a reactivation by PUT": {op: engine.OpUpdate, style: engine.Wizard, before: func(w *world) {
			known(w)
			w.wait()
			w.set("u-1", off("u-1", "ann"))
		},
			change: func(w *world) { w.set("u-1", anna) }, held: []string{"GET /Users/u1"}, done: []string{"GET /Users/u1", "PUT /Users/u1"}},
		"members": {op: engine.OpMembers, before: pushed, change: func(w *world) {
			w.join("g", "u-1", true)
		}, done: []string{"PATCH /Groups/g2"}},
		"delete": {op: engine.OpDelete, before: pushed, change: func(w *world) {
			tea(w, engine.GroupState{Want: engine.Absent, DeleteRemote: true})
		}, done: []string{"DELETE /Groups/g2"}},
		"create of a group": {op: engine.OpCreate, change: func(w *world) { tea(w, engine.GroupState{Want: engine.Active, DisplayName: "Tea"}) },
			held: []string{"GET /Groups?filter=displayName%20eq%20%22Tea%22&startIndex=1&count=100"},
			done: []string{"GET /Groups?filter=displayName%20eq%20%22Tea%22&startIndex=1&count=100", "POST /Groups"}},
		"link of a group": {op: engine.OpLink, before: func(w *world) { w.fake.Add("Groups", namedGroup("Tea")) },
			change: func(w *world) { tea(w, engine.GroupState{Want: engine.Active, DisplayName: "Tea"}) },
			held:   []string{"GET /Groups?filter=displayName%20eq%20%22Tea%22&startIndex=1&count=100"},
			done:   []string{"GET /Groups?filter=displayName%20eq%20%22Tea%22&startIndex=1&count=100", "PATCH /Groups/g1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.as(func(t *engine.Target) { t.Style = c.style })
			if c.before != nil {
				c.before(w)
				w.wait()
			}
			w.fake.Requests()
			w.halt("an audit", c.op)
			c.change(w)
			w.wait()
			w.requests(c.held...)
			states, err := w.engine.States(t.Context(), engine.StateQuery{App: app, Status: engine.StatusHeld})
			require.NoError(t, err)
			require.Len(t, states, 1)
			s := states[0]
			require.Equal(t, []any{true, c.op, string(c.op) + " is halted for this app: an audit", 0},
				[]any{s.Halted, s.LastOperation, s.LastError, s.Attempts})
			require.Less(t, s.Synced, s.Desired, "the principal is not synchronized")
			require.NotEqual(t, engine.Unconfirmed, s.Origin, "no request")
			require.Empty(t, s.IgnoredAttributes)

			w.mark(engine.Mark{App: app, Kind: s.Kind, ID: s.ID})
			w.wait()
			require.True(t, w.state(s.Kind, s.ID).Halted, "a mark does not end the hold")
			w.fake.Requests()
			w.resume(c.op)
			w.requests(c.done...)
			require.Equal(t, engine.StatusClean, w.state(s.Kind, s.ID).Status)
			require.False(t, w.state(s.Kind, s.ID).Halted)
		})
	}
}

// TestHalt_WithinSequence checks that a halt of updates blocks the update of a sequence but not its reactivation.
//
// Invariant 14
func TestHalt_WithinSequence(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.set("u-1", off("u-1", "ann"))
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		w.set("u-1", off("u-1", "ann"))
		w.wait()
		w.fake.Requests()
		w.halt("", engine.OpUpdate)
		w.set("u-1", user("u-1", "anna"))
		w.wait()
		w.requests("GET /Users/u1", "PATCH /Users/u1")
		s := w.state(engine.User, "u-1")
		require.Equal(t, []any{engine.StatusHeld, engine.OpUpdate, "update is halted for this app", "ann"},
			[]any{s.Status, s.LastOperation, s.LastError, s.RemoteName})
		on, _ := w.fake.Users()[0].Bool("active")
		require.True(t, on, "the reactivation was sent")
		require.Len(t, w.resultsSoFar()[len(w.resultsSoFar())-1].Steps, 2)
		w.resume(engine.OpUpdate)
		require.Equal(t, "anna", w.fake.Users()[0].Text("userName"))
	})
}

// TestHalt_WithinPush checks that a halt that begins while a request of a push is in flight stops the next request of this push: the engine
// reads the halts of that request only after the response has begun.
//
// Invariant 14
func TestHalt_WithinPush(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.as(func(t *engine.Target) { t.MemberBatch = 2 })
		var marks []engine.Mark
		for n := range 9 {
			id := crowdID(n)
			w.dir.SetUser(app, id, user(id, id))
			w.dir.SetMember(app, "g", id, true)
			marks = append(marks, userMark(id))
		}
		w.mark(marks...)
		w.wait()
		var sent atomic.Int32
		w.front(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch && sent.Add(1) == 2 {
				w.halt("an incident", engine.OpMembers)
			}
			w.fake.ServeHTTP(rw, r)
		})
		w.fake.Requests()
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		w.mark(groupMark("g"))
		w.wait()
		s := w.state(engine.Group, "g")
		require.Equal(t, []any{true, engine.OpMembers}, []any{s.Halted, s.LastOperation})
		require.EqualValues(t, 2, sent.Load(), "requests of the push, without the create")
		require.Len(t, w.members(), 6)
		w.resume(engine.OpMembers)
		require.Len(t, w.members(), 9)
	})
}

// TestHalt_AllApps checks that a halt of all apps lasts until it is resumed for all apps, also across a restart.
func TestHalt_AllApps(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	require.NoError(t, w.engine.Apps().Halt(t.Context(), "", "an incident"))
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	require.Equal(t, "create is halted for all apps: an incident", w.state(engine.User, "u-1").LastError)
	all, err := w.engine.Apps().Halts(t.Context(), app)
	require.NoError(t, err)
	require.Len(t, all, len(engine.HaltOperations()))

	w.stop(w.engine)
	w.engine = w.start(provision.Options{}) // another engine reads the stored halt
	w.resume()
	require.True(t, w.state(engine.User, "u-1").Halted)
	require.NoError(t, w.engine.Apps().Resume(t.Context(), ""))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	all, err = w.engine.Apps().Halts(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, all)
	require.EqualError(t, w.engine.Apps().Halt(t.Context(), app, "", engine.OpLookup), "engine: lookup cannot be halted")
}

// TestHalt_PreservesLostCreateName checks that a halted create keeps the user name of a previous create with a lost response.
func TestHalt_PreservesLostCreateName(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
	w.fake.Inject(enginetest.Fault{Method: "POST", Drop: true})
	w.set("u-1", user("u-1", "ann"))
	w.poll("the lost response", func() bool { return w.state(engine.User, "u-1").Origin == engine.Unconfirmed })
	w.halt("", engine.OpCreate)
	w.dir.SetUser(app, "u-1", user("u-1", "anna"))
	retry := engine.Mark{App: app, Kind: engine.User, ID: "u-1", Retry: true}
	w.mark(retry)
	w.wait()
	s := w.state(engine.User, "u-1")
	require.Equal(t, []any{true, engine.Unconfirmed, "ann"}, []any{s.Halted, s.Origin, s.RemoteName}, "an account may exist under that name")
	w.resume()
	require.Len(t, w.fake.Users(), 1)
}

// haltsCreates is a store that halts the operation create when Begin is called for the first create.
type haltsCreates struct {
	store.All
	once *sync.Once
}

func (h haltsCreates) Begin(ctx context.Context, l engine.Lease, intents []store.Intent) error {
	err := h.All.Begin(ctx, l, intents)
	if err == nil && intents[0].Creating {
		h.once.Do(func() { err = h.Halt(ctx, l.App, []engine.Operation{engine.OpCreate}, "", time.Now()) })
	}
	return err
}

// TestHalt_BlocksQueuedCreate checks that a halt blocks a create that still waits for a request slot when the halt starts.
func TestHalt_BlocksQueuedCreate(t *testing.T) {
	s := newLargeWorld(t, sqldbtest.SQLite(t), 0)
	s.mark(groupMark("g"))
	e := s.start(provision.Options{Store: haltsCreates{s.store, new(sync.Once)}}, 0)
	defer s.stop(e)
	s.wait(e, app)
	require.Equal(t, []string{"GET /Groups"}, s.fake.sent())
	got, err := e.State(t.Context(), app, engine.Group, "g")
	require.NoError(t, err)
	require.True(t, got.Halted)
	require.Empty(t, got.Origin, "the announced create was not sent")
	require.NoError(t, e.Apps().Resume(t.Context(), app))
	s.wait(e, app)
	require.Equal(t, []string{"GET /Groups", "POST /Groups"}, s.fake.sent())
}

func namedGroup(name string) *scim.Resource {
	r := &scim.Resource{}
	r.Set("schemas", []string{scim.GroupSchema})
	r.Set("displayName", name)
	return r
}
