package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// accountChange is a change of a user's account.
type accountChange struct {
	user  string
	lost  bool // the user no longer has the previous account
	taken bool // another user now has the previous account, which is still a member of groups on the target
}

// holder is a user with an account.
type holder struct {
	user, remote string
	keeps        bool // Want is Active or Keep
}

// holders selects a user and the users that have the same account. With OR instead of the subquery, SQLite would scan all users of the app.
const holders = `SELECT principal_id, remote_id, want FROM {sync_state} WHERE app_id = ? AND kind = 'user' AND principal_id IN (
	SELECT CAST(? AS TEXT) UNION ALL
	SELECT principal_id FROM {sync_state} WHERE app_id = ? AND kind = 'user' AND remote_id <> '' AND remote_id = ?) ORDER BY principal_id`

// lockAccounts serializes the transactions of an app that change the owner of an account or set a manager. Without the lock, two concurrent
// transactions that assign the same account to different users would not see each other. Nor would a transaction that gives a user an
// account see the users whose manager is being set to that user.
func lockAccounts(ctx context.Context, tx *sqldb.Tx, app string) error {
	return tx.Lock(ctx, accountsLock(app))
}

func accountsLock(app string) string { return "engine.accounts." + app }

// earlier has the values of a principal's row before its sequence is finished.
type earlier struct {
	remote, reported string
	interrupted      bool // set by lostUpdates
}

func readEarlier(ctx context.Context, tx *sqldb.Tx, app string, f store.Finish) (e earlier, err error) {
	err = tx.QueryRow(ctx, `SELECT remote_id, told FROM {sync_state} WHERE app_id = ? AND kind = ? AND principal_id = ?`,
		app, string(f.Kind), f.ID).Scan(&e.remote, &e.reported)
	if errors.Is(err, sql.ErrNoRows) {
		err = engine.ErrNotFound
	}
	return e, err
}

// resolveAccount determines the owner of a user's account before the result f is stored, and changes f if the user does not get the
// account. It requeues the users whose manager gains, changes or loses an account. It returns the changes.
func resolveAccount(ctx context.Context, tx *sqldb.Tx, app string, before string, f *store.Finish) ([]accountChange, error) {
	if f.Kind == engine.Group || before == text(f.RemoteID) {
		return nil, nil
	}
	if err := lockAccounts(ctx, tx, app); err != nil {
		return nil, err
	}
	reports, err := lockReports(ctx, tx, app, *f)
	if err != nil {
		return nil, err
	}
	moves, err := assignAccount(ctx, tx, app, f, before)
	if err != nil {
		return nil, err
	}
	return moves, requeueReports(ctx, tx, app, reports, moves, f.At)
}

// assignAccount decides which user owns the account f.RemoteID, if several users have that id, and returns the changes.
func assignAccount(ctx context.Context, tx *sqldb.Tx, app string, f *store.Finish, before string) ([]accountChange, error) {
	query := holders
	if tx.Dialect() == sqldb.Postgres {
		query += ` FOR UPDATE` // lock the rows in the order in which all transactions write them
	}
	rows, err := tx.Query(ctx, query, app, f.ID, app, text(f.RemoteID))
	all, err := collect(rows, err, func(r *sql.Rows, h *holder) error {
		var want engine.Want
		err := r.Scan(&h.user, &h.remote, &want)
		h.keeps = want == engine.Active || want == engine.Keep
		return err
	})
	if err != nil {
		return nil, err
	}
	mine := holder{}
	for _, h := range all {
		if h.user == f.ID {
			mine = h
		}
	}
	others := slices.DeleteFunc(all, func(h holder) bool { return h.user == f.ID })
	again := func(user string) error { return requeueUser(ctx, tx, app, user, f.At) }
	var moves []accountChange
	switch {
	case len(others) == 0:
	case !mine.keeps: // the user must not have the account, but this sequence has changed it: requeue the other users that have it
		f.RemoteID, f.Origin = "", ""
		for _, h := range others {
			if err := again(h.user); err != nil {
				return nil, err
			}
		}
	case slices.ContainsFunc(others, func(h holder) bool { return h.keeps }):
		*f = f.Taken()
	default:
		for _, h := range others {
			_, err := tx.Exec(ctx, `UPDATE {sync_state} SET remote_id = '', link_origin = '', tried = 0, password_version = '', former_id = remote_id
				WHERE app_id = ? AND kind = 'user' AND principal_id = ?`, app, h.user)
			if err != nil {
				return nil, err
			}
			moves = append(moves, accountChange{user: h.user, lost: true, taken: true})
		}
		if err := again(f.ID); err != nil { // requeue the user: a deactivation by the previous owner may be in flight
			return nil, err
		}
	}
	if before != f.RemoteID {
		moves = append(moves, accountChange{user: f.ID, lost: before != ""})
	}
	return moves, nil
}

// requeueUser requeues a user.
func requeueUser(ctx context.Context, tx *sqldb.Tx, app, user string, now time.Time) error {
	_, err := tx.Exec(ctx, upsertMark, markArgs(app, engine.User, user, false, now, false)...)
	return err
}

// requeueGroups requeues the groups that wait for a user in moves, or that have such a user as a member under the previous id.
func requeueGroups(ctx context.Context, tx *sqldb.Tx, app string, moves []accountChange, now time.Time) error {
	full := map[string]bool{} // by group: whether the whole membership is pending
	for taken, users := range usersOf(moves) {
		groups, err := groupsOf(ctx, tx, app, users)
		if err != nil {
			return err
		}
		for _, group := range groups {
			full[group] = full[group] || taken
		}
	}
	for _, group := range slices.Sorted(maps.Keys(full)) {
		if _, err := tx.Exec(ctx, upsertMark, markArgs(app, engine.Group, group, full[group], now, false)...); err != nil {
			return err
		}
	}
	for _, m := range moves {
		if !m.lost {
			continue
		}
		_, err := tx.Exec(ctx, `UPDATE {member_state} SET pushed = 0, pushed_id = '' WHERE app_id = ? AND principal_id = ?`, app, m.user)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM {member_state}
			WHERE app_id = ? AND principal_id = ? AND want = 0 AND pushed = 0 AND asked = 0`, app, m.user)
		if err != nil {
			return err
		}
	}
	return nil
}

// usersOf returns the users of changes, separately for accounts that another user has now.
func usersOf(moves []accountChange) map[bool][]string {
	users := map[bool][]string{}
	for _, m := range moves {
		users[m.taken] = append(users[m.taken], m.user)
	}
	return users
}

// groupsOf returns the groups that wait for one of the users, or have such a user as a member on the target.
func groupsOf(ctx context.Context, tx *sqldb.Tx, app string, users []string) (groups []string, err error) {
	const of = `SELECT group_id FROM {member_state} WHERE app_id = ? AND principal_id = `
	const waits = ` AND (want <> pushed OR pushed = 1)`
	scan := func(r *sql.Rows, id *string) error { return r.Scan(id) }
	if tx.Dialect() == sqldb.Postgres {
		ids, err := sqldb.JSON(users)
		if err != nil {
			return nil, err
		}
		// OFFSET makes PostgreSQL without statistics search for each user, and not read all members of the app.
		rows, err := tx.Query(ctx, `SELECT DISTINCT m.group_id FROM json_array_elements_text(CAST(? AS JSON)) AS v (id)
			CROSS JOIN LATERAL (`+of+`v.id`+waits+` OFFSET 0) AS m`, ids, app)
		return collect(rows, err, scan)
	}
	for _, user := range users {
		rows, err := tx.Query(ctx, of+`?`+waits, app, user)
		found, err := collect(rows, err, scan)
		if err != nil {
			return nil, err
		}
		groups = append(groups, found...)
	}
	return groups, nil
}
