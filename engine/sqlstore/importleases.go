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

const claimableImports = `SELECT id FROM {import_run} WHERE state = 'running' AND next_at <= ? AND ` + unleased + `
	ORDER BY next_at LIMIT ?`

func scanImportLease(rows *sql.Rows, l *engine.Lease) error {
	var id int64
	err := rows.Scan(&id, &l.Epoch, &l.Process)
	l.App = strconv.FormatInt(id, 10)
	return err
}

// Claim implements store.Leases.
func (i importLeases) Claim(ctx context.Context, process string, due time.Time, limit int) (leases []engine.Lease, err error) {
	if limit <= 0 {
		return nil, nil
	}
	var first int64
	err = i.s.db.Reader().QueryRow(ctx, claimableImports, ms(due), ms(due), 1).Scan(&first)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = i.s.update(ctx, func(tx *sqldb.Tx) error {
			lock := ""
			if tx.Dialect() == sqldb.Postgres {
				lock = ` FOR UPDATE SKIP LOCKED`
			}
			rows, err := tx.Query(ctx, `WITH due AS MATERIALIZED (`+claimableImports+lock+`)
				UPDATE {import_run} SET process = ?, epoch = epoch + 1, owner = '', lease_until = `+noLease+`
				WHERE id IN (SELECT id FROM due) AND `+validProcess(tx.Dialect())+` RETURNING id, epoch, process`,
				ms(due), ms(due), limit, process, process)
			leases, err = collect(rows, err, scanImportLease)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: claim imports: %w", err)
	}
	return leases, nil
}

// Held implements store.Leases.
func (i importLeases) Held(ctx context.Context, process string) ([]engine.Lease, error) {
	rows, err := i.s.db.Reader().Query(ctx, `SELECT id, epoch, process FROM {import_run}
		WHERE process = ? AND process <> '' AND state = 'running'`, process)
	out, err := collect(rows, err, scanImportLease)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: imports of %s: %w", process, err)
	}
	return out, nil
}

// Release implements store.Leases.
func (i importLeases) Release(ctx context.Context, l engine.Lease, _ engine.Hold, notBefore time.Time) (again time.Time, err error) {
	err = i.s.update(ctx, func(tx *sqldb.Tx) error {
		var state string
		err := tx.ExecReturning(ctx, []any{&state}, `UPDATE {import_run} SET process = '', epoch = epoch + 1, next_at = ?
			WHERE id = ? AND epoch = ? RETURNING state`, ms(notBefore), importID(l), l.Epoch)
		if errors.Is(err, sql.ErrNoRows) {
			return engine.ErrLeaseLost
		}
		if again = (time.Time{}); state == string(engine.ImportRunning) {
			again = notBefore
		}
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("sqlstore: release import %s: %w", l.App, err)
	}
	return again, nil
}

// importID returns the id of the run of a lease. It returns 0, which is the id of no run, if the lease is not for a run.
func importID(l engine.Lease) int64 {
	id, _ := strconv.ParseInt(l.App, 10, 64)
	return id
}
