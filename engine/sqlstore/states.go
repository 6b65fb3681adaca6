package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

const stateColumns = `app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew,
	COALESCE(next_at, 0), attempts,
	remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at, unkept, halted, password_version, dirty_since,
	manager_id, waiting_on, former_id, pending`

func scanState(rows *sql.Rows, s *engine.State) error {
	var tried, anew, next, updated, halted, since int64
	var unkept, waiting, pending string
	err := rows.Scan(&s.App, &s.Kind, &s.ID, &s.Desired, &s.Synced, &s.Full, &s.Status, &s.Want, &tried, &anew, &next, &s.Attempts,
		&s.RemoteID, &s.RemoteName, &s.Origin, &s.LastOperation, &s.LastStatus, &s.LastError, &updated, &unkept, &halted, &s.PasswordVersion,
		&since,
		&s.Manager, &waiting, &s.PreviousID, &pending)
	if err != nil {
		return err
	}
	s.Halted = halted == 1 && s.Status == engine.StatusHeld
	s.MayExist, s.Activating, s.NextAt, s.UpdatedAt, s.DirtySince = tried == 1, anew == 1, at(next), at(updated), at(since)
	if err := decodeJSON(pending, &s.Pending); err != nil {
		return err
	}
	if err := decodeJSON(unkept, &s.IgnoredAttributes); err != nil || s.Status != engine.StatusWaiting {
		return err
	}
	return decodeJSON(waiting, &s.WaitingOn)
}

// dueSets are the conditions of the principals of a lane, most urgent first. Each condition has its own index, so that a long queue of
// creates does not delay a deactivation.
var dueSets = []string{
	`kind = 'user' AND remote_id <> ''`,
	`kind = 'user' AND remote_id = ''`,
	`kind = 'group'`,
}

// duePending selects principals with an accepted change. They are processed first, because the number of accepted changes is limited and
// other principals may wait for them.
const duePending, dueOthers = `status = 'pending'`, ` AND status <> 'pending'`

func dueQuery(set string) string {
	return `SELECT ` + stateColumns + ` FROM {sync_state}
		WHERE app_id = ? AND next_at IS NOT NULL AND next_at <= ? AND ` + set + ` ORDER BY next_at LIMIT ?`
}

// Due implements store.Sequences.
func (s *Store) Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error) {
	sets := dueInOrder()
	if s.db.Dialect() == sqldb.Postgres {
		return s.dueAtOnce(ctx, sets, app, now, limit)
	}
	var out []engine.State
	for _, set := range sets {
		if limit <= len(out) {
			break
		}
		rows, err := s.db.Reader().Query(ctx, dueQuery(set), app, ms(now), limit-len(out))
		found, err := collect(rows, err, scanState)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: due principals of %s: %w", app, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// dueInOrder returns the conditions of all due principals.
func dueInOrder() []string {
	sets := []string{duePending}
	for _, set := range dueSets {
		sets = append(sets, set+dueOthers)
	}
	return sets
}

// dueAtOnce is Due with one statement.
func (s *Store) dueAtOnce(ctx context.Context, sets []string, app string, now time.Time, limit int) ([]engine.State, error) {
	var parts []string
	var args []any
	for n, set := range sets {
		parts = append(parts, `(SELECT `+strconv.Itoa(n)+` AS due_set, s.* FROM {sync_state} s
			WHERE app_id = ? AND next_at IS NOT NULL AND next_at <= ? AND `+set+` ORDER BY next_at LIMIT ?)`)
		args = append(args, app, ms(now), limit)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT `+stateColumns+` FROM (`+strings.Join(parts, ` UNION ALL `)+`) AS due
		ORDER BY due_set, due.next_at LIMIT ?`, append(args, limit)...)
	out, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: due principals of %s: %w", app, err)
	}
	return out, nil
}

// leaverSets are the conditions of the users that may have an account. Each condition has its own index.
var leaverSets = []string{dueSets[0], dueSets[1] + ` AND tried = 1`}

// dueUsers returns the query for a page of a set, ordered by next_at and id.
func dueUsers(set string) string {
	return `SELECT ` + stateColumns + ` FROM {sync_state} WHERE app_id = ? AND next_at IS NOT NULL AND next_at <= ? AND ` + set + dueOthers +
		` AND next_at >= ? AND (next_at, principal_id) > (?, ?) ORDER BY next_at, principal_id LIMIT ?`
}

// DueUsers implements store.Sequences.
func (s *Store) DueUsers(ctx context.Context, app string, now time.Time, after *engine.State, limit int) ([]engine.State, error) {
	var out []engine.State
	for i, set := range leaverSets {
		var since int64
		var id string
		switch {
		case limit <= len(out), after != nil && after.RemoteID == "" && i == 0:
			continue
		case after != nil && (after.RemoteID == "") == (i == 1):
			since, id = ms(after.NextAt), after.ID
		}
		rows, err := s.db.Reader().Query(ctx, dueUsers(set), app, ms(now), since, since, id, limit-len(out))
		found, err := collect(rows, err, scanState)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: due users of %s: %w", app, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// start is a call of Begin in a batch.
type start struct {
	intents []store.Intent
	alone   bool // the intents have to be stored in a transaction of their own
	err     error
}

// Begin implements store.Sequences. On PostgreSQL, concurrent calls for a lane are combined as in Finish.
func (s *Store) Begin(ctx context.Context, l engine.Lease, intents []store.Intent) error {
	if s.db.Dialect() == sqldb.Postgres {
		b := &start{intents: intents, alone: true}
		err := s.beginning.run(ctx, batchKey{app: l.App, epoch: l.Epoch}, b, func(ctx context.Context, batch []*start) {
			s.beginBatch(ctx, l, batch)
		})
		if err != nil {
			return fmt.Errorf("sqlstore: begin of %s: %w", l.App, err)
		}
		if !b.alone {
			return b.err
		}
	}
	return s.withLease(ctx, l, "begin", func(tx *sqldb.Tx) error { return begin(ctx, tx, l, intents) })
}

// begin stores the intents. The caller checks the lease.
func begin(ctx context.Context, tx *sqldb.Tx, l engine.Lease, intents []store.Intent) error {
	intents = slices.SortedFunc(slices.Values(intents), func(a, b store.Intent) int {
		return lockOrder(principal{a.Kind, l.App, a.ID}, principal{b.Kind, l.App, b.ID})
	})
	if slices.ContainsFunc(intents, func(i store.Intent) bool { return i.Manager != "" }) {
		if err := lockAccounts(ctx, tx, l.App); err != nil {
			return err
		}
	}
	if tx.Dialect() == sqldb.Postgres {
		return beginAtOnce(ctx, tx, l.App, intents)
	}
	for _, i := range intents {
		active, creating := bit(i.Want == engine.Active), bit(i.Creating)
		_, err := tx.Exec(ctx, `UPDATE {sync_state} SET
			full_gen = CASE WHEN ? = 1 AND kind = 'group' AND want IN ('inactive', 'absent') THEN desired_gen ELSE full_gen END,
			anew = CASE WHEN ? = 1 AND tried = 0 THEN 1 ELSE anew END,
			tried = CASE WHEN ? = 1 THEN 1 ELSE tried END,
			remote_name = CASE WHEN (remote_id = '' OR kind = 'group') AND ? = 1 OR remote_id = '' AND tried = 0 AND ? <> ''
				THEN ? ELSE remote_name END,
			link_origin = CASE WHEN ? = 1 AND (remote_id = '' OR kind = 'group') THEN 'unconfirmed' ELSE link_origin END,
			remote_id = CASE WHEN ? = 1 AND kind = 'group' THEN '' ELSE remote_id END,
			manager_id = CASE WHEN ? <> '' THEN ? ELSE manager_id END,
			want = ? WHERE app_id = ? AND kind = ? AND principal_id = ?`,
			active, active, active, creating, text(i.Name), text(i.Name), creating, creating, i.Manager, i.Manager,
			string(i.Want), l.App, string(i.Kind), i.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// beginAtOnce stores the intents, which are in the order in which rows are locked, with one statement, or two for more than one row: the
// UPDATE alone locks the rows in any order.
func beginAtOnce(ctx context.Context, tx *sqldb.Tx, app string, intents []store.Intent) error {
	if len(intents) == 0 {
		return nil
	}
	type row struct {
		App      string `json:"app"`
		Kind     string `json:"kind"`
		ID       string `json:"id"`
		Want     string `json:"want"`
		Name     string `json:"name"`
		Manager  string `json:"manager"`
		Creating bool   `json:"creating"`
	}
	rows := make([]row, len(intents))
	for n, i := range intents {
		rows[n] = row{app, string(i.Kind), i.ID, string(i.Want), text(i.Name), i.Manager, i.Creating}
	}
	wanted, err := sqldb.JSON(rows)
	if err != nil {
		return err
	}
	if len(rows) > 1 {
		_, err := tx.Exec(ctx, `SELECT 1 FROM json_to_recordset(CAST(? AS JSON)) AS v (kind TEXT, id TEXT) CROSS JOIN LATERAL (
			SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = v.kind AND principal_id = v.id FOR UPDATE) AS s`, wanted, app)
		if err != nil {
			return err
		}
	}
	// Each row contains the complete key, so that PostgreSQL without statistics does not read all principals of the app. By the parameter,
	// PostgreSQL selects the partition.
	_, err = tx.Exec(ctx, `UPDATE {sync_state} AS s SET
		full_gen = CASE WHEN v.want = 'active' AND s.kind = 'group' AND s.want IN ('inactive', 'absent') THEN s.desired_gen ELSE s.full_gen END,
		anew = CASE WHEN v.want = 'active' AND s.tried = 0 THEN 1 ELSE s.anew END,
		tried = CASE WHEN v.want = 'active' THEN 1 ELSE s.tried END,
		remote_name = CASE WHEN (s.remote_id = '' OR s.kind = 'group') AND v.creating OR s.remote_id = '' AND s.tried = 0 AND v.name <> ''
			THEN v.name ELSE s.remote_name END,
		link_origin = CASE WHEN v.creating AND (s.remote_id = '' OR s.kind = 'group') THEN 'unconfirmed' ELSE s.link_origin END,
		remote_id = CASE WHEN v.creating AND s.kind = 'group' THEN '' ELSE s.remote_id END,
		manager_id = CASE WHEN v.manager <> '' THEN v.manager ELSE s.manager_id END,
		want = v.want
		FROM json_to_recordset(CAST(? AS JSON)) AS v (app TEXT, kind TEXT, id TEXT, want TEXT, name TEXT, manager TEXT, creating BOOLEAN)
		WHERE s.app_id = v.app AND s.app_id = ? AND s.kind = v.kind AND s.principal_id = v.id`, wanted, app)
	return err
}

// keptExchanges is the number of exchanges that are stored for each principal, and for each app without a principal. New ones replace the
// oldest.
const keptExchanges = 100

// States implements store.States.
func (s *Store) States(ctx context.Context, q engine.StateQuery) ([]engine.State, error) {
	where, args := conditions(map[string]string{
		"app_id": q.App, "kind": string(q.Kind), "principal_id": q.ID, "status": string(q.Status), "remote_id": q.RemoteID,
		"former_id": q.PreviousID,
	})
	// SQLite without the subquery would scan all principals in their order, to avoid a sort
	if q.RemoteID != "" && q.App != "" && q.Kind != "" {
		where += ` AND principal_id IN (SELECT principal_id FROM {sync_state}
			WHERE app_id = ? AND kind = ? AND remote_id <> '' AND remote_id = ?)`
		args = append(args, q.App, string(q.Kind), q.RemoteID)
	}
	if q.PreviousID != "" && q.App != "" && q.Kind != "" {
		where += ` AND principal_id IN (SELECT principal_id FROM {sync_state}
			WHERE app_id = ? AND kind = ? AND former_id <> '' AND former_id = ?)`
		args = append(args, q.App, string(q.Kind), q.PreviousID)
	}
	if q.After != nil {
		where += ` AND (app_id, kind, principal_id) > (?, ?, ?)`
		args = append(args, q.After.App, string(q.After.Kind), q.After.ID)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT `+stateColumns+` FROM {sync_state} WHERE `+where+
		` ORDER BY app_id, kind, principal_id LIMIT ?`, append(args, limitOr(q.Limit))...)
	out, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: states: %w", err)
	}
	return out, nil
}

// Pending implements store.States.
func (s *Store) Pending(ctx context.Context, app string) (n int, err error) {
	where, args := conditions(map[string]string{"app_id": app})
	for _, set := range dueSets {
		var some int
		err = s.db.Reader().QueryRow(ctx, `SELECT COUNT(*) FROM {sync_state}
			WHERE next_at IS NOT NULL AND `+set+` AND `+where, args...).Scan(&some)
		if err != nil {
			return 0, fmt.Errorf("sqlstore: pending: %w", err)
		}
		n += some
	}
	return n, nil
}

// statesAtOnce is the maximum number of ids in one query.
const statesAtOnce = 500

// StatesByID implements store.States.
func (s *Store) StatesByID(ctx context.Context, app string, kind engine.Kind, ids []string) ([]engine.State, error) {
	return s.statesBy(ctx, "principal_id", app, kind, ids)
}

// StatesByRemoteID implements store.States.
func (s *Store) StatesByRemoteID(ctx context.Context, app string, kind engine.Kind, remoteIDs []string) ([]engine.State, error) {
	return s.statesBy(ctx, "remote_id", app, kind, remoteIDs)
}

func (s *Store) statesBy(ctx context.Context, column, app string, kind engine.Kind, values []string) (out []engine.State, err error) {
	for part := range slices.Chunk(values, statesAtOnce) {
		args := []any{app, string(kind)}
		for _, v := range part {
			args = append(args, text(v))
		}
		rows, err := s.db.Reader().Query(ctx, `SELECT `+stateColumns+` FROM {sync_state}
			WHERE app_id = ? AND kind = ? AND `+column+` <> '' AND `+column+` IN `+list(len(part)), args...)
		found, err := collect(rows, err, scanState)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: states by %s: %w", column, err)
		}
		out = append(out, found...)
	}
	return out, nil
}
