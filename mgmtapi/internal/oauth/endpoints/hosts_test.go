package endpoints_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// Without a configured base URL, the service serves OAuth only to the local machine, because the sender of a request chooses its Host
// header.
func TestHost_WithoutBaseURL(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	id, secret := w.client(`,"token_endpoint_auth_method":"client_secret_post"`)
	w.post(servers+"/default/scopes", `{"name":"orders"}`)
	base, err := url.Parse(w.Server.URL)
	require.NoError(t, err)
	do := func(host, path string, form url.Values) (int, map[string]any) {
		t.Helper()
		method, body := http.MethodGet, ""
		if form != nil {
			method, body = http.MethodPost, form.Encode()
		}
		req, err := http.NewRequestWithContext(t.Context(), method, w.Server.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Host = host + ":" + base.Port()
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		var answer map[string]any
		require.NoError(t, json.NewDecoder(res.Body).Decode(&answer))
		return res.StatusCode, answer
	}
	client := url.Values{"client_id": {id}, "client_secret": {secret}, "grant_type": {"client_credentials"}, "scope": {"orders"}}
	status, issued := do("localhost", "/oauth2/default/v1/token", client)
	require.Equal(t, 200, status, "%v", issued)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		client.Set("token", issued["access_token"].(string))
		_, looked := do(host, "/oauth2/default/v1/introspect", client)
		require.Equal(t, true, looked["active"], host)
	}
	for path, form := range map[string]url.Values{
		"/oauth2/default/v1/token": client, "/oauth2/default/v1/introspect": client, "/oauth2/v1/revoke": client,
		"/.well-known/openid-configuration": nil, "/oauth2/default/.well-known/oauth-authorization-server": nil,
	} {
		status, refused := do("evil.example", path, form)
		require.Equal(t, 400, status, path)
		require.Equal(t, "invalid_request", refused["error"], path)
	}
}
