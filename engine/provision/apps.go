package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// Apps are the apps that were ever marked: how far each has come, what stops it and what has happened. See [Engine.Apps].
type Apps struct{ e *Engine }

// Apps returns the handle of the apps.
func (e *Engine) Apps() Apps { return Apps{e} }

// Get returns the state of an app, or ErrNotFound.
func (a Apps) Get(ctx context.Context, app string) (engine.Lane, error) {
	return a.e.o.Store.Lane(ctx, app)
}

// Lags returns how far the targets of all apps are behind, by app.
func (a Apps) Lags(ctx context.Context) ([]engine.Lag, error) {
	s, err := a.e.can.lags.get()
	if err != nil {
		return nil, err
	}
	return s.Lags(ctx, "")
}

// Lag returns how far the target of an app is behind, or ErrNotFound.
func (a Apps) Lag(ctx context.Context, app string) (engine.Lag, error) {
	if app == "" {
		return engine.Lag{}, engine.ErrNotFound // it would not restrict the query
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

// Pending counts the principals of all apps that are due now or later. Those of paused apps count: they are due as soon as
// the pause ends.
func (a Apps) Pending(ctx context.Context) (int, error) { return a.e.o.Store.Pending(ctx, "") }

// Counts counts the principals of an app by status.
func (a Apps) Counts(ctx context.Context, app string) (map[engine.Status]int, error) {
	s, err := a.e.can.counts.get()
	if err != nil {
		return nil, err
	}
	return s.Counts(ctx, app)
}

// Kick ends the pause, the breaker or the quarantine of the apps and has them work at once, e.g. after new credentials were
// set or a target is no longer Paused. Principals in back-off stay there; Mark with Retry ends that.
func (a Apps) Kick(ctx context.Context, apps ...string) error {
	if err := a.e.o.Store.Kick(ctx, a.e.o.Now(), apps); err != nil {
		return err
	}
	a.e.Wake(apps...)
	return nil
}

// Halt switches operations off for an app, or for all apps when app is empty: without ops all of [engine.HaltOperations]. It holds for
// every engine that shares the store, and from when it returns: no request that does one of them is begun any more, and one that is on its
// way comes to its end. A principal whose sequence comes to such a request is held (StatusHeld, State.Halted) with a message that names
// the operation and the reason, and State.LastOperation is that operation; what its sequence did before is kept. Everything else goes on.
//
// An account that is linked because UserState.RemoteID or GroupState.RemoteID names it was chosen by somebody, and is not held by
// OpLink. Nor is one that the engine created itself and finds again.
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

// Resume ends what Halt began, with the same app, and makes everything due that was held by it. Without ops it ends all halts of the
// app. An app stays halted by what is halted for all apps, and the reverse.
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

// Halts returns what is halted for an app, itself or with all apps; everything that is halted anywhere when app is empty.
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
			return nil, errors.New("engine: " + string(op) + " is no operation that can be halted")
		}
	}
	return ops, nil
}

// Approve lets the deactivations and deletions of an app through that its Guard holds back, as many as were looked at: when there
// are more or fewer by now, nothing is done and the error is ErrStale. [Apps.Counts] and [Engine.States] tell what is held.
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

// Events lists what has happened to an app and its principals. Whoever reads on from the last Seq misses nothing, and sees nothing
// twice; a first Seq greater than After + 1 says that older events were removed already.
func (a Apps) Events(ctx context.Context, q engine.EventQuery) ([]engine.Event, error) {
	if q.App == "" {
		return nil, errors.New("engine: EventQuery.App is required: events have an order within an app")
	}
	s, err := a.e.can.events.get()
	if err != nil {
		return nil, err
	}
	return s.Events(ctx, q)
}
