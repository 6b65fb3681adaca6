package sqldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMigrateAppliesEachStepOnce(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		steps := []string{
			`CREATE TABLE a (v TEXT);
			-- a semicolon; in a comment
			INSERT INTO a (v) VALUES (';'); ;`,
			`INSERT INTO a (v) VALUES ('two')`,
		}
		require.NoError(t, db.Migrate(t.Context(), "a", steps[:1]))
		require.NoError(t, db.Migrate(t.Context(), "a", steps[:1]), "again")
		var group errgroup.Group
		for range 4 {
			group.Go(func() error { return db.Migrate(t.Context(), "a", steps) })
		}
		require.NoError(t, group.Wait())
		require.NoError(t, db.Migrate(t.Context(), "b", nil), "names are independent")
		var n int
		require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM a`).Scan(&n))
		require.Equal(t, 2, n)

		require.ErrorContains(t, db.Migrate(t.Context(), "a", steps[:1]), "newer")
		require.ErrorContains(t, db.Migrate(t.Context(), "a", []string{steps[0], "SELECT 1"}), "step 2: it was changed")
		require.ErrorContains(t, db.Migrate(t.Context(), "c", []string{"CREATE TABLE c (v TEXT); nonsense"}), "migrate c, step 1")
		require.Error(t, db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM c`).Scan(&n), "a failed step leaves nothing")
	})
}

func TestTx_HasTable(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, db.Migrate(t.Context(), "a", []string{"CREATE TABLE there (v TEXT)"}))
		for name, want := range map[string]bool{"there": true, "here": false, "there_": false} {
			require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
				have, err := tx.HasTable(t.Context(), name)
				require.Equal(t, want, have, name)
				return err
			}))
		}
	})
}
