package sqlstore

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// The column pushed of a member row is 0 or 1, and 2 while nobody knows which of them it is: a request was about to be sent that
// adds or removes the user, as pushed_id. As want is 0 or 1, such a row is pending.

// Progress implements engine.Store.
func (s *Store) Progress(ctx context.Context, l lane.Lease, p engine.Progress) error {
	return s.under(ctx, l, "store the progress of group "+p.ID, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE sync_state SET remote_id = ?, remote_name = ?, link_origin = ?, updated_at = ?,
			full_gen = CASE WHEN ? = 1 AND full_gen < ? THEN CAST(? AS BIGINT) WHEN ? = 1 AND full_gen <= ? THEN 0 ELSE full_gen END
			WHERE app_id = ? AND kind = 'group' AND principal_id = ?`,
			text(p.RemoteID), text(p.RemoteName), string(p.Origin), ms(p.At),
			bit(p.NextAll), p.Gen, p.Gen, bit(p.Whole && !p.NextAll), p.Gen,
			l.App, p.ID)
		if err != nil {
			return err
		}
		if err := pushed(ctx, tx, l.App, p.ID, p.Replaced, p.Added, p.Removed); err != nil {
			return err
		}
		for _, m := range byUser(p.NextAdd) {
			_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 2, pushed_id = ? WHERE app_id = ? AND group_id = ? AND principal_id = ?`,
				text(m.ID), l.App, p.ID, m.User)
			if err != nil {
				return err
			}
		}
		for _, m := range byUser(p.NextRemove) {
			_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 2 WHERE app_id = ? AND group_id = ? AND principal_id = ?`, l.App, p.ID, m.User)
			if err != nil {
				return err
			}
		}
		return keepExchanges(ctx, tx, l.App, engine.Finish{Kind: engine.Group, ID: p.ID, Gen: p.Gen, Exchanges: p.Exchanges})
	})
}

// pushed stores what is in the target's group by now.
func pushed(ctx context.Context, tx *sqldb.Tx, app, group string, replaced bool, added, removed []engine.RemoteMember) error {
	if replaced {
		_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 0, pushed_id = '' WHERE app_id = ? AND group_id = ? AND pushed <> 0`, app, group)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, dropMembers, app, group); err != nil {
			return err
		}
	}
	for _, m := range byUser(added) {
		// Not when the user got another id meanwhile: what was pushed is then not its account any more.
		_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 1, pushed_id = ? WHERE app_id = ? AND group_id = ? AND principal_id = ?
			AND EXISTS (SELECT 1 FROM sync_state WHERE app_id = ? AND kind = 'user' AND principal_id = ? AND remote_id = ?)`,
			text(m.ID), app, group, m.User, app, m.User, text(m.ID))
		if err != nil {
			return err
		}
	}
	for _, m := range byUser(removed) {
		_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 0, pushed_id = '' WHERE app_id = ? AND group_id = ? AND principal_id = ?`,
			app, group, m.User)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, dropMembers+` AND principal_id = ?`, app, group, m.User); err != nil {
			return err
		}
	}
	return nil
}

// dropMembers removes rows that say nothing.
const dropMembers = `DELETE FROM member_state WHERE app_id = ? AND group_id = ? AND want = 0 AND pushed = 0 AND asked = 0`

// byUser puts members into the order in which rows are written.
func byUser(members []engine.RemoteMember) []engine.RemoteMember {
	return slices.SortedFunc(slices.Values(members), func(a, b engine.RemoteMember) int {
		return lockOrder(principal{id: a.User}, principal{id: b.User})
	})
}
