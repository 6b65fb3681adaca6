package desired

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Options configure a Store. Only Dialect is required.
type Options struct {
	// Dialect, Schema, Prefix and Updater have the same meaning as in sqlstore.Options, and usually the same values. If Updater is set, it
	// passes transactions of the database in which the engine's store is, because the marks are written in them.
	Dialect sqlstore.Dialect
	Schema  string
	Prefix  string
	Updater sqlstore.Updater
	// Seal encrypts the credentials of targets and the passwords of users at rest. NewKey returns one. Default: writes with secrets return
	// ErrNoSeal.
	Seal Seal
	// Egress and AllowHTTP have the same meaning as in pull.Options, for the endpoints of apps with Pull.
	Egress    engine.Egress
	AllowHTTP bool
	// Shown returns the id of an app that is sent to its endpoint. Default: the id.
	Shown func(app string) string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Engine is the part of provision.Engine that a Store calls.
type Engine interface {
	Mark(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error
	MarkAll(ctx context.Context, tx engine.Execer, m engine.MarkAll) (int64, error)
	Forget(ctx context.Context, tx engine.Execer, app string) error
	Wake(apps ...string)
}

// Store stores the desired state, and is the engine.Directory of an engine. It may be used by several goroutines.
type Store struct {
	db      *sqldb.DB // belongs to the embedder: the Store never closes it
	updater sqlstore.Updater
	seal    Seal
	now     func() time.Time
	engine  atomic.Pointer[Engine]

	transport *http.Transport // to the endpoints of apps with Pull
	allowHTTP bool
	show      func(app string) string

	mu       sync.Mutex
	mappings map[string]compiled // by app
}

// Open returns a Store in the embedder's database. It creates or upgrades the tables in one transaction. The embedder closes the
// database.
func Open(ctx context.Context, db *sql.DB, o Options) (*Store, error) {
	wrapped, err := sqldb.Embed(ctx, db, string(o.Dialect), o.Schema, o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("desired: open: %w", err)
	}
	s := &Store{db: wrapped, updater: o.Updater, seal: o.Seal, now: o.Now, mappings: map[string]compiled{}}
	s.transport, s.allowHTTP, s.show = transportOf(o.Egress), o.AllowHTTP, o.Shown
	if s.now == nil {
		s.now = time.Now
	}
	err = s.transact(ctx, sqldb.LongWait, func(tx *sqldb.Tx) error {
		return tx.Upgrade(ctx, sqldb.Steps{Name: "desired", Texts: steps, First: "desired_app"})
	})
	if err != nil {
		return nil, fmt.Errorf("desired: open: %w", err)
	}
	return s, nil
}

// Attach sets the engine that gets the marks. Call it once, before the first write: provision.New takes the Store as the Directory, and
// returns the engine. The store of the engine must be in the database of the Store.
func (s *Store) Attach(e Engine) { s.engine.Store(&e) }

// attached returns the engine.
func (s *Store) attached() (Engine, error) {
	e := s.engine.Load()
	if e == nil {
		return nil, ErrNotAttached
	}
	return *e, nil
}

func (s *Store) transact(ctx context.Context, wait sqldb.Wait, fn func(tx *sqldb.Tx) error) error {
	if s.updater == nil {
		return s.db.UpdateWaiting(ctx, wait, fn)
	}
	return s.updater(ctx, func(tx engine.Execer) error {
		t := s.db.Wrap(tx)
		if err := fn(t); err != nil {
			return err
		}
		return t.Err()
	})
}

// change runs fn in a transaction with the engine, and wakes the engine for the app after the commit.
func (s *Store) change(ctx context.Context, app string, fn func(tx *sqldb.Tx, e Engine) error) error {
	e, err := s.attached()
	if err != nil {
		return err
	}
	if err := s.transact(ctx, sqldb.DefaultWait, func(tx *sqldb.Tx) error { return fn(tx, e) }); err != nil {
		return err
	}
	e.Wake(app)
	return nil
}

// stamp returns the current time in the stored form: milliseconds since 1970.
func (s *Store) stamp() int64 { return s.now().UnixMilli() }

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
