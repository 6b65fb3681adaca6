package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// result is a result of a sequence in a batch.
type result struct {
	f      store.Finish
	alone  bool // the result has to be stored in a transaction of its own
	status engine.Status
	err    error

	before   earlier // the row before the sequence is finished
	reported string
	told     bool // the result has events
}

// Finish implements store.Sequences. On PostgreSQL the results of a lane that end while another transaction of the lane is committed are
// stored in one transaction. A result that this transaction cannot store is stored in a transaction of its own.
func (s *Store) Finish(ctx context.Context, l engine.Lease, f store.Finish) (status engine.Status, err error) {
	if s.db.Dialect() != sqldb.Postgres || f.Halted {
		return s.finish(ctx, l, f)
	}
	r := &result{f: f, alone: true}
	err = s.finishing.run(ctx, batchKey{l.App, l.Epoch, f.Kind}, r, func(ctx context.Context, batch []*result) {
		s.finishBatch(ctx, l, f.Kind, batch)
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("sqlstore: finish %s %s of %s: %w", f.Kind, f.ID, l.App, err)
	case r.alone:
		return s.finish(ctx, l, f)
	case r.err != nil:
		return "", fmt.Errorf("sqlstore: finish %s %s of %s: %w", f.Kind, f.ID, l.App, r.err)
	}
	return r.status, nil
}

// finish stores the result of a sequence in a transaction of its own.
func (s *Store) finish(ctx context.Context, l engine.Lease, f store.Finish) (status engine.Status, err error) {
	told := false
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		f := f // a copy: the transaction may run again
		if err := recheckHalt(ctx, tx, l.App, &f); err != nil {
			return err
		}
		before, err := readEarlier(ctx, tx, l.App, f)
		if err != nil {
			return err
		}
		moves, err := resolveAccount(ctx, tx, l.App, before.remote, &f)
		if err != nil {
			return err
		}
		r := result{f: f, before: before}
		if err := lostUpdates(ctx, tx, l.App, &r); err != nil {
			return err
		}
		events, reported := tell(f, r.before)
		told = len(events) > 0
		if status, err = finishState(ctx, tx, l.App, f, reported); err != nil {
			return err
		}
		if f.Kind == engine.Group {
			err = finishMembers(ctx, tx, l.App, f)
		} else {
			err = requeueGroups(ctx, tx, l.App, moves, f.At)
		}
		if err != nil {
			return err
		}
		if err := storeExchanges(ctx, tx, l.App, f); err != nil {
			return err
		}
		return s.finishLane(ctx, tx, l, lastSuccess(f), events)
	})
	switch {
	case err != nil:
		err = fmt.Errorf("sqlstore: finish %s %s of %s: %w", f.Kind, f.ID, l.App, err)
	case told:
		s.recorded(l.App)
	}
	return status, err
}

// tell returns the events of a result, and the key of the last failure that was reported.
func tell(f store.Finish, before earlier) (events []engine.Event, reported string) {
	events, reported = f.Tell(before.remote, before.reported)
	if before.interrupted && len(events) == 0 {
		e := engine.Event{Type: engine.EventType(string(f.Kind) + ".updated"), Kind: f.Kind, Principal: f.ID}
		e.Data = engine.EventData{Operation: engine.OpUpdate, Status: f.Status, HTTP: f.HTTP, RemoteID: f.RemoteID}
		if len(f.Exchanges) > 0 {
			e.Data.Run = f.Exchanges[0].Run
		}
		events = append(events, e)
	}
	for i := range events {
		events[i].At = f.At
	}
	return events, reported
}

// lastSuccess returns the time of the last successful sequence, zero if none is.
func lastSuccess(all ...store.Finish) (last time.Time) {
	for _, f := range all {
		if (f.Status == engine.StatusClean || f.Status == engine.StatusWaiting) && f.At.After(last) {
			last = f.At
		}
	}
	return last
}

// finishSet are the assignments that store a result. v.name stands for a value of finishValues.
//
// A mark that arrived during the sequence (desired_gen > gen) requeues a principal that would otherwise stop. In a backoff, the principal
// waits anyway. If such a mark arrived, updated_at is the time of that mark. A principal that was dismissed or dropped during the sequence
// stays dismissed, unless the sequence succeeded or needs a decision: the principal is not retried and is not a new task.
const finishSet = `
	synced_gen = CASE WHEN v.synced = 1 THEN v.gen ELSE synced_gen END,
	full_gen = CASE WHEN v.unknown = 1 THEN desired_gen WHEN v.whole = 1 AND full_gen <= v.gen THEN 0 ELSE full_gen END,
	status = CASE WHEN v.over = 1 AND status = 'dismissed' THEN 'dismissed' WHEN v.parked = 1 AND desired_gen > v.gen THEN 'dirty'
		ELSE v.ends END,
	next_at = CASE WHEN v.over = 1 AND status = 'dismissed' THEN NULL WHEN v.parked = 1 AND desired_gen > v.gen THEN CAST(v.ended AS BIGINT)
		ELSE CAST(v.again AS BIGINT) END,
	attempts = CASE WHEN v.parked = 1 AND desired_gen > v.gen THEN 0 ELSE CAST(v.tries AS BIGINT) END,
	tried = CASE WHEN v.ends = 'clean' AND want <> 'active' OR v.untried = 1 THEN 0 ELSE tried END,
	anew = CASE WHEN v.ends IN ('clean', 'waiting') THEN 0 ELSE anew END,
	remote_id = v.remote, remote_name = v.name, link_origin = v.origin,
	former_id = CASE WHEN remote_id <> '' AND remote_id <> v.remote THEN remote_id ELSE former_id END,
	last_op = v.op, last_http = v.http, last_error = v.error, updated_at = v.ended,
	unkept = CASE WHEN fresh_gen > v.gen THEN '' ELSE v.ignored END,
	halted = v.stopped, manager_id = v.manager, waiting_on = v.missing, pending = v.accepted,
	password_version = CASE WHEN v.remote = '' THEN '' ELSE v.password END,
	dirty_since = CASE WHEN v.synced = 0 THEN dirty_since WHEN desired_gen > v.gen THEN updated_at ELSE 0 END,
	told = v.reported,
	overdue_at = CASE WHEN v.synced = 0 THEN overdue_at ELSE 0 END`

// finishColumns are the names and types of the values of finishSet.
const finishColumns = `id TEXT, gen BIGINT, synced BIGINT, unknown BIGINT, whole BIGINT, over BIGINT, parked BIGINT, untried BIGINT,
	stopped BIGINT, ends TEXT, ended BIGINT, again BIGINT, tries BIGINT, remote TEXT, name TEXT, origin TEXT, op TEXT, http BIGINT, error TEXT,
	ignored TEXT, manager TEXT, missing TEXT, accepted TEXT, password TEXT, reported TEXT`

// finishValues returns the values of a result by the names of finishColumns.
func finishValues(f store.Finish, reported string) (map[string]any, error) {
	unkept, waiting, pending := "", "", ""
	var err error
	if f.Pending != nil {
		if pending, err = encodeJSON(f.Pending); err != nil {
			return nil, err
		}
	}
	if len(f.IgnoredAttributes) > 0 {
		if unkept, err = encodeJSON(f.IgnoredAttributes); err != nil {
			return nil, err
		}
	}
	if len(f.WaitingOn) > 0 {
		if waiting, err = encodeJSON(f.WaitingOn); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"id": f.ID, "gen": f.Gen, "unknown": bit(f.MembersUnknown), "whole": bit(f.Whole), "untried": bit(f.Untried), "stopped": bit(f.Halted),
		"synced": bit(f.Status == engine.StatusClean || f.Status == engine.StatusSkipped || f.Status == engine.StatusWaiting),
		"over": bit(slices.Contains(
			[]engine.Status{engine.StatusRetrying, engine.StatusDirty, engine.StatusPending, engine.StatusFailed}, f.Status)),
		"parked": bit(f.NextAt.IsZero()),
		"ends":   string(f.Status), "ended": ms(f.At), "again": due(f.NextAt), "tries": f.Attempts,
		"remote": text(f.RemoteID), "name": text(f.RemoteName), "origin": string(f.Origin),
		"op": string(f.Operation), "http": f.HTTP, "error": text(f.Error),
		"ignored": unkept, "manager": f.Manager, "missing": waiting, "accepted": pending, "password": text(f.PasswordVersion),
		"reported": reported,
	}, nil
}

// finishSetSQLite is finishSet with placeholders, and finishNames are the names of their values.
var finishSetSQLite, finishNames = func() (set string, names []string) {
	set = regexp.MustCompile(`v\.[a-z]+`).ReplaceAllStringFunc(finishSet, func(name string) string {
		names = append(names, strings.TrimPrefix(name, "v."))
		return "?"
	})
	return set, names
}()

// finishState stores the result in the row of the principal.
func finishState(ctx context.Context, tx *sqldb.Tx, app string, f store.Finish, reported string) (status engine.Status, err error) {
	if tx.Dialect() == sqldb.Postgres {
		stored, err := finishStates(ctx, tx, app, f.Kind, []*result{{f: f, reported: reported}})
		if err == nil && len(stored) == 0 {
			err = sql.ErrNoRows
		}
		return stored[f.ID], err
	}
	values, err := finishValues(f, reported)
	if err != nil {
		return "", err
	}
	args := make([]any, 0, len(finishNames)+3)
	for _, name := range finishNames {
		args = append(args, values[name])
	}
	err = tx.ExecReturning(ctx, []any{&status}, `UPDATE {sync_state} SET `+finishSetSQLite+`
		WHERE app_id = ? AND kind = ? AND principal_id = ? RETURNING status`, append(args, app, string(f.Kind), f.ID)...)
	return status, err
}

// finishStates stores results in the rows of the principals with one statement, for PostgreSQL. It returns the stored status by principal.
func finishStates(ctx context.Context, tx *sqldb.Tx, app string, kind engine.Kind, results []*result) (map[string]engine.Status, error) {
	values, err := stateRows(app, kind, results)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, updateStates, values, app)
	return collectStatuses(rows, err)
}

// updateStates stores results in the rows of the principals. Parameters: the result of stateRows, and the app. Each row contains the
// complete key, as in beginAtOnce.
const updateStates = `UPDATE {sync_state} AS s SET ` + finishSet + ` FROM json_to_recordset(CAST(? AS JSON)) AS v
	(app TEXT, kind TEXT, ` + finishColumns + `)
	WHERE s.app_id = v.app AND s.app_id = ? AND s.kind = v.kind AND s.principal_id = v.id RETURNING s.principal_id, s.status`

func stateRows(app string, kind engine.Kind, results []*result) (string, error) {
	rows := make([]map[string]any, len(results))
	for i, r := range results {
		var err error
		if rows[i], err = finishValues(r.f, r.reported); err != nil {
			return "", err
		}
		rows[i]["app"], rows[i]["kind"] = app, string(kind)
	}
	return sqldb.JSON(rows)
}

func collectStatuses(rows *sql.Rows, err error) (map[string]engine.Status, error) {
	statuses := map[string]engine.Status{}
	_, err = collect(rows, err, func(r *sql.Rows, id *string) error {
		var status engine.Status
		err := r.Scan(id, &status)
		statuses[*id] = status
		return err
	})
	return statuses, err
}

// finishMembers stores the pushed members of groups.
func finishMembers(ctx context.Context, tx *sqldb.Tx, app string, groups ...store.Finish) error {
	var pushed []push
	for _, f := range groups {
		if !f.Forget {
			pushed = append(pushed, push{f.ID, f.Replaced, f.Added, f.Removed})
		} else if _, err := tx.Exec(ctx, `DELETE FROM {member_state} WHERE app_id = ? AND group_id = ?`, app, f.ID); err != nil {
			return err
		}
	}
	return storePushed(ctx, tx, app, pushed...)
}
