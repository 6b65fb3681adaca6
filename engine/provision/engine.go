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

	"go.opentelemetry.io/otel/trace"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/applane"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/dryrun"
	"github.com/scimwright/scimwright/engine/internal/explain"
	"github.com/scimwright/scimwright/engine/internal/heartbeat"
	"github.com/scimwright/scimwright/engine/internal/imports"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/listing"
	"github.com/scimwright/scimwright/engine/internal/membership"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/plans"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/reconcile"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/spans"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/internal/watch"
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/store"
)

// Options configures an Engine. Store and Directory are required.
type Options struct {
	// Store stores the engine's state. sqlstore.Open returns one in a database. In addition to store.Store it may implement capabilities. If a
	// capability is missing, the methods that need it return an error that wraps errors.ErrUnsupported.
	Store store.Store
	// Directory returns the desired state. The embedder implements it.
	Directory engine.Directory
	// Observer receives the result of each sequence, failures included. Default: no observer.
	Observer engine.Observer
	// Jobs runs imports and the search for overdue deactivations. The engine registers its kinds in New, and starts and stops the scheduler.
	// Default: on SQLite a scheduler of its own. On PostgreSQL, where several processes may share the store, riverjobs.Open returns a
	// scheduler; without one the methods of Imports that start imports return an error that wraps errors.ErrUnsupported, and overdue
	// deactivations are not reported.
	Jobs jobs.Scheduler
	// Logger receives events of a whole app or the store: holds, leases, errors of the directory and the store, overdue deactivations.
	// Failures of single principals are not logged: see Observer, Engine.Tasks and Apps.Events. Default: slog.Default.
	Logger *slog.Logger

	// Owner is the name of this engine among the engines that share a store. Default: a random name. A fixed name, unique per running engine,
	// lets a restarted engine take over the lanes of the killed one immediately instead of after Lease.
	Owner string
	// Lease is the time after which other engines take over the lanes of an engine that was killed or has stalled. The engine sends a
	// heartbeat to the store in a quarter of this time, on a connection of its own. It cancels its requests when nine tenths have passed
	// without a successful heartbeat, and then continues as a new process. A database that belongs to one process, such as SQLite, needs no
	// heartbeat. Default: 10s.
	Lease time.Duration
	// RequestTimeout is the time limit of a request to a target; Target.Timeout may be shorter. After a takeover the engine waits for this
	// time before it checks the principals that the previous engine had in flight. Default: 60s.
	RequestTimeout time.Duration
	// Sweep is the mean interval between two queries for due lanes without a call of Wake. Default: 500ms.
	Sweep time.Duration
	// Lanes is the maximum number of apps that the engine works on concurrently. A store that knows tenants divides them evenly among the
	// tenants with pending apps (sqlstore.Options.Tenant). Default: 64.
	Lanes int
	// Concurrency is the maximum number of concurrent requests of all lanes. Requests are sent in the order in which they are queued, those of
	// the tenant with the fewest requests in flight first. One app sends at most half of this number concurrently, so that a slow app does not
	// block the others. Default: 256.
	Concurrency int
	// RetryInitial and RetryMax are the first and the maximum backoff after failures. Defaults: 1s and 5m.
	RetryInitial, RetryMax time.Duration
	// BreakerAfter is the number of consecutive failed sequences after which a lane stops, whichever principals they are for. The count
	// starts at 0 whenever the lane is claimed. After fewer failures, each failed principal waits for its own backoff and the lane
	// continues. Default: 5.
	BreakerAfter int
	// CheckInitial and CheckMax are the first and the maximum time between two reads of a principal whose change was accepted with 202. The
	// time doubles after each read. Defaults: 2s and 60s.
	CheckInitial, CheckMax time.Duration
	// KeepRounds is a number of sequences: after this many sequences in which the target ignored an attribute, the engine no longer sends
	// the attribute. Default: 3.
	KeepRounds int
	// DeactivateWithin is the time limit of a deactivation, measured from the first unsynchronized change of the user. After this time the
	// engine reports the deactivation to an Observer that is an OverdueObserver. Default: 5m.
	DeactivateWithin time.Duration
	// UserAgent is the User-Agent of requests to targets. Default: "Svc SCIM Client 1.0.0".
	UserAgent string
	// Egress is the policy for the addresses of targets and their token endpoints. Default: every address except link-local ones and metadata
	// services. An identity provider whose tenants choose the base URLs sets engine.EgressPublic.
	Egress engine.Egress
	// Transport sends the requests. Default: the engine's own connections. Egress and Target.TLS do not apply to a given Transport.
	Transport http.RoundTripper
	// TracerProvider creates OpenTelemetry spans of marks, lanes, sequences and requests. A sequence continues the trace of the mark that has
	// caused it, also in another engine or after a restart: Mark stores the trace context of its span if the trace is recorded. The store
	// must implement store.MarkTraces. Default: no spans, and nothing is stored.
	TracerProvider trace.TracerProvider
	// TraceHosts are the hosts of targets and token endpoints to which the engine sends the trace context (the header traceparent), "*" for
	// all. Default: none, because a target usually belongs to another organization, and could correlate requests by it.
	TraceHosts []string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Defaults of Options without a name in another package.
const (
	defaultLease      = 10 * time.Second
	defaultRequest    = 60 * time.Second
	defaultSweep      = 500 * time.Millisecond
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
	o.RequestTimeout = cmp.Or(o.RequestTimeout, defaultRequest)
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

// Engine provisions users and groups. It may be used by several goroutines.
//
// Its methods start it, mark changes and report the progress. Operations for operators are grouped by subject in handles, which are small
// values and need not be stored: e.Tasks().List(ctx, q).
type Engine struct {
	o       Options
	can     capabilities
	network *connect.Network
	targets *target.Connector
	running *watch.Running
	spans   *spans.Tracer // nil without Options.TracerProvider

	// The components of the internal packages: first those that run in the background, then those that callers use.
	lanes        *applane.Worker
	dispatcher   *lane.Dispatcher // dispatcher of the lanes
	imports      *imports.Worker
	member       *membership.Member
	overdue      *watch.Overdue // nil if the store does not report overdue changes
	watch        watch.Deps
	explanations explain.Deps
	dryRuns      dryrun.Deps
	plans        plans.Deps
	reconcile    reconcile.Deps

	schedule schedule

	mu      sync.Mutex
	cancel  context.CancelFunc // nil before Start
	stopped bool
	done    chan struct{}
}

// New returns an engine that does nothing until Start. The error is about Options: Store and Directory are required, numbers must not be
// negative, and traces need a store with that capability.
func New(o Options) (*Engine, error) {
	if o.Store == nil {
		return nil, errors.New("engine: Options.Store is required: engine/sqlstore opens one in a database")
	}
	if o.Directory == nil {
		return nil, errors.New("engine: Options.Directory is required")
	}
	if min(o.Lease, o.RequestTimeout, o.Sweep, o.RetryInitial, o.RetryMax, o.DeactivateWithin, o.CheckInitial, o.CheckMax) < 0 ||
		min(o.Lanes, o.BreakerAfter, o.KeepRounds, o.Concurrency) < 0 {
		return nil, errors.New("engine: Options must not be negative")
	}
	o.fill()
	e := &Engine{o: o, can: capabilitiesOf(o.Store), done: make(chan struct{}), spans: spans.New(o.TracerProvider, o.TraceHosts)}
	if e.spans != nil {
		if _, err := e.can.traces.get(); err != nil {
			return nil, err
		}
	}
	e.schedule.open(o, e.can)
	e.assemble()
	return e, e.registerJobs()
}

// assemble creates the components of the internal packages with their dependencies.
func (e *Engine) assemble() {
	o := e.o
	backoff := lane.Backoff{Initial: o.RetryInitial, Max: o.RetryMax}
	e.network = &connect.Network{Transport: o.Transport, Egress: o.Egress, Spans: e.spans}
	e.targets = target.NewConnector(target.Options{
		Network: e.network, UserAgent: o.UserAgent, Concurrency: o.Concurrency, Now: o.Now,
		MaxCall: o.RequestTimeout,
	})
	settings := sequence.Settings{
		Now: o.Now, Logger: o.Logger, Backoff: backoff, CheckInitial: o.CheckInitial, CheckMax: o.CheckMax, KeepRounds: o.KeepRounds,
	}
	e.running = watch.NewRunning()
	e.lanes = applane.New(applane.Options{
		Settings: settings, Store: o.Store, Directory: e.spans.Directory(o.Directory), Targets: e.targets, Observer: o.Observer,
		Running: e.running, BreakerAfter: o.BreakerAfter, Spans: e.spans, Traces: e.can.traces.of,
	})
	e.member = membership.New(membership.Options{
		Store: o.Store, Name: o.Owner, Lease: o.Lease, Recheck: o.RequestTimeout, Now: o.Now, Clocks: heartbeat.System(), Logger: o.Logger,
		Load: e.load, Taken: e.taken, Wake: func() { e.dispatcher.Wake() },
	})
	e.dispatcher = lane.NewDispatcher(lane.Options{
		Leases: o.Store, Tenants: storeAs[store.Tenants](o.Store), Fleet: e.member, Sweep: o.Sweep, Lanes: o.Lanes, Now: o.Now, Logger: o.Logger,
	})
	lists := listing.Deps{Store: o.Store, Directory: o.Directory, Targets: e.targets, Backoff: backoff, Now: o.Now}
	e.imports = &imports.Worker{
		Store: storeAs[imports.Store](o.Store), Directory: o.Directory, Lists: lists, Backoff: backoff, Now: o.Now, Logger: o.Logger,
		Wake: e.Wake,
	}
	if e.schedule.of != nil {
		e.imports.Insert = e.schedule.of.Insert
	}
	if late := storeAs[watch.OverdueStore](o.Store); late != nil {
		e.overdue = watch.NewOverdue(watch.OverdueOptions{
			Store: late, Directory: o.Directory, Observer: o.Observer, Within: o.DeactivateWithin, Now: o.Now, Logger: o.Logger,
		})
	}
	e.watch = watch.Deps{Store: o.Store, Running: e.running, Now: o.Now}
	e.explanations = explain.Deps{Store: storeAs[explain.Store](o.Store), Directory: o.Directory, Targets: e.targets, Now: o.Now}
	e.dryRuns = dryrun.Deps{Settings: settings, Store: storeAs[dryrun.Store](o.Store), Directory: o.Directory, Targets: e.targets}
	e.plans = plans.Deps{Store: storeAs[plans.Store](o.Store), Directory: o.Directory, DryRuns: e.dryRuns, Backoff: backoff, Now: o.Now}
	e.reconcile = reconcile.Deps{Store: storeAs[reconcile.Store](o.Store), Directory: o.Directory, Lists: lists, Now: o.Now, Wake: e.Wake}
}

// Start joins the engines that share the store, starts the work in the background and returns. It returns an error that wraps
// store.ErrInUse if the database belongs to another process; SQLite has one engine at a time. Nothing is then started, and Start may be
// called again. After any other failure to join, the engine retries in the background. A call after a successful call does nothing. The end
// of ctx does not stop the engine: call Stop. After Stop, Start returns an error.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return errors.New("engine: the engine was stopped: create a new one")
	}
	if e.cancel != nil {
		return nil
	}
	if err := e.member.Join(ctx); errors.Is(err, store.ErrInUse) {
		return err
	} else if err != nil {
		e.o.Logger.WarnContext(ctx, "the engine has not joined yet", "error", err)
	}
	e.startJobs(ctx)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	go func() {
		defer close(e.done)
		defer cancel()
		var fleet sync.WaitGroup
		member, leave := context.WithCancel(context.WithoutCancel(ctx))
		fleet.Go(func() { e.member.Run(member) })
		e.dispatcher.Run(work, e.lanes.Work)
		<-e.schedule.ended
		leave() // after the release of the last lane and the end of the last job
		fleet.Wait()
		e.network.CloseIdleConnections()
	}()
	return nil
}

// Stop waits for running sequences, releases all leases, stops the jobs and returns. A push of a group ends after its current request; the
// next engine continues it. If lanes are running and other processes share the store, Stop first announces the release, and waits for 1.2
// times Options.Sweep. If ctx ends first, Stop cancels the sequences and the jobs, and returns the error of ctx; the next engine resumes
// them, and reads the principals whose requests were canceled again after Options.RequestTimeout. A second call of Stop waits too.
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
	e.retire(ctx)
	e.dispatcher.Drain()
	jobs := make(chan error, 1)
	go func() { jobs <- e.schedule.stop(ctx) }()
	var err error
	select {
	case <-e.done:
	case <-ctx.Done():
		cancel()
		<-e.done
		err = fmt.Errorf("engine: running sequences were canceled: %w", ctx.Err())
	}
	return cmp.Or(err, <-jobs)
}

// retire announces to the other processes that the engine releases its lanes, and waits until their next search has found the announcement.
// From then on, they search at short intervals, so that an app waits only for the end of its running sequences. The lanes continue during
// the wait. From the call of retire on, the engine claims no lanes. Without other processes or running lanes, retire does not wait.
func (e *Engine) retire(ctx context.Context) {
	e.dispatcher.Retire()
	if e.dispatcher.Load().Running > 0 && e.member.Retire(ctx) {
		pause.For(ctx, e.o.Sweep*6/5) // longer than the interval of their searches
	}
}

// Done returns a channel that is closed when a started engine has stopped: after the end of its last sequence.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Mark records, inside the caller's transaction, that the desired state of principals may have changed. Call Wake after the commit.
// Otherwise the engine finds the change at the next sweep.
func (e *Engine) Mark(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
	if e.spans == nil {
		return e.o.Store.Mark(ctx, tx, e.o.Now(), marks)
	}
	ctx, end := e.spans.Mark(ctx, marks)
	err := e.o.Store.Mark(ctx, tx, e.o.Now(), marks)
	if context := spans.Traceparent(ctx); err == nil && context != "" && len(marks) > 0 {
		err = e.can.traces.of.SaveTrace(ctx, tx, marks, context)
	}
	end(err)
	return err
}

// MarkAll records, inside the caller's transaction, that the desired state of all matching principals of an app may have changed, for
// example after a mapping was edited or a target was repaired. It returns their number. Principals that were never marked are not included.
// Call Wake after the commit. Otherwise the engine finds the change at the next sweep.
func (e *Engine) MarkAll(ctx context.Context, tx engine.Execer, m engine.MarkAll) (int64, error) {
	if m.App == "" || m.Kind != "" && m.Kind != engine.User && m.Kind != engine.Group {
		return 0, fmt.Errorf("engine: mark all: invalid app %q or kind %q", m.App, m.Kind)
	}
	s, err := e.can.markAll.get()
	if err != nil {
		return 0, err
	}
	return s.MarkAll(ctx, tx, e.o.Now(), m)
}

// Forget removes, inside the caller's transaction, all data of a deleted app: its principals, members, recorded exchanges and lane. It
// sends nothing to the target. A sequence in flight completes, but its result is not stored.
func (e *Engine) Forget(ctx context.Context, tx engine.Execer, app string) error {
	e.targets.Forget(app)
	e.lanes.Forget(app)
	return e.o.Store.Forget(ctx, tx, app)
}

// Wake notifies the engine that the apps may have pending changes. Without names it means all apps.
func (e *Engine) Wake(apps ...string) { e.dispatcher.Wake(apps...) }

// State returns the state of one principal, or ErrNotFound.
func (e *Engine) State(ctx context.Context, app string, kind engine.Kind, id string) (engine.State, error) {
	return principal.State(ctx, e.o.Store, app, kind, id)
}

// States lists the states of principals by app, kind and id.
func (e *Engine) States(ctx context.Context, q engine.StateQuery) ([]engine.State, error) {
	return e.o.Store.States(ctx, q)
}

// StatesByID returns the states of principals of one kind in an app. It omits principals without a state.
func (e *Engine) StatesByID(ctx context.Context, app string, kind engine.Kind, ids []string) ([]engine.State, error) {
	return e.o.Store.StatesByID(ctx, app, kind, ids)
}
