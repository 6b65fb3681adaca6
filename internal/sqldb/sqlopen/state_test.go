package sqlopen_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// TestOpenState_ChangesWithCommits checks that each commit of any connection changes the state, and that reads, rollbacks and commits
// without changes do not.
func TestOpenState_ChangesWithCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL")
	require.NoError(t, err)
	defer db.Close()
	exec := func(statement string) {
		_, err := db.Exec(statement)
		require.NoError(t, err, statement)
	}
	exec("CREATE TABLE t (n)")
	exec("INSERT INTO t VALUES (1)")
	source, err := sqlopen.OpenState(path)
	require.NoError(t, err)
	state := func() any {
		s, ok := source.State()
		require.True(t, ok)
		return s
	}
	seen := map[any]bool{state(): true}
	for _, statement := range []string{
		"INSERT INTO t VALUES (2)", "UPDATE t SET n = n + 1", "PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (3)",
		"DELETE FROM t WHERE n = 3",
		"PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (4)", "CREATE TABLE u (n)", "VACUUM",
	} {
		exec(statement)
		require.NotContains(t, seen, state(), statement)
		seen[state()] = true
	}
	before := state()
	for _, statement := range []string{
		"SELECT * FROM t", "UPDATE t SET n = 7 WHERE n = 99", "UPDATE t SET n = n",
		"BEGIN IMMEDIATE; INSERT INTO t VALUES (5); ROLLBACK", "PRAGMA wal_checkpoint(PASSIVE)",
	} {
		exec(statement)
		require.Equal(t, before, state(), statement)
	}
	require.NoError(t, source.Close())
}

func TestOpenState_Errors(t *testing.T) {
	_, err := sqlopen.OpenState(filepath.Join(t.TempDir(), "absent", "test.db"))
	require.ErrorContains(t, err, "cannot be mapped")
	path := filepath.Join(t.TempDir(), "journal.db")
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=DELETE")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec("CREATE TABLE t (n)")
	require.NoError(t, err)
	_, err = sqlopen.OpenState(path)
	require.Error(t, err, "a database without a WAL has no WAL index")
}
