package scimserver

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/processor"
)

// turns limits the number of requests of one server that do long computations at the same time, such as a filter on all resources. Half of
// the processors remain free for short requests and for other servers of the process.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.NumCPU()/2)) }

// turn is the turn of a request. The zero turn is none.
type turn struct{ of turns }

// enter waits for a turn. A request has at most one turn, and waits for it before it locks a resource. The caller calls leave at its end.
func (t turns) enter(ctx context.Context) (turn, error) {
	select {
	case t <- struct{}{}:
		return turn{t}, nil
	case <-ctx.Done():
		return turn{}, context.Cause(ctx)
	}
}

// enterShared waits for a turn if other servers of the process have requests, too. It is for computations that are short, but of which
// clients can request many: a server without neighbors does them on all processors.
func (t turns) enterShared(ctx context.Context) (turn, error) {
	if !served.recent() {
		return turn{}, nil
	}
	processor.Yield()
	return t.enter(ctx)
}

// leave ends the turn.
func (t *turn) leave() {
	if t.of != nil {
		<-t.of
		t.of = nil
	}
}

// held reports whether the request has a turn.
func (t *turn) held() bool { return t.of != nil }

// yield ends the turn and waits for the next one, so that several long computations advance alternately, and short requests need not wait
// for a processor.
func (t *turn) yield(ctx context.Context) (err error) {
	processor.Yield()
	if of := t.of; len(of) > 0 && len(of) == cap(of) { // another request may wait
		t.leave() // gives the turn to the request that waits longest
		*t, err = of.enter(ctx)
	}
	return err
}

// neighborTime is the time for which a server that had a request counts as a neighbor of the other servers of the process.
const neighborTime = time.Second

// served is the activity of all servers of the process, which use the same processors.
var served = newActivity()

// activity detects whether several servers have requests.
type activity struct {
	start   time.Time
	last    atomic.Pointer[server] // had the last request
	changed atomic.Int64           // nanoseconds after start at which the last request was for another server than the one before, or 0
}

func newActivity() *activity { return &activity{start: time.Now()} }

// note notes a request of a server.
func (a *activity) note(s *server) {
	if a.last.Load() != s && a.last.Swap(s) != nil {
		a.changed.Store(max(1, int64(time.Since(a.start))))
	}
}

// recent reports whether several servers had requests within neighborTime.
func (a *activity) recent() bool {
	changed := a.changed.Load()
	return changed != 0 && int64(time.Since(a.start))-changed < int64(neighborTime)
}
