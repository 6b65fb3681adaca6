package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// TestStart_OldEngineTables starts a sandbox twice on a database whose engine tables have no prefix.
func TestStart_OldEngineTables(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "sandbox.db") },
		"postgres": func(t *testing.T) string { return sqldbtest.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			databaseURL := database(t)
			dump, err := os.ReadFile("../../../engine/sqlstore/testdata/old/" + name + "-step15.sql")
			require.NoError(t, err)
			statements := strings.NewReplacer("old.", "", "BEGIN TRANSACTION;", "", "COMMIT;", "", "PRAGMA foreign_keys=OFF;", "").
				Replace(string(dump))
			change := func(fn func(tx *sqldb.Tx) error) {
				t.Helper()
				db, err := sqlopen.Open(t.Context(), databaseURL, sqlopen.Options{})
				require.NoError(t, err)
				require.NoError(t, db.Update(t.Context(), fn))
				require.NoError(t, db.Close())
			}
			change(func(tx *sqldb.Tx) error { return tx.Apply(t.Context(), statements) })
			for range 2 {
				key := strings.Repeat("MDEy", 10) + "MDE="
				s, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", DB: databaseURL, Empty: true, SecretKey: key})
				require.NoError(t, err)
				require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
			}
			change(func(tx *sqldb.Tx) error {
				for table, want := range map[string]int{"sync_state": 8, "sync_attempt": 3, "plan": 1, "halt": 2, "import_run": 2} {
					var n int
					require.NoError(t, tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM scimwright_`+table).Scan(&n), table)
					require.GreaterOrEqual(t, n, want, table)
					there, err := tx.HasTable(t.Context(), table)
					require.NoError(t, err)
					require.False(t, there, table)
				}
				return nil
			})
		})
	}
}
