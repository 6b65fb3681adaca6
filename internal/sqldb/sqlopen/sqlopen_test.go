package sqlopen_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

func TestOpen_AnySQLiteFileName(t *testing.T) {
	for _, name := range []string{"plain.db", "with space.db", "a?b=c#d.db", "100%41.db", "é&.db", "file:x.db"} {
		path := filepath.Join(t.TempDir(), name)
		db, err := sqlopen.Open(t.Context(), "sqlite:"+path, sqlopen.Options{})
		require.NoError(t, err, name)
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error { return tx.Apply(t.Context(), "CREATE TABLE t (v TEXT)") }))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode(), name)
		require.NotZero(t, info.Size()+sizeOf(t, path+"-wal"), "%s: the data is in another file", name)
		require.NoError(t, db.Close())
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	return info.Size()
}

func TestOpen_SQLiteSettings(t *testing.T) {
	db, err := sqlopen.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db"), sqlopen.Options{})
	require.NoError(t, err)
	defer db.Close()
	settings := func(q sqldb.Queryer) map[string]string {
		got := map[string]string{}
		for _, name := range []string{"journal_mode", "synchronous", "foreign_keys", "query_only", "busy_timeout"} {
			var value string
			require.NoError(t, q.QueryRow(t.Context(), "PRAGMA "+name).Scan(&value))
			got[name] = value
		}
		return got
	}
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "query_only": "0", "busy_timeout": "10000"}
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		if diff := cmp.Diff(want, settings(tx)); diff != "" {
			t.Errorf("writer (-want +got):\n%s", diff)
		}
		return nil
	}))
	want["query_only"] = "1"
	if diff := cmp.Diff(want, settings(db.Reader())); diff != "" {
		t.Errorf("readers (-want +got):\n%s", diff)
	}
}

func TestOpen_ErrorRedactsPassword(t *testing.T) {
	for _, url := range []string{
		"",
		"secret",
		"mysql://u:secret@localhost/db",
		"sqlite:",
		"sqlite::memory:",
		"sqlite:" + filepath.Join(t.TempDir(), "missing", "test.db"),
		"postgres://u:secret@127.0.0.1:1/db?sslmode=disable",
		"postgres://u:secret@127.0.0.1:port/db",
		"postgres://u:secret@%zz/db",
		"postgres://u:secret@127.0.0.1:1/db?sslmode=nonsense",
	} {
		db, err := sqlopen.Open(t.Context(), url, sqlopen.Options{})
		require.Error(t, err, url)
		require.Nil(t, db)
		require.NotContains(t, err.Error(), "secret")
	}
}

// The driver connects with TLS, then without.
func TestOpen_ReportsErrorOnce(t *testing.T) {
	const url = "postgres://u@127.0.0.1:1/db"
	_, opened := sqlopen.Open(t.Context(), url, sqlopen.Options{})
	_, described := sqlopen.Describe(t.Context(), url)
	for _, err := range []error{opened, described} {
		require.Equal(t, 1, strings.Count(err.Error(), "refused"), "%v", err)
	}
	var connect *pgconn.ConnectError
	require.ErrorAs(t, opened, &connect)
}

func TestOpen_RejectsNonDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t,
		os.WriteFile(path, []byte("this is a plain text file and not a database; it is longer than a SQLite header"), 0o600))
	_, err := sqlopen.Open(t.Context(), "sqlite:"+path, sqlopen.Options{})
	require.ErrorContains(t, err, "not a database")
}
