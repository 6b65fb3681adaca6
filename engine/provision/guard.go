package provision

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
)

const guardWindow = 24 * time.Hour

func guards(g engine.Guard) bool { return g.Limit > 0 || g.Percent > 0 }

// guarded says whether the principal may lose its account now. If not, the outcome is set.
func (r *run) guarded(ctx context.Context, op engine.Operation) (ok bool, err error) {
	g := r.target.Guard
	if !guards(g) || r.row.RemoteID == "" && !r.row.MayExist {
		return true, nil
	}
	if g.Window <= 0 {
		g.Window = guardWindow
	}
	many, err := r.remove(ctx, g)
	if err != nil || many == 0 {
		return err == nil, err
	}
	r.outcome = r.keep(cannot(engine.Held, "%s: %d accounts would go within %s, which is more than the deletion guard allows; it waits for an approval", op, many, g.Window))
	r.outcome.Operation = op
	return false, nil
}

// remove asks the store for leave. A rehearsal only asks whether it would be given.
func (r *run) remove(ctx context.Context, g engine.Guard) (many int, err error) {
	switch store, now := r.w.e.o.Store, r.w.e.o.Now(); {
	case r.dry == nil:
		return store.Remove(ctx, r.w.tenure.Lease, r.row.Kind, r.row.ID, now, g)
	case r.dry.unguarded:
		return 0, nil
	default:
		return store.CountRemovals(ctx, r.row.App, r.row.Kind, r.row.ID, now, g)
	}
}

// Approve lets the deactivations and deletions of an app through that its Guard holds back, as many as were looked at: when there
// are more or fewer by now, nothing is done and the error is ErrStale. [Engine.Counts] and [Engine.States] tell what is held.
func (e *Engine) Approve(ctx context.Context, app string, expected int) error {
	if _, err := e.o.Store.Approve(ctx, app, e.o.Now(), expected); err != nil {
		return fmt.Errorf("engine: approve the removals of %s: %w", app, err)
	}
	e.Wake(app)
	return nil
}
