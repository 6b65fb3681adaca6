package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Invariant 15
func testProgress(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"}, engine.Mark{Kind: engine.Group, ID: "g", AllMembers: true})
	l := s.claim()
	for _, id := range []string{"a", "b", "c"} {
		s.finish(l, store.Finish{ID: id, RemoteID: "r" + id})
	}
	save := func(walk int64, answers ...store.MemberAnswer) {
		t.Helper()
		require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", walk, answers))
	}
	progress := func(p store.Progress) {
		t.Helper()
		p.ID, p.At = "g", s.now
		require.NoError(t, s.store.Progress(t.Context(), l, p))
	}
	member := func(id string) engine.RemoteMember { return engine.RemoteMember{User: id, ID: "r" + id} }
	row := func(id string, want, unsure bool, pushedID string) store.Member {
		return store.Member{User: id, Want: want, MayBeMember: unsure, PushedID: pushedID, RemoteID: "r" + id}
	}
	save(1, store.MemberAnswer{User: "a", Want: true}, store.MemberAnswer{User: "b", Want: true}, store.MemberAnswer{User: "c", Want: true})
	exchanges := []engine.Attempt{{Run: "x", Method: "POST", URL: "/Groups"}}
	progress(store.Progress{
		Gen: 1, RemoteID: "rg", RemoteName: "Tea", Origin: engine.Created, Replaced: true, Whole: true,
		Added: []engine.RemoteMember{member("a")}, NextAdd: []engine.RemoteMember{member("b")}, Exchanges: exchanges,
	})
	got := s.state(engine.Group, "g")
	require.Equal(t, []string{"rg", "Tea", string(engine.Created)}, []string{got.RemoteID, got.RemoteName, string(got.Origin)})
	require.LessOrEqual(t, got.Full, got.Synced, "the list was replaced")
	require.Equal(t, []string{"group g"}, s.due())
	if !s.can.missing["Attempts"] {
		attempts, err := s.can.attempts.Attempts(t.Context(), engine.AttemptQuery{App: s.app, Kind: engine.Group, Principal: "g"})
		require.NoError(t, err)
		require.Len(t, attempts, 1)
		require.EqualValues(t, 1, attempts[0].Gen)
	}
	require.Empty(t, cmp.Diff([]store.Member{row("b", true, true, "rb"), row("c", true, false, "")}, s.members(store.MembersPending)))

	save(0, store.MemberAnswer{User: "b"}, store.MemberAnswer{User: "c"})
	require.Empty(t, cmp.Diff([]store.Member{row("b", false, true, "rb")}, s.members(store.MembersPending)),
		"b may be in the group on the target, c was never sent")
	require.Empty(t, cmp.Diff([]store.Member{row("b", false, true, "rb")}, s.members(store.MembersLeaving)))
	progress(
		store.Progress{Gen: 1, RemoteID: "rg", Removed: []engine.RemoteMember{member("b")}, NextRemove: []engine.RemoteMember{member("a")}})
	require.Empty(t, s.state(engine.Group, "g").RemoteName)
	require.Empty(t, cmp.Diff([]store.Member{row("a", true, true, "ra")}, s.members(store.MembersPending)),
		"a may still be in the group")
	require.Empty(t, s.members(store.MembersLeaving), "a is desired")
	s.finish(l,
		store.Finish{Kind: engine.Group, ID: "g", Added: []engine.RemoteMember{member("a")}, Status: engine.StatusRetrying, NextAt: s.now})
	require.Empty(t, s.members(store.MembersPending))

	s.mark(engine.Mark{Kind: engine.Group, ID: "g", AllMembers: true})
	progress(store.Progress{Gen: 1, RemoteID: "rg", Replaced: true, Whole: true, Added: []engine.RemoteMember{member("a")}})
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "a later mark requested a full push again")
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Gen: 2, Whole: true, Replaced: true, Status: engine.StatusDirty, NextAt: s.now})
	got = s.state(engine.Group, "g")
	require.LessOrEqual(t, got.Full, got.Synced, "an aborted push has replaced the list")
	progress(store.Progress{Gen: 2, RemoteID: "rg", NextAll: true})
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "the list is about to be replaced")

	s.die()
	s.claim()
	err := s.store.Progress(t.Context(), l, store.Progress{ID: "g", Gen: 2, RemoteID: "stale", At: s.now})
	require.ErrorIs(t, err, engine.ErrLeaseLost)
	require.Equal(t, "rg", s.state(engine.Group, "g").RemoteID)
}

// testMemberRows checks that rows without information are deleted.
func testMemberRows(t *testing.T, s *suite) {
	var marks []engine.Mark
	for n := range 5 {
		marks = append(marks, engine.Mark{ID: fmt.Sprint("u", n)})
	}
	s.mark(append(marks, engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"u0", "u1", "u2"}})...)
	l := s.claim()
	require.NoError(t,
		s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "u0", Asked: 1}, {User: "u1", Want: true, Asked: 1}}))
	require.Len(t, s.members(store.MembersAsked), 1, "only for u2 no response of the directory was saved")
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 9, []store.MemberAnswer{{User: "u3", Want: true}}))
	require.NoError(t, s.store.EndWalk(t.Context(), l, "g", 9, nil))
	require.Empty(t, cmp.Diff([]store.Member{{User: "u3", Want: true}}, s.members(store.MembersWanted)))
	require.Empty(t, cmp.Diff([]store.Member{{User: "u2", Asked: 1}}, s.members(store.MembersAsked)), "EndWalk keeps the mark of u2")

	var many []store.MemberAnswer // as many as in a long walk
	for n := range 150 {
		many = append(many, store.MemberAnswer{User: fmt.Sprintf("v%03d", n), Want: true})
	}
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 10, many[:120]))
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 10, many[10:]), "110 of them are stored already")
	require.NoError(t, s.store.EndWalk(t.Context(), l, "g", 11, many[30:]))
	var want []store.Member
	for _, a := range many[30:] {
		want = append(want, store.Member{User: a.User, Want: true})
	}
	got, err := s.store.Members(t.Context(), s.app, store.MemberQuery{Group: "g", Which: store.MembersWanted, Limit: 2 * len(many)})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	require.Empty(t, cmp.Diff([]store.Member{{User: "u2", Asked: 1}}, s.members(store.MembersAsked)))
}
