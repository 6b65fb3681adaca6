package desired

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Retention limits the versions of deleted objects: users and groups in the state engine.Absent, and deleted apps. While the version of a
// deleted object is stored, a late message with an older version does not create the object again. The zero value removes nothing.
type Retention struct {
	// Age is the time after which the version of a deleted object is removed. Default: no limit.
	Age time.Duration
	// Deleted is the maximum number of deleted users and groups of all apps. Beyond it, Prune removes the oldest versions that are older than
	// an hour. Default: no limit.
	Deleted int64
	// Forget removes the states of the engine for users and groups, and returns those for which nothing remains. It is
	// sqlstore.Store.ForgetAbsent. Required. The version of a user or group remains until the engine has completed the deletion.
	Forget func(ctx context.Context, tx engine.Execer, app string, principals ...engine.Principal) ([]engine.Principal, error)
}

// minDeleted is the minimum age of a version that Prune removes because of Retention.Deleted.
const minDeleted = time.Hour

// pruneRows is the number of users and groups that Prune reads at a time.
const pruneRows = 500

// Prune removes the versions of deleted objects that exceed the limits, in several transactions. A host calls it periodically. An
// interrupted Prune may be repeated. It returns the number of removed versions.
func (s *Store) Prune(ctx context.Context, r Retention) (removed int64, err error) {
	removed, err = s.prune(ctx, r)
	if err != nil {
		return removed, fmt.Errorf("desired: remove versions of deleted objects: %w", err)
	}
	return removed, nil
}

func (s *Store) prune(ctx context.Context, r Retention) (removed int64, err error) {
	if r.Age > 0 {
		before := s.now().Add(-r.Age).UnixMilli()
		if removed, err = s.pruneDeleted(ctx, r, before, -1); err != nil {
			return removed, err
		}
		n, err := s.pruneApps(ctx, before)
		if removed += n; err != nil {
			return removed, err
		}
	}
	if r.Deleted <= 0 {
		return removed, nil
	}
	var stored int64
	if err := s.db.Reader().QueryRow(ctx, `SELECT COUNT(*) FROM {desired_principal} WHERE want = 'absent'`).Scan(&stored); err != nil {
		return removed, err
	}
	if stored > r.Deleted {
		n, err := s.pruneDeleted(ctx, r, s.now().Add(-minDeleted).UnixMilli(), stored-r.Deleted)
		return removed + n, err
	}
	return removed, nil
}

// deletedRow is the version of a deleted user or group.
type deletedRow struct {
	app string
	key
	at int64
}

// pruneDeleted removes the versions of users and groups that were deleted before a time, the oldest first, at most limit of them. A
// negative limit means no limit.
func (s *Store) pruneDeleted(ctx context.Context, r Retention, before, limit int64) (removed int64, err error) {
	for after := (deletedRow{}); limit < 0 || removed < limit; {
		rows, err := s.deletedAfter(ctx, after, before)
		if err != nil {
			return removed, err
		}
		if len(rows) == 0 {
			return removed, nil
		}
		after = rows[len(rows)-1]
		if limit >= 0 {
			rows = rows[:min(int64(len(rows)), limit-removed)]
		}
		apps := map[string][]key{}
		var order []string
		for _, d := range rows {
			if apps[d.app] == nil {
				order = append(order, d.app)
			}
			apps[d.app] = append(apps[d.app], d.key)
		}
		for _, app := range order {
			n, err := s.forgetDeleted(ctx, r, app, apps[app], before)
			if removed += n; err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// deletedAfter returns the users and groups that were deleted before a time, in the order of the deletions.
func (s *Store) deletedAfter(ctx context.Context, after deletedRow, before int64) (out []deletedRow, err error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id, kind, principal_id, changed_at FROM {desired_principal}
		WHERE want = 'absent' AND changed_at < ? AND (changed_at, app_id, kind, principal_id) > (?, ?, ?, ?)
		ORDER BY changed_at, app_id, kind, principal_id LIMIT ?`, before, after.at, after.app, string(after.kind), after.id, pruneRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d deletedRow
		if err := rows.Scan(&d.app, &d.kind, &d.id, &d.at); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// forgetDeleted removes the versions of users and groups of an app that are still deleted, and for which the engine has nothing to do.
func (s *Store) forgetDeleted(ctx context.Context, r Retention, app string, keys []key, before int64) (removed int64, err error) {
	// Transactions that write rows of the engine write users first, in ascending order.
	slices.SortFunc(keys, func(a, b key) int {
		if a.kind != b.kind {
			return strings.Compare(string(b.kind), string(a.kind))
		}
		return strings.Compare(a.id, b.id)
	})
	err = s.transact(ctx, sqldb.DefaultWait, func(tx *sqldb.Tx) error {
		removed = 0
		if err := lock(ctx, tx, app); err != nil {
			return err
		}
		var gone []engine.Principal
		for _, k := range keys { // an object that was written again since it was read is not deleted
			var n int
			err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM {desired_principal} WHERE app_id = ? AND kind = ? AND principal_id = ? AND
				want = 'absent' AND changed_at < ?`, app, string(k.kind), k.id, before).Scan(&n)
			if err != nil {
				return err
			}
			if n > 0 {
				gone = append(gone, engine.Principal{Kind: k.kind, ID: k.id})
			}
		}
		gone, err := r.Forget(ctx, tx.Execer(), app, gone...)
		if err != nil {
			return err
		}
		for _, p := range gone {
			if err := removePrincipal(ctx, tx, app, p); err != nil {
				return err
			}
		}
		removed = int64(len(gone))
		return nil
	})
	return removed, err
}

func removePrincipal(ctx context.Context, tx *sqldb.Tx, app string, p engine.Principal) error {
	statements := []string{`DELETE FROM {desired_alias} WHERE app_id = ? AND principal_id = ?`}
	if p.Kind == engine.Group {
		statements = []string{
			`DELETE FROM {desired_member} WHERE app_id = ? AND group_id = ?`, `DELETE FROM {desired_members} WHERE app_id = ? AND group_id = ?`,
		}
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement, app, p.ID); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM {desired_principal} WHERE app_id = ? AND kind = ? AND principal_id = ?`, app, string(p.Kind), p.ID)
	return err
}

// pruneApps removes the versions of apps that were deleted before a time.
func (s *Store) pruneApps(ctx context.Context, before int64) (removed int64, err error) {
	err = s.transact(ctx, sqldb.DefaultWait, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `DELETE FROM {desired_app} WHERE deleted = 1 AND changed_at < ?`, before)
		if err != nil {
			return err
		}
		removed, err = res.RowsAffected()
		return err
	})
	return removed, err
}
