package scimserver_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/storetest"
)

// TestStore_SatisfiesContract runs the tests of storetest with the store of the programs. On SQLite, it has a cache of rows, which sqlstore
// does not have on a database that the caller has opened.
func TestStore_SatisfiesContract(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) scimserver.Store { return sqliteStore(t) })
	})
	t.Run("postgres", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) scimserver.Store { return storeOn(t, sqldbtest.Postgres(t)) })
	})
}

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// storeOn returns a store on an empty database.
func storeOn(t testing.TB, db *sqldb.DB, types ...*schema.ResourceType) scimserver.Store {
	t.Helper()
	layout := scimstore.NewLayout("", types...)
	docs, err := docstore.Open(t.Context(), db, nil, layout.Tables()...)
	require.NoError(t, err)
	return scimstore.New(docs, layout)
}

func sqliteStore(t testing.TB, types ...*schema.ResourceType) scimserver.Store {
	t.Helper()
	return storeOn(t, sqldbtest.SQLite(t), types...)
}

// newMapStore returns a store that leaves filters to the server.
func newMapStore() *memstore.Store { return memstore.New() }
