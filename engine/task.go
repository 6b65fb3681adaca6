package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/engine/plan"
)

// Task is a principal whose last sequence went wrong, or that waits: for a decision, for its target to carry out what it has accepted, or
// for the end of a hold of its lane.
type Task struct {
	App       string
	Kind      Kind
	ID        string
	Status    Status // StatusRetrying, StatusPending, StatusFailed or StatusHeld; StatusDirty during a hold of the lane
	Operation plan.Operation
	HTTP      int       // status that decided, 0 for none
	Error     string    // the target's own message, or what is to be decided
	Since     time.Time // the first change that has not arrived
	Attempts  int       // failures in a row
	NextAt    time.Time // when it is tried again; zero when not before the next Mark or Retry
	RemoteID  string    // id at the target, empty when not known
	Pending   *Pending  // as in State
}

// TaskQuery selects tasks. Empty fields do not restrict.
type TaskQuery struct {
	App   string
	After *Task // the last one of the page before; the order is by app, kind, id
	Limit int   // Defaults to 100
	// Now is when it is asked: a hold that has ended by then holds up nothing. Defaults to the engine's clock.
	Now time.Time
}

// TaskStore lists what is wrong and lets somebody decide about it, in transactions of the store's own.
type TaskStore interface {
	// Tasks lists principals whose status is StatusRetrying, StatusPending, StatusFailed or StatusHeld, and those with StatusDirty that are
	// due and whose lane has a hold that has not ended at TaskQuery.Now.
	Tasks(ctx context.Context, q TaskQuery) ([]State, error)
	// Retry marks a principal with Mark.Retry, or returns ErrNotFound.
	Retry(ctx context.Context, now time.Time, app string, kind Kind, id string) error
	// RetryAll does so with all tasks of an app, some at a time, and returns how many it were.
	RetryAll(ctx context.Context, now time.Time, app string) (int, error)
	// Drop gives whatever of an app is due or a task the status StatusDismissed within the caller's transaction, and fails its imports
	// that are running, with the reason.
	Drop(ctx context.Context, tx Execer, now time.Time, app, reason string) error
	// Dismiss gives a task the status StatusDismissed; it is not dirty any more. ErrMoved when it is none, ErrNotFound when the
	// principal is not known.
	Dismiss(ctx context.Context, now time.Time, app string, kind Kind, id string) error
}

// Tasks lists what failed, is tried again, is held or waits for the target.
func (e *Engine) Tasks(ctx context.Context, q TaskQuery) ([]Task, error) {
	if q.Now.IsZero() {
		q.Now = e.o.Now()
	}
	states, err := e.o.Store.Tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([]Task, len(states))
	lanes, err := e.lanes(ctx, states)
	if err != nil {
		return nil, err
	}
	for i, s := range states {
		if h := lanes[s.App].Hold; h.Kind != lane.HoldNone && h.Until.After(q.Now) && (s.Status == StatusDirty || s.Status == StatusRetrying) {
			s.LastError, s.NextAt = onHold(s, h)
		}
		out[i] = Task{
			App: s.App, Kind: s.Kind, ID: s.ID, Status: s.Status, Operation: s.LastOperation, HTTP: s.LastStatus, Error: s.LastError,
			Since: s.DirtySince, Attempts: s.Attempts, NextAt: s.NextAt, RemoteID: s.RemoteID,
			Pending: s.Pending,
		}
	}
	return out, nil
}

// Retry tries a principal again now: it ends its back-off and the hold of its lane. The error is ErrNotFound for one that was never
// marked. What is held is looked at again, and held again unless the reason is gone.
func (e *Engine) Retry(ctx context.Context, app string, kind Kind, id string) error {
	if err := e.o.Store.Retry(ctx, e.o.Now(), app, kind, id); err != nil {
		return fmt.Errorf("engine: retry: %w", err)
	}
	e.Wake(app)
	return nil
}

// RetryAll does so with all tasks of an app, and returns how many it were.
func (e *Engine) RetryAll(ctx context.Context, app string) (int, error) {
	n, err := e.o.Store.RetryAll(ctx, e.o.Now(), app)
	e.Wake(app)
	if err != nil {
		return n, fmt.Errorf("engine: retry all: %w", err)
	}
	return n, nil
}

// Dismiss marks a task as done, whatever the target has: nothing is sent for the principal until the next Mark, and it counts neither
// as pending nor as overdue. The error is ErrMoved when it is no task any more, ErrNotFound for a principal that was never marked. A
// sequence in flight changes that only if it succeeds or needs a decision.
func (e *Engine) Dismiss(ctx context.Context, app string, kind Kind, id string) error {
	if err := e.o.Store.Dismiss(ctx, e.o.Now(), app, kind, id); err != nil {
		return fmt.Errorf("engine: dismiss: %w", err)
	}
	return nil
}

// Drop gives up, inside the caller's transaction, what is queued for an app: nothing is sent for its principals until the next Mark of
// each, whatever they wait for, and imports that are running fail with the reason. It is for a target that is switched off for good, and
// not only paused. What was dropped is forgotten, deactivations too: mark those again in the same transaction that are to go out all the
// same. A sequence in flight completes; if it fails, it is neither retried nor a task.
func (e *Engine) Drop(ctx context.Context, tx Execer, app, reason string) error {
	if err := e.o.Store.Drop(ctx, tx, e.o.Now(), app, reason); err != nil {
		return fmt.Errorf("engine: drop what is queued: %w", err)
	}
	return nil
}
