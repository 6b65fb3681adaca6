package provision_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func groupMark(id string) engine.Mark { return engine.Mark{App: app, Kind: engine.Group, ID: id} }

// join changes a membership and marks it.
func (w *world) join(group, user string, in bool) {
	w.dir.SetMember(app, group, user, in)
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: group, Members: []string{user}})
}

// members returns the userNames in the only group of the target.
func (w *world) members() []string {
	w.t.Helper()
	names := map[string]string{}
	for _, u := range w.fake.Users() {
		names[u.ID()] = u.Text("userName")
	}
	require.Len(w.t, w.fake.Groups(), 1)
	var out []string
	for _, v := range w.fake.Groups()[0].Array("members") {
		o, _ := v.(*scim.Object)
		out = append(out, names[o.Text("value")])
	}
	return out
}

// TestGroup_Lifecycle checks that a group is created, changed, renamed and deleted, and that users come before groups.
func TestGroup_Lifecycle(t *testing.T) {
	for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
		t.Run(string(style), func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				w := newWorld(t, db, provision.Options{})
				w.as(func(t *engine.Target) { t.Style = style })
				for _, id := range []string{"a", "b", "c"} {
					w.dir.SetUser(app, id, user(id, "name-"+id))
				}
				w.dir.SetMember(app, "g", "a", true)
				w.dir.SetMember(app, "g", "b", true)
				w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
				w.mark(groupMark("g"), userMark("a"), userMark("b"), userMark("c"))
				w.wait()
				require.ElementsMatch(t, []string{"name-a", "name-b"}, w.members(), "users come before groups")
				require.Equal(t, engine.StatusClean, w.state(engine.Group, "g").Status)
				w.fake.Requests()

				w.join("g", "c", true)
				w.wait()
				require.ElementsMatch(t, []string{"name-a", "name-b", "name-c"}, w.members())
				if style == engine.Catalog {
					w.requests("PATCH /Groups/" + w.fake.Groups()[0].ID())
				} else {
					w.requests("GET /Groups/"+w.fake.Groups()[0].ID(), "PUT /Groups/"+w.fake.Groups()[0].ID())
				}

				w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Coffee"})
				w.join("g", "a", false)
				w.wait()
				require.ElementsMatch(t, []string{"name-b", "name-c"}, w.members())
				require.Equal(t, "Coffee", w.fake.Groups()[0].Text("displayName"))

				w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Absent, DeleteRemote: true})
				w.mark(groupMark("g"))
				w.wait()
				require.Empty(t, w.fake.Groups())
				require.Empty(t, w.state(engine.Group, "g").RemoteID)
			})
		})
	}
}

// TestGroup_WaitsForMembers checks that a group waits for a member without an account, and is pushed without another mark.
func TestGroup_WaitsForMembers(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "POST", Path: "/Users", Status: 400})
	w.dir.SetUser(app, "a", user("a", "ann"))
	w.dir.SetMember(app, "g", "a", true)
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(userMark("a"), groupMark("g"))
	w.wait()
	require.Equal(t, engine.StatusWaiting, w.state(engine.Group, "g").Status)
	require.Empty(t, w.members())
	w.mark(userMark("a"))
	w.wait()
	require.Equal(t, []string{"ann"}, w.members(), "the group needs no other mark")
	require.Equal(t, engine.StatusClean, w.state(engine.Group, "g").Status)
}

func TestGroup_RestoresRecreatedMember(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.dir.SetUser(app, "a", user("a", "ann"))
	w.dir.SetMember(app, "g", "a", true)
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(userMark("a"), groupMark("g"))
	w.wait()
	w.fake.Remove("Users", w.state(engine.User, "a").RemoteID)
	w.mark(userMark("a"))
	w.wait()
	require.Contains(t, w.members(), "ann")
}

func TestGroup_RecreatedAfterDeletion(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	for _, id := range []string{"a", "b"} {
		w.dir.SetUser(app, id, user(id, "name-"+id))
		w.dir.SetMember(app, "g", id, true)
	}
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(userMark("a"), userMark("b"), groupMark("g"))
	w.wait()
	w.fake.Remove("Groups", w.state(engine.Group, "g").RemoteID)
	w.join("g", "b", false)
	w.wait()
	require.Equal(t, []string{"name-a"}, w.members())
}

// TestGroup_InactiveNotModified checks that the engine does not modify an inactive group, and pushes it completely once it is active again.
func TestGroup_InactiveNotModified(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.dir.SetUser(app, "a", user("a", "ann"))
	w.dir.SetMember(app, "g", "a", true)
	state := engine.GroupState{Want: engine.Active, DisplayName: "Tea"}
	w.dir.SetGroup(app, "g", state)
	w.mark(userMark("a"), groupMark("g"))
	w.wait()
	w.fake.Requests()
	state.Want = engine.Inactive
	w.dir.SetGroup(app, "g", state)
	w.join("g", "a", false)
	w.wait()
	w.requests()
	state.Want = engine.Active
	w.dir.SetGroup(app, "g", state)
	w.mark(groupMark("g"))
	w.wait()
	w.requests("PATCH /Groups/" + w.fake.Groups()[0].ID())
	require.Empty(t, w.members())
}

// TestGroup_LinkedReplacesMembers checks that a linked group has exactly the desired members, and that no other group replaces a deleted
// one.
func TestGroup_LinkedReplacesMembers(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	g := &scim.Resource{}
	g.Set("displayName", "Tea")
	g.Set("members", []any{map[string]any{"value": "someone"}})
	id := w.fake.Add("Groups", g)
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea", RemoteID: id})
	w.mark(groupMark("g"))
	w.wait()
	require.Empty(t, w.fake.Groups()[0].Array("members"))
	w.fake.Remove("Groups", id)
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", AllMembers: true})
	w.wait()
	require.Equal(t, engine.StatusFailed, w.state(engine.Group, "g").Status, "a linked group is not replaced by another one")
}

func TestGroup_MembersInBatches(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.MemberBatch = 10 })
	var marks []engine.Mark
	for i := range 35 {
		id := string([]byte{'m', byte('0' + i/10), byte('0' + i%10)})
		w.dir.SetUser(app, id, user(id, id))
		w.dir.SetMember(app, "g", id, true)
		marks = append(marks, userMark(id))
	}
	w.mark(marks...)
	w.wait()
	w.fake.Requests()
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(groupMark("g"))
	w.wait()
	id := w.fake.Groups()[0].ID()
	want := []string{
		"GET /Groups?filter=displayName%20eq%20%22Tea%22&startIndex=1&count=100", "POST /Groups",
		"PATCH /Groups/" + id, "PATCH /Groups/" + id, "PATCH /Groups/" + id,
	}
	if diff := cmp.Diff(want, w.fake.Requests()); diff != "" {
		t.Error(diff)
	}
	require.Len(t, w.members(), 35)
}

// TestPush_LostResponseReverted checks that the engine reverts a push with a lost response if its change is no longer desired.
//
// Invariant 7
func TestPush_LostResponseReverted(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
	w.dir.SetUser(app, "a", user("a", "name-a"))
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(groupMark("g"), userMark("a"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Method: "PATCH", DropAfter: true})
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Coffee"})
	w.join("g", "a", true)
	w.poll("the lost response", func() bool { return w.state(engine.Group, "g").Status == engine.StatusRetrying })
	require.Equal(t, "Coffee", w.fake.Groups()[0].Text("displayName"))
	require.Equal(t, []string{"name-a"}, w.members())

	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.dir.SetMember(app, "g", "a", false)
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{"a"}, Retry: true})
	w.wait()
	require.Equal(t, "Tea", w.fake.Groups()[0].Text("displayName"))
	require.Empty(t, w.members())
}
