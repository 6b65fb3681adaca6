package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Dialect names a database.
type Dialect string

// The supported databases: SQLite 3.35 or later, PostgreSQL 15 or later.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Options configure a store. Only Dialect is required.
type Options struct {
	// Dialect is the database that Open is given.
	Dialect Dialect
	// Schema is the PostgreSQL schema that has the tables; Open creates it if it does not exist. Default: the current schema of the
	// connection.
	Schema string
	// Prefix begins the names of all tables, indexes and sequences: lower case letters, digits and underscores, at most 20. Default:
	// "scimwright_", and no prefix if there is a Schema.
	Prefix string
	// Updater runs the transactions of the store. Default: Open's database runs them.
	Updater Updater
}

// Updater runs fn in a transaction and returns nil only after the commit. If fn returns an error, the Updater rolls back and returns that
// error, or one that wraps it. It may run fn again in another transaction, as after a serialization failure of PostgreSQL.
//
// An embedder that serializes the writes of its SQLite database, or commits several together, passes its own. The transaction must begin
// with the lock of the writer (BEGIN IMMEDIATE).
type Updater func(ctx context.Context, fn func(tx engine.Execer) error) error

// Store implements store.Store and all capabilities. It may be used by several goroutines.
type Store struct {
	db      *sqldb.DB // of the embedder: it is never closed
	updater Updater   // nil: db
}

var _ store.All = (*Store)(nil)

// Open returns a store in the embedder's database. It creates the tables, adds what an earlier version of this package lacks, and takes
// over tables of versions that had no prefix, all in one transaction: after an error or a crash the database is as it was. Processes that
// open at the same time wait for each other. Tables of other programs stay as they are, whatever their names.
//
// The database stays the embedder's to close. With an Updater it may be one that can only read.
func Open(ctx context.Context, db *sql.DB, o Options) (*Store, error) {
	s, err := open(ctx, db, o)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, db *sql.DB, o Options) (*Store, error) {
	wrapped, err := sqldb.Embed(ctx, db, string(o.Dialect), o.Schema, o.Prefix)
	if err != nil {
		return nil, err
	}
	s := &Store{db: wrapped, updater: o.Updater}
	if err := s.transact(ctx, sqldb.LongWait, func(tx *sqldb.Tx) error { return migrate(ctx, tx, wrapped.Names()) }); err != nil {
		return nil, err
	}
	return s, nil
}

// ms is how instants are stored; the zero time is 0.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// due is ms for columns where no instant is NULL. It rounds up, so that what is due «in 0.4 ms» is not due before.
func due(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Add(time.Millisecond - 1).UnixMilli()
}

func at(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}

// text makes a string that came from a target storable: PostgreSQL refuses NUL and invalid UTF-8.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// bit is how booleans are stored.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// patience has PostgreSQL end a transaction of a process that does not go on with it: one that is frozen, or cut off from the
// network, would otherwise keep its lane locked for hours after its lease has ended. Together with the third of a lease of 5 s
// after which it is prolonged this is less than that lease.
const patience = `SET LOCAL idle_in_transaction_session_timeout = '3s'`

// update is how the store writes, but for Mark and Forget, whose transactions are the embedder's.
func (s *Store) update(ctx context.Context, fn func(tx *sqldb.Tx) error) error {
	return s.transact(ctx, sqldb.DefaultWait, fn)
}

func (s *Store) transact(ctx context.Context, wait sqldb.Wait, fn func(tx *sqldb.Tx) error) error {
	run := func(tx *sqldb.Tx) error {
		if tx.Dialect() == sqldb.Postgres {
			if _, err := tx.Exec(ctx, patience); err != nil {
				return err
			}
		}
		return fn(tx)
	}
	if s.updater == nil {
		return s.db.UpdateWaiting(ctx, wait, run)
	}
	return s.updater(ctx, func(tx engine.Execer) error {
		t := s.db.Wrap(tx)
		if err := run(t); err != nil {
			return err
		}
		return t.Err()
	})
}

// under runs fn in a transaction that commits only if the lease still holds. The lane row is locked last, as in Mark.
func (s *Store) under(ctx context.Context, l engine.Lease, what string, fn func(tx *sqldb.Tx) error) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		res, err := tx.Exec(ctx, `UPDATE {app_lane} SET epoch = epoch WHERE app_id = ? AND epoch = ?`, l.App, l.Epoch)
		return held(res, err)
	})
	if err != nil {
		return fmt.Errorf("sqlstore: %s of %s: %w", what, l.App, err)
	}
	return nil
}

// held turns «no row matched the epoch» into ErrLeaseLost.
func held(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return engine.ErrLeaseLost
}

// list is (?, ?, ...) for n values.
func list(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }

// collect scans all rows.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows, *T) error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
