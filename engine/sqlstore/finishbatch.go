package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// batchTimeout is the time limit of the transaction of a batch, which does not end with the context of one of its callers.
const batchTimeout = 5 * time.Second

// updateBatch runs fn in a transaction. alone reports that nothing is stored, and that the cause may be one of the writes: each then needs
// a transaction of its own. If the commit failed, it is unknown whether the writes are stored, as after every failed commit, so that they
// are not repeated.
func (s *Store) updateBatch(ctx context.Context, fn func(ctx context.Context, tx *sqldb.Tx) error) (alone bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	complete := false
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		complete = false
		err := fn(ctx, tx)
		complete = err == nil && tx.Err() == nil
		return err
	})
	return err != nil && !complete && !errors.Is(err, engine.ErrLeaseLost), err
}

// finishBatch stores results of sequences of users, or of groups, in one transaction. Afterwards, each result that is not to be stored
// alone has a status or an error.
func (s *Store) finishBatch(ctx context.Context, l engine.Lease, kind engine.Kind, batch []*result) {
	batch = slices.Clone(batch)
	slices.SortStableFunc(batch, func(a, b *result) int {
		return lockOrder(principal{kind: kind, id: a.f.ID}, principal{kind: kind, id: b.f.ID})
	})
	first := slices.CompactFunc(batch, func(a, b *result) bool { return a.f.ID == b.f.ID }) // the others are stored alone
	var stored []*result
	alone, err := s.updateBatch(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		stored, err = s.finishAll(ctx, tx, l, kind, first)
		return err
	})
	if err != nil {
		stored = first
	}
	for _, r := range stored {
		r.alone, r.err = alone, err
	}
	if err == nil && slices.ContainsFunc(stored, func(r *result) bool { return r.told }) {
		s.recorded(l.App)
	}
}

// finishAll stores results, ascending by id, and returns those that it has stored. It omits results that concern accounts of other users.
func (s *Store) finishAll(ctx context.Context, tx *sqldb.Tx, l engine.Lease, kind engine.Kind, results []*result) ([]*result, error) {
	if kind == engine.User {
		if err := shareAccounts(ctx, tx, l.App, results); err != nil {
			return nil, err
		}
	}
	results, err := lockResults(ctx, tx, l.App, kind, results)
	if err != nil || len(results) == 0 {
		return nil, err
	}
	if err := lostUpdates(ctx, tx, l.App, results...); err != nil {
		return nil, err
	}
	finished := make([]store.Finish, len(results))
	var events []engine.Event
	var changes []accountChange
	for i, r := range results {
		finished[i] = r.f
		var told []engine.Event
		told, r.reported = tell(r.f, r.before)
		events, r.told = append(events, told...), len(told) > 0
		if r.moves() {
			changes = append(changes, accountChange{user: r.f.ID, lost: r.before.remote != ""})
		}
	}
	if kind == engine.Group {
		err = finishMembers(ctx, tx, l.App, finished...)
	} else if len(changes) > 0 {
		err = requeueGroups(ctx, tx, l.App, changes, lastOf(finished))
	}
	if err != nil {
		return nil, err
	}
	statuses, err := s.finishTogether(ctx, tx, l, kind, results, finished, events)
	for _, r := range results {
		r.status = statuses[r.f.ID]
	}
	return results, err
}

// finishTogether stores results in the rows of the principals, which are locked, and in the lane row, with the exchanges and events. It
// returns the stored status by principal.
func (s *Store) finishTogether(ctx context.Context, tx *sqldb.Tx, l engine.Lease, kind engine.Kind, results []*result,
	finished []store.Finish, events []engine.Event) (map[string]engine.Status, error) {
	states, err := stateRows(l.App, kind, results)
	if err != nil {
		return nil, err
	}
	added, left, err := exchangeRows(finished...)
	if err != nil {
		return nil, err
	}
	told, err := eventRows(events)
	if err != nil {
		return nil, err
	}
	query := `WITH exchanges AS (` + insertExchanges + `), trimmed AS (` + trimExchanges + `), states AS (` + updateStates + `)`
	args := []any{l.App, added, l.App, left, l.App, states, l.App}
	success := lastSuccess(finished...)
	if success.IsZero() && len(events) == 0 {
		rows, err := tx.Query(ctx, query+` SELECT principal_id, status FROM states`, args...)
		statuses, err := collectStatuses(rows, err)
		if err != nil {
			return nil, err
		}
		return statuses, fence(ctx, tx, l)
	}
	query += `, lane AS (` + updateLane + `), events AS (` + insertEvents + `)
		SELECT states.principal_id, states.status, lane.event_seq FROM states CROSS JOIN lane`
	args = append(args, len(events), bit(!success.IsZero()), ms(success), l.App, l.Epoch, l.App, told)
	var last int64
	statuses := map[string]engine.Status{}
	rows, err := tx.Query(ctx, query, args...)
	_, err = collect(rows, err, func(r *sql.Rows, id *string) error {
		var status engine.Status
		err := r.Scan(id, &status, &last)
		statuses[*id] = status
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(statuses) == 0:
		return nil, engine.ErrLeaseLost // the rows of the principals exist, so the epoch is another one
	}
	return statuses, s.trimEvents(ctx, tx, l.App, last, len(events))
}

// moves reports whether the result changes the account of a user.
func (r *result) moves() bool {
	return r.f.Kind == engine.User && r.before.remote != text(r.f.RemoteID)
}

// lastOf returns the time of the last of the results.
func lastOf(finished []store.Finish) (last time.Time) {
	for _, f := range finished {
		if f.At.After(last) {
			last = f.At
		}
	}
	return last
}

// shareAccounts is called instead of lockAccounts in a transaction that stores results of users, none of which concerns other users (see
// lockResults). Such transactions do not wait for each other, unless they give the same account to their users. They wait for the
// transactions that call lockAccounts.
func shareAccounts(ctx context.Context, tx *sqldb.Tx, app string, results []*result) error {
	var accounts []string
	for _, r := range results {
		if account := text(r.f.RemoteID); account != "" {
			accounts = append(accounts, accountsLock(app)+"/"+account)
		}
	}
	slices.Sort(accounts)
	return tx.ShareLock(ctx, accountsLock(app), accounts...)
}

// lockResults locks the rows of the principals, in the order of the results, and reads them. It returns the results whose principals are
// known, except those that concern other users: another user has the new account, or an active user has a manager whose account changes.
func lockResults(ctx context.Context, tx *sqldb.Tx, app string, kind engine.Kind, results []*result) ([]*result, error) {
	type row struct {
		ID     string `json:"id"`
		Remote string `json:"remote"`
	}
	given := map[string]int{} // number of results by account
	rows := make([]row, len(results))
	for i, r := range results {
		rows[i] = row{r.f.ID, text(r.f.RemoteID)}
		given[rows[i].Remote]++
	}
	values, err := sqldb.JSON(rows)
	if err != nil {
		return nil, err
	}
	type state struct {
		id string
		earlier
		concerns bool // the result concerns other users
	}
	found, err := tx.Query(ctx, lockResultRows, bit(kind == engine.User), app, app, values, app, string(kind))
	all, err := collect(found, err, func(r *sql.Rows, s *state) error { return r.Scan(&s.id, &s.remote, &s.reported, &s.concerns) })
	if err != nil {
		return nil, err
	}
	states := make(map[string]state, len(all))
	for _, s := range all {
		states[s.id] = s
	}
	return slices.DeleteFunc(slices.Clone(results), func(r *result) (alone bool) {
		s, known := states[r.f.ID]
		r.before = s.earlier
		return !known || s.concerns || r.moves() && r.f.RemoteID != "" && given[text(r.f.RemoteID)] > 1
	}), nil
}

// lockResultRows is the statement of lockResults. Each subquery ends at its first row.
const lockResultRows = `SELECT v.id, s.remote_id, s.told, ? = 1 AND s.remote_id <> v.remote AND (
		COALESCE((SELECT true FROM {sync_state} WHERE app_id = ? AND kind = 'user' AND remote_id <> '' AND remote_id = v.remote
			AND principal_id <> v.id LIMIT 1), false)
		OR COALESCE((SELECT true FROM {sync_state} WHERE app_id = ? AND manager_id <> '' AND kind = 'user' AND want = 'active'
			AND manager_id = v.id LIMIT 1), false))
	FROM json_to_recordset(CAST(? AS JSON)) AS v (id TEXT, remote TEXT) CROSS JOIN LATERAL (
		SELECT remote_id, told FROM {sync_state} WHERE app_id = ? AND kind = ? AND principal_id = v.id FOR UPDATE) AS s`

// beginBatch stores the intents of several calls of Begin in one transaction. A principal of two calls is stored by the first one.
func (s *Store) beginBatch(ctx context.Context, l engine.Lease, batch []*start) {
	seen := map[principal]bool{}
	var stored []*start
	var intents []store.Intent
	for _, b := range batch {
		if !slices.ContainsFunc(b.intents, func(i store.Intent) bool { return seen[principal{kind: i.Kind, id: i.ID}] }) {
			stored, intents = append(stored, b), append(intents, b.intents...)
		}
		for _, i := range b.intents {
			seen[principal{kind: i.Kind, id: i.ID}] = true
		}
	}
	alone, err := s.updateBatch(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := begin(ctx, tx, l, intents); err != nil {
			return err
		}
		return fence(ctx, tx, l)
	})
	for _, b := range stored {
		b.alone, b.err = alone, err
	}
}
