package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// reporter is a user that is to be active and has a manager.
type reporter struct{ user, manager string }

// lockChunk is the number of rows that one statement locks.
const lockChunk = 500

// lockReports returns the users whose manager is the user of f, or another user that has the account f.RemoteID. On PostgreSQL it locks the
// rows of all these users in the order in which rows are written.
//
// Invariant 19: A user's manager is stored before the first request. When a manager's account becomes known or changes, the same
// transaction requeues the users of that manager.
func lockReports(ctx context.Context, tx *sqldb.Tx, app string, f store.Finish) ([]reporter, error) {
	rows, err := tx.Query(ctx, `SELECT principal_id FROM {sync_state}
		WHERE app_id = ? AND kind = 'user' AND remote_id <> '' AND remote_id = ?`,
		app, text(f.RemoteID))
	ids, err := collect(rows, err, func(r *sql.Rows, id *string) error { return r.Scan(id) })
	if err != nil {
		return nil, err
	}
	ids = append(ids, f.ID)
	rows, err = tx.Query(ctx, `SELECT principal_id, manager_id FROM {sync_state}
		WHERE app_id = ? AND manager_id <> '' AND kind = 'user' AND want = 'active'
		AND manager_id IN `+list(len(ids))+` ORDER BY principal_id`, arguments(app, ids)...)
	reports, err := collect(rows, err, func(r *sql.Rows, rep *reporter) error { return r.Scan(&rep.user, &rep.manager) })
	if err != nil || len(reports) == 0 || tx.Dialect() != sqldb.Postgres {
		return reports, err
	}
	for _, r := range reports {
		ids = append(ids, r.user)
	}
	slices.Sort(ids)
	for chunk := range slices.Chunk(slices.Compact(ids), lockChunk) {
		_, err := tx.Exec(ctx, `SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = 'user'
			AND principal_id IN `+list(len(chunk))+` ORDER BY principal_id FOR UPDATE`, arguments(app, chunk)...)
		if err != nil {
			return nil, err
		}
	}
	return reports, nil
}

func arguments(app string, ids []string) []any {
	args := []any{app}
	for _, id := range ids {
		args = append(args, id)
	}
	return args
}

// requeueReports requeues the users whose manager has another account now.
func requeueReports(ctx context.Context, tx *sqldb.Tx, app string, reports []reporter, moves []accountChange, now time.Time) error {
	for _, r := range reports {
		if !slices.ContainsFunc(moves, func(m accountChange) bool { return m.user == r.manager }) {
			continue
		}
		if err := requeueUser(ctx, tx, app, r.user, now); err != nil {
			return err
		}
	}
	return nil
}
