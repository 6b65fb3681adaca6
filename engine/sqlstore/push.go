package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// The column pushed of a member row is 0 (no), 1 (yes), or 2 (unknown): the engine was about to send a request that adds or removes the
// user with the id pushed_id. A row is pending if pushed differs from want. A row with 2 is therefore always pending.

// Progress implements store.Sequences.
func (s *Store) Progress(ctx context.Context, l engine.Lease, p store.Progress) error {
	return s.withLease(ctx, l, "store the progress of group "+p.ID, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {sync_state} SET remote_id = ?, remote_name = ?, link_origin = ?, updated_at = ?,
			full_gen = CASE WHEN ? = 1 AND full_gen < ? THEN CAST(? AS BIGINT) WHEN ? = 1 AND full_gen <= ? THEN 0 ELSE full_gen END
			WHERE app_id = ? AND kind = 'group' AND principal_id = ?`,
			text(p.RemoteID), text(p.RemoteName), string(p.Origin), ms(p.At),
			bit(p.NextAll), p.Gen, p.Gen, bit(p.Whole && !p.NextAll), p.Gen,
			l.App, p.ID)
		if err != nil {
			return err
		}
		if err := storePushed(ctx, tx, l.App, push{p.ID, p.Replaced, p.Added, p.Removed}); err != nil {
			return err
		}
		if err := eachMember(ctx, tx, `pushed = 2, pushed_id = v.id`, ``, l.App, membersOf(p.ID, p.NextAdd)); err != nil {
			return err
		}
		if err := eachMember(ctx, tx, `pushed = 2`, ``, l.App, membersOf(p.ID, p.NextRemove)); err != nil {
			return err
		}
		return storeExchanges(ctx, tx, l.App, store.Finish{Kind: engine.Group, ID: p.ID, Gen: p.Gen, Exchanges: p.Exchanges})
	})
}

// push is what a push has changed in a group of the target.
type push struct {
	group          string
	replaced       bool // the target's list was replaced before added was added
	added, removed []engine.RemoteMember
}

// member is a member of a group, with the id on the target.
type member struct{ group, user, id string }

func membersOf(group string, of []engine.RemoteMember) []member {
	out := make([]member, len(of))
	for i, m := range of {
		out[i] = member{group, m.User, m.ID}
	}
	return out
}

// storePushed stores the current members of groups of the target.
func storePushed(ctx context.Context, tx *sqldb.Tx, app string, pushed ...push) error {
	var replaced []string
	var added, removed []member
	for _, p := range pushed {
		if p.replaced {
			replaced = append(replaced, p.group)
		}
		added, removed = append(added, membersOf(p.group, p.added)...), append(removed, membersOf(p.group, p.removed)...)
	}
	err := eachGroup(ctx, tx, `UPDATE {member_state} AS m SET pushed = 0, pushed_id = ''`, `FROM`, `m.pushed <> 0`, app, replaced)
	if err != nil {
		return err
	}
	if err := eachGroup(ctx, tx, `DELETE FROM {member_state} AS m`, `USING`, emptyMember, app, replaced); err != nil {
		return err
	}
	if err := eachMember(ctx, tx, pushedMember, sameAccount, app, added); err != nil {
		return err
	}
	if err := eachMember(ctx, tx, `pushed = 0, pushed_id = ''`, ``, app, removed); err != nil {
		return err
	}
	return dropEach(ctx, tx, app, removed)
}

// eachGroup changes the member rows of groups that satisfy a condition. The keyword joins the groups on PostgreSQL.
func eachGroup(ctx context.Context, tx *sqldb.Tx, change, keyword, condition, app string, groups []string) error {
	if tx.Dialect() != sqldb.Postgres {
		for _, group := range groups {
			_, err := tx.Exec(ctx, change+` WHERE m.app_id = ? AND m.group_id = ? AND `+condition, app, group)
			if err != nil {
				return err
			}
		}
		return nil
	}
	if len(groups) == 0 {
		return nil
	}
	rows := make([]member, len(groups))
	for i, group := range groups {
		rows[i].group = group
	}
	values, err := keyRows(app, rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, change+` `+keyword+` `+groupKeys+` AND `+condition, values, app)
	return err
}

// pushedMember are the assignments for a member that was added. If the remote id of a user has changed in the meantime, sameAccount
// excludes the row of this member: the pushed account is no longer that of the user. The subquery returns one value: PostgreSQL without
// statistics would evaluate EXISTS as a join that reads all users of the app for each member.
const pushedMember, sameAccount = `pushed = 1, pushed_id = v.id`, ` AND v.id = (SELECT u.remote_id FROM {sync_state} u
	WHERE u.app_id = ? AND u.kind = 'user' AND u.principal_id = m.principal_id)`

// emptyMember is the condition of a member row that contains no information.
const emptyMember = `m.want = 0 AND m.pushed = 0 AND m.asked = 0`

// dropMembers deletes the member rows of a group that contain no information.
const dropMembers = `DELETE FROM {member_state} AS m WHERE m.app_id = ? AND m.group_id = ? AND ` + emptyMember

// dropEach deletes the rows of these members that contain no information.
func dropEach(ctx context.Context, tx *sqldb.Tx, app string, members []member) error {
	if tx.Dialect() == sqldb.Postgres && len(members) > 0 {
		rows, err := keyRows(app, members)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, dropMembersOf, rows, app)
		return err
	}
	for _, m := range members {
		if _, err := tx.Exec(ctx, dropMembers+` AND m.principal_id = ?`, app, m.group, m.user); err != nil {
			return err
		}
	}
	return nil
}

// rowsAtOnce returns the maximum number of rows that one statement writes.
func rowsAtOnce(d sqldb.Dialect) int {
	if d == sqldb.Postgres {
		return 1000
	}
	return 100
}

// eachMember updates the rows of members of groups. set and condition are SQL; v.id is the id of the member on the target. The parameter of
// the condition, if there is one, is the app. The order does not matter: every writer of member rows first locks the row of the group.
func eachMember(ctx context.Context, tx *sqldb.Tx, set, condition, app string, members []member) error {
	var last []any
	if condition != "" {
		last = []any{app}
	}
	for some := range slices.Chunk(members, rowsAtOnce(tx.Dialect())) {
		if tx.Dialect() == sqldb.Postgres {
			rows, err := keyRows(app, some)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, updateMembers(set, condition), append([]any{rows, app}, last...)...); err != nil {
				return err
			}
			continue
		}
		args := make([]any, 0, 4*len(some))
		for _, m := range some {
			args = append(args, app, m.group, m.user, text(m.id))
		}
		// Each row contains the complete key. With constants instead, SQLite would scan all members of the group.
		_, err := tx.Exec(ctx, `WITH v (app, grp, principal, id) AS (VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))`+
			strings.Repeat(`, (?, ?, ?, ?)`, len(some)-1)+`) UPDATE {member_state} AS m SET `+set+
			` FROM v WHERE m.app_id = v.app AND m.group_id = v.grp AND m.principal_id = v.principal`+condition, append(args, last...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// keys is a table v of members and the condition that joins it with their rows m, for PostgreSQL. Its parameters are the result of keyRows
// and the app, by which PostgreSQL selects the partition.
// Each row contains the complete key. With constants instead, PostgreSQL without statistics would read all members of the group. For =
// instead of BETWEEN, it estimates the same cost for the index by app and user, and reads the rows of each user in all groups.
const keys = `json_to_recordset(CAST(? AS JSON)) AS v (app TEXT, grp TEXT, principal TEXT, id TEXT)
	WHERE m.app_id = v.app AND m.app_id = ? AND m.group_id = v.grp AND m.principal_id BETWEEN v.principal AND v.principal`

// groupKeys is keys for all members of the groups. A row has a walk only if the statement uses v.walk.
const groupKeys = `json_to_recordset(CAST(? AS JSON)) AS v (app TEXT, grp TEXT, walk BIGINT)
	WHERE m.app_id = v.app AND m.app_id = ? AND m.group_id = v.grp`

// updateMembers returns the statement of eachMember for PostgreSQL.
func updateMembers(set, condition string) string {
	return `UPDATE {member_state} AS m SET ` + set + ` FROM ` + keys + condition
}

// dropMembersOf is the statement of dropEach for several members on PostgreSQL.
const dropMembersOf = `DELETE FROM {member_state} AS m USING ` + keys + ` AND ` + emptyMember

func keyRows(app string, members []member) (string, error) {
	type row struct {
		App       string `json:"app"`
		Group     string `json:"grp"`
		Principal string `json:"principal"`
		ID        string `json:"id"`
	}
	rows := make([]row, len(members))
	for i, m := range members {
		rows[i] = row{app, m.group, m.user, text(m.id)}
	}
	return sqldb.JSON(rows)
}
