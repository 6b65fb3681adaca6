package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// leaseColumns are the columns of a lease. The last one is the time of the first recheck.
const leaseColumns = `app_id, epoch, process, tenant, kicks, marks, hold, hold_until, hold_reason, hold_streak,
	COALESCE((SELECT MIN(f.recheck_at) FROM {in_flight} f WHERE f.app_id = {app_lane}.app_id AND f.recheck_at IS NOT NULL), 0)`

func scanLease(rows *sql.Rows, l *engine.Lease) error {
	var until, recheck int64
	err := rows.Scan(&l.App, &l.Epoch, &l.Process, &l.Tenant, &l.Kicks, &l.Marks, &l.Hold.Kind, &until, &l.Hold.Reason, &l.Hold.Streak,
		&recheck)
	l.Hold.Until, l.Recheck = at(until), at(recheck)
	return err
}

// claimable selects the lanes that a process may claim, in the order of their times. Parameters: twice the time.
const claimable = `SELECT app_id, next_at FROM {app_lane} WHERE next_at IS NOT NULL AND next_at <= ? AND ` + unleased + ` ORDER BY next_at`

// Claim implements store.Leases.
func (s *Store) Claim(ctx context.Context, process string, due time.Time, limit int) (leases []engine.Lease, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		leases, err = nil, nil
		leases, err = claimLanes(ctx, tx, process, due, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: claim: %w", err)
	}
	return leases, nil
}

// claimLanes claims lanes in the order of their times.
func claimLanes(ctx context.Context, tx *sqldb.Tx, process string, due time.Time, limit int) ([]engine.Lease, error) {
	rows, err := tx.Query(ctx, claim(tx.Dialect(), claimable, limit), ms(due), ms(due), process, process)
	return collect(rows, err, scanLease)
}

// claim returns the statement that claims the lanes of a query. It omits lanes with a locked row: a process that stalls in a transaction
// must not delay the lanes of other apps. The subquery is evaluated once, so that it locks no more rows than the limit. The limit is a
// constant of the text, so that PostgreSQL uses the same plan for each execution: with partitions, planning takes much longer than the
// search.
func claim(d sqldb.Dialect, lanes string, limit int) string {
	lock := ""
	if d == sqldb.Postgres {
		lock = ` FOR UPDATE SKIP LOCKED`
	}
	return claimFrom(d, lanes+` LIMIT `+strconv.Itoa(limit)+lock)
}

// claimFrom returns the statement that claims the lanes that a query has locked.
func claimFrom(d sqldb.Dialect, locked string) string {
	return `WITH due AS MATERIALIZED (` + locked + `)
		UPDATE {app_lane} SET process = ?, epoch = epoch + 1, owner = '', lease_until = ` + noLease + `
		WHERE app_id IN (SELECT app_id FROM due) AND ` + validProcess(d) + ` RETURNING ` + leaseColumns
}

// Held implements store.Leases.
func (s *Store) Held(ctx context.Context, process string) ([]engine.Lease, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT `+leaseColumns+` FROM {app_lane} WHERE process = ? AND process <> ''`, process)
	out, err := collect(rows, err, scanLease)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: leases of %s: %w", process, err)
	}
	return out, nil
}

// Release implements store.Leases. Release locks the lane row first and reads the due rows in a later statement. Release therefore finds
// every mark that was committed before the lock. A later mark waits for the lane row, and makes the lane pending after the release.
func (s *Store) Release(ctx context.Context, l engine.Lease, hold engine.Hold, notBefore time.Time) (again time.Time, err error) {
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		again = time.Time{}
		var kicks, marks int64
		err := tx.ExecReturning(ctx, []any{&kicks, &marks}, release(tx.Dialect()), l.App, l.Epoch,
			string(hold.Kind), ms(hold.Until), text(hold.Reason), hold.Streak, text(s.tenant(l.App)), l.App, l.Epoch)
		if errors.Is(err, sql.ErrNoRows) {
			return engine.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		until, earliest := hold.Until, notBefore
		// make the lane pending: the marks since the claim may include a deactivation
		if hold.Kind == engine.HoldQuarantine && marks != l.Marks {
			until = time.Time{}
		}
		if kicks != l.Kicks { // end the hold: a kick or retry arrived during the lease
			until, earliest = time.Time{}, time.Time{}
			if _, err := tx.Exec(ctx, `UPDATE {app_lane} SET hold_until = 0 WHERE app_id = ?`, l.App); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `DELETE FROM {in_flight} WHERE app_id = ? AND epoch = ?`, l.App, l.Epoch); err != nil {
			return err
		}
		first, err := firstDue(ctx, tx, l.App)
		if err != nil {
			return err
		}
		if first.Valid {
			first.Int64 = max(first.Int64, ms(earliest), ms(until))
			again = at(first.Int64)
		}
		_, err = tx.Exec(ctx, `UPDATE {app_lane} SET next_at = ? WHERE app_id = ?`, first, l.App)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("sqlstore: release %s: %w", l.App, err)
	}
	return again, nil
}

// release returns the first statement of Release. The statement waits for the transactions of the lane that have called fence.
func release(d sqldb.Dialect) string {
	lock := ""
	if d == sqldb.Postgres {
		lock = ` FOR UPDATE`
	}
	return `WITH own AS MATERIALIZED (SELECT app_id FROM {app_lane} WHERE app_id = ? AND epoch = ?` + lock + `)
		UPDATE {app_lane} SET process = '', epoch = epoch + 1, hold = ?, hold_until = ?, hold_reason = ?, hold_streak = ?, tenant = ?
		WHERE app_id IN (SELECT app_id FROM own) AND app_id = ? AND epoch = ? RETURNING kicks, marks`
}

// firstDue returns the earliest time for which a principal or a recheck of an app is scheduled, or NULL if none is scheduled.
func firstDue(ctx context.Context, tx *sqldb.Tx, app string) (first sql.NullInt64, err error) {
	query, args := `SELECT (SELECT MIN(recheck_at) FROM {in_flight} WHERE app_id = ? AND recheck_at IS NOT NULL)`, []any{app}
	for _, set := range dueSets {
		query += `, (SELECT MIN(next_at) FROM {sync_state} WHERE app_id = ? AND next_at IS NOT NULL AND ` + set + `)`
		args = append(args, app)
	}
	found := make([]sql.NullInt64, len(args))
	into := make([]any, len(args))
	for i := range found {
		into[i] = &found[i]
	}
	err = tx.QueryRow(ctx, query, args...).Scan(into...)
	for _, next := range found {
		if next.Valid && (!first.Valid || next.Int64 < first.Int64) {
			first = next
		}
	}
	return first, err
}

// Lane implements store.Lanes. A lease of an earlier version is in the columns owner and lease_until.
func (s *Store) Lane(ctx context.Context, app string) (engine.Lane, error) {
	var l engine.Lane
	var until, next, holdUntil int64
	var learned, rest string
	err := s.db.Reader().QueryRow(ctx, `SELECT l.app_id, COALESCE(p.name, l.owner),
			CASE WHEN l.owner <> '' THEN l.lease_until ELSE COALESCE(p.valid_until, 0) END,
			COALESCE(l.next_at, 0), l.hold, l.hold_until, l.hold_reason, l.hold_streak, l.learned, l.rest
		FROM {app_lane} l LEFT JOIN {process} p ON p.id = l.process AND l.process <> '' WHERE l.app_id = ?`, app).Scan(
		&l.App, &l.Owner, &until, &next, &l.Hold.Kind, &holdUntil, &l.Hold.Reason, &l.Hold.Streak, &learned, &rest)
	if errors.Is(err, sql.ErrNoRows) {
		err = engine.ErrNotFound
	}
	if err == nil {
		l.Until, l.NextAt, l.Hold.Until = at(until), at(next), at(holdUntil)
		err = errors.Join(decodeJSON(rest, &l.Suspension), decodeJSON(learned, &l.Learned))
	}
	if err != nil {
		return engine.Lane{}, fmt.Errorf("sqlstore: lane of %s: %w", app, err)
	}
	return l, nil
}

// Learn implements store.Lanes.
func (s *Store) Learn(ctx context.Context, l engine.Lease, change func(*engine.Learned)) (learned engine.Learned, err error) {
	err = s.withLease(ctx, l, "store the learned properties of the target", func(tx *sqldb.Tx) error {
		// The UPDATE locks the lane row, so that ResetLearned does not run in between.
		var before string
		err := tx.ExecReturning(ctx, []any{&before}, `UPDATE {app_lane} SET epoch = epoch
			WHERE app_id = ? AND epoch = ? RETURNING learned`, l.App, l.Epoch)
		if errors.Is(err, sql.ErrNoRows) {
			return engine.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		learned, err = applyLearned(ctx, tx, l.App, before, change)
		return err
	})
	return learned, err
}

// applyLearned applies a change to the learned properties of a target.
func applyLearned(ctx context.Context, tx *sqldb.Tx, app, before string, change func(*engine.Learned)) (learned engine.Learned, err error) {
	if err := decodeJSON(before, &learned); err != nil {
		return learned, err
	}
	change(&learned)
	after, err := encodeJSON(learned)
	if err != nil {
		return learned, err
	}
	_, err = tx.Exec(ctx, `UPDATE {app_lane} SET learned = ? WHERE app_id = ?`, after, app)
	return learned, err
}

// ResetLearned implements store.Profiles.
func (s *Store) ResetLearned(ctx context.Context, app string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {app_lane} SET learned = '', profile = '' WHERE app_id = ?`, app)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: reset the learned properties of the target of %s: %w", app, err)
	}
	return nil
}

// decodeJSON decodes a JSON column. It ignores an empty column.
func decodeJSON(text string, into any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// encodeJSON encodes a value for a JSON column.
func encodeJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return text(string(b)), err
}
