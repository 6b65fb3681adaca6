package scimserver

import (
	"context"
	"runtime"
)

// turns limits the number of requests of one server that do long computations at the same time, such as a filter on all resources. Half of
// the processors remain free for short requests and for other servers of the process.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.NumCPU()/2)) }

// enter waits for a turn. The caller calls leave at its end.
func (t turns) enter(ctx context.Context) (leave func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return func() {}, context.Cause(ctx)
	}
}

// yield ends a turn and waits for the next one, so that several long computations advance alternately, and short requests need not wait for
// a processor. The returned function replaces leave.
func (t turns) yield(ctx context.Context, leave func()) (func(), error) {
	yieldProcessor()
	if len(t) < cap(t) {
		return leave, nil // no other request waits
	}
	leave() // gives the turn to the request that waits longest
	return t.enter(ctx)
}
