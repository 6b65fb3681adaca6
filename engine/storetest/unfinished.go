package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// testUnfinished tests sequences that Begin announces and that never finish.
func testUnfinished(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	begin := func(i store.Intent) {
		t.Helper()
		i.Want = engine.Active
		require.NoError(t, s.store.Begin(t.Context(), l, []store.Intent{i}))
	}
	begin(store.Intent{Kind: engine.User, ID: "a", Name: "ann"})
	require.Empty(t, s.state(engine.User, "a").Origin)
	begin(store.Intent{Kind: engine.User, ID: "a", Name: "anna", Creating: true})
	got := s.state(engine.User, "a")
	require.Equal(t, engine.Unconfirmed, got.Origin)
	require.Equal(t, "anna", got.RemoteName, "RemoteName is the name of the last create")
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1", RemoteName: "anna", Origin: engine.Created})
	begin(store.Intent{Kind: engine.User, ID: "a", Name: "anne", Creating: true})
	got = s.state(engine.User, "a")
	require.Equal(t, []string{"r1", "anna", string(engine.Created)}, []string{got.RemoteID, got.RemoteName, string(got.Origin)},
		"the user already has an account, which may be restored")

	begin(store.Intent{Kind: engine.Group, ID: "g", Name: "A"})
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", RemoteID: "g1", RemoteName: "A", Origin: engine.Created})
	begin(store.Intent{Kind: engine.Group, ID: "g", Name: "B", Creating: true})
	got = s.state(engine.Group, "g")
	require.Equal(t, []string{"", "B", string(engine.Unconfirmed)}, []string{got.RemoteID, got.RemoteName, string(got.Origin)})

	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", RemoteID: "g2", RemoteName: "B", Origin: engine.Created})
	require.NoError(t, s.store.Begin(t.Context(), l, []store.Intent{{Kind: engine.Group, ID: "g", Want: engine.Absent}}))
	s.mark(engine.Mark{Kind: engine.Group, ID: "g"})
	begin(store.Intent{Kind: engine.Group, ID: "g", Name: "B"})
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "a reactivated group may have been deleted")
}
