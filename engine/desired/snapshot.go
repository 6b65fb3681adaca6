package desired

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Snapshot is a list of all users, or all groups, of an app that the caller uploads, to find those that the app has and the caller no
// longer lists. The upload consists of batches with BatchOptions.Snapshot, whose lines either write the users or groups, or report that
// they are present. A write by another call during the snapshot counts as well. An app has one snapshot of each kind at a time: a new one
// replaces the previous one. A line that reports an object as present fails if the object was never written. An object whose line fails is
// in the snapshot, too, if the id of the line can be read.
//
// A snapshot alone removes nothing: ConfirmSnapshot does, and the engine's deletion guard (engine.Target.Guard) applies.
type Snapshot struct {
	Number int64 // unique in the app, and ascending
	Kind   engine.Kind
	State  SnapshotState
	// Missing is the number of users or groups that are not in the snapshot. It is counted when the snapshot is read.
	Missing      int
	Begun, Ended time.Time // Ended is zero while State is SnapshotOpen
}

// SnapshotState is the progress of a snapshot.
type SnapshotState string

// The states.
const (
	SnapshotOpen      SnapshotState = "open"      // the upload continues
	SnapshotEnded     SnapshotState = "ended"     // the upload is complete
	SnapshotRemoving  SnapshotState = "removing"  // confirmed; not all missing ones are removed yet
	SnapshotConfirmed SnapshotState = "confirmed" // all missing ones are removed
)

type snapshotRow struct {
	number     int64
	state      SnapshotState
	expected   int64
	begun, end int64
}

func readSnapshot(ctx context.Context, q sqldb.Queryer, app string, kind engine.Kind) (r snapshotRow, err error) {
	err = q.QueryRow(ctx, `SELECT number, state, expected, begun_at, ended_at FROM {desired_snapshot} WHERE app_id = ? AND kind = ?`,
		app, string(kind)).Scan(&r.number, &r.state, &r.expected, &r.begun, &r.end)
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("%w: snapshot of %ss", engine.ErrNotFound, kind)
	}
	return r, err
}

// openSnapshots returns the numbers of the snapshots that are not confirmed.
func openSnapshots(ctx context.Context, tx *sqldb.Tx, app string) (map[engine.Kind]int64, error) {
	rows, err := tx.Query(ctx, `SELECT kind, number FROM {desired_snapshot} WHERE app_id = ? AND state <> ?`, app, string(SnapshotConfirmed))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	open := map[engine.Kind]int64{}
	for rows.Next() {
		var kind engine.Kind
		var number int64
		if err := rows.Scan(&kind, &number); err != nil {
			return nil, err
		}
		open[kind] = number
	}
	return open, rows.Err()
}

func (w *writing) checkPresent(c Present) error {
	if err := checkKind(c.Kind); err != nil {
		return err
	}
	if w.snapshot == 0 || w.open[c.Kind] != w.snapshot {
		return &InputError{"op", "the line is for the upload of a snapshot of the same kind only"}
	}
	return checkID("id", c.ID)
}

// see records that principals are in the snapshot.
func (w *writing) see(ctx context.Context, seen []key) error {
	byKind := map[engine.Kind][]string{}
	for _, k := range seen {
		byKind[k.kind] = append(byKind[k.kind], k.id)
	}
	for kind, ids := range byKind {
		slices.Sort(ids)
		for part := range slices.Chunk(slices.Compact(ids), rowsPerStatement) {
			where, args := amongIDs("principal_id", part, w.snapshot, w.app, string(kind))
			if _, err := w.tx.Exec(ctx, `UPDATE {desired_principal} SET seen = ? WHERE app_id = ? AND kind = ? AND `+where, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// BeginSnapshot begins a snapshot of the users or groups of an app, and returns its number.
func (s *Store) BeginSnapshot(ctx context.Context, app string, kind engine.Kind) (number int64, err error) {
	if err := checkKind(kind); err != nil {
		return 0, err
	}
	err = s.transact(ctx, sqldb.DefaultWait, func(tx *sqldb.Tx) error {
		if err := lock(ctx, tx, app); err != nil {
			return err
		}
		if err := s.storing(ctx, tx, app); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(number), 0) + 1 FROM {desired_snapshot} WHERE app_id = ?`, app).Scan(&number)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO {desired_snapshot} (app_id, kind, number, state, expected, begun_at, ended_at)
			VALUES (?, ?, ?, ?, 0, ?, 0)
			ON CONFLICT (app_id, kind) DO UPDATE SET number = excluded.number, state = excluded.state, expected = 0,
				begun_at = excluded.begun_at, ended_at = 0`, app, string(kind), number, string(SnapshotOpen), s.stamp())
		return err
	})
	return number, err
}

// EndSnapshot ends the upload of a snapshot. A second call has no effect.
func (s *Store) EndSnapshot(ctx context.Context, app string, number int64) (Snapshot, error) {
	var kind engine.Kind
	err := s.transact(ctx, sqldb.DefaultWait, func(tx *sqldb.Tx) error {
		var r snapshotRow
		var err error
		if err := lock(ctx, tx, app); err != nil {
			return err
		}
		if kind, r, err = findSnapshot(ctx, tx, app, number); err != nil || r.state != SnapshotOpen {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE {desired_snapshot} SET state = ?, ended_at = ? WHERE app_id = ? AND kind = ?`, string(SnapshotEnded),
			s.stamp(), app, string(kind))
		return err
	})
	if err != nil {
		return Snapshot{}, err
	}
	return s.Snapshot(ctx, app, number)
}

// findSnapshot returns a snapshot by its number. A snapshot that was replaced is not found.
func findSnapshot(ctx context.Context, q sqldb.Queryer, app string, number int64) (engine.Kind, snapshotRow, error) {
	if _, err := existing(ctx, q, app); err != nil {
		return "", snapshotRow{}, err
	}
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		r, err := readSnapshot(ctx, q, app, kind)
		switch {
		case errors.Is(err, engine.ErrNotFound), err == nil && r.number != number:
			continue
		default:
			return kind, r, err
		}
	}
	return "", snapshotRow{}, fmt.Errorf("%w: snapshot %d", engine.ErrNotFound, number)
}

const missing = ` FROM {desired_principal} WHERE app_id = ? AND kind = ? AND want <> 'absent' AND seen < ?`

func countMissing(ctx context.Context, q sqldb.Queryer, app string, kind engine.Kind, number int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*)`+missing, app, string(kind), number).Scan(&n)
	return n, err
}

// Snapshot returns a snapshot, or an error that wraps engine.ErrNotFound.
func (s *Store) Snapshot(ctx context.Context, app string, number int64) (out Snapshot, err error) {
	err = s.db.View(ctx, func(q sqldb.Queryer) error {
		kind, r, err := findSnapshot(ctx, q, app, number)
		if err != nil {
			return err
		}
		out = Snapshot{Number: number, Kind: kind, State: r.state, Begun: timeOf(r.begun), Ended: timeOf(r.end)}
		if r.state != SnapshotConfirmed {
			out.Missing, err = countMissing(ctx, q, app, kind, number)
		}
		return err
	})
	return out, err
}

// MissingIn returns one page of the ids that are not in a snapshot, ascending, after the given id (empty for the first page). The maximum
// limit is MaxPage.
func (s *Store) MissingIn(ctx context.Context, app string, number int64, after string, limit int) (ids []string, err error) {
	kind, _, err := findSnapshot(ctx, s.db.Reader(), app, number)
	if err != nil {
		return nil, err
	}
	return missingPage(ctx, s.db.Reader(), app, kind, number, after, pageSize(limit))
}

func missingPage(
	ctx context.Context, q sqldb.Queryer, app string, kind engine.Kind, number int64, after string, limit int,
) ([]string, error) {
	return texts(ctx, q, `SELECT principal_id`+missing+` AND principal_id > ? ORDER BY principal_id`+sqldb.Limit, app, string(kind), number,
		after, limit)
}

// ConfirmSnapshot sets the missing users or groups of a snapshot to the state engine.Absent if their number equals expected. Otherwise it
// returns an error that wraps engine.ErrStale and changes nothing. The versions remain: the next version of the caller replaces the
// state. The work is done in several transactions; after a failure, call ConfirmSnapshot again with the same arguments.
func (s *Store) ConfirmSnapshot(ctx context.Context, app string, number int64, expected int) error {
	for first := true; ; first = false {
		more := false
		err := s.change(ctx, app, func(tx *sqldb.Tx, e Engine) (err error) {
			more, err = s.removeMissing(ctx, tx, e, app, number, int64(expected), first)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// removeMissing removes some of the missing principals, and reports whether more may be missing.
func (s *Store) removeMissing(ctx context.Context, tx *sqldb.Tx, e Engine, app string, number, expected int64, first bool) (bool, error) {
	if err := lock(ctx, tx, app); err != nil {
		return false, err
	}
	kind, r, err := findSnapshot(ctx, tx, app, number)
	if err != nil {
		return false, err
	}
	switch {
	case r.state == SnapshotOpen:
		return false, fmt.Errorf("%w: end the upload first", ErrSnapshot)
	case r.state == SnapshotConfirmed, r.state == SnapshotRemoving && first:
		if r.expected != expected {
			return false, fmt.Errorf("%w: the snapshot was confirmed with the number %d", engine.ErrStale, r.expected)
		}
		if r.state == SnapshotConfirmed {
			return false, nil
		}
	case r.state == SnapshotEnded:
		n, err := countMissing(ctx, tx, app, kind, number)
		if err != nil {
			return false, err
		}
		if int64(n) != expected {
			return false, fmt.Errorf("%w: %d are missing, not %d", engine.ErrStale, n, expected)
		}
	}
	ids, err := missingPage(ctx, tx, app, kind, number, "", MaxPage)
	if err != nil {
		return false, err
	}
	marks := make([]engine.Mark, len(ids))
	for i, id := range ids {
		marks[i] = engine.Mark{App: app, Kind: kind, ID: id}
	}
	for part := range slices.Chunk(ids, rowsPerStatement) {
		where, args := amongIDs("principal_id", part, s.stamp(), app, string(kind))
		_, err := tx.Exec(ctx, `UPDATE {desired_principal} SET want = 'absent', changed_at = ? WHERE app_id = ? AND kind = ? AND `+where,
			args...)
		if err != nil {
			return false, err
		}
	}
	if len(marks) > 0 {
		if err := e.Mark(ctx, tx.Execer(), marks...); err != nil {
			return false, err
		}
	}
	state := SnapshotRemoving
	if len(ids) < MaxPage {
		state = SnapshotConfirmed
	}
	_, err = tx.Exec(ctx, `UPDATE {desired_snapshot} SET state = ?, expected = ? WHERE app_id = ? AND kind = ?`, string(state), expected, app,
		string(kind))
	return state == SnapshotRemoving, err
}
