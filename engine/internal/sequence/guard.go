package sequence

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

const guardWindow = 24 * time.Hour

func guards(g engine.Guard) bool { return g.Limit > 0 || g.Percent > 0 }

// guarded reports whether the principal may lose its account now. If not, the outcome is set.
//
// Invariant 13: Mass deactivations and deletions wait until an operator approves exactly their number (engine.Guard). Each approval is
// used once.
func (r *run) guarded(ctx context.Context, op engine.Operation) (ok bool, err error) {
	g := r.target.Guard
	if !guards(g) || r.row.RemoteID == "" && !r.row.MayExist {
		return true, nil
	}
	if g.Window <= 0 {
		g.Window = guardWindow
	}
	many, err := r.Ledger.Remove(ctx, r.Lease, r.row.Kind, r.row.ID, r.Now(), g)
	if err != nil || many == 0 {
		return err == nil, err
	}
	r.outcome = r.keep(localOutcome(engine.Held,
		"%s: %d accounts would be removed within %s, more than the deletion guard allows: approval required", op, many, g.Window))
	r.outcome.Operation = op
	return false, nil
}
