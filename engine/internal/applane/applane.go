package applane

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/spans"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/store"
)

// Store has the methods of package store that an app lane calls under its lease, and those that its sequences call.
type Store interface {
	sequence.Ledger
	target.Learner
	Halts(ctx context.Context, app string) ([]engine.Halt, error)
	Lane(ctx context.Context, app string) (engine.Lane, error)
	Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error)
	DueUsers(ctx context.Context, app string, now time.Time, after *engine.State, limit int) ([]engine.State, error)
	Accepted(ctx context.Context, app string) (int, error)
	Hold(ctx context.Context, l engine.Lease, now time.Time, h engine.Hold) error
	Suspend(ctx context.Context, l engine.Lease, r engine.Suspension) error
	Start(ctx context.Context, l engine.Lease, intents []store.Intent, inFlight []engine.Principal) error
	RecheckInFlight(ctx context.Context, l engine.Lease, now time.Time) (n int, next time.Time, err error)
}

// Running tracks which principals are being processed. Begin and End are called in pairs; End is called after the observer.
type Running interface {
	Begin(app string, p engine.Principal)
	End(app string, p engine.Principal)
}

// Options are the dependencies of the lanes of an engine; all fields except Spans and Traces are required.
type Options struct {
	sequence.Settings
	Store        Store
	Directory    engine.Directory
	Targets      *target.Connector
	Observer     engine.Observer
	Running      Running
	BreakerAfter int              // number of consecutive failures that stop a lane
	Spans        *spans.Tracer    // nil for no spans
	Traces       store.MarkTraces // used only if Spans is set
}

// Worker processes the apps of an engine.
type Worker struct {
	Options
	searches sync.Map // searches of apps for users to deactivate (*leavers); a search continues in the next lease
}

// New returns a Worker.
func New(o Options) *Worker { return &Worker{Options: o} }

// Forget removes the data about an app that is stored between two leases.
func (x *Worker) Forget(app string) { x.searches.Delete(app) }

// Work processes one app under its lease. It implements lane.Func.
func (x *Worker) Work(ctx context.Context, t *lane.Ownership) (engine.Hold, time.Time) {
	ctx, end := x.Spans.Lane(ctx, t.Lease)
	defer end()
	w := &work{
		Worker: x, ownership: t, limiter: x.Targets.RateLimiter(t.Lease.App), knowledge: target.NewKnowledge(x.Store, t.Lease, x.Now),
		nextRecheck: t.Lease.Recheck,
		halts: sequence.NewSharedHalts(ctx, func(ctx context.Context) ([]engine.Halt, error) {
			return x.Store.Halts(ctx, t.Lease.App)
		}),
	}
	defer w.halts.Wait()
	if err := w.recheck(ctx); err != nil {
		return t.Lease.Hold, w.nextRun(ctx, err)
	}
	if err := w.recount(ctx); err != nil {
		return t.Lease.Hold, w.nextRun(ctx, err)
	}
	gate := lane.NewGate(t.Lease.Hold, x.Backoff, x.BreakerAfter)
	w.gate, w.storedHold = gate, t.Lease.Hold.Kind
	if idle, err := w.refresh(ctx); err != nil || idle {
		return gate.Hold(), w.nextRun(ctx, err)
	}
	err := lane.Loop(ctx, t, gate, w.concurrency, x.Now, w)
	if errors.Is(err, errSuspended) {
		w.idle, err = w.refresh(ctx)
	}
	if held := w.storeHold(ctx); err == nil {
		err = held
	}
	if err != nil || w.idle {
		return gate.Hold(), w.nextRun(ctx, err)
	}
	if h := gate.Hold(); h.Kind == engine.HoldNone && w.accepted.isFull() {
		return h, x.Now().Add(acceptedDelay)
	} else if h.Kind != engine.HoldNone {
		x.Logger.WarnContext(ctx, "lane on hold", "app", t.Lease.App, "hold", h.Kind, "until", h.Until, "reason", h.Reason)
	}
	return gate.Hold(), time.Time{}
}

// work is the lane of one app during one lease.
type work struct {
	*Worker
	ownership *lane.Ownership
	idle      bool
	// first has the tasks whose users become Active for the first time: the engine cannot have created an account for them yet.
	first sync.Map
	// connection is replaced as a whole: a running sequence continues with the previous connection.
	connection atomic.Pointer[target.Connection]
	knowledge  *target.Knowledge
	limiter    *lane.RateLimiter
	halts      *sequence.SharedHalts

	suspension engine.Suspension // in the store, as of the last refresh
	gate       *lane.Gate        // used only by the loop, never during a task
	storedHold engine.HoldKind   // as stored

	nextRecheck time.Time // when principals that an earlier process had in flight are requeued; zero if there are none

	accepted acceptedChanges
	leavers  leavers // of this lease
}

// concurrency returns the number of concurrent sequences. The result changes when the settings of the target change while the lane runs. It
// is twice the number of requests that may be in flight: half of the sequences wait for the target and the others for the store or the
// directory, so that the target is always busy. Sequences that store their results do not count. If the target allows one request at a
// time, the result is 1.
func (w *work) concurrency() int {
	requests := w.connection.Load().Requests
	if requests == 1 {
		return 1
	}
	return 2 * requests
}

func (w *work) app() string { return w.ownership.Lease.App }

// target returns the current configuration.
func (w *work) target() engine.Target { return w.connection.Load().Target }
