package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Recheck implements store.Sequences. The first statement locks the row, so that Forget does not remove the app in between.
func (s *Store) Recheck(ctx context.Context, now time.Time, m engine.Mark) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `UPDATE {sync_state} SET remote_name = CASE WHEN kind = 'group' THEN '' ELSE remote_name END
			WHERE app_id = ? AND kind = ? AND principal_id = ?`, m.App, string(m.Kind), m.ID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return s.Mark(ctx, tx.Execer(), now, []engine.Mark{m})
	})
	if err != nil {
		return fmt.Errorf("sqlstore: recheck %s %s of %s: %w", m.Kind, m.ID, m.App, err)
	}
	return nil
}
