package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func managed(id, name, manager string) engine.UserState {
	u := user(id, name)
	u.Manager = manager
	return u
}

// managerOf returns the id of the manager of an account, empty if unset.
func (w *world) managerOf(name string) string {
	w.t.Helper()
	for _, u := range w.fake.Users() {
		if u.Text("userName") == name {
			return u.Complex(scim.EnterpriseUserSchema).Complex("manager").Text("value")
		}
	}
	w.t.Fatalf("no account %s", name)
	return ""
}

func (w *world) idOf(name string) string {
	w.t.Helper()
	for _, u := range w.fake.Users() {
		if u.Text("userName") == name {
			return u.ID()
		}
	}
	w.t.Fatalf("no account %s", name)
	return ""
}

// TestManager_UserWaits checks that a user is provisioned without its manager, waits for the manager's account, and then refers to it.
func TestManager_UserWaits(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
			w := newWorld(t, db, provision.Options{})
			w.as(func(t *engine.Target) { t.Style = style })
			w.dir.SetUser(app, "boss", user("boss", "bob")) // without a mark
			w.set("u-1", managed("u-1", "ann", "boss"))
			w.wait()
			s := w.state(engine.User, "u-1")
			require.Equal(t, []any{engine.StatusWaiting, "waiting on user boss", []string{"boss"}, "boss", s.Desired},
				[]any{s.Status, s.LastError, s.WaitingOn, s.Manager, s.Synced})
			require.Equal(t, "waiting on user boss", w.result().Error)
			require.Equal(t, engine.Done, w.result().Outcome)
			require.Empty(t, w.managerOf("ann"), "provisioned without manager")
			require.False(t, w.fake.Users()[0].HasSchema(scim.EnterpriseUserSchema))

			w.mark(userMark("boss"))
			w.wait()
			s = w.state(engine.User, "u-1")
			require.Equal(t, engine.StatusClean, s.Status, s.LastError)
			require.Empty(t, s.WaitingOn)
			require.Empty(t, s.LastError)
			require.Equal(t, w.idOf("bob"), w.managerOf("ann"))
			require.True(t, w.fake.Users()[0].HasSchema(scim.EnterpriseUserSchema))
			w.fake.Requests()
			w.mark(userMark("u-1"))
			w.wait()
			require.Len(t, w.fake.Requests(), 1, "no write")

			w.fake.Remove("Users", w.idOf("bob"))
			w.mark(userMark("boss"))
			w.wait()
			require.Equal(t, w.idOf("bob"), w.managerOf("ann"), "the manager has another account")

			w.set("boss", off("boss", "bob"))
			w.wait()
			w.mark(userMark("u-1"))
			w.wait()
			require.Equal(t, w.idOf("bob"), w.managerOf("ann"), "an inactive account may be a manager")

			w.set("u-1", user("u-1", "ann"))
			w.wait()
			require.Empty(t, w.managerOf("ann"), "the manager was removed")

			led := user("u-1", "ann")
			led.Manager = "boss"
			w.set("u-1", led)
			w.wait()
			w.fake.Inject(enginetest.Fault{Method: "GET", Path: "/Users/", Stale: true})
			w.set("u-1", user("u-1", "ann"))
			w.wait()
			require.NotEmpty(t, w.managerOf("ann"), "the target returned the previous state")
			w.mark(userMark("u-1"))
			w.wait()
			require.Empty(t, w.managerOf("ann"), "the engine still removes the manager")

			mapped := user("u-1", "ann")
			mapped.Resource.Set(scim.EnterpriseUserSchema, map[string]any{"manager": map[string]any{"value": "x"}})
			w.set("u-1", mapped)
			w.wait()
			require.Equal(t, "x", w.managerOf("ann"), "a mapping may set the manager")
			require.Empty(t, w.state(engine.User, "u-1").Manager)
			require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error { return w.engine.Forget(t.Context(), tx.Execer(), app) }))
			w.stop(w.engine)
		}
	})
}

// TestManager_UnassignedNotAwaited checks that a user does not wait for an unassigned manager, nor if updates are disabled.
func TestManager_UnassignedNotAwaited(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("boss", user("boss", "bob"))
	w.wait()
	w.set("u-1", managed("u-1", "ann", "boss"))
	w.wait()
	require.Equal(t, w.idOf("bob"), w.managerOf("ann"))
	w.set("u-1", managed("u-1", "ann", "nobody"))
	w.wait()
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
	require.Empty(t, w.managerOf("ann"), "the previous manager was removed")

	w.set("nobody", user("nobody", "other"))
	w.wait()
	require.Equal(t, w.idOf("other"), w.managerOf("ann"), "the manager is assigned")
	w.as(func(t *engine.Target) { t.UpdateUsers = false })
	w.set("u-2", managed("u-2", "cat", "u-3"))
	w.dir.SetUser(app, "u-3", user("u-3", "dan"))
	w.wait()
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-2").Status, "a user that is never updated does not wait")
}

func TestManager_CycleConverges(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		names := map[string]string{"a": "b", "b": "c", "c": "a", "self": "self"}
		var marks []engine.Mark
		for id, manager := range names {
			w.dir.SetUser(app, id, managed(id, id, manager))
			marks = append(marks, userMark(id))
		}
		w.mark(marks...)
		w.wait()
		for id, manager := range names {
			require.Equal(t, w.idOf(manager), w.managerOf(id), id)
			require.Equal(t, engine.StatusClean, w.state(engine.User, id).Status)
		}
		require.Len(t, w.fake.Users(), 4)
	})
}

// TestManager_UserOnHold checks that a user on hold does not wait for its manager, and gets the manager after the resume.
func TestManager_UserOnHold(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.halt("", engine.OpCreate)
	w.dir.SetUser(app, "boss", user("boss", "bob"))
	w.set("u-1", managed("u-1", "ann", "boss"))
	w.wait()
	require.Equal(t, engine.StatusHeld, w.state(engine.User, "u-1").Status)
	w.mark(userMark("boss"))
	w.wait()
	w.resume()
	require.Equal(t, w.idOf("bob"), w.managerOf("ann"))
}

// TestGroup_NamesAwaitedMembers checks that a waiting group names the users it waits for, up to a maximum.
func TestGroup_NamesAwaitedMembers(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	var ids []string
	for i := range engine.MaxWaitingOn + 2 {
		ids = append(ids, fmt.Sprintf("u-%02d", i))
		w.dir.SetMember(app, "g", ids[i], true)
	}
	w.mark(groupMark("g"))
	w.wait()
	s := w.state(engine.Group, "g")
	require.Equal(t, engine.StatusWaiting, s.Status)
	require.Equal(t, ids[:engine.MaxWaitingOn], s.WaitingOn)
	require.Equal(t, "waiting on users "+strings.Join(ids[:engine.MaxWaitingOn], ", ")+" and 2 more", s.LastError)
	for _, id := range ids[2:] {
		w.dir.SetMember(app, "g", id, false)
	}
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", AllMembers: true})
	w.wait()
	require.Equal(t, "waiting on users u-00, u-01", w.state(engine.Group, "g").LastError)
	for _, id := range ids[:2] {
		w.set(id, user(id, id))
	}
	w.wait()
	s = w.state(engine.Group, "g")
	require.Equal(t, engine.StatusClean, s.Status)
	require.Empty(t, s.WaitingOn)
	require.Empty(t, s.LastError)
	require.Len(t, w.fake.Groups()[0].Array("members"), 2)
}
