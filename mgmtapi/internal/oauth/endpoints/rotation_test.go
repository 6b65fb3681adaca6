package endpoints_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestRotationMode_TokensStayValid verifies that a token stays valid after a change of the rotation mode from MANUAL to AUTO.
func TestRotationMode_TokensStayValid(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	id, secret := w.client("")
	w.post(servers+"/default/scopes", `{"name":"orders"}`)
	mode := func(name string) {
		a := w.Do(t, "PUT "+servers+"/default",
			fmt.Sprintf(`{"name":"default","audiences":["api://default"],"credentials":{"signing":{"rotationMode":%q}}}`, name), nil)
		require.Equal(t, 200, a.Status, "%s", a.Body)
	}
	mode("MANUAL")
	for range 8 { // send a request every 25 days: the API token expires 30 days after its last use
		w.Clock.Advance(25 * 24 * time.Hour)
		require.Equal(t, 200, w.Do(t, "GET /api/v1/users/me", "", nil).Status)
	}
	token := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "orders").Value("access_token")
	mode("AUTO")
	require.Equal(t, "true", w.form("/oauth2/default/v1/introspect", basic(id, secret), "token", token).Value("active"))
	w.claims("/oauth2/default", token)
}
