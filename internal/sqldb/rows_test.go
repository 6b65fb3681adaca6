package sqldb_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // driver "sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// interrupted calls a function before the state is read.
type interrupted struct {
	rowcache.Source
	before func()
}

func (s *interrupted) State() (rowcache.State, bool) {
	s.before()
	return s.Source.State()
}

// TestRows_ForeignCommits lets another connection commit at each time at which an update reads the state. Rows that were cached before must
// then not be current.
func TestRows_ForeignCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	open := func() *sql.DB {
		db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_txlock=immediate&_busy_timeout=50")
		require.NoError(t, err)
		return db
	}
	other := open()
	defer other.Close()
	_, err := other.Exec("CREATE TABLE kept (id TEXT, n INTEGER); INSERT INTO kept VALUES ('a', 1), ('b', 1)")
	require.NoError(t, err)
	state, err := sqlopen.OpenState(path)
	require.NoError(t, err)
	source := &interrupted{Source: state, before: func() {}}
	writer := open()
	writer.SetMaxOpenConns(1)
	db, err := sqldb.New(sqldb.Options{Dialect: sqldb.SQLite, Writer: writer, Readers: open(), GroupCommit: true, State: source})
	require.NoError(t, err)
	defer db.Close()
	db.CacheRows("kept")
	rows := sqldb.Rows(db.Reader())
	require.NotNil(t, rows)
	key := func(id string) rowcache.Key { return rows.Key("id", id) }
	cached := func(id string) bool { return rows.Get(key(id), nil, func([]byte) bool { return true }) }
	fill := func() {
		for _, id := range []string{"a", "b"} {
			at, ok := rows.Now()
			require.True(t, ok)
			rows.Put(at, []rowcache.Key{key(id)}, []byte(id))
			require.True(t, cached(id))
		}
	}
	update := func(statement string, declared ...string) {
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			if declared != nil {
				tx.Changing(key(declared[0]))
			}
			_, err := tx.Exec(t.Context(), statement)
			return err
		}))
	}
	const change = "UPDATE kept SET n = n + 1 WHERE id = 'a'"
	update(change)

	fill()
	update(change, "a")
	require.False(t, cached("a"))
	require.True(t, cached("b"), "only the declared row changes")
	fill()
	update("CREATE TABLE unrelated (n)")
	require.True(t, cached("a"), "a statement about another table changes no row")
	update("DELETE FROM kept WHERE id = 'c'")
	require.True(t, cached("a"), "a statement that deletes nothing changes no row")
	update(change)
	require.False(t, cached("b"), "a statement without a declaration changes any row")

	for _, statement := range []string{change, "UPDATE kept SET n = n WHERE id = 'c'"} {
		for at := 1; ; at++ {
			fill()
			calls, committed := 0, false
			source.before = func() {
				calls++
				if calls == at {
					_, err := other.Exec("UPDATE kept SET n = n + 1 WHERE id = 'b'")
					committed = err == nil // SQLite rejects it while the update has the write lock
				}
			}
			update(statement, "a")
			source.before = func() {}
			if calls < at {
				require.Greater(t, at, 2)
				break
			}
			if committed {
				require.False(t, cached("b"), "commit of another connection at call %d", at)
			}
		}
	}
}
