package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// refused notes that a result was not stored. An owner that is frozen between its last look at the lease and a request sends that
// request when it wakes, and overwrites what the next owner has done in the meantime: the owner of the lane at that time is to check again.
//
// Invariant 17: If a response arrives after the lease ended, the result is rejected and the principal is requeued. A claim does not wait
// for a locked lane.
func (r *run) refused(ctx context.Context, err error) error {
	if !r.late || !errors.Is(err, engine.ErrLeaseLost) {
		return err
	}
	m := engine.Mark{App: r.row.App, Kind: r.row.Kind, ID: r.row.ID, AllMembers: r.row.Kind == engine.Group}
	if again := r.Ledger.Recheck(ctx, r.Now(), m); again != nil {
		return errors.Join(err, fmt.Errorf("engine: a late change of %s %s is not looked at again: %w", m.Kind, m.ID, again))
	}
	return err
}
