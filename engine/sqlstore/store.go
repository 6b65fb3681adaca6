package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Dialect is the SQL dialect of a database.
type Dialect string

// The supported databases: SQLite 3.35 or later, PostgreSQL 15 or later.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Options configure a store. Only Dialect is required.
type Options struct {
	// Dialect is the dialect of the database that is passed to Open.
	Dialect Dialect
	// Schema is the PostgreSQL schema of the tables. Open creates it if it does not exist. Default: the current schema of the connection.
	Schema string
	// Prefix is the prefix of the names of all tables, indexes and sequences: lower-case letters, digits and underscores, at most 20. Default:
	// "scimwright_", or empty if Schema is set.
	Prefix string
	// Partitions is the number of hash partitions, by app, of each of the large tables of a new PostgreSQL database: at most 128, such as 32.
	// Open uses the partitions of an existing database, and returns an error if their number is not Partitions, unless that is 0. Default:
	// tables without partitions.
	Partitions int
	// Updater runs the transactions of the store. Default: the database that is passed to Open.
	Updater Updater
	// KeepEvents is the minimum number of lifecycle events stored for each app, at least 100. Older events are removed. Default:
	// engine.KeptEvents.
	KeepEvents int
	// Recorded is called after each commit of lifecycle events of an app, in the process that has stored them. The call delays the engine, so
	// it should be quick: it may wake the readers of the events. Default: no call.
	Recorded func(app string)
	// Tenant returns the tenant of an app. If more lanes are pending than the engine may run, each tenant gets the same number, so that a
	// tenant with many apps does not delay the apps of others ([docs/howto/scaling.md]). All processes that share a database use the same
	// function; a new one applies to an app from its next mark, or from the next release of its lane. Default: all apps belong to one tenant.
	//
	// [docs/howto/scaling.md]: https://github.com/scimwright/scimwright/blob/main/docs/howto/scaling.md
	Tenant func(app string) string
}

// Updater runs fn in a transaction and returns nil only after the commit. If fn returns an error, the Updater rolls back and returns that
// error, or an error that wraps it. The Updater may run fn again in another transaction, for example after a serialization failure of
// PostgreSQL.
//
// An embedder that serializes the writes of its SQLite database, or commits several together, passes its own Updater. The transaction must
// start with the write lock (BEGIN IMMEDIATE).
type Updater func(ctx context.Context, fn func(tx engine.Execer) error) error

// Store implements store.Store and all capabilities. It may be used by several goroutines.
type Store struct {
	db      *sqldb.DB  // belongs to the embedder: the store never closes it
	updater Updater    // nil: the store uses db
	beats   heartbeats // PostgreSQL
	owner   ownership  // SQLite

	keepEvents int
	recorded   func(app string)
	tenants    bool // Options.Tenant is set
	tenant     func(app string) string

	finishing batches[*result]   // PostgreSQL
	beginning batches[*start]    // PostgreSQL
	walking   batches[*lastPage] // PostgreSQL
}

var _ store.All = (*Store)(nil)

// Open returns a store in the embedder's database. It creates the tables, upgrades those of an earlier version of this package, and adopts
// tables of versions without a prefix. Everything happens in one transaction: after an error or a crash the database is unchanged.
// Processes that open at the same time wait for each other. Open does not change tables of other programs, whatever their names.
//
// The embedder closes the database. If Options.Updater is set, the database that is passed to Open may be read-only.
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
	switch {
	case o.Partitions != 0 && wrapped.Dialect() != sqldb.Postgres:
		return nil, errors.New("Options.Partitions is for PostgreSQL: unset it")
	case o.Partitions < 0 || o.Partitions > maxPartitions:
		return nil, fmt.Errorf("Options.Partitions is %d: use a number from 1 to %d, or 0 for tables without partitions", o.Partitions,
			maxPartitions)
	}
	switch {
	case o.KeepEvents == 0:
		o.KeepEvents = engine.KeptEvents
	case o.KeepEvents < trimEvery:
		return nil, fmt.Errorf("Options.KeepEvents is %d: use a number of at least %d, or 0 for %d", o.KeepEvents, trimEvery, engine.KeptEvents)
	}
	if o.Recorded == nil {
		o.Recorded = func(string) {}
	}
	wrapped.LimitIdle(idleLimit)
	s := &Store{
		db: wrapped, updater: o.Updater, keepEvents: o.KeepEvents, recorded: o.Recorded, tenant: o.Tenant, tenants: o.Tenant != nil,
	}
	if !s.tenants {
		s.tenant = func(string) string { return "" }
	}
	err = s.transact(ctx, sqldb.LongWait, func(tx *sqldb.Tx) error { return migrate(ctx, tx, wrapped.Names(), o.Partitions) })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ms returns the stored form of a time: milliseconds since 1970, 0 for the zero time.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// due returns the stored form of a time in columns where NULL represents the zero time. The result is rounded up, so that no row is due
// before the time t.
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

// text replaces NUL and invalid UTF-8 in a string of a target, because PostgreSQL rejects both.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// bit returns the stored form of a boolean.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// idleLimit is the time after which PostgreSQL aborts an idle transaction. Otherwise a stalled or disconnected process would keep its lane
// locked for hours after its end, and no other process could take the lane over.
const idleLimit = 3 * time.Second

// update runs every write of the store except Mark and Forget, which use the embedder's transactions.
func (s *Store) update(ctx context.Context, fn func(tx *sqldb.Tx) error) error {
	return s.transact(ctx, sqldb.DefaultWait, fn)
}

func (s *Store) transact(ctx context.Context, wait sqldb.Wait, fn func(tx *sqldb.Tx) error) error {
	if s.updater == nil {
		return s.db.UpdateWaiting(ctx, wait, fn)
	}
	return s.updater(ctx, func(tx engine.Execer) error {
		t := s.db.Wrap(tx)
		if t.Dialect() == sqldb.Postgres {
			if _, err := t.Exec(ctx, sqldb.SetIdleLimit(idleLimit)); err != nil {
				return err
			}
		}
		if err := fn(t); err != nil {
			return err
		}
		return t.Err()
	})
}

// withLease runs fn in a transaction that commits only if the lease is valid. The lane row is locked last, as in Mark.
func (s *Store) withLease(ctx context.Context, l engine.Lease, what string, fn func(tx *sqldb.Tx) error) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return fence(ctx, tx, l)
	})
	if err != nil {
		return fmt.Errorf("sqlstore: %s of %s: %w", what, l.App, err)
	}
	return nil
}

// fence returns ErrLeaseLost if the lease is no longer valid. Otherwise the lease stays valid until the end of the transaction: SQLite runs
// one transaction at a time, and on PostgreSQL fence locks the lane row. The lock (FOR KEY SHARE) conflicts only with the deletion of the
// row and with FOR UPDATE, with which Claim, Release and a takeover lock the row before they change the epoch. A transaction that calls
// fence therefore waits neither for another one nor for marks and results, which change other columns of the row. A transaction does not
// change the lane row after fence, because two transactions that hold the shared lock could wait for each other.
func fence(ctx context.Context, tx *sqldb.Tx, l engine.Lease) error {
	var app string
	var epoch int64
	err := tx.QueryRow(ctx, validLease(tx.Dialect()), l.App, l.Epoch).Scan(&app, &epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.ErrLeaseLost
	}
	return err
}

// validLease returns the query of fence. Parameters: app and epoch.
func validLease(d sqldb.Dialect) string {
	query := `SELECT app_id, epoch FROM {app_lane} WHERE app_id = ? AND epoch = ?`
	if d == sqldb.Postgres {
		query += ` FOR KEY SHARE`
	}
	return query
}

// checkLease returns ErrLeaseLost if no row matched the epoch.
func checkLease(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return engine.ErrLeaseLost
}

// list returns (?, ?, ...) for n values.
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
