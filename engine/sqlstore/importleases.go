package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// importLeases claims running imports. An import has an epoch as a lane does, but no hold.
type importLeases struct{ s *Store }

// ImportLeases implements store.Imports.
func (s *Store) ImportLeases() store.Leases { return importLeases{s} }

// Reset implements store.Leases.
func (i importLeases) Reset(ctx context.Context, owner string) error {
	err := i.s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {import_run} SET epoch = epoch + 1, owner = '', lease_until = 0
			WHERE state = 'running' AND owner = ?`, owner)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: reset the imports of %s: %w", owner, err)
	}
	return nil
}

// Claim implements store.Leases.
func (i importLeases) Claim(ctx context.Context, owner string, now, until time.Time, limit int) (leases []engine.Lease, next time.Time,
	err error) {
	type run struct{ id, epoch int64 }
	var found []run
	if limit > 0 {
		rows, err := i.s.db.Reader().Query(ctx, `SELECT id, epoch FROM {import_run}
			WHERE state = 'running' AND next_at <= ? AND lease_until <= ? ORDER BY next_at LIMIT ?`, ms(now), ms(now), limit)
		found, err = collect(rows, err, func(r *sql.Rows, v *run) error { return r.Scan(&v.id, &v.epoch) })
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("sqlstore: claim imports: %w", err)
		}
	}
	if len(found) > 0 {
		err = i.s.update(ctx, func(tx *sqldb.Tx) error {
			leases = nil
			for _, r := range found {
				res, err := tx.Exec(ctx, `UPDATE {import_run} SET epoch = epoch + 1, owner = ?, lease_until = ?
					WHERE id = ? AND epoch = ? AND lease_until <= ?`, owner, ms(until), r.id, r.epoch, ms(now))
				if err := checkLease(res, err); errors.Is(err, engine.ErrLeaseLost) {
					continue // another engine has claimed the run
				} else if err != nil {
					return err
				}
				leases = append(leases, engine.Lease{App: strconv.FormatInt(r.id, 10), Epoch: r.epoch + 1, Until: until})
			}
			return nil
		})
	}
	var first sql.NullInt64
	if err == nil {
		err = i.s.db.Reader().QueryRow(ctx, `SELECT MIN(CASE WHEN lease_until > next_at THEN lease_until ELSE next_at END) FROM {import_run}
			WHERE state = 'running' AND (next_at > ? OR lease_until > ?)`, ms(now), ms(now)).Scan(&first)
	}
	if err != nil {
		err = fmt.Errorf("sqlstore: claim imports: %w", err)
	}
	return leases, at(first.Int64), err
}

// Extend implements store.Leases.
func (i importLeases) Extend(ctx context.Context, l engine.Lease, until time.Time) error {
	err := i.s.update(ctx, func(tx *sqldb.Tx) error {
		return checkLease(tx.Exec(ctx, `UPDATE {import_run} SET lease_until = ? WHERE id = ? AND epoch = ?`, ms(until), importID(l), l.Epoch))
	})
	if err != nil {
		return fmt.Errorf("sqlstore: extend the lease of import %s: %w", l.App, err)
	}
	return nil
}

// Release implements store.Leases.
func (i importLeases) Release(ctx context.Context, l engine.Lease, _ engine.Hold, notBefore time.Time) error {
	err := i.s.update(ctx, func(tx *sqldb.Tx) error {
		return checkLease(tx.Exec(ctx, `UPDATE {import_run} SET owner = '', lease_until = 0, epoch = epoch + 1, next_at = ? WHERE id = ? AND `+
			`epoch = ?`,
			ms(notBefore), importID(l), l.Epoch))
	})
	if err != nil {
		return fmt.Errorf("sqlstore: release import %s: %w", l.App, err)
	}
	return nil
}

// importID returns the id of the run of a lease. It returns 0, which is the id of no run, if the lease is not for a run.
func importID(l engine.Lease) int64 {
	id, _ := strconv.ParseInt(l.App, 10, 64)
	return id
}
