package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/plan"
)

// testUnfinished goes through what is announced before a request and whose end is never stored.
func testUnfinished(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	begin := func(i engine.Intent) {
		t.Helper()
		i.Want = engine.Active
		require.NoError(t, s.store.Begin(t.Context(), l, []engine.Intent{i}))
	}
	begin(engine.Intent{Kind: engine.User, ID: "a", Name: "ann"})
	require.Empty(t, s.state(engine.User, "a").Origin)
	begin(engine.Intent{Kind: engine.User, ID: "a", Name: "anna", Creating: true})
	got := s.state(engine.User, "a")
	require.Equal(t, plan.Unconfirmed, got.Origin)
	require.Equal(t, "anna", got.RemoteName, "the name that it is created under, not the first one")
	s.finish(l, engine.Finish{ID: "a", RemoteID: "r1", RemoteName: "anna", Origin: plan.Created})
	begin(engine.Intent{Kind: engine.User, ID: "a", Name: "anne", Creating: true})
	got = s.state(engine.User, "a")
	require.Equal(t, []string{"r1", "anna", string(plan.Created)}, []string{got.RemoteID, got.RemoteName, string(got.Origin)}, "its account may come back")

	begin(engine.Intent{Kind: engine.Group, ID: "g", Name: "A"})
	s.finish(l, engine.Finish{Kind: engine.Group, ID: "g", RemoteID: "g1", RemoteName: "A", Origin: plan.Created})
	begin(engine.Intent{Kind: engine.Group, ID: "g", Name: "B", Renaming: true})
	got = s.state(engine.Group, "g")
	require.Equal(t, []string{"g1", ""}, []string{got.RemoteID, got.RemoteName}, "it may have either name")
	begin(engine.Intent{Kind: engine.Group, ID: "g", Name: "B", Creating: true})
	got = s.state(engine.Group, "g")
	require.Equal(t, []string{"", "B", string(plan.Unconfirmed)}, []string{got.RemoteID, got.RemoteName, string(got.Origin)})

	s.finish(l, engine.Finish{Kind: engine.Group, ID: "g", RemoteID: "g2", RemoteName: "B", Origin: plan.Created})
	require.NoError(t, s.store.Begin(t.Context(), l, []engine.Intent{{Kind: engine.Group, ID: "g", Want: engine.Absent}}))
	s.mark(engine.Mark{Kind: engine.Group, ID: "g"})
	begin(engine.Intent{Kind: engine.Group, ID: "g", Name: "B"})
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "a group that comes back may have been deleted")
}

// testChangedMind goes through members that the directory wants, and does not want any more before they were seen to be pushed.
func testChangedMind(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"a", "b", "c"}})
	l := s.claim()
	for _, id := range []string{"a", "b"} {
		s.finish(l, engine.Finish{ID: id, RemoteID: "r-" + id, RemoteName: id})
	}
	save := func(want bool, users ...string) {
		t.Helper()
		var answers []engine.MemberAnswer
		for _, u := range users {
			answers = append(answers, engine.MemberAnswer{User: u, Want: want, Asked: 1})
		}
		require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, answers))
	}
	pending := func() (out []engine.Member) {
		t.Helper()
		for _, m := range s.members(engine.MembersPending) {
			out = append(out, engine.Member{User: m.User, Want: m.Want, Pushed: m.Pushed, PushedID: m.PushedID})
		}
		return out
	}
	save(true, "a", "b", "c")
	save(true, "a", "b", "c")
	require.Empty(t, cmp.Diff([]engine.Member{{User: "a", Want: true}, {User: "b", Want: true}, {User: "c", Want: true}}, pending()))
	save(false, "a", "c")
	require.Empty(t, cmp.Diff([]engine.Member{{User: "a", Pushed: true, PushedID: "r-a"}, {User: "b", Want: true}}, pending()),
		"a may have been pushed; c has no account that could")
	save(true, "a")
	require.Empty(t, cmp.Diff([]engine.Member{{User: "a", Want: true}, {User: "b", Want: true}}, pending()))
	s.finish(l, engine.Finish{Kind: engine.Group, ID: "g", Added: []plan.Member{{User: "a", ID: "r-a"}, {User: "b", ID: "r-b"}}})
	require.Empty(t, pending())
	save(false, "b")
	save(true, "b")
	require.Empty(t, cmp.Diff([]engine.Member{{User: "b", Want: true}}, pending()), "b may have been removed")
	s.finish(l, engine.Finish{Kind: engine.Group, ID: "g", Added: []plan.Member{{User: "b", ID: "r-b"}}})
	save(false, "b")
	s.finish(l, engine.Finish{Kind: engine.Group, ID: "g", Removed: []plan.Member{{User: "b", ID: "r-b"}}})
	require.Empty(t, pending())
	require.Len(t, s.members(engine.MembersWanted), 1)
}
