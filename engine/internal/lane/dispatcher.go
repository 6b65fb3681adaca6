package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Ownership is a lease in use.
type Ownership struct {
	Lease    engine.Lease
	until    atomic.Int64 // Unix nanoseconds
	now      func() time.Time
	wake     chan struct{}
	draining <-chan struct{}
	done     chan struct{}
}

// Valid reports whether the lease has not expired by the local clock. An owner calls Valid before each request, because it may have been
// stalled.
func (t *Ownership) Valid() bool { return t.now().UnixNano() < t.until.Load() }

// Draining reports whether no new task may start.
func (t *Ownership) Draining() bool {
	select {
	case <-t.draining:
		return true
	default:
		return false
	}
}

// Func processes a lane. ctx is canceled when the lease is lost. The lane is then released with the hold, and scheduled no earlier than
// notBefore.
type Func func(ctx context.Context, t *Ownership) (hold engine.Hold, notBefore time.Time)

// Options configures a Dispatcher; all fields are required.
type Options struct {
	Leases store.Leases
	Owner  string
	Lease  time.Duration // time until another owner takes over; extended after every third of it
	Sweep  time.Duration // interval between two searches for pending lanes, if Wake is not called
	Lanes  int           // maximum number of lanes owned concurrently
	Now    func() time.Time
	Logger *slog.Logger
}

// Dispatcher finds pending lanes and runs them.
type Dispatcher struct {
	o        Options
	wake     chan struct{}
	draining chan struct{}
	drain    sync.Once

	mu      sync.Mutex
	running map[string]*Ownership
}

// NewDispatcher returns a dispatcher that waits for Run.
func NewDispatcher(o Options) *Dispatcher {
	return &Dispatcher{o: o, wake: make(chan struct{}, 1), draining: make(chan struct{}), running: map[string]*Ownership{}}
}

// Wake starts a search for pending lanes, and a search for pending principals in the named lanes (without names: in all running lanes).
func (d *Dispatcher) Wake(apps ...string) {
	d.mu.Lock()
	if len(apps) == 0 {
		for _, t := range d.running {
			notify(t.wake)
		}
	}
	for _, app := range apps {
		if t := d.running[app]; t != nil {
			notify(t.wake)
		}
	}
	d.mu.Unlock()
	notify(d.wake)
}

// notify sends without blocking: one pending signal is enough.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Drain makes Run return as soon as the running tasks have completed. It may be called more than once.
func (d *Dispatcher) Drain() { d.drain.Do(func() { close(d.draining) }) }

// Run works until Drain or the end of ctx. The end of ctx cancels running tasks; the lanes are released in either case.
func (d *Dispatcher) Run(ctx context.Context, f Func) {
	var lanes sync.WaitGroup
	defer lanes.Wait()
	if err := d.o.Leases.Reset(ctx, d.o.Owner); err != nil {
		d.o.Logger.WarnContext(ctx, "leases of an earlier run could not be released", "error", err)
	}
	for {
		wait := d.sweep(ctx, f, &lanes)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-d.wake:
		case <-d.draining:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// minSweep prevents two processes that compete for a lane from busy-waiting.
const minSweep = time.Millisecond

// sweep claims and starts pending lanes, and returns the delay until the next sweep.
func (d *Dispatcher) sweep(ctx context.Context, f Func, lanes *sync.WaitGroup) time.Duration {
	d.mu.Lock()
	room := d.o.Lanes - len(d.running)
	d.mu.Unlock()
	now := d.o.Now()
	leases, next, err := d.o.Leases.Claim(ctx, d.o.Owner, now, d.until(now), room)
	if err != nil && ctx.Err() == nil {
		d.o.Logger.ErrorContext(ctx, "pending lanes could not be claimed", "error", err)
	}
	for _, l := range leases {
		t := &Ownership{Lease: l, now: d.o.Now, wake: make(chan struct{}, 1), draining: d.draining, done: make(chan struct{})}
		t.until.Store(l.Until.UnixNano())
		d.mu.Lock()
		before := d.running[l.App]
		d.running[l.App] = t
		d.mu.Unlock()
		lanes.Go(func() {
			if before != nil {
				<-before.done // wait for the previous run of this lane, which has lost its lease
			}
			d.run(ctx, t, f)
		})
	}
	if next.IsZero() || room <= len(leases) {
		return d.o.Sweep
	}
	return max(min(next.Sub(now), d.o.Sweep), minSweep)
}

// marginDivisor determines how early a lease ends: a twentieth of Options.Lease. In this time another engine finds the expired lease.
const marginDivisor = 20

// until returns the end of a lease that is claimed or extended at now. The lease ends slightly before Options.Lease has passed, so that
// another owner can take over within Options.Lease.
func (d *Dispatcher) until(now time.Time) time.Time {
	return now.Add(d.o.Lease - d.o.Lease/marginDivisor)
}

// run processes one lane and releases it.
func (d *Dispatcher) run(ctx context.Context, t *Ownership, f Func) {
	defer notify(d.wake) // search again: a mark may have been added after the last search for pending principals
	defer func() {
		d.mu.Lock()
		if d.running[t.Lease.App] == t {
			delete(d.running, t.Lease.App)
		}
		d.mu.Unlock()
		close(t.done)
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { d.extend(ctx, t, cancel) })
	hold, notBefore := f(ctx, t)
	lost := errors.Is(context.Cause(ctx), engine.ErrLeaseLost)
	cancel(nil)
	keeper.Wait()
	if lost {
		d.o.Logger.WarnContext(ctx, "lane lost", "app", t.Lease.App, "epoch", t.Lease.Epoch)
		return
	}
	// The release is also sent after the end of ctx: an unreleased lane would be blocked until its lease ends.
	release, stop := context.WithTimeout(context.WithoutCancel(ctx), d.o.Lease/3)
	defer stop()
	if err := d.o.Leases.Release(release, t.Lease, hold, notBefore); err != nil {
		d.o.Logger.WarnContext(ctx, "lane not released", "app", t.Lease.App, "error", err)
	}
}

// extend extends the lease every third of its duration. It cancels the work if the extension is rejected or fails for too long.
func (d *Dispatcher) extend(ctx context.Context, t *Ownership, cancel context.CancelCauseFunc) {
	third := d.o.Lease / 3
	ticker := time.NewTicker(third)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		until := d.until(d.o.Now())
		call, stop := context.WithTimeout(ctx, third/2)
		err := d.o.Leases.Extend(call, t.Lease, until)
		stop()
		switch {
		case err == nil:
			t.until.Store(until.UnixNano())
		case ctx.Err() != nil:
			return
		case errors.Is(err, engine.ErrLeaseLost), d.o.Now().Add(third/2).UnixNano() >= t.until.Load():
			cancel(engine.ErrLeaseLost)
			return
		default:
			d.o.Logger.WarnContext(ctx, "lease not extended", "app", t.Lease.App, "error", err)
		}
	}
}
