package provision_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// quick sets short intervals for the reads of accepted changes.
func quick(o provision.Options) provision.Options {
	o.CheckInitial, o.CheckMax = time.Millisecond, 5*time.Millisecond
	return o
}

// respond202 makes the target respond to each change with 202.
func (w *world) respond202(f enginetest.Fault) {
	f.Accept, f.Times = true, -1
	w.fake.Inject(f)
}

// pending waits until a principal has StatusPending and was read the given number of times since.
func (w *world) pending(kind engine.Kind, id string, reads int) engine.State {
	w.t.Helper()
	var s engine.State
	w.poll("a pending "+string(kind), func() bool {
		s = w.state(kind, id)
		return s.Status == engine.StatusPending && s.Pending != nil && s.Pending.Reads >= reads
	})
	return s
}

// writes returns the requests since the last call that change something.
func (w *world) writes() (out []string) {
	for _, r := range w.fake.Requests() {
		if !strings.HasPrefix(r, "GET ") {
			out = append(out, r)
		}
	}
	return out
}

func (w *world) eventTypes(after int64) (types []engine.EventType, last int64) {
	w.t.Helper()
	all, err := w.engine.Apps().Events(w.t.Context(), engine.EventQuery{App: app, After: after})
	require.NoError(w.t, err)
	for _, e := range all {
		types, last = append(types, e.Type), e.Seq
	}
	return types, max(last, after)
}

// acceptance is a change to which a target responds with 202.
type acceptance struct {
	given  func(w *world)
	change func(w *world)
	kind   engine.Kind
	id     string
	style  engine.Style
	fault  enginetest.Fault
	target func(*engine.Target)

	write string // the only write
	op    engine.Operation
	event engine.EventType
	done  func(w *world) bool // reports whether the target has applied the change
}

func withTitle(id, name, title string) engine.UserState {
	u := user(id, name)
	u.Resource.Set("title", title)
	return u
}

func crewOf(ids ...string) func(w *world) {
	return func(w *world) {
		for _, id := range ids {
			w.set(id, user(id, "n-"+id))
		}
		w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "crew"})
		w.mark(groupMark("g-1"))
	}
}

func (w *world) crewHas(name string, n int) bool {
	g := w.fake.Groups()
	return len(g) == 1 && g[0].Text("displayName") == name && len(g[0].Array("members")) == n
}

func acceptances() map[string]acceptance {
	ann := func(w *world) { w.set("u-1", withTitle("u-1", "ann", "clerk")) }
	left := func(w *world) { w.set("u-1", off("u-1", "ann")) }
	active := func(want bool) func(w *world) bool {
		return func(w *world) bool {
			is, _ := w.fake.Users()[0].Bool("active")
			return is == want
		}
	}
	there := func(w *world) bool { return len(w.fake.Users()) == 1 }
	directs := func(w *world) { w.set("u-1", withTitle("u-1", "ann", "director")) }
	directing := func(w *world) bool { return w.fake.Users()[0].Text("title") == "director" }
	join := func(w *world) { w.join("g-1", "u-2", true) }
	crew := func(w *world) { crewOf("u-1", "u-2")(w); w.wait(); w.join("g-1", "u-1", true) }
	return map[string]acceptance{
		"a deactivation by PATCH": {
			given: ann, change: left, write: "PATCH /Users/u1", op: engine.OpDeactivate, event: engine.UserDeactivated, done: active(false),
		},
		"a deactivation by PUT": {
			given: ann, change: left, style: engine.Wizard, write: "PUT /Users/u1", op: engine.OpDeactivate, event: engine.UserDeactivated,
			done: active(false),
		},
		"an update": {
			given: ann, change: directs, write: "PUT /Users/u1", op: engine.OpUpdate, event: engine.UserUpdated, done: directing,
		},
		"an update by PUT alone": {
			given: ann, change: directs, style: engine.Wizard, write: "PUT /Users/u1", op: engine.OpUpdate, event: engine.UserUpdated,
			done: directing,
		},
		"a reactivation": {
			given: func(w *world) { ann(w); w.wait(); left(w) }, change: ann, write: "PATCH /Users/u1", op: engine.OpReactivate,
			event: engine.UserReactivated, done: active(true),
		},
		"a password": {
			given: func(w *world) { ann(w) },
			change: func(w *world) {
				u := withTitle("u-1", "ann", "clerk")
				u.Password, u.PasswordVersion = "new", "2"
				w.set("u-1", u)
			},
			target: func(t *engine.Target) { t.SyncPasswords = true },
			write:  "PATCH /Users/u1", op: engine.OpUpdate, event: engine.UserUpdated,
			done: func(w *world) bool { return w.state(engine.User, "u-1").PasswordVersion == "2" },
		},
		"a create with a Location": {
			change: ann, fault: enginetest.Fault{Locate: true}, write: "POST /Users", op: engine.OpCreate, event: engine.UserCreated, done: there,
		},
		"a create without a Location": {change: ann, write: "POST /Users", op: engine.OpCreate, event: engine.UserCreated, done: there},
		"a create with a password": {
			change: func(w *world) {
				u := withTitle("u-1", "ann", "clerk")
				u.Password, u.PasswordVersion = "new", "2"
				w.set("u-1", u)
			},
			target: func(t *engine.Target) { t.SyncPasswords = true },
			write:  "POST /Users", op: engine.OpCreate, event: engine.UserCreated, done: there,
		},
		"a create without externalId": {
			change: func(w *world) {
				u := withTitle("u-1", "ann", "clerk")
				u.Resource.Delete("externalId")
				w.set("u-1", u)
			},
			write: "POST /Users", op: engine.OpCreate, event: engine.UserCreated, done: there,
		},
		"a create with LinkNever": {
			change: ann, target: func(t *engine.Target) { t.OnExisting = engine.LinkNever },
			write: "POST /Users", op: engine.OpCreate, event: engine.UserCreated, done: there,
		},

		"a group": {
			kind: engine.Group, id: "g-1", change: crewOf(), write: "POST /Groups", op: engine.OpCreate, event: engine.GroupCreated,
			done: func(w *world) bool { return w.crewHas("crew", 0) },
		},
		"a group with a Location": {
			kind: engine.Group, id: "g-1", change: crewOf(), fault: enginetest.Fault{Locate: true}, write: "POST /Groups", op: engine.OpCreate,
			event: engine.GroupCreated, done: func(w *world) bool { return w.crewHas("crew", 0) },
		},
		"a member by PATCH": {
			kind: engine.Group, id: "g-1", given: crew, change: join, write: "PATCH /Groups/g3", op: engine.OpMembers, event: engine.GroupUpdated,
			done: func(w *world) bool { return w.crewHas("crew", 2) },
		},
		"a member by PUT": {
			kind: engine.Group, id: "g-1", given: crew, change: join, style: engine.Wizard, write: "PUT /Groups/g3", op: engine.OpMembers,
			event: engine.GroupUpdated, done: func(w *world) bool { return w.crewHas("crew", 2) },
		},
		"a removed member": {
			kind: engine.Group, id: "g-1", given: crew, change: func(w *world) { w.join("g-1", "u-1", false) }, write: "PATCH /Groups/g3",
			op: engine.OpMembers, event: engine.GroupUpdated, done: func(w *world) bool { return w.crewHas("crew", 0) },
		},
		"all members": {
			kind: engine.Group, id: "g-1", given: crew, write: "PATCH /Groups/g3", op: engine.OpMembers, event: engine.GroupUpdated,
			change: func(w *world) {
				w.dir.SetMember(app, "g-1", "u-2", true)
				w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g-1", AllMembers: true})
			},
			done: func(w *world) bool { return w.crewHas("crew", 2) },
		},
		"the name of a group": {
			kind: engine.Group, id: "g-1", given: crew, write: "PATCH /Groups/g3", op: engine.OpMembers, event: engine.GroupUpdated,
			change: func(w *world) {
				w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "staff"})
				w.mark(groupMark("g-1"))
			},
			done: func(w *world) bool { return w.crewHas("staff", 1) },
		},
		"a deleted group": {
			kind: engine.Group, id: "g-1", given: crew, write: "DELETE /Groups/g3", op: engine.OpDelete, event: engine.GroupDeleted,
			change: func(w *world) {
				w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Absent, DisplayName: "crew", DeleteRemote: true})
				w.mark(groupMark("g-1"))
			},
			done: func(w *world) bool { return len(w.fake.Groups()) == 0 },
		},
	}
}

// begin provisions the state before the change, and returns the number of the last event.
func (a *acceptance) begin(w *world) int64 {
	w.t.Helper()
	if a.kind == "" {
		a.kind, a.id = engine.User, "u-1"
	}
	w.target.Style = a.style
	if a.target != nil {
		a.target(&w.target)
	}
	w.dir.SetTarget(app, w.target)
	if a.given != nil {
		a.given(w)
		w.wait()
	}
	w.fake.Requests()
	w.respond202(a.fault)
	_, last := w.eventTypes(0)
	return last
}

// TestAccepted_SendsNothingElse checks that the engine sends no other change of a principal until the target has carried out the accepted
// one.
//
// Invariant 23
func TestAccepted_SendsNothingElse(t *testing.T) {
	for name, a := range acceptances() {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				o := quick(provision.Options{})
				if a.target != nil && a.op == engine.OpUpdate { // a password: the first read confirms it, so delay that read
					o.CheckInitial = time.Second
				}
				w := newWorld(t, db, o)
				last := a.begin(w)
				a.change(w)
				s := w.pending(a.kind, a.id, 0)
				require.Equal(t, a.op, s.Pending.Operation)
				require.Equal(t, a.write, s.Pending.Method+" "+s.Pending.Path)
				require.Equal(t, "t1", s.Pending.Txn)
				require.Equal(t, s.Desired, s.Pending.Gen)
				require.Less(t, s.Synced, s.Desired)
				require.WithinDuration(t, time.Now(), s.Pending.At, deadline)
				require.Equal(t, 10*time.Minute, s.Pending.Deadline.Sub(s.Pending.At))
				require.Contains(t, s.LastError, "accepted at ")
				require.Contains(t, s.LastError, "with transaction t1, not carried out yet")
				if w.fake.Users() != nil && a.kind == engine.User && s.Pending.Operation == engine.OpCreate {
					require.Empty(t, s.RemoteID)
				}

				if a.done(w) != (a.op == engine.OpUpdate && a.target != nil) { // a password change is not visible in a read
					require.False(t, a.done(w))
				}
				if a.target == nil || a.op != engine.OpUpdate {
					w.pending(a.kind, a.id, 5)
					require.Equal(t, []string{a.write}, w.writes(), "no other write")
					told, _ := w.eventTypes(last)
					require.Equal(t, []engine.EventType{engine.EventType(string(a.kind) + ".accepted")}, told, "no event of a success")
				}
				require.Equal(t, 1, w.fake.CarryOut())
				w.wait()
				require.True(t, a.done(w))
				require.Equal(t, engine.StatusClean, w.state(a.kind, a.id).Status)
				require.Nil(t, w.state(a.kind, a.id).Pending)
				require.Empty(t, w.state(a.kind, a.id).LastError)
				require.Empty(t, slices.DeleteFunc(w.writes(), func(r string) bool { return r == a.write && a.op == engine.OpUpdate }))
				told, _ := w.eventTypes(last)
				require.Equal(t, []engine.EventType{engine.EventType(string(a.kind) + ".accepted"), a.event}, told)
				require.Empty(t, w.tasks())
			})
		})
	}
}

// TestAccepted_ContinuesAfterRestart checks that an engine continues to read the account after a restart, with the same time limit.
func TestAccepted_ContinuesAfterRestart(t *testing.T) {
	for name, a := range acceptances() {
		if a.target != nil && a.op == engine.OpUpdate {
			continue // a password change ends with the first read, which a restart cannot interrupt
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{}))
			a.begin(w)
			a.change(w)
			before := w.pending(a.kind, a.id, 1)
			w.stop(w.engine)
			w.engine = w.start(quick(provision.Options{}))
			after := w.pending(a.kind, a.id, before.Pending.Reads+3)
			require.Equal(t, before.Pending.At, after.Pending.At)
			w.stop(w.engine)
			w.fake.CarryOut()
			w.engine = w.start(quick(provision.Options{}))
			w.wait()
			require.Equal(t, []string{a.write}, w.writes())
			require.Equal(t, engine.StatusClean, w.state(a.kind, a.id).Status)
			require.True(t, a.done(w))
		})
	}
}

// TestAccepted_SecondsApart checks when an account is read: after 2, 4, 8, 16, 32, 60, 60 ... seconds, and at the deadline.
func TestAccepted_SecondsApart(t *testing.T) {
	c := &clock{}
	o := provision.Options{Now: c.Now}
	w := newWorld(t, sqldbtest.SQLite(t), o)
	a := acceptances()["a deactivation by PATCH"]
	a.begin(w)
	a.change(w)
	s := w.pending(engine.User, "u-1", 0)
	require.Equal(t, []string{"PATCH /Users/u1"}, w.fake.Requests())
	var waits []int
	begun, reads := s.Pending.At, 0
	for s.NextAt.Before(s.Pending.Deadline) {
		waits = append(waits, int(s.NextAt.Sub(s.UpdatedAt).Round(time.Second)/time.Second))
		w.advance(c, s.NextAt.Sub(c.Now())+10*time.Millisecond, o)
		reads++
		s = w.pending(engine.User, "u-1", reads)
		require.Equal(t, []string{"GET /Users/u1"}, w.fake.Requests())
	}
	require.Equal(t, []int{2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60}, waits)
	require.WithinDuration(t, s.Pending.Deadline, s.NextAt, time.Millisecond, "read at the deadline")
	require.WithinDuration(t, begun.Add(10*time.Minute), s.NextAt, 2*time.Millisecond)

	w.fake.ClearFaults()
	w.advance(c, s.NextAt.Sub(c.Now())+10*time.Millisecond, o)
	w.wait()
	require.Equal(t, []string{"GET /Users/u1", "PATCH /Users/u1"}, w.fake.Requests(), "one more read, then a retry")
	told, _ := w.eventTypes(0)
	require.Contains(t, told, engine.DeactivationOverdue)
	told = slices.DeleteFunc(told, func(e engine.EventType) bool { return e == engine.DeactivationOverdue })
	require.Equal(t, []engine.EventType{
		engine.UserCreated, engine.UserAccepted, engine.UserFailed, engine.UserRecovered, engine.UserDeactivated,
	}, told)
}

// TestAccepted_NotCarriedOut checks that the engine retries with a backoff, in the same form, if a target accepts changes without applying
// them.
func TestAccepted_NotCarriedOut(t *testing.T) {
	for name, a := range acceptances() {
		if a.target != nil && a.op == engine.OpUpdate {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{BreakerAfter: 2}))
			w.target.AsyncTimeout = 20 * time.Millisecond
			last := a.begin(w)
			a.change(w)
			w.poll("three tries", func() bool { return w.state(a.kind, a.id).Attempts >= 3 })
			w.stop(w.engine)
			writes := w.writes()
			require.GreaterOrEqual(t, len(writes), 3)
			for _, r := range writes {
				require.Equal(t, a.write, r)
			}
			told, _ := w.eventTypes(last)
			require.NotContains(t, told, a.event)
			require.NotContains(t, told, engine.AppBreaker, "the target responds")
			failed := false
			w.mu.Lock()
			for _, r := range w.results {
				if r.Status == engine.StatusRetrying {
					failed = true
					require.Regexp(t, `accepted at \S+ with transaction t\d+, not carried out(;.*)?$`, r.Error)
				}
			}
			w.mu.Unlock()
			require.True(t, failed)
			require.False(t, a.done(w))
		})
	}
}

func TestAccepted_NewerChangeWaits(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{}))
	a := acceptances()["an update"]
	a.begin(w)
	a.change(w)
	s := w.pending(engine.User, "u-1", 2)
	w.set("u-1", withTitle("u-1", "ann", "clerk")) // the title that the account has already
	require.Equal(t, engine.StatusPending, w.state(engine.User, "u-1").Status)
	now := w.pending(engine.User, "u-1", s.Pending.Reads+3)
	require.Equal(t, s.Desired+1, now.Desired)
	require.Equal(t, s.Pending.Gen, now.Pending.Gen)
	w.set("u-1", off("u-1", "ann"))
	w.pending(engine.User, "u-1", now.Pending.Reads+3)
	require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-1"))
	w.pending(engine.User, "u-1", now.Pending.Reads+5)
	require.Equal(t, []string{"PUT /Users/u1"}, w.writes(), "a deactivation and a retry wait too")

	w.fake.ClearFaults()
	w.fake.CarryOut()
	w.wait()
	require.Equal(t, []string{"PATCH /Users/u1"}, w.writes())
	require.Equal(t, "director", w.fake.Users()[0].Text("title"))
	is, _ := w.fake.Users()[0].Bool("active")
	require.False(t, is)
}

func TestAccepted_UnreadableTargetKeepsWaiting(t *testing.T) {
	for name, f := range map[string]enginetest.Fault{
		"down": {Status: 500}, "overloaded": {Status: 429, RetryAfter: "0"}, "refusing": {Status: 403}, "strange": {Status: 400},
		"silent": {Drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{}))
			w.target.AsyncTimeout = time.Hour
			a := acceptances()["a deactivation by PATCH"]
			a.begin(w)
			a.change(w)
			w.pending(engine.User, "u-1", 1)
			f.Method, f.Times = http.MethodGet, 3
			w.fake.Inject(f)
			reads := w.pending(engine.User, "u-1", 2).Pending.Reads
			w.pending(engine.User, "u-1", reads+4)
			require.Equal(t, []string{"PATCH /Users/u1"}, w.writes())
			w.fake.CarryOut()
			w.wait()
			require.Empty(t, w.writes())
			require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
		})
	}
}

// TestAccepted_UnreadablePastDeadline checks that the engine sends no write again before it has read the account.
func TestAccepted_UnreadablePastDeadline(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{}))
	w.target.AsyncTimeout = 2 * time.Second // ends after the first read, also on a busy machine
	a := acceptances()["an update"]
	a.begin(w)
	w.fake.Inject(
		enginetest.Fault{Method: http.MethodGet, Path: "/Users/u1", Stale: true}, // one read that returns the state before the change
		enginetest.Fault{Method: http.MethodGet, Status: 500, Times: -1},
	)
	a.change(w)
	s := w.pending(engine.User, "u-1", 1)
	w.poll("the deadline", func() bool { return time.Now().After(s.Pending.Deadline) })
	w.pending(engine.User, "u-1", w.state(engine.User, "u-1").Pending.Reads+3)
	require.Equal(t, []string{"PUT /Users/u1"}, w.writes())
	w.fake.CarryOut()
	w.fake.ClearFaults()
	w.wait()
	require.Empty(t, w.writes())
	require.Equal(t, "director", w.fake.Users()[0].Text("title"))
}

// TestAccepted_IgnoredAttribute checks that an attribute missing from an applied change is handled as after a change with a 200 response.
func TestAccepted_IgnoredAttribute(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{}))
	w.fake.Ignores = []string{"nickName"}
	w.target.AsyncTimeout = 3 * time.Second // long enough for CarryOut on a busy machine: after the time limit, the PUT is sent again
	a := acceptances()["an update"]
	a.begin(w)
	u := withTitle("u-1", "ann", "director")
	u.Resource.Set("nickName", "Annie")
	w.set("u-1", u)
	w.pending(engine.User, "u-1", 1)
	w.fake.CarryOut()
	w.wait()
	s := w.state(engine.User, "u-1")
	require.Equal(t, engine.StatusClean, s.Status)
	require.Equal(t, 1, s.IgnoredAttributes["nickName"].Rounds)
	require.Equal(t, []string{"PUT /Users/u1"}, w.writes())
}

// TestAccepted_OthersContinue checks that a deactivation is sent although the maximum number of creates is pending, and that the queued
// creates follow.
func TestAccepted_OthersContinue(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, quick(provision.Options{}))
		w.as(func(t *engine.Target) { t.MaxPending, t.Concurrency = 3, 1 })
		w.set("leaver", user("leaver", "leaver"))
		w.wait()
		w.respond202(enginetest.Fault{Method: http.MethodPost})
		for i := range 8 {
			id := fmt.Sprintf("u-%d", i)
			w.set(id, user(id, id))
		}
		w.poll("three pending creates", func() bool { return w.counts()[engine.StatusPending] == 3 })
		w.set("leaver", off("leaver", "leaver"))
		w.poll("the deactivation", func() bool { return w.state(engine.User, "leaver").Status == engine.StatusClean })
		require.Equal(t, 3, w.counts()[engine.StatusPending])
		require.Equal(t, 5, w.counts()[engine.StatusDirty])
		lag, err := w.engine.Apps().Lag(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, 8, lag.Due)
		require.Equal(t, 3, lag.Accepted)
		w.poll("all of them", func() bool {
			w.fake.CarryOut()
			n := w.counts()
			require.LessOrEqual(t, n[engine.StatusPending], 3)
			return n[engine.StatusClean] == 9
		})
		require.Len(t, w.fake.Users(), 9)
	})
}

func (w *world) counts() map[engine.Status]int {
	w.t.Helper()
	n, err := w.engine.Apps().Counts(w.t.Context(), app)
	require.NoError(w.t, err)
	return n
}

// TestAccepted_OverdueReported checks that the engine reports an overdue deactivation that the target has accepted.
func TestAccepted_OverdueReported(t *testing.T) {
	w, c, a := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{})), &clock{}, &alarms{}
	d := acceptances()["a deactivation by PATCH"]
	d.begin(w)
	d.change(w)
	w.pending(engine.User, "u-1", 1)
	look := w.watched(a, c)
	c.ahead.Store(int64(5*time.Minute + time.Second))
	look()
	told := a.take()
	require.Len(t, told, 1)
	require.Equal(t, engine.StatusPending, told[0].Status)
	require.Contains(t, told[0].Error, "with transaction t1")
}

// TestAccepted_ClockSetBack sets the clock back after a change was accepted. The deadline and the age of the change start again.
func TestAccepted_ClockSetBack(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		c := &clock{}
		c.ahead.Store(int64(40 * 24 * time.Hour))
		o := quick(provision.Options{Now: c.Now})
		w := newWorld(t, db, o)
		w.target.AsyncTimeout = time.Hour
		d := acceptances()["a deactivation by PATCH"]
		d.begin(w)
		d.change(w)
		before := w.pending(engine.User, "u-1", 1)
		w.stop(w.engine)

		c.ahead.Store(0)
		w.engine = w.start(o)
		require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-1"))
		w.poll("another deadline", func() bool {
			s := w.state(engine.User, "u-1")
			return s.Pending != nil && s.Pending.Deadline.Before(c.Now().Add(2*time.Hour))
		})
		after := w.state(engine.User, "u-1")
		require.Equal(t, engine.StatusPending, after.Status)
		require.Equal(t, before.Pending.Gen, after.Pending.Gen)
		require.False(t, after.DirtySince.After(c.Now()), "the age starts again")
	})
}

func TestAccepted_Shown(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{}))
	a := acceptances()["a deactivation by PATCH"]
	a.begin(w)
	a.change(w)
	s := w.pending(engine.User, "u-1", 1)
	tasks := w.tasks()
	require.Len(t, tasks, 1)
	require.Equal(t, engine.StatusPending, tasks[0].Status)
	require.Equal(t, "t1", tasks[0].Pending.Txn)
	require.Contains(t, tasks[0].Error, "deactivate: accepted at")
	require.Equal(t, s.DirtySince, tasks[0].Since)
	x, err := w.engine.Traces().Explain(t.Context(), app, engine.User, "u-1")
	require.NoError(t, err)
	require.Equal(t, "t1", x.State.Pending.Transaction)
	trace, err := w.engine.Traces().DryRun(t.Context(), app, engine.User, "u-1")
	require.NoError(t, err)
	require.Equal(t, engine.Accepted, trace.Outcome)
	require.Len(t, trace.Requests, 1)
	proof, err := w.engine.Traces().Verify(t.Context(), app, engine.User, "u-1")
	require.NoError(t, err)
	require.False(t, proof.Converged())
	require.Equal(t, []string{"active"}, proof.Differ, "the account is compared with the desired state")
	require.Equal(t, []string{"PATCH /Users/u1"}, w.writes())

	require.NoError(t, w.engine.Tasks().Dismiss(t.Context(), app, engine.User, "u-1"))
	require.Empty(t, w.tasks())
	w.mark(userMark("u-1"))
	w.pending(engine.User, "u-1", 0)
	require.Empty(t, w.writes(), "the target may still apply the change")
}

// TestAccepted_CreateNameTaken checks that the engine sends no second create if another account has the user name at the time limit.
func TestAccepted_CreateNameTaken(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{}))
	w.as(func(t *engine.Target) { t.AsyncTimeout = 3 * time.Second }) // ends after Add, also on a busy machine
	w.respond202(enginetest.Fault{Times: 1})
	w.set("u-1", user("u-1", "ann"))
	w.pending(engine.User, "u-1", 1)
	unmanaged := &scim.Resource{}
	unmanaged.Set("userName", "ann")
	unmanaged.Set("externalId", "other")
	unmanaged.Set("active", true)
	w.fake.Forget()
	w.fake.ClearFaults()
	w.fake.Add("Users", unmanaged)
	w.wait()
	require.Len(t, w.fake.Users(), 1, "no second create with an existing name")
}
