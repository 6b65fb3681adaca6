package endpoints_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

const password = "Correct-horse-7-battery"

// user creates a user who can sign in.
func (w *world) user(name string) string {
	w.t.Helper()
	return w.post("/api/v1/users",
		fmt.Sprintf(`{"profile":{"login":"%s@example.com","email":"%[1]s@example.com","firstName":"Ann","lastName":"Archer"},`+
			`"credentials":{"password":{"value":%q}}}`, name, password)).Value("id")
}

// app registers a client for users.
func (w *world) app() (id, secret string) {
	w.t.Helper()
	a := w.post("/oauth2/v1/clients",
		`{"client_name":"Desk","application_type":"web","grant_types":["password","refresh_token"],"response_types":["token"],`+
			`"client_uri":"https://desk.example"}`)
	return a.Value("client_id"), a.Value("client_secret")
}

// Proves B-users-70.
func TestTokensForUsers(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		user, bystander := w.user("ann"), w.user("bob")
		id, secret := w.app()
		group := w.post("/api/v1/groups", `{"profile":{"name":"Sales"}}`).Value("id")
		w.post(servers+"/default/scopes", `{"name":"orders","consent":"REQUIRED"}`)
		w.post(servers+"/default/claims",
			`{"name":"groups","claimType":"RESOURCE","valueType":"GROUPS","value":"S","group_filter_type":"STARTS_WITH"}`)
		w.post(servers+"/default/claims",
			`{"name":"dept","claimType":"IDENTITY","valueType":"EXPRESSION","value":"user.lastName + \"!\"","alwaysIncludeInToken":true}`)
		w.post(servers+"/default/claims", `{"name":"quiet","claimType":"IDENTITY","valueType":"EXPRESSION","value":"user.lastName"}`)
		ask := func(login, pass, scope string) *apitest.Answer {
			return w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", login, "password", pass, "scope",
				scope)
		}
		const all = "openid profile email offline_access orders"
		w.refused(ask("ann@example.com", password, all), 400, "access_denied") // not assigned
		w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
		w.Do(t, "PUT /api/v1/groups/"+group+"/users/"+user, "", nil)
		w.refused(ask("ann@example.com", "wrong", all), 400, "invalid_grant")
		w.refused(ask("nobody@example.com", password, all), 400, "invalid_grant")
		w.refused(ask("ann@example.com", "", all), 400, "invalid_request")
		a := ask("ann@example.com", password, all)
		require.Equal(t, 200, a.Status, "%s", a.Body)
		require.Equal(t, all, a.Value("scope"))
		access := w.claims("/oauth2/default", a.Value("access_token"))
		require.Equal(t, user, access["uid"])
		require.Equal(t, "ann@example.com", access["sub"])
		require.Equal(t, []any{"Sales"}, access["groups"])
		identity := w.claims("/oauth2/default", a.Value("id_token"))
		require.Equal(t, id, identity["aud"])
		require.Equal(t, user, identity["sub"])
		require.Equal(t, "Archer!", identity["dept"])
		require.Equal(t, "ann@example.com", identity["email"])
		require.Equal(t, "Ann Archer", identity["name"])
		require.NotEmpty(t, identity["at_hash"])
		require.NotContains(t, identity, "quiet", "an ID token next to an access token contains only claims that are always included")
		refresh := a.Value("refresh_token")
		require.NotEmpty(t, refresh)
		require.Empty(t, ask("ann@example.com", password, "openid").Value("refresh_token"))

		again := func(token string, more ...string) *apitest.Answer {
			return w.form("/oauth2/default/v1/token", basic(id, secret), append(more, "grant_type", "refresh_token", "refresh_token", token)...)
		}
		b := again(refresh)
		require.Equal(t, 200, b.Status, "%s", b.Body)
		require.Equal(t, refresh, b.Value("refresh_token"), "the refresh token is not replaced")
		require.Equal(t, "orders", again(refresh, "scope", "orders").Value("scope"))
		w.refused(again(refresh, "scope", "address"), 400, "invalid_scope")
		w.refused(again("unknown"), 400, "invalid_grant")
		w.refused(again(""), 400, "invalid_request")
		otherID, otherSecret := w.app()
		w.refused(w.form("/oauth2/default/v1/token", basic(otherID, otherSecret), "grant_type", "refresh_token", "refresh_token", refresh), 400,
			"invalid_grant")

		// The lists by user, by application and by server contain the tokens and consents.
		token := w.Do(t, "GET /api/v1/apps/"+id+"/tokens", "", nil).Value("0.id")
		require.Regexp(t, "^oar", token)
		ofUser, ofServer := "/api/v1/users/ann/clients", servers+"/default/clients"
		grants := w.Run(t,
			step{Do: "GET /api/v1/apps/" + id + "/tokens?expand=scope",
				Equal: values{"#": 1, "0.status": "ACTIVE", "0.userId": user, "0.clientId": id, "0.issuer": w.Server.URL + "/oauth2/default",
					"0.scopes.#": 5, "0._embedded.scopes.#": 5, "0.expiresAt": "2026-03-11T05:06:07.000Z"},
				Has: []string{"0._links.self", "0._links.revoke", "0._links.app", "0._links.client", "0._links.user", "0._links.authorizationServer",
					"0._embedded.scopes.0._links.scope"}},
			step{Do: "GET /api/v1/apps/" + id + "/tokens/" + token, Equal: values{"id": token}, Lacks: []string{"_embedded", "hash"}},
			step{Do: "GET /api/v1/apps/" + otherID + "/tokens/" + token, Status: 404, Code: "E0000007"},
			step{Do: "GET /api/v1/apps/" + otherID + "/tokens", Equal: values{"#": 0}},
			step{Do: "GET /api/v1/apps/nobody/tokens", Status: 404, Code: "E0000007"},
			step{Do: "GET " + ofUser,
				Equal: values{"#": 1, "0.client_id": id, "0.client_name": "Desk", "0.client_uri": "https://desk.example", "0.logo_uri": nil}},
			step{Do: "GET " + ofUser + "/" + id + "/tokens", Equal: values{"#": 1, "0.id": token}, Lacks: []string{"link:next"}},
			step{Do: "GET " + ofUser + "/" + id + "/tokens?after=x", Status: 400, Code: "E0000029"},
			step{Do: "GET " + ofUser + "/" + id + "/tokens/" + token + "?expand=scope", Equal: values{"id": token},
				Has: []string{"_embedded.scopes"}},
			step{Do: "GET " + ofUser + "/" + otherID + "/tokens/" + token, Status: 404, Code: "E0000007"},
			step{Do: "GET /api/v1/users/" + bystander + "/clients/" + id + "/tokens/" + token, Status: 404, Code: "E0000007"},
			step{Do: "GET /api/v1/users/nobody/clients", Status: 404, Code: "E0000007"},
			step{Do: "GET " + ofUser + "/nobody/tokens", Status: 404, Code: "E0000007"},
			step{Do: "GET " + ofServer, Equal: values{"#": 1, "0.client_id": id}, Has: []string{"0._links.tokens"}},
			step{Do: "GET " + ofServer + "/" + id + "/tokens", Equal: values{"#": 1}},
			step{Do: "GET " + ofServer + "/" + id + "/tokens/" + token, Equal: values{"id": token}},
			step{Do: "GET " + ofServer + "/nobody/tokens", Status: 404, Code: "E0000007"},
			step{Do: "GET " + servers + "/nobody/clients", Status: 404, Code: "E0000007"},
			step{Name: "the consent is stored once", Do: "GET /api/v1/users/ann/grants?expand=scope",
				Equal: values{"#": 1, "0.status": "ACTIVE", "0.source": "END_USER", "0.clientId": id, "0.userId": user,
					"0._embedded.scope.name": "orders"}, Save: saved{"g": "0.id", "scope": "0.scopeId"},
				Has: []string{"0._links.app", "0._links.scope", "0._links.client", "0._links.self", "0._links.user", "0._links.authorizationServer"}},
			step{Do: "GET /api/v1/users/ann/grants?scopeId=other", Equal: values{"#": 0}},
			step{Do: "GET /api/v1/users/ann/grants/{{g}}", Equal: values{"id": "{{g}}"}},
			step{Do: "GET /api/v1/users/bob/grants/{{g}}", Status: 404, Code: "E0000007"},
			step{Do: "GET " + ofUser + "/" + id + "/grants?scopeId={{scope}}", Equal: values{"#": 1}},
			step{Do: "GET " + ofUser + "/" + otherID + "/grants", Equal: values{"#": 0}},
			step{Name: "no other consent is revoked", Do: "DELETE /api/v1/users/bob/grants/{{g}}", Status: 404, Code: "E0000007"},
			step{Do: "DELETE /api/v1/users/bob/grants", Status: 204},
			step{Do: "DELETE " + ofUser + "/" + otherID + "/grants", Status: 204},
			step{Do: "DELETE " + ofUser + "/" + otherID + "/tokens", Status: 204},
		)
		require.Equal(t, 200, again(refresh).Status)
		fresh := func() string { return ask("ann@example.com", password, "offline_access orders").Value("refresh_token") }
		revoked := func(do string) {
			refresh = fresh()
			require.Equal(t, 200, again(refresh).Status)
			id := w.Do(t, "GET /api/v1/apps/"+id+"/tokens?limit=200", "", nil)
			last := id.Value(fmt.Sprintf("%d.id", len(id.JSON.([]any))-1))
			if do[len(do)-1] == '/' {
				do += last
			}
			require.Equal(t, 204, w.Do(t, "DELETE "+do, "", nil).Status, do)
			w.refused(again(refresh), 400, "invalid_grant")
			require.Equal(t, 204, w.Do(t, "DELETE "+do, "", nil).Status, "%s again", do)
		}
		w.Run(t,
			step{Name: "revoking a consent revokes its tokens", Do: "DELETE /api/v1/users/ann/grants/" + grants["g"], Status: 204},
			step{Do: "GET /api/v1/users/ann/grants/" + grants["g"], Equal: values{"status": "REVOKED"}},
			step{Do: "GET /api/v1/apps/" + id + "/tokens/" + token, Equal: values{"status": "REVOKED"}},
			step{Do: "GET /api/v1/users/ann/clients", Equal: values{"#": 0}},
		)
		w.refused(again(refresh), 400, "invalid_grant")
		revoked("/api/v1/users/ann/grants")
		revoked(ofUser + "/" + id + "/grants")
		revoked(ofUser + "/" + id + "/tokens")
		revoked(ofUser + "/" + id + "/tokens/")
		revoked("/api/v1/apps/" + id + "/tokens")
		revoked("/api/v1/apps/" + id + "/tokens/")
		revoked(ofServer + "/" + id + "/tokens")
		revoked(ofServer + "/" + id + "/tokens/")

		refresh = fresh()
		w.Do(t, "POST /api/v1/users/"+user+"/lifecycle/suspend", "", nil)
		w.refused(again(refresh), 400, "invalid_grant")
		w.refused(ask("ann@example.com", password, "orders"), 400, "invalid_grant")
		w.Do(t, "POST /api/v1/users/"+user+"/lifecycle/unsuspend", "", nil)
		require.Equal(t, 200, again(refresh).Status)
		w.Do(t, "DELETE /api/v1/apps/"+id+"/users/"+user, "", nil)
		w.refused(again(refresh), 400, "invalid_grant")
		w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
		w.Do(t, "POST /api/v1/users/"+user+"/lifecycle/deactivate", "", nil)
		w.refused(again(refresh), 400, "invalid_grant")
		w.Run(t, step{Name: "a deactivated user is in no list", Do: "GET " + ofServer, Equal: values{"#": 0}})
	})
}

// TestRefreshToken_Expires verifies when a refresh token expires and which changes make it unusable.
func TestRefreshToken_Expires(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	user := w.user("ann")
	id, secret := w.app()
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	as := w.post(servers, `{"name":"A","description":"d","audiences":["a"]}`).Value("id")
	policies := servers + "/" + as + "/policies"
	policy := w.post(policies, `{"name":"p","description":"d","priority":1,"conditions":{"clients":{"include":["ALL_CLIENTS"]}}}`).Value("id")
	rule := w.post(policies+"/"+policy+"/rules",
		`{"name":"r","conditions":{"grantTypes":{"include":["password"]},"scopes":{"include":["*"]}},`+
			`"actions":{"token":{"accessTokenLifetimeMinutes":5,"refreshTokenLifetimeMinutes":60,"refreshTokenWindowMinutes":30}}}`).Value("id")
	sign := func() string {
		a := w.form("/oauth2/"+as+"/v1/token", basic(id, secret), "grant_type", "password", "username", "ann", "password", password, "scope",
			"offline_access")
		require.Equal(t, 200, a.Status, "%s", a.Body)
		return a.Value("refresh_token")
	}
	use := func(token string) *apitest.Answer {
		return w.form("/oauth2/"+as+"/v1/token", basic(id, secret), "grant_type", "refresh_token", "refresh_token", token)
	}
	token := sign()
	w.Clock.Advance(29 * time.Minute)
	require.Equal(t, 200, use(token).Status)
	w.Clock.Advance(29 * time.Minute)
	require.Equal(t, 200, use(token).Status, "the token was used within the window")
	w.Clock.Advance(2 * time.Minute)
	w.refused(use(token), 400, "invalid_grant") // one hour
	idle := sign()
	w.Clock.Advance(30 * time.Minute)
	w.refused(use(idle), 400, "invalid_grant")

	token = sign()
	for _, at := range []string{policies + "/" + policy, policies + "/" + policy + "/rules/" + rule} {
		w.post(at+"/lifecycle/deactivate", "")
		w.refused(use(token), 400, "invalid_grant")
		w.post(at+"/lifecycle/activate", "")
		require.Equal(t, 200, use(token).Status)
	}
	w.Run(t,
		step{Do: "PUT " + policies + "/" + policy + "/rules/" + rule,
			Body: `{"name":"r","conditions":{"grantTypes":{"include":["client_credentials"]},"scopes":{"include":["*"]}}}`})
	w.refused(use(token), 400, "invalid_grant")
	w.Run(t, step{Name: "deleting a server deletes its tokens", Do: "DELETE " + servers + "/" + as, Status: 204},
		step{Do: "GET /api/v1/apps/" + id + "/tokens", Equal: values{"#": 0}})
}

func TestPasswordGrant_LockOut(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	user := w.user("ann")
	id, secret := w.app()
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	for range 10 {
		w.refused(
			w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann", "password", "wrong", "scope",
				"openid"), 400, "invalid_grant")
	}
	require.Equal(t, "LOCKED_OUT", w.Do(t, "GET /api/v1/users/"+user, "", nil).Value("status"))
	w.refused(
		w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann", "password", password, "scope",
			"openid"), 400, "invalid_grant")
	log := w.Do(t, "GET /api/v1/logs?filter=eventType+eq+%22app.oauth2.as.token.grant%22&limit=100", "", nil)
	require.Len(t, log.JSON, 11)
}

func TestIntrospectionAndRevocation(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	user := w.user("ann")
	id, secret := w.app()
	otherID, otherSecret := w.client("")
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	sign := func() (access, refresh string) {
		a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann", "password", password, "scope",
			"openid offline_access")
		require.Equal(t, 200, a.Status, "%s", a.Body)
		return a.Value("access_token"), a.Value("refresh_token")
	}
	look := func(token string) *apitest.Answer {
		return w.form("/oauth2/default/v1/introspect", basic(id, secret), "token", token, "token_type_hint", "access_token")
	}
	revoke := func(token string) *apitest.Answer {
		return w.form("/oauth2/default/v1/revoke", basic(id, secret), "token", token)
	}
	access, refresh := sign()
	a := look(access)
	for path, want := range map[string]string{
		"active": "true", "scope": "openid offline_access", "client_id": id, "username": "ann@example.com", "sub": "ann@example.com",
		"aud": "api://default",
		"iss": w.Server.URL + "/oauth2/default", "token_type": "Bearer", "uid": user, "exp": fmt.Sprint(w.Clock.Now().Unix() + 3600),
	} {
		require.Equal(t, want, a.Value(path), path)
	}
	require.Equal(t, "true", look(refresh).Value("active"))
	require.Equal(t, "true", w.form("/oauth2/default/v1/introspect", basic(otherID, otherSecret), "token", access).Value("active"),
		"a resource server may introspect access tokens")
	require.Equal(t, "false", w.form("/oauth2/default/v1/introspect", basic(otherID, otherSecret), "token", refresh).Value("active"))
	require.JSONEq(t, `{"active":false}`, string(look("unknown").Body))
	public := w.post("/oauth2/v1/clients",
		`{"client_name":"Page","application_type":"native","grant_types":["password"],"response_types":["token"],`+
			`"token_endpoint_auth_method":"none"}`).Value("client_id")
	w.post("/api/v1/apps/"+public+"/users", fmt.Sprintf(`{"id":%q}`, user))
	own := w.form("/oauth2/default/v1/token", nil, "client_id", public, "grant_type", "password", "username", "ann", "password", password,
		"scope", "openid").Value("access_token")
	for token, active := range map[string]string{own: "true", access: "false", refresh: "false"} {
		require.Equal(t, active, w.form("/oauth2/default/v1/introspect", nil, "client_id", public, "token", token).Value("active"),
			"a public client introspects only its own tokens")
	}
	w.refused(w.form("/oauth2/default/v1/introspect", nil, "token", access), 400, "invalid_client")
	w.refused(look(""), 400, "invalid_request")
	w.refused(revoke(""), 400, "invalid_request")
	w.refused(w.form("/oauth2/default/v1/revoke", basic(otherID, otherSecret), "token", access), 400, "unauthorized_client")
	require.Equal(t, "true", look(access).Value("active"))

	require.Equal(t, 200, revoke(access).Status)
	require.Empty(t, revoke(access).Body, "twice")
	require.Equal(t, "false", look(access).Value("active"))
	require.Equal(t, "true", look(refresh).Value("active"), "the refresh token is still valid")
	require.Equal(t, 200, revoke("unknown").Status)

	access, refresh = sign()
	require.Equal(t, 200, revoke(refresh).Status)
	require.Equal(t, "false", look(refresh).Value("active"))
	require.Equal(t, "false", look(access).Value("active"), "it was issued with the refresh token")

	access, _ = sign()
	w.Do(t, "POST /api/v1/users/"+user+"/lifecycle/suspend", "", nil)
	require.Equal(t, "false", look(access).Value("active"))
	w.Do(t, "POST /api/v1/users/"+user+"/lifecycle/unsuspend", "", nil)
	require.Equal(t, "true", look(access).Value("active"))
	w.Clock.Advance(time.Hour)
	require.Equal(t, "false", look(access).Value("active"))
	n, err := w.Model.UsedTokens.Count(t.Context(), w.Store.Reader(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestClient_Registration(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	const at = "/oauth2/v1/clients"
	body := `{"client_name":"Robot","application_type":"service","grant_types":["client_credentials"],"response_types":["token"]%s}`
	secret := w.Run(t,
		step{Do: "POST " + at, Body: fmt.Sprintf(body, ""), Status: 201, Save: saved{"c": "client_id", "secret": "client_secret"},
			Equal: values{"client_name": "Robot", "token_endpoint_auth_method": "client_secret_basic", "application_type": "service",
				"client_secret_expires_at": 0, "client_id_issued_at": int(w.Clock.Now().Unix()), "client_uri": nil}},
		step{Name: "the client is an application", Do: "GET /api/v1/apps/{{c}}",
			Equal: values{"name": "oidc_client", "label": "Robot", "status": "ACTIVE", "signOnMode": "OPENID_CONNECT"}},
		step{Do: "GET " + at + "/{{c}}", Equal: values{"client_id": "{{c}}"}, Lacks: []string{"client_secret"}},
		step{Do: "POST " + at, Body: `{"client_name":"Web","redirect_uris":["https://web.example/back"]}`, Status: 201,
			Equal: values{"application_type": "web", "grant_types.0": "authorization_code", "response_types.0": "code"}},
		step{Do: "GET " + at + "?q=ro", Equal: values{"#": 1, "0.client_id": "{{c}}"}, Lacks: []string{"0.client_secret"}},
		step{Do: "GET " + at + "?limit=1", Equal: values{"#": 1}, Save: saved{"next": "link:next"}},
		step{Do: "GET {{next}}", Equal: values{"#": 1, "0.client_name": "Web"}},
		step{Do: "GET " + at + "?after=x", Status: 400, Code: "E0000029"},
		step{Do: "POST " + at, Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"client_name: "}},
		step{Do: "POST " + at, Body: `{"client_name":"x","application_type":"service","grant_types":["password"]}`, Status: 400, Code: "E0000001",
			Causes: []string{"grant_types: "}},
		step{Do: "POST " + at, Body: fmt.Sprintf(body, `,"token_endpoint_auth_method":"private_key_jwt"`), Status: 400, Code: "E0000001",
			Causes: []string{"jwks: "}},
		step{Do: "POST " + at, Body: fmt.Sprintf(body, `,"token_endpoint_auth_method":"magic"`), Status: 400, Code: "E0000001",
			Causes: []string{"token_endpoint_auth_method: "}},
		step{Do: "POST " + at, Status: 400, Code: "E0000003"},
		step{Do: "GET " + at + "/nobody", Status: 404, Code: "E0000007"},
		step{Do: "PUT " + at + "/nobody", Body: `{}`, Status: 404, Code: "E0000007"},
		step{Do: "PUT " + at + "/{{c}}", Body: fmt.Sprintf(body, `,"client_id":"other"`), Status: 400, Code: "E0000001",
			Causes: []string{"client_id: "}},
		step{Do: "PUT " + at + "/{{c}}",
			Body: `{"client_id":"{{c}}","client_name":"Machine","application_type":"service","grant_types":["client_credentials"],` +
				`"token_endpoint_auth_method":"client_secret_post"}`, Equal: values{"client_name": "Machine"}, Lacks: []string{"client_secret"}},
		step{Name: "requires authentication", Do: "GET " + at, Header: saved{"Authorization": ""}, Status: 403,
			Code: "E0000005"},
	)
	w.post(servers+"/default/scopes", `{"name":"s","default":true}`)
	ask := func() *apitest.Answer {
		return w.form("/oauth2/default/v1/token", nil, "grant_type", "client_credentials", "client_id", secret["c"], "client_secret",
			secret["secret"])
	}
	require.Equal(t, 200, ask().Status, "the secret is still the same")
	w.Run(t,
		step{Do: "DELETE " + at + "/" + secret["c"], Status: 204},
		step{Do: "GET " + at + "/" + secret["c"], Status: 404, Code: "E0000007"},
		step{Do: "GET /api/v1/apps/" + secret["c"], Status: 404, Code: "E0000007"},
	)
	w.refused(ask(), 400, "invalid_client")
}

// The password grant respects a rule of the sign-on policy that requires a factor or denies access.
func TestPasswordGrant_SignOnPolicy(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	user := w.user("ann")
	id, secret := w.app()
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	ask := func(pass string) *apitest.Answer {
		return w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann@example.com", "password", pass,
			"scope", "openid")
	}
	require.Equal(t, 200, ask(password).Status)
	policy := w.Do(t, "GET /api/v1/policies?type=SVC_SIGN_ON", "", nil).Value("0.id")
	for _, action := range []string{`"access":"ALLOW","requireFactor":true`, `"access":"DENY"`} {
		rule := w.post("/api/v1/policies/"+policy+"/rules", `{"name":"One","actions":{"signon":{`+action+`}}}`).Value("id")
		w.refused(ask(password), 400, "access_denied")
		w.refused(ask("wrong"), 400, "invalid_grant")
		w.Do(t, "DELETE /api/v1/policies/"+policy+"/rules/"+rule, "", nil)
	}
	require.Equal(t, 200, ask(password).Status)
}
