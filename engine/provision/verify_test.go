package provision_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func (w *world) verify(kind engine.Kind, id string) engine.Verification {
	w.t.Helper()
	p, err := w.engine.Traces().Verify(w.t.Context(), app, kind, id)
	require.NoError(w.t, err)
	return p
}

func TestVerification_String(t *testing.T) {
	at := time.Date(2026, 1, 2, 10, 2, 3, 0, time.UTC)
	for want, p := range map[string]engine.Verification{
		"desired generation 17, confirmed generation 17, read back equal at 10:02:03": {Desired: 17, Confirmed: 17,
			ReadAt: at, Equal: true},
		"desired generation 18, confirmed generation 17, read back different at 10:02:03 in title, members": {Desired: 18, Confirmed: 17,
			ReadAt: at, Differ: []string{"title", "members"}},
		"desired generation 1, confirmed generation 0, not read back (no answer)": {Desired: 1, Message: "no answer"},
		"desired generation 2, confirmed generation 2, read back equal at 10:02:03, ignored by the target: title, waiting for u": {
			Desired: 2, Confirmed: 2, ReadAt: at, Equal: true, Ignored: []string{"title"}, Waiting: []string{"u"}},
	} {
		require.Equal(t, want, p.String())
		require.Equal(t, p.Equal && p.Waiting == nil, p.Converged())
	}
}

// TestVerify_ReadsUser checks that Verify compares the account on the target with the directory, and changes nothing.
func TestVerify_ReadsUser(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		u := user("u-1", "ann")
		u.Resource.Set("title", "Cook")
		w.set("u-1", u)
		w.wait()
		p := w.verify(engine.User, "u-1")
		require.True(t, p.Converged(), p.String())
		require.Contains(t, p.String(), "desired generation 1, confirmed generation 1, read back equal at ")
		before := w.state(engine.User, "u-1")
		w.fake.Requests()

		// Another client changes the account on the target.
		theirs := w.fake.Users()[0]
		theirs.Set("title", "Boss")
		w.fake.Remove("Users", theirs.ID())
		id := w.fake.Add("Users", theirs)
		u.RemoteID = id
		w.dir.SetUser(app, "u-1", u)
		p = w.verify(engine.User, "u-1")
		require.Equal(t, []any{false, []string{"title"}}, []any{p.Equal, p.Differ})
		require.Equal(t, []engine.Difference{{Path: "title", Before: "Boss", After: "Cook"}}, p.Diff)
		w.requests("GET /Users/" + id)
		require.Equal(t, before, w.state(engine.User, "u-1"))

		u.RemoteID = ""
		w.dir.SetUser(app, "u-1", u)
		w.fake.Remove("Users", id)
		p = w.verify(engine.User, "u-1")
		require.False(t, p.Converged())
		require.Equal(t, "account or group not found on the target", p.Message)
		require.Contains(t, p.Differ, "userName")

		w.fake.Inject(enginetest.Fault{Status: 500, Times: -1})
		p = w.verify(engine.User, "u-1")
		require.False(t, p.Equal)
		require.Equal(t, "desired generation 1, confirmed generation 1, not read back (read: 500: injected 500)", p.String())
	})
}

func TestVerify_Deactivation(t *testing.T) {
	for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
		w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
		w.as(func(t *engine.Target) { t.Style = style })
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		w.dir.SetUser(app, "u-1", off("u-1", "ann"))
		require.Equal(t, []string{"active"}, w.verify(engine.User, "u-1").Differ)
		w.mark(userMark("u-1"))
		w.wait()
		require.True(t, w.verify(engine.User, "u-1").Converged())
		w.dir.SetUser(app, "unknown", off("unknown", "ann"))
		require.True(t, w.verify(engine.User, "unknown").Equal, "the principal has no state")
	}
}

// TestVerify_DetectsIgnoredAttribute checks that Verify detects an attribute ignored by the target, and later lists it separately.
func TestVerify_DetectsIgnoredAttribute(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{KeepRounds: 2})
	w.fake.Ignores = []string{"title"}
	u := user("u-1", "ann")
	u.Resource.Set("title", "Cook")
	w.set("u-1", u)
	w.wait()
	p := w.verify(engine.User, "u-1")
	require.Equal(t, []any{false, []string{"title"}}, []any{p.Equal, p.Differ}, "the create succeeded")
	for range 3 {
		w.mark(userMark("u-1"))
		w.wait()
	}
	require.True(t, w.state(engine.User, "u-1").IgnoredAttributes["title"].Ignored)
	p = w.verify(engine.User, "u-1")
	require.Equal(t, []any{true, []string{"title"}}, []any{p.Equal, p.Ignored}, "an ignored attribute is listed separately: %s", p)
}

func TestVerify_GroupNameAndMembers(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		for _, id := range []string{"a", "b"} {
			w.dir.SetUser(app, id, user(id, "name-"+id))
			w.dir.SetMember(app, "g", id, true)
		}
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		w.mark(userMark("a"), userMark("b"), groupMark("g"))
		w.wait()
		require.True(t, w.verify(engine.Group, "g").Converged())

		theirs := w.fake.Groups()[0]
		theirs.Set("displayName", "Coffee")
		theirs.Set("members", []any{map[string]any{"value": w.state(engine.User, "a").RemoteID}, map[string]any{"value": "other"}})
		w.fake.Remove("Groups", theirs.ID())
		id := w.fake.Add("Groups", theirs)
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea", RemoteID: id})
		w.fake.Requests()
		p := w.verify(engine.Group, "g")
		require.Equal(t, []string{"displayName", "members"}, p.Differ)
		require.Equal(t, &engine.MemberDiff{
			Added: 1, Add: []engine.MemberRef{{User: "b", ID: w.state(engine.User, "b").RemoteID, Name: "name-b"}}, Removed: 1,
			Remove: []engine.MemberRef{{ID: "other"}},
		}, p.Members)
		w.requests("GET /Groups/" + id)

		w.dir.SetMember(app, "g", "new", true)
		require.Equal(t, []string{"new"}, w.verify(engine.Group, "g").Waiting)
	})
}

// TestWaitFor_SinglePrincipal checks that WaitFor returns once its principal is clean or failed, whatever the state of other principals.
func TestWaitFor_SinglePrincipal(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		_, err := w.engine.WaitFor(ctx, app, engine.User, "u-1")
		require.ErrorIs(t, err, engine.ErrNotFound)

		// WaitFor does not wait for a hanging sequence of another principal.
		hang := make(chan struct{})
		defer close(hang)
		w.fake.Inject(enginetest.Fault{Method: "GET", Path: "/Users?filter=userName%20eq%20%22slow", Hang: hang, Times: -1})
		w.set("u-0", user("u-0", "slow"))
		w.set("u-1", user("u-1", "ann"))
		s, err := w.engine.WaitFor(ctx, app, engine.User, "u-1")
		require.NoError(t, err)
		require.Equal(t, []any{engine.StatusClean, int64(1)}, []any{s.Status, s.Synced})

		// WaitFor also sees the work of another engine.
		asleep, err := provision.New(provision.Options{Store: w.store, Directory: w.dir})
		require.NoError(t, err)
		w.fake.Inject(enginetest.Fault{Method: "PUT", Path: "/Users/", Status: 400})
		w.set("u-1", user("u-1", "anna"))
		s, err = asleep.WaitFor(ctx, app, engine.User, "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.StatusFailed, s.Status)

		short, end := context.WithCancel(ctx)
		end()
		_, err = w.engine.WaitFor(short, app, engine.User, "u-0")
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestTrace_ProvisionOnDemand checks that an immediate run returns the trace that the dry run predicts. If the run fails, it returns the
// trace and an error.
func TestTrace_ProvisionOnDemand(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		provision := func(kind engine.Kind, id string, o engine.ProvisionOptions) engine.Trace {
			got, err := w.engine.Traces().Run(ctx, app, kind, id, o)
			require.NoError(t, err)
			return got
		}
		w.dir.SetUser(app, "u-1", user("u-1", "ann"))
		expected := w.dryRun(engine.User, "u-1")
		got := provision(engine.User, "u-1", engine.ProvisionOptions{})
		require.Equal(t, lines(expected), lines(got))
		require.Equal(t, expected.Diff, got.Diff)
		require.Equal(t, []any{false, engine.OpCreate, engine.Done, 201, engine.StatusClean},
			[]any{got.Rehearsed, got.Operation, got.Outcome, got.HTTP, got.State.Status})
		require.Equal(t, expected.Desired, got.Desired)
		require.Contains(t, got.Requests[1].Answer, `"id":"u1"`)
		require.Contains(t, got.Requests[1].Body, `"password":"[redacted]"`)

		// Run ends the backoff, and the trace contains only the last run.
		w.fake.Inject(enginetest.Fault{Method: "GET", Status: 500})
		w.set("u-1", user("u-1", "anna"))
		w.poll("the failure", func() bool { return w.state(engine.User, "u-1").Status == engine.StatusRetrying })
		got = provision(engine.User, "u-1", engine.ProvisionOptions{})
		require.Equal(t, []string{"GET /Users/u1", "PUT /Users/u1"}, requestsOf(got))
		require.Equal(t, []string{"userName", "name.givenName"}, paths(got.Diff))

		w.dir.SetUser(app, "u-1", off("u-1", "anna"))
		got = provision(engine.User, "u-1", engine.ProvisionOptions{})
		require.Equal(t, []engine.Difference{{Path: "active", Before: nil, After: false}}, got.Diff, "the account was not read before the write")

		w.dir.SetMember(app, "g", "u-1", true)
		w.dir.SetMember(app, "g", "nobody", true)
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		got = provision(engine.Group, "g", engine.ProvisionOptions{})
		require.Equal(t, &engine.MemberDiff{Added: 1, Add: []engine.MemberRef{{ID: "u1", Name: "anna"}}}, got.Members)
		require.Equal(t, []string{"nobody"}, got.Waiting)
		got = provision(engine.Group, "g", engine.ProvisionOptions{AllMembers: true})
		require.Equal(t, engine.OpMembers, got.Operation)

		// An incomplete run returns its trace and an error.
		w.fake.Inject(enginetest.Fault{Status: 500, Times: -1})
		w.dir.SetUser(app, "u-1", user("u-1", "ann"))
		short, end := context.WithCancel(ctx)
		defer end()
		go func() {
			w.poll("the failure", func() bool { return w.state(engine.User, "u-1").Status == engine.StatusRetrying })
			end()
		}()
		got, err := w.engine.Traces().Run(short, app, engine.User, "u-1", engine.ProvisionOptions{})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []any{engine.Transient, 500}, []any{got.Outcome, got.HTTP})
		require.NotEmpty(t, got.Hold)
		_, err = w.engine.Traces().Run(ctx, app, "robot", "u-1", engine.ProvisionOptions{})
		require.ErrorContains(t, err, "robot")
	})
}

// TestTrace_ShowsActualChanges checks that the trace of a run contains only the changes that the target has stored.
func TestTrace_ShowsActualChanges(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	w.fake.Ignores = []string{"title"}
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	u := user("u-1", "anna")
	u.Resource.Set("title", "Cook")
	w.dir.SetUser(app, "u-1", u)
	require.Equal(t, []string{"userName", "name.givenName", "title"}, paths(w.dryRun(engine.User, "u-1").Diff))
	got, err := w.engine.Traces().Run(ctx, app, engine.User, "u-1", engine.ProvisionOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"userName", "name.givenName"}, paths(got.Diff))
	require.Equal(t, 1, got.State.IgnoredAttributes["title"].Rounds)
}

func TestForceSync_ResendsIgnoredAttribute(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{KeepRounds: 1})
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	w.fake.Ignores = []string{"title"}
	u := user("u-1", "ann")
	u.Resource.Set("title", "Cook")
	w.set("u-1", u)
	w.wait()
	require.True(t, w.state(engine.User, "u-1").IgnoredAttributes["title"].Ignored)
	w.fake.Ignores = nil // without a mark
	got, err := w.engine.Traces().Run(ctx, app, engine.User, "u-1", engine.ProvisionOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"GET /Users/u1"}, requestsOf(got))
	got, err = w.engine.Traces().Run(ctx, app, engine.User, "u-1", engine.ProvisionOptions{ForceSync: true})
	require.NoError(t, err)
	require.Equal(t, []string{"GET /Users/u1", "PUT /Users/u1"}, requestsOf(got))
	require.Equal(t, "Cook", w.fake.Users()[0].Text("title"))
}

// explaining is a directory that implements engine.Explainer.
type explaining struct {
	*enginetest.Directory
	err error
}

func (d *explaining) Explain(_ context.Context, app string, kind engine.Kind, id string) (engine.Explanation, error) {
	return engine.Explanation{Reasons: []string{string(kind) + " " + id, "is in " + app}}, d.err
}

func TestExplain_CombinesDirectoryAndEngine(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.fake.Ignores = []string{"title"}
		u := user("u-1", "ann")
		u.Resource.Set("title", "Cook")
		w.set("u-1", u)
		w.dir.SetMember(app, "g", "nobody", true)
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		w.mark(groupMark("g"))
		w.wait()
		w.fake.Requests()
		x, err := w.engine.Traces().Explain(t.Context(), app, engine.User, "u-1")
		require.NoError(t, err)
		require.Empty(t, x.Reasons, "this directory does not explain")
		require.Equal(t, []any{engine.StatusClean, 1}, []any{x.State.Status, x.State.IgnoredAttributes["title"].Rounds})
		require.Equal(t, []string{"POST", "/Users"}, []string{x.Exchanges[0].Method, x.Exchanges[0].Path}, "newest first")
		require.NotContains(t, x.Exchanges[0].Body, `"password":"ann`)
		x, err = w.engine.Traces().Explain(t.Context(), app, engine.Group, "g")
		require.NoError(t, err)
		require.Equal(t, []string{"nobody"}, x.Waiting)

		d := &explaining{Directory: w.dir}
		e, err := provision.New(provision.Options{Store: w.store, Directory: d})
		require.NoError(t, err)
		x, err = e.Traces().Explain(t.Context(), app, engine.User, "u-2")
		require.NoError(t, err)
		require.Equal(t, []string{"user u-2", "is in crm"}, x.Reasons, "also for a user without a mark")
		require.Zero(t, x.State)
		d.err = errors.New("no database")
		_, err = e.Traces().Explain(t.Context(), app, engine.User, "u-2")
		require.ErrorIs(t, err, d.err)
		_, err = e.Traces().Explain(t.Context(), "nobody", engine.User, "u-2")
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		w.requests()
	})
}
