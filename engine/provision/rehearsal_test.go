package provision_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// wire records the requests to the fake target.
type wire struct {
	mu   sync.Mutex
	sent []string // method, path, entity tag and body
}

func (w *wire) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.sent
	w.sent = nil
	return out
}

// listen records the requests to the fake target.
func (w *world) listen() *wire {
	out := &wire{}
	w.front(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		out.mu.Lock()
		out.sent = append(out.sent, line(r.Method, r.URL.RequestURI(), r.Header.Get("If-Match"), string(body)))
		out.mu.Unlock()
		w.fake.ServeHTTP(rw, r)
	})
	return out
}

// Differences between a dry run and the run: passwords, and simulated entity tags and ids.
var (
	passwords = regexp.MustCompile(`"password":"[^"]*"`)
	tags      = regexp.MustCompile(`W/"[^"]*"|W/\\"[^"]*\\"`)
	made      = regexp.MustCompile(`pretended-\d+`)
)

func line(method, path, match, body string) string {
	s := method + " " + path + " " + match + " " + body
	return tags.ReplaceAllString(passwords.ReplaceAllString(s, `"password":"-"`), "W/-")
}

func lines(t engine.Trace) (out []string) {
	for _, s := range t.Requests {
		out = append(out, line(s.Method, s.Path, s.IfMatch, s.Body))
	}
	return out
}

// replaceByStopped replaces the engine by one that is not started.
func (w *world) replaceByStopped() {
	w.t.Helper()
	w.stop(w.engine)
	var err error
	w.engine, err = provision.New(provision.Options{Store: w.store, Directory: w.dir})
	require.NoError(w.t, err)
}

func (w *world) dryRun(kind engine.Kind, id string) engine.Trace {
	w.t.Helper()
	trace, err := w.engine.Traces().DryRun(w.t.Context(), app, kind, id)
	require.NoError(w.t, err)
	return trace
}

func requestsOf(t engine.Trace) (out []string) {
	for _, s := range t.Requests {
		out = append(out, s.Method+" "+s.Path)
	}
	return out
}

// TestDryRun_ChangesNothing checks that a dry run returns the requests and differences, writes nothing to the target and stores nothing.
//
// Invariant 20
func TestDryRun_ChangesNothing(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.dir.SetUser(app, "u-1", user("u-1", "ann"))
		got := w.dryRun(engine.User, "u-1")
		require.Equal(t, []string{"GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100", "POST /Users"}, requestsOf(got))
		require.Equal(t, []any{engine.OpCreate, engine.Done, 201, true, engine.Active},
			[]any{got.Operation, got.Outcome, got.HTTP, got.Rehearsed, got.Want})
		require.Contains(t, got.Requests[1].Body, `"password":"[redacted]"`)
		require.True(t, got.Requests[1].Pretended)
		require.False(t, got.Requests[0].Pretended)
		require.Equal(t, "ann", got.Desired.Text("userName"))
		require.Equal(t, []string{"userName", "name.familyName", "name.givenName", "externalId", "active"}, paths(got.Diff))
		require.Empty(t, w.fake.Users())
		_, err := w.engine.State(t.Context(), app, engine.User, "u-1")
		require.ErrorIs(t, err, engine.ErrNotFound, "nothing is stored")
		_, err = w.engine.Apps().Get(t.Context(), app)
		require.ErrorIs(t, err, engine.ErrNotFound)

		w.mark(userMark("u-1"))
		w.wait()
		w.dir.SetUser(app, "u-1", user("u-1", "anna"))
		w.fake.Requests()
		before := w.state(engine.User, "u-1")
		got = w.dryRun(engine.User, "u-1")
		w.requests("GET /Users/u1")
		require.Equal(t, []string{"GET /Users/u1", "PUT /Users/u1"}, requestsOf(got))
		require.Empty(t, cmp.Diff([]engine.Difference{
			{Path: "userName", Before: "ann", After: "anna"}, {Path: "name.givenName", Before: "ann", After: "anna"},
		}, got.Diff))
		require.Equal(t, int64(1), got.State.Synced)
		require.Equal(t, "ann", w.fake.Users()[0].Text("userName"))

		w.dir.SetUser(app, "u-1", off("u-1", "ann"))
		got = w.dryRun(engine.User, "u-1")
		require.Equal(t, engine.OpDeactivate, got.Operation)
		require.Equal(t, []string{"PATCH /Users/u1"}, requestsOf(got))
		require.Equal(t, []engine.Difference{{Path: "active", Before: true, After: false}}, got.Diff)
		require.Empty(t, cmp.Diff(before, w.state(engine.User, "u-1")))

		encoded, err := json.Marshal(got)
		require.NoError(t, err)
		require.Contains(t, string(encoded), `"diff":[{"path":"active","before":true,"after":false}]`)
	})
}

func paths(all []engine.Difference) (out []string) {
	for _, d := range all {
		out = append(out, d.Path)
	}
	return out
}

func TestDryRun_DifferencesByPath(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	const enterprise = scim.EnterpriseUserSchema
	u := user("u-1", "ann")
	u.Resource.Set("title", "Cook")
	u.Resource.Set("roles", []any{map[string]any{"value": "a"}})
	u.Resource.Set(enterprise, map[string]any{"department": "Tea", "manager": map[string]any{"value": "1"}})
	w.set("u-1", u)
	w.wait()
	u.Resource = u.Resource.Clone()
	u.Resource.Set("title", nil)
	u.Resource.Set("nickName", nil)
	u.Resource.Set("emails", []any{})
	u.Resource.Set("roles", []any{map[string]any{"value": "b"}})
	u.Resource.Set("password", "hush-hush")
	u.Resource.Set(enterprise, map[string]any{"department": "Coffee", "manager": map[string]any{"value": "2"}})
	w.dir.SetUser(app, "u-1", u)
	got := w.dryRun(engine.User, "u-1")
	require.Equal(t, []string{"roles", enterprise + ":department", enterprise + ":manager.value", "title"}, paths(got.Diff))
	require.Equal(t, []any{"Cook", nil}, []any{got.Diff[3].Before, got.Diff[3].After})
	encoded, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(encoded), "hush-hush")
	require.Contains(t, string(encoded), `{"path":"roles","before":[{"value":"a"}],"after":[{"value":"b"}]}`)
}

func TestDryRun_GroupMembers(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		for _, id := range []string{"a", "b", "c"} {
			w.dir.SetUser(app, id, user(id, "name-"+id))
		}
		w.mark(userMark("a"), userMark("b"))
		w.wait()
		ids := map[string]string{"a": w.state(engine.User, "a").RemoteID, "b": w.state(engine.User, "b").RemoteID}
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		for _, id := range []string{"a", "b", "c"} {
			w.dir.SetMember(app, "g", id, true)
		}
		got := w.dryRun(engine.Group, "g")
		require.Equal(t, []string{"GET /Groups?filter=displayName%20eq%20%22Tea%22&startIndex=1&count=100", "POST /Groups"}, requestsOf(got))
		require.Equal(t, []string{"c"}, got.Waiting, "Waiting names the users without an account")
		require.Empty(t, cmp.Diff(&engine.MemberDiff{Added: 2, Add: []engine.MemberRef{
			{User: "a", ID: ids["a"], Name: "name-a"}, {User: "b", ID: ids["b"], Name: "name-b"},
		}}, got.Members))
		require.Empty(t, w.fake.Groups())

		w.mark(groupMark("g"))
		w.wait()
		w.fake.Requests()
		w.replaceByStopped()
		w.as(func(t *engine.Target) { t.Paused = true })
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Coffee"})
		w.join("g", "a", false)
		group := w.state(engine.Group, "g").RemoteID
		got = w.dryRun(engine.Group, "g")
		require.Equal(t, []string{"PATCH /Groups/" + group}, requestsOf(got))
		require.Equal(t, "the app is paused", got.Hold)
		w.target.Paused = false
		w.as(func(t *engine.Target) {
			t.Maintenance = []engine.Window{{Until: time.Date(2126, 5, 4, 3, 2, 1, 0, time.UTC)}}
		})
		require.Equal(t, "maintenance until 2126-05-04T03:02:01Z", w.dryRun(engine.Group, "g").Hold)
		require.Equal(t, []engine.Difference{{Path: "displayName", Before: "Tea", After: "Coffee"}}, got.Diff)
		require.Empty(t,
			cmp.Diff(&engine.MemberDiff{Removed: 1, Remove: []engine.MemberRef{{User: "a", ID: ids["a"], Name: "name-a"}}}, got.Members))
		require.Equal(t, "Tea", w.fake.Groups()[0].Text("displayName"))
		require.Equal(t, []string{"c"}, got.Waiting)

		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Absent, DeleteRemote: true})
		got = w.dryRun(engine.Group, "g")
		require.Equal(t, engine.OpDelete, got.Operation)
		require.Equal(t, []string{"DELETE /Groups/" + group}, requestsOf(got))
		require.Equal(t, 2, got.Members.Removed)
		require.Len(t, w.fake.Groups(), 1)
	})
}

// TestDryRun_ReportsObstacles checks that a dry run returns the reason that prevents the run, such as the guard or rejected credentials.
func TestDryRun_ReportsObstacles(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		for i := range 4 {
			id := fmt.Sprint("u-", i)
			w.set(id, user(id, id))
		}
		w.wait()
		w.as(func(t *engine.Target) { t.Guard = engine.Guard{Limit: 1} })
		w.dir.SetUser(app, "u-0", off("u-0", "u-0"))
		require.Equal(t, engine.Done, w.dryRun(engine.User, "u-0").Outcome, "one removal is allowed")
		w.set("u-0", off("u-0", "u-0"))
		w.wait()
		w.dir.SetUser(app, "u-1", off("u-1", "u-1"))
		got := w.dryRun(engine.User, "u-1")
		require.Equal(t, engine.Held, got.Outcome)
		require.Equal(t, "deactivate: 2 accounts would be removed within 24h0m0s, more than the deletion guard allows: approval required",
			got.Message)
		require.Equal(t, engine.OpDeactivate, got.Operation)
		require.Empty(t, got.Requests)

		taken := user("u-2", "u-2")
		taken.RemoteID = w.state(engine.User, "u-3").RemoteID
		w.dir.SetUser(app, "u-2", taken)
		got = w.dryRun(engine.User, "u-2")
		require.Equal(t, engine.Held, got.Outcome)
		require.Contains(t, got.Message, "already belongs to user u-3")

		w.fake.Inject(enginetest.Fault{Status: 500, Times: -1})
		got = w.dryRun(engine.User, "u-3")
		require.Equal(t, []any{engine.Transient, 500, "read: 500: injected 500"}, []any{got.Outcome, got.HTTP, got.Message})
		w.dir.Fail(errors.New("no database"))
		_, err := w.engine.Traces().DryRun(t.Context(), app, engine.User, "u-3")
		require.ErrorContains(t, err, "no database")
		w.dir.Fail(nil)
		_, err = w.engine.Traces().DryRun(t.Context(), "nobody", engine.User, "u-3")
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		_, err = w.engine.Traces().DryRun(t.Context(), app, "robot", "u-3")
		require.ErrorContains(t, err, `kind "robot"`)
		w.fake.ClearFaults()
		w.as(func(t *engine.Target) { t.Auth.Secret = "wrong" })
		require.Equal(t, engine.Denied, w.dryRun(engine.User, "u-3").Outcome)
	})
}

func TestDryRun_FollowsServiceProviderConfig(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Config = scim.NewObject(scim.Member{Name: "patch", Value: map[string]any{"supported": false}})
	w.as(func(t *engine.Target) { t.Style = engine.Auto })
	w.dir.SetUser(app, "u-1", off("u-1", "ann"))
	require.Equal(t, []string{"GET /Users/u1", "PUT /Users/u1"}, requestsOf(w.dryRun(engine.User, "u-1")))
}

// TestDryRun_MatchesRun compares dry runs with runs for random histories, including request bodies: all requests for a target that applies
// every write, and those up to the first write for a target that does not.
func TestDryRun_MatchesRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { dryRunMatchesRun(t, rt) })
}

func dryRunMatchesRun(t *testing.T, rt *rapid.T) {
	t.Helper()
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.replaceByStopped() // each step starts an engine after its dry run
	asleep := w.engine
	w.target.Style, w.target.MemberBatch = rapid.SampledFrom([]engine.Style{engine.Catalog, engine.Wizard}).Draw(rt, "style"), 2
	w.fake.ETags = rapid.Bool().Draw(rt, "etags")
	honest := rapid.Bool().Draw(rt, "honest")
	if w.fake.Unique = !honest; !honest { // a target that rejects duplicates and ignores the title
		w.fake.Ignores = []string{"title"}
	}
	w.target.OnExisting = rapid.SampledFrom([]engine.Existing{engine.LinkAuto, engine.LinkAsk, engine.LinkNever}).Draw(rt, "existing")
	log := w.listen()
	name := func() string { return fmt.Sprint("name", rapid.IntRange(0, 4).Draw(rt, "name")) }
	for range 12 {
		kind, id := engine.User, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "user")
		w.engine = asleep
		switch rapid.IntRange(0, 6).Draw(rt, "step") {
		case 0, 1:
			u := user(id, name())
			u.Resource.Set("title", rapid.SampledFrom([]string{"Cook", "Chef"}).Draw(rt, "title"))
			w.dir.SetUser(app, id, u)
			w.mark(userMark(id))
		case 2:
			w.dir.SetUser(app, id, off(id, name()))
			w.mark(userMark(id))
		case 3, 4:
			kind, id = engine.Group, "g"
			state := engine.GroupState{Want: engine.Active, DisplayName: name()}
			switch rapid.IntRange(0, 5).Draw(rt, "group") {
			case 0:
				state.Want, state.DeleteRemote = engine.Absent, rapid.Bool().Draw(rt, "delete")
			case 1:
				state.Want = engine.Inactive
			}
			w.dir.SetGroup(app, "g", state)
			w.mark(engine.Mark{App: app, Kind: kind, ID: id, AllMembers: rapid.Bool().Draw(rt, "all")})
		case 5:
			w.dir.SetMember(app, "g", id, rapid.Bool().Draw(rt, "in"))
			w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{id}})
			kind, id = engine.Group, "g"
		default: // a change by another client
			if all := w.fake.Users(); len(all) > 0 && rapid.Bool().Draw(rt, "remove") {
				w.fake.Remove("Users", rapid.SampledFrom(all).Draw(rt, "account").ID())
			} else {
				w.fake.Add("Users", user("", name()).Resource)
			}
			w.mark(userMark(id))
		}
		log.take()
		expected := w.dryRun(kind, id)
		for _, sent := range log.take() {
			require.True(t, strings.HasPrefix(sent, "GET "), sent)
		}
		w.results = nil
		w.engine = w.start(provision.Options{Sweep: 2 * time.Millisecond})
		w.wait()
		w.stop(w.engine)
		// Only the first run of the principal is compared: the dry run does not predict runs that follow from its result.
		first := w.results[slices.IndexFunc(w.results, func(r engine.Result) bool { return r.Kind == kind && r.ID == id })]
		real := log.take()[:len(first.Steps)]
		rehearsed := lines(expected)
		if !honest { // a dry run does not predict requests after the first write
			write := func(sent string) bool { return !strings.HasPrefix(sent, "GET ") }
			require.Equal(t, slices.ContainsFunc(rehearsed, write), slices.ContainsFunc(real, write))
			if i := slices.IndexFunc(real, write); i >= 0 {
				rehearsed, real = rehearsed[:min(i+1, len(rehearsed))], real[:i+1]
			}
		}
		// A group that is created by several requests: replace the simulated id by the real one. Its entity tags are not predicted.
		for i := range min(len(rehearsed), len(real)) {
			if made.MatchString(rehearsed[i]) {
				path := strings.Fields(real[i])[1]
				rehearsed[i] = made.ReplaceAllString(rehearsed[i], path[strings.LastIndexByte(path, '/')+1:])
				real[i] = strings.Replace(real[i], path+" W/- ", path+"  ", 1)
			}
		}
		if diff := cmp.Diff(rehearsed, real); diff != "" {
			rt.Fatalf("%s %s (-predicted +sent):\n%s\n%+v", kind, id, diff, w.state(kind, id))
		}
		if honest {
			require.Equal(t, []any{first.Operation, first.Outcome, first.Error}, []any{expected.Operation, expected.Outcome, expected.Message})
		}
	}
}
