package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// resultRejected handles the error of a result or progress that was not stored. An engine that stalls between its last check of the lease
// and a request sends that request later. By then another engine may own the lane, and the request may overwrite changes of that engine.
// The principal is therefore requeued, so that the current owner checks it.
//
// Invariant 17: If a response arrives after the lease ended, the result is rejected and the principal is requeued. A claim does not wait
// for a locked lane.
func (r *run) resultRejected(ctx context.Context, err error) error {
	if !r.late {
		return err
	}
	m := engine.Mark{App: r.row.App, Kind: r.row.Kind, ID: r.row.ID, AllMembers: r.row.Kind == engine.Group}
	if again := r.Ledger.Recheck(ctx, r.Now(), m); again != nil {
		r.Logger.ErrorContext(ctx, "principal not requeued after a late change", "app", m.App, "kind", m.Kind, "id", m.ID, "error", again)
		return errors.Join(err, fmt.Errorf("engine: cannot requeue %s %s after a late change: %w", m.Kind, m.ID, again))
	}
	return err
}
