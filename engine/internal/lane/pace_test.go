package lane_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
)

// send sends n requests and returns the time taken.
func send(t *testing.T, p *lane.RateLimiter, n int) time.Duration {
	t.Helper()
	start := time.Now()
	for range n {
		require.NoError(t, p.Wait(t.Context()))
	}
	return time.Since(start)
}

func TestRateLimiter_EnforcesLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lane.NewRateLimiter(time.Now)
		require.Zero(t, send(t, p, 1000), "without a limit no request waits")
		p.Allow(10, 5)
		time.Sleep(time.Minute)
		require.Zero(t, send(t, p, 5), "the burst")
		require.InDelta(t, 2*time.Second, send(t, p, 20), float64(10*time.Millisecond))
		p.Allow(10, 5)
		require.InDelta(t, 2*time.Second, send(t, p, 20), float64(10*time.Millisecond), "setting the same limit again does not refill the burst")
		p.Allow(0, 0)
		require.Zero(t, send(t, p, 1000))
	})
}

// TestRateLimiter_HalvesAndRecovers checks that a 429 response halves the learned rate, and that successes raise it to the limit.
func TestRateLimiter_HalvesAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lane.NewRateLimiter(time.Now)
		p.Allow(16, 1)
		_, news := p.Report(engine.SignalThrottled)
		require.False(t, news, "too few requests to measure a rate")
		send(t, p, 17)
		found, news := p.Report(engine.SignalThrottled)
		require.True(t, news)
		require.InDelta(t, 8, found, 0.1)
		_, news = p.Report(engine.SignalThrottled)
		require.False(t, news, "several requests were in flight")
		time.Sleep(2 * time.Second)
		found, _ = p.Report(engine.SignalThrottled)
		require.InDelta(t, 4, found, 0.1)
		send(t, p, 8)
		require.InDelta(t, 2*time.Second, send(t, p, 8), float64(50*time.Millisecond))

		_, news = p.Report(engine.SignalOK)
		require.False(t, news, "not immediately")
		for range 10 {
			time.Sleep(11 * time.Second)
			found, _ = p.Report(engine.SignalOK)
		}
		require.Zero(t, found, "the limit is reached again")
	})
}

// TestRateLimiter_ResumesWithinBounds checks that a limiter continues with a stored rate, and that the rate has a minimum.
func TestRateLimiter_ResumesWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lane.NewRateLimiter(time.Now)
		p.Resume(2)
		p.Allow(0, 0)
		send(t, p, 2)
		require.InDelta(t, 2*time.Second, send(t, p, 4), float64(50*time.Millisecond))
		for range 20 {
			time.Sleep(2 * time.Second)
			p.Report(engine.SignalThrottled)
		}
		found, _ := p.Report(engine.SignalNone)
		require.InDelta(t, 0.2, found, 0.001)
		ctx, cancel := context.WithCancel(t.Context())
		send(t, p, 1)
		cancel()
		require.ErrorIs(t, p.Wait(ctx), context.Canceled)
	})
}
