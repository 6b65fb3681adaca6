package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// Apps has operations on the apps that have had a mark: their lag, holds, halts and events. See [Engine.Apps].
type Apps struct{ e *Engine }

// Apps returns the handle of the apps.
func (e *Engine) Apps() Apps { return Apps{e} }

// Get returns the state of an app, or ErrNotFound.
func (a Apps) Get(ctx context.Context, app string) (engine.Lane, error) {
	return a.e.o.Store.Lane(ctx, app)
}

// Lags returns the lag of each app's target, ordered by app.
func (a Apps) Lags(ctx context.Context) ([]engine.Lag, error) {
	s, err := a.e.can.lags.get()
	if err != nil {
		return nil, err
	}
	return s.Lags(ctx, "")
}

// Lag returns the lag of an app's target, or ErrNotFound.
func (a Apps) Lag(ctx context.Context, app string) (engine.Lag, error) {
	if app == "" {
		return engine.Lag{}, engine.ErrNotFound // an empty app would select all apps
	}
	s, err := a.e.can.lags.get()
	if err != nil {
		return engine.Lag{}, err
	}
	found, err := s.Lags(ctx, app)
	if err != nil {
		return engine.Lag{}, err
	}
	if len(found) == 0 {
		return engine.Lag{}, engine.ErrNotFound
	}
	return found[0], nil
}

// Pending returns the number of principals of all apps that are pending now or scheduled for later. Principals of paused apps count,
// because they become pending as soon as the pause ends.
func (a Apps) Pending(ctx context.Context) (int, error) { return a.e.o.Store.Pending(ctx, "") }

// Counts returns the numbers of principals of an app by status.
func (a Apps) Counts(ctx context.Context, app string) (map[engine.Status]int, error) {
	s, err := a.e.can.counts.get()
	if err != nil {
		return nil, err
	}
	return s.Counts(ctx, app)
}

// Kick ends the pause, the breaker or the quarantine of the apps and starts their work immediately. Call it after new credentials were set,
// or when a target is no longer Paused. Kick does not end the backoff of principals. Mark with Retry ends it.
func (a Apps) Kick(ctx context.Context, apps ...string) error {
	if err := a.e.o.Store.Kick(ctx, a.e.o.Now(), apps); err != nil {
		return err
	}
	a.e.Wake(apps...)
	return nil
}

// Halt disables operations for an app, or for all apps if app is empty. Without ops it disables all operations in [engine.HaltOperations].
// The halt applies to every engine that shares the store. After Halt returns, no engine starts a request for one of the operations;
// requests in flight complete. A principal whose sequence reaches such a request is put on hold (StatusHeld, State.Halted) with a message
// that has the operation and the reason. State.LastOperation is then that operation. Changes that the sequence has made before remain. All
// other operations continue.
//
// OpLink does not apply to an account that UserState.RemoteID or GroupState.RemoteID names, nor to an account that the engine itself has
// created.
func (a Apps) Halt(ctx context.Context, app, reason string, ops ...engine.Operation) error {
	ops, err := haltable(ops)
	if err != nil {
		return err
	}
	s, err := a.e.can.halts.get()
	if err != nil {
		return err
	}
	return s.Halt(ctx, app, ops, reason, a.e.o.Now())
}

// Resume enables operations that Halt disabled for the same app, and requeues the principals that these halts blocked. Without ops it ends
// all halts for the app. A Resume for one app does not end the halts for all apps. A Resume for all apps (empty app) does not end the halts
// for a single app.
func (a Apps) Resume(ctx context.Context, app string, ops ...engine.Operation) error {
	ops, err := haltable(ops)
	if err != nil {
		return err
	}
	s, err := a.e.can.halts.get()
	if err != nil {
		return err
	}
	if err := s.Resume(ctx, app, ops, a.e.o.Now()); err != nil {
		return err
	}
	a.e.Wake()
	return nil
}

// Halts returns the halts for an app and the halts for all apps. An empty app selects all halts.
func (a Apps) Halts(ctx context.Context, app string) ([]engine.Halt, error) {
	return a.e.o.Store.Halts(ctx, app)
}

func haltable(ops []engine.Operation) ([]engine.Operation, error) {
	all := engine.HaltOperations()
	if len(ops) == 0 {
		return all, nil
	}
	for _, op := range ops {
		if !slices.Contains(all, op) {
			return nil, errors.New("engine: " + string(op) + " cannot be halted")
		}
	}
	return ops, nil
}

// Approve allows the deactivations and deletions of an app that its Guard blocks, if the number of blocked principals equals expected.
// Otherwise Approve changes nothing and returns ErrStale. [Apps.Counts] and [Engine.States] return the blocked principals.
func (a Apps) Approve(ctx context.Context, app string, expected int) error {
	s, err := a.e.can.approvals.get()
	if err != nil {
		return err
	}
	if _, err := s.Approve(ctx, app, a.e.o.Now(), expected); err != nil {
		return fmt.Errorf("engine: approve the removals of %s: %w", app, err)
	}
	a.e.Wake(app)
	return nil
}

// Events lists the events of an app and its principals. A caller that continues after the last Seq gets every event exactly once. If the
// first returned Seq is greater than After + 1, the events between them have been removed.
func (a Apps) Events(ctx context.Context, q engine.EventQuery) ([]engine.Event, error) {
	if q.App == "" {
		return nil, errors.New("engine: EventQuery.App is required: events are ordered only within an app")
	}
	s, err := a.e.can.events.get()
	if err != nil {
		return nil, err
	}
	return s.Events(ctx, q)
}
