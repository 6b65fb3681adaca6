package heartbeat

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine/internal/pause"
)

// Clocks are the clocks of the machine. A monotonic clock stops while the machine sleeps, and the wall clock may be set. A life ends when
// one of them has passed its end.
type Clocks struct {
	Monotonic func() time.Time // only differences count
	Wall      func() time.Time // without a monotonic part
}

// System returns the clocks of the machine.
func System() Clocks {
	return Clocks{Monotonic: time.Now, Wall: func() time.Time { return time.Now().Round(0) }}
}

// Moment is a time by both clocks.
type Moment struct{ monotonic, wall time.Time }

// Now returns the current time.
func (c Clocks) Now() Moment { return Moment{c.Monotonic(), c.Wall()} }

func (m Moment) add(d time.Duration) Moment { return Moment{m.monotonic.Add(d), m.wall.Add(d)} }

// left returns the time until m, by the clock for which less time is left.
func (m Moment) left(now Moment) time.Duration {
	return min(m.monotonic.Sub(now.monotonic), m.wall.Sub(now.wall))
}

// Life is one incarnation of a process.
type Life struct {
	ctx    context.Context
	end    context.CancelCauseFunc
	clocks Clocks
	lease  time.Duration
	lost   error

	mu    sync.Mutex
	until Moment
}

// Intervals, as parts of the lease.
const (
	beats = 4  // heartbeats per lease
	retry = 40 // the delay before a failed heartbeat is repeated, and the interval of the checks of the validity
)

// Every returns the longest interval between two heartbeats.
func Every(lease time.Duration) time.Duration { return lease / beats }

// Begin begins a life. lease is the time without a heartbeat after which other processes consider this one dead. sent is a time before the
// first heartbeat was sent. The life is valid until nine tenths of lease have passed since sent, or since the last successful heartbeat was
// sent. Then its context ends with the cause lost. If lease is 0, the life needs no heartbeats: its context ends by End, or at the end of
// Run.
func Begin(ctx context.Context, c Clocks, lease time.Duration, sent Moment, lost error) *Life {
	l := &Life{clocks: c, lease: lease, lost: lost}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	l.extend(sent)
	return l
}

// Context ends when the life does.
func (l *Life) Context() context.Context { return l.ctx }

// End ends the life.
func (l *Life) End(cause error) { l.end(cause) }

// Valid reports whether the life has not ended by the local clocks, even if its context has not ended yet.
func (l *Life) Valid() bool {
	return l.ctx.Err() == nil && (l.lease == 0 || l.left() > 0)
}

func (l *Life) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until.left(l.clocks.Now())
}

// extend prolongs the validity after a heartbeat. The end is earlier than that in the database: it counts from the time before the
// heartbeat was sent, less a tenth of the lease.
func (l *Life) extend(sent Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = sent.add(l.lease - l.lease/10)
}

// watch ends the life when its validity ends, also while the database does not respond.
//
// Invariant 26: A process that has ended never becomes valid again. Its validity by its own clocks ends before another process can take
// over its lanes. The end cancels its requests in flight.
func (l *Life) watch() {
	ticker := time.NewTicker(l.lease / retry)
	defer ticker.Stop()
	for l.Valid() {
		select {
		case <-l.ctx.Done():
		case <-ticker.C:
		}
	}
	l.end(l.lost)
}

// ErrEnded is an error of Beating.Send: the database has ended the process.
var ErrEnded = errors.New("heartbeat: the process has ended")

// Beating has the calls of a life; all fields are required.
type Beating struct {
	// Send sends a heartbeat. next is the duration after which another process will be dead, unless that process sends a heartbeat before.
	// It is negative if this duration is unknown, or if no other process exists.
	Send func(ctx context.Context) (next time.Duration, err error)
	// Reap is called when next has passed, unless the next heartbeat of this process is earlier.
	Reap func()
	// Failed is called for the first of several failures of Send in a row.
	Failed func(err error)
}

// reapJitter is the longest delay of Reap: the processes of a fleet do not take over at the same time.
const reapJitter = 200 * time.Millisecond

// Run sends heartbeats until the life or ctx ends. At the end of ctx the life ends with context.Canceled.
func (l *Life) Run(ctx context.Context, b Beating) {
	var watch sync.WaitGroup
	defer watch.Wait()
	if l.lease == 0 {
		select {
		case <-ctx.Done():
			l.end(context.Canceled)
		case <-l.ctx.Done():
		}
		return
	}
	watch.Go(l.watch)
	both, stop := context.WithCancel(l.ctx)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	l.beat(both, b)
	if ctx.Err() != nil {
		l.end(context.Canceled) // the work has ended
	}
}

// beat sends heartbeats until ctx or the life ends.
func (l *Life) beat(ctx context.Context, b Beating) {
	for failed := false; ; {
		next, err := l.send(ctx, b)
		every := Every(l.lease)
		wait := every - pause.UpTo(every/10)
		switch {
		case err == nil:
			failed = false
		case errors.Is(err, ErrEnded):
			l.end(err)
			return
		default:
			if ctx.Err() == nil && !failed {
				b.Failed(err)
			}
			wait, failed, next = pause.Around(l.lease/retry, 0.2), true, -1
		}
		if next >= 0 {
			if next += pause.UpTo(reapJitter); next < wait {
				if !pause.For(ctx, next) {
					return
				}
				b.Reap()
				wait -= next
			}
		}
		if !pause.For(ctx, wait) {
			return
		}
	}
}

// send sends one heartbeat.
func (l *Life) send(ctx context.Context, b Beating) (time.Duration, error) {
	call, stop := context.WithTimeout(ctx, l.lease/2)
	defer stop()
	sent := l.clocks.Now()
	next, err := b.Send(call)
	if err == nil {
		l.extend(sent)
	}
	return next, err
}
