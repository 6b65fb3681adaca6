package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

const laneColumns = `app_id, epoch, owner, lease_until, COALESCE(next_at, 0), kicks, marks, hold, hold_until, hold_reason, hold_streak, ` +
	`learned, rest`

type laneRow struct {
	engine.Lane
	epoch, kicks, marks int64
}

func scanLane(rows interface{ Scan(...any) error }, l *laneRow) error {
	var until, next, holdUntil int64
	var learned, rest string
	err := rows.Scan(&l.App, &l.epoch, &l.Owner, &until, &next, &l.kicks, &l.marks, &l.Hold.Kind, &holdUntil, &l.Hold.Reason, &l.Hold.Streak,
		&learned, &rest)
	if err != nil {
		return err
	}
	l.Until, l.NextAt, l.Hold.Until = at(until), at(next), at(holdUntil)
	if err := decodeJSON(rest, &l.Suspension); err != nil {
		return err
	}
	return decodeJSON(learned, &l.Learned)
}

// Reset implements store.Leases.
func (s *Store) Reset(ctx context.Context, owner string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {app_lane} SET epoch = epoch + 1, owner = '', lease_until = 0 WHERE owner = ?`, owner)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: reset the lanes of %s: %w", owner, err)
	}
	return nil
}

// Claim implements store.Leases.
func (s *Store) Claim(ctx context.Context, owner string, now, until time.Time, limit int) ([]engine.Lease, time.Time, error) {
	var leases []engine.Lease
	var locked bool
	if limit > 0 {
		rows, err := s.db.Reader().Query(ctx, `SELECT `+laneColumns+` FROM {app_lane}
			WHERE next_at IS NOT NULL AND next_at <= ? AND lease_until <= ? ORDER BY next_at LIMIT ?`, ms(now), ms(now), limit)
		found, err := collect(rows, err, func(r *sql.Rows, l *laneRow) error { return scanLane(r, l) })
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("sqlstore: claim: %w", err)
		}
		if len(found) > 0 {
			if leases, locked, err = s.claim(ctx, owner, now, until, found); err != nil {
				return nil, time.Time{}, fmt.Errorf("sqlstore: claim: %w", err)
			}
		}
	}
	var next sql.NullInt64
	err := s.db.Reader().QueryRow(ctx, `SELECT MIN(CASE WHEN lease_until > next_at THEN lease_until ELSE next_at END) FROM {app_lane}
		WHERE next_at IS NOT NULL AND (next_at > ? OR lease_until > ?)`, ms(now), ms(now)).Scan(&next)
	if err != nil {
		return leases, time.Time{}, fmt.Errorf("sqlstore: claim: %w", err)
	}
	if soon := now.Add(lockedRetry); locked && (!next.Valid || soon.Before(at(next.Int64))) {
		return leases, soon, nil
	}
	return leases, at(next.Int64), nil
}

// lockedRetry is the delay before a lane is claimed again if another transaction had locked its row.
const lockedRetry = 50 * time.Millisecond

// claim claims the found lanes. It omits lanes that other engines have claimed in the meantime, and lanes with a locked row: a process that
// stalls in a transaction must not delay the lanes of other apps.
func (s *Store) claim(ctx context.Context, owner string, now, until time.Time, found []laneRow) (leases []engine.Lease, locked bool,
	err error) {
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		leases, locked = nil, false
		for _, l := range found {
			if tx.Dialect() == sqldb.Postgres {
				var free int64
				err := tx.QueryRow(ctx, `SELECT 1 FROM {app_lane} WHERE app_id = ? FOR UPDATE SKIP LOCKED`, l.App).Scan(&free)
				if errors.Is(err, sql.ErrNoRows) {
					locked = true
					continue
				}
				if err != nil {
					return err
				}
			}
			res, err := tx.Exec(ctx, `UPDATE {app_lane} SET epoch = epoch + 1, owner = ?, lease_until = ?
				WHERE app_id = ? AND epoch = ? AND lease_until <= ?`, owner, ms(until), l.App, l.epoch, ms(now))
			if err := checkLease(res, err); errors.Is(err, engine.ErrLeaseLost) {
				continue // another engine has claimed the lane
			} else if err != nil {
				return err
			}
			leases = append(leases, engine.Lease{App: l.App, Epoch: l.epoch + 1, Until: until, Hold: l.Hold, Kicks: l.kicks, Marks: l.marks})
		}
		return nil
	})
	return leases, locked, err
}

// Extend implements store.Leases.
func (s *Store) Extend(ctx context.Context, l engine.Lease, until time.Time) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		return checkLease(tx.Exec(ctx, `UPDATE {app_lane} SET lease_until = ? WHERE app_id = ? AND epoch = ?`, ms(until), l.App, l.Epoch))
	})
	if err != nil {
		return fmt.Errorf("sqlstore: extend the lease of %s: %w", l.App, err)
	}
	return nil
}

// Release implements store.Leases. Release locks the lane row first and reads the due rows in a later statement. Release therefore finds
// every mark that was committed before the lock. A later mark waits for the lane row, and makes the lane pending after the release.
func (s *Store) Release(ctx context.Context, l engine.Lease, hold engine.Hold, notBefore time.Time) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		err := checkLease(tx.Exec(ctx, `UPDATE {app_lane} SET owner = '', lease_until = 0, epoch = epoch + 1,
			hold = ?, hold_until = ?, hold_reason = ?, hold_streak = ? WHERE app_id = ? AND epoch = ?`,
			string(hold.Kind), ms(hold.Until), text(hold.Reason), hold.Streak, l.App, l.Epoch))
		if err != nil {
			return err
		}
		var kicks, marks int64
		if err := tx.QueryRow(ctx, `SELECT kicks, marks FROM {app_lane} WHERE app_id = ?`, l.App).Scan(&kicks, &marks); err != nil {
			return err
		}
		until := hold.Until
		// make the lane pending: the marks since the claim may include a deactivation
		if hold.Kind == engine.HoldQuarantine && marks != l.Marks {
			until = time.Time{}
		}
		if kicks != l.Kicks { // end the hold: a kick or retry arrived during the lease
			until, notBefore = time.Time{}, time.Time{}
			if _, err := tx.Exec(ctx, `UPDATE {app_lane} SET hold_until = 0 WHERE app_id = ?`, l.App); err != nil {
				return err
			}
		}
		var first sql.NullInt64
		for _, set := range dueSets {
			var next sql.NullInt64
			err = tx.QueryRow(ctx, `SELECT MIN(next_at) FROM {sync_state} WHERE app_id = ? AND next_at IS NOT NULL AND `+set, l.App).Scan(&next)
			if err != nil {
				return err
			}
			if next.Valid && (!first.Valid || next.Int64 < first.Int64) {
				first = next
			}
		}
		if first.Valid {
			first.Int64 = max(first.Int64, ms(notBefore), ms(until))
		}
		_, err = tx.Exec(ctx, `UPDATE {app_lane} SET next_at = ? WHERE app_id = ?`, first, l.App)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: release %s: %w", l.App, err)
	}
	return nil
}

// Lane implements store.Lanes.
func (s *Store) Lane(ctx context.Context, app string) (engine.Lane, error) {
	var l laneRow
	err := scanLane(s.db.Reader().QueryRow(ctx, `SELECT `+laneColumns+` FROM {app_lane} WHERE app_id = ?`, app), &l)
	if errors.Is(err, sql.ErrNoRows) {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Lane{}, fmt.Errorf("sqlstore: lane of %s: %w", app, err)
	}
	return l.Lane, nil
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
