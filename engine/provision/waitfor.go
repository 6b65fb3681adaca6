package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// WaitFor returns when a principal is settled: nothing is left to be done about the change that was the last one when it was
// called, or the engine does no more about it by itself (StatusFailed, StatusHeld, StatusDismissed). A principal in back-off is
// waited for. It is told at once what this engine does, and within a quarter of a second what another one does. The error is
// ErrNotFound for a principal that was never marked, or is forgotten meanwhile, and ctx's when that ends first.
func (e *Engine) WaitFor(ctx context.Context, app string, kind engine.Kind, id string) (engine.State, error) {
	s, err := principal.State(ctx, e.o.Store, app, kind, id)
	if err != nil {
		return engine.State{}, err
	}
	return e.waitFor(ctx, app, kind, id, s.Desired)
}

// waitFor waits for a generation.
func (e *Engine) waitFor(ctx context.Context, app string, kind engine.Kind, id string, generation int64) (engine.State, error) {
	var s engine.State
	err := e.until(ctx, func() (bool, error) {
		var err error
		s, err = principal.State(ctx, e.o.Store, app, kind, id)
		return settled(s, generation), err
	})
	if err != nil {
		return engine.State{}, err
	}
	return s, nil
}

// settled says whether a principal has come to its end at or beyond a generation. One that failed, is held or was dismissed has
// none of its own: the next mark makes it dirty.
func settled(s engine.State, generation int64) bool {
	switch s.Status {
	case engine.StatusClean, engine.StatusSkipped, engine.StatusWaiting, engine.StatusFailed, engine.StatusHeld, engine.StatusDismissed:
		return s.Desired >= generation
	case engine.StatusDirty, engine.StatusRetrying, engine.StatusPending:
	}
	return s.Synced >= generation
}
