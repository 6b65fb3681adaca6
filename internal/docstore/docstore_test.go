package docstore_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/docstore/storetest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// TestStore_Names runs the suite on tables with a prefix. The tests of package scimserver/sqlstore cover PostgreSQL and schemas.
func TestStore_Names(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *sqldb.DB {
		db, err := sqldb.Embed(t.Context(), sqldbtest.SQLitePlace(t).Open(t), "sqlite", "", "own_")
		require.NoError(t, err)
		return db
	})
}

func TestStore(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *sqldb.DB { return sqldbtest.SQLite(t) })
	})
	t.Run("postgres", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Postgres(t) })
	})
}

// TestStore_Pooled runs the suite through PgBouncer in transaction mode.
func TestStore_Pooled(t *testing.T) {
	base, err := sqlopen.Open(t.Context(), sqldbtest.PooledURL(t), sqlopen.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, base.Close()) })
	schemas := 0
	storetest.Run(t, func(t *testing.T) *sqldb.DB {
		if strings.HasSuffix(t.Name(), "/positions") {
			alltest.Only(t, "changes 100,000 documents")
		}
		schemas++
		schema := fmt.Sprint("docs", schemas)
		_, err := base.Writer().ExecContext(t.Context(), "CREATE SCHEMA "+schema)
		require.NoError(t, err)
		db, err := sqldb.Embed(t.Context(), base.Writer(), "postgres", schema, "")
		require.NoError(t, err)
		return db
	})
}
