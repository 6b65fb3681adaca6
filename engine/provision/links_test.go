package provision_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// link creates links in a transaction of the embedder.
func (w *world) link(links ...engine.Link) error {
	return w.db.Update(w.t.Context(), func(tx *sqldb.Tx) error { return w.engine.Imports().Link(w.t.Context(), tx.Execer(), app, links) })
}

// links returns all exported links. It reads small pages.
func (w *world) links() (all []engine.Link) {
	w.t.Helper()
	after := engine.Link{}
	for {
		page, err := w.engine.Imports().Links(w.t.Context(), app, after, 2)
		require.NoError(w.t, err)
		if len(page) == 0 {
			return all
		}
		all, after = append(all, page...), page[len(page)-1]
	}
}

// TestLinks_MoveBetweenEngines checks that exported links work in another engine, and that the other engine creates no account again.
func TestLinks_MoveBetweenEngines(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		old := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
		for i := range 3 {
			old.set(fmt.Sprint("u-", i), user(fmt.Sprint("u-", i), fmt.Sprint("name", i)))
			old.wait() // one user at a time, so that the target assigns the ids in this order
		}
		old.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		old.join("g", "u-1", true)
		old.mark(groupMark("g"))
		old.wait()
		old.stop(old.engine)
		var file bytes.Buffer
		for _, l := range old.links() {
			require.NoError(t, json.NewEncoder(&file).Encode(l))
		}
		require.Contains(t, file.String(), `{"kind":"user","id":"u-0","remoteId":"u1","remoteName":"name0","origin":"created"}`)

		w := newWorld(t, db, provision.Options{})
		w.target = old.target
		w.dir.SetTarget(app, w.target)
		var links []engine.Link
		for d := json.NewDecoder(&file); ; {
			var l engine.Link
			if err := d.Decode(&l); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err)
			}
			links = append(links, l)
		}
		old.fake.Requests()
		require.NoError(t, w.link(links...))
		w.wait()
		old.requests()
		require.Equal(t, links, w.links())

		for i := range 3 { // this identity provider has other user names for the same users
			w.set(fmt.Sprint("u-", i), user(fmt.Sprint("u-", i), fmt.Sprint("new", i)))
		}
		w.dir.SetMember(app, "g", "u-2", true)
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		w.mark(groupMark("g"))
		w.wait()
		require.Len(t, old.fake.Users(), 3)
		require.Equal(t, "new0", old.fake.Users()[0].Text("userName"))
		require.Len(t, old.fake.Groups(), 1)
		require.Len(t, old.fake.Groups()[0].Array("members"), 1, "the previous member was removed")

		err := w.link(engine.Link{Kind: engine.User, ID: "u-9", RemoteID: links[len(links)-1].RemoteID})
		refusal, ok := errors.AsType[*engine.LinkError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "the account already belongs to u-2", refusal.Conflicts[0].Reason)
		require.ErrorContains(t, err, "user u-9 to u3: the account already belongs to u-2")
	})
}

// TestLinks_DeletedUserDeactivated checks that the engine deactivates a linked account if the directory does not have the user.
func TestLinks_DeletedUserDeactivated(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	theirs := w.fake.Add("Users", user("", "ann").Resource)
	require.NoError(t, w.link(engine.Link{Kind: engine.User, ID: "u-1", RemoteID: theirs}))
	w.mark(userMark("u-1")) // the directory has no such user
	w.wait()
	w.requests("PATCH /Users/" + theirs)
}
