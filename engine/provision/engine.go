package provision

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/applane"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/dryrun"
	"github.com/scimwright/scimwright/engine/internal/explain"
	"github.com/scimwright/scimwright/engine/internal/imports"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/listing"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/plans"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/reconcile"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/internal/watch"
	"github.com/scimwright/scimwright/engine/store"
)

// Options configures an Engine. Store and Directory are required.
type Options struct {
	// Store keeps the engine's state; sqlstore.Open returns one in a database. Beyond store.Store it may implement capabilities: without
	// one of them, the methods that need it return an error that is errors.ErrUnsupported.
	Store store.Store
	// Directory returns the desired state. The embedder implements it.
	Directory engine.Directory
	// Observer receives the result of each sequence, failures included. Default: no observer.
	Observer engine.Observer
	// Logger receives what concerns a whole app or the store: holds, leases, errors of the directory and the store, overdue deactivations.
	// Failures of single principals are not logged: see Observer, Engine.Tasks and Apps.Events. Default: slog.Default.
	Logger *slog.Logger

	// Owner names this engine among those that share a store. Defaults to a random name. A fixed name, unique per running
	// engine, lets a restarted one take its lanes back at once instead of waiting for the leases to end.
	Owner string
	// Lease is how long a lane stays with an engine that no longer answers. A call may take a little less than a third of
	// it. Defaults to 200 s, which allows calls of 60 s.
	Lease time.Duration
	// Sweep is how often the store is asked for due lanes when nobody calls Wake. Defaults to 1 s.
	Sweep time.Duration
	// Lanes is how many apps are worked on at once. Defaults to 64.
	Lanes int
	// Concurrency is how many requests of the lanes of all apps are on their way at once. They take turns in the order in which they come; one
	// app has at most half of it, so that a slow one leaves room. Defaults to 256.
	Concurrency int
	// RetryInitial and RetryMax bound the back-off after failures. Default to 1 s and 5 min.
	RetryInitial, RetryMax time.Duration
	// BreakerAfter is the number of failures in a row that stop a lane, counted over the principals that are due together. Fewer of
	// them than that each back off alone. Default: 5.
	BreakerAfter int
	// CheckInitial and CheckMax bound the time between two reads of a principal whose change was accepted with 202; it doubles. Default to
	// 2 s and 60 s.
	CheckInitial, CheckMax time.Duration
	// KeepRounds is how many sequences send an attribute that the target does not keep, before it is left alone. Default: 3.
	KeepRounds int
	// DeactivateWithin is how long a deactivation may take, counted from the first change of that user that has not arrived. Who
	// is overdue is told to an Observer that is an OverdueObserver. Defaults to 5 min.
	DeactivateWithin time.Duration
	// UserAgent is sent to targets. Defaults to "Svc SCIM Client 1.0.0".
	UserAgent string
	// Egress is the policy for the addresses of targets and their token endpoints. Default: every address but link-local ones and
	// metadata services; an identity provider whose tenants choose the base URLs sets engine.EgressPublic.
	Egress engine.Egress
	// Transport sends the requests instead of connections of the engine's own; Egress and Target.TLS do not apply then.
	Transport http.RoundTripper
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Defaults that are not documented by a name elsewhere.
const (
	defaultLease      = 200 * time.Second
	defaultSweep      = time.Second
	defaultLanes      = 64
	defaultTotal      = 256
	defaultBreaker    = 5
	defaultRetry      = time.Second
	defaultRetryMax   = 5 * time.Minute
	defaultDeactivate = 5 * time.Minute
	defaultCheck      = 2 * time.Second
	defaultCheckMax   = time.Minute
)

func (o *Options) fill() {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observer == nil {
		o.Observer = engine.ObserverFunc(func(context.Context, engine.Result) {})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Owner = cmp.Or(o.Owner, rand.Text())
	o.Lease = cmp.Or(o.Lease, defaultLease)
	o.Sweep = cmp.Or(o.Sweep, defaultSweep)
	o.Lanes = cmp.Or(o.Lanes, defaultLanes)
	o.Concurrency = cmp.Or(o.Concurrency, defaultTotal)
	o.RetryInitial = cmp.Or(o.RetryInitial, defaultRetry)
	o.RetryMax = max(cmp.Or(o.RetryMax, defaultRetryMax), o.RetryInitial)
	o.BreakerAfter = cmp.Or(o.BreakerAfter, defaultBreaker)
	o.DeactivateWithin = cmp.Or(o.DeactivateWithin, defaultDeactivate)
	o.CheckInitial = cmp.Or(o.CheckInitial, defaultCheck)
	o.CheckMax = max(cmp.Or(o.CheckMax, defaultCheckMax), o.CheckInitial)
	o.KeepRounds = cmp.Or(o.KeepRounds, plan.DefaultRounds)
}

// Engine provisions. It may be used by several goroutines.
//
// Its methods start it, mark what has changed and report how far it is. Operations that operate it are grouped in handles by subject, which
// are small values and need not be stored: e.Tasks().List(ctx, q).
type Engine struct {
	o       Options
	can     capabilities
	network *connect.Network
	targets *target.Connector
	running *watch.Running

	// The rooms: what runs in the background, and what callers ask for.
	lanes        *applane.Worker
	dispatcher   *lane.Dispatcher // of the leases of lanes
	imports      *imports.Worker
	importLeases *lane.Dispatcher // nil if the store keeps no imports
	overdue      *watch.Overdue   // nil if the store does not report what has not arrived
	watch        watch.Deps
	explanations explain.Deps
	dryRuns      dryrun.Deps
	plans        plans.Deps
	reconcile    reconcile.Deps

	mu      sync.Mutex
	cancel  context.CancelFunc // nil before Start
	stopped bool
	done    chan struct{}
}

// New returns an engine that does nothing until Start.
func New(o Options) (*Engine, error) {
	if o.Store == nil {
		return nil, errors.New("engine: Options.Store is required: engine/sqlstore opens one in a database")
	}
	if o.Directory == nil {
		return nil, errors.New("engine: Options.Directory is required")
	}
	if min(o.Lease, o.Sweep, o.RetryInitial, o.RetryMax, o.DeactivateWithin, o.CheckInitial, o.CheckMax) < 0 ||
		min(o.Lanes, o.BreakerAfter, o.KeepRounds, o.Concurrency) < 0 {
		return nil, errors.New("engine: Options must not be negative")
	}
	o.fill()
	e := &Engine{o: o, can: capabilitiesOf(o.Store), done: make(chan struct{})}
	e.assemble()
	return e, nil
}

const (
	importLanes  = 4 // imports that one engine works on at once
	importSweeps = 5 // of Options.Sweep between two looks for runs that others left behind
)

// assemble gives each room what it takes.
func (e *Engine) assemble() {
	o := e.o
	backoff := lane.Backoff{Initial: o.RetryInitial, Max: o.RetryMax}
	e.network = &connect.Network{Transport: o.Transport, Egress: o.Egress}
	e.targets = target.NewConnector(target.Options{
		Network: e.network, UserAgent: o.UserAgent, Concurrency: o.Concurrency, Now: o.Now,
		// A call ends before the lease can: an owner that is cut off from the store has no call in flight when another takes over.
		MaxCall: o.Lease * 3 / 10,
	})
	settings := sequence.Settings{
		Now: o.Now, Logger: o.Logger, Backoff: backoff, CheckInitial: o.CheckInitial, CheckMax: o.CheckMax, KeepRounds: o.KeepRounds,
	}
	e.running = watch.NewRunning()
	e.lanes = applane.New(applane.Options{
		Settings: settings, Store: o.Store, Directory: o.Directory, Targets: e.targets, Observer: o.Observer, Running: e.running,
		BreakerAfter: o.BreakerAfter,
	})
	e.dispatcher = lane.NewDispatcher(lane.Options{
		Leases: o.Store, Owner: o.Owner, Lease: o.Lease, Sweep: o.Sweep, Lanes: o.Lanes, Now: o.Now, Logger: o.Logger,
	})
	lists := listing.Deps{Store: o.Store, Directory: o.Directory, Targets: e.targets, Backoff: backoff, Now: o.Now}
	e.imports = &imports.Worker{
		Store: part[imports.Store](o.Store), Directory: o.Directory, Lists: lists, Backoff: backoff, Now: o.Now, Logger: o.Logger, Wake: e.Wake,
	}
	if kept, err := e.can.imports.get(); err == nil {
		e.importLeases = lane.NewDispatcher(lane.Options{
			Leases: kept.ImportLeases(), Owner: o.Owner, Lease: o.Lease, Sweep: importSweeps * o.Sweep, Lanes: importLanes,
			Now: o.Now, Logger: o.Logger,
		})
	}
	if late := part[watch.OverdueStore](o.Store); late != nil {
		e.overdue = watch.NewOverdue(watch.OverdueOptions{
			Store: late, Directory: o.Directory, Observer: o.Observer, Within: o.DeactivateWithin, Now: o.Now, Logger: o.Logger,
		})
	}
	e.watch = watch.Deps{Store: o.Store, Running: e.running, Now: o.Now}
	e.explanations = explain.Deps{Store: part[explain.Store](o.Store), Directory: o.Directory, Targets: e.targets, Now: o.Now}
	e.dryRuns = dryrun.Deps{Settings: settings, Store: part[dryrun.Store](o.Store), Directory: o.Directory, Targets: e.targets}
	e.plans = plans.Deps{Store: part[plans.Store](o.Store), Directory: o.Directory, DryRuns: e.dryRuns, Backoff: backoff, Now: o.Now}
	e.reconcile = reconcile.Deps{Store: part[reconcile.Store](o.Store), Directory: o.Directory, Lists: lists, Now: o.Now, Wake: e.Wake}
}

// Start begins to work in the background and returns. A second call does nothing. The end of ctx does not stop the engine,
// Stop does; after that it is an error.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return errors.New("engine: it was stopped, make a new one")
	}
	if e.cancel != nil {
		return nil
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	go func() {
		defer close(e.done)
		defer cancel()
		var beside sync.WaitGroup
		alarm, stop := context.WithCancel(work)
		if e.overdue != nil {
			beside.Go(func() { e.overdue.Run(alarm) })
		}
		if e.importLeases != nil {
			beside.Go(func() { e.importLeases.Run(work, e.imports.Work) })
		}
		e.dispatcher.Run(work, e.lanes.Work)
		stop()
		beside.Wait()
		e.network.CloseIdleConnections()
	}()
	return nil
}

// Stop lets running sequences come to their end, gives the lanes back and returns. When ctx ends first, the sequences are
// cut off and its error is returned; what they were about is taken up by the next engine that starts. A second call waits too.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	e.stopped = true
	cancel := e.cancel
	if cancel == nil {
		cancel = func() {}
		e.cancel = cancel
		close(e.done)
	}
	e.mu.Unlock()
	e.dispatcher.Drain()
	if e.importLeases != nil {
		e.importLeases.Drain()
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
	}
	cancel()
	<-e.done
	return fmt.Errorf("engine: running sequences were cut off: %w", ctx.Err())
}

// Mark records, inside the caller's transaction, that the desired state of principals may have changed. Call Wake after the
// commit; without it the change is found at the next sweep.
func (e *Engine) Mark(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
	return e.o.Store.Mark(ctx, tx, e.o.Now(), marks)
}

// MarkAll records, inside the caller's transaction, that the desired state of all principals of an app may have changed that fit,
// e.g. after a mapping was edited or a target was repaired, and returns how many there are. Principals that were never marked
// are not known and so not among them. Call Wake after the commit; without it the change is found at the next sweep.
func (e *Engine) MarkAll(ctx context.Context, tx engine.Execer, m engine.MarkAll) (int64, error) {
	if m.App == "" || m.Kind != "" && m.Kind != engine.User && m.Kind != engine.Group {
		return 0, fmt.Errorf("engine: mark all: app %q, kind %q do not name principals", m.App, m.Kind)
	}
	s, err := e.can.markAll.get()
	if err != nil {
		return 0, err
	}
	return s.MarkAll(ctx, tx, e.o.Now(), m)
}

// Forget removes, inside the caller's transaction, whatever is known about an app that is no more: its principals, members,
// recorded exchanges and lane. Nothing is sent to its target; a sequence that is on its way comes to its end, and what it
// brought about is not kept.
func (e *Engine) Forget(ctx context.Context, tx engine.Execer, app string) error {
	e.targets.Forget(app)
	e.lanes.Forget(app)
	return e.o.Store.Forget(ctx, tx, app)
}

// Wake says that the apps may have something to do; without names, that any may.
func (e *Engine) Wake(apps ...string) { e.dispatcher.Wake(apps...) }

// State returns what is known about one principal, or ErrNotFound.
func (e *Engine) State(ctx context.Context, app string, kind engine.Kind, id string) (engine.State, error) {
	return principal.State(ctx, e.o.Store, app, kind, id)
}

// States lists what is known about principals, by app, kind and id.
func (e *Engine) States(ctx context.Context, q engine.StateQuery) ([]engine.State, error) {
	return e.o.Store.States(ctx, q)
}
