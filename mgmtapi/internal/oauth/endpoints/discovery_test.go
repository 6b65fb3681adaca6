package endpoints_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// addresses collects the URLs in a JSON value by their paths. An issuer is an identifier, not an address.
func addresses(path string, value any, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			addresses(path+"."+name, member, into)
		}
	case []any:
		for i, element := range v {
			addresses(fmt.Sprintf("%s[%d]", path, i), element, into)
		}
	case string:
		if (strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://")) && !strings.HasSuffix(path, ".issuer") {
			into[path] = v
		}
	}
}

// TestDiscovery_AddressesServed verifies that the server serves every address in discovery documents and authorization server links.
func TestDiscovery_AddressesServed(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	own := w.post(servers, `{"name":"Own","description":"d","audiences":["a"]}`).Value("id")
	nobody := map[string]string{"Authorization": ""}
	for _, server := range []string{"", "/oauth2/default", "/oauth2/" + own} {
		for _, document := range []string{"oauth-authorization-server", "openid-configuration"} {
			at := server + "/.well-known/" + document
			t.Run(at, func(t *testing.T) {
				found := map[string]string{}
				addresses("", w.Do(t, "GET "+at, "", nobody).JSON, found)
				require.Contains(t, found, ".token_endpoint")
				require.Contains(t, found, ".jwks_uri")
				for member, address := range found {
					statuses := map[int]bool{}
					for _, method := range []string{http.MethodGet, http.MethodPost} {
						a := w.Do(t, method+" "+address, "", nobody)
						require.NotContains(t, []int{404, 501}, a.Status, "%s %s (%s): %s", method, member, address, a.Body)
						require.Contains(t, a.Header.Get("Content-Type"), "application/json")
						statuses[a.Status] = true
					}
					require.False(t, len(statuses) == 1 && statuses[405], "%s: no method is served", member)
				}
			})
		}
	}
	t.Run("links of authorization servers", func(t *testing.T) {
		found := map[string]string{}
		addresses("", w.Do(t, "GET "+servers, "", nil).JSON, found)
		for member, address := range found {
			a := w.Do(t, "GET "+address, "", nil)
			require.NotContains(t, []int{404, 501}, a.Status, "%s (%s): %s", member, address, a.Body)
		}
	})
}

// OAuth clients receive errors in the OAuth format, whatever the error is.
func TestOAuthEndpoints_ErrorForm(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	nobody := map[string]string{"Authorization": ""}
	form := func(more ...string) map[string]string {
		h := map[string]string{"Authorization": "", "Content-Type": "application/x-www-form-urlencoded"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	check := func(a *apitest.Answer, status int) {
		t.Helper()
		w.refused(a, status, "invalid_request")
		require.Empty(t, a.Value("errorCode"))
		require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	}
	posted := []string{"token", "introspect", "revoke"}
	for _, server := range []string{"/oauth2", "/oauth2/default"} {
		for _, name := range posted {
			at := server + "/v1/" + name
			for _, method := range []string{"GET", "PUT", "DELETE", "PATCH"} {
				for _, header := range []map[string]string{nobody, basic("x", "y"), {"Authorization": "SSWS wrong"}, nil} {
					a := w.Do(t, method+" "+at, "", header)
					check(a, 405)
					require.Equal(t, "POST", a.Header.Get("Allow"))
				}
			}
			check(w.Do(t, "POST "+at, `{"grant_type":"client_credentials"}`, form("Content-Type", "application/json")), 400)
			check(w.Do(t, "POST "+at, "a=b", form("Content-Type", "text/plain")), 400)
			check(w.Do(t, "POST "+at, "a=%", form()), 400)
			check(w.Do(t, "POST "+at, "client_id=x&client_id=y", form()), 400)
			check(w.Do(t, "POST "+at, "a=b", form("Accept", "text/html")), 406)
		}
		check(w.Do(t, "POST "+server+"/v1/keys", "", nobody), 405)
		check(w.Do(t, "PUT "+server+"/v1/authorize", "", nobody), 405)
	}
	check(w.Do(t, "POST /.well-known/openid-configuration", "", nobody), 405)
	check(w.Do(t, "POST /oauth2/default/.well-known/oauth-authorization-server", "", nobody), 405)
	for _, name := range append(posted, "authorize") {
		check(w.Do(t, "POST /oauth2/nobody/v1/"+name, "token=x", form()), 404)
	}
	for _, path := range []string{"v1/keys", "v1/authorize", ".well-known/openid-configuration", ".well-known/oauth-authorization-server"} {
		check(w.Do(t, "GET /oauth2/nobody/"+path, "", nobody), 404)
	}
	a := w.Do(t, "DELETE /oauth2/v1/clients", "", nil)
	require.Equal(t, "E0000022", a.Value("errorCode"), "the registration of clients is part of the management API")
}
