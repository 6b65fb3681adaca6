package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Wait returns when no principal of the app (of any app, when empty) is due any more and the observer was told. Principals
// that failed for good or are held are not waited for; those in back-off are. When ctx ends
// first, the error is its error, and Tasks.Waiting lists the principals that are still due, with the reason.
func (e *Engine) Wait(ctx context.Context, app string) error { return e.watch.Wait(ctx, app) }

// WaitFor returns when a principal is settled: nothing is left to be done about the change that was the last one when it was
// called, or the engine does no more about it by itself (StatusFailed, StatusHeld, StatusDismissed). A principal in back-off is
// waited for. It is told at once what this engine does, and within a quarter of a second what another one does. The error is
// ErrNotFound for a principal that was never marked, or is forgotten meanwhile, and ctx's when that ends first.
func (e *Engine) WaitFor(ctx context.Context, app string, kind engine.Kind, id string) (engine.State, error) {
	s, err := e.State(ctx, app, kind, id)
	if err != nil {
		return engine.State{}, err
	}
	return e.watch.WaitFor(ctx, app, kind, id, s.Desired)
}
