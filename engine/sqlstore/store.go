package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Dialect names the database.
type Dialect = sqldb.Dialect

// The supported databases.
const (
	SQLite   = sqldb.SQLite
	Postgres = sqldb.Postgres
)

// Store implements engine.Store. It may be used by several goroutines.
type Store struct{ db *sqldb.DB }

var _ engine.Store = (*Store)(nil)

// New returns a store in the embedder's database and creates its tables. The database stays the embedder's to close.
func New(ctx context.Context, db *sql.DB, dialect Dialect) (*Store, error) {
	wrapped, err := sqldb.New(sqldb.Options{Dialect: dialect, Writer: db})
	if err != nil {
		return nil, err
	}
	return NewOn(ctx, wrapped)
}

// NewOn returns a store in a database of this module and creates its tables.
func NewOn(ctx context.Context, db *sqldb.DB) (*Store, error) {
	if err := db.Migrate(ctx, "engine", typed(db.Dialect().TextType(), db.Dialect().SerialKey())); err != nil {
		return nil, err
	}
	return &Store{db: db}, nil
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
	return s.db.Update(ctx, func(tx *sqldb.Tx) error {
		if tx.Dialect() == Postgres {
			if _, err := tx.Exec(ctx, patience); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// under runs fn in a transaction that commits only if the lease still holds. The lane row is locked last, as in Mark.
func (s *Store) under(ctx context.Context, l engine.Lease, what string, fn func(tx *sqldb.Tx) error) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		res, err := tx.Exec(ctx, `UPDATE app_lane SET epoch = epoch WHERE app_id = ? AND epoch = ?`, l.App, l.Epoch)
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
