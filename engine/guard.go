package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine/plan"
)

// Guard holds deactivations of users and deletions of groups back when they come in masses, so that a source that has lost its
// data does not empty the target. It stops when more principals than it allows would lose their account within the Window; both
// bounds have to be exceeded, so that a percentage does not stop the first deactivation of a small app. The engine looks ahead as
// far as it has read, some dozens of principals; when a mass comes in drops, as many go as the guard allows. The zero value never
// stops.
//
// What is held back has the status StatusHeld, and so has what comes after it, until somebody decides: [Engine.Approve] lets it
// through, and a Mark after which the directory wants the account again makes it superfluous.
type Guard struct {
	Limit   int           // accounts
	Percent float64       // of the accounts that the app has
	Window  time.Duration // Defaults to 24 h
}

const guardWindow = 24 * time.Hour

// The operations that a guard holds back: State.LastOperation of what is held.
const (
	RemoveUser  = plan.OpDeactivate
	RemoveGroup = plan.OpDelete
)

func guards(g Guard) bool { return g.Limit > 0 || g.Percent > 0 }

// Allowed is how many of so many accounts may go within the window.
func (g Guard) Allowed(accounts int) int { return max(g.Limit, int(g.Percent/100*float64(accounts))) }

// guarded says whether the principal may lose its account now. If not, the outcome is set.
func (r *run) guarded(ctx context.Context, op plan.Operation) (ok bool, err error) {
	g := r.target.Guard
	if !guards(g) || r.row.RemoteID == "" && !r.row.Tried {
		return true, nil
	}
	if g.Window <= 0 {
		g.Window = guardWindow
	}
	many, err := r.remove(ctx, g)
	if err != nil || many == 0 {
		return err == nil, err
	}
	r.outcome = r.keep(cannot(plan.Held, "%s: %d accounts would go within %s, which is more than the deletion guard allows; it waits for an approval", op, many, g.Window))
	r.outcome.Operation = op
	return false, nil
}

// remove asks the store for leave. A rehearsal only asks whether it would be given.
func (r *run) remove(ctx context.Context, g Guard) (many int, err error) {
	switch store, now := r.w.e.o.Store, r.w.e.o.Now(); {
	case r.dry == nil:
		return store.Remove(ctx, r.w.tenure.Lease, r.row.Kind, r.row.ID, now, g)
	case r.dry.unguarded:
		return 0, nil
	default:
		return store.WouldRemove(ctx, r.row.App, r.row.Kind, r.row.ID, now, g)
	}
}

// Approve lets the deactivations and deletions of an app through that its Guard holds back, as many as were looked at: when there
// are more or fewer by now, nothing is done and the error is ErrMoved. [Engine.Counts] and [Engine.States] tell what is held.
func (e *Engine) Approve(ctx context.Context, app string, expected int) error {
	if _, err := e.o.Store.Approve(ctx, app, e.o.Now(), expected); err != nil {
		return fmt.Errorf("engine: approve the removals of %s: %w", app, err)
	}
	e.Wake(app)
	return nil
}
