package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// testLate calls Recheck for principals for which a request was sent after the lease had ended.
func testLate(t *testing.T, s *suite) {
	again := func(kind engine.Kind, id string) {
		t.Helper()
		require.NoError(t, s.store.Recheck(t.Context(), s.now, engine.Mark{App: s.app, Kind: kind, ID: id, AllMembers: kind == engine.Group}))
	}
	again(engine.User, "a")
	_, err := s.store.Lane(t.Context(), s.app)
	require.ErrorIs(t, err, engine.ErrNotFound, "an unknown principal stays unknown")

	s.mark(engine.Mark{ID: "a"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1", RemoteName: "ann"})
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", RemoteID: "g1", RemoteName: "A"})
	again(engine.User, "a")
	again(engine.Group, "g")
	got := s.state(engine.User, "a")
	require.Equal(t, engine.StatusDirty, got.Status)
	require.Equal(t, s.now, got.NextAt)
	require.Equal(t, []string{"r1", "ann"}, []string{got.RemoteID, got.RemoteName})
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced)
	require.Equal(t, []string{"g1", ""}, []string{got.RemoteID, got.RemoteName})
}
