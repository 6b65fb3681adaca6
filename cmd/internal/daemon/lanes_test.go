package daemon_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// TestLanes_BelongToTenants checks that the store of the daemon has the tenant of each app, so that the lanes are divided among tenants.
func TestLanes_BelongToTenants(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		_, url := newTarget(t)
		d, stop := start(t, daemon.Options{DB: databaseURL})
		admin := callerOf(t, d)
		for _, tenant := range []string{"acme", "acme-2"} {
			c := admin.as(tenant, "read", "write", "apps", "secrets")
			c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
			c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		}
		stop()
		db, err := sqlopen.Open(t.Context(), databaseURL, sqlopen.Options{})
		require.NoError(t, err)
		defer db.Close()
		rows, err := db.Reader().Query(t.Context(), `SELECT tenant, app_id FROM scimwright_app_lane ORDER BY app_id`)
		require.NoError(t, err)
		defer rows.Close()
		found := map[string]string{}
		for rows.Next() {
			var tenant, app string
			require.NoError(t, rows.Scan(&tenant, &app))
			found[app] = tenant
		}
		require.NoError(t, rows.Err())
		require.Equal(t, map[string]string{"acme:crm": "acme", "acme-2:crm": "acme-2"}, found)
	})
}
