package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// trimEvery is the number of new events after which old events are removed.
const trimEvery = 100

// storeEvents stores events of an app. The last one gets the number `last`. The caller has reserved the numbers and holds the lock of the
// lane row, so that events are committed in the order of their numbers.
//
// Invariant 21: A lifecycle event is written in the transaction of its cause, and numbered under the lock of the lane row, so that the
// numbers have no gaps and follow the order of the commits.
func (s *Store) storeEvents(ctx context.Context, tx *sqldb.Tx, app string, last int64, now time.Time, events ...engine.Event) error {
	first := last - int64(len(events)) + 1
	for i, e := range events {
		data, err := encodeJSON(e.Data)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO {lifecycle_event} (app_id, seq, at, type, kind, principal_id, data) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			app, first+int64(i), ms(now), string(e.Type), string(e.Kind), e.Principal, data)
		if err != nil {
			return err
		}
	}
	return s.trimEvents(ctx, tx, app, last, len(events))
}

// trimEvents removes old events after n new ones.
func (s *Store) trimEvents(ctx context.Context, tx *sqldb.Tx, app string, last int64, n int) error {
	if last/trimEvery == (last-int64(n))/trimEvery {
		return nil
	}
	_, err := tx.Exec(ctx, `DELETE FROM {lifecycle_event} WHERE app_id = ? AND seq <= ?`, app, last-int64(s.keepEvents))
	return err
}

// addEvent stores an event of an app, without a lease.
func (s *Store) addEvent(ctx context.Context, tx *sqldb.Tx, app string, now time.Time, e engine.Event) error {
	var last int64
	err := tx.ExecReturning(ctx, []any{&last}, `UPDATE {app_lane} SET event_seq = event_seq + 1 WHERE app_id = ? RETURNING event_seq`, app)
	if err != nil {
		return err
	}
	return s.storeEvents(ctx, tx, app, last, now, e)
}

// finishLane stores the time of the last successful sequence in the lane row, if it is not zero, and the events of sequences. It returns
// ErrLeaseLost if the lease is no longer valid. The lane row is locked last, as in Mark, and only during one statement and the commit.
func (s *Store) finishLane(ctx context.Context, tx *sqldb.Tx, l engine.Lease, success time.Time, events []engine.Event) error {
	if success.IsZero() && len(events) == 0 {
		return fence(ctx, tx, l)
	}
	var last int64
	var err error
	args := []any{len(events), bit(!success.IsZero()), ms(success), l.App, l.Epoch}
	atOnce := tx.Dialect() == sqldb.Postgres
	if atOnce {
		var stored string
		if stored, err = eventRows(events); err != nil {
			return err
		}
		err = tx.ExecReturning(ctx, []any{&last}, `WITH lane AS (`+updateLane+`), events AS (`+insertEvents+`) SELECT event_seq FROM lane`,
			append(args, l.App, stored)...)
	} else {
		err = tx.ExecReturning(ctx, []any{&last}, updateLane, args...)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return engine.ErrLeaseLost
	case err != nil:
		return err
	case atOnce || len(events) == 0:
		return s.trimEvents(ctx, tx, l.App, last, len(events))
	}
	return s.storeEvents(ctx, tx, l.App, last, events[0].At, events...)
}

// updateLane stores the number of new events and the time of the last success. Parameters: the number, 1 if there is a success, its time,
// the app and the epoch.
const updateLane = `UPDATE {app_lane} SET event_seq = event_seq + ?,
	success_at = CASE WHEN ? = 1 THEN CAST(? AS BIGINT) ELSE success_at END WHERE app_id = ? AND epoch = ? RETURNING event_seq`

// insertEvents stores events after updateLane in the same statement of PostgreSQL. Parameters: the app, and the result of eventRows.
const insertEvents = `INSERT INTO {lifecycle_event} (app_id, seq, at, type, kind, principal_id, data)
	SELECT CAST(? AS TEXT), lane.event_seq + v.nth, v.at, v.type, v.kind, v.id, v.data
	FROM lane CROSS JOIN json_to_recordset(CAST(? AS JSON)) AS v (nth BIGINT, at BIGINT, type TEXT, kind TEXT, id TEXT, data TEXT)`

func eventRows(events []engine.Event) (string, error) {
	type row struct {
		Nth  int    `json:"nth"`
		At   int64  `json:"at"`
		Type string `json:"type"`
		Kind string `json:"kind"`
		ID   string `json:"id"`
		Data string `json:"data"`
	}
	rows := make([]row, len(events))
	for i, e := range events {
		data, err := encodeJSON(e.Data)
		if err != nil {
			return "", err
		}
		rows[i] = row{i + 1 - len(events), ms(e.At), string(e.Type), string(e.Kind), e.Principal, data}
	}
	return sqldb.JSON(rows)
}

// Hold implements store.Lanes.
func (s *Store) Hold(ctx context.Context, l engine.Lease, now time.Time, h engine.Hold) error {
	err := s.withLease(ctx, l, "hold", func(tx *sqldb.Tx) error {
		var last int64
		err := tx.ExecReturning(ctx, []any{&last}, `UPDATE {app_lane} SET event_seq = event_seq + 1,
			hold = ?, hold_until = ?, hold_reason = ?, hold_streak = ? WHERE app_id = ? AND epoch = ? RETURNING event_seq`,
			string(h.Kind), ms(h.Until), text(h.Reason), h.Streak, l.App, l.Epoch)
		if errors.Is(err, sql.ErrNoRows) {
			return engine.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		return s.storeEvents(ctx, tx, l.App, last, now, store.HoldEvent(h))
	})
	if err == nil {
		s.recorded(l.App)
	}
	return err
}

// EventHeads returns the numbers of the last events of the apps that have events, in ascending byte order of the apps, after the given app
// (empty for the first page). Fewer than limit heads end the list.
func (s *Store) EventHeads(ctx context.Context, after string, limit int) ([]engine.EventHead, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id, event_seq FROM {app_lane} WHERE app_id > ? AND event_seq > 0
		ORDER BY app_id LIMIT ?`, after, limitOr(limit))
	out, err := collect(rows, err, func(r *sql.Rows, h *engine.EventHead) error { return r.Scan(&h.App, &h.Seq) })
	if err != nil {
		return nil, fmt.Errorf("sqlstore: last events: %w", err)
	}
	return out, nil
}

// Events implements store.Events.
func (s *Store) Events(ctx context.Context, q engine.EventQuery) ([]engine.Event, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id, seq, at, type, kind, principal_id, data FROM {lifecycle_event}
		WHERE app_id = ? AND seq > ? ORDER BY seq LIMIT ?`, q.App, q.After, limitOr(q.Limit))
	out, err := collect(rows, err, func(r *sql.Rows, e *engine.Event) error {
		var when int64
		var data string
		if err := r.Scan(&e.App, &e.Seq, &when, &e.Type, &e.Kind, &e.Principal, &data); err != nil {
			return err
		}
		e.At = at(when)
		return decodeJSON(data, &e.Data)
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: events of %s: %w", q.App, err)
	}
	return out, nil
}
