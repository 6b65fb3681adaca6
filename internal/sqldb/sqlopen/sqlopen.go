// Package sqlopen opens databases for package sqldb with the settings that its guarantees require. It is the only package that imports the
// drivers (SQLite's needs cgo), so programs, the sandbox and test packages import it and libraries do not.
package sqlopen

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // driver "sqlite3"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Options adjust a database. The zero value is suitable for production.
type Options struct {
	// MaxConns is the maximum number of connections to PostgreSQL (default 16) or of reading connections to SQLite (default 8).
	MaxConns int
	// BusyTimeout is the time that SQLite waits for a lock that another process holds. Default: 10s.
	BusyTimeout time.Duration
	// NoSync makes commits faster, because they do not wait for the disk. An acknowledged write may be lost, so NoSync is only for temporary
	// databases in tests.
	NoSync bool
	// NoRowCache turns off the cache of rows (SQLite), for measurements of reads from the database.
	NoRowCache bool
	// Logger is passed to sqldb. Default: messages are discarded.
	Logger *slog.Logger
}

const (
	defaultPostgresConns = 16
	defaultSQLiteConns   = 8
	defaultBusyTimeout   = 10 * time.Second
	cachedStatements     = 256 // prepared statements cached per SQLite connection

	// Sizes of SQLite's page cache, in KiB per connection. The writer's cache stays valid from one commit to the next: it has room for the
	// upper pages of large indexes. A larger one makes commits slower: when SQLite splits a page of an index, it gives a page the number of
	// the lock page for a moment, and in a database of less than 1 GiB, the commit then searches the whole cache for pages with such numbers.
	// With 64 MiB, that takes 0.4 ms. A reader's cache is discarded after each commit, and hot documents are in the cache of rows, so a small
	// one suffices.
	writerCache = 4 << 10
	readerCache = 1 << 10
	// checkpointPages is the number of pages in the WAL (64 MiB) at which a commit copies them into the database. Checkpoints that run next to
	// the updates copy them earlier, so a commit does it only if these fail or are too slow.
	checkpointPages = 16000
	// walSize is the size in bytes to which the file of the WAL shrinks when SQLite writes to its beginning again.
	walSize = checkpointPages << 12
)

// Open opens the database at databaseURL and checks that it can be reached.
//
//   - "sqlite:PATH" is a file. A new file is created with mode 0600. WAL, synchronous=FULL and foreign keys are enabled; one
//     connection writes, the other connections can only read. An in-memory database is not supported: its connections would
//     not see each other's data.
//   - "postgres://user:password@host:port/database?..." (or "postgresql://") is a PostgreSQL server, 15 or later, or a pooler in front of
//     it, see AdjustMode.
//
// Errors never contain the password of the URL.
func Open(ctx context.Context, databaseURL string, o Options) (*sqldb.DB, error) {
	scheme, rest, _ := strings.Cut(databaseURL, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, rest, o)
	case "postgres", "postgresql":
		return openPostgres(ctx, databaseURL, o)
	default:
		return nil, errors.New(`sqlopen: a database URL starts with "sqlite:" or "postgres://"`)
	}
}

func openSQLite(ctx context.Context, path string, o Options) (*sqldb.DB, error) {
	returnLarge()
	if path == "" || path == ":memory:" {
		return nil, errors.New("sqlopen: the database URL names no file: write sqlite:PATH; in-memory databases are not supported")
	}
	// SQLite gives its -wal and -shm files the mode of the database, which may contain personal data.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlopen: sqlite: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("sqlopen: sqlite: %w", err)
	}
	params := url.Values{
		"_journal_mode":    {"WAL"},
		"_synchronous":     {"FULL"},
		"_foreign_keys":    {"on"},
		"_busy_timeout":    {strconv.FormatInt(cmp.Or(o.BusyTimeout, defaultBusyTimeout).Milliseconds(), 10)},
		"_stmt_cache_size": {strconv.Itoa(cachedStatements)},
		"_txlock":          {"immediate"},
		"_cache_size":      {strconv.Itoa(-writerCache)}, // negative: KiB, not pages
	}
	if err := registerVFS(); err != nil {
		return nil, err
	}
	if o.NoSync {
		params.Set("_synchronous", "OFF")
	} else {
		params.Set("vfs", bufferingVFS)
	}
	writer, err := sql.Open("sqlite3", sqliteDSN(path, params))
	if err != nil {
		return nil, fmt.Errorf("sqlopen: sqlite: %w", err)
	}
	writer.SetMaxOpenConns(1)
	if err := writer.PingContext(ctx); err != nil { // opens the first connection, which enables the WAL, before a reader connects
		return nil, errors.Join(fmt.Errorf("sqlopen: sqlite %s: %w", path, err), writer.Close())
	}
	if _, err := writer.ExecContext(ctx, "PRAGMA wal_autocheckpoint = "+strconv.Itoa(checkpointPages)+
		"; PRAGMA journal_size_limit = "+strconv.Itoa(walSize)); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlopen: sqlite: %w", err), writer.Close())
	}
	params.Set("_cache_size", strconv.Itoa(-readerCache))
	params.Set("_txlock", "deferred")
	params.Set("vfs", yieldingVFS)
	params.Set("_query_only", "on")
	readers, err := sql.Open("sqlite3", sqliteDSN(path, params))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlopen: sqlite: %w", err), writer.Close())
	}
	conns := cmp.Or(o.MaxConns, defaultSQLiteConns)
	readers.SetMaxOpenConns(conns)
	readers.SetMaxIdleConns(conns)
	params.Set("_stmt_cache_size", "4")
	params.Del("vfs")
	checkpoints, err := sql.Open("sqlite3", sqliteDSN(path, params))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlopen: sqlite: %w", err), writer.Close(), readers.Close())
	}
	checkpoints.SetMaxOpenConns(1)
	options := sqldb.Options{
		Dialect: sqldb.SQLite, Writer: writer, Readers: readers, Checkpoints: checkpoints, GroupCommit: true, Logger: o.Logger,
	}
	if !o.NoRowCache {
		state, err := OpenState(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("sqlopen: sqlite: %w", err), writer.Close(), readers.Close(), checkpoints.Close())
		}
		options.State = state
	}
	return newDB(options)
}

// sqliteDSN returns a "file:" URI in which ?, # and % of the path are escaped.
func sqliteDSN(path string, params url.Values) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: params.Encode()}
	return u.String()
}

func newDB(o sqldb.Options) (*sqldb.DB, error) {
	db, err := sqldb.New(o)
	if err != nil {
		err = errors.Join(err, o.Writer.Close())
		if o.State != nil {
			err = errors.Join(err, o.State.Close())
		}
		for _, other := range []*sql.DB{o.Readers, o.Checkpoints} {
			if other != nil {
				err = errors.Join(err, other.Close())
			}
		}
		return nil, err
	}
	return db, nil
}

// Processors returns the number of processors (see runtime.GOMAXPROCS) for a program whose database is SQLite, given the current number: at
// least four. A call of SQLite that waits for the disk is a C call, which occupies a processor until the runtime notices, after up to 10
// ms. With two processors, requests that do not use the database would then wait too.
func Processors(now int) int { return max(now, 4) }
