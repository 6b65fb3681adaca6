package docstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Reader runs queries. It is a store's Reader, the argument of a View, or a Tx.
type Reader = sqldb.Queryer

// Execer runs statements of a transaction that is not a store's, see Store.Within.
type Execer = sqldb.Execer

// Table is a collection of any type of document. Only this package can implement it.
type Table interface {
	Name() string
	core() *table
	open(ctx context.Context, tx *sqldb.Tx, log *slog.Logger) error
	drop(ctx context.Context, tx *sqldb.Tx) error
	clear(ctx context.Context, tx *Tx) error
}

// Store is a database with its collections.
type Store struct {
	db    *sqldb.DB
	clock func() time.Time

	cache rowCache

	mu     sync.Mutex
	onEmit []func()
}

// schemaLock serializes stores that open the same database.
const schemaLock = "docstore.schema"

// Open creates the tables of the collections and fills indexes that were not declared before. All of it happens in one transaction: after
// an error the database is unchanged. Open also fills an index again if its declaration or Version has changed since. After the commit, it
// logs one message for each collection with documents in which it has filled indexes. Indexes that are no longer declared are removed;
// tables of other collections stay.
//
// now is the clock of Created and Updated; nil means time.Now. The store does not close db. The names of db define the schema and prefix of
// the tables; the schema is created.
func Open(ctx context.Context, db *sqldb.DB, now func() time.Time, collections ...Table) (*Store, error) {
	return OpenAdopting(ctx, db, now, Adoption{}, collections...)
}

// Adoption selects the tables without a prefix that OpenAdopting moves. The zero value selects no tables.
type Adoption struct {
	// Own reports whether a collection belongs to the caller. The tables of a store that also has other collections are not moved.
	Own func(collection string) bool
	// Mixed is the error that Open returns for a store that has both collections of the caller and other collections. Default: no error.
	Mixed error
}

// OpenAdopting does the same as Open. Before that, in the same transaction, it renames the tables of a store without a prefix to the names
// of db, unless tables with these names exist already.
func OpenAdopting(ctx context.Context, db *sqldb.DB, now func() time.Time, a Adoption, collections ...Table) (*Store, error) {
	if now == nil {
		now = time.Now
	}
	s := &Store{db: db, clock: now}
	if db.Dialect() == sqldb.SQLite {
		var enforced bool
		if err := db.Reader().QueryRow(ctx, "PRAGMA foreign_keys").Scan(&enforced); err != nil {
			return nil, fmt.Errorf("docstore: %w", err)
		}
		if !enforced {
			return nil, errors.New("docstore: the SQLite connections do not enforce foreign keys: " +
				"add _foreign_keys=on to the parameters of mattn/go-sqlite3")
		}
	}
	seen := map[string]bool{}
	for _, c := range collections {
		if seen[c.Name()] {
			return nil, fmt.Errorf("docstore: collection %s is declared twice: pass it to Open once", c.Name())
		}
		seen[c.Name()] = true
	}
	adopting := func(ctx context.Context, tx *sqldb.Tx) error { return a.adopt(ctx, tx, collections) }
	open := []func(context.Context, *sqldb.Tx) error{lockSchema, adopting, checkOwnTables, openOutbox}
	for _, c := range collections {
		open = append(open, func(ctx context.Context, tx *sqldb.Tx) error { return c.open(ctx, tx, db.Logger()) })
	}
	open = append(open, openCache) // last, because it invalidates the cached rows of all collections
	err := db.UpdateWaiting(ctx, sqldb.LongWait, func(tx *sqldb.Tx) error {
		for _, open := range open {
			if err := open(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("docstore: open: %w", err)
	}
	for _, c := range collections {
		if t := c.core(); t.recent || t.related {
			db.CacheRows(c.Name())
		}
	}
	return s, nil
}

// lockSchema waits for other stores that open the database, and creates the schema.
func lockSchema(ctx context.Context, tx *sqldb.Tx) error {
	if err := tx.LockTables(ctx); err != nil {
		return err
	}
	if err := tx.Lock(ctx, schemaLock); err != nil {
		return err
	}
	return tx.CreateSchema(ctx)
}

// Drop removes collections with everything in them, in one transaction. No store may use them afterwards. A collection that was never
// opened is not an error.
func Drop(ctx context.Context, db *sqldb.DB, collections ...Table) error {
	err := db.Update(ctx, func(tx *sqldb.Tx) error {
		if err := tx.Lock(ctx, schemaLock); err != nil {
			return err
		}
		for _, c := range collections {
			if err := c.drop(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("docstore: drop: %w", err)
	}
	return nil
}

// Empty removes every document of the collections, which stay open. It removes no event.
func (s *Store) Empty(ctx context.Context, tx *Tx, collections ...Table) error {
	for _, c := range collections {
		if err := c.clear(ctx, tx); err != nil {
			return fmt.Errorf("docstore: empty: %w", err)
		}
	}
	return tx.flush(ctx)
}

// Clear removes every document of the collections, which stay open, and all events that no relay has handled yet, including events about
// other collections. It returns these events.
func (s *Store) Clear(ctx context.Context, tx *Tx, collections ...Table) ([]Event, error) {
	if err := s.Empty(ctx, tx, collections...); err != nil {
		return nil, err
	}
	events, err := claim(ctx, tx.sql, math.MaxInt32)
	if err != nil {
		return nil, fmt.Errorf("docstore: clear: %w", err)
	}
	return events, nil
}

// DB returns the underlying database.
func (s *Store) DB() *sqldb.DB { return s.db }

// Shared reports whether other processes may use the database, that is, whether it is PostgreSQL.
func (s *Store) Shared() bool { return s.db != nil && s.db.Dialect() == sqldb.Postgres }

// Reader returns a Reader outside of a transaction: each statement sees what is committed.
func (s *Store) Reader() Reader { return s.db.Reader() }

// View runs fn on one snapshot.
func (s *Store) View(ctx context.Context, fn func(q Reader) error) error { return s.db.View(ctx, fn) }

// Update runs fn in a transaction, as if no other update of the store ran at the same time. The transaction is durable when Update returns
// nil. See sqldb.DB.UpdateSerializable: fn may run more than once.
func (s *Store) Update(ctx context.Context, fn func(tx *Tx) error) error {
	return s.db.UpdateSerializable(ctx, s.serializable(ctx, fn))
}

// UpdateUnguarded is Update for a function that returns no error after it has changed a document. It costs less, see
// sqldb.DB.UpdateUnguarded. Insert, Update and Revise of one document as the first change comply: they change nothing if they fail.
func (s *Store) UpdateUnguarded(ctx context.Context, fn func(tx *Tx) error) error {
	return s.db.UpdateUnguarded(ctx, s.serializable(ctx, fn))
}

func (s *Store) serializable(ctx context.Context, fn func(tx *Tx) error) func(tx *sqldb.Tx) error {
	return func(tx *sqldb.Tx) error {
		t := &Tx{sql: tx, store: s, serializable: true, began: s.now()}
		return t.run(ctx, func() error { return fn(t) })
	}
}

// Within runs fn in a transaction that is not the store's own: that of another store in the same database, or of an embedder. Functions
// that fn registers with AfterCommit do not run, so a relay notices the events of fn only when it next polls.
func (s *Store) Within(ctx context.Context, tx Execer, fn func(tx *Tx) error) error {
	t := &Tx{sql: s.db.Wrap(tx), store: s, began: s.now()}
	return t.run(ctx, func() error { return fn(t) })
}

// Tx is a transaction of a store. It is a Reader, which sees its own writes.
type Tx struct {
	sql     *sqldb.Tx
	store   *Store
	emitted bool
	emits   []any // columns of events that are not written yet
	began   time.Time

	// For cached collections: whether reads stay valid until the commit, whether their state is known, and whether one was changed.
	serializable, stateKnown, cacheChanged bool
	state                                  int64
}

// SQL returns the underlying transaction, for packages with their own tables in the same database.
func (tx *Tx) SQL() *sqldb.Tx { return tx.sql }

// Dialect returns the dialect of the database.
func (tx *Tx) Dialect() sqldb.Dialect { return tx.sql.Dialect() }

// Names returns the schema and prefix of the tables.
func (tx *Tx) Names() sqldb.Names { return tx.sql.Names() }

// Query implements Reader.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.sql.Query(ctx, query, args...)
}

// QueryRow implements Reader.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return tx.sql.QueryRow(ctx, query, args...)
}

// AfterCommit registers f to run after the commit. See sqldb.Tx.AfterCommit.
func (tx *Tx) AfterCommit(f func()) { tx.sql.AfterCommit(f) }

// Now returns the start time of the transaction, to the millisecond. This is the creation time of the documents that the transaction
// inserts. It is therefore never later than a time that the caller reads while the transaction runs.
func (tx *Tx) Now() time.Time { return tx.began }

// now returns the time of a write, in the stored precision.
func (s *Store) now() time.Time { return time.UnixMilli(s.clock().UnixMilli()).UTC() }
