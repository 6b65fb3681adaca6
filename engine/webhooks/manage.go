package webhooks

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// claimed is an endpoint of this process.
type claimed struct {
	id      string
	epoch   int64
	version int64
}

const (
	maxClaim   = 100 // endpoints in one claim
	pruneEvery = time.Hour
)

// clock returns the expression for the current time in milliseconds, by the clock of the database, so that the clocks of the processes do
// not matter.
func clock(d sqldb.Dialect) string {
	if d == sqldb.Postgres {
		return `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
	}
	return `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS BIGINT)`
}

// manage renews the leases of this process, claims endpoints, runs a worker for each, and searches for events of other processes.
func (s *Service) manage(ctx context.Context) {
	var running sync.WaitGroup
	beat, poll, prune := time.NewTicker(s.o.Lease/4), time.NewTicker(s.o.Poll), time.NewTicker(pruneEvery)
	defer func() {
		beat.Stop()
		poll.Stop()
		prune.Stop()
		running.Wait()
		s.release(context.WithoutCancel(ctx))
	}()
	s.prune(ctx)
	s.beat(ctx, &running)
	for skipped := 0; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-s.changed:
			s.beat(ctx, &running)
		case <-beat.C:
			// Without endpoints there is no lease to renew. The process that creates one claims it.
			if skipped++; s.none && skipped%4 != 0 {
				continue
			}
			s.beat(ctx, &running)
		case <-poll.C:
			s.logged(ctx, "search for events", s.poll(ctx))
		case <-prune.C:
			s.prune(ctx)
		}
	}
}

func (s *Service) prune(ctx context.Context) {
	_, err := s.Prune(ctx)
	s.logged(ctx, "remove old dead letters", err)
}

func (s *Service) logged(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.o.Logger.ErrorContext(ctx, "webhooks: "+what, "error", err)
	}
}

// beat renews the leases, claims free endpoints, and starts and stops the workers accordingly.
func (s *Service) beat(ctx context.Context, running *sync.WaitGroup) {
	began := time.Now()
	mine, err := s.claim(ctx)
	if err != nil {
		s.logged(ctx, "renew leases", err)
		return
	}
	until := lease{began, s.o.Lease * 9 / 10}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string]claimed{}
	for _, c := range mine {
		now[c.id] = c
	}
	for id, w := range s.workers {
		if c, ok := now[id]; !ok || c.epoch != w.epoch {
			w.cancel()
			delete(s.workers, id)
		}
	}
	for _, c := range mine {
		w := s.workers[c.id]
		if w == nil {
			var work context.Context
			w = newWorker(s, c.id, c.epoch)
			work, w.cancel = context.WithCancel(ctx)
			s.workers[c.id] = w
			w.renew(until)
			running.Go(func() { w.run(work) })
		} else {
			w.renew(until)
		}
		if w.version != c.version {
			w.version = c.version
			w.wake()
		}
	}
}

// claim renews the leases of this process and claims endpoints without a valid lease. It returns the endpoints of this process.
func (s *Service) claim(ctx context.Context) (mine []claimed, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Lease)
	defer cancel()
	var some int // an idle process without endpoints writes nothing
	err = s.db.Reader().QueryRow(ctx, `SELECT 1 FROM {webhook_endpoint} LIMIT 1`).Scan(&some)
	if s.none = errNone(err); s.none {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	now, span := clock(s.db.Dialect()), s.o.Lease.Milliseconds()
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		mine = nil
		if !s.renewed { // with the new epoch, a late transaction of a killed process with this name stores nothing
			if _, err := tx.Exec(ctx, `UPDATE {webhook_endpoint} SET epoch = epoch + 1 WHERE owner = ?`, s.owner); err != nil {
				return err
			}
		}
		free, err := s.free(ctx, tx)
		if err != nil {
			return err
		}
		for _, id := range free {
			_, err := tx.Exec(ctx, `UPDATE {webhook_endpoint} SET owner = ?, epoch = epoch + 1, lease_until = `+now+` + CAST(? AS BIGINT)
				WHERE endpoint_id = ?`, s.owner, span, id)
			if err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `UPDATE {webhook_endpoint} SET lease_until = `+now+` + CAST(? AS BIGINT) WHERE owner = ?`, span, s.owner)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT endpoint_id, epoch, version FROM {webhook_endpoint} WHERE owner = ?`, s.owner)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c claimed
			if err := rows.Scan(&c.id, &c.epoch, &c.version); err != nil {
				return err
			}
			mine = append(mine, c)
		}
		return rows.Err()
	})
	s.renewed = s.renewed || err == nil
	return mine, err
}

// free locks endpoints without a valid lease and returns their ids. It does not wait for endpoints that another process claims.
func (s *Service) free(ctx context.Context, tx *sqldb.Tx) (ids []string, err error) {
	query := `SELECT endpoint_id FROM {webhook_endpoint} WHERE lease_until < ` + clock(s.db.Dialect()) + ` AND owner <> ?
		ORDER BY endpoint_id LIMIT ?`
	if s.db.Dialect() == sqldb.Postgres {
		query += ` FOR UPDATE SKIP LOCKED`
	}
	rows, err := tx.Query(ctx, query, s.owner, maxClaim)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if len(ids) == maxClaim {
		s.refresh() // there may be more
	}
	return ids, rows.Err()
}

// release ends the leases of this process.
func (s *Service) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Lease)
	defer cancel()
	s.logged(ctx, "release endpoints", s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {webhook_endpoint} SET owner = '', lease_until = 0 WHERE owner = ?`, s.owner)
		return err
	}))
}

// poll wakes the workers of apps with events after their cursors.
func (s *Service) poll(ctx context.Context) error {
	s.mu.Lock()
	idle := len(s.workers) == 0
	s.mu.Unlock()
	if idle {
		return nil
	}
	heads, err := s.heads(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		w.compare(heads)
	}
	return nil
}

// lease is the validity of a lease by the clocks of this process. It ends before that in the database.
type lease struct {
	began time.Time
	span  time.Duration
}

// valid reports whether neither the monotonic nor the wall clock has passed the end.
func (l lease) valid() bool {
	now := time.Now()
	return now.Sub(l.began) < l.span && now.Round(0).Sub(l.began.Round(0)) < l.span
}

// errNone reports whether a row does not exist.
func errNone(err error) bool { return errors.Is(err, sql.ErrNoRows) }
