package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Tasks are the principals that are not done: they failed, are retried, are held or wait. See [Engine.Tasks].
type Tasks struct{ e *Engine }

// Tasks returns the handle of what failed or waits.
func (e *Engine) Tasks() Tasks { return Tasks{e} }

// List lists what failed, is tried again, is held or waits for the target.
func (t Tasks) List(ctx context.Context, q engine.TaskQuery) ([]engine.Task, error) {
	s, err := t.e.can.tasks.get()
	if err != nil {
		return nil, err
	}
	return t.e.watch.Tasks(ctx, s, q)
}

// Waiting lists principals of an app that are due now or later, at most so many, and says why they wait and until when. Those that failed
// for good or are held are not among them: List lists those.
func (t Tasks) Waiting(ctx context.Context, app string, limit int) ([]engine.Waiting, error) {
	return t.e.watch.Waiting(ctx, app, limit)
}

// WaitingFor is Waiting for one principal: it has one element, or none when that principal is settled or was never marked.
func (t Tasks) WaitingFor(ctx context.Context, app string, kind engine.Kind, id string) ([]engine.Waiting, error) {
	return t.e.watch.WaitingFor(ctx, app, kind, id)
}

// Running reports whether this engine is working on a principal at the moment. It asks nobody, so that it costs next to nothing.
func (t Tasks) Running(app string, kind engine.Kind, id string) bool {
	return t.e.running.Has(app, engine.Principal{Kind: kind, ID: id})
}

// Retry tries a principal again now: it ends its back-off and the hold of its lane. The error is ErrNotFound for one that was never
// marked. What is held is looked at again, and held again unless the reason is gone.
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

// RetryAll does so with all tasks of an app, and returns how many it were.
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

// Dismiss marks a task as done, whatever the target has: nothing is sent for the principal until the next Mark, and it counts neither
// as pending nor as overdue. The error is ErrStale when it is no task any more, ErrNotFound for a principal that was never marked. A
// sequence in flight changes that only if it succeeds or needs a decision.
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

// Drop gives up, inside the caller's transaction, what is queued for an app: nothing is sent for its principals until the next Mark of
// each, whatever they wait for, and imports that are running fail with the reason. It is for a target that is switched off for good, and
// not only paused. What was dropped is forgotten, deactivations too: mark those again in the same transaction that are to go out all the
// same. A sequence in flight completes; if it fails, it is neither retried nor a task.
func (t Tasks) Drop(ctx context.Context, tx engine.Execer, app, reason string) error {
	s, err := t.e.can.tasks.get()
	if err != nil {
		return err
	}
	if err := s.Drop(ctx, tx, t.e.o.Now(), app, reason); err != nil {
		return fmt.Errorf("engine: drop what is queued: %w", err)
	}
	return nil
}
