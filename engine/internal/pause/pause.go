// Package pause has waits of the engine: until a time has passed or a context ends, and random durations, so that the processes of a fleet
// do not repeat their calls at the same time.
package pause

import (
	"context"
	"math/rand/v2"
	"time"
)

// For returns true after d, or false as soon as ctx ends.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Around returns a random duration that differs from d by at most the given part of d.
func Around(d time.Duration, part float64) time.Duration {
	off := time.Duration(float64(d) * part)
	return d - off + UpTo(2*off)
}

// UpTo returns a random duration between 0 and d.
func UpTo(d time.Duration) time.Duration { return rand.N(d + 1) }
