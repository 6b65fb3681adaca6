package provision

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
)

// errResting ends the loop of a lane whose rest has begun.
var errResting = errors.New("engine: the lane rests")

// noteRest stores why the lane rests, if that is news.
func (w *work) noteRest(ctx context.Context, r engine.Suspension) error {
	if w.rests == nil {
		row, err := w.e.o.Store.Lane(ctx, w.app())
		if err != nil {
			return err
		}
		w.rests = &row.Suspension
	}
	if w.rests.Reason == r.Reason && w.rests.Until.Equal(r.Until) {
		return nil
	}
	if err := w.e.o.Store.Suspend(ctx, w.tenure.Lease, r); err != nil {
		return err
	}
	w.rests = &r
	return nil
}
