package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// countLeaving counts the principals that are about to lose their account and have no entry in the table removal: pending ones, and those
// that the guard has blocked. The last_op of a blocked principal is the operation that was blocked.
const countLeaving = `SELECT COUNT(*) FROM (
		SELECT kind, principal_id, remote_id, tried FROM {sync_state} WHERE app_id = ? AND next_at IS NOT NULL AND want IN ('inactive', 'absent')
		UNION ALL
		SELECT kind, principal_id, remote_id, tried FROM {sync_state} WHERE app_id = ? AND status = 'held' AND halted = 0 AND next_at IS NULL
			AND last_op IN ('` + string(engine.RemoveUser) + `', '` + string(engine.RemoveGroup) + `')
	) AS s WHERE (remote_id <> '' OR tried = 1)
	AND NOT EXISTS (SELECT 1 FROM {removal} AS r WHERE r.app_id = ? AND r.kind = s.kind AND r.principal_id = s.principal_id)`

// Remove implements store.Sequences.
func (s *Store) Remove(ctx context.Context, l engine.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int,
	err error) {
	err = s.withLease(ctx, l, "allow the removal of "+string(kind)+" "+id, func(tx *sqldb.Tx) error {
		many = 0
		if _, err := tx.Exec(ctx, `DELETE FROM {removal} WHERE app_id = ? AND at <= ?`, l.App, ms(now.Add(-g.Window))); err != nil {
			return err
		}
		var known int64
		err := tx.QueryRow(ctx, `SELECT 1 FROM {removal}
			WHERE app_id = ? AND kind = ? AND principal_id = ?`, l.App, string(kind), id).Scan(&known)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if many, err = checkGuard(ctx, tx, l.App, now, g, 0); err != nil || many > 0 {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO {removal} (app_id, kind, principal_id, at, approved) VALUES (?, ?, ?, ?, 0)`, l.App, string(kind), id,
			ms(now))
		return err
	})
	return many, err
}

// checkGuard returns 0 if the guard allows `more` removals in addition to those of its window. Otherwise it returns the total number of
// removals.
func checkGuard(ctx context.Context, q sqldb.Queryer, app string, now time.Time, g engine.Guard, more int) (many int, err error) {
	var gone, coming, accounts int
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM {removal}
		WHERE app_id = ? AND approved = 0 AND at > ?`, app, ms(now.Add(-g.Window))).Scan(&gone)
	if err != nil {
		return 0, err
	}
	if err := q.QueryRow(ctx, countLeaving, app, app, app).Scan(&coming); err != nil {
		return 0, err
	}
	if g.Percent > 0 { // the slowest of these queries, only needed for a percentage
		if err := q.QueryRow(ctx, `SELECT COUNT(*) FROM {sync_state} WHERE app_id = ? AND remote_id <> ''`, app).Scan(&accounts); err != nil {
			return 0, err
		}
	}
	if many = gone + coming + more; many > g.Allowed(accounts) {
		return many, nil
	}
	return 0, nil
}

// CountRemovals implements store.Plans.
func (s *Store) CountRemovals(ctx context.Context, app string, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int,
	err error) {
	q := s.db.Reader()
	var let, counted int
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM {removal} WHERE app_id = ? AND kind = ? AND principal_id = ? AND at > ?`,
		app, string(kind), id, ms(now.Add(-g.Window))).Scan(&let)
	if err == nil && let == 0 {
		err = q.QueryRow(ctx, countLeaving+` AND kind = ? AND principal_id = ?`, app, app, app, string(kind), id).Scan(&counted)
		if err == nil {
			many, err = checkGuard(ctx, q, app, now, g, 1-counted)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("sqlstore: count removals for %s %s of %s: %w", kind, id, app, err)
	}
	return many, nil
}

// Approve implements store.Approvals.
func (s *Store) Approve(ctx context.Context, app string, now time.Time, expected int) (n int, err error) {
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		rows, err := tx.Query(ctx, `SELECT kind, principal_id FROM {sync_state}
			WHERE app_id = ? AND status = 'held' AND last_op IN (?, ?) AND halted = 0
			ORDER BY kind DESC, principal_id`, app, string(engine.RemoveUser), string(engine.RemoveGroup))
		held, err := collect(rows, err, func(r *sql.Rows, p *principal) error { return r.Scan(&p.kind, &p.id) })
		if err != nil {
			return err
		}
		if n = len(held); n != expected {
			return fmt.Errorf("%w: %d removals wait for approval, not %d", engine.ErrStale, n, expected)
		}
		for _, p := range held {
			_, err := tx.Exec(ctx, `UPDATE {sync_state} SET next_at = ?, attempts = 0, status = 'dirty'
				WHERE app_id = ? AND kind = ? AND principal_id = ?`,
				ms(now), app, string(p.kind), p.id)
			if err != nil {
				return err
			}
		}
		for _, p := range held {
			if err := approve(ctx, tx, app, now, p.kind, p.id); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, upsertLane, s.laneArgs(app, now, false)...)
		return err
	})
	return n, err
}
