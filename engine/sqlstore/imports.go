package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scim"
)

// keptImports is the number of runs that are stored per app and kind.
const keptImports = 20

// withAttempt runs fn in a transaction that commits only if no later attempt has begun to work on the run. Rows are written in this order:
// fn writes principals and remote objects, then withAttempt writes the run, then the functions in `then` write their rows.
func (s *Store) withAttempt(ctx context.Context, a store.ImportAttempt, what string, fn func(tx *sqldb.Tx) error,
	then ...func(tx *sqldb.Tx) error) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		err := checkLease(tx.Exec(ctx, `UPDATE {import_run} SET epoch = epoch WHERE id = ? AND epoch = ?`, a.Run, a.Epoch))
		for _, fn := range then {
			if err == nil {
				err = fn(tx)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: %s of import %d: %w", what, a.Run, err)
	}
	return nil
}

// unclaimed is noLease, for the columns next_at and lease_until of a run, which have no other meaning in this version either.
const unclaimed = math.MaxInt64

// RunningImports implements store.Imports.
func (s *Store) RunningImports(ctx context.Context) ([]int64, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT id FROM {import_run} WHERE state = 'running' ORDER BY id`)
	ids, err := collect(rows, err, func(r *sql.Rows, id *int64) error { return r.Scan(id) })
	if err != nil {
		return nil, fmt.Errorf("sqlstore: running imports: %w", err)
	}
	return ids, nil
}

// BeginImport implements store.Imports.
func (s *Store) BeginImport(ctx context.Context, id int64) (a store.ImportAttempt, run engine.ImportRun, err error) {
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		a = store.ImportAttempt{Run: id}
		err := tx.ExecReturning(ctx, []any{&a.Epoch}, `UPDATE {import_run} SET epoch = epoch + 1, owner = '', lease_until = ?, next_at = ?
			WHERE id = ? AND state = 'running' RETURNING epoch`, int64(unclaimed), int64(unclaimed), id)
		if errors.Is(err, sql.ErrNoRows) {
			return engine.ErrNotFound
		}
		if err == nil {
			run, err = readImport(ctx, tx, id)
		}
		return err
	})
	if err != nil {
		return a, run, fmt.Errorf("sqlstore: begin import %d: %w", id, err)
	}
	return a, run, nil
}

// StartImport implements store.Imports.
func (s *Store) StartImport(ctx context.Context, app string, r engine.ImportRequest, now time.Time) (id int64, err error) {
	request, err := encodeJSON(r)
	if err != nil {
		return 0, err
	}
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		if err := tx.Lock(ctx, importLock(app)); err != nil {
			return err
		}
		err := tx.ExecReturning(ctx, []any{&id}, `INSERT INTO {import_run} (app_id, kind, request, state, seen, total, read_all, known, lost,
				attempts, error, counts, begun, ended, epoch, owner, lease_until, next_at)
			VALUES (?, ?, ?, 'running', 0, ?, 0,
				(SELECT COUNT(*) FROM {remote_object} WHERE app_id = ? AND kind = ? AND verdict <> 'gone'), 0,
				0, '', '', ?, 0, 0, '', ?, ?) RETURNING id`,
			app, string(r.Kind), request, plan.UnknownTotal, app, string(r.Kind), ms(now), int64(unclaimed), int64(unclaimed))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM {import_run} WHERE app_id = ? AND kind = ? AND id <= (SELECT id FROM {import_run}
			WHERE app_id = ? AND kind = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`, app, string(r.Kind), app, string(r.Kind), keptImports)
		return err
	})
	if errors.Is(err, sqldb.ErrUnique) {
		return 0, engine.ErrImportRunning
	}
	if err != nil {
		return 0, fmt.Errorf("sqlstore: start an import: %w", err)
	}
	return id, nil
}

// importLock returns the name of the lock that prevents the start of a run while an older run is confirmed.
func importLock(app string) string { return "engine.import." + app }

// importColumns are the columns that scanImport reads. The last one, newest, is 1 for the newest run of its app and kind.
const importColumns = `id, app_id, kind, request, state, seen, total, read_all, lost, attempts, error, counts, begun, ended,
	CASE WHEN id = (SELECT MAX(id) FROM {import_run} AS n WHERE n.app_id = {import_run}.app_id AND n.kind = {import_run}.kind)
	THEN 1 ELSE 0 END`

type importRow struct {
	engine.ImportRun
	newest bool
}

func scanImport(rows *sql.Rows, r *importRow) error {
	var kind engine.Kind
	var request, counts string
	var whole, newest, begun, ended int64
	err := rows.Scan(&r.ID, &r.App, &kind, &request, &r.State, &r.Seen, &r.Total, &whole, &r.Lost, &r.Attempts, &r.Error, &counts,
		&begun, &ended, &newest)
	if err != nil {
		return err
	}
	r.Read, r.newest, r.Begun, r.Ended = whole == 1, newest == 1, at(begun), at(ended)
	if err := json.Unmarshal([]byte(request), &r.Request); err != nil {
		return err
	}
	return decodeJSON(counts, &r.Counts)
}

// importRuns reads runs. It counts the objects of the newest run of a kind again, because they may still change.
func (s *Store) importRuns(ctx context.Context, where string, args ...any) ([]engine.ImportRun, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT `+importColumns+` FROM {import_run} WHERE `+where+` ORDER BY id DESC`, args...)
	found, err := collect(rows, err, scanImport)
	if err != nil {
		return nil, err
	}
	out := make([]engine.ImportRun, len(found))
	for i, r := range found {
		if r.newest {
			if r.Counts, err = countObjects(ctx, s.db.Reader(), r.ImportRun); err != nil {
				return nil, err
			}
		}
		out[i] = r.ImportRun
	}
	return out, nil
}

func countObjects(ctx context.Context, q sqldb.Queryer, r engine.ImportRun) (map[engine.Verdict]int, error) {
	rows, err := q.Query(ctx, `SELECT verdict, COUNT(*) FROM {remote_object}
		WHERE app_id = ? AND kind = ? AND (run_id = ? OR verdict = 'gone') GROUP BY verdict`, r.App, string(r.Request.Kind), r.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[engine.Verdict]int{}
	for rows.Next() {
		var v engine.Verdict
		var n int
		if err := rows.Scan(&v, &n); err != nil {
			return nil, err
		}
		counts[v] = n
	}
	return counts, rows.Err()
}

// ImportRun implements store.Imports.
func (s *Store) ImportRun(ctx context.Context, id int64) (engine.ImportRun, error) {
	found, err := s.importRuns(ctx, `id = ?`, id)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.ImportRun{}, fmt.Errorf("sqlstore: import %d: %w", id, err)
	}
	return found[0], nil
}

// ImportRuns implements store.Imports.
func (s *Store) ImportRuns(ctx context.Context, app string) ([]engine.ImportRun, error) {
	found, err := s.importRuns(ctx, `app_id = ?`, app)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: imports of %s: %w", app, err)
	}
	return found, nil
}

const remoteRow = `(?, ?, ?, ?, ?, ?, ?, CAST(? AS BIGINT), ?, CAST(? AS BIGINT), ?, ?, ?, ?, ?, ?)`

// SaveImportPage implements store.Imports.
func (s *Store) SaveImportPage(ctx context.Context, a store.ImportAttempt, p store.ImportPage) error {
	objects := slices.SortedFunc(slices.Values(p.Objects), func(a, b engine.RemoteObject) int {
		return lockOrder(principal{id: a.RemoteID}, principal{id: b.RemoteID})
	})
	return s.withAttempt(ctx, a, "save a page", func(tx *sqldb.Tx) error {
		for part := range slices.Chunk(objects, statesAtOnce) {
			if err := saveObjects(ctx, tx, a.Run, part); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE {import_run} SET seen = ?, total = ?, read_all = ?, attempts = 0, error = '' WHERE id = ? AND epoch = ?`,
			p.Seen, p.Total, bit(p.Last), a.Run, a.Epoch)
		return err
	})
}

// saveObjects stores objects of one app and kind. It returns an error if the run has already stored one of them.
func saveObjects(ctx context.Context, tx *sqldb.Tx, run int64, objects []engine.RemoteObject) error {
	known, args := []any{objects[0].App, string(objects[0].Kind), run}, []any{}
	for _, o := range objects {
		candidates := ""
		if len(o.Candidates) > 0 {
			var err error
			if candidates, err = encodeJSON(o.Candidates); err != nil {
				return err
			}
		}
		resource := ""
		if o.Resource != nil {
			resource = text(string(o.Resource.AppendJSON(nil)))
		}
		known = append(known, text(o.RemoteID))
		args = append(args, o.App, string(o.Kind), text(o.RemoteID), text(o.UserName), text(o.ExternalID), text(o.Email), text(o.DisplayName),
			bit(o.Active), o.Hash, run, string(o.Verdict), string(o.Rule), o.Principal, candidates, text(o.Note), resource)
	}
	var repeated string
	err := tx.QueryRow(ctx, `SELECT remote_id FROM {remote_object}
		WHERE app_id = ? AND kind = ? AND run_id = ? AND remote_id IN `+list(len(objects))+
		` LIMIT 1`, known...).Scan(&repeated)
	if err == nil {
		return fmt.Errorf("%s: %w", repeated, store.ErrDuplicateObject)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO {remote_object} (app_id, kind, remote_id, user_name, external_id, email, display_name, active, hash,
			run_id, verdict, rule, principal_id, candidates, note, resource)
		VALUES `+remoteRow+strings.Repeat(", "+remoteRow, len(objects)-1)+`
		ON CONFLICT (app_id, kind, remote_id) DO UPDATE SET user_name = excluded.user_name, external_id = excluded.external_id,
			email = excluded.email, display_name = excluded.display_name, active = excluded.active, hash = excluded.hash,
			run_id = excluded.run_id, verdict = excluded.verdict, rule = excluded.rule, principal_id = excluded.principal_id,
			candidates = excluded.candidates, note = excluded.note, resource = excluded.resource`, args...)
	return err
}

// DelayImport implements store.Imports.
func (s *Store) DelayImport(ctx context.Context, a store.ImportAttempt, attempts int, message string) error {
	return s.withAttempt(ctx, a, "delay", func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {import_run} SET attempts = ?, error = ?
			WHERE id = ? AND epoch = ?`, attempts, text(message), a.Run, a.Epoch)
		return err
	})
}

// EndImport implements store.Imports.
func (s *Store) EndImport(ctx context.Context, a store.ImportAttempt, state engine.ImportState, message string, now time.Time) error {
	return s.withAttempt(ctx, a, "end", func(tx *sqldb.Tx) error {
		return endImport(ctx, tx, a, state, message, now)
	})
}

func endImport(ctx context.Context, tx *sqldb.Tx, a store.ImportAttempt, state engine.ImportState, message string,
	now time.Time) error {
	r, err := readImport(ctx, tx, a.Run)
	if err != nil {
		return err
	}
	counts, err := countObjects(ctx, tx, r)
	if err != nil {
		return err
	}
	found, err := encodeJSON(counts)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE {import_run} SET state = ?, error = ?, counts = ?, ended = ? WHERE id = ? AND epoch = ?`,
		string(state), text(message), found, ms(now), a.Run, a.Epoch)
	return err
}

// dropImports fails the running imports of an app. The epoch rejects the writes of an attempt that works on such an import.
func dropImports(ctx context.Context, tx *sqldb.Tx, now time.Time, app, reason string) error {
	const running = `app_id = ? AND state = 'running'`
	if _, err := tx.Exec(ctx, `UPDATE {import_run} SET epoch = epoch + 1 WHERE `+running, app); err != nil {
		return err
	}
	type run struct{ id, epoch int64 }
	rows, err := tx.Query(ctx, `SELECT id, epoch FROM {import_run} WHERE `+running, app)
	runs, err := collect(rows, err, func(r *sql.Rows, v *run) error { return r.Scan(&v.id, &v.epoch) })
	for _, r := range runs {
		if err == nil {
			err = endImport(ctx, tx, store.ImportAttempt{Run: r.id, Epoch: r.epoch}, engine.ImportFailed, reason, now)
		}
	}
	return err
}

// readImport returns the app, kind and request of a run.
func readImport(ctx context.Context, tx *sqldb.Tx, id int64) (r engine.ImportRun, err error) {
	rows, err := tx.Query(ctx, `SELECT `+importColumns+` FROM {import_run} WHERE id = ?`, id)
	found, err := collect(rows, err, scanImport)
	if err == nil && len(found) == 0 {
		err = engine.ErrLeaseLost // Forget has removed the app
	}
	if err != nil {
		return r, err
	}
	return found[0].ImportRun, nil
}

// CloseImport implements store.Imports.
func (s *Store) CloseImport(ctx context.Context, a store.ImportAttempt, now time.Time) error {
	return s.withAttempt(ctx, a, "close", func(tx *sqldb.Tx) error {
		r, err := readImport(ctx, tx, a.Run)
		if err != nil {
			return err
		}
		kind := string(r.Request.Kind)
		var gone, known, lost, links int
		for _, count := range []struct {
			into  *int
			query string
			args  []any
		}{
			{&known, `SELECT known FROM {import_run} WHERE id = ?`, []any{a.Run}},
			{&gone, `SELECT COUNT(*) FROM {remote_object}
				WHERE app_id = ? AND kind = ? AND run_id <> ? AND verdict <> 'gone'`, []any{r.App, kind, a.Run}},
			{&links, `SELECT COUNT(*) FROM {sync_state} WHERE app_id = ? AND kind = ? AND remote_id <> ''`, []any{r.App, kind}},
			// updated_at: an account that was created or found after the start of the run may belong on a page that the run had already read.
			{&lost, `SELECT COUNT(*) FROM {sync_state} AS s WHERE app_id = ? AND kind = ? AND remote_id <> '' AND updated_at < ?
				AND NOT EXISTS (SELECT 1 FROM {remote_object} AS o WHERE o.app_id = s.app_id AND o.kind = s.kind AND o.remote_id = s.remote_id
					AND o.run_id = ?)`, []any{r.App, kind, ms(r.Begun), a.Run}},
		} {
			if err := tx.QueryRow(ctx, count.query, count.args...).Scan(count.into); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `UPDATE {import_run} SET lost = ? WHERE id = ? AND epoch = ?`, lost, a.Run, a.Epoch); err != nil {
			return err
		}
		message := ""
		switch {
		case tooMany(gone, known, r.Request):
			message = fmt.Sprintf("%d of %d objects of earlier imports are missing from the list", gone, known)
		case tooMany(lost, links, r.Request):
			message = fmt.Sprintf("%d of %d linked accounts are missing from the list", lost, links)
		}
		if message != "" {
			message += fmt.Sprintf(", more than %g %%: the import was stopped and the list was not used", r.Request.MaxGone)
			return endImport(ctx, tx, a, engine.ImportStopped, message, now)
		}
		_, err = tx.Exec(ctx, `UPDATE {remote_object} SET verdict = 'gone' WHERE app_id = ? AND kind = ? AND run_id <> ?`, r.App, kind, a.Run)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE {remote_object} SET verdict = 'ambiguous', note = ?
			WHERE app_id = ? AND kind = ? AND verdict = 'matched' AND principal_id IN (SELECT principal_id FROM {remote_object}
				WHERE app_id = ? AND kind = ? AND verdict = 'matched' GROUP BY principal_id HAVING COUNT(*) > 1)`,
			"another object matches the same principal", r.App, kind, r.App, kind)
		return err
	})
}

// tooMany reports whether more objects are missing from a list than the request allows, given the number of known objects.
func tooMany(missing, of int, r engine.ImportRequest) bool {
	return missing >= engine.SafeGone && float64(missing) > r.MaxGone/100*float64(of)
}

// ConfirmMatched implements store.Imports.
func (s *Store) ConfirmMatched(ctx context.Context, a store.ImportAttempt, now time.Time, limit int) (n int, err error) {
	app := ""
	err = s.withAttempt(ctx, a, "confirm", func(tx *sqldb.Tx) error {
		r, err := readImport(ctx, tx, a.Run)
		if err != nil {
			return err
		}
		kind := r.Request.Kind
		app = r.App
		rows, err := tx.Query(ctx, `SELECT principal_id, remote_id, user_name FROM {remote_object}
			WHERE app_id = ? AND kind = ? AND verdict = 'matched' ORDER BY remote_id LIMIT ?`, r.App, string(kind), limit)
		links, err := collect(rows, err, func(r *sql.Rows, l *engine.Link) error {
			l.Kind = kind
			return r.Scan(&l.ID, &l.RemoteID, &l.RemoteName)
		})
		if n = len(links); err != nil || n == 0 {
			return err
		}
		conflicts, err := link(ctx, tx, r.App, links, now)
		if err != nil {
			return err
		}
		if len(conflicts) > 0 { // the call created no link: repeat it without the conflicting links
			refused := map[string]string{}
			for _, c := range conflicts {
				refused[c.Link.RemoteID] = c.Reason
			}
			links = slices.DeleteFunc(links, func(l engine.Link) bool { return refused[l.RemoteID] != "" })
			if left, err := link(ctx, tx, r.App, links, now); err != nil || len(left) > 0 {
				return errors.Join(err, linkError(left))
			}
			for _, c := range conflicts {
				_, err := tx.Exec(ctx, `UPDATE {remote_object} SET verdict = 'ambiguous', note = ? WHERE app_id = ? AND kind = ? AND remote_id = ?`,
					text(c.Reason), r.App, string(kind), c.Link.RemoteID)
				if err != nil {
					return err
				}
			}
		}
		return recordLinked(ctx, tx, r.App, links)
	}, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, upsertLane, s.laneArgs(app, now, false)...)
		return err
	})
	return n, err
}

func linkError(conflicts []engine.Conflict) error {
	if len(conflicts) == 0 {
		return nil
	}
	return &engine.LinkError{Conflicts: conflicts}
}

// recordLinked sets the verdict of the objects to linked, in the order in which SaveImportPage writes rows.
func recordLinked(ctx context.Context, tx *sqldb.Tx, app string, links []engine.Link) error {
	for _, l := range slices.SortedFunc(slices.Values(links), func(a, b engine.Link) int { return strings.Compare(a.RemoteID, b.RemoteID) }) {
		_, err := tx.Exec(ctx, `UPDATE {remote_object} SET verdict = 'linked', principal_id = ?, candidates = '', note = ''
			WHERE app_id = ? AND kind = ? AND remote_id = ?`, l.ID, app, string(l.Kind), text(l.RemoteID))
		if err != nil {
			return err
		}
	}
	return nil
}

// Confirm implements store.Imports.
func (s *Store) Confirm(ctx context.Context, tx engine.Execer, now time.Time, app string, run int64, links []engine.Link) error {
	t := s.db.Wrap(tx)
	if err := t.Lock(ctx, importLock(app)); err != nil {
		return fmt.Errorf("sqlstore: confirm import %d: %w", run, err)
	}
	rows, err := t.Query(ctx, `SELECT `+importColumns+` FROM {import_run} WHERE id = ? AND app_id = ?`, run, app)
	found, err := collect(rows, err, scanImport)
	switch {
	case err != nil:
		return fmt.Errorf("sqlstore: confirm import %d: %w", run, err)
	case len(found) == 0:
		return engine.ErrNotFound
	case !found[0].newest:
		return fmt.Errorf("%w: a newer import has started", engine.ErrStale)
	case found[0].State != engine.ImportDone:
		return fmt.Errorf("%w: the import is %s", engine.ErrStale, found[0].State)
	}
	for _, l := range links {
		var seen int64
		err := t.QueryRow(ctx, `SELECT 1 FROM {remote_object} WHERE app_id = ? AND kind = ? AND remote_id = ? AND run_id = ?`,
			app, string(l.Kind), text(l.RemoteID), run).Scan(&seen)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: the import has not seen the %s %s", engine.ErrStale, l.Kind, l.RemoteID)
		}
		if err != nil {
			return fmt.Errorf("sqlstore: confirm import %d: %w", run, err)
		}
	}
	conflicts, err := link(ctx, t, app, links, now)
	if err == nil {
		err = linkError(conflicts)
	}
	if err == nil {
		err = recordLinked(ctx, t, app, links)
	}
	if err == nil && len(links) > 0 {
		_, err = t.Exec(ctx, upsertLane, s.laneArgs(app, now, false)...)
	}
	if err != nil {
		return fmt.Errorf("sqlstore: confirm import %d: %w", run, err)
	}
	return nil
}

// RemoteObjects implements store.Imports.
func (s *Store) RemoteObjects(ctx context.Context, q engine.RemoteObjectQuery) ([]engine.RemoteObject, error) {
	where, args := conditions(map[string]string{"verdict": string(q.Verdict)})
	if len(q.Only) > 0 {
		where += " AND remote_id IN " + list(len(q.Only))
		for _, id := range q.Only {
			args = append(args, text(id))
		}
	}
	resource := "''"
	if q.Whole {
		resource = "resource"
	}
	args = append([]any{q.App, string(q.Kind), q.After}, args...)
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id, kind, remote_id, user_name, external_id, email, display_name, active, hash, run_id,
			verdict, rule, principal_id, candidates, note, `+resource+` FROM {remote_object}
		WHERE app_id = ? AND kind = ? AND remote_id > ? AND `+where+` ORDER BY remote_id LIMIT ?`, append(args, limitOr(q.Limit))...)
	out, err := collect(rows, err, func(r *sql.Rows, o *engine.RemoteObject) error {
		var active int64
		var candidates, resource string
		err := r.Scan(&o.App, &o.Kind, &o.RemoteID, &o.UserName, &o.ExternalID, &o.Email, &o.DisplayName, &active, &o.Hash, &o.Run,
			&o.Verdict, &o.Rule, &o.Principal, &candidates, &o.Note, &resource)
		if err != nil {
			return err
		}
		if resource != "" {
			if o.Resource, err = scim.DecodeResource([]byte(resource)); err != nil {
				return err
			}
		}
		o.Active = active == 1
		// such an object was matched until CloseImport or ConfirmMatched found a conflict: its principal is now the only candidate
		if o.Verdict == engine.VerdictAmbiguous && o.Principal != "" {
			o.Candidates, o.Principal = []string{o.Principal}, ""
			return nil
		}
		return decodeJSON(candidates, &o.Candidates)
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: remote objects of %s: %w", q.App, err)
	}
	return out, nil
}
