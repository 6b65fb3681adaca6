package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
)

func testRest(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	for _, want := range []engine.Suspension{
		{Reason: engine.SuspensionPaused}, {Reason: engine.SuspensionMaintenance, Until: s.now.Add(time.Hour).UTC()}, {},
	} {
		require.NoError(t, s.store.Suspend(t.Context(), l, want))
		row, err := s.store.Lane(t.Context(), s.app)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, row.Suspension))
	}
	s.release(l, engine.Hold{}, time.Time{})
	require.ErrorIs(t, s.store.Suspend(t.Context(), l, engine.Suspension{}), engine.ErrLeaseLost)
}
