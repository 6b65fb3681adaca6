package riverjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/jobs"
)

// lockRetry is the mean interval between two attempts to lock River's tables.
const lockRetry = 100 * time.Millisecond

// migrate creates the schema, if it does not exist, and River's tables. A lock of the database keeps other processes out. A process waits
// for the lock without a connection: through PgBouncer, the waiting processes could otherwise use all connections, and the one that has the
// lock needs another one.
func migrate(ctx context.Context, pool *pgxpool.Pool, o Options) error {
	for {
		done, err := tryMigrate(ctx, pool, o)
		if done || err != nil {
			return err
		}
		if !pause.For(ctx, pause.Around(lockRetry, 0.5)) {
			return ctx.Err()
		}
	}
}

// tryMigrate returns false if another process has the lock.
func tryMigrate(ctx context.Context, pool *pgxpool.Pool, o Options) (done bool, err error) {
	lock, err := pool.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, ended(lock.Rollback(context.WithoutCancel(ctx)))) }()
	err = lock.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))`, "scimwright river "+o.Schema).Scan(&done)
	if err != nil || !done {
		return false, err
	}
	var exists bool
	err = lock.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, o.Schema).Scan(&exists)
	if err != nil {
		return true, err
	}
	if !exists { // CREATE SCHEMA IF NOT EXISTS requires the privilege to create a schema even if it exists
		if _, err := pool.Exec(ctx, `CREATE SCHEMA `+o.Schema); err != nil {
			return true, err
		}
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: o.Schema, Logger: quiet(o.Logger)})
	if err != nil {
		return true, err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return true, err
}

// errSessions is returned if the driver prepares named statements, and a pooler runs each transaction in another session.
var errSessions = errors.New("the driver prepares statements, and the connections belong to a pooler in transaction mode: " +
	"add default_query_exec_mode=cache_describe to the connection string")

// checkSessions returns errSessions if a statement that was prepared on one connection affects another one, or is lost.
func checkSessions(ctx context.Context, pool *pgxpool.Pool) error {
	var conns [2]*pgxpool.Conn
	for i := range conns {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		conns[i] = conn
	}
	for _, conn := range []*pgxpool.Conn{conns[0], conns[1], conns[0]} {
		var n int64
		err := conn.QueryRow(ctx, `SELECT $1::bigint`, int64(1)).Scan(&n)
		failed, ok := errors.AsType[*pgconn.PgError](err)
		if ok && (failed.Code == "26000" || failed.Code == "42P05") { // invalid or duplicate name of a prepared statement
			return fmt.Errorf("%w: %w", errSessions, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
