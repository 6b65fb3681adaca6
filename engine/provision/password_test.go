package provision_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func withPassword(name, password, version string) engine.UserState {
	u := user("u-1", name)
	u.Password, u.PasswordVersion = password, version
	return u
}

// TestPassword_SetOnNewVersion checks that the engine sets a password if its version differs from the stored one, and only then.
func TestPassword_SetOnNewVersion(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.as(func(t *engine.Target) { t.SyncPasswords = true })
		turn := func(u engine.UserState) {
			w.fake.Requests()
			w.set("u-1", u)
			w.wait()
		}
		has := func(password, version string) {
			t.Helper()
			require.Equal(t, []any{password, version}, []any{w.fake.Users()[0].Text("password"), w.state(engine.User, "u-1").PasswordVersion})
		}
		turn(withPassword("ann", "first", "1"))
		has("first", "1")
		turn(withPassword("ann", "second", "1"))
		w.requests("GET /Users/u1")
		has("first", "1")
		turn(withPassword("ann", "second", "2"))
		w.requests("GET /Users/u1", "PATCH /Users/u1")
		has("second", "2")

		w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 400, Times: 2}, enginetest.Fault{Method: "PUT", Status: 400})
		turn(withPassword("ann", "x", "3"))
		require.Equal(t, []any{engine.StatusFailed, "2"}, []any{w.state(engine.User, "u-1").Status, w.state(engine.User, "u-1").PasswordVersion})
		w.fake.Inject(enginetest.Fault{Method: "PATCH", DropAfter: true})
		turn(withPassword("ann", "third", "4"))
		has("third", "4")

		gone := off("u-1", "ann")
		turn(gone)
		has("third", "4")
		w.fake.Requests()
		turn(withPassword("ann", "fourth", "5"))
		w.requests("GET /Users/u1", "PATCH /Users/u1", "PATCH /Users/u1")
		has("fourth", "5")

		w.fake.Remove("Users", "u1")
		turn(user("u-1", "ann")) // a new account has no password version
		require.Empty(t, w.state(engine.User, "u-1").PasswordVersion)
		turn(withPassword("ann", "fourth", "5"))
		has("fourth", "5")
		turn(withPassword("ann", "fifth", ""))
		has("fourth", "5")

		w.as(func(t *engine.Target) { t.SyncPasswords = false })
		w.stop(w.engine) // a running lane would continue with the target that it has read
		w.engine = w.start(provision.Options{})
		turn(withPassword("ann", "sixth", "6"))
		has("fourth", "5")
	})
}

// TestPassword_SinglePUT checks that one PUT contains the password and the other changes.
func TestPassword_SinglePUT(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.SyncPasswords, t.Style = true, engine.Wizard })
	w.set("u-1", withPassword("ann", "first", "1"))
	w.wait()
	w.fake.Requests()
	w.set("u-1", withPassword("anna", "second", "2"))
	w.wait()
	w.requests("GET /Users/u1", "PUT /Users/u1")
	require.Equal(t, "second", w.fake.Users()[0].Text("password"))
	require.Equal(t, "2", w.state(engine.User, "u-1").PasswordVersion)
}

// TestPassword_UnknownForOtherAccount checks that the engine sets the password again if the user has another account.
func TestPassword_UnknownForOtherAccount(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.SyncPasswords = true })
	w.set("u-1", withPassword("ann", "first", "1"))
	w.wait()
	other := w.fake.Add("Users", user("", "ann2").Resource)
	u := withPassword("ann2", "first", "1")
	u.RemoteID = other
	w.set("u-1", u)
	w.wait()
	require.Equal(t, "first", w.fake.Users()[1].Text("password"))
	require.Equal(t, []any{other, "1"}, []any{w.state(engine.User, "u-1").RemoteID, w.state(engine.User, "u-1").PasswordVersion})
}
