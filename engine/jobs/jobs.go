// Package jobs has the interface of the scheduler that runs the jobs of the engine: imports, the search for overdue deactivations, and the
// jobs that a host program adds. A lane is not a job: see docs/explanation/architecture.md.
//
// Two schedulers implement the interface, and package jobstest tests both. [Builtin] is for a database that one process owns, such as
// SQLite; provision.New creates one by default. Package riverjobs is for a PostgreSQL database that several processes share. A program that
// does not import riverjobs does not contain River.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Scheduler runs jobs. Jobs are stored: after a crash, the next process, or another process that shares the database, starts them again. A
// handler may therefore run more than once for a job, and has to reject the writes of its earlier attempts itself.
type Scheduler interface {
	// Register adds kinds of jobs. It returns an error for a kind that exists, for an invalid kind, and after Start.
	Register(kinds ...Kind) error
	// Insert stores a job that starts after a delay, 0 for immediately. A kind has at most one unfinished job with a key: if there is one,
	// Insert adds none, and if that job is waiting for a later time, it starts at the earlier one.
	Insert(ctx context.Context, kind, key string, after time.Duration) error
	// List lists jobs for operators, newest first.
	List(ctx context.Context, q Query) ([]Info, error)
	// Start starts the work in the background and returns. The end of ctx does not stop the scheduler. A second call does nothing.
	Start(ctx context.Context) error
	// Stop closes Job.Stopping of the running jobs and returns when their handlers have returned. If ctx ends first, Stop cancels their
	// contexts, waits for them and returns the error of ctx. A second call waits too.
	Stop(ctx context.Context) error
}

// Kind is a kind of jobs. Name and Work are required.
type Kind struct {
	// Name identifies the kind: lower-case letters, digits, dots and underscores, at most 100.
	Name string
	// Work runs one attempt of a job. The job is finished if it returns nil. After a [Snooze] it starts again later, which does not count as
	// an attempt. After a [Permanent] error it is failed. After any other error it starts again after a backoff, and is failed after the last
	// attempt. ctx is canceled when another process has taken over the job.
	Work func(ctx context.Context, j Job) error
	// Every makes the kind periodic: one process at a time runs a job with an empty key when the scheduler starts, and then at this interval.
	// A snooze replaces the interval. Default: not periodic.
	Every time.Duration
	// Long is for kinds whose jobs run for minutes or hours. Long jobs do not delay other jobs: they have workers of their own.
	Long bool
	// Attempts is the maximum number of attempts. Default: 25.
	Attempts int
	// Backoff and BackoffMax are the first and the maximum backoff after an error. Defaults: 1s and 1m.
	Backoff, BackoffMax time.Duration
	// Timeout limits one attempt. Default: no limit.
	Timeout time.Duration
}

// Job is one attempt of a job.
type Job struct {
	Kind, Key string
	Attempt   int // 1 for the first
	// Stopping is closed when the scheduler stops. A handler then returns a [Snooze] of 0 as soon as its work is in a state from which another
	// attempt can continue.
	Stopping <-chan struct{}
}

// Stops reports whether the scheduler is stopping.
func (j Job) Stops() bool {
	select {
	case <-j.Stopping:
		return true
	default:
		return false
	}
}

// State is the state of a job.
type State string

// The states.
const (
	Waiting  State = "waiting" // Info.At is the time of the next attempt
	Running  State = "running"
	Finished State = "finished"
	Failed   State = "failed" // Info.Error is the cause
)

// Info describes a job.
type Info struct {
	Kind, Key string
	State     State
	Attempt   int
	At        time.Time // start of the running or the next attempt, or end of the job
	Error     string    // of the last attempt that failed
}

// Query selects jobs. Empty fields do not restrict the result.
type Query struct {
	Kind  string
	State State
	Limit int // Default: 100
}

const (
	defaultAttempts   = 25
	defaultBackoff    = time.Second
	defaultBackoffMax = time.Minute
	defaultLimit      = 100
	maxName           = 100
)

// Check returns an error if the kind is invalid. Otherwise it sets the defaults. Schedulers call Check.
func (k *Kind) Check() error {
	if k.Name == "" || len(k.Name) > maxName {
		return fmt.Errorf("jobs: invalid name of a kind %q: use 1 to %d characters", k.Name, maxName)
	}
	for _, c := range k.Name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' {
			return fmt.Errorf("jobs: invalid name of a kind %q: use lower-case letters, digits, dots and underscores", k.Name)
		}
	}
	if k.Work == nil {
		return fmt.Errorf("jobs: the kind %s has no Work", k.Name)
	}
	if min(k.Every, k.Backoff, k.BackoffMax, k.Timeout) < 0 || k.Attempts < 0 {
		return fmt.Errorf("jobs: the numbers of the kind %s must not be negative", k.Name)
	}
	if k.Attempts == 0 {
		k.Attempts = defaultAttempts
	}
	if k.Backoff == 0 {
		k.Backoff = defaultBackoff
	}
	if k.BackoffMax == 0 {
		k.BackoffMax = defaultBackoffMax
	}
	k.BackoffMax = max(k.BackoffMax, k.Backoff)
	return nil
}

// Delay returns the backoff after the given number of failed attempts: Backoff, then twice the previous one, at most BackoffMax.
func (k *Kind) Delay(attempt int) time.Duration {
	d := k.Backoff
	for range attempt - 1 {
		if d >= k.BackoffMax {
			break
		}
		d *= 2
	}
	return min(d, k.BackoffMax)
}

// ErrUnknownKind is returned by Insert for a kind that is not registered.
var ErrUnknownKind = errors.New("jobs: the kind is not registered")

// SnoozeError is the error of [Snooze].
type SnoozeError struct{ After time.Duration }

// Error implements error.
func (e *SnoozeError) Error() string { return "continue in " + e.After.String() }

// Snooze returns an error with which a handler ends an attempt of a job that continues after a delay.
func Snooze(after time.Duration) error { return &SnoozeError{max(after, 0)} }

// PermanentError is the error of [Permanent].
type PermanentError struct{ Err error }

// Error implements error.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// Permanent returns an error with which a handler fails a job that must not be retried.
func Permanent(err error) error { return &PermanentError{err} }
