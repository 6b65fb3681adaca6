package applane

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/sequence"
)

// How long a lane rests that cannot work for a reason other than its target.
const (
	idleRest  = 10 * time.Minute // paused, or the app is unknown; a Mark or Kick ends it
	errorRest = time.Second      // the directory or the store failed
)

// errResting ends the loop of a lane whose rest has begun.
var errResting = errors.New("engine: the lane rests")

// noteRest stores why the lane rests, if that is news.
func (w *work) noteRest(ctx context.Context, r engine.Suspension) error {
	if w.rests == nil {
		row, err := w.Store.Lane(ctx, w.app())
		if err != nil {
			return err
		}
		w.rests = &row.Suspension
	}
	if w.rests.Reason == r.Reason && w.rests.Until.Equal(r.Until) {
		return nil
	}
	if err := w.Store.Suspend(ctx, w.ownership.Lease, r); err != nil {
		return err
	}
	w.rests = &r
	return nil
}

// rest returns when a lane is due again that has stopped early.
func (w *work) rest(ctx context.Context, err error) time.Time {
	switch {
	case ctx.Err() != nil, errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrLeaseLost):
		return time.Time{} // another engine owns the lane now, or none: the app was forgotten
	case err == nil && w.rests != nil && w.rests.Reason == engine.SuspensionMaintenance:
		again := w.Now().Add(idleRest) // the window may be removed before its end
		if w.rests.Until.Before(again) {
			again = w.rests.Until
		}
		return again
	case err == nil:
		// Thousands of paused lanes that were started together must not come back together.
		return w.Now().Add(idleRest/2 + mathrand.N(idleRest))
	default:
		w.Logger.ErrorContext(ctx, "lane interrupted", "app", w.app(), "error", err)
		return w.Now().Add(errorRest)
	}
}

// noteHold stores a hold that has begun or ended, as soon as that is known: the lane may go on for long.
func (w *work) noteHold(ctx context.Context) error {
	h := w.gate.Hold()
	if h.Kind == w.noted {
		return nil
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
	defer cancel()
	if err := w.Store.Hold(store, w.ownership.Lease, w.Now(), h); err != nil {
		return err
	}
	w.noted = h.Kind
	return nil
}

// refresh asks the directory for the target, so that a change of credentials or a pause takes effect while the lane runs.
func (w *work) refresh(ctx context.Context) (idle bool, err error) {
	t, err := w.Directory.Target(ctx, w.app())
	switch {
	case errors.Is(err, engine.ErrUnknownApp):
		return true, w.noteRest(ctx, engine.Suspension{Reason: engine.SuspensionUnknownApp})
	case err != nil:
		return false, fmt.Errorf("engine: target of %s: %w", w.app(), err)
	case t.Paused:
		return true, w.noteRest(ctx, engine.Suspension{Reason: engine.SuspensionPaused})
	}
	if have := w.connection.Load(); have == nil || !have.Is(t) {
		w.connection.Store(w.Targets.Connect(t))
	}
	rest := w.connection.Load().Suspension(w.Now())
	if err := w.noteRest(ctx, rest); err != nil || rest.Reason != "" {
		return true, err
	}
	if err := w.knowledge.Recall(ctx, w.connection.Load()); err != nil {
		return false, err
	}
	w.pace.Resume(w.knowledge.Learned().Rate)
	w.pace.Allow(t.Rate, t.Burst)
	return false, nil
}
