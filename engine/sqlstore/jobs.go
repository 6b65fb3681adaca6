package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// jobStore stores jobs in SQLite.
type jobStore struct{ s *Store }

// Jobs implements store.Jobs.
func (s *Store) Jobs() (jobs.Store, error) {
	if s.db.Dialect() != sqldb.SQLite {
		return nil, fmt.Errorf("sqlstore: several processes may share the database: use the scheduler of engine/jobs/riverjobs: %w",
			errors.ErrUnsupported)
	}
	return jobStore{s}, nil
}

// keptJobs is the time for which the results of jobs are stored.
const keptJobs = 24 * time.Hour

const unfinished = `state IN ('waiting', 'running')`

// InsertJob implements jobs.Store.
func (j jobStore) InsertJob(ctx context.Context, kind, key string, at time.Time) error {
	err := j.s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO {job} (kind, job_key, state, attempt, at, error) VALUES (?, ?, 'waiting', 0, ?, '')
			ON CONFLICT (kind, job_key) WHERE `+unfinished+` DO UPDATE SET at = excluded.at
			WHERE {job}.state = 'waiting' AND {job}.at > excluded.at`, kind, key, due(at))
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: insert the job %s %s: %w", kind, key, err)
	}
	return nil
}

// RecoverJobs implements jobs.Store.
func (j jobStore) RecoverJobs(ctx context.Context, now time.Time) error {
	err := j.s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {job} SET state = 'waiting', at = ? WHERE state = 'running'`, ms(now))
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: recover jobs: %w", err)
	}
	return nil
}

// ClaimJobs implements jobs.Store. It writes only if a job is due.
func (j jobStore) ClaimJobs(ctx context.Context, kinds []string, now time.Time, limit int) (claimed []jobs.Claimed, next time.Time,
	err error) {
	of := make([]any, len(kinds))
	for i, kind := range kinds {
		of[i] = kind
	}
	where := ` state = 'waiting' AND kind IN ` + list(len(kinds))
	dueAt := func(after time.Time) (first sql.NullInt64, err error) {
		err = j.s.db.Reader().QueryRow(ctx, `SELECT MIN(at) FROM {job} WHERE`+where+` AND at > ?`, append(of, ms(after))...).Scan(&first)
		return first, err
	}
	first, err := dueAt(time.Time{})
	if err == nil && first.Valid && first.Int64 <= ms(now) {
		err = j.s.update(ctx, func(tx *sqldb.Tx) error {
			rows, err := tx.Query(ctx, `UPDATE {job} SET state = 'running', attempt = attempt + 1, at = ? WHERE id IN
				(SELECT id FROM {job} WHERE`+where+` AND at <= ? ORDER BY at, id LIMIT ?) RETURNING id, kind, job_key, attempt`,
				append(append([]any{ms(now)}, of...), ms(now), limit)...)
			claimed, err = collect(rows, err, func(r *sql.Rows, c *jobs.Claimed) error { return r.Scan(&c.ID, &c.Kind, &c.Key, &c.Attempt) })
			return err
		})
		if err == nil {
			first, err = dueAt(now)
		}
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("sqlstore: claim jobs: %w", err)
	}
	return claimed, at(first.Int64), nil
}

// EndJob implements jobs.Store.
func (j jobStore) EndJob(ctx context.Context, c jobs.Claimed, r jobs.Result) error {
	when := any(ms(r.At))
	if r.State == jobs.Waiting {
		when = due(r.At)
	}
	err := j.s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {job} SET state = ?, at = ?, attempt = attempt - ?, error = CASE WHEN ? = '' THEN error ELSE ? END
			WHERE id = ? AND state = 'running' AND attempt = ?`,
			string(r.State), when, bit(r.Free), text(r.Error), text(r.Error), c.ID, c.Attempt)
		if err == nil && r.State != jobs.Waiting {
			_, err = tx.Exec(ctx, `DELETE FROM {job} WHERE state IN ('finished', 'failed') AND at < ?`, ms(r.At.Add(-keptJobs)))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: end the job %s %s: %w", c.Kind, c.Key, err)
	}
	return nil
}

// ListJobs implements jobs.Store.
func (j jobStore) ListJobs(ctx context.Context, q jobs.Query) ([]jobs.Info, error) {
	where, args := conditions(map[string]string{"kind": q.Kind, "state": string(q.State)})
	rows, err := j.s.db.Reader().Query(ctx, `SELECT kind, job_key, state, attempt, at, error FROM {job} WHERE `+where+`
		ORDER BY id DESC LIMIT ?`, append(args, limitOr(q.Limit))...)
	found, err := collect(rows, err, func(r *sql.Rows, i *jobs.Info) error {
		var when int64
		err := r.Scan(&i.Kind, &i.Key, &i.State, &i.Attempt, &when, &i.Error)
		i.At = at(when)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: jobs: %w", err)
	}
	return found, nil
}
