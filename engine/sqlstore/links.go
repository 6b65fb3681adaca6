package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// insertLinks assigns accounts to principals. A new row is clean, because the principal has no mark. The next push of a linked group has
// all members. %s stands for the list of new rows.
const insertLinks = `
INSERT INTO {sync_state} (app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew, next_at, attempts,
	remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at)
VALUES %s
ON CONFLICT (app_id, kind, principal_id) DO UPDATE SET
	full_gen = CASE WHEN excluded.full_gen > 0 THEN {sync_state}.desired_gen + 1 ELSE {sync_state}.full_gen END,
	tried = 1, remote_id = excluded.remote_id, remote_name = excluded.remote_name, link_origin = excluded.link_origin,
	last_op = excluded.last_op, last_http = 0, last_error = '', updated_at = excluded.updated_at
WHERE {sync_state}.next_at IS NULL` // a pending principal is not updated: it was marked since the caller read its row

const insertLinkRow = `(?, ?, ?, 1, 1, CAST(? AS BIGINT), 'clean', '', 1, 0, NULL, 0, ?, ?, ?, 'link', 0, '', CAST(? AS BIGINT))`

// Link implements store.Links.
func (s *Store) Link(ctx context.Context, tx engine.Execer, now time.Time, app string, links []engine.Link) error {
	t := s.db.Wrap(tx)
	conflicts, err := link(ctx, t, app, links, now)
	if err == nil && len(conflicts) > 0 {
		return &engine.LinkError{Conflicts: conflicts}
	}
	if err == nil && len(links) > 0 {
		_, err = t.Exec(ctx, upsertLane, s.laneArgs(app, now, false)...)
	}
	if err != nil {
		return fmt.Errorf("sqlstore: link to %s: %w", app, err)
	}
	return nil
}

// link creates links. If a link conflicts, it creates none and returns all conflicts. The caller then writes the lane row.
func link(ctx context.Context, tx *sqldb.Tx, app string, links []engine.Link, now time.Time) ([]engine.Conflict, error) {
	links = slices.SortedStableFunc(slices.Values(links), func(a, b engine.Link) int {
		return lockOrder(principal{kind: a.Kind, id: a.ID}, principal{kind: b.Kind, id: b.ID})
	})
	for i := range links {
		links[i].RemoteID, links[i].RemoteName = text(links[i].RemoteID), text(links[i].RemoteName)
		links[i].Origin = cmp.Or(links[i].Origin, engine.Imported)
	}
	if err := lockAccounts(ctx, tx, app); err != nil {
		return nil, err
	}
	have, owners, err := readLinkStates(ctx, tx, app, links)
	if err != nil {
		return nil, err
	}
	var conflicts []engine.Conflict
	var fresh []engine.Link
	var stopped []principal
	named, taken := map[principal]bool{}, map[principal]bool{}
	for _, l := range links {
		p, account := principal{l.Kind, app, l.ID}, principal{l.Kind, app, l.RemoteID}
		was, reason := have[p], ""
		switch {
		case app == "" || l.ID == "" || l.Kind != engine.User && l.Kind != engine.Group:
			reason = "the link has no valid principal"
		case l.RemoteID == "":
			reason = "the link has no account"
		case l.Origin != engine.Created && l.Origin != engine.Linked && l.Origin != engine.Imported:
			reason = fmt.Sprintf("unknown origin %q", l.Origin)
		case named[p]:
			reason = "the principal occurs twice"
		case taken[account]:
			reason = "the account occurs twice"
		case was.remote == l.RemoteID:
		case was.remote != "":
			reason = "the principal already has the account " + was.remote
		case was.due:
			reason = "the principal has a pending change: retry after the principal is provisioned"
		case owners[account] != "":
			reason = "the account already belongs to " + owners[account]
		}
		named[p], taken[account] = true, true
		switch {
		case reason != "":
			conflicts = append(conflicts, engine.Conflict{Link: l, Reason: reason})
		case was.remote != l.RemoteID:
			fresh = append(fresh, l)
			if was.stopped() {
				stopped = append(stopped, p)
			}
		}
	}
	if len(conflicts) > 0 {
		return conflicts, nil
	}
	for part := range slices.Chunk(fresh, statesAtOnce) {
		var args []any
		for _, l := range part {
			full := 0
			if l.Kind == engine.Group {
				full = 2 // higher than the generation 1 of a new row: the next push has all members
			}
			args = append(args, app, string(l.Kind), l.ID, full, l.RemoteID, l.RemoteName, string(l.Origin), ms(now))
		}
		res, err := tx.Exec(ctx, fmt.Sprintf(insertLinks, insertLinkRow+strings.Repeat(", "+insertLinkRow, len(part)-1)), args...)
		if err != nil {
			return nil, err
		}
		if n, err := res.RowsAffected(); err != nil || n < int64(len(part)) {
			return nil, cmp.Or(err, fmt.Errorf("%w: a principal was marked in the meantime", engine.ErrStale))
		}
	}
	groups, err := waitingGroups(ctx, tx, app, fresh)
	if err != nil {
		return nil, err
	}
	stopped = slices.SortedFunc(slices.Values(append(stopped, groups...)), lockOrder)
	for _, p := range slices.Compact(stopped) {
		if _, err := tx.Exec(ctx, upsertMark, markArgs(app, p.kind, p.id, false, now, false)...); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// readLinkStates returns, and locks, the current state of the principals of links, and the owners of the accounts.
func readLinkStates(ctx context.Context, tx *sqldb.Tx, app string, links []engine.Link) (map[principal]linkState, map[principal]string,
	error) {
	have, owners := map[principal]linkState{}, map[principal]string{}
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		of := slices.DeleteFunc(slices.Clone(links), func(l engine.Link) bool { return l.Kind != kind })
		for part := range slices.Chunk(of, statesAtOnce) {
			ids, accounts := []any{app, string(kind)}, []any{app, string(kind)}
			for _, l := range part {
				ids, accounts = append(ids, l.ID), append(accounts, l.RemoteID)
			}
			query := `SELECT principal_id, remote_id, status, CASE WHEN next_at IS NULL THEN 0 ELSE 1 END FROM {sync_state}
				WHERE app_id = ? AND kind = ? AND principal_id IN ` + list(len(part)) + ` ORDER BY principal_id`
			if tx.Dialect() == sqldb.Postgres {
				query += ` FOR UPDATE`
			}
			rows, err := tx.Query(ctx, query, ids...)
			_, err = collect(rows, err, func(r *sql.Rows, p *principal) error {
				var b linkState
				var due int64
				err := r.Scan(&p.id, &b.remote, &b.status, &due)
				b.due = due == 1
				have[principal{kind, app, p.id}] = b
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			rows, err = tx.Query(ctx, `SELECT remote_id, principal_id FROM {sync_state}
				WHERE app_id = ? AND kind = ? AND remote_id <> '' AND remote_id IN `+list(len(part)), accounts...)
			_, err = collect(rows, err, func(r *sql.Rows, account *principal) error {
				var owner string
				err := r.Scan(&account.id, &owner)
				owners[principal{kind, app, account.id}] = owner
				return err
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return have, owners, nil
}

// waitingGroups returns the groups that wait for an account of one of the users.
func waitingGroups(ctx context.Context, tx *sqldb.Tx, app string, links []engine.Link) (groups []principal, err error) {
	users := slices.DeleteFunc(slices.Clone(links), func(l engine.Link) bool { return l.Kind != engine.User })
	for part := range slices.Chunk(users, statesAtOnce) {
		args := []any{app}
		for _, l := range part {
			args = append(args, l.ID)
		}
		rows, err := tx.Query(ctx, `SELECT DISTINCT group_id FROM {member_state}
			WHERE app_id = ? AND want <> pushed AND principal_id IN `+list(len(part)), args...)
		found, err := collect(rows, err, func(r *sql.Rows, p *principal) error {
			p.kind, p.app = engine.Group, app
			return r.Scan(&p.id)
		})
		if err != nil {
			return nil, err
		}
		groups = append(groups, found...)
	}
	return groups, nil
}

// linkState is the state of a principal before it is linked.
type linkState struct {
	remote string
	status engine.Status
	due    bool
}

// stopped reports whether provisioning had stopped without an account.
func (b linkState) stopped() bool {
	return b.status == engine.StatusFailed || b.status == engine.StatusHeld || b.status == engine.StatusSkipped
}

// Links implements store.Links.
func (s *Store) Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT kind, principal_id, remote_id, remote_name, link_origin FROM {sync_state}
		WHERE app_id = ? AND remote_id <> '' AND (kind, principal_id) > (?, ?) ORDER BY kind, principal_id LIMIT ?`,
		app, string(after.Kind), after.ID, limitOr(limit))
	out, err := collect(rows, err, func(r *sql.Rows, l *engine.Link) error {
		return r.Scan(&l.Kind, &l.ID, &l.RemoteID, &l.RemoteName, &l.Origin)
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: links of %s: %w", app, err)
	}
	return out, nil
}
