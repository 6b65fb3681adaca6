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
		if err := storePushed(ctx, tx, l.App, p.ID, p.Replaced, p.Added, p.Removed); err != nil {
			return err
		}
		if err := eachMember(ctx, tx, `pushed = 2, pushed_id = v.id`, ``, l.App, p.ID, p.NextAdd); err != nil {
			return err
		}
		if err := eachMember(ctx, tx, `pushed = 2`, ``, l.App, p.ID, p.NextRemove); err != nil {
			return err
		}
		return storeExchanges(ctx, tx, l.App, store.Finish{Kind: engine.Group, ID: p.ID, Gen: p.Gen, Exchanges: p.Exchanges})
	})
}

// storePushed stores the current members of the target's group.
func storePushed(ctx context.Context, tx *sqldb.Tx, app, group string, replaced bool, added, removed []engine.RemoteMember) error {
	if replaced {
		_, err := tx.Exec(ctx, `UPDATE {member_state} SET pushed = 0, pushed_id = ''
			WHERE app_id = ? AND group_id = ? AND pushed <> 0`, app, group)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, dropMembers, app, group); err != nil {
			return err
		}
	}
	if err := eachMember(ctx, tx, pushedMember, sameAccount, app, group, added); err != nil {
		return err
	}
	if err := eachMember(ctx, tx, `pushed = 0, pushed_id = ''`, ``, app, group, removed); err != nil {
		return err
	}
	return dropEach(ctx, tx, app, group, removed)
}

// pushedMember are the assignments for a member that was added. If the remote id of a user has changed in the meantime, sameAccount excludes
// the row of this member: the pushed account is no longer that of the user.
const pushedMember, sameAccount = `pushed = 1, pushed_id = v.id`, ` AND EXISTS (SELECT 1 FROM {sync_state} u
	WHERE u.app_id = m.app_id AND u.kind = 'user' AND u.principal_id = m.principal_id AND u.remote_id = v.id)`

// dropMembers deletes member rows that contain no information.
const dropMembers = `DELETE FROM {member_state} WHERE app_id = ? AND group_id = ? AND want = 0 AND pushed = 0 AND asked = 0`

// dropEach deletes the rows of these members that contain no information.
func dropEach(ctx context.Context, tx *sqldb.Tx, app, group string, members []engine.RemoteMember) error {
	if tx.Dialect() == sqldb.Postgres && len(members) > 1 {
		rows, err := keyRows(app, group, members)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, dropMembersOf, rows, app)
		return err
	}
	for _, m := range members {
		if _, err := tx.Exec(ctx, dropMembers+` AND principal_id = ?`, app, group, m.User); err != nil {
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

// eachMember updates the rows of members of a group. set and condition are SQL; v.id is the id of the member on the target. The order does
// not matter: every writer of member rows first locks the row of the group.
func eachMember(ctx context.Context, tx *sqldb.Tx, set, condition, app, group string, members []engine.RemoteMember) error {
	for some := range slices.Chunk(members, rowsAtOnce(tx.Dialect())) {
		if tx.Dialect() == sqldb.Postgres {
			rows, err := keyRows(app, group, some)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, updateMembers(set, condition), rows, app); err != nil {
				return err
			}
			continue
		}
		args := make([]any, 0, 4*len(some))
		for _, m := range some {
			args = append(args, app, group, m.User, text(m.ID))
		}
		// Each row contains the complete key. With constants instead, SQLite would scan all members of the group.
		_, err := tx.Exec(ctx, `WITH v (app, grp, principal, id) AS (VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))`+
			strings.Repeat(`, (?, ?, ?, ?)`, len(some)-1)+`) UPDATE {member_state} AS m SET `+set+
			` FROM v WHERE m.app_id = v.app AND m.group_id = v.grp AND m.principal_id = v.principal`+condition, args...)
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

// updateMembers returns the statement of eachMember for PostgreSQL.
func updateMembers(set, condition string) string {
	return `UPDATE {member_state} AS m SET ` + set + ` FROM ` + keys + condition
}

// dropMembersOf is the statement of dropEach for several members on PostgreSQL.
const dropMembersOf = `DELETE FROM {member_state} AS m USING ` + keys + ` AND m.want = 0 AND m.pushed = 0 AND m.asked = 0`

func keyRows(app, group string, members []engine.RemoteMember) (string, error) {
	type row struct {
		App       string `json:"app"`
		Group     string `json:"grp"`
		Principal string `json:"principal"`
		ID        string `json:"id"`
	}
	rows := make([]row, len(members))
	for i, m := range members {
		rows[i] = row{app, group, m.User, text(m.ID)}
	}
	return sqldb.JSON(rows)
}
