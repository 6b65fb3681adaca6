package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

var memberSets = map[store.MemberSet]string{
	store.MembersAsked:   `m.asked > 0`,
	store.MembersWanted:  `m.want = 1`,
	store.MembersPending: `m.want <> m.pushed`,
	store.MembersAll:     `1 = 1`,
	store.MembersLeaving: `m.want <> m.pushed AND m.want = 0`,
}

// Members implements store.Members.
func (s *Store) Members(ctx context.Context, app string, q store.MemberQuery) ([]store.Member, error) {
	query, args := membersOfGroup(s.db.Dialect(), app, q)
	rows, err := s.db.Reader().Query(ctx, query, args...)
	out, err := collect(rows, err, func(r *sql.Rows, m *store.Member) error {
		var want, pushed int64
		err := r.Scan(&m.User, &want, &pushed, &m.PushedID, &m.Asked, &m.RemoteID, &m.RemoteName)
		m.Want, m.Pushed, m.MayBeMember = want == 1, pushed == 1, pushed == 2
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: members of %s of %s: %w", q.Group, app, err)
	}
	return out, nil
}

// membersOfGroup returns the query of Members and its parameters. It uses subqueries instead of a join, because PostgreSQL without
// statistics would join each page with all users of the app. Each subquery has the app as a parameter, so that it reads one partition. The
// condition compares the pair of group and user, which is a part of the key. With the user alone, PostgreSQL without statistics would read
// the members of all groups by the index of the users. The query for PostgreSQL looks up each user once, the query for SQLite once per
// column.
func membersOfGroup(d sqldb.Dialect, app string, q store.MemberQuery) (string, []any) {
	const columns, user = `m.principal_id, m.want, m.pushed, m.pushed_id, m.asked`,
		` FROM {sync_state} u WHERE u.app_id = ? AND u.kind = 'user' AND u.principal_id = m.principal_id`
	page := ` FROM {member_state} m WHERE m.app_id = ? AND m.group_id = ? AND (m.group_id, m.principal_id) > (?, ?) AND ` +
		memberSets[q.Which] + ` ORDER BY m.group_id, m.principal_id ` + sqldb.Limit
	of := []any{app, q.Group, q.Group, q.After, limitOr(q.Limit)}
	if d == sqldb.Postgres {
		return `SELECT ` + columns + `, COALESCE(v.remote_id, ''), COALESCE(v.remote_name, '')
			FROM (SELECT ` + columns + page + `) AS m
			LEFT JOIN LATERAL (SELECT u.remote_id, u.remote_name` + user + ` LIMIT 1) AS v ON TRUE ORDER BY m.principal_id`, append(of, app)
	}
	return `SELECT ` + columns + `, COALESCE((SELECT u.remote_id` + user + `), ''), COALESCE((SELECT u.remote_name` + user + `), '')` + page,
		append([]any{app, app}, of...)
}

// shareAtMost is the number of users whose rows lockMembers locks. More of them cost more than the wait of other transactions.
const shareAtMost = 100

// lockMembers makes PostgreSQL wait for transactions that change the accounts of the users, and then lock the row of a group before those
// of its members. Without the wait, such a transaction would search for groups that wait for its user and not find the uncommitted member
// row. The transaction that stores the members would not find the new id of the user either. The row of the group is locked as in a mark:
// EndWalk writes the members of the last page first and then the members that the walk has not seen, so that member rows alone would be
// locked in different orders.
func lockMembers(ctx context.Context, tx *sqldb.Tx, app, group string, answers []store.MemberAnswer) error {
	if tx.Dialect() != sqldb.Postgres {
		return nil // SQLite has a single writer
	}
	var users []string // ascending
	if len(answers) > shareAtMost {
		if err := lockAccounts(ctx, tx, app); err != nil {
			return err
		}
	} else {
		for _, a := range answers {
			users = append(users, a.User)
		}
	}
	ids, err := sqldb.JSON(append([]string{}, users...))
	if err != nil {
		return err
	}
	// A subquery for each user: otherwise PostgreSQL without statistics would read all users of the app. The row of the group is read after
	// the number of locked rows is known.
	_, err = tx.Exec(ctx, `WITH users AS MATERIALIZED (
			SELECT 1 FROM json_array_elements_text(CAST(? AS JSON)) WITH ORDINALITY AS v (id, n) CROSS JOIN LATERAL (
				SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = 'user' AND principal_id = v.id FOR SHARE) AS u)
		SELECT 1 FROM (SELECT COUNT(*) AS n FROM users) AS locked CROSS JOIN LATERAL (
			SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = 'group' AND principal_id = ? AND locked.n >= 0 FOR UPDATE) AS g`,
		ids, app, app, group)
	return err
}

// SaveMembers implements store.Members.
func (s *Store) SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []store.MemberAnswer) error {
	return s.withLease(ctx, l, "save members of "+group, func(tx *sqldb.Tx) error {
		if err := saveMembers(ctx, tx, l.App, group, walk, answers); err != nil {
			return err
		}
		var left []member
		for _, a := range answers {
			if !a.Want {
				left = append(left, member{group: group, user: a.User})
			}
		}
		return dropEach(ctx, tx, l.App, left)
	})
}

// EndWalk implements store.Members.
func (s *Store) EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []store.MemberAnswer) error {
	return s.withLease(ctx, l, "end the walk through "+group, func(tx *sqldb.Tx) error {
		if err := saveMembers(ctx, tx, l.App, group, walk, last); err != nil {
			return err
		}
		if tx.Dialect() == sqldb.Postgres { // both statements in one, each row in one of them
			_, err := tx.Exec(ctx, `WITH gone AS (DELETE FROM {member_state} WHERE app_id = ? AND group_id = ?
					AND (walk <> ? OR want = 0) AND pushed = 0 AND asked = 0)
				UPDATE {member_state} SET want = 0 WHERE app_id = ? AND group_id = ? AND walk <> ? AND want = 1 AND (pushed <> 0 OR asked <> 0)`,
				l.App, group, walk, l.App, group, walk)
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE {member_state} SET want = 0 WHERE app_id = ? AND group_id = ? AND walk <> ? AND want = 1`,
			l.App, group, walk)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, dropMembers, l.App, group)
		return err
	})
}

// saveMembers stores the responses of the directory, users ascending.
func saveMembers(ctx context.Context, tx *sqldb.Tx, app, group string, walk int64, answers []store.MemberAnswer) error {
	answers = slices.SortedFunc(slices.Values(answers), func(a, b store.MemberAnswer) int { return strings.Compare(a.User, b.User) })
	if err := lockMembers(ctx, tx, app, group, answers); err != nil {
		return err
	}
	fresh, err := newMembers(ctx, tx, app, group, walk, answers)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(answers, rowsAtOnce(tx.Dialect())) {
		if err := storeMembers(ctx, tx, app, group, walk, some, fresh); err != nil {
			return err
		}
	}
	return nil
}

// newMembers reports whether none of the members of a page of a walk has a row. The row of the group is locked, so that no other
// transaction adds one. On PostgreSQL, an INSERT without a conflict clause takes less processor time, about two thirds.
func newMembers(ctx context.Context, tx *sqldb.Tx, app, group string, walk int64, answers []store.MemberAnswer) (bool, error) {
	if tx.Dialect() != sqldb.Postgres || walk == 0 || len(answers) <= shareAtMost {
		return false, nil
	}
	var known bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM {member_state} WHERE app_id = ? AND group_id = ?
		AND (group_id, principal_id) >= (?, ?) AND (group_id, principal_id) <= (?, ?))`,
		app, group, group, answers[0].User, group, answers[len(answers)-1].User).Scan(&known)
	return !known, err
}

// storeMembers stores responses of the directory. fresh reports that none of the members has a row. A response carries the value of the
// column asked before the query of the directory. If the stored value is still the same, asked is set to 0. Otherwise a mark arrived after
// the query, and asked is unchanged. The value is passed in the column asked of the new row, because a conflict clause can only refer to
// columns.
func storeMembers(ctx context.Context, tx *sqldb.Tx, app, group string, walk int64, answers []store.MemberAnswer, fresh bool) error {
	const row = `(?, ?, ?, ?, 0, '', ?, ?)`
	rows, args := `VALUES `+row+strings.Repeat(`, `+row, len(answers)-1), make([]any, 0, 6*len(answers))
	if tx.Dialect() == sqldb.Postgres {
		stored, err := memberRows(answers)
		if err != nil {
			return err
		}
		rows = `SELECT CAST(? AS TEXT), CAST(? AS TEXT), v.id, v.want, 0, '', v.asked, CAST(? AS BIGINT)
			FROM json_to_recordset(CAST(? AS JSON)) AS v (id TEXT, want BIGINT, asked BIGINT)`
		args = append(args, app, group, walk, stored)
	} else {
		for _, a := range answers {
			args = append(args, app, group, a.User, bit(a.Want), a.Asked, walk)
		}
	}
	conflict := ` ON CONFLICT (app_id, group_id, principal_id) DO UPDATE SET
			want = excluded.want,
			walk = CASE WHEN excluded.walk > 0 THEN excluded.walk ELSE {member_state}.walk END,
			asked = CASE WHEN {member_state}.asked = excluded.asked THEN 0 ELSE {member_state}.asked END`
	if fresh {
		conflict = ``
	}
	_, err := tx.Exec(ctx, `INSERT INTO {member_state} (app_id, group_id, principal_id, want, pushed, pushed_id, asked, walk)
		`+rows+conflict, args...)
	return err
}

// memberRows returns the parameter of storeMembers on PostgreSQL.
func memberRows(answers []store.MemberAnswer) (string, error) {
	type row struct {
		ID    string `json:"id"`
		Want  int64  `json:"want"`
		Asked int64  `json:"asked"`
	}
	rows := make([]row, len(answers))
	for i, a := range answers {
		rows[i] = row{a.User, bit(a.Want), a.Asked}
	}
	return sqldb.JSON(rows)
}
