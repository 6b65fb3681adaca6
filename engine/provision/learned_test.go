package provision_test

import (
	"net/http"
	"sync/atomic"
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

// clock is a clock that can be advanced.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// advance advances the clock while no engine is running. Otherwise a lease would end during a sequence.
func (w *world) advance(c *clock, d time.Duration, o provision.Options) {
	w.t.Helper()
	w.stop(w.engine)
	c.ahead.Add(int64(d))
	w.engine = w.start(o)
}

func (w *world) learned() engine.Learned {
	w.t.Helper()
	l, err := w.engine.Apps().Get(w.t.Context(), app)
	require.NoError(w.t, err)
	return l.Learned
}

// TestLearned_PUTReplacesPATCH checks that the engine sends PUT to a target without PATCH until the trait expires or is reset.
func TestLearned_PUTReplacesPATCH(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		now := &clock{}
		o := provision.Options{Now: now.Now}
		w := newWorld(t, db, o)
		w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 501, Times: -1})
		turn := func(u engine.UserState) {
			w.set("u-1", u)
			w.wait()
		}
		turn(user("u-1", "ann"))
		w.fake.Requests()
		turn(off("u-1", "ann"))
		w.requests("PATCH /Users/u1", "GET /Users/u1", "PUT /Users/u1")
		require.Contains(t, w.learned().Traits, engine.NoPatch)

		w.stop(w.engine)
		w.engine = w.start(o)
		turn(user("u-1", "ann"))
		w.requests("GET /Users/u1", "PUT /Users/u1")

		w.advance(now, engine.TraitTTL, o)
		turn(off("u-1", "ann"))
		w.requests("PATCH /Users/u1", "GET /Users/u1", "PUT /Users/u1")

		w.stop(w.engine) // a running lane would continue with its copy of the learned state
		require.NoError(t, w.engine.Targets().ResetLearned(t.Context(), app))
		require.Empty(t, w.learned())
		w.fake.ClearFaults()
		w.engine = w.start(o)
		turn(user("u-1", "ann"))
		w.requests("GET /Users/u1", "PATCH /Users/u1")
		require.Empty(t, w.learned().Traits)
	})
}

func TestLearned_PerBaseURL(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "GET", Path: "/Users?filter", Status: 400, Times: -1})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.requests("GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100", "GET /Users?startIndex=1&count=100", "POST /Users")
	w.set("u-2", user("u-2", "bob"))
	w.wait()
	w.requests("GET /Users?startIndex=1&count=100", "POST /Users")
	w.stop(w.engine) // a running lane would continue with the target that it has read
	w.target.BaseURL += "/"
	w.dir.SetTarget(app, w.target)
	w.fake.ClearFaults()
	w.engine = w.start(provision.Options{})
	w.set("u-3", user("u-3", "cat"))
	w.wait()
	w.requests("GET /Users?filter=userName%20eq%20%22cat%22&startIndex=1&count=100", "POST /Users")
}

func TestStyleAuto_FollowsServiceProviderConfig(t *testing.T) {
	supported := func(patch, filter bool) *scim.Object {
		feature := func(on bool) map[string]any { return map[string]any{"supported": on} }
		return scim.NewObject(scim.Member{Name: "patch", Value: feature(patch)}, scim.Member{Name: "filter", Value: feature(filter)},
			scim.Member{Name: "bulk", Value: feature(true)})
	}
	filtered := "GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100"
	for name, c := range map[string]struct {
		config     *scim.Object
		lookup     string
		deactivate []string
	}{
		"no configuration":      {nil, filtered, []string{"PATCH /Users/u1"}},
		"all supported":         {supported(true, true), filtered, []string{"PATCH /Users/u1"}},
		"no PATCH":              {supported(false, true), filtered, []string{"GET /Users/u1", "PUT /Users/u1"}},
		"no filter":             {supported(true, false), "GET /Users?startIndex=1&count=100", []string{"PATCH /Users/u1"}},
		"invalid configuration": {scim.NewObject(scim.Member{Name: "patch", Value: "yes"}), filtered, []string{"PATCH /Users/u1"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := &clock{}
			o := provision.Options{Now: now.Now}
			w := newWorld(t, sqldbtest.SQLite(t), o)
			w.fake.Config = c.config
			w.as(func(t *engine.Target) { t.Style = engine.Auto })
			w.set("u-1", user("u-1", "ann"))
			w.wait()
			w.requests("GET /ServiceProviderConfig", c.lookup, "POST /Users")
			w.set("u-1", off("u-1", "ann"))
			w.wait()
			w.requests(c.deactivate...)
			w.advance(now, 25*time.Hour, o)
			w.mark(userMark("u-1"))
			w.wait()
			require.Equal(t, "GET /ServiceProviderConfig", w.fake.Requests()[0], "read once a day")
		})
	}
}

// TestIgnoredAttribute_SentThreeTimes checks that the engine sends an attribute ignored by the target three times per value, and keeps the
// others up to date.
func TestIgnoredAttribute_SentThreeTimes(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.fake.Ignores = []string{"title"}
		titled := func(name, title string) engine.UserState {
			u := user("u-1", name)
			u.Resource.Set("title", title)
			return u
		}
		turn := func(u engine.UserState) {
			w.fake.Requests()
			w.set("u-1", u)
			w.wait()
			require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
		}
		turn(titled("ann", "Dr"))
		require.Equal(t, 1, w.state(engine.User, "u-1").IgnoredAttributes["title"].Rounds)
		turn(titled("ann", "Dr"))
		turn(titled("ann", "Dr"))
		require.Contains(t, w.fake.Requests(), "PUT /Users/u1")
		require.True(t, w.state(engine.User, "u-1").IgnoredAttributes["title"].Ignored)
		require.True(t, w.result().IgnoredAttributes["title"].Ignored, "the observer receives it")
		turn(titled("ann", "Dr"))
		w.requests("GET /Users/u1")
		turn(titled("anna", "Dr"))
		w.requests("GET /Users/u1", "PUT /Users/u1")
		require.Equal(t, "anna", w.fake.Users()[0].Text("userName"), "other attributes are updated")
		turn(titled("anna", "Prof"))
		require.Contains(t, w.fake.Requests(), "PUT /Users/u1", "another value is sent again")
		w.fake.Ignores = nil
		turn(titled("anna", "Prof"))
		turn(titled("anna", "Prof"))
		w.requests("GET /Users/u1")
		require.Equal(t, "Prof", w.fake.Users()[0].Text("title"))
		require.Empty(t, w.state(engine.User, "u-1").IgnoredAttributes, "the target stores it now")
	})
}

// Invariant 10
func TestDeactivation_NoEffectFails(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Method = http.MethodGet // the response to every request is the unchanged account
		w.fake.ServeHTTP(rw, r)
	})
	w.set("u-1", off("u-1", "ann"))
	w.wait()
	s := w.state(engine.User, "u-1")
	require.Equal(t, engine.StatusFailed, s.Status)
	require.Contains(t, s.LastError, "the account remains active (PATCH without a path, PATCH with a path, PUT)")
	require.True(t, s.MayExist, "the deactivation is still desired")
}

// TestCreate_EmptyResponseFails checks that a create with an empty response fails, and that the retry finds the account by a lookup.
//
// Invariant 10
func TestCreate_EmptyResponseFails(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "POST", Empty: true})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	s := w.state(engine.User, "u-1")
	require.Equal(t, engine.StatusFailed, s.Status)
	require.Contains(t, s.LastError, "the response has an empty body")
	w.fake.Requests()
	w.mark(userMark("u-1"))
	w.wait()
	w.requests("GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100", "GET /Users/u1")
	require.Equal(t, engine.Created, w.state(engine.User, "u-1").Origin)
}

// TestMemberBatch_ShrinksAndRecovers checks that a 413 response reduces the member batch, and that successful pushes raise it again.
func TestMemberBatch_ShrinksAndRecovers(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.MemberBatch = 8 })
	for _, id := range []string{"a", "b", "c", "d"} {
		w.dir.SetUser(app, id, user(id, "name-"+id))
		w.mark(userMark(id))
	}
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(groupMark("g"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 413})
	for _, id := range []string{"a", "b", "c", "d"} {
		w.dir.SetMember(app, "g", id, true)
	}
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{"a", "b", "c", "d"}})
	w.wait()
	require.Len(t, w.members(), 4)
	require.Equal(t, 2, w.learned().MemberBatch)
	in := false
	w.join("g", "a", in)
	w.wait()
	require.Equal(t, 3, w.learned().MemberBatch)
	for range 8 {
		in = !in
		w.join("g", "a", in)
		w.wait()
	}
	require.Zero(t, w.learned().MemberBatch, "the batch has its full size again")
}
