package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// retention is the kind of the job that removes old history. One daemon at a time runs it.
func (d *Daemon) retention(store *sqlstore.Store) jobs.Kind {
	work := func(ctx context.Context, _ jobs.Job) error { return d.removeOld(ctx, store, time.Now()) }
	return jobs.Kind{Name: "daemon_retention", Every: d.options.Retention.Every, Long: true, Attempts: 3, Work: work}
}

// removeOld removes what exceeds the limits of the options. An error of one part does not prevent the others.
func (d *Daemon) removeOld(ctx context.Context, store *sqlstore.Store, now time.Time) error {
	r := d.options.Retention
	began := time.Now()
	history, failed := store.Prune(ctx, now, sqlstore.Retention{ // KeepEvents limits the number of events
		ExchangeAge: r.Exchanges.Age, Exchanges: r.Exchanges.Rows, EventAge: r.Events.Age,
	})
	deleted, err := d.store.Prune(ctx, desired.Retention{Age: r.Deleted.Age, Deleted: r.Deleted.Rows, Forget: store.ForgetAbsent})
	failed = errors.Join(failed, err)
	letters, err := d.hooks.Prune(ctx)
	failed = errors.Join(failed, err, d.db.pruneAudit(ctx, d.options.Audit, now))
	if history.Exchanges+history.Events+deleted+letters > 0 {
		d.options.Logger.InfoContext(ctx, "old history removed", "exchanges", history.Exchanges, "events", history.Events,
			"deleted_objects", deleted, "dead_letters", letters, "duration", time.Since(began))
	}
	return failed
}

// pruneRows is the number of entries that one transaction removes from the audit log.
const pruneRows = 1000

// pruneAudit removes the entries of the audit log that exceed the limits.
func (d *database) pruneAudit(ctx context.Context, l AuditLimits, now time.Time) error {
	for n := pruneRows; n == pruneRows; {
		err := d.update(ctx, func(tx *sqldb.Tx) (err error) {
			n, err = pruneEntries(ctx, tx, l, now)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pruneEntries removes up to pruneRows entries, the oldest ones. The last entry remains, because its number is the basis of the next one.
func pruneEntries(ctx context.Context, tx *sqldb.Tx, l AuditLimits, now time.Time) (n int, err error) {
	var last int64
	if err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(seq), 0) FROM {daemon_audit}`).Scan(&last); err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, `SELECT seq, at FROM {daemon_audit} WHERE seq < ? ORDER BY seq`+sqldb.Limit, last, pruneRows)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var old []int64
	for rows.Next() {
		var seq, at int64
		if err := rows.Scan(&seq, &at); err != nil {
			return 0, err
		}
		if seq > last-l.Rows && at >= millis(now.Add(-l.Age)) {
			break
		}
		old = append(old, seq)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(old) == 0 {
		return 0, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM {daemon_audit} WHERE seq <= ?`, slices.Max(old))
	return len(old), err
}
