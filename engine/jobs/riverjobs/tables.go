package riverjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/scimwright/scimwright/engine/jobs"
)

// migrate creates the schema, if it does not exist, and River's tables. A lock of the database keeps other processes out.
func migrate(ctx context.Context, pool *pgxpool.Pool, o Options) (err error) {
	lock, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ended(lock.Rollback(context.WithoutCancel(ctx)))) }()
	if _, err := lock.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "scimwright river "+o.Schema); err != nil {
		return err
	}
	var exists bool
	err = pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, o.Schema).Scan(&exists)
	if err != nil {
		return err
	}
	if !exists { // CREATE SCHEMA IF NOT EXISTS requires the privilege to create a schema even if it exists
		if _, err := pool.Exec(ctx, `CREATE SCHEMA `+o.Schema); err != nil {
			return err
		}
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: o.Schema, Logger: quiet(o.Logger)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// ended ignores the error of a transaction that has ended already.
func ended(err error) error {
	if errors.Is(err, pgx.ErrTxClosed) {
		return nil
	}
	return err
}

// stateOf returns the state of a job for operators.
func stateOf(s rivertype.JobState) jobs.State {
	switch s {
	case rivertype.JobStateRunning:
		return jobs.Running
	case rivertype.JobStateCompleted:
		return jobs.Finished
	case rivertype.JobStateDiscarded, rivertype.JobStateCancelled:
		return jobs.Failed
	case rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateScheduled:
	}
	return jobs.Waiting
}

func infoOf(j *rivertype.JobRow) (jobs.Info, error) {
	var a args
	if err := json.Unmarshal(j.EncodedArgs, &a); err != nil {
		return jobs.Info{}, fmt.Errorf("riverjobs: the arguments of job %d: %w", j.ID, err)
	}
	i := jobs.Info{Kind: j.Kind, Key: a.Key, State: stateOf(j.State), Attempt: j.Attempt, At: j.ScheduledAt}
	for _, at := range []*time.Time{j.FinalizedAt, j.AttemptedAt} {
		if at != nil && i.State != jobs.Waiting {
			i.At = *at
			break
		}
	}
	if n := len(j.Errors); n > 0 {
		i.Error = j.Errors[n-1].Error
	}
	return i, nil
}

// logger returns the logger of River's clients.
func (s *Scheduler) logger() *slog.Logger { return quiet(s.o.Logger) }

// quiet returns a logger without messages below the level warning: River reports each start and each error of a job as information.
func quiet(l *slog.Logger) *slog.Logger { return slog.New(warnings{l.Handler()}) }

type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{w.Handler.WithAttrs(a)} }

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

// errorLog logs errors of jobs as the built-in scheduler does.
type errorLog struct{ log *slog.Logger }

// HandleError implements river.ErrorHandler.
func (e *errorLog) HandleError(ctx context.Context, j *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	e.write(ctx, j, err)
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (e *errorLog) HandlePanic(ctx context.Context, j *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	e.write(ctx, j, fmt.Errorf("riverjobs: the handler panicked: %v\n%s", value, trace))
	return nil
}

func (e *errorLog) write(ctx context.Context, j *rivertype.JobRow, err error) {
	var a args
	_ = json.Unmarshal(j.EncodedArgs, &a) // without a key, the message still has the kind
	level, message := slog.LevelWarn, "job interrupted"
	if j.Attempt >= j.MaxAttempts {
		level, message = slog.LevelError, "job failed"
	}
	e.log.Log(ctx, level, message, "kind", j.Kind, "key", a.Key, "attempt", j.Attempt, "error", err)
}
