package provision_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// recycling has the cases in which a userName is assigned to another user. Each creates an account of the user "old" with the name ann.
var recycling = map[string]func(w *world){
	"of a user who is inactive": func(w *world) {
		w.set("old", user("old", "ann"))
		w.wait()
		w.set("old", off("old", "ann"))
		w.wait()
		w.strip()
	},
	"of a user who is absent": func(w *world) {
		w.set("old", user("old", "ann"))
		w.wait()
		w.set("old", engine.UserState{Want: engine.Absent})
		w.wait()
		w.strip()
	},
	"of a user who has another account now": func(w *world) {
		w.set("old", user("old", "ann"))
		w.wait()
		u := user("old", "eve")
		u.RemoteID = w.fake.Add("Users", user("", "eve").Resource)
		w.set("old", u)
		w.wait()
		w.strip()
	},
	"with the identifier of another user": func(w *world) {
		w.set("old", off("old", "nobody"))
		w.wait()
		theirs := user("old", "ann").Resource
		theirs.Set("active", true)
		w.fake.Add("Users", theirs)
	},
}

// strip removes the externalId from the first account, so that only its id identifies the owner.
func (w *world) strip() {
	w.t.Helper()
	first := w.fake.Users()[0]
	require.Equal(w.t, "ann", first.Text("userName"))
	first.Delete("externalId")
	w.fake.Replace("Users", first)
}

// TestRecycled_AccountNotTakenOver checks that a user with a recycled name is on hold until the directory names the account to link.
func TestRecycled_AccountNotTakenOver(t *testing.T) {
	for how, recycle := range recycling {
		t.Run(how, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				w := newWorld(t, db, provision.Options{})
				recycle(w)
				theirs := w.fake.Users()[0]
				id := theirs.ID()
				w.fake.Requests()
				w.set("new", user("new", "ann"))
				w.wait()
				w.requests("GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100")
				s := w.state(engine.User, "new")
				require.Equal(t,
					[]any{engine.StatusHeld, "",
						"account " + id + " belongs or belonged to user old: confirm or reject the link to this user"},
					[]any{s.Status, s.RemoteID, s.LastError})

				w.set("new", off("new", "ann"))
				w.wait()
				require.Equal(t, engine.StatusClean, w.state(engine.User, "new").Status)
				require.Equal(t, string(theirs.AppendJSON(nil)), string(w.fake.Users()[0].AppendJSON(nil)), "no write")

				chosen := user("new", "ann")
				chosen.RemoteID = id
				w.set("new", chosen)
				w.wait()
				s = w.state(engine.User, "new")
				require.Equal(t, []any{engine.StatusClean, id, engine.Linked}, []any{s.Status, s.RemoteID, s.Origin}, s.LastError)
				require.Equal(t, "new", w.fake.Users()[0].ExternalID())
				on, _ := w.fake.Users()[0].Bool("active")
				require.True(t, on)
				require.NotEqual(t, id, w.state(engine.User, "old").RemoteID)
			})
		})
	}
}

func TestRecycled_Policy(t *testing.T) {
	for how, recycle := range recycling {
		for policy, status := range map[engine.Existing]engine.Status{
			engine.LinkAuto: engine.StatusClean, engine.LinkAsk: engine.StatusHeld, engine.LinkNever: engine.StatusFailed,
		} {
			t.Run(string(policy)+" "+how, func(t *testing.T) {
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
				w.as(func(t *engine.Target) { t.OnRecycled = policy })
				recycle(w)
				w.set("new", user("new", "ann"))
				w.wait()
				s := w.state(engine.User, "new")
				require.Equal(t, status, s.Status, s.LastError)
				require.Equal(t, policy == engine.LinkAuto, s.RemoteID != "")
				require.Equal(t, policy == engine.LinkAuto, w.fake.Users()[0].ExternalID() == "new")
			})
		}
	}
}

// TestExisting_UnlinkedNotDeactivated checks that the engine does not deactivate an existing account that was not linked.
func TestExisting_UnlinkedNotDeactivated(t *testing.T) {
	for _, policy := range []engine.Existing{engine.LinkAsk, engine.LinkNever} {
		w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
		w.as(func(t *engine.Target) { t.OnExisting = policy })
		w.fake.Add("Users", user("", "ann").Resource)
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		require.False(t, w.state(engine.User, "u-1").MayExist, "no request for an account was sent")
		w.fake.Requests()
		w.set("u-1", off("u-1", "ann"))
		w.wait()
		w.requests()
		require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
	}
}

// TestHoldNames_BlockRename checks that the engine puts a rename on hold if the new name looks like that of a removed user.
func TestHoldNames_BlockRename(t *testing.T) {
	for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
		w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
		w.as(func(t *engine.Target) { t.Style = style })
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		w.set("u-1", off("u-1", "ann"))
		w.wait()
		w.fake.Requests()
		w.set("u-1", user("u-1", "deleted-ann"))
		w.wait()
		w.requests("GET /Users/u1")
		s := w.state(engine.User, "u-1")
		require.Equal(t,
			[]any{engine.StatusHeld, "ann",
				`account u1 has the name "ann" and would be renamed to "deleted-ann", which looks like the name of a removed user`},
			[]any{s.Status, s.RemoteName, s.LastError})

		w.set("u-1", off("u-1", "deleted-ann"))
		w.wait()
		require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status, "a deactivation does not rename")
		w.set("u-1", user("u-1", "anna"))
		w.wait()
		require.Equal(t, "anna", w.fake.Users()[0].Text("userName"), "another name is allowed")

		w.as(func(t *engine.Target) { t.HoldNames = `^x-` })
		w.set("u-1", user("u-1", "x-ann"))
		w.wait()
		require.Equal(t, engine.StatusHeld, w.state(engine.User, "u-1").Status)
		w.as(func(t *engine.Target) { t.HoldNames = "-" })
		w.set("u-1", user("u-1", "deleted-ann"))
		w.wait()
		require.Equal(t, "deleted-ann", w.fake.Users()[0].Text("userName"))
		w.set("u-2", user("u-2", "deleted-bob"))
		w.wait()
		require.Len(t, w.fake.Users(), 2, "not a rename")
		w.stop(w.engine)
	}
}

func TestHoldNames_Default(t *testing.T) {
	names := regexp.MustCompile(engine.DefaultHoldNames)
	for name, held := range map[string]bool{
		"deleted-ann": true, "DELETED_ann": true, "ann_deleted_2024": true, "ann.deleted": true, "ann.deleted@example.com": true,
		"deleted": true, "deleted4711": true, "ann+deleted@example.com": true, "ann-deleted1@example.com": true,
		"ann": false, "undeleted": false, "deletedo": false, "ann@deleted.example.com": false, "ann.deletedson@example.com": false,
	} {
		require.Equal(t, held, names.MatchString(name), name)
	}
}

// TestHoldNames_InvalidExpression checks that an invalid expression is an error of the connection, and that nothing is sent.
func TestHoldNames_InvalidExpression(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.HoldNames = "(deleted" })
	w.set("u-1", user("u-1", "ann"))
	told := func() bool { return w.state(engine.User, "u-1").LastError != "" }
	w.poll("the error", told)
	require.Equal(t, "the connection is not configured: HoldNames: error parsing regexp: missing closing ): `(deleted`",
		w.state(engine.User, "u-1").LastError)
	w.requests()
	require.ErrorContains(t, w.engine.Targets().Test(t.Context(), w.target), "HoldNames: error parsing regexp")
	w.as(func(t *engine.Target) { t.HoldNames = "" })
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.mark(engine.Mark{App: app, Kind: engine.User, ID: "u-1", Retry: true})
	w.wait()
	require.Len(t, w.fake.Users(), 1)
}
