package pause_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/internal/pause"
)

func TestFor_EndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		begun := time.Now()
		require.True(t, pause.For(ctx, 59*time.Second))
		require.Equal(t, 59*time.Second, time.Since(begun))
		require.False(t, pause.For(ctx, time.Hour))
		require.Equal(t, time.Minute, time.Since(begun))
		require.False(t, pause.For(ctx, 0), "the context has ended")
	})
}

func TestAround_WithinPart(t *testing.T) {
	lowest, highest := time.Hour, time.Duration(0)
	for range 10_000 {
		d := pause.Around(time.Second, 0.2)
		lowest, highest = min(lowest, d), max(highest, d)
	}
	require.GreaterOrEqual(t, lowest, 800*time.Millisecond)
	require.LessOrEqual(t, highest, 1200*time.Millisecond)
	require.Greater(t, highest-lowest, 300*time.Millisecond)
	require.Zero(t, pause.UpTo(0))
	require.Zero(t, pause.Around(0, 0.2))
}
