package lane

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/store"
)

// Process is an incarnation of this engine among those that share the store.
type Process interface {
	ID() string
	// Valid reports whether the leases of the process are valid by the local clock.
	Valid() bool
	// Context ends when the process is no longer valid.
	Context() context.Context
}

// Fleet has the processes of the engine.
type Fleet interface {
	// Process returns the current incarnation, or nil if the engine has none.
	Process() Process
	// Estimate returns the number of processes and of all running lanes according to the last heartbeats.
	Estimate() (processes int, lanes float64)
	// Surplus returns how many of the running lanes the process hands over to other processes now.
	Surplus(l Load) int
}

// Load describes the running lanes of a process.
type Load struct {
	Running int
	Total   time.Duration // the sum of the times for which the lanes have run since the start of the dispatcher
}

// Ownership is a lease in use.
type Ownership struct {
	Lease    engine.Lease
	process  Process
	wake     chan struct{}
	draining chan struct{}
	drain    sync.Once
	surplus  bool      // the lane is handed over to another process or tenant; guarded by Dispatcher.mu
	yielded  time.Time // when it was handed over to another tenant; guarded by Dispatcher.mu
	begun    time.Time
	done     chan struct{}
}

// Valid reports whether the process of the lease is valid by the local clocks. An owner calls Valid before each request, because it may
// have been stalled.
func (t *Ownership) Valid() bool { return t.process.Valid() }

// Draining reports whether no new task may start.
func (t *Ownership) Draining() bool {
	select {
	case <-t.draining:
		return true
	default:
		return false
	}
}

func (t *Ownership) startDrain() { t.drain.Do(func() { close(t.draining) }) }

// Func processes a lane. ctx is canceled when the lease is lost. The lane is then released with the hold, and scheduled no earlier than
// notBefore.
type Func func(ctx context.Context, t *Ownership) (hold engine.Hold, notBefore time.Time)

// Options configures a Dispatcher; all fields except Tenants are required.
type Options struct {
	Leases  store.Leases
	Tenants store.Tenants // nil if the store cannot divide the lanes among tenants
	Fleet   Fleet
	Sweep   time.Duration // interval between two searches for pending lanes, if Wake is not called
	Lanes   int           // maximum number of lanes owned concurrently
	Now     func() time.Time
	Logger  *slog.Logger
}

// Dispatcher finds pending lanes and runs them.
type Dispatcher struct {
	o       Options
	wake    chan struct{}
	retired atomic.Bool
	drained chan struct{}
	drain   sync.Once

	mu      sync.Mutex
	running map[string]*Ownership
	again   []time.Time // when released lanes are due again, ascending

	ran      time.Duration // Load.Total at changeAt, the time of the last change of running
	changeAt time.Time

	// uncertain is the process that may own lanes which this dispatcher does not run, because the result of a claim was lost. The claim may
	// take effect until uncertainUntil. Only Run uses them.
	uncertain      string
	uncertainUntil time.Time

	// releasing is the time of the first search that found another process about to release its lanes. It is zero if no process is. sweeps is
	// the number of searches per Options.Sweep. Only Run uses releasing and sweeps.
	releasing time.Time
	sweeps    int

	served  string    // the last tenant that has got a quota; used by Run only
	yielded time.Time // the last search for tenants that wait while no lane is free; used by Run only
}

// NewDispatcher returns a dispatcher that waits for Run.
func NewDispatcher(o Options) *Dispatcher {
	return &Dispatcher{o: o, wake: make(chan struct{}, 1), drained: make(chan struct{}), running: map[string]*Ownership{}}
}

// Load returns the current load.
func (d *Dispatcher) Load() Load {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count()
	return Load{Running: len(d.running), Total: d.ran}
}

// count adds the time since the last change to the times for which lanes have run. The caller holds d.mu and changes d.running afterwards.
func (d *Dispatcher) count() {
	now := time.Now()
	if !d.changeAt.IsZero() {
		d.ran += time.Duration(len(d.running)) * now.Sub(d.changeAt)
	}
	d.changeAt = now
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

// Retire makes Run claim no more lanes. The running ones continue.
func (d *Dispatcher) Retire() { d.retired.Store(true) }

// Drain makes Run return as soon as the running tasks have completed. It may be called more than once.
func (d *Dispatcher) Drain() {
	d.drain.Do(func() { close(d.drained) })
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.running {
		t.startDrain()
	}
}

// Run works until Drain or the end of ctx. The end of ctx cancels running tasks; the lanes are released in either case.
func (d *Dispatcher) Run(ctx context.Context, f Func) {
	var lanes sync.WaitGroup
	defer lanes.Wait()
	for {
		timer := time.NewTimer(d.sweep(ctx, f, &lanes))
		select {
		case <-timer.C:
		case <-d.wake:
		case <-d.drained:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

const (
	// minSweep prevents a busy loop.
	minSweep = time.Millisecond
	// keptAgain is the maximum number of times at which released lanes are due again. A later time is found by a search.
	keptAgain = 4096
)

// sweep claims and starts pending lanes, and returns the delay until the next sweep.
func (d *Dispatcher) sweep(ctx context.Context, f Func, lanes *sync.WaitGroup) time.Duration {
	p := d.o.Fleet.Process()
	if p == nil || !p.Valid() || d.retired.Load() {
		return d.pause()
	}
	load := d.Load()
	d.handOver(d.o.Fleet.Surplus(load))
	known := d.known()
	call, stop := context.WithTimeout(ctx, claimTimeout)
	defer stop()
	leases, more, err := d.claim(call, p, load.Running)
	if d.uncertain == p.ID() && err == nil {
		leases, err = d.lost(call, p, leases, known)
	}
	if err != nil {
		d.uncertain, d.uncertainUntil = p.ID(), d.o.Now().Add(lateClaim)
		if ctx.Err() == nil && p.Valid() {
			d.o.Logger.ErrorContext(ctx, "pending lanes could not be claimed", "error", err)
		}
		return d.pause()
	}
	for _, l := range leases {
		d.begin(ctx, p, l, f, lanes)
	}
	if more {
		return minSweep
	}
	return d.pause()
}

const (
	// claimTimeout is the time limit of a claim. It is shorter than the time for which the store keeps a dead process.
	claimTimeout = 20 * time.Second
	// lateClaim is the longest time after which a claim takes effect whose result was lost: its commit may wait for a disk or a standby.
	lateClaim = 30 * time.Second
)

// lost adds the leases that an earlier Claim has acquired without returning them. known are the leases of the lanes that ran before this
// Claim: their owners release them.
func (d *Dispatcher) lost(ctx context.Context, p Process, leases []engine.Lease, known map[string]int64) ([]engine.Lease, error) {
	held, err := d.o.Leases.Held(ctx, p.ID())
	if err != nil {
		return nil, err // the next call finds also the leases of this claim
	}
	if d.o.Now().After(d.uncertainUntil) {
		d.uncertain = ""
	}
	for _, l := range leases {
		known[l.App] = l.Epoch
	}
	return append(leases, slices.DeleteFunc(held, func(l engine.Lease) bool { return known[l.App] == l.Epoch })...), nil
}

// known returns the epochs of the running lanes if the result of a claim was lost, and otherwise nil.
func (d *Dispatcher) known() map[string]int64 {
	if d.uncertain == "" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := make(map[string]int64, len(d.running))
	for app, t := range d.running {
		known[app] = t.Lease.Epoch
	}
	return known
}

// begin runs a lane in the background.
func (d *Dispatcher) begin(ctx context.Context, p Process, l engine.Lease, f Func, lanes *sync.WaitGroup) {
	t := &Ownership{
		Lease: l, process: p, wake: make(chan struct{}, 1), draining: make(chan struct{}), done: make(chan struct{}), begun: time.Now(),
	}
	d.mu.Lock()
	d.count()
	before := d.running[l.App]
	d.running[l.App] = t
	select {
	case <-d.drained:
		t.startDrain()
	default:
	}
	d.mu.Unlock()
	lanes.Go(func() {
		if before != nil && !d.await(before) {
			d.release(ctx, t, l.Hold, d.o.Now().Add(ownWait))
			d.ended(t, before)
			return
		}
		d.run(ctx, t, f)
	})
}

// ownWait is the time for which a lane waits for its previous run in this process, which has lost its lease. After that the lane is
// released, so that another process can run it although the previous run does not end.
const ownWait = time.Second

// await returns false if the previous run of a lane does not end in time.
func (d *Dispatcher) await(before *Ownership) bool {
	timer := time.NewTimer(ownWait)
	defer timer.Stop()
	select {
	case <-before.done:
		return true
	case <-timer.C:
		return false
	}
}

// handOver drains n lanes, which other processes are to run.
func (d *Dispatcher) handOver(n int) {
	if n <= 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.running {
		if t.surplus {
			n-- // it is being handed over already
		}
	}
	for _, t := range d.running {
		if n <= 0 {
			return
		}
		if !t.surplus {
			t.surplus = true
			t.startDrain()
			n--
		}
	}
}

const (
	// releaseSweeps is the maximum number of searches per Options.Sweep while another process releases its lanes.
	releaseSweeps = 10
	// fleetSweeps is the maximum number of searches of all processes together per Options.Sweep, but each process has at least one.
	fleetSweeps = 100
	// releaseTime is the duration of the frequent searches, in intervals of Options.Sweep. It is limited, because a process releases a lane
	// only when its running sequences have ended.
	releaseTime = 20
)

// hasten sets the number of searches per Options.Sweep. retired reports whether another process is about to release its lanes.
func (d *Dispatcher) hasten(retired bool, processes int) {
	d.sweeps = 1
	if !retired {
		d.releasing = time.Time{}
		return
	}
	if d.releasing.IsZero() {
		d.releasing = time.Now()
	}
	if time.Since(d.releasing) < releaseTime*d.o.Sweep {
		d.sweeps = max(min(releaseSweeps, fleetSweeps/processes), 1)
	}
}

// pause returns the delay until the next sweep: a random one, so that the processes do not search at the same time, or the time until a
// released lane is due again.
func (d *Dispatcher) pause() time.Duration {
	wait := pause.Around(d.o.Sweep, 0.1) / time.Duration(max(d.sweeps, 1))
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	for len(d.again) > 0 {
		if until := d.again[0].Sub(now); until > 0 {
			return max(min(wait, until), minSweep)
		}
		d.again = d.again[1:]
		wait = minSweep // a lane has become due since the claim
	}
	return wait
}

// dueAgain records when a released lane is due again.
func (d *Dispatcher) dueAgain(at time.Time) {
	if at.IsZero() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := slices.BinarySearchFunc(d.again, at, time.Time.Compare)
	if d.again = slices.Insert(d.again, i, at); len(d.again) > keptAgain {
		d.again = d.again[:keptAgain]
	}
}

// run processes one lane and releases it.
func (d *Dispatcher) run(ctx context.Context, t *Ownership, f Func) {
	defer notify(d.wake) // search again: a mark may have been added after the last search for pending principals
	defer d.ended(t, nil)
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.process.Context(), func() { cancel(engine.ErrLeaseLost) })()
	hold, notBefore := f(work, t)
	d.mu.Lock()
	surplus := t.surplus
	d.mu.Unlock()
	if now := d.o.Now(); surplus && notBefore.Before(now) {
		notBefore = now // this process leaves lanes to others that have just become due
	}
	// If the sequences were canceled, a target may still carry out their requests. The process does not release the lane then, but leaves:
	// the lane is taken over with its principals in flight, as after the death of the process.
	if ctx.Err() == nil {
		d.release(ctx, t, hold, notBefore)
	}
}

// ended removes a lane that runs no longer. If the previous run of the lane in this process has not ended, it is the running one again.
func (d *Dispatcher) ended(t, before *Ownership) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(t.done)
	if d.running[t.Lease.App] != t {
		return
	}
	d.count()
	delete(d.running, t.Lease.App)
	if before == nil {
		return
	}
	select {
	case <-before.done:
	default:
		d.running[t.Lease.App] = before
	}
}

// Delays between the attempts of a release, and the time limit of each and, after a stop of the engine, of all of them.
const (
	releaseRetry    = 50 * time.Millisecond
	releaseRetryMax = 2 * time.Second
	releaseTimeout  = 10 * time.Second
)

// release releases the lane. It is repeated until the outcome is known or the process has ended: a lane that a valid process forgets is
// never worked on again. It goes on after the end of ctx, because an unreleased lane is blocked until the process has left.
func (d *Dispatcher) release(ctx context.Context, t *Ownership, hold engine.Hold, notBefore time.Time) {
	retrying, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(releaseTimeout, stop)
		context.AfterFunc(retrying, func() { timer.Stop() })
	})()
	defer context.AfterFunc(t.process.Context(), stop)()
	for delay := releaseRetry; ; delay = min(2*delay, releaseRetryMax) {
		if !t.Valid() {
			d.o.Logger.WarnContext(ctx, "lane lost", "app", t.Lease.App, "epoch", t.Lease.Epoch)
			return
		}
		call, cancel := context.WithTimeout(retrying, releaseTimeout)
		again, err := d.o.Leases.Release(call, t.Lease, hold, notBefore)
		cancel()
		switch {
		case err == nil:
			d.dueAgain(again)
			return
		case errors.Is(err, engine.ErrLeaseLost): // it was forgotten, or an earlier attempt has succeeded
			d.o.Logger.WarnContext(ctx, "lane lost", "app", t.Lease.App, "epoch", t.Lease.Epoch)
			return
		}
		d.o.Logger.WarnContext(ctx, "lane not released", "app", t.Lease.App, "error", err)
		if !pause.For(retrying, delay) {
			return
		}
	}
}
