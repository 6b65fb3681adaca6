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
	// The query uses subqueries instead of a join, because PostgreSQL without statistics would join each page with all users of the app.
	// Each of them has the app as a parameter, so that it reads one partition.
	const user = ` FROM {sync_state} u WHERE u.app_id = ? AND u.kind = 'user' AND u.principal_id = m.principal_id), '')`
	rows, err := s.db.Reader().Query(ctx, `SELECT m.principal_id, m.want, m.pushed, m.pushed_id, m.asked,
			COALESCE((SELECT u.remote_id`+user+`, COALESCE((SELECT u.remote_name`+user+`
		FROM {member_state} m WHERE m.app_id = ? AND m.group_id = ? AND m.principal_id > ? AND `+memberSets[q.Which]+`
		ORDER BY m.principal_id `+sqldb.Limit, app, app, app, q.Group, q.After, limitOr(q.Limit))
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

// shareUsers makes PostgreSQL wait for transactions that finish sequences of the users. Without the wait, such a transaction would search
// for groups that wait for its user and not find the uncommitted member row. The transaction that stores the members would not find the new
// id of the user either.
func shareUsers(ctx context.Context, tx *sqldb.Tx, app string, answers []store.MemberAnswer) error {
	if tx.Dialect() != sqldb.Postgres {
		return nil // SQLite has a single writer
	}
	for some := range slices.Chunk(answers, rowsAtOnce) { // ascending
		args := []any{app}
		for _, a := range some {
			args = append(args, a.User)
		}
		_, err := tx.Exec(ctx, `SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = 'user' AND principal_id IN (?`+
			strings.Repeat(`, ?`, len(some)-1)+`) ORDER BY principal_id FOR SHARE`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// SaveMembers implements store.Members.
func (s *Store) SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []store.MemberAnswer) error {
	return s.withLease(ctx, l, "save members of "+group, func(tx *sqldb.Tx) error {
		if err := saveMembers(ctx, tx, l.App, group, walk, answers); err != nil {
			return err
		}
		for _, a := range answers {
			if a.Want {
				continue
			}
			if _, err := tx.Exec(ctx, dropMembers+` AND principal_id = ?`, l.App, group, a.User); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndWalk implements store.Members.
func (s *Store) EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []store.MemberAnswer) error {
	return s.withLease(ctx, l, "end the walk through "+group, func(tx *sqldb.Tx) error {
		if err := saveMembers(ctx, tx, l.App, group, walk, last); err != nil {
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
	if err := shareUsers(ctx, tx, app, answers); err != nil {
		return err
	}
	if err := lockGroup(ctx, tx, app, group); err != nil {
		return err
	}
	for some := range slices.Chunk(answers, rowsAtOnce) {
		if err := upsertMembers(ctx, tx, app, group, walk, some); err != nil {
			return err
		}
	}
	return nil
}

// lockGroup makes PostgreSQL lock the row of a group before those of its members, as a mark does. The lock is necessary because EndWalk
// writes the members of the last page first and then the members that the walk has not seen: member rows alone would be locked in different
// orders.
func lockGroup(ctx context.Context, tx *sqldb.Tx, app, group string) error {
	if tx.Dialect() != sqldb.Postgres {
		return nil // SQLite has a single writer
	}
	_, err := tx.Exec(ctx, `SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = 'group' AND principal_id = ? FOR UPDATE`, app, group)
	return err
}

// upsertMembers stores responses of the directory. A response carries the value of the column asked before the query of the directory. If
// the stored value is still the same, asked is set to 0. Otherwise a mark arrived after the query, and asked is unchanged. The value is
// passed in the column asked of the new row, because a conflict clause can only refer to columns.
func upsertMembers(ctx context.Context, tx *sqldb.Tx, app, group string, walk int64, answers []store.MemberAnswer) error {
	const row = `(?, ?, ?, ?, 0, '', ?, ?)`
	args := make([]any, 0, 6*len(answers))
	for _, a := range answers {
		args = append(args, app, group, a.User, bit(a.Want), a.Asked, walk)
	}
	_, err := tx.Exec(ctx, `INSERT INTO {member_state} (app_id, group_id, principal_id, want, pushed, pushed_id, asked, walk)
		VALUES `+row+strings.Repeat(`, `+row, len(answers)-1)+`
		ON CONFLICT (app_id, group_id, principal_id) DO UPDATE SET
			want = excluded.want,
			walk = CASE WHEN excluded.walk > 0 THEN excluded.walk ELSE {member_state}.walk END,
			asked = CASE WHEN {member_state}.asked = excluded.asked THEN 0 ELSE {member_state}.asked END`, args...)
	return err
}
