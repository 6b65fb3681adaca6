package endpoints_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// putClient replaces the grant types of a client of world.app.
func (w *world) putClient(id string, grants ...string) {
	w.t.Helper()
	a := w.Do(w.t, "PUT /oauth2/v1/clients/"+id,
		fmt.Sprintf(`{"client_name":"Desk","application_type":"web","grant_types":["%s"],"response_types":["token"]}`,
			strings.Join(grants, `","`)), nil)
	require.Equal(w.t, 200, a.Status, "%s", a.Body)
}

// TestRefreshToken_LimitedToCurrentGrant verifies that a refresh token permits no more than a new grant with the current settings.
func TestRefreshToken_LimitedToCurrentGrant(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	user := w.user("ann")
	id, secret := w.app()
	group := w.post("/api/v1/groups", `{"profile":{"name":"Sales"}}`).Value("id")
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	w.Do(t, "PUT /api/v1/groups/"+group+"/users/"+user, "", nil)
	as := w.post(servers, `{"name":"A","description":"d","audiences":["a"]}`).Value("id")
	at := servers + "/" + as
	orders := w.post(at+"/scopes", `{"name":"orders","consent":"REQUIRED"}`).Value("id")
	stock := w.post(at+"/scopes", `{"name":"stock"}`).Value("id")
	policy := w.post(at+"/policies",
		`{"name":"p","description":"d","priority":1,"conditions":{"clients":{"include":["ALL_CLIENTS"]}}}`).Value("id")
	w.post(at+"/policies/"+policy+"/rules",
		fmt.Sprintf(
			`{"name":"r","conditions":{"people":{"groups":{"include":[%q]}},"grantTypes":{"include":["password"]},"scopes":{"include":["*"]}}}`,
			group))
	sign := func(scope string) *apitest.Answer {
		return w.form("/oauth2/"+as+"/v1/token", basic(id, secret), "grant_type", "password", "username", "ann", "password", password, "scope",
			scope)
	}
	use := func(token string, more ...string) *apitest.Answer {
		return w.form("/oauth2/"+as+"/v1/token", basic(id, secret), append(more, "grant_type", "refresh_token", "refresh_token", token)...)
	}
	a := sign("offline_access orders stock")
	require.Equal(t, 200, a.Status, "%s", a.Body)
	token := a.Value("refresh_token")
	require.Equal(t, "offline_access orders stock", use(token).Value("scope"))

	// The use of a refresh token requires that the client is active, has the grant type refresh_token, and has the grant type by which the
	// token was issued.
	w.putClient(id, "refresh_token")
	w.refused(use(token), 400, "invalid_grant") // the client no longer has the grant type by which the token was issued
	w.putClient(id, "password")
	w.refused(use(token), 400, "unauthorized_client")
	w.putClient(id, "password", "refresh_token")
	require.Equal(t, 200, use(token).Status)
	w.post("/api/v1/apps/"+id+"/lifecycle/deactivate", "")
	w.refused(use(token), 401, "invalid_client")
	w.post("/api/v1/apps/"+id+"/lifecycle/activate", "")
	require.Equal(t, 200, use(token).Status)

	// A refresh token follows the rename of its scope, and loses a deleted scope.
	w.Run(t,
		step{Do: "PUT " + at + "/scopes/" + orders, Body: `{"name":"purchases","consent":"REQUIRED"}`},
		step{Do: "POST " + at + "/scopes", Body: `{"name":"orders"}`, Status: 201},
		step{Do: "DELETE " + at + "/scopes/" + stock, Status: 204},
	)
	require.Equal(t, "offline_access purchases", use(token).Value("scope"))
	w.refused(use(token, "scope", "stock"), 400, "invalid_scope")
	w.refused(use(token, "scope", "orders"), 400, "invalid_scope")
	w.post(at+"/scopes", `{"name":"stock"}`)
	require.Equal(t, "offline_access purchases", use(token).Value("scope"), "another scope of the same name")
	w.refused(use(token, "scope", "stock"), 400, "invalid_scope")
	renewed := sign("offline_access purchases").Value("refresh_token")
	grant := w.Run(t,
		step{Do: "GET /api/v1/users/" + user + "/grants", Equal: values{"#": 1, "0.status": "ACTIVE"}, Save: saved{"id": "0.id"}})["id"]
	require.Equal(t, 204, w.Do(t, "DELETE /api/v1/users/"+user+"/grants/"+grant, "", nil).Status)
	for _, token := range []string{token, renewed} {
		// the deletion of the consent has revoked the token, although the scope was renamed after the consent
		w.refused(use(token), 400, "invalid_grant")
	}
	token = sign("offline_access purchases").Value("refresh_token")
	w.Run(t,
		step{Do: "GET /api/v1/users/" + user + "/grants", Equal: values{"#": 1, "0.status": "ACTIVE"}, Save: saved{"id": "0.id"}},
		step{Do: "DELETE " + at + "/scopes/" + orders, Status: 204},
		step{Name: "the consent is revoked with it", Do: "GET /api/v1/users/" + user + "/grants/{{id}}", Equal: values{"status": "REVOKED"}},
	)
	require.Equal(t, "offline_access", use(token).Value("scope"))

	// A rule whose only group was deleted applies to no user, not to all users.
	require.Equal(t, 204, w.Do(t, "DELETE /api/v1/groups/"+group, "", nil).Status)
	w.refused(use(token), 400, "invalid_grant")
	w.refused(sign("offline_access"), 400, "access_denied")
}

// TestClientID_Reused verifies that a new client with the client_id of a deleted one inherits no tokens, policies or roles.
func TestClientID_Reused(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	const robot = `{"name":"oidc_client","label":"Robot","signOnMode":"OPENID_CONNECT",
		"credentials":{"oauthClient":{"client_id":%q,"token_endpoint_auth_method":"client_secret_basic"}},
		"settings":{"oauthClient":{"application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}}}`
	group := w.post("/api/v1/groups", `{"profile":{"name":"Sales"}}`).Value("id")
	register := func() (app, secret string) {
		a := w.post("/api/v1/apps", fmt.Sprintf(robot, "the-robot"))
		return a.Value("id"), a.Value("credentials.oauthClient.client_secret")
	}
	app, secret := register()
	other, otherSecret := w.client("")
	w.grantScopes(app, "svc.users.read")
	w.post("/oauth2/v1/clients/the-robot/roles", `{"type":"READ_ONLY_ADMIN"}`)
	w.post(servers+"/default/scopes", `{"name":"s"}`)
	as := w.post(servers, `{"name":"A","description":"d","audiences":["a"]}`).Value("id")
	at := servers + "/" + as
	w.post(at+"/scopes", `{"name":"s"}`)
	policy := at + "/policies/" +
		w.post(at+"/policies", `{"name":"p","description":"d","priority":1,"conditions":{"clients":{"include":["the-robot"]}}}`).Value("id")
	w.post(policy+"/rules",
		fmt.Sprintf(`{"name":"r","conditions":{"people":{"groups":{"include":[%q]}},"grantTypes":{"include":["client_credentials"]},`+
			`"scopes":{"include":["*"]}}}`, group))
	ask := func(server, secret, scope string) *apitest.Answer {
		return w.form("/oauth2"+server+"/v1/token", basic("the-robot", secret), "grant_type", "client_credentials", "scope", scope)
	}
	active := func(server, token string) string {
		return w.form("/oauth2"+server+"/v1/introspect", basic(other, otherSecret), "token", token).Value("active")
	}
	org, custom := ask("", secret, "svc.users.read").Value("access_token"), ask("/"+as, secret, "s").Value("access_token")
	require.Equal(t, []string{"true", "true"}, []string{active("", org), active("/"+as, custom)})
	w.Run(t, step{Do: "GET /api/v1/users", Header: bearer(org)})

	refused := func(why string) {
		t.Helper()
		require.Equal(t, []string{"false", "false"}, []string{active("", org), active("/"+as, custom)}, why)
		w.Run(t, step{Name: why, Do: "GET /api/v1/users", Header: bearer(org), Status: 401, Code: "E0000011"})
	}
	w.post("/api/v1/apps/"+app+"/lifecycle/deactivate", "")
	refused("the client is not active")
	impostor := w.post("/api/v1/apps", strings.ReplaceAll(fmt.Sprintf(robot, group), "Robot", "Group")).Value("id")
	w.post("/api/v1/apps/"+impostor+"/lifecycle/deactivate", "")
	w.Run(t,
		step{Name: "a client_id identifies only a client", Do: "DELETE /api/v1/apps/" + impostor, Status: 204},
		step{Do: "GET " + policy + "/rules", Equal: values{"0.conditions.people.groups.include.0": group}},
		step{Name: "a policy retains a deactivated client", Do: "GET " + policy, Equal: values{"conditions.clients.include.0": "the-robot"}},
		step{Do: "DELETE /api/v1/apps/" + app, Status: 204},
		step{Name: "but not a deleted one", Do: "GET " + policy, Equal: values{"conditions.clients.include.#": 0}},
		step{Do: "GET " + at + "/clients", Equal: values{"#": 0}},
		step{Do: "GET /oauth2/v1/clients/the-robot/roles", Status: 404, Code: "E0000007"},
	)
	refused("the client was deleted")
	w.refused(ask("/"+as, secret, "s"), 401, "invalid_client")

	w.Clock.Advance(time.Second)
	app, secret = register()
	w.grantScopes(app, "svc.users.read")
	refused("the client is another one")
	w.refused(ask("/"+as, secret, "s"), 400, "access_denied")
	require.Equal(t, "true", active("", ask("", secret, "svc.users.read").Value("access_token")))
	w.Run(t, step{Do: "GET /oauth2/v1/clients/the-robot/roles", Equal: values{"#": 0}})
}
