package provision_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// waitConverged waits until nothing is pending and the current millisecond has passed. A comparison that starts in the millisecond of a
// change would count the change as concurrent.
func (w *world) waitConverged() {
	w.t.Helper()
	w.wait()
	ended := time.Now()
	w.poll("a later time", func() bool { return time.Since(ended) > 2*time.Millisecond })
}

// drift runs a comparison. It returns the report and the findings as strings: the kind, the principal, the account and the values.
func (w *world) drift(r engine.DriftRequest) (engine.DriftReport, []string) {
	w.t.Helper()
	var found []string
	r.Each = func(f engine.Finding) error {
		text := fmt.Sprintf("%s %s %s", f.What, f.Principal, f.RemoteID)
		for _, v := range f.Values {
			text += fmt.Sprintf(" %s: %v, want %v;", v.Path, v.Have, v.Want)
		}
		if f.Lacking+f.Surplus > 0 {
			text += fmt.Sprintf(" %d lacking, %d surplus", f.Lacking, f.Surplus)
		}
		if f.Other != "" {
			text += " " + f.ExternalID + " as " + f.Other
		}
		found = append(found, text)
		return nil
	}
	report, err := w.engine.Drift().Compare(w.t.Context(), app, r)
	require.NoError(w.t, err)
	slices.Sort(found)
	return report, found
}

// TestDrift_RepairsUsers checks that a comparison reports all drift of users, and that a repair marks exactly the users with drift.
func TestDrift_RepairsUsers(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		remote := map[string]string{}
		for _, id := range []string{"same", "renamed", "title", "inactive", "lost", "gone", "kept", "twice"} {
			w.set(id, user(id, id))
			w.wait()
			remote[id] = w.state(engine.User, id).RemoteID
		}
		w.set("gone", off("gone", "gone"))
		keep := user("kept", "kept")
		keep.Want = engine.Keep
		w.set("kept", keep)
		w.waitConverged()
		change := func(id string, edit func(*scim.Resource)) { w.fake.Change("Users", remote[id], edit) }
		change("renamed", func(r *scim.Resource) { r.Set("userName", "other"); r.Set("nickName", "not managed") })
		change("title", func(r *scim.Resource) { r.Set("name", map[string]any{"familyName": "Other", "givenName": "title"}) })
		change("inactive", func(r *scim.Resource) { r.Set("active", false) })
		change("gone", func(r *scim.Resource) { r.Set("active", true) })
		change("kept", func(r *scim.Resource) { r.Set("active", false) })
		w.fake.Remove("Users", remote["lost"])
		unmanaged := w.fake.Add("Users", account("zoe", "", ""))
		double := w.fake.Add("Users", account("double", "twice", ""))
		before := w.fake.Users()
		w.fake.Requests()

		report, found := w.drift(engine.DriftRequest{})
		want := []string{
			"active gone " + remote["gone"] + " active: true, want false;",
			"active inactive " + remote["inactive"] + " active: false, want true;",
			"differs renamed " + remote["renamed"] + " userName: other, want renamed;",
			"differs title " + remote["title"] + " name.familyName: Other, want Quist;",
			"duplicate  " + double + " twice as " + remote["twice"],
			"missing lost " + remote["lost"],
			"stranger  " + double,
			"stranger  " + unmanaged,
		}
		require.Empty(t, cmp.Diff(want, found))
		require.Equal(t, []int{9, 8, 7, 0, 0, 5},
			[]int{report.Listed, report.Known, report.Compared, report.Busy, report.Marked, report.Drifted()})
		w.requests("GET /Users?startIndex=1&count=100")
		require.Empty(t, cmp.Diff(users(before), users(w.fake.Users())), "no write")
		require.Equal(t, 0, pending(w))

		gens := map[string]int64{}
		for id := range remote {
			gens[id] = w.state(engine.User, id).Desired
		}
		report, _ = w.drift(engine.DriftRequest{Repair: true})
		require.Equal(t, 5, report.Marked)
		w.waitConverged()
		var marked []string
		for id := range remote {
			if w.state(engine.User, id).Desired != gens[id] {
				marked = append(marked, id)
			}
		}
		require.ElementsMatch(t, []string{"renamed", "title", "inactive", "gone", "lost"}, marked, "exactly the principals with drift")
		_, found = w.drift(engine.DriftRequest{})
		require.Empty(t,
			cmp.Diff([]string{"duplicate  " + double + " twice as " + remote["twice"], "stranger  " + double, "stranger  " + unmanaged}, found))
		for _, u := range w.fake.Users() {
			switch u.ID() {
			case remote["renamed"]:
				require.Equal(t, []string{"renamed", "not managed"}, []string{u.Text("userName"), u.Text("nickName")})
			case unmanaged, double:
				require.NotContains(t, string(u.AppendJSON(nil)), "Quist", "an unmanaged account is not changed")
			}
		}
	})
}

func users(of []*scim.Resource) (out []string) {
	for _, r := range of {
		out = append(out, string(r.AppendJSON(nil)))
	}
	return out
}

func pending(w *world) int {
	w.t.Helper()
	n, err := w.engine.Apps().Pending(w.t.Context())
	require.NoError(w.t, err)
	return n
}

// TestDrift_RepairsGroups checks that a comparison reports drift of groups and their members, and that a repair removes it.
func TestDrift_RepairsGroups(t *testing.T) {
	for name, without := range map[string][]string{"members are listed": nil, "members are not listed": {"members"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.fake.ListsWithout = without
			for i := range 4 {
				w.set(fmt.Sprint("u", i), user(fmt.Sprint("u", i), fmt.Sprint("name", i)))
			}
			w.wait()
			remote := map[string]string{}
			for _, id := range []string{"same", "renamed", "members", "lost", "off"} {
				w.dir.SetGroup(app, id, engine.GroupState{Want: engine.Active, DisplayName: id})
				w.dir.SetMember(app, id, "u0", true)
				w.dir.SetMember(app, id, "u1", true)
				w.dir.SetMember(app, id, "nobody", true) // this member has no account; its absence from the group is not drift
				w.mark(groupMark(id))
				w.wait()
				remote[id] = w.state(engine.Group, id).RemoteID
			}
			w.dir.SetGroup(app, "off", engine.GroupState{Want: engine.Inactive, DisplayName: "off"})
			w.mark(groupMark("off"))
			w.waitConverged()
			w.fake.Change("Groups", remote["renamed"], func(r *scim.Resource) { r.Set("displayName", "other") })
			w.fake.Change("Groups", remote["members"], func(r *scim.Resource) {
				r.Set("members",
					[]any{map[string]any{"value": w.state(engine.User, "u0").RemoteID}, map[string]any{"value": w.state(engine.User, "u2").RemoteID}})
			})
			w.fake.Change("Groups", remote["off"], func(r *scim.Resource) { r.Delete("members") })
			w.fake.Remove("Groups", remote["lost"])
			w.fake.Requests()

			report, found := w.drift(engine.DriftRequest{Kind: engine.Group})
			require.Empty(t, cmp.Diff([]string{
				"differs renamed " + remote["renamed"] + " displayName: other, want renamed;",
				"members members " + remote["members"] + " 1 lacking, 1 surplus",
				"missing lost " + remote["lost"],
			}, found))
			sent := w.sentOnlyReads()
			require.Equal(t, "GET /Groups?startIndex=1&count=100", sent[0])
			require.Len(t, sent, map[bool]int{true: 1, false: 4}[without == nil], "%v", sent)
			require.Zero(t, report.Marked)

			report, _ = w.drift(engine.DriftRequest{Kind: engine.Group, Repair: true})
			require.Equal(t, 3, report.Marked)
			w.waitConverged()
			_, found = w.drift(engine.DriftRequest{Kind: engine.Group})
			require.Empty(t, found)
			require.Len(t, w.fake.Groups(), 5)
		})
	}
}

// TestDrift_SkipsPendingChanges checks that a user with a pending change is counted as busy, not as drift.
func TestDrift_SkipsPendingChanges(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
	w.set("u-1", user("u-1", "ann"))
	w.waitConverged()
	w.fake.Inject(enginetest.Fault{Method: "PUT", Status: 500, Times: -1})
	w.set("u-1", user("u-1", "anna"))
	w.poll("the backoff", func() bool { return w.state(engine.User, "u-1").Status == engine.StatusRetrying })
	report, found := w.drift(engine.DriftRequest{Repair: true})
	require.Empty(t, found)
	require.Equal(t, []int{1, 0}, []int{report.Busy, report.Marked})
}

// TestDrift_ListsIgnoredAttributesSeparately checks that attributes ignored by the target are listed, but are not drift.
func TestDrift_ListsIgnoredAttributesSeparately(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Ignores = []string{"title"}
	u := user("u-1", "ann")
	u.Resource.Set("title", "Dr.")
	w.set("u-1", u)
	w.waitConverged()
	report, found := w.drift(engine.DriftRequest{})
	require.Equal(t, []string{"differs u-1 u1 title: <nil>, want Dr.;"}, found, "a value counts as ignored only after several sequences")
	require.Equal(t, 1, report.Drifted())
	for range plan.DefaultRounds {
		w.mark(userMark("u-1"))
		w.wait()
	}
	w.waitConverged()
	report, found = w.drift(engine.DriftRequest{Repair: true})
	require.Equal(t, []string{"ignored u-1 u1 title: <nil>, want Dr.;"}, found)
	require.Equal(t, []int{0, 0}, []int{report.Drifted(), report.Marked})
}

func TestDrift_ReportHidesSecrets(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	u := user("u-1", "ann")
	u.Resource.Set("urn:example:Door", map[string]any{"apiToken": "hush-1", "pin": map[string]any{"secret": "hush-2", "digits": 4}})
	w.set("u-1", u)
	w.waitConverged()
	w.fake.Change("Users", "u1", func(r *scim.Resource) { r.Set("urn:example:Door", map[string]any{"apiToken": "hush-3"}) })
	report, found := w.drift(engine.DriftRequest{})
	require.Equal(t, 1, report.Drifted())
	require.Contains(t, found[0], "urn:example:Door:apiToken")
	require.Contains(t, found[0], "urn:example:Door:pin")
	require.NotContains(t, fmt.Sprint(found), "hush")
}

// TestDrift_FailureMarksNothing checks that a repair marks no principal if the target's list or the directory is unreadable or
// inconsistent.
func TestDrift_FailureMarksNothing(t *testing.T) {
	stop := errors.New("enough")
	for name, c := range map[string]struct {
		fault enginetest.Fault
		dir   error
		each  error
		says  string
	}{
		"a repeated page":           {fault: enginetest.Fault{Path: "/Users?startIndex=101&", Repeat: true}, says: "startIndex has no effect"},
		"the list ends in an error": {fault: enginetest.Fault{Path: "/Users?startIndex=101&", Status: 500, Times: -1}, says: "injected 500"},
		"rejected credentials":      {fault: enginetest.Fault{Status: 401}, says: "injected 401"},
		"no such list":              {fault: enginetest.Fault{Status: 404}, says: "injected 404"},
		"an HTML page":              {fault: enginetest.Fault{HTML: true}, says: "text/html"},
		"a directory error":         {dir: errors.New("the directory is down"), says: "the directory is down"},
		"a canceled context":        {each: stop, says: "enough"},
		"a group's members are denied": {fault: enginetest.Fault{Path: "/Groups/", Status: 403},
			says: "the members of the group g cannot be read: status 403, injected 403"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.fake.ListsWithout = []string{"members"}
			var marks []engine.Mark
			for i := range 120 {
				id := fmt.Sprintf("u%03d", i)
				w.dir.SetUser(app, id, user(id, id))
				marks = append(marks, userMark(id))
			}
			w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
			w.mark(append(marks, groupMark("g"))...)
			w.waitConverged()
			w.fake.Change("Users", w.fake.Users()[0].ID(), func(r *scim.Resource) { r.Set("active", false) })
			w.fake.Remove("Users", w.fake.Users()[110].ID())
			w.fake.Change("Groups", w.fake.Groups()[0].ID(), func(r *scim.Resource) { r.Set("displayName", "other") })
			if c.says != "the directory is down" && c.each == nil {
				w.fake.Inject(c.fault)
			}
			w.dir.Fail(c.dir)
			r := engine.DriftRequest{Repair: true}
			if c.each != nil {
				r.Each = func(engine.Finding) error { return c.each }
			}
			if strings.HasPrefix(c.fault.Path, "/Groups") {
				r.Kind = engine.Group
			}
			report, err := w.engine.Drift().Compare(t.Context(), app, r)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "s3cr3t")
			require.Zero(t, report.Marked)
			require.Zero(t, pending(w))
		})
	}
}

func TestDrift_ComparesByPages(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		const n = 1500
		w := newWorld(t, db, provision.Options{})
		w.fake.PageLimit = 50
		var links []engine.Link
		for i := range n {
			id := fmt.Sprintf("p%04d", i)
			u := user(id, id)
			w.dir.SetUser(app, id, u)
			links = append(links, engine.Link{Kind: engine.User, ID: id, RemoteID: w.fake.Add("Users", u.Resource)})
		}
		require.NoError(t, w.link(links...))
		w.waitConverged()
		w.fake.Requests()
		report, found := w.drift(engine.DriftRequest{})
		require.Empty(t, found)
		require.Equal(t, []int{n, n, n}, []int{report.Listed, report.Known, report.Compared})
		require.Len(t, w.sentOnlyReads(), n/50, "the list is read once")
	})
}

// TestDrift_GuardBlocksRepair checks that the deletion guard puts the deactivations of a repair on hold.
func TestDrift_GuardBlocksRepair(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.Guard = engine.Guard{Limit: 3} })
	for i := range 12 {
		id := fmt.Sprintf("u%02d", i)
		w.dir.SetUser(app, id, user(id, id))
		w.mark(userMark(id))
	}
	w.waitConverged()
	for i := range 12 { // the directory no longer assigns these users, but does not mark them
		id := fmt.Sprintf("u%02d", i)
		w.dir.SetUser(app, id, off(id, id))
	}
	report, _ := w.drift(engine.DriftRequest{Repair: true})
	require.Equal(t, 12, report.Marked)
	w.wait()
	counts, err := w.engine.Apps().Counts(t.Context(), app)
	require.NoError(t, err)
	require.Equal(t, 12, counts[engine.StatusHeld])
	for _, u := range w.fake.Users() {
		require.True(t, plan.IsActive(u))
	}
}

// TestDrift_NoneAfterRepair checks that no drift is left after a repair, whatever other clients have changed on the target.
func TestDrift_NoneAfterRepair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, sqldbtest.SQLite(t), provision.Options{Sweep: 2 * time.Millisecond})
		defer w.stop(w.engine)
		w.target.MemberBatch = 2
		w.as(func(t *engine.Target) {
			t.Style = rapid.SampledFrom([]engine.Style{engine.Catalog, engine.Wizard}).Draw(rt, "style")
		})
		w.fake.PageLimit = rapid.IntRange(1, 3).Draw(rt, "page")
		if rapid.Bool().Draw(rt, "hides members") {
			w.fake.ListsWithout = []string{"members"}
		}
		var marks []engine.Mark
		for i := range 5 {
			id := fmt.Sprint("u", i)
			w.dir.SetUser(app, id, user(id, id))
			marks = append(marks, userMark(id))
			for _, g := range []string{"g0", "g1"} {
				w.dir.SetMember(app, g, id, rapid.Bool().Draw(rt, "member"))
			}
		}
		for _, g := range []string{"g0", "g1"} {
			w.dir.SetGroup(app, g, engine.GroupState{Want: engine.Active, DisplayName: g})
			marks = append(marks, groupMark(g))
		}
		w.mark(marks...)
		w.waitConverged()
		for i := range 5 { // changes in the directory without a mark
			if id := fmt.Sprint("u", i); rapid.IntRange(0, 3).Draw(rt, "left") == 0 {
				w.dir.SetUser(app, id, off(id, id))
			}
		}
		for range rapid.IntRange(0, 8).Draw(rt, "changes") {
			mutate(rt, w)
		}
		for _, repair := range []bool{true, false} {
			for _, kind := range []engine.Kind{engine.User, engine.Group} {
				report, found := w.drift(engine.DriftRequest{Kind: kind, Repair: repair})
				if report.Busy > 0 {
					rt.Fatalf("nothing is pending: %+v", report)
				}
				if !repair && report.Drifted() > 0 {
					rt.Fatalf("after a repair: %v", found)
				}
				w.waitConverged()
			}
		}
	})
}

// mutate makes one change on the target.
func mutate(rt *rapid.T, w *world) {
	endpoint := rapid.SampledFrom([]string{"Users", "Groups"}).Draw(rt, "endpoint")
	all := w.fake.Users()
	if endpoint == "Groups" {
		all = w.fake.Groups()
	}
	if len(all) == 0 {
		return
	}
	r := rapid.SampledFrom(all).Draw(rt, "resource")
	switch rapid.IntRange(0, 5).Draw(rt, "change") {
	case 0:
		w.fake.Remove(endpoint, r.ID())
	case 1:
		w.fake.Change(endpoint, r.ID(), func(r *scim.Resource) { r.Set("displayName", rapid.StringMatching("[a-z]{3}").Draw(rt, "name")) })
	case 2:
		w.fake.Change(endpoint, r.ID(), func(r *scim.Resource) { r.Set("active", !plan.IsActive(r)) })
	case 3:
		w.fake.Change(endpoint, r.ID(), func(r *scim.Resource) { r.Set("name", map[string]any{"givenName": "X"}) })
	case 4:
		w.fake.Add("Users", account(rapid.StringMatching("unmanaged[0-9]{6}").Draw(rt, "unmanaged"), "", ""))
	case 5:
		users := w.fake.Users()
		var members []any
		for range rapid.IntRange(0, 3).Draw(rt, "members") {
			if len(users) > 0 {
				members = append(members, map[string]any{"value": rapid.SampledFrom(users).Draw(rt, "member").ID()})
			}
		}
		if endpoint == "Groups" {
			w.fake.Change(endpoint, r.ID(), func(r *scim.Resource) { r.Set("members", members) })
		}
	}
}

// TestKind_UnknownRejected checks that an unknown kind is an error, not an empty result.
func TestKind_UnknownRejected(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	_, err := w.engine.Drift().Compare(t.Context(), app, engine.DriftRequest{Kind: "users"})
	require.ErrorContains(t, err, `unknown kind "users"`)
	_, err = w.engine.Imports().Objects(t.Context(), engine.RemoteObjectQuery{App: app})
	require.ErrorContains(t, err, `needs an app and a kind, not "crm" and ""`)
	w.requests()
}
