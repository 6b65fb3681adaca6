package applane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/internal/sequence"
)

// Pauses of a lane for reasons other than responses of the target.
const (
	idleDelay  = 10 * time.Minute // the app is paused or unknown; a Mark or Kick ends the pause
	errorDelay = time.Second      // the directory or the store failed
)

// errSuspended ends the loop of a lane that has been suspended.
var errSuspended = errors.New("engine: the lane is suspended")

// storeSuspension stores the reason for the suspension of the lane, if the reason has changed.
func (w *work) storeSuspension(ctx context.Context, r engine.Suspension) error {
	if w.suspension.Reason == r.Reason && w.suspension.Until.Equal(r.Until) {
		return nil
	}
	if err := w.Store.Suspend(ctx, w.ownership.Lease, r); err != nil {
		return err
	}
	w.suspension = r
	return nil
}

// nextRun returns the time at which a lane that stopped early is scheduled again.
func (w *work) nextRun(ctx context.Context, err error) time.Time {
	switch {
	case ctx.Err() != nil, errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrLeaseLost):
		return time.Time{} // another engine owns the lane, or the app was forgotten
	case err == nil && w.suspension.Reason == engine.SuspensionMaintenance:
		again := w.Now().Add(idleDelay) // earlier than the end of a long window, because the window may be removed
		if w.suspension.Until.Before(again) {
			again = w.suspension.Until
		}
		return again
	case err == nil:
		// The delay is random, so that thousands of paused lanes that started together do not continue together.
		return w.Now().Add(pause.Around(idleDelay, 0.5))
	default:
		w.Logger.ErrorContext(ctx, "lane interrupted", "app", w.app(), "error", err)
		return w.Now().Add(errorDelay)
	}
}

// storeHold stores immediately that a hold has started or ended, because the lane may run for a long time.
func (w *work) storeHold(ctx context.Context) error {
	h := w.gate.Hold()
	if h.Kind == w.storedHold {
		return nil
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
	defer cancel()
	if err := w.Store.Hold(store, w.ownership.Lease, w.Now(), h); err != nil {
		return err
	}
	w.storedHold = h.Kind
	return nil
}

// refresh queries the directory for the target and reads the lane, so that a change of credentials, a pause, or a reset of the learned
// properties takes effect while the lane runs.
func (w *work) refresh(ctx context.Context) (idle bool, err error) {
	t, err := w.Directory.Target(ctx, w.app())
	unknown := errors.Is(err, engine.ErrUnknownApp)
	if err != nil && !unknown {
		return false, fmt.Errorf("engine: target of %s: %w", w.app(), err)
	}
	stored, err := w.Store.Lane(ctx, w.app())
	if err != nil {
		return false, err
	}
	w.suspension = stored.Suspension
	switch {
	case unknown:
		return true, w.storeSuspension(ctx, engine.Suspension{Reason: engine.SuspensionUnknownApp})
	case t.Paused:
		return true, w.storeSuspension(ctx, engine.Suspension{Reason: engine.SuspensionPaused})
	}
	if have := w.connection.Load(); have == nil || !have.Is(t) {
		w.connection.Store(w.Targets.Connect(t))
	}
	rest := w.connection.Load().Suspension(w.Now())
	if err := w.storeSuspension(ctx, rest); err != nil || rest.Reason != "" {
		return true, err
	}
	if err := w.knowledge.Recall(ctx, w.connection.Load(), stored.Learned); err != nil {
		return false, err
	}
	w.limiter.Resume(w.knowledge.Learned().Rate)
	w.limiter.Allow(t.Rate, t.Burst)
	return false, nil
}
