package watch

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// Store has the methods of package store that report unfinished work. All of them are reads.
type Store interface {
	Lane(ctx context.Context, app string) (engine.Lane, error)
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error)
	Pending(ctx context.Context, app string) (int, error)
}

// Deps are the dependencies of waiting; all fields are required.
type Deps struct {
	Store   Store
	Running *Running
	Now     func() time.Time
}

// A wait polls for the work of other processes. The first intervals are minPoll. Later intervals are the time since the call divided by
// pollPart, at most maxPoll, so that many callers that wait for a long time cost little.
const (
	minPoll  = 75 * time.Millisecond
	maxPoll  = 250 * time.Millisecond
	pollPart = 20
)

// Wait waits until nothing of an app is pending; see provision.Engine.Wait.
func (d Deps) Wait(ctx context.Context, app string) error {
	return d.until(ctx, func() (bool, error) {
		ended := d.Running.next()
		n, err := d.Store.Pending(ctx, app)
		if err != nil || n > 0 || d.Running.any(app) {
			return false, err
		}
		select {
		case <-ended: // count again: the sequence that has ended may have requeued principals
			return false, nil
		default:
			return true, nil
		}
	})
}

// until returns when the condition so is true. It checks the condition whenever this engine ends a sequence, and periodically for the work
// of other processes.
func (d Deps) until(ctx context.Context, so func() (bool, error)) error {
	for began := time.Now(); ; {
		changed := d.Running.next()
		if ok, err := so(); ok || err != nil {
			return err
		}
		poll := time.NewTimer(min(max(time.Since(began)/pollPart, minPoll), maxPoll))
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
		}
		poll.Stop()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// WaitFor waits until the engine has finished with a principal for a generation or a later one; see provision.Engine.WaitFor.
func (d Deps) WaitFor(ctx context.Context, app string, kind engine.Kind, id string, generation int64) (engine.State, error) {
	var s engine.State
	err := d.until(ctx, func() (bool, error) {
		var err error
		s, err = principal.State(ctx, d.Store, app, kind, id)
		return settled(s, generation), err
	})
	if err != nil {
		return engine.State{}, err
	}
	return s, nil
}

// settled reports whether the engine has finished with a principal for a generation or a later one. A status that ends the work, such as
// clean, failed or dismissed, applies to the latest generation, because a mark changes it to dirty.
func settled(s engine.State, generation int64) bool {
	switch s.Status {
	case engine.StatusClean, engine.StatusSkipped, engine.StatusWaiting, engine.StatusFailed, engine.StatusHeld, engine.StatusDismissed:
		return s.Desired >= generation
	case engine.StatusDirty, engine.StatusRetrying, engine.StatusPending:
	}
	return s.Synced >= generation
}
