package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/plan"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// bind gives a principal its account. A new row is clean, since nothing was asked for; the next push of a group is a full one.
const bind = `
INSERT INTO sync_state (app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew, next_at, attempts,
	remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at)
VALUES (?, ?, ?, 1, 1, ?, 'clean', '', 1, 0, NULL, 0, ?, ?, ?, 'link', 0, '', ?)
ON CONFLICT (app_id, kind, principal_id) DO UPDATE SET
	full_gen = CASE WHEN excluded.full_gen > 0 THEN sync_state.desired_gen + 1 ELSE sync_state.full_gen END,
	tried = 1, remote_id = excluded.remote_id, remote_name = excluded.remote_name, link_origin = excluded.link_origin,
	last_op = excluded.last_op, last_http = 0, last_error = '', updated_at = excluded.updated_at`

// Link implements engine.LinkStore.
func (s *Store) Link(ctx context.Context, tx engine.Execer, now time.Time, app string, links []engine.Link) error {
	t := sqldb.WrapTx(tx, s.db.Dialect())
	conflicts, err := link(ctx, t, app, links, now)
	if err == nil && len(conflicts) > 0 {
		return &engine.LinkError{Conflicts: conflicts}
	}
	if err == nil && len(links) > 0 {
		_, err = t.Exec(ctx, touch, app, ms(now), ms(now), 0, 0, 0)
	}
	if err != nil {
		return fmt.Errorf("sqlstore: link to %s: %w", app, err)
	}
	return nil
}

// link makes links, or returns what speaks against them and makes none. The caller writes the lane row.
func link(ctx context.Context, tx *sqldb.Tx, app string, links []engine.Link, now time.Time) ([]engine.Conflict, error) {
	links = slices.SortedStableFunc(slices.Values(links), func(a, b engine.Link) int {
		return lockOrder(principal{kind: a.Kind, id: a.ID}, principal{kind: b.Kind, id: b.ID})
	})
	if err := tx.Lock(ctx, "engine.accounts."+app); err != nil { // see moved
		return nil, err
	}
	var conflicts []engine.Conflict
	known, taken := map[principal]bool{}, map[principal]bool{}
	var fresh []engine.Link
	var stopped []principal
	for _, l := range links {
		l.RemoteID, l.RemoteName = text(l.RemoteID), text(l.RemoteName)
		if l.Origin == "" {
			l.Origin = plan.Imported
		}
		p, account := principal{l.Kind, app, l.ID}, principal{l.Kind, app, l.RemoteID}
		reason, was := malformed(app, l), before{}
		switch {
		case reason != "":
		case known[p]:
			reason = "the principal is named twice"
		case taken[account]:
			reason = "the account is named twice"
		default:
			var err error
			if reason, was, err = unlinkable(ctx, tx, app, l); err != nil {
				return nil, err
			}
		}
		known[p], taken[account] = true, true
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
	var moves []move
	for _, l := range fresh {
		full := 0
		if l.Kind == engine.Group {
			full = 2 // later than the generation that a new row has
		} else {
			moves = append(moves, move{user: l.ID})
		}
		_, err := tx.Exec(ctx, bind, app, string(l.Kind), l.ID, full, l.RemoteID, l.RemoteName, string(l.Origin), ms(now))
		if err != nil {
			return nil, err
		}
	}
	for _, p := range stopped {
		if _, err := tx.Exec(ctx, raise, app, string(p.kind), p.id, 0, ms(now), ms(now), 0, 0, 0); err != nil {
			return nil, err
		}
	}
	return nil, moveMembers(ctx, tx, app, moves, now)
}

// before is what a principal had before it is linked.
type before struct {
	remote string
	status engine.Status
}

// stopped says whether it could not be provisioned without an account.
func (b before) stopped() bool {
	return b.status == engine.StatusFailed || b.status == engine.StatusHeld || b.status == engine.StatusSkipped
}

func malformed(app string, l engine.Link) string {
	switch {
	case app == "" || l.ID == "" || l.Kind != engine.User && l.Kind != engine.Group:
		return "it does not name a principal"
	case l.RemoteID == "":
		return "it does not name an account"
	case l.Origin != plan.Created && l.Origin != plan.Linked && l.Origin != plan.Imported:
		return fmt.Sprintf("there is no origin %q", l.Origin)
	default:
		return ""
	}
}

// unlinkable says what speaks against a link.
func unlinkable(ctx context.Context, tx *sqldb.Tx, app string, l engine.Link) (string, before, error) {
	query := `SELECT remote_id, status, CASE WHEN next_at IS NULL THEN 0 ELSE 1 END FROM sync_state WHERE app_id = ? AND kind = ? AND principal_id = ?`
	if tx.Dialect() == Postgres {
		query += ` FOR UPDATE`
	}
	var was before
	var due int64
	err := tx.QueryRow(ctx, query, app, string(l.Kind), l.ID).Scan(&was.remote, &was.status, &due)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", was, err
	}
	switch {
	case was.remote == l.RemoteID:
		return "", was, nil
	case was.remote != "":
		return "the principal has the account " + was.remote + " already", was, nil
	case due == 1:
		return "the principal is about to be provisioned; try again when that has ended", was, nil
	}
	var owner string
	err = tx.QueryRow(ctx, `SELECT principal_id FROM sync_state WHERE app_id = ? AND kind = ? AND remote_id = ? AND principal_id <> ? LIMIT 1`,
		app, string(l.Kind), l.RemoteID, l.ID).Scan(&owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", was, nil
	case err != nil:
		return "", was, err
	default:
		return "the account belongs to " + owner + " already", was, nil
	}
}

// Links implements engine.LinkStore.
func (s *Store) Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT kind, principal_id, remote_id, remote_name, link_origin FROM sync_state
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
