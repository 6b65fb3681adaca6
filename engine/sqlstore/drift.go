package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Repair implements store.Repairs.
func (s *Store) Repair(ctx context.Context, now time.Time, repairs []store.Repair) error {
	repairs = slices.SortedFunc(slices.Values(repairs), func(a, b store.Repair) int {
		return lockOrder(principal{a.Mark.Kind, a.Mark.App, a.Mark.ID}, principal{b.Mark.Kind, b.Mark.App, b.Mark.ID})
	})
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		marks := make([]engine.Mark, len(repairs))
		for i, r := range repairs {
			marks[i] = r.Mark
			if r.RemoteName == "" {
				continue
			}
			_, err := tx.Exec(ctx, `UPDATE {sync_state} SET remote_name = ? WHERE app_id = ? AND kind = ? AND principal_id = ?`,
				text(r.RemoteName), r.Mark.App, string(r.Mark.Kind), r.Mark.ID)
			if err != nil {
				return err
			}
		}
		return s.Mark(ctx, tx.Execer(), now, marks)
	})
	if err != nil {
		return fmt.Errorf("sqlstore: repair: %w", err)
	}
	return nil
}
