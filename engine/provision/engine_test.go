package provision_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) {
	if orders := os.Getenv(childVariable); orders != "" {
		os.Exit(childMain(orders))
	}
	if orders := os.Getenv(fleetVariable); orders != "" {
		os.Exit(fleetMain(orders))
	}
	if err := alltest.Draws(20); err != nil {
		panic(err)
	}
	os.Exit(sqldbtest.Main(m))
}

// TestUser_Lifecycle checks the requests of a create, an update, a deactivation and a reactivation.
func TestUser_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		w.requests("GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100", "POST /Users")
		require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
		require.Equal(t, engine.Created, w.state(engine.User, "u-1").Origin)
		got := w.result()
		require.Equal(t, engine.Result{
			App: app, Kind: engine.User, ID: "u-1", Want: engine.Active, Operation: engine.OpCreate, Outcome: engine.Done,
			Status:   engine.StatusClean,
			RemoteID: "u1", HTTP: 201, Steps: got.Steps, Duration: got.Duration,
		}, got)
		require.Positive(t, got.Duration)
		require.Equal(t, []int{200, 201}, []int{got.Steps[0].Status, got.Steps[1].Status})

		w.set("u-1", user("u-1", "anna"))
		w.wait()
		w.requests("GET /Users/u1", "PUT /Users/u1")
		require.Equal(t, "anna", w.fake.Users()[0].Text("userName"))

		gone := user("u-1", "anna")
		gone.Want = engine.Inactive
		w.set("u-1", gone)
		w.wait()
		w.requests("PATCH /Users/u1")
		active, _ := w.fake.Users()[0].Bool("active")
		require.False(t, active)

		w.set("u-1", user("u-1", "anna"))
		w.wait()
		w.requests("GET /Users/u1", "PATCH /Users/u1")
		active, _ = w.fake.Users()[0].Bool("active")
		require.True(t, active)
		require.Len(t, w.fake.Users(), 1)
	})
}

func TestUser_UnchangedOnlyRead(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Requests()
	w.mark(userMark("u-1"))
	w.wait()
	w.requests("GET /Users/u1")
}

// TestUnmanagedAccount_NotModified checks that the engine sends no request for an absent user that was never assigned, even if an account
// has the name.
func TestUnmanagedAccount_NotModified(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Add("Users", user("", "ann").Resource)
	u := user("u-1", "ann")
	u.Want = engine.Absent
	w.set("u-1", u)
	w.wait()
	w.requests()
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
}

// TestLostCreate_FoundNotRepeated checks that the engine finds the account of a create with a lost response, and does not repeat the
// create.
//
// Invariant 3
func TestLostCreate_FoundNotRepeated(t *testing.T) {
	for name, fault := range map[string]enginetest.Fault{
		"dropped after the write": {Method: "POST", DropAfter: true},
		"cut off":                 {Method: "POST", Truncate: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.fake.Inject(fault)
			w.set("u-1", user("u-1", "ann"))
			w.wait()
			require.Len(t, w.fake.Users(), 1)
			s := w.state(engine.User, "u-1")
			require.Equal(t, engine.StatusClean, s.Status)
			require.Equal(t, "u1", s.RemoteID)
			require.Equal(t, engine.Created, s.Origin)
		})
	}
}

// TestLostCreate_AccountDeactivated checks that the engine deactivates the account of a create with a lost response after the user was
// deleted.
//
// Invariant 16
func TestLostCreate_AccountDeactivated(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "POST", DropAfter: true})
	posted := make(chan struct{})
	w.fake.Inject(enginetest.Fault{Method: "GET", Path: "/Users?", Hang: posted})
	w.set("u-1", user("u-1", "ann"))
	close(posted)
	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 500})
	w.poll("the account", func() bool { return len(w.fake.Users()) == 1 })
	w.dir.SetUser(app, "u-1", engine.UserState{Want: engine.Absent})
	w.mark(userMark("u-1"))
	w.wait()
	active, _ := w.fake.Users()[0].Bool("active")
	require.False(t, active)
}

// poll waits for the effect of other goroutines and real connections.
func (w *world) poll(what string, ok func() bool) {
	w.t.Helper()
	limit := time.After(deadline)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			w.t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// TestTarget_ConvergesAfterFaults checks that the engine records the errors of a faulty target and converges afterwards.
func TestTarget_ConvergesAfterFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault enginetest.Fault
		says  string
	}{
		"down":         {enginetest.Fault{Drop: true, Times: 8}, "closed the connection"},
		"5xx":          {enginetest.Fault{Status: 503, Times: 8}, "503: injected 503"},
		"HTML":         {enginetest.Fault{HTML: true, Times: 8}, "the response is text/html, not SCIM"},
		"half-way":     {enginetest.Fault{Truncate: true, Times: 8}, "truncated after"},
		"throttled":    {enginetest.Fault{Status: 429, RetryAfter: "0", Times: 8}, "429: injected 429"},
		"unauthorized": {enginetest.Fault{Status: 401, Times: 3}, "401: injected 401"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{Sweep: 5 * time.Millisecond})
			w.fake.Inject(c.fault)
			for _, id := range []string{"u-1", "u-2", "u-3"} {
				w.set(id, user(id, "name-"+id))
			}
			w.wait()
			require.Len(t, w.fake.Users(), 3)
			found := false
			for _, r := range w.results {
				if r.Error != "" {
					require.Contains(t, r.Error, c.says)
					found = true
				}
			}
			require.True(t, found, "the observer received a failure")
			attempts, err := w.engine.Traces().Attempts(t.Context(), engine.AttemptQuery{App: app})
			require.NoError(t, err)
			require.Greater(t, len(attempts), 6)
			for _, a := range attempts {
				require.NotContains(t, a.RequestHeader.Get("Authorization"), "s3cr3t")
			}
		})
	}
}

func TestTimeout_EndsHang(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.Timeout = 50 * time.Millisecond })
	hang := make(chan struct{})
	defer close(hang)
	w.fake.Inject(enginetest.Fault{Hang: hang})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	require.Contains(t, w.results[0].Error, "no complete response within 50ms")
}

// TestRejectedUser_OthersContinue checks that a rejected user fails until it is marked for a retry, and that other users are provisioned.
func TestRejectedUser_OthersContinue(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "POST", Status: 400})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	s := w.state(engine.User, "u-1")
	require.Equal(t, engine.StatusFailed, s.Status)
	require.Equal(t, "create: 400: injected 400", s.LastError)
	w.set("u-2", user("u-2", "bob"))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	w.mark(engine.Mark{App: app, Kind: engine.User, ID: "u-1", Retry: true})
	w.wait()
	require.Len(t, w.fake.Users(), 2)
}

// TestKick_ReleasesQuarantine checks that rejected credentials put the lane in quarantine until Kick releases it.
func TestKick_ReleasesQuarantine(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
	wrong := w.target
	wrong.Auth.Secret = "wrong-token"
	w.dir.SetTarget(app, wrong)
	w.set("u-1", user("u-1", "ann"))
	w.poll("the quarantine", func() bool {
		l, err := w.engine.Apps().Get(t.Context(), app)
		return err == nil && l.Hold.Kind == "quarantine"
	})
	require.Contains(t, w.state(engine.User, "u-1").LastError, "401")
	w.fake.Requests()
	w.set("u-2", user("u-2", "bob"))
	w.dir.SetTarget(app, w.target)
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.poll("the second user", func() bool { return len(w.fake.Users()) == 1 })
	w.mark(engine.Mark{App: app, Kind: engine.User, ID: "u-1", Retry: true})
	w.wait()
	require.Len(t, w.fake.Users(), 2)
}

// TestKick_DuringHangingCall checks that Kick releases the hold of a lane while another call of the lane hangs.
//
// Invariant 8
func TestKick_DuringHangingCall(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
	hang := make(chan struct{})
	w.fake.Inject(enginetest.Fault{Method: "GET", Path: "/Users?filter=userName%20eq%20%22slow", Hang: hang})
	right := w.target
	w.as(func(t *engine.Target) { t.Auth.Secret = "wrong-token" })
	w.dir.SetUser(app, "a", user("a", "slow"))
	w.dir.SetUser(app, "b", user("b", "bob"))
	w.mark(userMark("a"), userMark("b"))
	w.poll("the rejection", func() bool { return w.state(engine.User, "b").Status == engine.StatusRetrying })
	w.dir.SetTarget(app, right)
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.mark(engine.Mark{App: app, Kind: engine.User, ID: "b", Retry: true})
	close(hang)
	w.poll("the user", func() bool { return w.state(engine.User, "b").Status == engine.StatusClean })
}

// TestKick_AfterBadBaseURL checks that an invalid base URL is reported, and that Kick resumes the lane after the configuration was fixed.
func TestKick_AfterBadBaseURL(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	bad := w.target
	bad.BaseURL = "ftp://nowhere"
	w.dir.SetTarget(app, bad)
	w.set("u-1", user("u-1", "ann"))
	w.poll("the error", func() bool { return w.state(engine.User, "u-1").LastError != "" })
	require.Contains(t, w.state(engine.User, "u-1").LastError, "must begin with http:// or https://")
	require.Error(t, w.engine.Targets().Test(t.Context(), bad))
	w.dir.SetTarget(app, w.target)
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
}

func TestDirectory_FailureDeprovisionsNothing(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{Sweep: 5 * time.Millisecond})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Requests()
	w.dir.Fail(context.DeadlineExceeded)
	w.mark(userMark("u-1"))
	w.requests()
	w.dir.Fail(nil)
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.wait()
	active, _ := w.fake.Users()[0].Bool("active")
	require.True(t, active)
}

func TestPause_SendsNothing(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	paused := w.target
	paused.Paused = true
	w.dir.SetTarget(app, paused)
	w.set("u-1", user("u-1", "ann"))
	w.poll("the lane to rest", func() bool {
		l, err := w.engine.Apps().Get(t.Context(), app)
		return err == nil && l.NextAt.After(time.Now().Add(10*time.Second))
	})
	w.requests()
	w.dir.SetTarget(app, w.target)
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
}

// TestMark_BurstCollapses checks that 100 changes during one request result in at most three sequences.
func TestMark_BurstCollapses(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	hang := make(chan struct{})
	w.fake.Inject(enginetest.Fault{Hang: hang})
	w.set("u-1", user("u-1", "ann"))
	w.poll("the first request", func() bool { return len(w.fake.Requests()) > 0 })
	for range 100 {
		w.set("u-1", user("u-1", "anna"))
	}
	close(hang)
	w.wait()
	require.LessOrEqual(t, len(w.results), 3)
	require.Equal(t, "anna", w.fake.Users()[0].Text("userName"))
	s := w.state(engine.User, "u-1")
	require.Equal(t, s.Desired, s.Synced)
}

// TestResult_ReportsConcurrentMark checks that a result has the status dirty if the user was marked during the sequence.
//
// Invariant 8
func TestResult_ReportsConcurrentMark(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	marked := make(chan struct{})
	w.front(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.mark(userMark("u-1"))
			close(marked)
		}
		w.fake.ServeHTTP(rw, r)
	})
	w.set("u-1", user("u-1", "ann"))
	<-marked
	w.wait()
	var got []engine.Status
	for _, r := range w.resultsSoFar() {
		got = append(got, r.Status)
	}
	require.Equal(t, []engine.Status{engine.StatusDirty, engine.StatusClean}, got)
}

// off returns an unassigned user.
func off(id, name string) engine.UserState {
	u := user(id, name)
	u.Want = engine.Inactive
	return u
}

// TestReassign_RecreatesDeletedAccount checks that a reassigned user gets an account if the previous one was deleted, even with the policy
// Fail.
//
// Invariant 12
func TestReassign_RecreatesDeletedAccount(t *testing.T) {
	for name, again := range map[string]func(w *world){
		"deleted before the deactivation": func(w *world) {
			w.fake.Remove("Users", "u1")
			w.set("u-1", off("u-1", "ann"))
			w.wait()
			require.Empty(w.t, w.state(engine.User, "u-1").RemoteID)
		},
		"deleted after the deactivation": func(w *world) {
			w.set("u-1", off("u-1", "ann"))
			w.wait()
			w.fake.Remove("Users", "u1")
		},
		"deleted after the deactivation, first attempt fails": func(w *world) {
			w.set("u-1", off("u-1", "ann"))
			w.wait()
			w.fake.Remove("Users", "u1")
			w.fake.Inject(enginetest.Fault{Method: "GET", Status: 500})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.as(func(t *engine.Target) { t.OnMissing = engine.Fail })
			w.set("u-1", user("u-1", "ann"))
			w.wait()
			again(w)
			w.set("u-1", user("u-1", "ann"))
			w.wait()
			require.Len(t, w.fake.Users(), 1)
			require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status, w.state(engine.User, "u-1").LastError)

			w.fake.Remove("Users", w.state(engine.User, "u-1").RemoteID)
			w.mark(userMark("u-1"))
			w.wait()
			require.Equal(t, engine.StatusFailed, w.state(engine.User, "u-1").Status, "an account that is deleted in the meantime is reported")
		})
	}
}

// TestLostCreate_FoundAfterRename checks that the engine finds the account of a lost create under its previous name after a rename and
// failed lookups.
//
// Invariant 5
func TestLostCreate_FoundAfterRename(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	lookups := func(name string) string { return "/Users?filter=userName%20eq%20%22" + name }
	w.fake.Inject(
		enginetest.Fault{Method: "GET", Path: "/Users?filter=externalId", Times: -1, Status: 400},
		enginetest.Fault{Method: "POST", DropAfter: true},
		enginetest.Fault{Method: "GET", Path: lookups("bea"), Times: 3, Status: 500},
	)
	posted := make(chan struct{})
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			select {
			case <-posted:
			default: // the user is renamed before the response is lost
				w.dir.SetUser(app, "u-1", user("u-1", "bea"))
				close(posted)
			}
		}
		w.fake.ServeHTTP(rw, r)
	})
	w.set("u-1", user("u-1", "ada"))
	<-posted
	w.mark(userMark("u-1"))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	require.Equal(t, "bea", w.fake.Users()[0].Text("userName"))
	require.Equal(t, engine.Created, w.state(engine.User, "u-1").Origin)
}

// TestDeactivation_SkipsReassignedAccount checks that a retried deactivation does not deactivate an account that now belongs to another
// user.
//
// Invariant 6
func TestDeactivation_SkipsReassignedAccount(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{RetryInitial: 200 * time.Millisecond, RetryMax: 200 * time.Millisecond})
		w.as(func(t *engine.Target) { t.OnRecycled = engine.LinkAuto })
		w.set("old", user("old", "ada"))
		w.wait()
		w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 500})
		w.set("old", off("old", "ada"))
		w.poll("the backoff", func() bool { return w.state(engine.User, "old").Status == engine.StatusRetrying })
		w.set("new", user("new", "ada"))
		w.wait()
		require.Len(t, w.fake.Users(), 1)
		active, _ := w.fake.Users()[0].Bool("active")
		require.True(t, active)
		require.Equal(t, "u1", w.state(engine.User, "new").RemoteID)
		require.Empty(t, w.state(engine.User, "old").RemoteID)
		require.Equal(t, engine.StatusClean, w.state(engine.User, "old").Status)
	})
}

func TestDeactivation_PrecedesCreates(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("old", user("old", "old"))
	w.wait()
	w.stop(w.engine) // stop the engine until all marks are stored
	var marks []engine.Mark
	for i := range 40 {
		id := string(rune('A'+i/26)) + string(rune('a'+i%26))
		w.dir.SetUser(app, id, user(id, "new-"+id))
		marks = append(marks, userMark(id))
	}
	leaver := user("old", "old")
	leaver.Want = engine.Absent
	w.dir.SetUser(app, "old", leaver)
	w.mark(append(marks, userMark("old"))...)
	w.fake.Requests()
	w.as(func(t *engine.Target) { t.Concurrency = 1 })
	w.engine = w.start(provision.Options{})
	w.wait()
	require.Equal(t, "PATCH /Users/u1", w.fake.Requests()[0])
}

// TestStop_RepeatableAndFinal checks that Stop may be called twice and without Start, and that a stopped engine cannot start.
func TestStop_RepeatableAndFinal(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	require.NoError(t, w.engine.Start(t.Context()), "a second start has no effect")
	w.stop(w.engine)
	w.stop(w.engine)
	never, err := provision.New(provision.Options{Store: w.store, Directory: w.dir})
	require.NoError(t, err)
	w.stop(never)
	w.stop(never)
	for _, stopped := range []*provision.Engine{w.engine, never} {
		require.ErrorContains(t, stopped.Start(t.Context()), "the engine was stopped")
	}
}

// TestStop_CancelsHangingRequest checks that Stop cancels a hanging request when its context ends, and that the next engine completes the
// create.
func TestStop_CancelsHangingRequest(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	hang := make(chan struct{})
	defer close(hang)
	w.fake.Inject(enginetest.Fault{Method: "POST", Hang: hang})
	w.set("u-1", user("u-1", "ann"))
	w.poll("the create", func() bool { return w.state(engine.User, "u-1").MayExist && len(w.fake.Requests()) > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.engine.Stop(ctx), context.DeadlineExceeded)
	require.Zero(t, w.state(engine.User, "u-1").Attempts, "a stop is not a failure")
	w.fake.ClearFaults()
	w.engine = w.start(provision.Options{})
	w.wait()
	require.Len(t, w.fake.Users(), 1)
}

// TestLease_ReclaimedByOwner checks that a restarted engine with the same owner name takes the lanes of the killed one immediately.
func TestLease_ReclaimedByOwner(t *testing.T) {
	w := newWorld(t, sqldbtest.Postgres(t), provision.Options{})
	w.stop(w.engine)
	w.set("u-1", user("u-1", "ann"))
	leases := w.claim("me") // this process appears to be killed
	require.Len(t, leases, 1)
	w.engine = w.start(provision.Options{Owner: "me"})
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	require.ErrorIs(t, w.store.Begin(t.Context(), leases[0], nil), engine.ErrLeaseLost)
}

// TestLease_TakenOverAfterDeath checks that another engine takes the lanes of a dead process, and that the store rejects writes of the dead
// process. An SQLite database belongs to one process, which is dead if it does not have the lock.
func TestLease_TakenOverAfterDeath(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.stop(w.engine)
		w.set("u-1", user("u-1", "ann"))
		const lease = 500 * time.Millisecond
		p, _, err := w.store.Join(t.Context(), store.Joining{Name: "frozen", Lease: lease})
		require.NoError(t, err)
		leases, err := w.store.Claim(t.Context(), p.ID, time.Now(), 10)
		require.NoError(t, err)
		require.Len(t, leases, 1)
		if db.Dialect() == sqldb.SQLite {
			w.die(leases[0])
		}
		w.engine = w.start(provision.Options{Lease: lease})
		w.wait()
		require.Len(t, w.fake.Users(), 1)
		_, err = w.store.Finish(t.Context(), leases[0],
			store.Finish{Kind: engine.User, ID: "u-1", Gen: 1, Status: engine.StatusFailed, RemoteID: "stale"})
		require.ErrorIs(t, err, engine.ErrLeaseLost)
		require.Equal(t, "u1", w.state(engine.User, "u-1").RemoteID)
	})
}

func TestConnectionTest(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	require.NoError(t, w.engine.Targets().Test(t.Context(), w.target))
	w.requests("GET /Users?startIndex=1&count=100")
	wrong := w.target
	wrong.Auth.Secret = "wrong-token"
	err := w.engine.Targets().Test(t.Context(), wrong)
	require.ErrorContains(t, err, "401: expected 200; error detail: the token is not valid")
	require.NotContains(t, err.Error(), "wrong-token")
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("{}")) }))
	defer other.Close()
	wrong.BaseURL = other.URL
	require.ErrorContains(t, w.engine.Targets().Test(t.Context(), wrong), "not a ListResponse")
}

// TestForget_ClearsPending checks that Forget removes an app during a create, and that the app name is usable again.
func TestForget_ClearsPending(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		hang := make(chan struct{})
		w.fake.Inject(enginetest.Fault{Method: "POST", Hang: hang})
		w.set("u-1", user("u-1", "ann"))
		w.poll("the create", func() bool { return len(w.fake.Requests()) > 0 && w.state(engine.User, "u-1").MayExist })
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error { return w.engine.Forget(t.Context(), tx.Execer(), app) }))
		close(hang)
		w.wait()
		_, err := w.engine.State(t.Context(), app, engine.User, "u-1")
		require.ErrorIs(t, err, engine.ErrNotFound)
		w.mark(userMark("u-1"))
		w.wait()
		require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status, "the name can be used again")
	})
}

// TestTarget_RejectsUnknownPolicy checks that an unknown style, fallback or policy is an error of the connection, and that nothing is sent.
func TestTarget_RejectsUnknownPolicy(t *testing.T) {
	for want, broken := range map[string]func(*engine.Target){
		`unknown Target.Style "put"`:                                       func(t *engine.Target) { t.Style = "put" },
		`unknown Target.Fallback "never"`:                                  func(t *engine.Target) { t.Fallback = "never" },
		`unknown Target.OnMissing "Fail": want one of ["recreate" "fail"]`: func(t *engine.Target) { t.OnMissing = "Fail" },
		`unknown Target.OnExisting "hold"`:                                 func(t *engine.Target) { t.OnExisting = "hold" },
		`unknown Target.OnRecycled "no"`:                                   func(t *engine.Target) { t.OnRecycled = "no" },
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.fake.Add("Users", user("u-1", "ann").Resource)
			broken(&w.target)
			w.dir.SetTarget(app, w.target)
			require.ErrorContains(t, w.engine.Targets().Test(t.Context(), w.target), want)
			w.set("u-1", user("u-1", "ann"))
			w.poll("the error", func() bool { return w.state(engine.User, "u-1").LastError != "" })
			require.Contains(t, w.state(engine.User, "u-1").LastError, want)
			w.requests()
		})
	}
}
