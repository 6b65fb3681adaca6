package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/internal/sqldb"
)

const stateColumns = `app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew, COALESCE(next_at, 0), attempts,
	remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at, unkept, dirty_since`

func scanState(rows *sql.Rows, s *engine.State) error {
	var tried, anew, next, updated, since int64
	var unkept string
	err := rows.Scan(&s.App, &s.Kind, &s.ID, &s.Desired, &s.Synced, &s.Full, &s.Status, &s.Want, &tried, &anew, &next, &s.Attempts,
		&s.RemoteID, &s.RemoteName, &s.Origin, &s.LastOperation, &s.LastStatus, &s.LastError, &updated, &unkept, &since)
	if err != nil {
		return err
	}
	s.Tried, s.Anew, s.NextAt, s.UpdatedAt, s.DirtySince = tried == 1, anew == 1, at(next), at(updated), at(since)
	return read(unkept, &s.Unkept)
}

// dueSets are the principals of a lane in the order of their urgency; each has an index of its own, so that a long queue of
// creates costs a deactivation nothing.
var dueSets = []string{
	`kind = 'user' AND remote_id <> ''`,
	`kind = 'user' AND remote_id = ''`,
	`kind = 'group'`,
}

// Due implements engine.Store.
func (s *Store) Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error) {
	var out []engine.State
	for _, set := range dueSets {
		if limit <= len(out) {
			break
		}
		rows, err := s.db.Reader().Query(ctx, `SELECT `+stateColumns+` FROM sync_state
			WHERE app_id = ? AND next_at IS NOT NULL AND next_at <= ? AND `+set+` ORDER BY next_at LIMIT ?`, app, ms(now), limit-len(out))
		found, err := collect(rows, err, scanState)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: due principals of %s: %w", app, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// Begin implements engine.Store.
func (s *Store) Begin(ctx context.Context, l lane.Lease, intents []engine.Intent) error {
	intents = slices.SortedFunc(slices.Values(intents), func(a, b engine.Intent) int {
		return lockOrder(principal{a.Kind, l.App, a.ID}, principal{b.Kind, l.App, b.ID})
	})
	return s.under(ctx, l, "begin", func(tx *sqldb.Tx) error {
		for _, i := range intents {
			active := bit(i.Want == engine.Active)
			_, err := tx.Exec(ctx, `UPDATE sync_state SET
				full_gen = CASE WHEN ? = 1 AND kind = 'group' AND want = 'inactive' THEN desired_gen ELSE full_gen END,
				anew = CASE WHEN ? = 1 AND tried = 0 THEN 1 ELSE anew END,
				tried = CASE WHEN ? = 1 THEN 1 ELSE tried END,
				remote_name = CASE WHEN remote_id = '' AND tried = 0 AND ? <> '' THEN ? ELSE remote_name END,
				want = ? WHERE app_id = ? AND kind = ? AND principal_id = ?`,
				active, active, active, text(i.Name), text(i.Name), string(i.Want), l.App, string(i.Kind), i.ID)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// keptExchanges is how many exchanges are kept for each principal; older ones are removed when new ones come.
const keptExchanges = 100

// Finish implements engine.Store.
func (s *Store) Finish(ctx context.Context, l lane.Lease, f engine.Finish) (status engine.Status, err error) {
	err = s.under(ctx, l, "finish "+string(f.Kind)+" "+f.ID, func(tx *sqldb.Tx) error {
		f := f // as it was: the transaction may be tried again
		before, err := readEarlier(ctx, tx, l.App, f)
		if err != nil {
			return err
		}
		moves, err := moved(ctx, tx, l.App, before.remote, &f)
		if err != nil {
			return err
		}
		events, told := f.Tell(before.remote, before.told)
		if status, err = finishState(ctx, tx, l.App, f, told); err != nil {
			return err
		}
		if f.Kind == engine.Group {
			err = finishMembers(ctx, tx, l.App, f)
		} else {
			err = moveMembers(ctx, tx, l.App, moves, f.At)
		}
		if err != nil {
			return err
		}
		if err := keepExchanges(ctx, tx, l.App, f); err != nil {
			return err
		}
		return finishLane(ctx, tx, l, f, events)
	})
	return status, err
}

func finishState(ctx context.Context, tx *sqldb.Tx, app string, f engine.Finish, told string) (status engine.Status, err error) {
	synced := bit(f.Status == engine.StatusClean || f.Status == engine.StatusSkipped || f.Status == engine.StatusWaiting)
	parked := bit(f.NextAt.IsZero())
	unkept := ""
	if len(f.Unkept) > 0 {
		b, err := json.Marshal(f.Unkept)
		if err != nil {
			return "", err
		}
		unkept = text(string(b))
	}
	// A mark that came meanwhile (desired_gen > gen) makes a principal that would rest due again at once. Under a back-off it
	// waits with the principal. It came when the row was last written.
	err = tx.ExecReturning(ctx, []any{&status}, `UPDATE sync_state SET
		synced_gen = CASE WHEN ? = 1 THEN CAST(? AS BIGINT) ELSE synced_gen END,
		full_gen = CASE WHEN ? = 1 THEN desired_gen ELSE full_gen END,
		status   = CASE WHEN ? = 1 AND desired_gen > ? THEN 'dirty' ELSE ? END,
		next_at  = CASE WHEN ? = 1 AND desired_gen > ? THEN CAST(? AS BIGINT) ELSE CAST(? AS BIGINT) END,
		attempts = CASE WHEN ? = 1 AND desired_gen > ? THEN 0 ELSE CAST(? AS BIGINT) END,
		tried    = CASE WHEN ? = 'clean' AND want <> 'active' THEN 0 ELSE tried END,
		anew     = CASE WHEN ? = 'clean' THEN 0 ELSE anew END,
		dirty_since = CASE WHEN ? = 0 THEN dirty_since WHEN desired_gen > ? THEN updated_at ELSE 0 END,
		overdue_at  = CASE WHEN ? = 0 THEN overdue_at ELSE 0 END,
		remote_id = ?, remote_name = ?, link_origin = ?, last_op = ?, last_http = ?, last_error = ?, updated_at = ?, unkept = ?, told = ?
		WHERE app_id = ? AND kind = ? AND principal_id = ? RETURNING status`,
		synced, f.Gen,
		bit(f.Unsure),
		parked, f.Gen, string(f.Status),
		parked, f.Gen, ms(f.At), due(f.NextAt),
		parked, f.Gen, f.Attempts,
		string(f.Status), string(f.Status),
		synced, f.Gen, synced,
		text(f.RemoteID), text(f.RemoteName), string(f.Origin), string(f.Operation), f.HTTP, text(f.Error), ms(f.At), unkept, told,
		app, string(f.Kind), f.ID)
	return status, err
}

// finishMembers stores what was pushed of a group.
func finishMembers(ctx context.Context, tx *sqldb.Tx, app string, f engine.Finish) error {
	if f.Forget {
		_, err := tx.Exec(ctx, `DELETE FROM member_state WHERE app_id = ? AND group_id = ?`, app, f.ID)
		return err
	}
	if f.Replaced {
		_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 0, pushed_id = '' WHERE app_id = ? AND group_id = ?`, app, f.ID)
		if err != nil {
			return err
		}
	}
	for _, m := range byUser(f.Added) {
		// Not when the user got another id meanwhile: what was pushed is then not its account any more.
		_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 1, pushed_id = ? WHERE app_id = ? AND group_id = ? AND principal_id = ?
			AND EXISTS (SELECT 1 FROM sync_state WHERE app_id = ? AND kind = 'user' AND principal_id = ? AND remote_id = ?)`,
			m.ID, app, f.ID, m.User, app, m.User, m.ID)
		if err != nil {
			return err
		}
	}
	for _, m := range byUser(f.Removed) {
		_, err := tx.Exec(ctx, `UPDATE member_state SET pushed = 0, pushed_id = '' WHERE app_id = ? AND group_id = ? AND principal_id = ?`,
			app, f.ID, m.User)
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM member_state WHERE app_id = ? AND group_id = ? AND want = 0 AND pushed = 0 AND asked = 0`, app, f.ID)
	return err
}

// byUser puts members into the order in which rows are written.
func byUser(members []engine.RemoteMember) []engine.RemoteMember {
	return slices.SortedFunc(slices.Values(members), func(a, b engine.RemoteMember) int {
		return lockOrder(principal{id: a.User}, principal{id: b.User})
	})
}

// States implements engine.Store.
func (s *Store) States(ctx context.Context, q engine.StateQuery) ([]engine.State, error) {
	where, args := conditions(map[string]string{
		"app_id": q.App, "kind": string(q.Kind), "principal_id": q.ID, "status": string(q.Status), "remote_id": q.RemoteID,
	})
	if q.After != nil {
		where += ` AND (app_id, kind, principal_id) > (?, ?, ?)`
		args = append(args, q.After.App, string(q.After.Kind), q.After.ID)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT `+stateColumns+` FROM sync_state WHERE `+where+
		` ORDER BY app_id, kind, principal_id LIMIT ?`, append(args, limitOr(q.Limit))...)
	out, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: states: %w", err)
	}
	return out, nil
}

// Pending implements engine.Store.
func (s *Store) Pending(ctx context.Context, app string) (n int, err error) {
	where, args := conditions(map[string]string{"app_id": app})
	err = s.db.Reader().QueryRow(ctx, `SELECT COUNT(*) FROM sync_state WHERE next_at IS NOT NULL AND `+where, args...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("sqlstore: pending: %w", err)
	}
	return n, nil
}
