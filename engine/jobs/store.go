package jobs

import (
	"context"
	"time"
)

// Store stores the jobs of a [Builtin]. One process uses it at a time. engine/sqlstore implements it for SQLite.
type Store interface {
	// InsertJob stores a waiting job, unless the kind has an unfinished job with that key. If that job is waiting for a later time, it is due
	// at the given time.
	InsertJob(ctx context.Context, kind, key string, at time.Time) error
	// RecoverJobs makes the jobs due that were running when the previous process ended.
	RecoverJobs(ctx context.Context, now time.Time) error
	// ClaimJobs changes up to limit due jobs of the kinds, those with the earliest times, to running, and raises their attempts. next is the
	// earliest time after now at which a waiting job of the kinds is due, zero if there is none.
	ClaimJobs(ctx context.Context, kinds []string, now time.Time, limit int) (claimed []Claimed, next time.Time, err error)
	// EndJob stores the result of a claimed attempt. It ignores an attempt that is not the running one.
	EndJob(ctx context.Context, c Claimed, r Result) error
	// ListJobs lists jobs, newest first. The store removes finished and failed jobs from time to time.
	ListJobs(ctx context.Context, q Query) ([]Info, error)
}

// Claimed is an attempt of a job that has started.
type Claimed struct {
	ID        int64
	Kind, Key string
	Attempt   int
}

// Result is the result of an attempt. The job is waiting, finished or failed afterwards.
type Result struct {
	State State
	At    time.Time // time of the next attempt, or of the end
	Error string    // empty without an error
	Free  bool      // the attempt does not count
}
