//go:build cgo && !lint

package sqlopen

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// TestOpen_LongReadsYield runs a statement of a million steps on a reader, and on a connection of the same file that another part of the
// program has opened.
func TestOpen_LongReadsYield(t *testing.T) {
	const long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT count(*) FROM n"
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), "sqlite:"+path, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	count := func(q sqldb.Queryer) {
		var n int
		require.NoError(t, q.QueryRow(t.Context(), long).Scan(&n))
		require.Equal(t, 100_000, n)
	}
	before := stepYields()
	count(db.Reader())
	require.Greater(t, stepYields(), before+20)

	other, err := sql.Open("sqlite3", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	before = stepYields()
	var n int
	require.NoError(t, other.QueryRowContext(t.Context(), long).Scan(&n))
	require.Equal(t, before, stepYields())
}
