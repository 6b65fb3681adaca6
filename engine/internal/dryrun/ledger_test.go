package dryrun

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestLedger_MembersAsStored checks that a dry run finds the members that a lane would find: the ledger and the store return the same.
func TestLedger_MembersAsStored(t *testing.T) {
	ctx, db := t.Context(), sqldbtest.SQLite(t)
	st, err := enginestore.Open(ctx, db, sqlstore.Options{})
	require.NoError(t, err)
	process, _, err := st.Join(ctx, store.Joining{Name: "test", Lease: time.Hour})
	require.NoError(t, err)
	apps := 0
	rapid.Check(t, func(rt *rapid.T) {
		apps++
		app, now := fmt.Sprint("app-", apps), time.Now()
		users := []string{"a", "b", "c", "d", "e", "f"}
		some := func(name string) []string {
			return slices.DeleteFunc(slices.Clone(users), func(string) bool { return !rapid.Bool().Draw(rt, name) })
		}
		remote := func(users []string) (out []engine.RemoteMember) {
			for _, u := range users {
				out = append(out, engine.RemoteMember{User: u, ID: "remote-" + u})
			}
			return out
		}
		var links []engine.Link
		for _, u := range some("has an account") {
			links = append(links, engine.Link{Kind: engine.User, ID: u, RemoteID: "remote-" + u, RemoteName: "name-" + u})
		}
		require.NoError(rt, db.Update(ctx, func(tx *sqldb.Tx) error {
			if err := st.Link(ctx, tx.Execer(), now, app, links); err != nil {
				return err
			}
			return st.Mark(ctx, tx.Execer(), now, []engine.Mark{{App: app, Kind: engine.Group, ID: "g", Members: some("was marked")}})
		}))
		leases, err := st.Claim(ctx, process.ID, now, 100)
		require.NoError(rt, err)
		lease := leases[slices.IndexFunc(leases, func(l engine.Lease) bool { return l.App == app })]
		answers := func(users []string, want bool) (out []store.MemberAnswer) {
			for _, u := range users {
				out = append(out, store.MemberAnswer{User: u, Want: want})
			}
			return out
		}
		require.NoError(rt, st.EndWalk(ctx, lease, "g", 1, answers(some("belonged"), true)))
		require.NoError(rt, st.Progress(ctx, lease, store.Progress{
			ID: "g", Gen: 1, RemoteID: "remote-g", At: now, Added: remote(some("was pushed")), NextAdd: remote(some("was about to be pushed")),
		}))

		rows, err := st.States(ctx, engine.StateQuery{App: app, Kind: engine.Group, ID: "g"})
		require.NoError(rt, err)
		l := &ledger{Store: st, row: rows[0]}
		if rapid.Bool().Draw(rt, "in full") {
			belong := answers(some("belongs"), true)
			require.NoError(rt, l.EndWalk(ctx, lease, "g", 2, belong))
			require.NoError(rt, st.EndWalk(ctx, lease, "g", 2, belong))
		}
		asked, err := st.Members(ctx, app, store.MemberQuery{Group: "g", Which: store.MembersAsked})
		require.NoError(rt, err)
		var saved []store.MemberAnswer
		for _, m := range asked {
			saved = append(saved, store.MemberAnswer{User: m.User, Want: rapid.Bool().Draw(rt, "is a member"), Asked: m.Asked})
		}
		require.NoError(rt, l.SaveMembers(ctx, lease, "g", 0, saved))
		require.NoError(rt, st.SaveMembers(ctx, lease, "g", 0, saved))

		for _, set := range []store.MemberSet{
			store.MembersAsked, store.MembersWanted, store.MembersPending, store.MembersLeaving, store.MembersAll,
		} {
			q := store.MemberQuery{
				Group: "g", Which: set, Limit: rapid.IntRange(1, 7).Draw(rt, "limit"), After: rapid.SampledFrom(append(users, "")).Draw(rt, "after"),
			}
			want, err := st.Members(ctx, app, q)
			require.NoError(rt, err)
			got, err := l.Members(ctx, app, q)
			require.NoError(rt, err)
			if set == store.MembersAll {
				q.Limit = len(users) // no paging: only the store removes rows without information, so that the pages would differ
				want, err = st.Members(ctx, app, q)
				require.NoError(rt, err)
				got, err = l.Members(ctx, app, q)
				require.NoError(rt, err)
				got = slices.DeleteFunc(got, func(m store.Member) bool { return !m.Want && !m.Pushed && !m.MayBeMember && m.Asked == 0 })
			}
			require.Equal(rt, append([]store.Member{}, want...), append([]store.Member{}, got...), "set %d", set)
		}
	})
}

// TestLedger_OwnPrincipalOnly checks that a dry run reads back the changes of its own principal, but not its changes of other principals.
func TestLedger_OwnPrincipalOnly(t *testing.T) {
	ctx, db := t.Context(), sqldbtest.SQLite(t)
	st, err := enginestore.Open(ctx, db, sqlstore.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Update(ctx, func(tx *sqldb.Tx) error {
		return st.Mark(ctx, tx.Execer(), time.Now(), []engine.Mark{{App: "app", Kind: engine.User, ID: "other"}})
	}))
	l := &ledger{Store: st, row: engine.State{App: "app", Kind: engine.User, ID: "own"}}
	wants := func(id string) engine.Want {
		rows, err := l.States(ctx, engine.StateQuery{App: "app", Kind: engine.User, ID: id})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		return rows[0].Want
	}
	require.NoError(t, l.Begin(ctx, engine.Lease{}, []store.Intent{
		{Kind: engine.User, ID: "own", Want: engine.Active}, {Kind: engine.User, ID: "other", Want: engine.Active},
	}))
	require.Equal(t, engine.Active, wants("own"))
	require.Empty(t, wants("other"))
	status, err := l.Finish(ctx, engine.Lease{}, store.Finish{Kind: engine.User, ID: "own", Status: engine.StatusHeld})
	require.NoError(t, err)
	require.Equal(t, engine.StatusHeld, status)
	rows, err := st.States(ctx, engine.StateQuery{App: "app", Kind: engine.User, ID: "own"})
	require.NoError(t, err)
	require.Empty(t, rows)
}
