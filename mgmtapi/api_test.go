package mgmtapi_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/apitest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

func TestTheDocumentIsValidAndTheSameEveryTime(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	first, err := e.API.OpenAPI()
	require.NoError(t, err)
	for range 3 {
		again, err := e.API.OpenAPI()
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
	}
	require.Contains(t, string(first), `"/api/v1/users/{user}/lifecycle/suspend"`)
}
