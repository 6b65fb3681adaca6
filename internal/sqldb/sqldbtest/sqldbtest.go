// Package sqldbtest provides temporary databases for tests: an SQLite file in the test's temporary directory, and a separate schema on a
// PostgreSQL server.
//
// Tests on PostgreSQL run if SCIMWRIGHT_TEST_POSTGRES is the URL of a server, if SCIMWRIGHT_REQUIRE_POSTGRES is 1, or if all tests are
// requested (package alltest). Otherwise they are skipped, which halves the duration of a run. Without a URL the server is a private
// cluster. The first test that uses this cluster creates it with the PostgreSQL programs of the machine. All tests of one test binary share
// the cluster, which stops when the binary exits.
//
// The databases are not suitable for data that must be preserved.
package sqldbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// Option changes a database.
type Option int

// Durable makes commits wait for the disk, as in production. Without it, commits do not wait.
const Durable Option = 1

// Each runs fn as the subtests "sqlite" and "postgres".
func Each(t *testing.T, fn func(t *testing.T, db *sqldb.DB)) {
	t.Run("sqlite", func(t *testing.T) { fn(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { fn(t, Postgres(t)) })
}

// EachBench runs fn as the sub-benchmarks "sqlite" and "postgres".
func EachBench(b *testing.B, fn func(b *testing.B, db *sqldb.DB), options ...Option) {
	b.Run("sqlite", func(b *testing.B) { fn(b, SQLite(b, options...)) })
	b.Run("postgres", func(b *testing.B) { fn(b, Postgres(b, options...)) })
}

// SQLite opens a new database, which is closed and removed at the end of the test.
func SQLite(t testing.TB, options ...Option) *sqldb.DB {
	t.Helper()
	return open(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db"), sqlopen.Options{NoSync: !durable(options)})
}

// Postgres opens a new schema on the server, which is dropped at the end of the test.
func Postgres(t testing.TB, options ...Option) *sqldb.DB {
	t.Helper()
	return open(t, PostgresURL(t, options...), sqlopen.Options{})
}

// Place is the location of a database, for tests that open databases themselves, as embedders do.
type Place struct {
	Dialect     sqldb.Dialect
	Driver, DSN string // for sql.Open
}

// EachPlace runs fn as the subtests "sqlite" and "postgres", with a new database each.
func EachPlace(t *testing.T, fn func(t *testing.T, p Place)) {
	t.Run("sqlite", func(t *testing.T) { fn(t, SQLitePlace(t)) })
	t.Run("postgres", func(t *testing.T) { fn(t, PostgresPlace(t)) })
}

// SQLitePlace returns a new database, which is removed at the end of the test.
func SQLitePlace(t testing.TB) Place {
	return Place{Dialect: sqldb.SQLite, Driver: "sqlite3",
		DSN: "file:" + filepath.Join(t.TempDir(), "test.db") +
			"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=on&_synchronous=OFF"}
}

// PostgresPlace returns a new schema, which is dropped at the end of the test.
func PostgresPlace(t testing.TB) Place {
	t.Helper()
	return Place{Dialect: sqldb.Postgres, Driver: "pgx", DSN: PostgresURL(t)}
}

// Open opens the database and closes it at the end of the test.
func (p Place) Open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(p.Driver, p.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// DropSchema drops a schema of PostgreSQL at the end of the test.
func DropSchema(t testing.TB, db *sql.DB, schema string) {
	t.Cleanup(func() {
		_, err := db.Exec("DROP SCHEMA IF EXISTS " + sqldb.Quote(schema) + " CASCADE")
		require.NoError(t, err)
	})
}

// WithPostgres skips a test unless the run includes PostgreSQL.
func WithPostgres(t testing.TB) {
	t.Helper()
	if !alltest.All() && os.Getenv("SCIMWRIGHT_TEST_POSTGRES") == "" && os.Getenv("SCIMWRIGHT_REQUIRE_POSTGRES") != "1" {
		t.Skip("needs PostgreSQL: set SCIMWRIGHT_REQUIRE_POSTGRES=1 for a private server (make test-postgres, make test-all), " +
			"or set SCIMWRIGHT_TEST_POSTGRES to the URL of a server")
	}
}

// PostgresURL returns a URL for sqlopen.Open. Its connections use a new schema, which is dropped at the end of the test.
func PostgresURL(t testing.TB, options ...Option) string {
	t.Helper()
	server := os.Getenv("SCIMWRIGHT_TEST_POSTGRES")
	if server == "" {
		WithPostgres(t)
		started, err := private.url()
		require.NoError(t, err, "the private cluster of PostgreSQL")
		server = started
	}
	schema := newName()
	admin(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() {
		admin(t, server, "DROP SCHEMA "+schema+" CASCADE")
		admin(t, server, "DROP SCHEMA IF EXISTS "+schema+"_river CASCADE") // of a sandbox's jobs
	})

	u, err := url.Parse(server)
	require.NoError(t, err, "the URL of the PostgreSQL server")
	params := u.Query()
	params.Set("search_path", schema)
	params.Set("synchronous_commit", map[bool]string{true: "on", false: "off"}[durable(options)])
	u.RawQuery = params.Encode()
	return u.String()
}

// newName returns the name of a new schema or database.
func newName() string { return "test_" + strings.ToLower(rand.Text()) }

// PooledPlace returns a new database behind PgBouncer in transaction mode, which is dropped at the end of the test.
func PooledPlace(t testing.TB) Place {
	t.Helper()
	return Place{Dialect: sqldb.Postgres, Driver: "pgx", DSN: PooledURL(t) + "&default_query_exec_mode=cache_describe"}
}

func durable(options []Option) bool { return len(options) > 0 && options[0] == Durable }

func open(t testing.TB, databaseURL string, o sqlopen.Options) *sqldb.DB {
	t.Helper()
	db, err := sqlopen.Open(context.Background(), databaseURL, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func admin(t testing.TB, server, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", server)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(statement)
	require.NoError(t, err, statement)
}

// gcPercent is the growth of the heap between two collections, in percent. Tests allocate small objects with short lives: with the default
// of 100, a tenth of their CPU time is garbage collection.
const gcPercent = 400

// Main runs the tests of a package, stops the private PostgreSQL cluster, and checks for leaked goroutines. Use:
//
//	func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }
func Main(m *testing.M) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	code := m.Run()
	if err := private.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "sqldbtest:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "sqldbtest:", err)
			code = 1
		}
	}
	return code
}
