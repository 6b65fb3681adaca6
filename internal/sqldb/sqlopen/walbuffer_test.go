package sqlopen_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// openBuffered opens a database with the connection parameters of a writer of sqlopen.Open, but a page cache of ten pages: large
// transactions write pages to the WAL, read them again and overwrite them.
func openBuffered(t require.TestingT, dir string) (writer *sql.DB, path string) {
	path = filepath.Join(dir, "test.db")
	db, err := sqlopen.Open(context.Background(), "sqlite:"+path, sqlopen.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	writer, err = sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_cache_size=10&vfs=scimwright-wal")
	require.NoError(t, err)
	writer.SetMaxOpenConns(1)
	return writer, path
}

// contents returns all rows of the table t.
func contents(t require.TestingT, db *sql.DB) string {
	rows, err := db.Query("SELECT n, length(doc), substr(doc, 1, 16) FROM t ORDER BY n")
	require.NoError(t, err)
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var n, length int
		var doc string
		require.NoError(t, rows.Scan(&n, &length, &doc))
		fmt.Fprintln(&out, n, length, doc)
	}
	require.NoError(t, rows.Err())
	return out.String()
}

// TestWALBuffer_CommitsInFiles compares, after each commit, what the writer sees with what a connection without the buffer sees, and
// with what remains if the process is killed: a copy of the files. The other connection writes, too.
func TestWALBuffer_CommitsInFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "walbuffer")
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		writer, path := openBuffered(t, dir)
		defer writer.Close()
		reader, err := sql.Open("sqlite3", "file:"+path)
		require.NoError(t, err)
		defer reader.Close()
		_, err = writer.Exec("CREATE TABLE t (n INTEGER PRIMARY KEY, doc BLOB NOT NULL)")
		require.NoError(t, err)
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			transaction(t, writer)
			if rapid.IntRange(0, 3).Draw(t, "another writer") == 0 {
				_, err := reader.Exec("INSERT INTO t (doc) VALUES (randomblob(9000))")
				require.NoError(t, err)
			}
			want := contents(t, reader)
			require.Equal(t, want, contents(t, writer))
			require.Equal(t, want, killed(t, path))
		}
		if rapid.Bool().Draw(t, "checkpoint") {
			_, err = writer.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
			require.NoError(t, err)
			require.Equal(t, contents(t, reader), killed(t, path))
		}
		var ok string
		require.NoError(t, reader.QueryRow("PRAGMA integrity_check").Scan(&ok))
		require.Equal(t, "ok", ok)
	})
}

// TestWALBuffer_RolledBackPages checks that pages of a transaction that was rolled back are not written when another connection may have
// written to the same place of the WAL.
func TestWALBuffer_RolledBackPages(t *testing.T) {
	writer, path := openBuffered(t, t.TempDir())
	defer writer.Close()
	other, err := sql.Open("sqlite3", "file:"+path)
	require.NoError(t, err)
	defer other.Close()
	for _, statement := range []string{
		"CREATE TABLE t (n INTEGER PRIMARY KEY, doc BLOB NOT NULL); INSERT INTO t (doc) VALUES ('kept')",
		"PRAGMA wal_checkpoint(TRUNCATE)", // the rollback then reads no page from the WAL
		"BEGIN; INSERT INTO t (doc) VALUES (randomblob(80000)); ROLLBACK",
	} {
		_, err := writer.Exec(statement)
		require.NoError(t, err, statement)
	}
	_, err = other.Exec("INSERT INTO t (doc) VALUES (randomblob(60000))")
	require.NoError(t, err)
	want := contents(t, other)
	require.Equal(t, want, contents(t, writer))
	require.Equal(t, want, killed(t, path))
}

// killed returns the contents of a copy of the database and its WAL.
func killed(t require.TestingT, path string) string {
	dir, err := os.MkdirTemp(filepath.Dir(path), "copy")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "test.db"+suffix), data, 0o600))
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "test.db"))
	require.NoError(t, err)
	defer db.Close()
	return contents(t, db)
}

// transaction executes statements that write more than fits into the page cache, and commits or rolls back.
func transaction(t *rapid.T, writer *sql.DB) {
	tx, err := writer.Begin()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }() // if rapid ends the run
	for range rapid.IntRange(1, 8).Draw(t, "statements") {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		size := rapid.SampledFrom([]int{0, 100, 4000, 30_000, 300_000}).Draw(t, "size")
		for _, statement := range rapid.SampledFrom([][]string{
			{"INSERT OR REPLACE INTO t VALUES (?1, randomblob(?2))"},
			{"UPDATE t SET doc = randomblob(?2) WHERE n > ?1"},
			{"DELETE FROM t WHERE n = ?1 AND ?2 >= 0"},
			{"SAVEPOINT s", "UPDATE t SET doc = randomblob(?2) WHERE n < ?1", "ROLLBACK TO s"},
		}).Draw(t, "what") {
			arguments := []any{n, size}
			if !strings.Contains(statement, "?") {
				arguments = nil
			}
			_, err := tx.Exec(statement, arguments...)
			require.NoError(t, err, statement)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "end") == 0 {
		require.NoError(t, tx.Rollback())
	} else {
		require.NoError(t, tx.Commit())
	}
}

// TestWALBuffer_OneWrite checks that a commit of many pages takes few system calls.
func TestWALBuffer_OneWrite(t *testing.T) {
	writes := func() int {
		data, err := os.ReadFile("/proc/self/io")
		if err != nil {
			t.Skip("the system does not count the calls:", err)
		}
		_, after, _ := bytes.Cut(data, []byte("syscw: "))
		n, err := strconv.Atoi(string(bytes.Fields(after)[0]))
		require.NoError(t, err)
		return n
	}
	writer, _ := openBuffered(t, t.TempDir())
	defer writer.Close()
	_, err := writer.Exec("CREATE TABLE t (n INTEGER PRIMARY KEY, doc BLOB NOT NULL)")
	require.NoError(t, err)
	fewest := 1000
	for range 5 { // other goroutines may write, too
		before := writes()
		_, err := writer.Exec("INSERT INTO t (doc) VALUES (randomblob(80000))") // 20 pages, which do not fit in the page cache
		require.NoError(t, err)
		fewest = min(fewest, writes()-before)
	}
	require.LessOrEqual(t, fewest, 4, "system calls that write")
}
