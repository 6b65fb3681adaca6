package membership

import (
	"context"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// incarnation is a process in the store, from its join until its end. It implements lane.Process.
type incarnation struct {
	id     string
	ctx    context.Context
	end    context.CancelCauseFunc
	clocks Clocks

	mu    sync.Mutex
	until moment
	alone bool // the database belongs to the process: its validity has no end
}

// Clocks are the clocks of the machine. A monotonic clock stops while the machine sleeps, and the wall clock may be set. The validity of an
// incarnation ends when one of them has passed its end.
type Clocks struct {
	Monotonic func() time.Time // only differences count
	Wall      func() time.Time // without a monotonic part
}

// System returns the clocks of the machine.
func System() Clocks {
	return Clocks{Monotonic: time.Now, Wall: func() time.Time { return time.Now().Round(0) }}
}

// moment is a time by both clocks.
type moment struct{ monotonic, wall time.Time }

func (c Clocks) now() moment { return moment{c.Monotonic(), c.Wall()} }

func (m moment) add(d time.Duration) moment { return moment{m.monotonic.Add(d), m.wall.Add(d)} }

// left returns the time until m by the clock that is further.
func (m moment) left(now moment) time.Duration {
	return min(m.monotonic.Sub(now.monotonic), m.wall.Sub(now.wall))
}

// ID implements lane.Process.
func (i *incarnation) ID() string { return i.id }

// Context implements lane.Process.
func (i *incarnation) Context() context.Context { return i.ctx }

// Valid implements lane.Process.
func (i *incarnation) Valid() bool {
	if i.ctx.Err() != nil {
		return false
	}
	return i.alone || i.left() > 0
}

func (i *incarnation) left() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.until.left(i.clocks.now())
}

// extend prolongs the validity after a heartbeat. The end is earlier than that in the database: it counts from the time before the heartbeat
// was sent, less a tenth of the lease.
func (i *incarnation) extend(sent moment, lease time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.until = sent.add(lease - lease/10)
}

// watch ends the incarnation when its validity ends, also while the database does not respond.
//
// Invariant 26: A process that has ended never becomes valid again. Its validity by its own clocks ends before another process can take over
// its lanes. The end cancels its requests in flight.
func (i *incarnation) watch(lease time.Duration) {
	ticker := time.NewTicker(lease / 40)
	defer ticker.Stop()
	for i.Valid() {
		select {
		case <-i.ctx.Done():
		case <-ticker.C:
		}
	}
	i.end(engine.ErrLeaseLost)
}
