package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Tasks lists what failed, is tried again, is held or waits for the target.
func (e *Engine) Tasks(ctx context.Context, q engine.TaskQuery) ([]engine.Task, error) {
	if q.Now.IsZero() {
		q.Now = e.o.Now()
	}
	states, err := e.o.Store.Tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Task, len(states))
	lanes, err := e.lanesOf(ctx, states)
	if err != nil {
		return nil, err
	}
	for i, s := range states {
		if h := lanes[s.App].Hold; h.Kind != engine.HoldNone && h.Until.After(q.Now) && (s.Status == engine.StatusDirty || s.Status == engine.StatusRetrying) {
			s.LastError, s.NextAt = onHold(s, h)
		}
		out[i] = engine.Task{
			App: s.App, Kind: s.Kind, ID: s.ID, Status: s.Status, Operation: s.LastOperation, HTTP: s.LastStatus, Error: s.LastError,
			Since: s.DirtySince, Attempts: s.Attempts, NextAt: s.NextAt, RemoteID: s.RemoteID,
			Pending: s.Pending,
		}
	}
	return out, nil
}

// Retry tries a principal again now: it ends its back-off and the hold of its lane. The error is ErrNotFound for one that was never
// marked. What is held is looked at again, and held again unless the reason is gone.
func (e *Engine) Retry(ctx context.Context, app string, kind engine.Kind, id string) error {
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
// as pending nor as overdue. The error is ErrStale when it is no task any more, ErrNotFound for a principal that was never marked. A
// sequence in flight changes that only if it succeeds or needs a decision.
func (e *Engine) Dismiss(ctx context.Context, app string, kind engine.Kind, id string) error {
	if err := e.o.Store.Dismiss(ctx, e.o.Now(), app, kind, id); err != nil {
		return fmt.Errorf("engine: dismiss: %w", err)
	}
	return nil
}

// Drop gives up, inside the caller's transaction, what is queued for an app: nothing is sent for its principals until the next Mark of
// each, whatever they wait for, and imports that are running fail with the reason. It is for a target that is switched off for good, and
// not only paused. What was dropped is forgotten, deactivations too: mark those again in the same transaction that are to go out all the
// same. A sequence in flight completes; if it fails, it is neither retried nor a task.
func (e *Engine) Drop(ctx context.Context, tx engine.Execer, app, reason string) error {
	if err := e.o.Store.Drop(ctx, tx, e.o.Now(), app, reason); err != nil {
		return fmt.Errorf("engine: drop what is queued: %w", err)
	}
	return nil
}
