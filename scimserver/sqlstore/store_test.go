package sqlstore_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/sqlstore"
	"github.com/scimwright/scimwright/scimserver/storetest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// open returns a store on an empty database.
func open(t testing.TB, db *sqldb.DB) *sqlstore.Store {
	t.Helper()
	layout := sqlstore.NewLayout("")
	docs, err := docstore.Open(t.Context(), db, nil, layout.Tables()...)
	require.NoError(t, err)
	return sqlstore.New(docs, layout)
}

func TestStoreKeepsTheContract(t *testing.T) {
	for name, database := range map[string]func(testing.TB, ...sqldbtest.Option) *sqldb.DB{
		"sqlite": sqldbtest.SQLite, "postgres": sqldbtest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) scimserver.Store { return open(t, database(t)) })
		})
	}
}
