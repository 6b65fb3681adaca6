package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// lagQueries is the number of subqueries of Lags: one for each status, one for the oldest change, and one for each of dueSets.
var lagQueries = 5 + len(dueSets)

// Lags implements store.Lags.
func (s *Store) Lags(ctx context.Context, app string) ([]engine.Lag, error) {
	// With an app, each subquery has it as a parameter, so that it reads one partition.
	where, args, of := `1 = 1`, []any(nil), `l.app_id`
	if app != "" {
		where, args, of = `l.app_id = ?`, slices.Repeat([]any{app}, lagQueries+1), `?`
	}
	count := func(status engine.Status) string {
		return `(SELECT COUNT(*) FROM {sync_state} s WHERE s.app_id = ` + of + ` AND ` + taskWhere + ` AND status = '` + string(status) + `')`
	}
	// Each set has an index with its due principals. Without the sets, SQLite would read all principals of the app.
	var due []string
	for _, set := range dueSets {
		due = append(due, `(SELECT COUNT(*) FROM {sync_state} s WHERE s.app_id = `+of+` AND s.next_at IS NOT NULL AND `+set+`)`)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id, hold, hold_until, hold_reason, hold_streak, success_at,
			`+strings.Join(due, " + ")+`,
			COALESCE((SELECT s.dirty_since FROM {sync_state} s WHERE s.app_id = `+of+` AND s.dirty_since > 0 AND s.next_at IS NOT NULL
				ORDER BY s.dirty_since LIMIT 1), 0),
			`+count(engine.StatusFailed)+`, `+count(engine.StatusHeld)+`, `+count(engine.StatusRetrying)+`, `+count(engine.StatusPending)+`
		FROM {app_lane} l WHERE `+where+` ORDER BY app_id`, args...)
	out, err := collect(rows, err, func(r *sql.Rows, l *engine.Lag) error {
		var until, success, oldest int64
		err := r.Scan(&l.App, &l.Hold.Kind, &until, &l.Hold.Reason, &l.Hold.Streak, &success, &l.Due, &oldest,
			&l.Failed, &l.Held, &l.Retrying, &l.Accepted)
		l.Hold.Until, l.LastSuccess, l.Oldest = at(until), at(success), at(oldest)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: lags: %w", err)
	}
	return out, nil
}

// overdueWhere selects users whose deactivation may be overdue. It consists of the condition of the index on such users, and of an upper
// bound for dirty_since as its parameter.
const overdueWhere = `kind = 'user' AND dirty_since > 0 AND overdue_at = 0 AND (remote_id <> '' OR tried = 1) AND dirty_since <= ?`

// OverdueApps implements store.Lags.
func (s *Store) OverdueApps(ctx context.Context, before time.Time) ([]string, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id FROM {app_lane} l
		WHERE EXISTS (SELECT 1 FROM {sync_state} s WHERE s.app_id = l.app_id AND `+overdueWhere+`) ORDER BY app_id`, ms(before))
	out, err := collect(rows, err, func(r *sql.Rows, app *string) error { return r.Scan(app) })
	if err != nil {
		return nil, fmt.Errorf("sqlstore: overdue apps: %w", err)
	}
	return out, nil
}

// OverdueUsers implements store.Lags.
func (s *Store) OverdueUsers(ctx context.Context, app string, before time.Time, after *engine.State, limit int) ([]engine.State, error) {
	where, args := `app_id = ? AND `+overdueWhere, []any{app, ms(before)}
	if after != nil {
		where += ` AND (dirty_since, principal_id) > (?, ?)`
		args = append(args, ms(after.DirtySince), after.ID)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT `+stateColumns+` FROM {sync_state} WHERE `+where+
		` ORDER BY dirty_since, principal_id LIMIT ?`, append(args, limitOr(limit))...)
	out, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: overdue users of %s: %w", app, err)
	}
	return out, nil
}

// Overdue implements store.Lags.
func (s *Store) Overdue(ctx context.Context, app, user string, before, now time.Time) (first bool, err error) {
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		first = false
		e := engine.Event{Type: engine.DeactivationOverdue, Kind: engine.User, Principal: user}
		var since int64
		err := tx.ExecReturning(ctx, []any{&since, &e.Data.RemoteID, &e.Data.Status}, `UPDATE {sync_state} SET overdue_at = ?
			WHERE app_id = ? AND principal_id = ? AND `+overdueWhere+` RETURNING dirty_since, remote_id, status`, ms(now), app, user, ms(before))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		first, e.Data.Since = true, at(since)
		return s.addEvent(ctx, tx, app, now, e)
	})
	if err != nil {
		return false, fmt.Errorf("sqlstore: overdue user %s of %s: %w", user, app, err)
	}
	if first {
		s.recorded(app)
	}
	return first, nil
}
