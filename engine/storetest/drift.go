package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testRepair(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", RemoteID: "ra", RemoteName: "ann"})
	s.finish(l, store.Finish{ID: "b", RemoteID: "rb", RemoteName: "bob", Status: engine.StatusFailed})
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", RemoteID: "rg", RemoteName: "Tea"})
	require.Empty(t, s.due())
	require.NoError(t, s.can.repairs.Repair(t.Context(), s.now, []store.Repair{
		{Mark: engine.Mark{App: s.app, Kind: engine.Group, ID: "g", AllMembers: true, Retry: true}, RemoteName: "Other"},
		{Mark: engine.Mark{App: s.app, Kind: engine.User, ID: "b", Retry: true}},
		{Mark: engine.Mark{App: s.app, Kind: engine.User, ID: "new"}},
	}))
	require.ElementsMatch(t, []string{"user b", "user new", "group g"}, s.due(), "only the principals of the repair are due")
	g := s.state(engine.Group, "g")
	require.Greater(t, g.Full, g.Synced)
	require.Equal(t, "Other", g.RemoteName)
	require.Equal(t, "bob", s.state(engine.User, "b").RemoteName)
	require.Error(t,
		s.can.repairs.Repair(t.Context(), s.now,
			[]store.Repair{{Mark: engine.Mark{App: s.app, Kind: engine.User, ID: "a"}}, {Mark: engine.Mark{App: s.app}}}))
	require.NotContains(t, s.due(), "user a", "no mark of a failed call is stored")
}

func testStatesInBulk(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", RemoteID: "ra"})
	s.finish(l, store.Finish{ID: "b", RemoteID: "rb"})
	ids := func(states []engine.State, err error) (out []string) {
		require.NoError(t, err)
		for _, st := range states {
			require.Equal(t, s.app, st.App)
			out = append(out, st.ID)
		}
		return out
	}
	many := make([]string, 1200) // more ids than one query can select
	for i := range many {
		many[i] = "nobody"
	}
	many[0], many[700], many[1199] = "a", "b", "c"
	require.ElementsMatch(t, []string{"a", "b", "c"}, ids(s.store.StatesByID(t.Context(), s.app, engine.User, many)))
	require.Empty(t, ids(s.store.StatesByID(t.Context(), s.app, engine.Group, many)))
	require.ElementsMatch(t, []string{"a", "b"}, ids(s.store.StatesByRemoteID(t.Context(), s.app, engine.User, []string{"rb", "ra", ""})),
		"an empty id matches nothing")
	require.Empty(t, ids(s.store.StatesByRemoteID(t.Context(), s.app, engine.User, nil)))
}
