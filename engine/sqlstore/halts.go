package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Halt implements store.Halts.
func (s *Store) Halt(ctx context.Context, app string, ops []engine.Operation, reason string, now time.Time) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		for _, op := range slices.Sorted(slices.Values(ops)) {
			_, err := tx.Exec(ctx, `INSERT INTO {halt} (app_id, op, reason, since) VALUES (?, ?, ?, ?)
				ON CONFLICT (app_id, op) DO UPDATE SET reason = excluded.reason`, app, string(op), text(reason), ms(now))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sqlstore: halt %v of %q: %w", ops, app, err)
	}
	return nil
}

// HaltApps halts all operations of apps in one transaction. Operations that are already halted get the new reason.
func (s *Store) HaltApps(ctx context.Context, apps []string, reason string, now time.Time) error {
	ops := slices.Sorted(slices.Values(engine.HaltOperations()))
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		for _, app := range slices.Sorted(slices.Values(apps)) {
			for _, op := range ops {
				_, err := tx.Exec(ctx, `INSERT INTO {halt} (app_id, op, reason, since) VALUES (?, ?, ?, ?)
					ON CONFLICT (app_id, op) DO UPDATE SET reason = excluded.reason`, app, string(op), text(reason), ms(now))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sqlstore: halt %d apps: %w", len(apps), err)
	}
	return nil
}

// HaltedApps lists the apps with operations that are halted for this reason, in ascending byte order.
func (s *Store) HaltedApps(ctx context.Context, reason string) ([]string, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT DISTINCT app_id FROM {halt} WHERE app_id <> '' AND reason = ? ORDER BY app_id`, reason)
	apps, err := collect(rows, err, func(r *sql.Rows, app *string) error { return r.Scan(app) })
	if err != nil {
		return nil, fmt.Errorf("sqlstore: halted apps: %w", err)
	}
	return apps, nil
}

// Halts implements store.Sequences.
func (s *Store) Halts(ctx context.Context, app string) ([]engine.Halt, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id, op, reason, since FROM {halt}
		WHERE ? = '' OR app_id = '' OR app_id = ? ORDER BY app_id, op`, app, app)
	halts, err := collect(rows, err, func(r *sql.Rows, h *engine.Halt) error {
		var since int64
		err := r.Scan(&h.App, &h.Operation, &h.Reason, &since)
		h.Since = at(since)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: halts of %q: %w", app, err)
	}
	return halts, nil
}

// recheckHalt requeues a principal whose halt has ended during its sequence. It locks the halt rows (FOR SHARE) before any other row:
// either Resume waits and then finds the principal, or Resume has committed and this query does not find the halt.
func recheckHalt(ctx context.Context, tx *sqldb.Tx, app string, f *store.Finish) error {
	if !f.Halted {
		return nil
	}
	query := `SELECT 1 FROM {halt} WHERE app_id IN ('', ?) AND op = ? LIMIT 1`
	if tx.Dialect() == sqldb.Postgres {
		query += ` FOR SHARE`
	}
	var one int64
	err := tx.QueryRow(ctx, query, app, string(f.Operation)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		f.Status, f.NextAt, f.Halted, err = engine.StatusDirty, f.At, false, nil
	}
	return err
}

// Resume implements store.Halts.
func (s *Store) Resume(ctx context.Context, app string, ops []engine.Operation, now time.Time) error {
	ops = slices.Sorted(slices.Values(ops))
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		for _, op := range ops {
			if _, err := tx.Exec(ctx, `DELETE FROM {halt} WHERE app_id = ? AND op = ?`, app, string(op)); err != nil {
				return err
			}
		}
		return s.releaseHalted(ctx, tx, app, ops, now)
	})
	if err != nil {
		return fmt.Errorf("sqlstore: resume %v of %q: %w", ops, app, err)
	}
	return nil
}

// releaseHalted requeues the principals that halts of the operations block, and their lanes.
func (s *Store) releaseHalted(ctx context.Context, tx *sqldb.Tx, app string, ops []engine.Operation, now time.Time) error {
	where, args := ` WHERE status = 'held' AND halted = 1 AND last_op IN `+list(len(ops)), []any{}
	for _, op := range ops {
		args = append(args, string(op))
	}
	if app != "" {
		where += ` AND app_id = ?`
		args = append(args, app)
	}
	if tx.Dialect() == sqldb.Postgres { // first lock the rows in a defined order: an UPDATE alone locks them in any order
		_, err := tx.Exec(ctx, `SELECT 1 FROM {sync_state}`+where+` ORDER BY kind DESC, app_id, principal_id FOR UPDATE`, args...)
		if err != nil {
			return err
		}
	}
	rows, err := tx.Query(ctx, `SELECT DISTINCT app_id FROM {sync_state}`+where+` ORDER BY app_id`, args...)
	apps, err := collect(rows, err, func(r *sql.Rows, id *string) error { return r.Scan(id) })
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE {sync_state} SET next_at = ?, status = 'dirty', halted = 0`+where,
		append([]any{ms(now)}, args...)...); err != nil {
		return err
	}
	for _, id := range apps {
		if _, err := tx.Exec(ctx, upsertLane, s.laneArgs(id, now, false)...); err != nil {
			return err
		}
	}
	return nil
}
