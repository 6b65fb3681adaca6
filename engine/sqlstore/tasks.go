package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// taskWhere is the condition of the index on tasks.
const taskWhere = `status IN ('retrying', 'failed', 'held', 'pending')`

// waitingWhere selects the principals that, at a given time, wait for the end of a hold of their lane.
const waitingWhere = `status = 'dirty' AND next_at IS NOT NULL
	AND EXISTS (SELECT 1 FROM {app_lane} l WHERE l.app_id = {sync_state}.app_id AND l.hold <> '' AND l.hold_until > ?)`

// waitingOf is waitingWhere for the principals of one app. Parameters: the app and the time.
const waitingOf = `status = 'dirty' AND next_at IS NOT NULL
	AND EXISTS (SELECT 1 FROM {app_lane} l WHERE l.app_id = ? AND l.hold <> '' AND l.hold_until > ?)`

// retriedAtOnce is the number of principals that one transaction marks, so that other transactions can run in between.
const retriedAtOnce = 500

// Tasks implements store.Tasks.
func (s *Store) Tasks(ctx context.Context, q engine.TaskQuery) ([]engine.State, error) {
	found, err := s.tasks(ctx, q, taskWhere)
	if err != nil {
		return nil, err
	}
	held, err := s.onHold(ctx, q.App, q.Now)
	if err != nil || !held {
		return found, err
	}
	more, err := s.tasks(ctx, q, waitingWhere, ms(q.Now))
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	slices.SortFunc(found, func(a, b engine.State) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), limitOr(q.Limit))], nil
}

// tasks reads a page of the principals that match a condition.
func (s *Store) tasks(ctx context.Context, q engine.TaskQuery, condition string, args ...any) ([]engine.State, error) {
	where, more := conditions(map[string]string{"app_id": q.App})
	args = append(args, more...)
	if q.After != nil {
		where += ` AND (app_id, kind, principal_id) > (?, ?, ?)`
		args = append(args, q.After.App, string(q.After.Kind), q.After.ID)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT `+stateColumns+` FROM {sync_state} WHERE `+condition+` AND `+where+
		` ORDER BY app_id, kind, principal_id LIMIT ?`, append(args, limitOr(q.Limit))...)
	out, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: tasks: %w", err)
	}
	return out, nil
}

// onHold reports whether the lane of an app, or (empty) of any app, has a hold.
func (s *Store) onHold(ctx context.Context, app string, now time.Time) (held bool, err error) {
	where, args := conditions(map[string]string{"app_id": app})
	var n int
	err = s.db.Reader().QueryRow(ctx, `SELECT COUNT(*) FROM {app_lane} WHERE hold <> '' AND `+where+` AND hold_until > ?`,
		append(args, ms(now))...).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("sqlstore: holds: %w", err)
	}
	return n > 0, nil
}

// requireKnown returns ErrNotFound for a principal that was never marked.
func requireKnown(ctx context.Context, tx *sqldb.Tx, p principal) error {
	var one int64
	err := tx.QueryRow(ctx, `SELECT 1 FROM {sync_state}
		WHERE app_id = ? AND kind = ? AND principal_id = ?`, p.app, string(p.kind), p.id).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.ErrNotFound
	}
	return err
}

// Retry implements store.Tasks.
func (s *Store) Retry(ctx context.Context, now time.Time, app string, kind engine.Kind, id string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		if err := requireKnown(ctx, tx, principal{kind, app, id}); err != nil {
			return err
		}
		return s.Mark(ctx, tx.Execer(), now, []engine.Mark{{App: app, Kind: kind, ID: id, Retry: true}})
	})
	if err != nil {
		return fmt.Errorf("sqlstore: retry %s %s of %s: %w", kind, id, app, err)
	}
	return nil
}

// RetryAll implements store.Tasks.
func (s *Store) RetryAll(ctx context.Context, now time.Time, app string) (n int, err error) {
	condition := taskWhere
	held, err := s.onHold(ctx, app, now)
	if err != nil {
		return 0, err
	}
	if held {
		// also the principals that wait for the end of the hold, because the first mark ends the hold
		condition = `(` + taskWhere + ` OR status = 'dirty' AND next_at IS NOT NULL)`
	}
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		after := ""
		for more := true; more; {
			var marks []engine.Mark
			err := s.update(ctx, func(tx *sqldb.Tx) error {
				rows, err := tx.Query(ctx, `SELECT principal_id FROM {sync_state} WHERE app_id = ? AND kind = ? AND principal_id > ? AND `+condition+`
					ORDER BY principal_id LIMIT ?`, app, string(kind), after, retriedAtOnce)
				marks, err = collect(rows, err, func(r *sql.Rows, m *engine.Mark) error {
					m.App, m.Kind, m.Retry = app, kind, true
					return r.Scan(&m.ID)
				})
				if err != nil {
					return err
				}
				return s.Mark(ctx, tx.Execer(), now, marks)
			})
			if err != nil {
				return n, fmt.Errorf("sqlstore: retry all of %s: %w", app, err)
			}
			if more = len(marks) == retriedAtOnce; more {
				after = marks[len(marks)-1].ID
			}
			n += len(marks)
		}
	}
	return n, nil
}

// dropWhere is the condition for the principals of Drop: pending ones and tasks.
const dropWhere = `app_id = ? AND (next_at IS NOT NULL OR ` + taskWhere + `)`

// Drop implements store.Tasks.
func (s *Store) Drop(ctx context.Context, tx engine.Execer, now time.Time, app, reason string) error {
	t := s.db.Wrap(tx)
	if s.db.Dialect() == sqldb.Postgres { // first lock the rows in a defined order: an UPDATE alone locks them in any order
		if _, err := t.Exec(ctx, `SELECT 1 FROM {sync_state} WHERE `+dropWhere+` ORDER BY kind DESC, principal_id FOR UPDATE`, app); err != nil {
			return fmt.Errorf("sqlstore: drop pending changes of %s: %w", app, err)
		}
	}
	_, err := t.Exec(ctx,
		`UPDATE {sync_state} SET status = 'dismissed', next_at = NULL, dirty_since = 0, overdue_at = 0, told = '', updated_at = ?
		WHERE `+dropWhere, ms(now), app)
	if err == nil {
		err = dropImports(ctx, t, now, app, reason)
	}
	if err != nil {
		return fmt.Errorf("sqlstore: drop pending changes of %s: %w", app, err)
	}
	return nil
}

// Dismiss implements store.Tasks.
func (s *Store) Dismiss(ctx context.Context, now time.Time, app string, kind engine.Kind, id string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		e := engine.Event{Type: engine.UserDismissed, Kind: kind, Principal: id, Data: engine.EventData{Status: engine.StatusDismissed}}
		if kind == engine.Group {
			e.Type = engine.GroupDismissed
		}
		err := tx.ExecReturning(ctx, []any{&e.Data.Operation, &e.Data.HTTP, &e.Data.RemoteID}, `UPDATE {sync_state} SET
			status = 'dismissed', next_at = NULL, dirty_since = 0, overdue_at = 0, told = '', updated_at = ?
			WHERE app_id = ? AND kind = ? AND principal_id = ? AND (`+taskWhere+` OR `+waitingOf+`)
			RETURNING last_op, last_http, remote_id`, ms(now), app, string(kind), id, app, ms(now))
		if errors.Is(err, sql.ErrNoRows) {
			if err := requireKnown(ctx, tx, principal{kind, app, id}); err != nil {
				return err
			}
			return engine.ErrStale
		}
		if err != nil {
			return err
		}
		return s.addEvent(ctx, tx, app, now, e)
	})
	if err != nil {
		return fmt.Errorf("sqlstore: dismiss %s %s of %s: %w", kind, id, app, err)
	}
	s.recorded(app)
	return nil
}
