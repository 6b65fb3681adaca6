package sqlstore

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// forgetStatements has the statements that remove an app, in the order in which rows are written. Deleting the lane row invalidates the
// lease. The rows of in_flight, lifecycle_event and mark_trace are written by transactions that have locked the lane row. The statements
// for these rows follow the deletion of the lane row, which waits for such transactions, so that no row of them remains.
var forgetStatements = []string{
	`DELETE FROM {halt} WHERE app_id = ?`,
	`DELETE FROM {sync_state} WHERE app_id = ?`,
	`DELETE FROM {member_state} WHERE app_id = ?`,
	`DELETE FROM {removal} WHERE app_id = ?`,
	`DELETE FROM {sync_attempt} WHERE app_id = ?`,
	`DELETE FROM {remote_object} WHERE app_id = ?`,
	`DELETE FROM {import_run} WHERE app_id = ?`,
	`DELETE FROM {plan_item} WHERE plan_id IN (SELECT id FROM {plan} WHERE app_id = ?)`,
	`DELETE FROM {plan} WHERE app_id = ?`,
	`DELETE FROM {app_lane} WHERE app_id = ?`,
	`DELETE FROM {in_flight} WHERE app_id = ?`,
	`DELETE FROM {lifecycle_event} WHERE app_id = ?`,
	`DELETE FROM {mark_trace} WHERE app_id = ?`,
}

// Forget implements store.Marks.
func (s *Store) Forget(ctx context.Context, tx engine.Execer, app string) error {
	t := s.db.Wrap(tx)
	statements := forgetStatements
	if s.db.Dialect() == sqldb.Postgres { // first lock the rows in a defined order: a DELETE alone locks them in any order
		lock := `SELECT 1 FROM {sync_state} WHERE app_id = ? ORDER BY kind DESC, principal_id FOR UPDATE`
		statements = append([]string{forgetStatements[0], lock}, forgetStatements[1:]...)
	}
	for _, statement := range statements {
		if _, err := t.Exec(ctx, statement, app); err != nil {
			return fmt.Errorf("sqlstore: forget %s: %w", app, err)
		}
	}
	return nil
}
