// Package sqlopen opens databases for package sqldb with the settings that its promises rest on. It is the only package that
// imports the drivers (SQLite's needs cgo), so mains, the sandbox and test packages import it and libraries do not.
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

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	_ "github.com/mattn/go-sqlite3"    // driver "sqlite3"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Options adjust a database. The zero value is right for production.
type Options struct {
	// MaxConns bounds the connections: those of PostgreSQL, the reading ones of SQLite. Defaults to 16 and 8.
	MaxConns int
	// BusyTimeout is how long SQLite waits for a lock that another process holds. Defaults to 10 s.
	BusyTimeout time.Duration
	// NoSync gives up durability for speed: an acknowledged write may be lost. For throw-away databases in tests.
	NoSync bool
	// Logger is handed to sqldb. Defaults to discarding.
	Logger *slog.Logger
}

const (
	defaultPostgresConns = 16
	defaultSQLiteConns   = 8
	defaultBusyTimeout   = 10 * time.Second
	cachedStatements     = 256 // prepared statements kept by each SQLite connection

	// The pages that SQLite keeps in memory, in KiB for each connection. The writer's stay valid from one commit to the next,
	// and insertions at random places of large indexes live on them (a tenth more POSTs with a million users); a reader's
	// are thrown away after each commit.
	writerCache = 64 << 10
	readerCache = 4 << 10
	// checkpointPages is how many pages the WAL holds (16 MiB) before a commit copies them into the database: pages that
	// change often are copied once for many changes.
	checkpointPages = 4000
)

// Open opens the database that databaseURL names and checks that it can be reached.
//
//   - "sqlite:PATH" is a file, created with mode 0600 when it does not exist. WAL, synchronous=FULL and foreign keys are on;
//     one connection writes, the others can only read. There is no in-memory form: its connections would not see each other.
//   - "postgres://user:password@host:port/database?..." (or "postgresql://") is a PostgreSQL server, 15 or later.
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
		return nil, errors.New(`sqlopen: a database URL begins with "sqlite:" or "postgres://"`)
	}
}

func openSQLite(ctx context.Context, path string, o Options) (*sqldb.DB, error) {
	if path == "" || path == ":memory:" {
		return nil, errors.New("sqlopen: sqlite: the path of a file is required")
	}
	// SQLite gives its -wal and -shm files the mode of the database, which may hold personal data.
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
	if o.NoSync {
		params.Set("_synchronous", "OFF")
	}
	writer, err := sql.Open("sqlite3", sqliteDSN(path, params))
	if err != nil {
		return nil, fmt.Errorf("sqlopen: sqlite: %w", err)
	}
	writer.SetMaxOpenConns(1)
	if err := writer.PingContext(ctx); err != nil { // turns the WAL on before a reader comes
		return nil, errors.Join(fmt.Errorf("sqlopen: sqlite %s: %w", path, err), writer.Close())
	}
	if _, err := writer.ExecContext(ctx, "PRAGMA wal_autocheckpoint = "+strconv.Itoa(checkpointPages)); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlopen: sqlite: %w", err), writer.Close())
	}
	params.Set("_cache_size", strconv.Itoa(-readerCache))
	params.Set("_txlock", "deferred")
	params.Set("_query_only", "on")
	readers, err := sql.Open("sqlite3", sqliteDSN(path, params))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlopen: sqlite: %w", err), writer.Close())
	}
	conns := cmp.Or(o.MaxConns, defaultSQLiteConns)
	readers.SetMaxOpenConns(conns)
	readers.SetMaxIdleConns(conns)
	return newDB(sqldb.Options{Dialect: sqldb.SQLite, Writer: writer, Readers: readers, GroupCommit: true, Logger: o.Logger})
}

// sqliteDSN writes a "file:" URI, in which ?, # and % of a path are escaped.
func sqliteDSN(path string, params url.Values) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: params.Encode()}
	return u.String()
}

func openPostgres(ctx context.Context, databaseURL string, o Options) (*sqldb.DB, error) {
	pool, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return nil, fmt.Errorf("sqlopen: postgres: %w", err)
	}
	conns := cmp.Or(o.MaxConns, defaultPostgresConns)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	if o.NoSync {
		return nil, errors.Join(errors.New(`sqlopen: postgres: NoSync is for SQLite; add "synchronous_commit=off" to the URL`), pool.Close())
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlopen: postgres: %w", err), pool.Close())
	}
	return newDB(sqldb.Options{Dialect: sqldb.Postgres, Writer: pool, Logger: o.Logger})
}

func newDB(o sqldb.Options) (*sqldb.DB, error) {
	db, err := sqldb.New(o)
	if err != nil {
		err = errors.Join(err, o.Writer.Close())
		if o.Readers != nil {
			err = errors.Join(err, o.Readers.Close())
		}
		return nil, err
	}
	return db, nil
}

// Processors returns how many goroutines should run at once (see runtime.GOMAXPROCS) in a program whose database is SQLite, given how many
// do: four at least. A call of SQLite that waits for the disk is a call of C, which keeps its place until the runtime notices, after up to
// 10 ms. With two places requests then stand still that have nothing to do with the database.
func Processors(now int) int { return max(now, 4) }
