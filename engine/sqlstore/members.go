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

// page is a page of a walk through the members of a group, or, if walk is 0, members about which the directory was asked.
type page struct {
	group   string
	walk    int64
	answers []store.MemberAnswer // ascending by user
}

// shareAtMost is the number of users of a page whose rows lockMembers locks. More of them cost more than the wait of other transactions.
const shareAtMost = 100

// lockMembers makes PostgreSQL wait for transactions that change the accounts of the users, and then lock the rows of the groups before
// those of their members. Without the wait, such a transaction would search for groups that wait for its user and not find the uncommitted
// member row. The transaction that stores the members would not find the new id of the user either. The row of a group is locked as in a
// mark: EndWalk writes the members of the last page first and then the members that the walk has not seen, so that member rows alone would
// be locked in different orders. The pages are ascending by group.
func lockMembers(ctx context.Context, tx *sqldb.Tx, app string, pages []page) error {
	if tx.Dialect() != sqldb.Postgres {
		return nil // SQLite has a single writer
	}
	users, groups := []string{}, make([]string, len(pages))
	for i, p := range pages {
		groups[i] = p.group
		if len(p.answers) > shareAtMost {
			if err := lockAccounts(ctx, tx, app); err != nil {
				return err
			}
			continue
		}
		for _, a := range p.answers {
			users = append(users, a.User)
		}
	}
	slices.Sort(users) // every transaction locks them in this order
	userIDs, err := sqldb.JSON(slices.Compact(users))
	if err != nil {
		return err
	}
	groupIDs, err := sqldb.JSON(groups)
	if err != nil {
		return err
	}
	// A subquery for each row: otherwise PostgreSQL without statistics would read all rows of the app. The rows of the groups are read after
	// the number of locked users is known.
	_, err = tx.Exec(ctx, `WITH users AS MATERIALIZED (
			SELECT 1 FROM json_array_elements_text(CAST(? AS JSON)) WITH ORDINALITY AS v (id, n) CROSS JOIN LATERAL (
				SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = 'user' AND principal_id = v.id FOR SHARE) AS u)
		SELECT 1 FROM json_array_elements_text(CAST(? AS JSON)) WITH ORDINALITY AS v (id, n)
			CROSS JOIN (SELECT COUNT(*) AS n FROM users) AS locked CROSS JOIN LATERAL (
			SELECT 1 FROM {sync_state} WHERE app_id = ? AND kind = 'group' AND principal_id = v.id AND locked.n >= 0 FOR UPDATE) AS g`,
		userIDs, app, groupIDs, app)
	return err
}

// SaveMembers implements store.Members.
func (s *Store) SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []store.MemberAnswer) error {
	return s.withLease(ctx, l, "save members of "+group, func(tx *sqldb.Tx) error {
		if err := saveMembers(ctx, tx, l.App, pageOf(group, walk, answers)); err != nil {
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

// lastPage is the last page of a walk in a batch.
type lastPage struct {
	page
	alone bool // the page has to be stored in a transaction of its own
	err   error
}

// EndWalk implements store.Members. On PostgreSQL the last pages of walks that end while another such transaction of the lane is committed
// are stored in one transaction, except large ones.
func (s *Store) EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []store.MemberAnswer) error {
	w := &lastPage{page: pageOf(group, walk, last), alone: true}
	if s.db.Dialect() == sqldb.Postgres && len(last) <= shareAtMost {
		err := s.walking.run(ctx, batchKey{l.App, l.Epoch, engine.Group}, w, func(ctx context.Context, batch []*lastPage) {
			s.endWalkBatch(ctx, l, batch)
		})
		if err == nil {
			err = w.err
		}
		if err != nil {
			return fmt.Errorf("sqlstore: end the walk through %s of %s: %w", group, l.App, err)
		}
	}
	if !w.alone {
		return nil
	}
	return s.withLease(ctx, l, "end the walk through "+group, func(tx *sqldb.Tx) error { return endWalks(ctx, tx, l.App, w.page) })
}

// endWalkBatch stores the last pages of several walks in one transaction. Of two walks through one group, the second is stored alone.
func (s *Store) endWalkBatch(ctx context.Context, l engine.Lease, batch []*lastPage) {
	batch = slices.Clone(batch)
	slices.SortStableFunc(batch, func(a, b *lastPage) int { return strings.Compare(a.group, b.group) })
	batch = slices.CompactFunc(batch, func(a, b *lastPage) bool { return a.group == b.group })
	pages := make([]page, len(batch))
	for i, w := range batch {
		pages[i] = w.page
	}
	alone, err := s.updateBatch(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := endWalks(ctx, tx, l.App, pages...); err != nil {
			return err
		}
		return fence(ctx, tx, l)
	})
	for _, w := range batch {
		if w.alone = alone; !alone {
			w.err = err
		}
	}
}

// endWalks stores the last pages of walks, ascending by group, and the end of the walks. The caller checks the lease.
func endWalks(ctx context.Context, tx *sqldb.Tx, app string, pages ...page) error {
	if err := saveMembers(ctx, tx, app, pages...); err != nil {
		return err
	}
	if tx.Dialect() == sqldb.Postgres {
		return endWalksAtOnce(ctx, tx, app, pages)
	}
	for _, p := range pages {
		_, err := tx.Exec(ctx, `UPDATE {member_state} SET want = 0 WHERE app_id = ? AND group_id = ? AND walk <> ? AND want = 1`,
			app, p.group, p.walk)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, dropMembers, app, p.group); err != nil {
			return err
		}
	}
	return nil
}

// endWalksAtOnce is endWalks after the pages are stored, for PostgreSQL: it deletes or changes each row of a member that the walk has not
// seen in the same statement.
func endWalksAtOnce(ctx context.Context, tx *sqldb.Tx, app string, pages []page) error {
	type row struct {
		App   string `json:"app"`
		Group string `json:"grp"`
		Walk  int64  `json:"walk"`
	}
	rows := make([]row, len(pages))
	for i, p := range pages {
		rows[i] = row{app, p.group, p.walk}
	}
	walks, err := sqldb.JSON(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `WITH gone AS (DELETE FROM {member_state} AS m USING `+groupKeys+`
			AND (m.walk <> v.walk OR m.want = 0) AND m.pushed = 0 AND m.asked = 0)
		UPDATE {member_state} AS m SET want = 0 FROM `+groupKeys+`
			AND m.walk <> v.walk AND m.want = 1 AND (m.pushed <> 0 OR m.asked <> 0)`, walks, app, walks, app)
	return err
}

// pageOf returns a page with the responses of the directory.
func pageOf(group string, walk int64, answers []store.MemberAnswer) page {
	byUser := func(a, b store.MemberAnswer) int { return strings.Compare(a.User, b.User) }
	return page{group, walk, slices.SortedFunc(slices.Values(answers), byUser)}
}

// saveMembers stores the responses of the directory. The pages are ascending by group; if there are several, each has at most shareAtMost
// responses.
func saveMembers(ctx context.Context, tx *sqldb.Tx, app string, pages ...page) error {
	if err := lockMembers(ctx, tx, app, pages); err != nil {
		return err
	}
	if len(pages) > 1 {
		return storeMembers(ctx, tx, app, false, pages...)
	}
	p := pages[0]
	fresh, err := newMembers(ctx, tx, app, p)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(p.answers, rowsAtOnce(tx.Dialect())) {
		if err := storeMembers(ctx, tx, app, fresh, page{p.group, p.walk, some}); err != nil {
			return err
		}
	}
	return nil
}

// newMembers reports whether none of the members of a page of a walk has a row. The row of the group is locked, so that no other
// transaction adds one. On PostgreSQL, an INSERT without a conflict clause takes less processor time, about two thirds.
func newMembers(ctx context.Context, tx *sqldb.Tx, app string, p page) (bool, error) {
	if tx.Dialect() != sqldb.Postgres || p.walk == 0 || len(p.answers) <= shareAtMost {
		return false, nil
	}
	var known bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM {member_state} WHERE app_id = ? AND group_id = ?
		AND (group_id, principal_id) >= (?, ?) AND (group_id, principal_id) <= (?, ?))`,
		app, p.group, p.group, p.answers[0].User, p.group, p.answers[len(p.answers)-1].User).Scan(&known)
	return !known, err
}

// storeMembers stores responses of the directory, on SQLite those of one page. fresh reports that none of the members has a row. A response
// carries the value of the column asked before the query of the directory. If the stored value is still the same, asked is set to 0.
// Otherwise a mark arrived after the query, and asked is unchanged. The value is passed in the column asked of the new row, because a
// conflict clause can only refer to columns.
func storeMembers(ctx context.Context, tx *sqldb.Tx, app string, fresh bool, pages ...page) error {
	var rows string
	var args []any
	if tx.Dialect() == sqldb.Postgres {
		stored, err := memberRows(pages)
		if err != nil {
			return err
		}
		rows = `SELECT CAST(? AS TEXT), p.grp, v.id, v.want, 0, '', v.asked, p.walk
			FROM json_to_recordset(CAST(? AS JSON)) AS p (grp TEXT, walk BIGINT, members JSON)
			CROSS JOIN LATERAL json_to_recordset(p.members) AS v (id TEXT, want BIGINT, asked BIGINT)`
		args = []any{app, stored}
	} else {
		const row = `(?, ?, ?, ?, 0, '', ?, ?)`
		p := pages[0]
		rows, args = `VALUES `+row+strings.Repeat(`, `+row, len(p.answers)-1), make([]any, 0, 6*len(p.answers))
		for _, a := range p.answers {
			args = append(args, app, p.group, a.User, bit(a.Want), a.Asked, p.walk)
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
func memberRows(pages []page) (string, error) {
	type member struct {
		ID    string `json:"id"`
		Want  int64  `json:"want"`
		Asked int64  `json:"asked"`
	}
	type group struct {
		ID      string   `json:"grp"`
		Walk    int64    `json:"walk"`
		Members []member `json:"members"`
	}
	groups := make([]group, len(pages))
	for i, p := range pages {
		groups[i] = group{p.group, p.walk, make([]member, len(p.answers))}
		for j, a := range p.answers {
			groups[i].Members[j] = member{a.User, bit(a.Want), a.Asked}
		}
	}
	return sqldb.JSON(groups)
}
