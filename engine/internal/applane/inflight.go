package applane

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
)

// inFlight returns the principals of the running and of the next sequences.
func inFlight(running map[lane.Task]bool, next []lane.Task) []engine.Principal {
	out := make([]engine.Principal, 0, len(running)+len(next))
	for t := range running {
		out = append(out, engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
	}
	for _, t := range next {
		out = append(out, engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
	}
	return out
}

// recheck requeues the principals that an earlier process of the lane had in flight when it died, as soon as its last request has ended. The
// target may have carried out such a request after the requests of this process, so that it has a state that the store does not contain.
//
// Invariant 25: Before the first request of a sequence, the engine stores that its principal is in flight. If its process dies, the next
// owner of the lane requeues the principal when the time limit of a request has passed.
func (w *work) recheck(ctx context.Context) error {
	now := w.Now()
	if w.nextRecheck.IsZero() || now.Before(w.nextRecheck) {
		return nil
	}
	n, next, err := w.Store.RecheckInFlight(ctx, w.ownership.Lease, now)
	if err != nil {
		return err
	}
	w.nextRecheck = next
	if n > 0 {
		w.Logger.InfoContext(ctx, "principals of a dead process requeued", "app", w.app(), "principals", n)
	}
	return nil
}
