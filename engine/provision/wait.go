package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Wait returns when no principal of the app (of any app, if empty) is pending and the observer has received the results. It does not wait
// for principals that failed permanently or are held, but it waits for those in a backoff. If ctx ends first, Wait returns its error, and
// Tasks.Waiting lists the principals that are still pending, with the reason.
func (e *Engine) Wait(ctx context.Context, app string) error { return e.watch.Wait(ctx, app) }

// WaitFor returns when a principal is converged: nothing is pending for the last change before the call, or the engine does not continue on
// its own (StatusFailed, StatusHeld, StatusDismissed). It waits for a principal in a backoff. It notices the work of this engine
// immediately, and that of another engine within 250ms. It returns ErrNotFound for a principal that was never marked or whose app is
// removed in the meantime, and the error of ctx if that ends first.
func (e *Engine) WaitFor(ctx context.Context, app string, kind engine.Kind, id string) (engine.State, error) {
	s, err := e.State(ctx, app, kind, id)
	if err != nil {
		return engine.State{}, err
	}
	return e.watch.WaitFor(ctx, app, kind, id, s.Desired)
}
