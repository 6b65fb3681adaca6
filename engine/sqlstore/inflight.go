package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Start implements store.Sequences. The row of in_flight is written after the lane row is locked. A takeover locks the lane row, too, and
// therefore finds every row of in_flight that was written before it.
func (s *Store) Start(ctx context.Context, l engine.Lease, intents []store.Intent, inFlight []engine.Principal) error {
	noted, err := encodeJSON(inFlight)
	if err == nil {
		err = s.update(ctx, func(tx *sqldb.Tx) error {
			if err := begin(ctx, tx, l, intents); err != nil {
				return err
			}
			res, err := tx.Exec(ctx, `WITH lane AS (`+validLease(tx.Dialect())+`)
				INSERT INTO {in_flight} (app_id, epoch, principals) SELECT app_id, epoch, ? FROM lane WHERE true
				ON CONFLICT (app_id, epoch) DO UPDATE SET principals = excluded.principals`, l.App, l.Epoch, noted)
			return checkLease(res, err)
		})
	}
	if err != nil {
		return fmt.Errorf("sqlstore: start of %s: %w", l.App, err)
	}
	return nil
}

// RecheckInFlight implements store.Sequences.
func (s *Store) RecheckInFlight(ctx context.Context, l engine.Lease, now time.Time) (n int, next time.Time, err error) {
	err = s.withLease(ctx, l, "recheck principals in flight", func(tx *sqldb.Tx) error {
		n, next = 0, time.Time{}
		marks, err := notedMarks(ctx, tx, l.App, now)
		if err != nil {
			return err
		}
		if marks, err = lockKnown(ctx, tx, marks); err != nil {
			return err
		}
		if n = len(marks); n > 0 {
			if err := s.Mark(ctx, tx.Execer(), now, marks); err != nil {
				return err
			}
		}
		// Mark has locked the lane row if there are marks, otherwise fence does. If the lease is still valid now, it stays valid until the
		// end of the transaction.
		if err := fence(ctx, tx, l); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM {in_flight} WHERE app_id = ? AND recheck_at <= ?`, l.App, ms(now)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE {process} SET rechecks = rechecks + ? WHERE id = ?`, n, l.Process); err != nil {
			return err
		}
		var first sql.NullInt64
		err = tx.QueryRow(ctx, `SELECT MIN(recheck_at) FROM {in_flight} WHERE app_id = ? AND recheck_at IS NOT NULL`, l.App).Scan(&first)
		next = at(first.Int64)
		return err
	})
	return n, next, err
}

// notedMarks returns marks for the principals of rows of in_flight whose recheck is due, each once, in the order in which rows are locked.
func notedMarks(ctx context.Context, tx *sqldb.Tx, app string, now time.Time) ([]engine.Mark, error) {
	rows, err := tx.Query(ctx, `SELECT principals FROM {in_flight} WHERE app_id = ? AND recheck_at <= ?`, app, ms(now))
	texts, err := collect(rows, err, func(r *sql.Rows, text *string) error { return r.Scan(text) })
	if err != nil {
		return nil, err
	}
	var found []principal
	for _, text := range texts {
		var noted []engine.Principal
		if err := decodeJSON(text, &noted); err != nil {
			return nil, err
		}
		for _, n := range noted {
			found = append(found, principal{n.Kind, app, n.ID})
		}
	}
	slices.SortFunc(found, lockOrder)
	var marks []engine.Mark
	for _, p := range slices.Compact(found) {
		marks = append(marks, engine.Mark{App: p.app, Kind: p.kind, ID: p.id, AllMembers: p.kind == engine.Group})
	}
	return marks, nil
}

// lostUpdates sets earlier.interrupted of the results without a change whose principals were in flight when an earlier process of the lane
// died. That process may have changed the account: the target has confirmed the change, but the event was not stored. The rows of in_flight
// remain until the recheck, so an event without a change is possible, but none is missing.
func lostUpdates(ctx context.Context, tx *sqldb.Tx, app string, results ...*result) error {
	quiet := func(r *result) bool {
		return r.f.Operation == engine.OpNone && (r.f.Status == engine.StatusClean || r.f.Status == engine.StatusWaiting) &&
			r.f.RemoteID != "" && text(r.f.RemoteID) == r.before.remote && r.before.reported == ""
	}
	if !slices.ContainsFunc(results, quiet) {
		return nil
	}
	rows, err := tx.Query(ctx, `SELECT principals FROM {in_flight} WHERE app_id = ? AND recheck_at IS NOT NULL`, app)
	texts, err := collect(rows, err, func(r *sql.Rows, text *string) error { return r.Scan(text) })
	if err != nil || len(texts) == 0 {
		return err
	}
	noted := map[engine.Principal]bool{}
	for _, text := range texts {
		var all []engine.Principal
		if err := decodeJSON(text, &all); err != nil {
			return err
		}
		for _, p := range all {
			noted[p] = true
		}
	}
	for _, r := range results {
		r.before.interrupted = quiet(r) && noted[engine.Principal{Kind: r.f.Kind, ID: r.f.ID}]
	}
	return nil
}

// takeOver takes the lanes of a process that has ended. Lanes whose rows are locked stay: they are taken later.
func takeOver(ctx context.Context, tx *sqldb.Tx, process, name string, w store.When) (store.Takeover, error) {
	t := store.Takeover{Process: process, Name: name}
	lock := ""
	if tx.Dialect() == sqldb.Postgres {
		lock = ` FOR UPDATE SKIP LOCKED`
	}
	rows, err := tx.Query(ctx, `WITH taken AS MATERIALIZED (SELECT app_id FROM {app_lane} WHERE process = ? AND process <> ''`+lock+`)
		UPDATE {app_lane} SET process = '', epoch = epoch + 1, next_at = ? WHERE app_id IN (SELECT app_id FROM taken) RETURNING app_id, epoch`,
		process, ms(w.Now))
	type lane struct {
		app   string
		epoch int64
	}
	lanes, err := collect(rows, err, func(r *sql.Rows, l *lane) error { return r.Scan(&l.app, &l.epoch) })
	if err != nil {
		return t, err
	}
	slices.SortFunc(lanes, func(a, b lane) int { return strings.Compare(a.app, b.app) })
	for _, l := range lanes {
		t.Apps, t.Epochs = append(t.Apps, l.app), append(t.Epochs, l.epoch)
	}
	for _, app := range t.Apps {
		rows, err := tx.Query(ctx, `UPDATE {in_flight} SET recheck_at = ? WHERE app_id = ? AND recheck_at IS NULL RETURNING principals`,
			ms(w.Recheck), app)
		texts, err := collect(rows, err, func(r *sql.Rows, text *string) error { return r.Scan(text) })
		if err != nil {
			return t, err
		}
		for _, text := range texts {
			var noted []engine.Principal
			if err := decodeJSON(text, &noted); err != nil {
				return t, err
			}
			t.Noted += len(noted)
		}
	}
	return t, nil
}
