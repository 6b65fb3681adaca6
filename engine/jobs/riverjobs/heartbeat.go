package riverjobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine/internal/heartbeat"
)

// rescueLimit is the maximum number of jobs of dead processes that one heartbeat makes available.
const rescueLimit = 100

// errLost is the cause of the end of a context of a job that another process may start or has started.
var errLost = errors.New("riverjobs: the process has lost the job")

// held are the jobs that this process runs.
type held struct {
	mu   sync.Mutex
	jobs map[int64]*attempt
}

type attempt struct {
	number int
	cancel context.CancelCauseFunc
}

// add registers an attempt, whose context ends with errLost when another process has started the job.
func (h *held) add(ctx context.Context, id int64, number int) (of context.Context, release func()) {
	of, cancel := context.WithCancelCause(ctx)
	a := &attempt{number, cancel}
	h.mu.Lock()
	if before := h.jobs[id]; before != nil {
		before.cancel(errLost) // this process had lost the job, and now runs the next attempt
	}
	h.jobs[id] = a
	h.mu.Unlock()
	return of, func() {
		cancel(nil)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.jobs[id] == a {
			delete(h.jobs, id)
		}
	}
}

// all returns the ids and the numbers of the running attempts.
func (h *held) all() (ids []int64, numbers []int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, a := range h.jobs {
		ids, numbers = append(ids, id), append(numbers, int32(a.number)) //nolint:gosec // River's attempts are 16 bits wide
	}
	return ids, numbers
}

// lose cancels the listed attempts that are not among the kept ones.
func (h *held) lose(ids []int64, numbers []int32, kept map[int64]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, id := range ids {
		if a := h.jobs[id]; a != nil && a.number == int(numbers[i]) && !kept[id] {
			a.cancel(errLost)
		}
	}
}

// beat renews the running jobs of this process and makes those of dead processes available, until ctx ends. Without a successful heartbeat
// the process loses its jobs, before another process starts them again.
func (s *Scheduler) beat(ctx context.Context) {
	clocks := heartbeat.System()
	for ctx.Err() == nil {
		life := heartbeat.Begin(ctx, clocks, s.o.Dead, clocks.Now(), errLost)
		lost := make(chan struct{})
		stop := context.AfterFunc(life.Context(), func() { // while a call of the database may still be in flight
			defer close(lost)
			if errors.Is(context.Cause(life.Context()), errLost) {
				ids, numbers := s.held.all()
				s.held.lose(ids, numbers, nil)
			}
		})
		life.Run(ctx, heartbeat.Beating{
			Send: func(call context.Context) (time.Duration, error) { return -1, s.renew(call) },
			Reap: func() {},
			Failed: func(err error) {
				s.o.Logger.WarnContext(ctx, "the running jobs were not renewed", "error", err)
			},
		})
		if !stop() {
			<-lost
		}
	}
}

// renew sends one heartbeat: a single statement renews the jobs of this process and makes those of dead processes available. River's
// rescuer is not used, because it runs only in the leader and detects a lost job only by a time limit for each job.
func (s *Scheduler) renew(ctx context.Context) error {
	ids, numbers := s.held.all()
	rows, err := s.pool.Query(ctx, `WITH
		mine AS (
			UPDATE `+s.table()+` AS j SET attempted_at = clock_timestamp()
			FROM unnest($1::bigint[], $2::int[]) AS m (id, attempt)
			WHERE j.id = m.id AND j.attempt = m.attempt AND j.state = 'running' AND j.attempted_by[array_length(j.attempted_by, 1)] = $3
			RETURNING j.id),
		stuck AS (
			SELECT id FROM `+s.table()+`
			WHERE state = 'running' AND queue = ANY ($4) AND attempted_at < clock_timestamp() - $5::interval AND id <> ALL ($1)
			ORDER BY id LIMIT $6 FOR UPDATE SKIP LOCKED),
		rescued AS (
			UPDATE `+s.table()+` AS j SET
				state = (CASE WHEN attempt < max_attempts THEN 'available' ELSE 'discarded' END)::`+s.o.Schema+`.river_job_state,
				finalized_at = CASE WHEN attempt < max_attempts THEN NULL ELSE clock_timestamp() END,
				scheduled_at = clock_timestamp(),
				errors = array_append(errors, jsonb_build_object('at', clock_timestamp(), 'attempt', attempt,
					'error', 'the process ' || attempted_by[array_length(attempted_by, 1)] || ' no longer responds', 'trace', ''))
			FROM stuck WHERE j.id = stuck.id RETURNING j.id, j.kind, j.args ->> 'key' AS key)
		SELECT id, '' AS kind, '' AS key FROM mine UNION ALL SELECT id, kind, key FROM rescued`,
		notNil(ids), notNil(numbers), s.id, []string{queue, longQueue}, s.o.Dead, rescueLimit)
	if err != nil {
		return err
	}
	defer rows.Close()
	kept := map[int64]bool{}
	for rows.Next() {
		var id int64
		var kind, key string
		if err := rows.Scan(&id, &kind, &key); err != nil {
			return err
		}
		if kind == "" {
			kept[id] = true
			continue
		}
		s.o.Logger.WarnContext(ctx, "a job of a process that no longer responds starts again", "kind", kind, "key", key)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s.held.lose(ids, numbers, kept)
	return nil
}

// notNil returns an empty slice instead of nil, which PostgreSQL would receive as NULL.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// table returns the name of River's table of jobs. The name of the schema needs no quotes.
func (s *Scheduler) table() string { return s.o.Schema + ".river_job" }

// advance makes a waiting job due after the delay if it is due later.
func (s *Scheduler) advance(ctx context.Context, id int64, after time.Duration) error {
	_, err := s.pool.Exec(ctx, `UPDATE `+s.table()+` SET
			state = (CASE WHEN $2::interval <= interval '0' THEN 'available' ELSE state::text END)::`+s.o.Schema+`.river_job_state,
			scheduled_at = clock_timestamp() + $2::interval
		WHERE id = $1 AND state IN ('available', 'scheduled', 'retryable') AND scheduled_at > clock_timestamp() + $2::interval`, id, after)
	return err
}
