package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// upsertMark marks one principal. A mark does not end a backoff unless retry is set: a failing target gets no additional requests because
// of new changes. A principal with an accepted change is read first, at its scheduled time, or immediately with retry. The principal is
// dirty since the first mark. If that time is in the future because the clock was set back, the current time replaces it. markArgs returns
// the parameters.
const upsertMark = `
INSERT INTO {sync_state} (app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew, next_at, attempts,
	remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at, dirty_since)
VALUES (?, ?, ?, 1, 0, ?, 'dirty', '', 0, 0, ?, 0, '', '', '', '', 0, '', ?, ?)
ON CONFLICT (app_id, kind, principal_id) DO UPDATE SET
	desired_gen = {sync_state}.desired_gen + 1,
	full_gen = CASE WHEN excluded.full_gen > 0 THEN {sync_state}.desired_gen + 1 ELSE {sync_state}.full_gen END,
	next_at  = CASE WHEN {sync_state}.status IN ('retrying', 'pending') AND ? = 0 THEN {sync_state}.next_at ELSE excluded.next_at END,
	attempts = CASE WHEN {sync_state}.status = 'retrying' AND ? = 0 OR {sync_state}.status = 'pending' THEN {sync_state}.attempts ELSE 0 END,
	status   = CASE WHEN {sync_state}.status = 'retrying' AND ? = 0 OR {sync_state}.status = 'pending'
		THEN {sync_state}.status ELSE 'dirty' END,
	dirty_since = CASE WHEN {sync_state}.dirty_since BETWEEN 1 AND excluded.dirty_since
		THEN {sync_state}.dirty_since ELSE excluded.dirty_since END,
	updated_at = excluded.updated_at`

// markArgs returns the parameters of upsertMark.
//
// Invariant 2: A new mark does not end the backoff of a principal whose target fails. A new mark ends the permanent failure of a
// principal.
func markArgs(app string, kind engine.Kind, id string, full bool, now time.Time, retry bool) []any {
	n, r := ms(now), bit(retry)
	return []any{app, string(kind), id, bit(full), n, n, n, r, r, r}
}

// upsertAsked records that the engine has to query the directory about a member.
const upsertAsked = `
INSERT INTO {member_state} (app_id, group_id, principal_id, want, pushed, pushed_id, asked, walk) VALUES (?, ?, ?, 0, 0, '', 1, 0)
ON CONFLICT (app_id, group_id, principal_id) DO UPDATE SET asked = {member_state}.asked + 1`

// upsertLane makes a lane pending: now, or, without retry, at the end of a hold other than a quarantine. The epochs of a new lane start
// with the current time, so that they are higher than those of a removed lane of the same name. laneArgs returns the parameters.
const upsertLane = `
INSERT INTO {app_lane} (app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak, marks, tenant)
VALUES (?, ?, '', ` + noLease + `, ?, 0, '', 0, '', 0, 1, ?)
ON CONFLICT (app_id) DO UPDATE SET
	tenant = excluded.tenant,
	kicks = {app_lane}.kicks + ?,
	marks = {app_lane}.marks + 1,
	hold_until = CASE WHEN ? = 1 AND {app_lane}.hold_until > excluded.next_at THEN excluded.next_at ELSE {app_lane}.hold_until END,
	next_at = CASE
		WHEN ? = 1 OR {app_lane}.hold_until <= excluded.next_at OR {app_lane}.hold = 'quarantine' THEN
			CASE WHEN {app_lane}.next_at < excluded.next_at THEN {app_lane}.next_at ELSE excluded.next_at END
		WHEN {app_lane}.next_at < {app_lane}.hold_until THEN {app_lane}.next_at
		ELSE {app_lane}.hold_until END`

// laneArgs returns the parameters of upsertLane.
func (s *Store) laneArgs(app string, now time.Time, retry bool) []any {
	n, r := ms(now), bit(retry)
	return []any{app, n, n, text(s.tenant(app)), r, r, r}
}

type principal struct {
	kind engine.Kind
	app  string
	id   string
}

// lockOrder compares by the order in which rows are written: users, then groups, ids ascending.
func lockOrder(a, b principal) int {
	return cmp.Or(-cmp.Compare(a.kind, b.kind), cmp.Compare(a.app, b.app), cmp.Compare(a.id, b.id))
}

// Mark implements store.Marks.
//
// Invariant 1: Mark writes the rows of the principals first and the row of the lane last. The release of a lane locks the lane row and
// then reads the pending rows in a new statement.
func (s *Store) Mark(ctx context.Context, tx engine.Execer, now time.Time, marks []engine.Mark) error {
	merged := map[principal]engine.Mark{}
	for _, m := range marks {
		if m.App == "" || m.ID == "" || m.Kind != engine.User && m.Kind != engine.Group {
			return fmt.Errorf("sqlstore: mark: invalid principal: app %q, kind %q, id %q", m.App, m.Kind, m.ID)
		}
		if m.Kind == engine.User && (m.AllMembers || len(m.Members) > 0) {
			return errors.New("sqlstore: mark: a user cannot have members")
		}
		key := principal{m.Kind, m.App, m.ID}
		if old, ok := merged[key]; ok {
			m.Members = slices.Concat(old.Members, m.Members)
			m.AllMembers, m.Retry = m.AllMembers || old.AllMembers, m.Retry || old.Retry
		}
		merged[key] = m
	}
	keys := slices.SortedFunc(maps.Keys(merged), lockOrder)
	t := s.db.Wrap(tx)
	lanes := map[string]bool{} // value: whether Retry is set
	for _, k := range keys {
		m := merged[k]
		lanes[k.app] = lanes[k.app] || m.Retry
		if _, err := t.Exec(ctx, upsertMark, markArgs(k.app, k.kind, k.id, m.AllMembers, now, m.Retry)...); err != nil {
			return fmt.Errorf("sqlstore: mark %s %s of %s: %w", k.kind, k.id, k.app, err)
		}
	}
	for _, k := range keys {
		members := slices.Sorted(slices.Values(merged[k].Members))
		for _, user := range slices.Compact(members) {
			if _, err := t.Exec(ctx, upsertAsked, k.app, k.id, user); err != nil {
				return fmt.Errorf("sqlstore: mark member %s of %s of %s: %w", user, k.id, k.app, err)
			}
		}
	}
	for _, app := range slices.Sorted(maps.Keys(lanes)) {
		if _, err := t.Exec(ctx, upsertLane, s.laneArgs(app, now, lanes[app])...); err != nil {
			return fmt.Errorf("sqlstore: mark the lane of %s: %w", app, err)
		}
	}
	return nil
}

// Kick implements store.Marks.
//
// Invariant 8: If Apps.Kick or a retry requests the end of the hold of a lane while an engine owns the lane, the release of the lane ends
// the hold. The transaction that stores the result of a sequence reports whether a mark arrived during the sequence.
func (s *Store) Kick(ctx context.Context, now time.Time, apps []string) error {
	return s.update(ctx, func(tx *sqldb.Tx) error {
		for _, app := range slices.Sorted(slices.Values(apps)) {
			_, err := tx.Exec(ctx,
				`UPDATE {app_lane} SET next_at = ?, kicks = kicks + 1, hold_until = CASE WHEN hold_until > ? THEN ? ELSE hold_until END
				WHERE app_id = ?`, ms(now), ms(now), ms(now), app)
			if err != nil {
				return fmt.Errorf("sqlstore: schedule the lane of %s: %w", app, err)
			}
		}
		return nil
	})
}
