package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// leaving counts the principals that are about to lose their account and were not let through yet: those that are due, and
// those that were held back. The operation that a held one has is what it was held before.
const leaving = `SELECT COUNT(*) FROM (
		SELECT kind, principal_id, remote_id, tried FROM sync_state WHERE app_id = ? AND next_at IS NOT NULL AND want IN ('inactive', 'absent')
		UNION ALL
		SELECT kind, principal_id, remote_id, tried FROM sync_state WHERE app_id = ? AND status = 'held' AND next_at IS NULL
			AND last_op IN ('` + string(engine.RemoveUser) + `', '` + string(engine.RemoveGroup) + `')
	) AS s WHERE (remote_id <> '' OR tried = 1)
	AND NOT EXISTS (SELECT 1 FROM removal AS r WHERE r.app_id = ? AND r.kind = s.kind AND r.principal_id = s.principal_id)`

// Remove implements engine.Store.
func (s *Store) Remove(ctx context.Context, l lane.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int, err error) {
	err = s.under(ctx, l, "let through "+string(kind)+" "+id, func(tx *sqldb.Tx) error {
		many = 0
		if _, err := tx.Exec(ctx, `DELETE FROM removal WHERE app_id = ? AND at <= ?`, l.App, ms(now.Add(-g.Window))); err != nil {
			return err
		}
		var known int64
		err := tx.QueryRow(ctx, `SELECT 1 FROM removal WHERE app_id = ? AND kind = ? AND principal_id = ?`, l.App, string(kind), id).Scan(&known)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var gone, coming, accounts int
		if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM removal WHERE app_id = ? AND approved = 0`, l.App).Scan(&gone); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, leaving, l.App, l.App, l.App).Scan(&coming); err != nil {
			return err
		}
		if g.Percent > 0 { // otherwise nobody asks, and it is the longest count of all
			if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM sync_state WHERE app_id = ? AND remote_id <> ''`, l.App).Scan(&accounts); err != nil {
				return err
			}
		}
		if gone+coming > g.Allowed(accounts) {
			many = gone + coming
			return nil
		}
		_, err = tx.Exec(ctx, `INSERT INTO removal (app_id, kind, principal_id, at, approved) VALUES (?, ?, ?, ?, 0)`, l.App, string(kind), id, ms(now))
		return err
	})
	return many, err
}

// Approve implements engine.Store.
func (s *Store) Approve(ctx context.Context, app string, now time.Time, expected int) (n int, err error) {
	err = s.db.Update(ctx, func(tx *sqldb.Tx) error {
		rows, err := tx.Query(ctx, `SELECT kind, principal_id FROM sync_state WHERE app_id = ? AND status = 'held' AND last_op IN (?, ?)
			ORDER BY kind DESC, principal_id`, app, string(engine.RemoveUser), string(engine.RemoveGroup))
		held, err := collect(rows, err, func(r *sql.Rows, p *principal) error { return r.Scan(&p.kind, &p.id) })
		if err != nil {
			return err
		}
		if n = len(held); n != expected {
			return fmt.Errorf("%w: %d are held back, not %d", engine.ErrMoved, n, expected)
		}
		for _, p := range held {
			_, err := tx.Exec(ctx, `UPDATE sync_state SET next_at = ?, attempts = 0, status = 'dirty' WHERE app_id = ? AND kind = ? AND principal_id = ?`,
				ms(now), app, string(p.kind), p.id)
			if err != nil {
				return err
			}
		}
		for _, p := range held {
			_, err := tx.Exec(ctx, `INSERT INTO removal (app_id, kind, principal_id, at, approved) VALUES (?, ?, ?, ?, 1)
				ON CONFLICT (app_id, kind, principal_id) DO UPDATE SET at = excluded.at, approved = 1`, app, string(p.kind), p.id, ms(now))
			if err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, touch, app, ms(now), ms(now), 0, 0, 0)
		return err
	})
	return n, err
}
