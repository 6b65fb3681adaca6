package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Wait returns when no principal of the app (of any app, if empty) is pending and the observer has received the results. Wait does not wait
// for principals that failed permanently or are held, but it waits for principals in a backoff. If ctx ends first, Wait returns the error
// of ctx, and Tasks.Waiting lists the principals that are still pending, with the reason.
func (e *Engine) Wait(ctx context.Context, app string) error { return e.watch.Wait(ctx, app) }

// WaitFor returns when the last change of the principal before the call is no longer pending, or when the principal has a status that the
// engine does not leave without a Mark (StatusFailed, StatusHeld, StatusDismissed). It waits for a principal in a backoff. It returns
// immediately after a sequence of this engine. After a sequence of another engine, the delay is at most 75ms, and after 1.5s at most a
// twentieth of the time that WaitFor has waited, up to 250ms. It returns ErrNotFound for a principal that was never marked or whose app is
// removed in the meantime, and the error of ctx if ctx ends first.
func (e *Engine) WaitFor(ctx context.Context, app string, kind engine.Kind, id string) (engine.State, error) {
	s, err := e.State(ctx, app, kind, id)
	if err != nil {
		return engine.State{}, err
	}
	return e.watch.WaitFor(ctx, app, kind, id, s.Desired)
}
