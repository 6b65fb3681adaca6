package endpoints_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// Roles of a client are assigned to its application, whose id can differ from the client_id.
func TestClient_LimitedByRoles(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		for _, chosen := range []string{"", "my-own-id"} {
			a := w.post("/api/v1/apps",
				fmt.Sprintf(
					`{"name":"oidc_client","label":"Robot","signOnMode":"OPENID_CONNECT",
				"credentials":{"oauthClient":{"client_id":%q,"token_endpoint_auth_method":"client_secret_basic"}},
				"settings":{"oauthClient":{"application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}}}`, chosen))
			app, id, secret := a.Value("id"), a.Value("credentials.oauthClient.client_id"), a.Value("credentials.oauthClient.client_secret")
			require.Equal(t, chosen == "", app == id)
			w.grantScopes(app, "svc.groups.manage", "svc.roles.manage", "svc.appGrants.manage", "svc.apps.manage")
			sign := func(scope string) map[string]string {
				a := w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", scope)
				require.Equal(t, 200, a.Status, "%s", a.Body)
				return bearer(a.Value("access_token"))
			}
			header := sign("svc.groups.manage svc.roles.manage svc.appGrants.manage svc.apps.manage")
			w.Run(t,
				step{Name: "without a role, the scopes limit the client", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"One` + chosen + `"}}`,
					Header: header},
				step{Name: "scopes do not permit role assignments", Do: "POST /oauth2/v1/clients/" + id + "/roles", Body: `{"type":"SUPER_ADMIN"}`,
					Header: header, Status: 403, Code: "E0000006"},
				step{Do: "POST /api/v1/apps/" + app + "/grants", Body: fmt.Sprintf(`{"scopeId":"svc.users.manage","issuer":%q}`, w.Server.URL),
					Header: header, Status: 403, Code: "E0000006"},
				step{Name: "nor changes of applications", Do: "POST /api/v1/apps/" + app + "/lifecycle/deactivate", Header: header, Status: 403,
					Code: "E0000006"},
				step{Do: "POST /oauth2/v1/clients/" + id + "/roles", Body: `{"type":"REPORT_ADMIN"}`, Status: 201, Save: saved{"role": "id"}},
				step{Name: "a role limits it", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Two"}}`, Header: header, Status: 403,
					Code: "E0000006"},
				step{Do: "GET /api/v1/groups", Header: header, Has: []string{"1.id"}},
				step{Do: "DELETE /oauth2/v1/clients/" + id + "/roles/{{role}}", Status: 204},
				step{Do: "POST /oauth2/v1/clients/" + id + "/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201},
				step{Name: "and its scopes still limit it", Do: "POST /api/v1/users", Body: `{}`, Header: header, Status: 403, Code: "E0000006"},
				step{Do: "POST /api/v1/apps/" + app + "/grants", Body: fmt.Sprintf(`{"scopeId":"svc.users.manage","issuer":%q}`, w.Server.URL),
					Header: header, Status: 201},
			)
		}
	})
}

func TestBrowserEndpoints_Unsupported(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	off := w.post(servers, `{"name":"Off","description":"d","audiences":["a"]}`).Value("id")
	w.post(servers+"/"+off+"/lifecycle/deactivate", "")
	nobody := map[string]string{"Authorization": ""}
	for _, name := range []string{"authorize", "userinfo", "logout"} {
		for _, method := range []string{"GET ", "POST "} {
			for _, server := range []string{"/oauth2", "/oauth2/default"} {
				at := method + server + "/v1/" + name
				if name != "authorize" {
					w.refused(w.Do(t, at+"?client_id=x", "", nobody), 501, "unsupported_operation")
					continue
				}
				w.refused(w.Do(t, at, "", nobody), 400, "invalid_request")
				w.refused(w.Do(t, at+"?client_id=x", "", nobody), 400, "invalid_request")
				w.refused(w.Do(t, at+"?client_id=x&response_type=code&redirect_uri=https://a.example/&state=s", "", nobody), 400,
					"unsupported_response_type")
			}
			w.refused(w.Do(t, method+"/oauth2/"+off+"/v1/"+name, "", nobody), 400, "invalid_request")
			w.refused(w.Do(t, method+"/oauth2/nobody/v1/"+name, "", nobody), 404, "invalid_request")
		}
		w.refused(w.Do(t, "DELETE /oauth2/v1/"+name, "", nil), 405, "invalid_request")
	}
	w.refused(w.form("/oauth2/v1/authorize", nil, "client_id", "x", "response_type", "code"), 400, "unsupported_response_type")
}

func TestOrgTokens_IntrospectedAndRevoked(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	id, secret := w.client("")
	otherID, otherSecret := w.client("")
	w.grantScopes(id, "svc.users.read")
	sign := func() string {
		return w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "svc.users.read").Value("access_token")
	}
	look := func(token string) *apitest.Answer {
		return w.form("/oauth2/v1/introspect", basic(otherID, otherSecret), "token", token)
	}
	token, second := sign(), sign()
	a := look(token)
	for path, want := range map[string]string{
		"active": "true", "scope": "svc.users.read", "client_id": id, "sub": id, "aud": w.Server.URL, "iss": w.Server.URL, "token_type": "Bearer",
		"exp": fmt.Sprint(w.Clock.Now().Unix() + 3600),
	} {
		require.Equal(t, want, a.Value(path), path)
	}
	require.JSONEq(t, `{"active":false}`, string(look("nothing").Body))
	require.JSONEq(t, `{"active":false}`, string(w.form("/oauth2/default/v1/introspect", basic(otherID, otherSecret), "token", token).Body),
		"each server accepts its own tokens only")
	w.refused(w.form("/oauth2/v1/revoke", basic(otherID, otherSecret), "token", token), 400, "unauthorized_client")
	w.refused(w.form("/oauth2/v1/revoke", basic(id, "wrong"), "token", token), 401, "invalid_client")
	w.refused(w.form("/oauth2/v1/introspect", nil, "token", token), 400, "invalid_client")
	w.Run(t, step{Do: "GET /api/v1/users", Header: bearer(token)})
	for range 2 { // revoking an invalid token is not an error
		require.Equal(t, 200, w.form("/oauth2/v1/revoke", basic(id, secret), "token", token).Status)
	}
	w.Run(t,
		step{Do: "GET /api/v1/users", Header: bearer(token), Status: 401, Code: "E0000011"},
		step{Do: "GET /api/v1/users", Header: bearer(second)},
		step{Do: "GET /api/v1/logs?filter=eventType+eq+%22app.oauth2.token.revoke%22",
			Equal: values{"#": 2, "0.outcome.result": "FAILURE", "1.actor.id": id}},
	)
	require.JSONEq(t, `{"active":false}`, string(look(token).Body))
}

// TestClearSessions_RevokesTokens verifies that clearing the sessions of a user revokes its tokens only with oauthTokens=true.
func TestClearSessions_RevokesTokens(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	user := w.user("ann")
	id, secret := w.app()
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann", "password", password, "scope",
		"offline_access")
	require.Equal(t, 200, a.Status, "%s", a.Body)
	use := func() *apitest.Answer {
		return w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "refresh_token", "refresh_token", a.Value("refresh_token"))
	}
	active := func() string {
		return w.form("/oauth2/default/v1/introspect", basic(id, secret), "token", a.Value("access_token")).Value("active")
	}
	w.Run(t, step{Do: "DELETE /api/v1/users/" + user + "/sessions", Status: 204})
	require.Equal(t, 200, use().Status)
	require.Equal(t, "true", active())
	w.Run(t, step{Do: "DELETE /api/v1/users/" + user + "/sessions?oauthTokens=true", Status: 204})
	w.refused(use(), 400, "invalid_grant")
	require.Equal(t, "false", active())
	w.Run(t, step{Do: "GET /api/v1/logs?filter=eventType+eq+%22app.oauth2.as.token.revoke%22", Equal: values{"#": 1}})
}
