package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Retention limits the stored history of an engine. The zero value removes nothing.
type Retention struct {
	// ExchangeAge is the maximum age of an exchange with a target. Default: no limit.
	ExchangeAge time.Duration
	// Exchanges is the maximum number of exchanges of all apps. Prune removes the oldest ones. Default: no limit.
	Exchanges int64
	// EventAge is the maximum age of a lifecycle event. Options.KeepEvents also limits the events of each app. Default: no limit.
	EventAge time.Duration
}

// Pruned has the numbers of removed objects.
type Pruned struct{ Exchanges, Events int64 }

// appsPerPage is the number of apps that pruneEvents reads at a time.
const appsPerPage = 1000

// pruneRows is the number of rows that one transaction of Prune removes, so that it does not delay other writes.
const pruneRows = 1000

// Prune removes the history that exceeds the limits, in several transactions. A host calls it periodically. An interrupted Prune may be
// repeated.
func (s *Store) Prune(ctx context.Context, now time.Time, r Retention) (p Pruned, err error) {
	if p.Exchanges, err = s.pruneExchanges(ctx, now, r); err == nil && r.EventAge > 0 {
		p.Events, err = s.pruneEvents(ctx, now.Add(-r.EventAge))
	}
	if err != nil {
		return p, fmt.Errorf("sqlstore: remove old history: %w", err)
	}
	return p, nil
}

func (s *Store) pruneExchanges(ctx context.Context, now time.Time, r Retention) (removed int64, err error) {
	if r.ExchangeAge > 0 {
		before := ms(now.Add(-r.ExchangeAge))
		for n := int64(1); n > 0; removed += n {
			if n, err = s.removeExchanges(ctx, pruneRows, before); err != nil {
				return removed, err
			}
		}
	}
	if r.Exchanges <= 0 {
		return removed, nil
	}
	var stored int64
	if err := s.db.Reader().QueryRow(ctx, `SELECT COUNT(*) FROM {sync_attempt}`).Scan(&stored); err != nil {
		return removed, err
	}
	for stored > r.Exchanges {
		n, err := s.removeExchanges(ctx, min(pruneRows, stored-r.Exchanges), 0)
		if err != nil {
			return removed, err
		}
		if removed += n; n == 0 { // concurrent transactions have locked the rows, or have removed them
			break
		}
		stored -= n
	}
	return removed, nil
}

// removeExchanges removes exchanges among the n oldest ones: those before a time, or all of them if it is 0.
func (s *Store) removeExchanges(ctx context.Context, n, before int64) (removed int64, err error) {
	oldest := `SELECT id, at FROM {sync_attempt} ORDER BY id` + sqldb.Limit
	if s.db.Dialect() == sqldb.Postgres { // a sequence of requests trims the exchanges of its principal
		oldest += ` FOR UPDATE SKIP LOCKED`
	}
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `DELETE FROM {sync_attempt} WHERE id IN (
			SELECT id FROM (`+oldest+`) AS o WHERE CAST(? AS BIGINT) = 0 OR at < ?)`, n, before, before)
		if err != nil {
			return err
		}
		removed, err = res.RowsAffected()
		return err
	})
	return removed, err
}

// pruneEvents removes the events before a time from the beginning of each app, so that the remaining numbers have no gaps.
func (s *Store) pruneEvents(ctx context.Context, before time.Time) (removed int64, err error) {
	for after := ""; ; {
		apps, err := s.appsWithOldEvents(ctx, after, ms(before))
		if err != nil {
			return removed, err
		}
		for _, app := range apps {
			for n := int64(pruneRows); n == pruneRows; removed += n {
				if n, err = s.removeEvents(ctx, app, ms(before)); err != nil {
					return removed, err
				}
			}
			after = app
		}
		if len(apps) < appsPerPage {
			return removed, nil
		}
	}
}

func (s *Store) appsWithOldEvents(ctx context.Context, after string, before int64) ([]string, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT l.app_id FROM {app_lane} AS l WHERE l.app_id > ? AND l.event_seq > 0 AND
		(SELECT e.at FROM {lifecycle_event} AS e WHERE e.app_id = l.app_id ORDER BY e.seq LIMIT 1) < ? ORDER BY l.app_id LIMIT ?`,
		after, before, appsPerPage)
	return collect(rows, err, func(r *sql.Rows, app *string) error { return r.Scan(app) })
}

// removeEvents removes the first events of an app that were recorded before a time.
func (s *Store) removeEvents(ctx context.Context, app string, before int64) (removed int64, err error) {
	type numbered struct{ seq, at int64 }
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		removed = 0
		rows, err := tx.Query(ctx, `SELECT seq, at FROM {lifecycle_event} WHERE app_id = ? ORDER BY seq LIMIT ?`, app, pruneRows)
		first, err := collect(rows, err, func(r *sql.Rows, e *numbered) error { return r.Scan(&e.seq, &e.at) })
		if err != nil {
			return err
		}
		n := slices.IndexFunc(first, func(e numbered) bool { return e.at >= before })
		if n < 0 {
			n = len(first)
		}
		if n == 0 {
			return nil
		}
		res, err := tx.Exec(ctx, `DELETE FROM {lifecycle_event} WHERE app_id = ? AND seq <= ?`, app, first[n-1].seq)
		if err != nil {
			return err
		}
		removed, err = res.RowsAffected()
		return err
	})
	return removed, err
}

// completed selects the state of a principal if nothing is pending. Its parameters are the app, the kind and the id.
const completed = `s.app_id = ? AND s.kind = ? AND s.principal_id = ? AND s.status IN ('clean', 'skipped')
	AND s.next_at IS NULL AND s.synced_gen = s.desired_gen AND s.pending = ''`

// forgettable selects the state of such a principal if it contains no information that the engine needs: the target has no account or
// group.
const forgettable = completed + ` AND s.remote_id = '' AND s.tried = 0
	AND NOT EXISTS (SELECT 1 FROM {member_state} AS m WHERE m.app_id = s.app_id AND
		(s.kind = 'user' AND m.principal_id = s.principal_id OR s.kind = 'group' AND m.group_id = s.principal_id))`

// ForgetAbsent returns those of the users and groups for which nothing is pending, and removes their states and exchanges, in a transaction
// of the host. The directory must have had the state Absent for them since their last Mark. The state of an account or group that the
// target still has, such as a deactivated account, remains, so that the engine finds the account when the user returns.
func (s *Store) ForgetAbsent(
	ctx context.Context, tx engine.Execer, app string, principals ...engine.Principal,
) (done []engine.Principal, err error) {
	t := s.db.Wrap(tx)
	for _, p := range principals {
		ok, err := forgetAbsent(ctx, t, app, p)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: forget the %s %s of %s: %w", p.Kind, p.ID, app, err)
		}
		if ok {
			done = append(done, p)
		}
	}
	return done, nil
}

func forgetAbsent(ctx context.Context, tx *sqldb.Tx, app string, p engine.Principal) (done bool, err error) {
	args := []any{app, string(p.Kind), p.ID}
	res, err := tx.Exec(ctx, `DELETE FROM {sync_state} AS s WHERE `+forgettable, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, err
	}
	if n > 0 {
		_, err = tx.Exec(ctx, `DELETE FROM {sync_attempt} WHERE app_id = ? AND kind = ? AND principal_id = ?`, args...)
		return true, err
	}
	var stored, ended int
	err = tx.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN `+completed+` THEN 1 ELSE 0 END), 0) FROM {sync_state} AS s
		WHERE s.app_id = ? AND s.kind = ? AND s.principal_id = ?`, append(args, args...)...).Scan(&stored, &ended)
	return stored == ended, err
}
