package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// Options configure a DB.
type Options struct {
	// Dialect is required.
	Dialect Dialect
	// Writer runs the updates; required. With GroupCommit it must hold a single connection.
	Writer *sql.DB
	// Readers run all queries outside of updates. Default: Writer.
	Readers *sql.DB
	// GroupCommit enables group commit, for SQLite: a single goroutine uses Writer and commits waiting updates together.
	GroupCommit bool
	// Checkpoints runs the checkpoints of the WAL next to the updates; requires GroupCommit. Default: SQLite runs checkpoints in the commits
	// of Writer.
	Checkpoints *sql.DB
	// State reads the state of the SQLite database; requires GroupCommit. The DB then has a cache of rows, see Rows. The DB closes it.
	// Default: rows are not cached.
	State rowcache.Source
	// Updater runs the updates instead of Writer. It is for an SQLite database to which another component also writes: that component runs all
	// updates one at a time.
	Updater Updater
	// Borrowed means that Close does not close the connections.
	Borrowed bool
	// Names defines the schema and prefix of the tables that statements name in braces. Default: names stay as written.
	Names Names
	// Logger receives panics of update functions and of functions passed to AfterCommit, and the messages of callers of DB.Logger. Default:
	// messages are discarded.
	Logger *slog.Logger
}

// DB is a database. It is safe for concurrent use.
type DB struct {
	dialect Dialect
	writer  *sql.DB
	readers *sql.DB
	reader  Queryer // the result of Reader
	texts   *rewriter
	group   *group        // nil without group commit
	points  *checkpointer // nil without Options.Checkpoints
	rows    *cachedRows   // nil without Options.State
	updater Updater       // nil without an updater
	log     *slog.Logger
	idle    time.Duration // see LimitIdle

	borrowed bool

	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error
}

// New returns a DB on open connections and takes ownership of them: Close closes them. Package sqlopen opens connections with the settings
// that the guarantees of this package require.
func New(o Options) (*DB, error) {
	if o.Dialect != SQLite && o.Dialect != Postgres {
		return nil, fmt.Errorf("sqldb: unknown dialect %d: use SQLite or Postgres", int(o.Dialect))
	}
	if o.Writer == nil {
		return nil, errors.New("sqldb: Options.Writer is nil: set it to the connections that run updates")
	}
	if o.GroupCommit && o.Dialect != SQLite {
		return nil, errors.New("sqldb: Options.GroupCommit is for SQLite only: unset it for PostgreSQL")
	}
	if o.Updater != nil && (o.GroupCommit || o.Dialect != SQLite) {
		return nil, errors.New("sqldb: an updater is for SQLite without group commit: unset Options.Updater or Options.GroupCommit")
	}
	if o.Checkpoints != nil && !o.GroupCommit {
		return nil, errors.New("sqldb: Options.Checkpoints requires group commit: set Options.GroupCommit")
	}
	if o.State != nil && !o.GroupCommit {
		return nil, errors.New("sqldb: Options.State requires group commit: set Options.GroupCommit")
	}
	db := &DB{
		dialect: o.Dialect,
		writer:  o.Writer,
		readers: o.Readers,
		texts:   &rewriter{dialect: o.Dialect, names: o.Names},
		updater: o.Updater,
		log:     o.Logger,

		borrowed: o.Borrowed,
	}
	if db.readers == nil {
		db.readers = db.writer
	}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	if o.State != nil {
		db.rows = newCachedRows(o.State)
	}
	db.reader = reader{conn: db.readers, texts: db.texts, rows: db.rows}
	if o.Checkpoints != nil {
		db.points = newCheckpointer(o.Checkpoints, db.log)
	}
	if o.GroupCommit {
		db.group = startGroup(db.writer, db.texts, db.rows, db.points)
	}
	if db.points != nil {
		db.points.start(db.group)
	}
	return db, nil
}

// Dialect returns the dialect of the database.
func (db *DB) Dialect() Dialect { return db.dialect }

// Names returns the schema and prefix of the tables.
func (db *DB) Names() Names { return db.texts.names }

// Writer returns the connections that run updates. The DB closes them.
func (db *DB) Writer() *sql.DB { return db.writer }

// Readers returns the connections that read. The DB closes them.
func (db *DB) Readers() *sql.DB { return db.readers }

// Logger returns the logger for packages that work with the database.
func (db *DB) Logger() *slog.Logger { return db.log }

// Close returns ErrClosed to waiting updates, waits for the running update, and closes the connections unless they are borrowed. Close may
// be called more than once.
func (db *DB) Close() error {
	db.closeOnce.Do(func() {
		db.closed.Store(true)
		if db.points != nil {
			db.points.stop()
		}
		if db.group != nil {
			db.group.stop()
		}
		db.closeErr = db.rows.close()
		if db.borrowed {
			return
		}
		db.closeErr = errors.Join(db.closeErr, db.writer.Close())
		if db.readers != db.writer {
			db.closeErr = errors.Join(db.closeErr, db.readers.Close())
		}
		if db.points != nil {
			db.closeErr = errors.Join(db.closeErr, db.points.conn.Close())
		}
	})
	return db.closeErr
}

// Reader returns a Queryer outside of a transaction: each query sees what was committed when it started.
func (db *DB) Reader() Queryer { return db.reader }

type reader struct {
	conn  Execer
	texts *rewriter
	rows  *cachedRows // nil in a transaction
}

// Dialect returns the dialect of the database.
func (r reader) Dialect() Dialect { return r.texts.dialect }

// Names returns the schema and prefix of the tables.
func (r reader) Names() Names { return r.texts.names }

func (r reader) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.conn.QueryContext(ctx, r.texts.rewrite(query), args...)
}

func (r reader) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return r.conn.QueryRowContext(ctx, r.texts.rewrite(query), args...)
}

// View runs fn on one snapshot of the database: all queries of fn see the same state, even if other transactions commit concurrently.
func (db *DB) View(ctx context.Context, fn func(q Queryer) error) error {
	if db.closed.Load() {
		return ErrClosed
	}
	tx, err := db.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: db.snapshotLevel()})
	if err != nil {
		return fmt.Errorf("sqldb: begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	return db.guard(func() error { return fn(reader{conn: tx, texts: db.texts}) })
}

// snapshotLevel returns the isolation level of a View. Read transactions of SQLite are always snapshots.
func (db *DB) snapshotLevel() sql.IsolationLevel {
	if db.dialect == Postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

// Update runs fn in a transaction and returns nil only after a durable commit. If fn returns an error or panics, or ctx is done before fn
// has returned, all writes of fn are rolled back and the error is returned.
//
// When PostgreSQL reports a serialization failure or a deadlock, fn runs again in a new transaction. It must therefore have no effects
// outside of the transaction. Functions with such effects are passed to Tx.AfterCommit. fn must not call Update: it would deadlock.
//
// PostgreSQL runs the transaction at READ COMMITTED; SQLite runs one update at a time.
func (db *DB) Update(ctx context.Context, fn func(tx *Tx) error) error {
	return db.update(ctx, sql.LevelDefault, fn)
}

// Wait is the time that an update on SQLite waits for the write lock.
type Wait time.Duration

// Wait times of updates.
const (
	DefaultWait Wait = 0                     // wait for the busy timeout of the connection
	LongWait         = Wait(2 * time.Minute) // for updates that wait while another process migrates a large database
)

// UpdateWaiting does the same as Update, with another wait time than that of the connections. With group commit or an updater, and on
// PostgreSQL, it is the same as Update.
func (db *DB) UpdateWaiting(ctx context.Context, wait Wait, fn func(tx *Tx) error) error {
	if db.dialect == SQLite && db.group == nil && db.updater == nil && wait != DefaultWait {
		return db.updateImmediate(ctx, wait, fn)
	}
	return db.Update(ctx, fn)
}

// UpdateSerializable does the same as Update, but with serializable isolation on both databases: until the commit, no concurrent
// UpdateSerializable changes rows that fn has read. On PostgreSQL it runs at SERIALIZABLE and retries more often.
func (db *DB) UpdateSerializable(ctx context.Context, fn func(tx *Tx) error) error {
	return db.update(ctx, sql.LevelSerializable, fn)
}

// UpdateUnguarded is UpdateSerializable for a function that returns no error after one of its statements has changed a row: it checks
// everything first, or its first change is the only statement that can fail. A group commit then needs no savepoint for it, which costs
// more than a simple statement. The end of ctx after a change is ignored. If the function fails after a change nevertheless, the updates of
// all callers that share its commit fail and are rolled back.
func (db *DB) UpdateUnguarded(ctx context.Context, fn func(tx *Tx) error) error {
	if db.group != nil {
		return db.group.update(ctx, db, true, fn)
	}
	return db.UpdateSerializable(ctx, fn)
}

func (db *DB) update(ctx context.Context, level sql.IsolationLevel, fn func(tx *Tx) error) error {
	if db.group != nil {
		return db.group.update(ctx, db, false, fn)
	}
	if db.updater != nil {
		return db.updateElsewhere(ctx, fn)
	}
	if db.dialect == SQLite {
		level = sql.LevelDefault // SQLite runs one update at a time, so every update is serializable
	}
	for attempt := 1; ; attempt++ {
		err := db.updateOnce(ctx, level, fn)
		if err == nil || attempt == maxAttempts || !retryable(err) {
			return err
		}
		if !pause(ctx, attempt) {
			return err
		}
	}
}

// maxAttempts is the maximum number of runs of an update before its serialization failure is returned to the caller.
const maxAttempts = 25

// pause waits a random time that grows with the attempts, so that the same transactions do not collide again. It returns false if ctx is
// done first.
func pause(ctx context.Context, attempt int) bool {
	longest := time.Millisecond << min(attempt, 7)
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(longest))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (db *DB) updateOnce(ctx context.Context, level sql.IsolationLevel, fn func(tx *Tx) error) error {
	if db.closed.Load() {
		return ErrClosed
	}
	if db.dialect == SQLite {
		return db.updateImmediate(ctx, DefaultWait, fn)
	}
	if db.idle > 0 {
		return db.updateOnConn(ctx, level, fn)
	}
	sqlTx, err := db.writer.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return fmt.Errorf("sqldb: begin: %w", err)
	}
	defer sqlTx.Rollback() //nolint:errcheck // does nothing after the commit
	tx := &Tx{conn: sqlTx, texts: db.texts}
	if err := db.run(tx, fn); err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fmt.Errorf("sqldb: commit: %w", classify(err))
	}
	db.afterCommit(tx)
	return nil
}

// updateImmediate runs an update on SQLite without group commit. It takes the write lock before it reads, whatever the settings of the
// connections: a transaction that takes the lock later fails if another one has written in between.
func (db *DB) updateImmediate(ctx context.Context, wait Wait, fn func(tx *Tx) error) error {
	if db.closed.Load() {
		return ErrClosed
	}
	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("sqldb: begin: %w", err)
	}
	defer conn.Close() //nolint:errcheck // it only returns the connection to the pool
	if wait != DefaultWait {
		restore, err := waitFor(ctx, conn, wait)
		if err != nil {
			return fmt.Errorf("sqldb: begin: %w", err)
		}
		defer restore()
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("sqldb: begin: %w", err)
	}
	tx := &Tx{conn: conn, texts: db.texts}
	err = db.run(tx, fn)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && ended(conn) {
		err = errLost
	}
	if err == nil {
		if _, err = conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
			err = fmt.Errorf("sqldb: commit: %w", classify(err))
		}
	}
	if err != nil {
		rollback(conn)
		return err
	}
	db.afterCommit(tx)
	return nil
}

// waitFor sets the busy timeout of a connection and returns a function that restores the previous one.
func waitFor(ctx context.Context, conn *sql.Conn, wait Wait) (restore func(), err error) {
	var before int64
	if err := conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&before); err != nil {
		return nil, err
	}
	set := func(ms int64) error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA busy_timeout = "+strconv.FormatInt(ms, 10))
		return err
	}
	if err := set(time.Duration(wait).Milliseconds()); err != nil {
		return nil, err
	}
	return func() { _ = set(before) }, nil // if this fails, the connection cannot be used anyway
}

// run calls fn once. The Tx must not be used afterwards.
func (db *DB) run(tx *Tx, fn func(tx *Tx) error) error {
	defer func() { tx.expired = true }()
	if err := db.guard(func() error { return fn(tx) }); err != nil {
		return err
	}
	return tx.failed
}

// guard turns a panic of fn into an error.
func (db *DB) guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			db.log.Error("panic in a transaction", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("sqldb: panic in a transaction: %v", p)
		}
	}()
	return fn()
}

// afterCommit runs the functions passed to Tx.AfterCommit. Their failures do not affect the commit.
func (db *DB) afterCommit(tx *Tx) {
	for _, f := range tx.after {
		_ = db.guard(func() error { f(); return nil }) // guard logs the panic; the error is not returned to a caller
	}
}

// ReleaseMemory frees memory of SQLite that is not in use: it closes idle connections of Readers, each of which has a copy of the schema,
// prepared statements and cached pages, and empties the page cache of a group commit. Later statements load what they need again. On
// PostgreSQL it does nothing.
func (db *DB) ReleaseMemory() error {
	if db.dialect != SQLite || db.closed.Load() {
		return nil
	}
	if keep := db.readers.Stats().MaxOpenConnections; db.readers != db.writer && keep > 0 && !db.borrowed {
		db.readers.SetMaxIdleConns(-1) // closes the idle connections
		db.readers.SetMaxIdleConns(keep)
	}
	if db.group == nil {
		return nil
	}
	return db.group.between(func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "PRAGMA shrink_memory")
		return err
	})
}
