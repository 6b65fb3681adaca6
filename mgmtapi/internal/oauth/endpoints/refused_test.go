package endpoints_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// A rejected access token has the same error body as any other error. Some client libraries, such as that of Go (major 2), would ignore the
// body if the challenge had an error_description.
func TestBearer_RejectedWithFullError(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	id, secret := w.client("")
	w.post("/api/v1/apps/"+id+"/grants", `{"scopeId":"svc.groups.read","issuer":"`+w.Server.URL+`"}`)
	w.post("/oauth2/v1/clients/"+id+"/roles", `{"type":"SUPER_ADMIN"}`)
	good := w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "svc.groups.read").Value("access_token")
	require.NotEmpty(t, good)
	for name, c := range map[string]struct {
		path, authorization string
		status              int
		code, challenge     string
	}{
		"malformed":          {"/api/v1/users", "Bearer nonsense", 401, "E0000011", `Bearer error="invalid_token"`},
		"empty":              {"/api/v1/users", "Bearer", 401, "E0000011", `Bearer error="invalid_token"`},
		"tampered":           {"/api/v1/groups", "Bearer " + good[:len(good)-4] + "AAAA", 401, "E0000011", `Bearer error="invalid_token"`},
		"for the sandbox":    {"/sandbox/v1/api-tokens", "Bearer nonsense", 401, "E0000011", `Bearer error="invalid_token"`},
		"at a path of OAuth": {"/oauth2/v1/clients", "Bearer nonsense", 401, "E0000011", `Bearer error="invalid_token"`},
		"without the scope":  {"/api/v1/users", "Bearer " + good, 403, "E0000006", `Bearer error="insufficient_scope", scope="svc.users.read"`},
		"an unknown token":   {"/api/v1/users", "SSWS nonsense", 401, "E0000011", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.Do(t, "GET "+c.path, "", map[string]string{"Authorization": c.authorization})
			require.Equal(t, c.status, a.Status, "%s", a.Body)
			require.Equal(t, c.challenge, a.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.code, a.Value("errorCode"))
			require.Equal(t, c.code, a.Value("errorLink"))
			require.NotEmpty(t, a.Value("errorSummary"))
			require.True(t, strings.HasPrefix(a.Value("errorId"), "oae"))
		})
	}
}
