package docstore_test

import (
	"os"
	"testing"

	"github.com/scimwright/scimwright/internal/docstore/storetest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

func TestStore(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *sqldb.DB { return sqldbtest.SQLite(t) })
	})
	t.Run("postgres", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Postgres(t) })
	})
}
