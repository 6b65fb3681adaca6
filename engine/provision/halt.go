package provision

import (
	"context"
	"errors"
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// Halt switches operations off for an app, or for all apps when app is empty: without ops all of [engine.HaltOperations]. It holds for
// every engine that shares the store, and from when it returns: no request that does one of them is begun any more, and one that is on its
// way comes to its end. A principal whose sequence comes to such a request is held (StatusHeld, State.Halted) with a message that names
// the operation and the reason, and State.LastOperation is that operation; what its sequence did before is kept. Everything else goes on.
//
// An account that is linked because UserState.RemoteID or GroupState.RemoteID names it was chosen by somebody, and is not held by
// OpLink. Nor is one that the engine created itself and finds again.
func (e *Engine) Halt(ctx context.Context, app, reason string, ops ...engine.Operation) error {
	ops, err := haltable(ops)
	if err != nil {
		return err
	}
	return e.o.Store.Halt(ctx, app, ops, reason, e.o.Now())
}

// Resume ends what Halt began, with the same app, and makes everything due that was held by it. Without ops it ends all halts of the
// app. An app stays halted by what is halted for all apps, and the reverse.
func (e *Engine) Resume(ctx context.Context, app string, ops ...engine.Operation) error {
	ops, err := haltable(ops)
	if err != nil {
		return err
	}
	if err := e.o.Store.Resume(ctx, app, ops, e.o.Now()); err != nil {
		return err
	}
	e.Wake()
	return nil
}

// Halted returns what is halted for an app, itself or with all apps; everything that is halted anywhere when app is empty.
func (e *Engine) Halted(ctx context.Context, app string) ([]engine.Halt, error) {
	return e.o.Store.Halts(ctx, app)
}

func haltable(ops []engine.Operation) ([]engine.Operation, error) {
	all := engine.HaltOperations()
	if len(ops) == 0 {
		return all, nil
	}
	for _, op := range ops {
		if !slices.Contains(all, op) {
			return nil, errors.New("engine: " + string(op) + " is no operation that can be halted")
		}
	}
	return ops, nil
}
