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
	"github.com/scimwright/scimwright/engine/internal/target"
)

// Store has the methods of package store that work under the lease of an app, and those of its sequences.
type Store interface {
	sequence.Ledger
	target.Learner
	Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error)
	DueUsers(ctx context.Context, app string, now time.Time, after *engine.State, limit int) ([]engine.State, error)
	Accepted(ctx context.Context, app string) (int, error)
	Hold(ctx context.Context, l engine.Lease, now time.Time, h engine.Hold) error
	Suspend(ctx context.Context, l engine.Lease, r engine.Suspension) error
}

// Running learns which principals are worked on. Begin and End come in pairs; the end comes after the observer was called.
type Running interface {
	Begin(app string, p engine.Principal)
	End(app string, p engine.Principal)
}

// Options are what the lanes of an engine use; all fields are required.
type Options struct {
	sequence.Settings
	Store        Store
	Directory    engine.Directory
	Targets      *target.Connector
	Observer     engine.Observer
	Running      Running
	BreakerAfter int // failures in a row that stop a lane
}

// Worker works on the apps of an engine.
type Worker struct {
	Options
	searches sync.Map // of app to its *leavers, which outlives a lease
}

// New returns a Worker.
func New(o Options) *Worker { return &Worker{Options: o} }

// Forget removes what is kept about an app between two leases.
func (x *Worker) Forget(app string) { x.searches.Delete(app) }

// Work works on one app under its lease. It implements lane.Func.
func (x *Worker) Work(ctx context.Context, t *lane.Ownership) (engine.Hold, time.Time) {
	w := &work{
		Worker: x, ownership: t, pace: x.Targets.RateLimiter(t.Lease.App), knowledge: target.NewKnowledge(x.Store, t.Lease, x.Now),
	}
	if err := w.recount(ctx); err != nil {
		return t.Lease.Hold, w.rest(ctx, err)
	}
	gate := lane.NewGate(t.Lease.Hold, x.Backoff, x.BreakerAfter)
	w.gate, w.noted = gate, t.Lease.Hold.Kind
	if idle, err := w.refresh(ctx); err != nil || idle {
		return gate.Hold(), w.rest(ctx, err)
	}
	err := lane.Loop(ctx, t, gate, w.concurrency, x.Now, w)
	if errors.Is(err, errResting) {
		w.idle, err = w.refresh(ctx)
	}
	if held := w.noteHold(ctx); err == nil {
		err = held
	}
	if err != nil || w.idle {
		return gate.Hold(), w.rest(ctx, err)
	}
	if h := gate.Hold(); h.Kind == engine.HoldNone && w.accepted.isFull() {
		return h, x.Now().Add(acceptedRest)
	} else if h.Kind != engine.HoldNone {
		x.Logger.WarnContext(ctx, "lane held", "app", t.Lease.App, "hold", h.Kind, "until", h.Until, "reason", h.Reason)
	}
	return gate.Hold(), time.Time{}
}

// work is what the lane of one app does.
type work struct {
	*Worker
	ownership *lane.Ownership
	idle      bool
	// first holds the tasks whose users are worked towards Active for the first time: no account of ours can exist yet.
	first sync.Map
	// connection is replaced as a whole: a sequence keeps the one it began with.
	connection atomic.Pointer[target.Connection]
	knowledge  *target.Knowledge
	pace       *lane.RateLimiter

	rests *engine.Suspension // as stored, nil before that is known
	gate  *lane.Gate         // asked between tasks only
	noted engine.HoldKind    // as stored

	accepted acceptedChanges
	leavers  leavers // of this lease
}

// concurrency returns the number of concurrent sequences. It follows the target while the lane runs. It is twice the number of
// requests that may be in flight: while half of the sequences wait for the target, the others wait for the store or the directory, so that
// the target is never kept waiting. One request at a time means one principal after another.
func (w *work) concurrency() int {
	requests := w.connection.Load().Requests
	if requests == 1 {
		return 1
	}
	return 2 * requests
}

func (w *work) app() string { return w.ownership.Lease.App }

// target returns the configuration that is followed now.
func (w *work) target() engine.Target { return w.connection.Load().Target }
