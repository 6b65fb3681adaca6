package sqldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// TestReleaseMemory_ClosesIdleReaders releases the memory of a database in use: a snapshot stays open, and reads and updates go on.
func TestReleaseMemory_ClosesIdleReaders(t *testing.T) {
	db := sqldbtest.SQLite(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, insert(t.Context(), db, "before"))
		require.NoError(t, db.View(t.Context(), func(q sqldb.Queryer) error {
			count := func() (n int) {
				require.NoError(t, q.QueryRow(t.Context(), `SELECT COUNT(*) FROM t`).Scan(&n))
				return n
			}
			require.Equal(t, 1, count())
			wantIDs(t, db, "before") // a second connection
			require.Equal(t, 1, db.Readers().Stats().Idle)
			require.NoError(t, sqlopen.ReleaseMemory(db))
			require.Equal(t, 0, db.Readers().Stats().Idle)
			require.NoError(t, insert(t.Context(), db, "after"))
			require.Equal(t, 1, count())
			return nil
		}))
		require.Equal(t, 1, db.Readers().Stats().Idle, "connections are reused again")
		wantIDs(t, db, "after", "before")
	})(t, db)
	require.NoError(t, db.Close())
	require.NoError(t, sqlopen.ReleaseMemory(db))
}
