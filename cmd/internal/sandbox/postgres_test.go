package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// A sandbox on PostgreSQL creates the seed and provisions users, also after a restart.
func TestSandbox_RunsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{DB: sqldbtest.PostgresURL(t), SecretKeyFile: filepath.Join(t.TempDir(), "secret.key")}
	first, _ := startSandbox(t, o)
	before := first.Ready()
	wiki, err := listUsers(t.Context(), before.SCIMURL, before.SCIMToken, nil)
	require.NoError(t, err)
	require.Equal(t, 19, wiki.TotalResults)
	require.NoError(t, first.Close(t.Context()))

	second, api := startSandbox(t, o)
	after := second.Ready()
	require.Equal(t, before.APIToken, after.APIToken)
	user := newUser(t, api, "second@northwind.example")
	var apps []struct{ ID string }
	do(t, api, http.MethodGet, "/api/v1/apps?q=Northwind%20Wiki", "", &apps)
	require.Len(t, apps, 1)
	do(t, api, http.MethodPost, "/api/v1/apps/"+apps[0].ID+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	eventually(t, "the user arrives", func() bool {
		list, err := find(t.Context(), after.SCIMURL, after.SCIMToken, "second@northwind.example")
		return err == nil && list.TotalResults == 1
	})
}
