package sqlstore

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Suspend implements store.Lanes.
func (s *Store) Suspend(ctx context.Context, l engine.Lease, r engine.Suspension) error {
	return s.withLease(ctx, l, "suspend the lane", func(tx *sqldb.Tx) error {
		stored := ""
		if r.Reason != "" {
			var err error
			if stored, err = encodeJSON(r); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE {app_lane} SET rest = ? WHERE app_id = ? AND epoch = ?`, stored, l.App, l.Epoch)
		return err
	})
}
