package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Tasks has operations on principals with unsynchronized changes: those that failed, are retried, are held or wait. See [Engine.Tasks].
type Tasks struct{ e *Engine }

// Tasks returns the handle of the tasks.
func (e *Engine) Tasks() Tasks { return Tasks{e} }

// List lists principals that failed, are retried, are held or wait for the target.
func (t Tasks) List(ctx context.Context, q engine.TaskQuery) ([]engine.Task, error) {
	s, err := t.e.can.tasks.get()
	if err != nil {
		return nil, err
	}
	return t.e.watch.Tasks(ctx, s, q)
}

// Waiting lists up to limit principals of an app that are pending now or scheduled for later, with the reason and the time until which each
// waits. It omits principals that failed permanently or are held: [Tasks.List] returns those.
func (t Tasks) Waiting(ctx context.Context, app string, limit int) ([]engine.Waiting, error) {
	return t.e.watch.Waiting(ctx, app, limit)
}

// WaitingFor does the same as Waiting, for one principal. It returns one element, or none if the principal is not pending or was never
// marked.
func (t Tasks) WaitingFor(ctx context.Context, app string, kind engine.Kind, id string) ([]engine.Waiting, error) {
	return t.e.watch.WaitingFor(ctx, app, kind, id)
}

// Running reports whether this engine is working on a principal now. It reads memory only.
func (t Tasks) Running(app string, kind engine.Kind, id string) bool {
	return t.e.running.Has(app, engine.Principal{Kind: kind, ID: id})
}

// Retry retries a principal now: Retry ends the backoff of the principal and the hold of its lane. It returns ErrNotFound for a principal
// that was never marked. The sequence of a held principal runs again, and the principal is held again unless the reason no longer applies.
func (t Tasks) Retry(ctx context.Context, app string, kind engine.Kind, id string) error {
	s, err := t.e.can.tasks.get()
	if err != nil {
		return err
	}
	if err := s.Retry(ctx, t.e.o.Now(), app, kind, id); err != nil {
		return fmt.Errorf("engine: retry: %w", err)
	}
	t.e.Wake(app)
	return nil
}

// RetryAll retries all tasks of an app and returns their number.
func (t Tasks) RetryAll(ctx context.Context, app string) (int, error) {
	s, err := t.e.can.tasks.get()
	if err != nil {
		return 0, err
	}
	n, err := s.RetryAll(ctx, t.e.o.Now(), app)
	t.e.Wake(app)
	if err != nil {
		return n, fmt.Errorf("engine: retry all: %w", err)
	}
	return n, nil
}

// Dismiss marks a task as resolved without changing the target. The engine sends nothing for the principal until the next Mark, and counts
// it neither as pending nor as overdue. Dismiss returns ErrStale if the principal is no longer a task, and ErrNotFound if it was never
// marked. A sequence in flight changes the status only if it succeeds or needs a decision.
func (t Tasks) Dismiss(ctx context.Context, app string, kind engine.Kind, id string) error {
	s, err := t.e.can.tasks.get()
	if err != nil {
		return err
	}
	if err := s.Dismiss(ctx, t.e.o.Now(), app, kind, id); err != nil {
		return fmt.Errorf("engine: dismiss: %w", err)
	}
	return nil
}

// Drop discards, inside the caller's transaction, all pending changes of an app. The engine sends nothing for its principals until the next
// Mark of each. Running imports fail with the reason. Use it for a target that is disabled permanently, not only paused. Drop also discards
// deactivations: to send them anyway, mark their users in the same transaction after Drop. A sequence in flight completes; if it fails, it
// is neither retried nor a task.
func (t Tasks) Drop(ctx context.Context, tx engine.Execer, app, reason string) error {
	s, err := t.e.can.tasks.get()
	if err != nil {
		return err
	}
	if err := s.Drop(ctx, tx, t.e.o.Now(), app, reason); err != nil {
		return fmt.Errorf("engine: drop pending changes: %w", err)
	}
	return nil
}
