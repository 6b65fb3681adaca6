package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
)

// Invariant 15
func testProgress(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"}, engine.Mark{Kind: engine.Group, ID: "g", AllMembers: true})
	l := s.claim()
	for _, id := range []string{"a", "b", "c"} {
		s.finish(l, engine.Finish{ID: id, RemoteID: "r" + id})
	}
	save := func(walk int64, answers ...engine.MemberAnswer) {
		t.Helper()
		require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", walk, answers))
	}
	progress := func(p engine.Progress) {
		t.Helper()
		p.ID, p.At = "g", s.now
		require.NoError(t, s.store.Progress(t.Context(), l, p))
	}
	member := func(id string) engine.RemoteMember { return engine.RemoteMember{User: id, ID: "r" + id} }
	row := func(id string, want, unsure bool, pushedID string) engine.Member {
		return engine.Member{User: id, Want: want, MayBeMember: unsure, PushedID: pushedID, RemoteID: "r" + id}
	}
	save(1, engine.MemberAnswer{User: "a", Want: true}, engine.MemberAnswer{User: "b", Want: true}, engine.MemberAnswer{User: "c", Want: true})
	exchanges := []engine.Attempt{{Run: "x", Method: "POST", URL: "/Groups"}}
	progress(engine.Progress{
		Gen: 1, RemoteID: "rg", RemoteName: "Tea", Origin: engine.Created, Replaced: true, Whole: true,
		Added: []engine.RemoteMember{member("a")}, NextAdd: []engine.RemoteMember{member("b")}, Exchanges: exchanges,
	})
	got := s.state(engine.Group, "g")
	require.Equal(t, []string{"rg", "Tea", string(engine.Created)}, []string{got.RemoteID, got.RemoteName, string(got.Origin)})
	require.LessOrEqual(t, got.Full, got.Synced, "the list was replaced")
	require.Equal(t, []string{"group g"}, s.due())
	attempts, err := s.store.Attempts(t.Context(), engine.AttemptQuery{App: s.app, Kind: engine.Group, Principal: "g"})
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.EqualValues(t, 1, attempts[0].Gen)
	require.Empty(t, cmp.Diff([]engine.Member{row("b", true, true, "rb"), row("c", true, false, "")}, s.members(engine.MembersPending)))

	save(0, engine.MemberAnswer{User: "b"}, engine.MemberAnswer{User: "c"})
	require.Empty(t, cmp.Diff([]engine.Member{row("b", false, true, "rb")}, s.members(engine.MembersPending)),
		"whether b is in the group is not known, and c was never sent")
	require.Empty(t, cmp.Diff([]engine.Member{row("b", false, true, "rb")}, s.members(engine.MembersLeaving)))
	progress(engine.Progress{Gen: 1, RemoteID: "rg", Removed: []engine.RemoteMember{member("b")}, NextRemove: []engine.RemoteMember{member("a")}})
	require.Empty(t, s.state(engine.Group, "g").RemoteName)
	require.Empty(t, cmp.Diff([]engine.Member{row("a", true, true, "ra")}, s.members(engine.MembersPending)),
		"whether a is still in the group is not known")
	require.Empty(t, s.members(engine.MembersLeaving), "it is wanted")
	s.finish(l, engine.Finish{Kind: engine.Group, ID: "g", Added: []engine.RemoteMember{member("a")}, Status: engine.StatusRetrying, NextAt: s.now})
	require.Empty(t, s.members(engine.MembersPending))

	s.mark(engine.Mark{Kind: engine.Group, ID: "g", AllMembers: true})
	progress(engine.Progress{Gen: 1, RemoteID: "rg", Replaced: true, Whole: true, Added: []engine.RemoteMember{member("a")}})
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "it was asked for again meanwhile")
	s.finish(l, engine.Finish{Kind: engine.Group, ID: "g", Gen: 2, Whole: true, Replaced: true, Status: engine.StatusDirty, NextAt: s.now})
	got = s.state(engine.Group, "g")
	require.LessOrEqual(t, got.Full, got.Synced, "a push that is cut off has replaced the list all the same")
	progress(engine.Progress{Gen: 2, RemoteID: "rg", NextAll: true})
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "it is about to be replaced")

	s.now = s.now.Add(2 * time.Minute)
	s.claim()
	err = s.store.Progress(t.Context(), l, engine.Progress{ID: "g", Gen: 2, RemoteID: "stale", At: s.now})
	require.ErrorIs(t, err, engine.ErrLeaseLost)
	require.Equal(t, "rg", s.state(engine.Group, "g").RemoteID)
}

// testMemberRows has rows come and go: those that say nothing do not stay.
func testMemberRows(t *testing.T, s *suite) {
	var marks []engine.Mark
	for n := range 5 {
		marks = append(marks, engine.Mark{ID: fmt.Sprint("u", n)})
	}
	s.mark(append(marks, engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"u0", "u1", "u2"}})...)
	l := s.claim()
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, []engine.MemberAnswer{{User: "u0", Asked: 1}, {User: "u1", Want: true, Asked: 1}}))
	require.Len(t, s.members(engine.MembersAsked), 1, "u2 was not answered")
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 9, []engine.MemberAnswer{{User: "u3", Want: true}}))
	require.NoError(t, s.store.EndWalk(t.Context(), l, "g", 9, nil))
	require.Empty(t, cmp.Diff([]engine.Member{{User: "u3", Want: true}}, s.members(engine.MembersWanted)))
	require.Empty(t, cmp.Diff([]engine.Member{{User: "u2", Asked: 1}}, s.members(engine.MembersAsked)), "a mark stays")
}
