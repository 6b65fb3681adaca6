package provision_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// candidate is a directory with other desired states of users.
type candidate struct {
	*enginetest.Directory
	user func(id string, u engine.UserState) engine.UserState
}

func (c candidate) User(ctx context.Context, app, id string) (engine.UserState, error) {
	u, err := c.Directory.User(ctx, app, id)
	return c.user(id, u), err
}

func gone(string, engine.UserState) engine.UserState { return engine.UserState{Want: engine.Absent} }

func titled(id string, u engine.UserState) engine.UserState {
	u.Resource = u.Resource.Clone()
	u.Resource.Set("title", "Mx "+id)
	return u
}

// populate provisions users and a group of them.
func (w *world) populate(n int) (ids []string) {
	w.t.Helper()
	var marks []engine.Mark
	for i := range n {
		id := fmt.Sprintf("u-%02d", i)
		ids = append(ids, id)
		w.dir.SetUser(app, id, user(id, "name-"+id))
		w.dir.SetMember(app, "g", id, true)
		marks = append(marks, userMark(id))
	}
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(append(marks, groupMark("g"))...)
	w.wait()
	w.fake.Requests()
	return ids
}

func (w *world) plan(req engine.PlanRequest) engine.Plan {
	w.t.Helper()
	req.App = app
	p, err := w.engine.Plans().Make(w.t.Context(), req)
	require.NoError(w.t, err)
	return p
}

func (w *world) apply(id string, o engine.ApplyOptions) error {
	err := w.db.Update(w.t.Context(), func(tx *sqldb.Tx) error { return w.engine.Plans().Apply(w.t.Context(), tx.Execer(), id, o) })
	w.engine.Wake(app)
	return err
}

func (w *world) items(id string) []engine.PlanItem {
	w.t.Helper()
	all, err := w.engine.Plans().Items(w.t.Context(), engine.PlanItemQuery{Plan: id, Limit: 1000})
	require.NoError(w.t, err)
	return all
}

// titles returns the titles of the accounts by the id of the user.
func (w *world) titles() map[string]string {
	out := map[string]string{}
	for _, u := range w.fake.Users() {
		out[u.ExternalID()] = u.Text("title")
	}
	return out
}

func principals(ids ...string) (out []engine.Principal) {
	for _, id := range ids {
		out = append(out, engine.Principal{Kind: engine.User, ID: id})
	}
	return out
}

func TestPlan_ReviewedThenApplied(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.populate(3)
		d := candidate{w.dir, titled}
		p := w.plan(engine.PlanRequest{Reason: "titles", Directory: d, All: true})
		require.Equal(t, []any{engine.PlanOpen, 3, "titles", w.server.URL}, []any{p.Status, p.Items, p.Reason, p.BaseURL})
		require.Equal(t, map[engine.Operation]int{engine.OpUpdate: 3}, p.Operations, "the group is converged")
		require.Equal(t, map[engine.Class]int{engine.Done: 3}, p.Outcomes)
		for _, r := range w.fake.Requests() {
			require.True(t, strings.HasPrefix(r, "GET "), r)
		}
		items := w.items(p.ID)
		require.Equal(t, []string{"u-00", "u-01", "u-02"}, []string{items[0].ID, items[1].ID, items[2].ID})
		require.Equal(t, []engine.Difference{{Path: "title", After: "Mx u-00"}}, items[0].Diff)
		require.Equal(t, []any{int64(1), 2, "PUT"}, []any{items[0].Generation, items[0].Sent, items[0].Requests[1].Method})
		listed, err := w.engine.Plans().List(t.Context(), engine.PlanQuery{App: app})
		require.NoError(t, err)
		require.Len(t, listed, 1)
		encoded, err := json.Marshal([]any{listed[0], items[0]})
		require.NoError(t, err)
		require.Contains(t, string(encoded), `"operations":{"update":3}`)
		require.Contains(t, string(encoded), `"diff":[{"path":"title","before":null,"after":"Mx u-00"}]`)

		// The new mapping is stored in the same transaction. Here it is the directory of another engine, which applies the plan.
		w.stop(w.engine)
		e, err := provision.New(provision.Options{Store: w.store, Directory: d})
		require.NoError(t, err)
		require.NoError(t, e.Start(t.Context()))
		t.Cleanup(func() { w.stop(e) })
		w.engine = e
		w.set("u-new", user("u-new", "new"))
		w.wait()
		w.fake.Requests()
		require.NoError(t, w.apply(p.ID, engine.ApplyOptions{}))
		w.wait()
		require.Equal(t, map[string]string{"u-00": "Mx u-00", "u-01": "Mx u-01", "u-02": "Mx u-02", "u-new": "Mx u-new"}, w.titles())
		require.Len(t, w.fake.Requests(), 3*2, "exactly the planned writes")
		require.EqualValues(t, 1, w.state(engine.User, "u-new").Desired)
		require.ErrorIs(t, w.apply(p.ID, engine.ApplyOptions{}), engine.ErrApplied)
		require.True(t, w.items(p.ID)[2].Marked)

		require.NoError(t, w.engine.Plans().Discard(t.Context(), p.ID))
		require.Empty(t, w.items(p.ID))
		require.ErrorIs(t, w.apply(p.ID, engine.ApplyOptions{}), engine.ErrNotFound)
	})
}

func TestPlan_SendsPlannedRequests(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		log := w.listen()
		ids := w.populate(4)
		w.dir.SetUser(app, ids[2], user(ids[2], "renamed"))
		w.dir.SetUser(app, ids[1], off(ids[1], "name-"+ids[1]))
		w.dir.SetUser(app, "new", user("new", "new"))
		w.dir.SetMember(app, "g", ids[2], false)
		p := w.plan(engine.PlanRequest{All: true, Principals: principals("new", ids[2])})
		log.take()
		var want []string
		for _, item := range w.items(p.ID) {
			for _, s := range item.Requests {
				want = append(want, line(s.Method, s.Path, s.IfMatch, s.Body))
			}
		}
		require.NoError(t, w.apply(p.ID, engine.ApplyOptions{}))
		w.wait()
		got := log.take()
		require.ElementsMatch(t, want, got, cmp.Diff(want, got))
	})
}

// TestPlan_MassUnassignmentPassesGuard checks that the guard allows the deactivations of an applied plan.
func TestPlan_MassUnassignmentPassesGuard(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		ids := w.populate(6)
		w.as(func(t *engine.Target) { t.Guard = engine.Guard{Limit: 1} })
		p := w.plan(engine.PlanRequest{Directory: candidate{w.dir, gone}, Principals: principals(ids[:5]...)})
		require.Equal(t, map[engine.Operation]int{engine.OpDeactivate: 5}, p.Operations)
		require.Empty(t, cmp.Diff([]engine.Difference{{Path: "active", Before: true, After: false}}, w.items(p.ID)[4].Diff))
		require.ErrorIs(t, w.apply(p.ID, engine.ApplyOptions{}), engine.ErrStale, "the directory has not changed yet")
		for _, id := range ids[:5] {
			w.dir.SetUser(app, id, engine.UserState{Want: engine.Absent})
		}
		require.NoError(t, w.apply(p.ID, engine.ApplyOptions{}))
		w.wait()
		active := 0
		for _, u := range w.fake.Users() {
			if on, _ := u.Bool("active"); on {
				active++
			}
		}
		require.Equal(t, 1, active)
	})
}

// TestPlan_RejectsExpiredOrStale checks that Apply rejects a plan after its expiry, or after the target, directory or state has changed.
//
// Invariant 20
func TestPlan_RejectsExpiredOrStale(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		now := time.Now()
		w := newWorld(t, db, provision.Options{})
		w.stop(w.engine)
		var err error
		w.engine, err = provision.New(provision.Options{Store: w.store, Directory: w.dir, Now: func() time.Time { return now }})
		require.NoError(t, err)
		ids := []string{"u-00", "u-01", "u-02", "u-03", "u-04", "u-05", "u-06"}
		for _, id := range ids {
			w.dir.SetUser(app, id, user(id, id))
		}
		w.dir.SetMember(app, "g", ids[0], true)
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		p := w.plan(
			engine.PlanRequest{Principals: append(principals(ids...), engine.Principal{Kind: engine.Group, ID: "g"}), Expires: time.Minute})
		marks := func() int {
			n, err := w.engine.Apps().Pending(t.Context())
			require.NoError(t, err)
			return n
		}
		now = now.Add(time.Minute)
		require.ErrorIs(t, w.apply(p.ID, engine.ApplyOptions{}), engine.ErrExpired)
		now = now.Add(-time.Second)

		elsewhere := w.target
		elsewhere.BaseURL += "/other"
		w.dir.SetTarget(app, elsewhere)
		require.ErrorIs(t, w.apply(p.ID, engine.ApplyOptions{}), engine.ErrStale)
		w.dir.SetTarget(app, w.target)

		err = w.apply(p.ID, engine.ApplyOptions{Directory: candidate{w.dir, titled}})
		require.ErrorIs(t, err, engine.ErrStale)
		require.ErrorContains(t, err, "since the plan was made: user u-00, user u-01, user u-02, user u-03, user u-04 and 2 more")

		w.dir.SetMember(app, "g", ids[1], true)
		require.ErrorContains(t, w.apply(p.ID, engine.ApplyOptions{}), "since the plan was made: group g")
		w.dir.SetMember(app, "g", ids[1], false)

		w.dir.Fail(errors.New("no database"))
		require.ErrorContains(t, w.apply(p.ID, engine.ApplyOptions{}), "no database")
		w.dir.Fail(nil)
		require.Zero(t, marks(), "nothing was marked")

		w.mark(userMark(ids[3]))
		require.ErrorContains(t, w.apply(p.ID, engine.ApplyOptions{}), "since the plan was made: user u-03")
		require.Equal(t, 1, marks())
	})
}

func TestPlan_FailureStoresNothing(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		ids := w.populate(2)
		refused := func(ctx context.Context, want string, req engine.PlanRequest) {
			t.Helper()
			req.App = app
			_, err := w.engine.Plans().Make(ctx, req)
			require.ErrorContains(t, err, want)
			all, err := w.engine.Plans().List(t.Context(), engine.PlanQuery{})
			require.NoError(t, err)
			require.Empty(t, all)
		}
		refused(t.Context(), `kind "robot"`, engine.PlanRequest{Principals: []engine.Principal{{Kind: "robot", ID: "x"}}})
		refused(t.Context(), "100001, the maximum is 100000",
			engine.PlanRequest{Principals: make([]engine.Principal, engine.MaxPlanItems+1)})
		w.fake.Inject(enginetest.Fault{Status: 401, Times: -1})
		refused(t.Context(), "read: 401", engine.PlanRequest{Principals: principals(ids...)})
		w.fake.ClearFaults()
		ctx, cancel := context.WithCancel(t.Context())
		refused(ctx, "context canceled", engine.PlanRequest{Directory: candidate{w.dir, func(_ string, u engine.UserState) engine.UserState {
			cancel()
			return u
		}}, All: true})
		require.NoError(t,
			w.store.SavePlan(t.Context(), engine.Plan{ID: "half", App: app, Status: engine.PlanMaking, ExpiresAt: time.Now().Add(time.Hour)}))
		require.ErrorContains(t, w.apply("half", engine.ApplyOptions{}), "plan half is not complete")
		require.NoError(t, w.engine.Plans().Discard(t.Context(), "half"))
		d := candidate{&enginetest.Directory{}, gone}
		d.SetTarget(app, w.target)
		p := w.plan(engine.PlanRequest{Directory: d, Principals: principals(ids...)})
		require.NoError(t, w.engine.Plans().Discard(t.Context(), p.ID))
		d.Fail(errors.New("no database"))
		_, err := w.engine.Plans().Make(t.Context(), engine.PlanRequest{App: app, Directory: d, All: true})
		require.ErrorContains(t, err, "no database")
	})
}

// TestPlan_ReportsReadErrors checks that a plan contains the error of an unreadable account, and waits for a pause of the target.
func TestPlan_ReportsReadErrors(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	ids := w.populate(3)
	w.fake.Inject(
		enginetest.Fault{Path: "/Users/" + w.state(engine.User, ids[0]).RemoteID, Status: 500},
		enginetest.Fault{Path: "/Users/" + w.state(engine.User, ids[1]).RemoteID, Status: 429, RetryAfter: "0", Times: 2},
	)
	p := w.plan(engine.PlanRequest{Principals: principals(ids...)})
	require.Equal(t, map[engine.Class]int{engine.Transient: 1, engine.Done: 2}, p.Outcomes, "the plan waits for the pause")
	require.Equal(t, "read: 500: injected 500", w.items(p.ID)[0].Message)
}

// TestPlan_CanaryFirst checks that a partly applied plan continues only after its first principals have converged.
func TestPlan_CanaryFirst(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		ids := w.populate(5)
		p := w.plan(engine.PlanRequest{Directory: candidate{w.dir, titled}, Principals: principals(ids...)})
		for _, id := range ids {
			w.dir.SetUser(app, id, titled(id, user(id, "name-"+id)))
		}
		w.fake.Inject(enginetest.Fault{Method: "PUT", Status: 400, Times: -1}, enginetest.Fault{Method: "PATCH", Status: 400, Times: -1})
		require.NoError(t, w.apply(p.ID, engine.ApplyOptions{First: 2}))
		w.wait()
		require.Equal(t, int64(2), w.state(engine.User, ids[1]).Desired)
		require.Equal(t, int64(1), w.state(engine.User, ids[2]).Desired, "the other users wait")
		listed, err := w.engine.Plans().List(t.Context(), engine.PlanQuery{ID: p.ID})
		require.NoError(t, err)
		require.Equal(t, engine.PlanPartial, listed[0].Status)
		err = w.apply(p.ID, engine.ApplyOptions{})
		require.ErrorIs(t, err, engine.ErrCanary)
		require.ErrorContains(t, err, "user u-00 (failed), user u-01 (failed)")

		w.fake.ClearFaults()
		w.mark(userMark(ids[0]), userMark(ids[1]))
		w.wait()
		require.NoError(t, w.apply(p.ID, engine.ApplyOptions{First: 1}), "the second part may be limited too")
		w.wait()
		require.NoError(t, w.apply(p.ID, engine.ApplyOptions{}))
		w.wait()
		for id, title := range w.titles() {
			require.Equal(t, "Mx "+id, title)
		}
		require.ErrorIs(t, w.apply(p.ID, engine.ApplyOptions{}), engine.ErrApplied)
	})
}

func TestPlan_ObeysRateLimit(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	ids := w.populate(6)
	w.replaceByStopped()
	w.as(func(t *engine.Target) { t.Rate, t.Burst = 50, 1 })
	began := time.Now()
	w.plan(engine.PlanRequest{Principals: principals(ids...)})
	require.GreaterOrEqual(t, time.Since(began), 5*time.Second/50, "concurrency 1, 50 requests per second")
}

// TestPlan_CanaryDetectsIgnoredDeactivation checks that a canary stops a plan for a target that ignores deactivations, and how plans show
// inconsistent lookups.
func TestPlan_CanaryDetectsIgnoredDeactivation(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Ignores = []string{"active"} // the target responds with 200 to a deactivation and ignores it
	ids := w.populate(4)
	for _, id := range ids {
		w.dir.SetUser(app, id, engine.UserState{Want: engine.Absent})
	}
	p := w.plan(engine.PlanRequest{Principals: principals(ids...)})
	require.Equal(t, map[engine.Operation]int{engine.OpDeactivate: 4}, p.Operations)
	require.NoError(t, w.apply(p.ID, engine.ApplyOptions{First: 1}))
	w.wait()
	err := w.apply(p.ID, engine.ApplyOptions{})
	require.ErrorIs(t, err, engine.ErrCanary)
	require.ErrorContains(t, err, "user u-00 (failed)")
	require.EqualValues(t, 1, w.state(engine.User, ids[1]).Desired)

	w.fake.Inject(enginetest.Fault{HTML: true}, enginetest.Fault{Twice: true, Times: -1})
	w.dir.SetUser(app, "new", user("new", "new"))
	w.dir.SetUser(app, "found", user("found", "name-"+ids[0]))
	p = w.plan(engine.PlanRequest{Principals: principals("found", "new")})
	require.Equal(t, 1, p.Outcomes[engine.Transient], "an HTML page is an error")
	p = w.plan(engine.PlanRequest{Principals: principals("found")})
	require.Equal(t, map[engine.Class]int{engine.Held: 1}, p.Outcomes, "two matches need a decision")
}

// TestPlan_AppliedOnce checks that only one of several concurrent calls applies a plan.
func TestPlan_AppliedOnce(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.replaceByStopped()
		for _, id := range []string{"a", "b"} {
			w.dir.SetUser(app, id, user(id, id))
		}
		p := w.plan(engine.PlanRequest{Principals: principals("b", "a")})
		const tries = 5
		results := make(chan error, tries)
		for range tries {
			go func() { results <- w.apply(p.ID, engine.ApplyOptions{}) }()
		}
		applied := 0
		for range tries {
			switch err := <-results; {
			case err == nil:
				applied++
			case !errors.Is(err, engine.ErrApplied) && !errors.Is(err, engine.ErrStale):
				t.Error(err)
			}
		}
		require.Equal(t, 1, applied)
		require.EqualValues(t, 1, w.state(engine.User, "a").Desired)
	})
}

// TestPlan_AllOnConvergedApp checks that a plan of all principals contains only those with changes, and the principals named in the
// request.
func TestPlan_AllOnConvergedApp(t *testing.T) {
	for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
		t.Run(string(style), func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.as(func(t *engine.Target) { t.Style = style })
			ids := w.populate(4)
			w.set(ids[3], off(ids[3], "name-"+ids[3]))
			w.wait()
			keep := user(ids[2], "name-"+ids[2])
			keep.Want = engine.Keep
			w.set(ids[2], keep)
			w.wait()
			require.Equal(t, engine.StatusSkipped, w.state(engine.User, ids[2]).Status)
			p := w.plan(engine.PlanRequest{All: true})
			require.Zero(t, p.Items, "%v", w.items(p.ID))
			require.Empty(t, p.Operations)

			p = w.plan(engine.PlanRequest{All: true, Principals: principals(ids[3])})
			require.Equal(t, map[engine.Operation]int{engine.OpNone: 1}, p.Operations, "a principal that is named is in the plan")

			w.dir.SetMember(app, "g", ids[0], false)
			w.dir.SetUser(app, ids[1], user(ids[1], "renamed"))
			p = w.plan(engine.PlanRequest{All: true})
			require.Equal(t, map[engine.Operation]int{engine.OpUpdate: 1, engine.OpMembers: 1}, p.Operations)
		})
	}
}
