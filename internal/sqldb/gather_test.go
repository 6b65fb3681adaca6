package sqldb

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGathering_Limit checks when a batch waits for further callers.
func TestGathering_Limit(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		took           time.Duration
		expected, size int
		want           time.Duration
	}{
		"before the first commit":       {0, 0, 1, 0},
		"a caller that is alone":        {10 * ms, 1, 1, 0},
		"half of the callers":           {ms, 8, 4, ms / 2},
		"all callers":                   {ms, 8, 8, 0},
		"more callers than before":      {ms, 8, 9, 0},
		"a commit that does not wait":   {ms / 10, 8, 4, 0},
		"a commit that waits very long": {20 * ms, 8, 4, ms},
	} {
		t.Run(name, func(t *testing.T) {
			var g gathering
			if c.expected > 0 {
				g.committed(c.took, c.expected)
			}
			require.Equal(t, c.want, g.limit(c.size))
		})
	}
}

// TestGathering_Vain checks that waits become rare while nobody comes, and are as frequent as before as soon as a caller does.
func TestGathering_Vain(t *testing.T) {
	var g gathering
	waits := func(batches int, came bool) (n int) {
		for range batches {
			g.committed(time.Millisecond, 2)
			if g.limit(1) > 0 {
				n++
				if came {
					g.came()
				}
				g.timedOut() // also after a caller came: the batch waits for the next one
			}
		}
		return n
	}
	require.Equal(t, 100, waits(100, true))
	require.Equal(t, 1, waits(3, false), "a wait, and 2 batches without")
	require.Equal(t, 1, waits(5, false))
	require.InDelta(t, 1000/maxSkipped, waits(1000, false), 6)
	waits(maxSkipped+1, true)
	require.Equal(t, 100, waits(100, true))
}

// TestGathering_Full checks that a batch of some callers takes as long as a commit, and each batch at most maxBatchTime.
func TestGathering_Full(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		commit time.Duration
		size   int
		took   time.Duration
		want   bool
	}{
		"before the first commit":          {0, 100, 10 * ms, false},
		"shorter than a commit":            {ms, 100, ms - 1, false},
		"as long as a commit":              {ms, batchLeast, ms, true},
		"few callers":                      {ms, batchLeast - 1, 10 * ms, false},
		"few callers for a long time":      {ms, 1, maxBatchTime, true},
		"shorter than a very long commit":  {time.Second, 100, maxBatchTime - 1, false},
		"very long":                        {time.Second, 100, maxBatchTime, true},
		"many callers with a short update": {time.Second, maxBatch, ms, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gathering{took: c.commit}
			require.Equal(t, c.want, g.full(c.size, c.took))
		})
	}
}
