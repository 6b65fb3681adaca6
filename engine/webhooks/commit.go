package webhooks

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// commit stores the results of a round in one transaction: the state of the endpoint, the cursor and the letters. It returns errLost if
// another process owns the endpoint, or the endpoint was deleted.
func (r *round) commit(ctx context.Context, cut int) error {
	var seq int64
	if cut > 0 {
		seq = r.fresh[cut-1].seq
	}
	var disabled string // the reason
	err := r.s.update(ctx, func(tx *sqldb.Tx) (err error) {
		if disabled, err = r.storeEndpoint(ctx, tx); err != nil {
			return err
		}
		if cut > 0 {
			last := r.fresh[cut-1]
			at := milli(last.at)
			if last.kind == Missed {
				at = 0
			}
			err = setCursor(ctx, tx, r.id(), r.app, last.seq, at)
		} else if r.reset {
			err = setCursor(ctx, tx, r.id(), r.app, 0, 0)
		}
		if err != nil {
			return err
		}
		dead := 0
		for _, m := range r.letters {
			died, err := r.storeLetter(ctx, tx, m)
			if err != nil {
				return err
			}
			dead += int(bit(died))
		}
		for _, m := range r.fresh[:cut] {
			died, err := r.storeFresh(ctx, tx, m)
			if err != nil {
				return err
			}
			dead += int(bit(died))
		}
		if dead > 0 {
			return r.limitDead(ctx, tx)
		}
		return nil
	})
	if err != nil {
		return wrapped(err, "store the results of "+r.id())
	}
	if disabled != "" {
		r.s.o.Logger.WarnContext(ctx, "webhooks: endpoint disabled", "endpoint", r.id(), "reason", disabled)
	}
	if cut > 0 || r.reset {
		r.passed(r.app, seq)
	}
	return nil
}

// storeEndpoint stores the failures of the endpoint. If a caller has changed the endpoint during the round, they concern its earlier state
// and are not stored. It returns the reason if it has disabled the endpoint.
func (r *round) storeEndpoint(ctx context.Context, tx *sqldb.Tx) (reason string, err error) {
	held := int64(0)
	if r.failures >= r.s.o.HoldAfter {
		held = milli(r.now.Add(r.s.delay(r.failures - r.s.o.HoldAfter + 1)))
	}
	if r.after > 0 {
		held = max(held, milli(r.now.Add(r.after)))
	}
	switch {
	case r.gone:
		reason = "the endpoint responded 410"
	case r.failing != 0 && r.failures >= r.s.o.HoldAfter && milli(r.now)-r.failing >= r.s.o.DisableAfter.Milliseconds():
		reason = "no message could be delivered since " + timeOf(r.failing).Format(time.RFC3339)
	}
	var version int64
	err = tx.ExecReturning(ctx, []any{&version}, `UPDATE {webhook_endpoint} SET
		failures = CASE WHEN version = ? THEN CAST(? AS BIGINT) ELSE failures END,
		failing_since = CASE WHEN version = ? THEN CAST(? AS BIGINT) ELSE failing_since END,
		hold_until = CASE WHEN version = ? THEN CAST(? AS BIGINT) ELSE hold_until END,
		disabled = CASE WHEN version = ? AND ? = 1 THEN 1 ELSE disabled END,
		reason = CASE WHEN version = ? AND ? = 1 THEN CAST(? AS TEXT) ELSE reason END,
		last_error = CASE WHEN ? = 1 THEN CAST(? AS TEXT) ELSE last_error END,
		delivered_at = CASE WHEN ? = 1 THEN CAST(? AS BIGINT) ELSE delivered_at END
		WHERE endpoint_id = ? AND epoch = ? AND owner = ? RETURNING version`,
		r.version(), r.failures, r.version(), r.failing, r.version(), held, r.version(), bit(reason != ""),
		r.version(), bit(reason != ""), reason, bit(r.problem != ""), r.problem, bit(r.delivered), milli(r.now),
		r.id(), r.epoch, r.s.owner)
	switch {
	case errNone(err):
		return "", errLost
	case err != nil:
		return "", err
	case version != r.version():
		return "", nil
	}
	return reason, nil
}

func (r *round) version() int64 { return r.state.version }

// storeLetter stores the result of a retry. It reports whether the letter is a dead one now.
func (r *round) storeLetter(ctx context.Context, tx *sqldb.Tx, m *message) (dead bool, err error) {
	const row = ` WHERE endpoint_id = ? AND dead = 0 AND app_id = ? AND seq = ? AND message_id = ?`
	switch {
	case m.sent == nil:
		return false, nil
	case m.sent.ok:
		_, err = tx.Exec(ctx, `DELETE FROM {webhook_letter}`+row, r.id(), m.app, m.seq, m.id)
		return false, err
	}
	attempts := m.attempts + 1
	dead = attempts >= r.s.o.Attempts
	_, err = tx.Exec(ctx, `UPDATE {webhook_letter} SET dead = ?, attempts = ?, next_at = ?, failed_at = ?, status = ?, error = ?`+row,
		bit(dead), attempts, r.nextAt(m, attempts), milli(r.now), m.sent.status, m.sent.text, r.id(), m.app, m.seq, m.id)
	return dead, err
}

// storeFresh stores the letter of an event that was not delivered. It reports whether the letter is a dead one.
func (r *round) storeFresh(ctx context.Context, tx *sqldb.Tx, m *message) (dead bool, err error) {
	if m.skipped || m.sent != nil && m.sent.ok {
		return false, nil
	}
	attempts, next, failed, status, text := 0, milli(r.now), int64(0), 0, ""
	if m.sent != nil {
		attempts, failed, status, text = 1, milli(r.now), m.sent.status, m.sent.text
		dead = attempts >= r.s.o.Attempts
		next = r.nextAt(m, attempts)
	}
	_, err = tx.Exec(ctx, `INSERT INTO {webhook_letter} (endpoint_id, app_id, seq, kind, principal_id, type, message_id, body, dead, attempts,
		next_at, created_at, failed_at, status, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.id(), m.app, m.seq, string(m.subject.kind), m.subject.id, string(m.kind), m.id, m.body, bit(dead), attempts, next,
		milli(r.now), failed, status, text)
	return dead, err
}

// nextAt returns the time of the next attempt of a message that has failed.
func (r *round) nextAt(m *message, attempts int) int64 {
	return milli(r.now.Add(max(r.s.delay(attempts), m.sent.after)))
}

// limitDead removes the oldest dead letters of the endpoint that are too many.
func (r *round) limitDead(ctx context.Context, tx *sqldb.Tx) error {
	var n int
	err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM {webhook_letter} WHERE endpoint_id = ? AND dead = 1`, r.id()).Scan(&n)
	if n -= r.s.o.MaxDead; err != nil || n <= 0 {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM {webhook_letter} WHERE endpoint_id = ? AND dead = 1 AND (app_id, seq, message_id) IN (
		SELECT app_id, seq, message_id FROM {webhook_letter} WHERE endpoint_id = ? AND dead = 1
		ORDER BY failed_at, app_id, seq, message_id LIMIT ?)`, r.id(), r.id(), n)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE {webhook_endpoint} SET dropped = dropped + ? WHERE endpoint_id = ?`, n, r.id())
	}
	return err
}
