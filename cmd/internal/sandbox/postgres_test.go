package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
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

// TestImport_ScheduledOnPostgreSQL checks that River runs the jobs of a sandbox on PostgreSQL, such as an import that is due after the
// clock has moved.
func TestImport_ScheduledOnPostgreSQL(t *testing.T) {
	t.Parallel()
	databaseURL := sqldbtest.PostgresURL(t)
	_, api := startSandbox(t, sandbox.Options{DB: databaseURL, SecretKeyFile: filepath.Join(t.TempDir(), "secret.key"), Empty: true})
	base, token := newSCIMServer(t)
	app := newApp(t, api, base, token)
	feature := "/api/v1/apps/" + app + "/features/INBOUND_PROVISIONING"
	do(t, api, http.MethodPut, feature, inboundOn, nil)
	do(t, api, http.MethodPut, feature,
		`{"importSettings":{"schedule":{"status":"ENABLED","fullImport":{"expression":"0 3 * * *"}}}}`, nil)
	atTarget(t, base, token, http.MethodPost, "/Users", person("bob@walk.example", "Bob", "Builder", "bob@walk.example"))
	advance(t, api, day)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain?timeoutSeconds=60", "", nil)
	var bob struct{ Status string }
	do(t, api, http.MethodGet, "/api/v1/users/bob@walk.example", "", &bob)
	require.Equal(t, "PROVISIONED", bob.Status)

	pool, err := pgxpool.New(t.Context(), databaseURL)
	require.NoError(t, err)
	defer pool.Close()
	eventually(t, "the process is the leader and has started the periodic jobs", func() bool {
		var kinds []string
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT array_agg(DISTINCT kind ORDER BY kind) FROM `+
			pool.Config().ConnConfig.RuntimeParams["search_path"]+`_river.river_job`).Scan(&kinds))
		return slices.Equal([]string{
			"engine.import", "engine.imports", "engine.overdue", "management.import", "management.imports", "management.log",
		}, kinds)
	})
}
