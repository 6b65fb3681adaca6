package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Recheck implements store.Sequences.
func (s *Store) Recheck(ctx context.Context, now time.Time, m engine.Mark) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		known, err := lockKnown(ctx, tx, []engine.Mark{m})
		if err != nil || len(known) == 0 {
			return err
		}
		return s.Mark(ctx, tx.Execer(), now, known)
	})
	if err != nil {
		return fmt.Errorf("sqlstore: recheck %s %s of %s: %w", m.Kind, m.ID, m.App, err)
	}
	return nil
}

// lockKnown returns the marks of known principals. It locks their rows, so that Forget does not remove the app before they are marked. A
// late request may have renamed a group, so lockKnown removes the stored name of the group on the target. A late request may also have
// created the account of a user who is inactive now, so lockKnown stores that an account of the user may exist. The marks are in the order
// in which rows are locked.
func lockKnown(ctx context.Context, tx *sqldb.Tx, marks []engine.Mark) (known []engine.Mark, err error) {
	for _, m := range marks {
		res, err := tx.Exec(ctx, `UPDATE {sync_state} SET remote_name = CASE WHEN kind = 'group' THEN '' ELSE remote_name END,
			tried = CASE WHEN kind = 'user' THEN 1 ELSE tried END
			WHERE app_id = ? AND kind = ? AND principal_id = ?`, m.App, string(m.Kind), m.ID)
		if err != nil {
			return nil, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			known = append(known, m)
		}
	}
	return known, nil
}
