package endpoints_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

type (
	step   = apitest.Step
	values = map[string]any
	saved  = map[string]string
)

const servers = "/api/v1/authorizationServers"

// world is an API with a client.
type world struct {
	*apitest.Env
	t *testing.T
}

func newWorld(t *testing.T, db *sqldb.DB) *world { return &world{apitest.New(t, db), t} }

// form sends a form without an API token.
func (w *world) form(path string, header map[string]string, pairs ...string) *apitest.Answer {
	w.t.Helper()
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	all := map[string]string{"Authorization": "", "Content-Type": "application/x-www-form-urlencoded"}
	maps.Copy(all, header)
	return w.Do(w.t, "POST "+path, values.Encode(), all)
}

// post sends JSON with the API token.
func (w *world) post(path, body string) *apitest.Answer {
	w.t.Helper()
	a := w.Do(w.t, "POST "+path, body, nil)
	require.Less(w.t, a.Status, 400, "%s", a.Body)
	return a
}

// client registers a client and returns its id and secret.
func (w *world) client(more string) (id, secret string) {
	w.t.Helper()
	a := w.post("/oauth2/v1/clients",
		`{"client_name":"Robot","application_type":"service","grant_types":["client_credentials"],"response_types":["token"]`+more+`}`)
	return a.Value("client_id"), a.Value("client_secret")
}

func basic(id, secret string) map[string]string {
	return map[string]string{"Authorization": "Basic " +
		base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))}
}

// refused asserts an OAuth error.
func (w *world) refused(a *apitest.Answer, status int, code string) {
	w.t.Helper()
	require.Equal(w.t, status, a.Status, "%s", a.Body)
	require.Equal(w.t, code, a.Value("error"), "%s", a.Body)
	require.NotEmpty(w.t, a.Value("error_description"))
}

// claims verifies a token with the published keys, using libraries other than those of the service, and returns its claims.
func (w *world) claims(server, token string) jwt.MapClaims {
	w.t.Helper()
	provider, err := oidc.NewProvider(context.Background(), w.Server.URL+server)
	require.NoError(w.t, err)
	var metadata struct {
		Keys string `json:"jwks_uri"`
	}
	require.NoError(w.t, provider.Claims(&metadata))
	payload, err := oidc.NewRemoteKeySet(context.Background(), metadata.Keys).VerifySignature(context.Background(), token)
	require.NoError(w.t, err)

	var set jose.JSONWebKeySet
	response, err := http.Get(metadata.Keys)
	require.NoError(w.t, err)
	defer response.Body.Close()
	require.NoError(w.t, json.NewDecoder(response.Body).Decode(&set))
	parsed, err := jwt.Parse(token, func(t *jwt.Token) (any, error) {
		keys := set.Key(t.Header["kid"].(string))
		require.Len(w.t, keys, 1)
		return keys[0].Key, nil
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(w.Clock.Now), jwt.WithIssuer(w.Server.URL+server),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	require.NoError(w.t, err)
	said, ok := parsed.Claims.(jwt.MapClaims)
	require.True(w.t, ok)
	text, err := json.Marshal(said)
	require.NoError(w.t, err)
	require.JSONEq(w.t, string(payload), string(text))
	return said
}

// Proves A-servers-12, A-servers-14.
func TestClientCredentials_CustomServer(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		id, secret := w.client("")
		w.post(servers+"/default/scopes", `{"name":"orders"}`)
		w.post(servers+"/default/claims",
			`{"name":"app","claimType":"RESOURCE","valueType":"EXPRESSION","value":"String.toUpperCase(app.label)"}`)
		w.post(servers+"/default/claims", `{"name":"login","claimType":"RESOURCE","valueType":"EXPRESSION","value":"user.login"}`)
		a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "orders")
		require.Equal(t, 200, a.Status, "%s", a.Body)
		require.Equal(t, "Bearer", a.Value("token_type"))
		require.Equal(t, "3600", a.Value("expires_in"))
		require.Equal(t, "orders", a.Value("scope"))
		says := w.claims("/oauth2/default", a.Value("access_token"))
		require.Regexp(t, `^AT\.[A-Za-z0-9_-]{43}$`, says["jti"])
		delete(says, "jti")
		now := float64(w.Clock.Now().Unix())
		require.Equal(t, jwt.MapClaims{
			"ver": 1.0, "iss": w.Server.URL + "/oauth2/default", "aud": "api://default", "iat": now, "exp": now + 3600, "cid": id, "sub": id,
			"scp": []any{"orders"}, "app": "ROBOT",
		}, says)
		w.refused(w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "client_credentials"), 400, "invalid_scope")
		w.refused(w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "orders unknown"), 400,
			"invalid_scope")
		w.refused(w.form("/oauth2/default/v1/token", basic(id, secret)), 400, "invalid_request")
		w.refused(w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "magic"), 400, "unsupported_grant_type")
		w.refused(w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password"), 400, "unauthorized_client")
		w.refused(w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "client_credentials", "grant_type", "client_credentials"),
			400, "invalid_request")
		require.Equal(t, 404, w.form("/oauth2/nobody/v1/token", basic(id, secret), "grant_type", "client_credentials").Status)
		log := w.Do(t, "GET /api/v1/logs?filter=eventType+eq+%22app.oauth2.as.token.grant%22", "", nil)
		require.Equal(t, "SUCCESS", log.Value("0.outcome.result"))
		require.Equal(t, id, log.Value("0.actor.id"))
		require.Equal(t, "FAILURE", log.Value("1.outcome.result"))
		require.NotContains(t, string(log.Body), secret)
	})
}

// Proves A-policies-08, A-policies-11, A-servers-42.
func TestPoliciesAndRulesDecide(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	id, secret := w.client("")
	as := w.post(servers, `{"name":"A","description":"d","audiences":["a"]}`).Value("id")
	at := servers + "/" + as
	for _, scope := range []string{"read", "write"} {
		w.post(at+"/scopes", fmt.Sprintf(`{"name":%q,"default":%v}`, scope, scope == "read"))
	}
	ask := func(scope string) *apitest.Answer {
		return w.form("/oauth2/"+as+"/v1/token", nil, "grant_type", "client_credentials", "scope", scope, "client_id", id, "client_secret",
			secret)
	}
	w.refused(ask("read"), 400, "invalid_client") // registered for basic
	w.Run(t,
		step{Do: "PUT /oauth2/v1/clients/" + id,
			Body: `{"client_name":"Robot","application_type":"service","grant_types":["client_credentials"],` +
				`"token_endpoint_auth_method":"client_secret_post"}`})
	w.refused(ask("read"), 400, "access_denied")
	policy := func(name, clients string, priority int) string {
		return w.post(at+"/policies",
			fmt.Sprintf(`{"name":%q,"description":"d","priority":%d,"conditions":{"clients":{"include":[%q]}}}`, name, priority,
				clients)).Value("id")
	}
	rule := func(policy, name, scope string, minutes int) string {
		return w.post(at+"/policies/"+policy+"/rules",
			fmt.Sprintf(`{"name":%q,"conditions":{"grantTypes":{"include":["client_credentials"]},"scopes":{"include":[%q]}},`+
				`"actions":{"token":{"accessTokenLifetimeMinutes":%d}}}`, name, scope, minutes)).Value("id")
	}
	everyone := policy("everyone", "ALL_CLIENTS", 0)
	w.refused(ask("read"), 400, "access_denied")
	rule(everyone, "r", "read", 5)
	require.Equal(t, "300", ask("").Value("expires_in"), "the default scope")
	w.refused(ask("read write"), 400, "access_denied")
	second := rule(everyone, "any", "*", 10)
	require.Equal(t, "300", ask("read").Value("expires_in"), "the first matching rule")
	require.Equal(t, "600", ask("read write").Value("expires_in"))
	mine := policy("mine", id, 1)
	w.refused(ask("read"), 400, "access_denied") // the policy "mine" is now the first one for the client, and has no rule
	w.post(at+"/policies/"+mine+"/lifecycle/deactivate", "")
	require.Equal(t, 200, ask("read").Status, "an inactive policy is skipped")
	w.post(at+"/policies/"+everyone+"/rules/"+second+"/lifecycle/deactivate", "")
	w.refused(ask("write"), 400, "access_denied")
	token := ask("read").Value("access_token")
	require.Equal(t, "a", w.claims("/oauth2/"+as, token)["aud"])

	w.post(at+"/credentials/lifecycle/keyRotate", `{"use":"sig"}`)
	w.claims("/oauth2/"+as, token)
	w.claims("/oauth2/"+as, ask("read").Value("access_token"))
	w.post(at+"/lifecycle/deactivate", "")
	for _, do := range []string{"POST /v1/token", "GET /v1/keys", "GET /.well-known/openid-configuration",
		"GET /.well-known/oauth-authorization-server", "POST /v1/introspect", "POST /v1/revoke"} {
		method, path, _ := strings.Cut(do, " ")
		w.refused(w.Do(t, method+" /oauth2/"+as+path, "", map[string]string{"Authorization": ""}), 400, "invalid_request")
	}
	require.Equal(t, 404, w.Do(t, "GET /oauth2/nobody/v1/keys", "", nil).Status)
}

func TestMetadata(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	w.post(servers+"/default/scopes", `{"name":"secret"}`)
	base := w.Server.URL
	w.Run(t,
		step{Do: "GET /oauth2/default/.well-known/oauth-authorization-server", Header: saved{"Authorization": ""}, Equal: values{
			"issuer": base + "/oauth2/default", "token_endpoint": base + "/oauth2/default/v1/token", "jwks_uri": base + "/oauth2/default/v1/keys",
			"introspection_endpoint": base + "/oauth2/default/v1/introspect", "revocation_endpoint": base + "/oauth2/default/v1/revoke",
			"registration_endpoint": base + "/oauth2/v1/clients",
			"scopes_supported.#":    7, "subject_types_supported.0": "public", "request_parameter_supported": false,
			"token_endpoint_auth_methods_supported.#": 4,
		}, Lacks: []string{"userinfo_endpoint", "authorization_endpoint"}},
		step{Do: "GET /oauth2/default/.well-known/openid-configuration", Equal: values{"id_token_signing_alg_values_supported.0": "RS256"},
			Has: []string{"authorization_endpoint"}, Lacks: []string{"userinfo_endpoint", "end_session_endpoint"}},
		step{Do: "GET /.well-known/oauth-authorization-server", Header: saved{"Authorization": ""},
			Equal: values{"issuer": base, "token_endpoint": base + "/oauth2/v1/token", "jwks_uri": base + "/oauth2/v1/keys",
				"grant_types_supported.#": 1, "introspection_endpoint": base + "/oauth2/v1/introspect",
				"revocation_endpoint": base + "/oauth2/v1/revoke"}},
		step{Do: "GET /.well-known/openid-configuration", Equal: values{"issuer": base}},
		step{Do: "GET /oauth2/v1/keys", Header: saved{"Authorization": ""},
			Equal: values{"keys.#": 2, "keys.0.kty": "RSA", "keys.0.alg": "RS256"}, Lacks: []string{"keys.0.d"}},
		step{Do: "GET /oauth2/default/v1/keys", Equal: values{"keys.#": 2}},
	)
	provider, err := oidc.NewProvider(t.Context(), base)
	require.NoError(t, err)
	require.Equal(t, base+"/oauth2/v1/token", provider.Endpoint().TokenURL)
}

// grantScopes grants scopes of the management API to a client.
func (w *world) grantScopes(client string, scopes ...string) {
	w.t.Helper()
	err := w.Store.Update(w.t.Context(), func(tx *docstore.Tx) error {
		for _, scope := range scopes {
			if _, err := w.Model.AppGrants.Insert(w.t.Context(), tx, model.NewID(model.KindGrant),
				model.AppGrant{AppID: client, ScopeID: scope}); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(w.t, err)
}

// Proves A-api-06, A-api-07, B-api-02.
func TestOrgTokens_AccessManagementAPI(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	id, secret := w.client("")
	w.refused(w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "svc.users.read"), 400,
		"invalid_scope")
	w.grantScopes(id, "svc.users.manage", "svc.groups.read")
	w.refused(w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "svc.users.manage svc.logs.read"),
		400, "invalid_scope")
	w.refused(w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials"), 400, "invalid_scope")
	w.refused(w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "password"), 400, "unsupported_grant_type")
	// Parameters may be in the query.
	a := w.form("/oauth2/v1/token?grant_type=client_credentials&scope=svc.users.manage+svc.groups.read", basic(id, secret))
	require.Equal(t, 200, a.Status, "%s", a.Body)
	require.Equal(t, "3600", a.Value("expires_in"))
	token := a.Value("access_token")
	says := w.claims("", token)
	require.Equal(t, w.Server.URL, says["aud"])
	require.Equal(t, []any{"svc.users.manage", "svc.groups.read"}, says["scp"])

	bearer := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
	w.Run(t,
		step{Name: "manage implies read", Do: "GET /api/v1/users", Header: bearer(token)},
		step{Do: "POST /api/v1/users", Header: bearer(token),
			Body: `{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"A","lastName":"B"}}`},
		step{Do: "GET /api/v1/logs?filter=eventType+eq+%22user.lifecycle.create%22",
			Equal: values{"0.actor.id": id, "0.actor.type": "PublicClientApp", "0.actor.displayName": "Robot"}},
		step{Do: "GET /api/v1/groups", Header: bearer(token)},
		step{Name: "read does not imply manage", Do: "POST /api/v1/groups", Header: bearer(token), Body: `{"profile":{"name":"G"}}`, Status: 403,
			Code: "E0000006", Then: func(t *testing.T, a *apitest.Answer) {
				require.Contains(t, a.Header.Get("WWW-Authenticate"), `error="insufficient_scope", scope="svc.groups.manage"`)
				require.Equal(t, "Authorization: The access token lacks the scope svc.groups.manage", a.Value("errorCauses.0.errorSummary"))
			}},
		step{Do: "GET /api/v1/logs", Header: bearer(token), Status: 403, Code: "E0000006"},
		step{Name: "the response names the missing scopes", Do: "GET /api/v1/apps/a/group-push/mappings", Header: bearer(token), Status: 403,
			Code: "E0000006", Equal: values{"errorCauses.0.errorSummary": "Authorization: The access token lacks the scope svc.apps.read"}},
		step{Do: "POST /api/v1/apps/a/group-push/mappings", Header: bearer(token), Body: `{}`, Status: 403, Code: "E0000006",
			Equal: values{"errorCauses.0.errorSummary": "Authorization: The access token lacks the scopes svc.apps.manage, svc.groups.manage"}},
		step{Name: "a client cannot use me", Do: "GET /api/v1/users/me", Header: bearer(token), Status: 404, Code: "E0000007"},
	)
	invalid := func(name, token string) step {
		return step{Name: name, Do: "GET /api/v1/users", Header: bearer(token), Status: 401, Code: "E0000011",
			Then: func(t *testing.T, a *apitest.Answer) {
				require.Contains(t, a.Header.Get("WWW-Authenticate"), `Bearer error="invalid_token"`)
			}}
	}
	w.post(servers+"/default/scopes", `{"name":"svcx"}`)
	custom := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "svcx").Value("access_token")
	require.NotEmpty(t, custom)
	parts := strings.Split(token, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	// A token with an HMAC whose secret is the public key: a verifier that trusts the algorithm in the header would accept it.
	key := w.Do(t, "GET /oauth2/v1/keys", "", nil).Value("keys.0.n")
	confused, err := jwt.NewWithClaims(jwt.SigningMethodHS256, says).SignedString([]byte(key))
	require.NoError(t, err)
	forged := jwt.NewWithClaims(jwt.SigningMethodRS256, says)
	forged.Header["kid"] = w.Do(t, "GET /oauth2/v1/keys", "", nil).Value("keys.0.kid")
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	foreign, err := forged.SignedString(own)
	require.NoError(t, err)
	w.Run(t,
		invalid("empty", ""), invalid("no token", "abc"), invalid("of a custom server", custom), invalid("alg none", none),
		invalid("key confusion", confused), invalid("forged", foreign),
		invalid("cut", strings.Join(parts[:2], ".")), invalid("changed", parts[0]+"."+parts[1]+"x."+parts[2]),
		invalid("long", strings.Repeat("a", 40000)),
	)
	require.NoError(t, w.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		_, err := w.Model.AppGrants.DeleteWhere(t.Context(), tx, docstore.Eq(model.AppGrantByScope, docstore.JoinID(id, "svc.groups.read")))
		return err
	}))
	w.Run(t, step{Name: "a revoked grant", Do: "GET /api/v1/groups", Header: bearer(token), Status: 403, Code: "E0000006"})
	w.Clock.Advance(time.Hour)
	w.Run(t, invalid("expired", token))
	fresh := w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope",
		"svc.users.manage").Value("access_token")
	w.Run(t,
		step{Do: "GET /api/v1/users", Header: bearer(fresh)},
		step{Do: "POST /api/v1/apps/" + id + "/lifecycle/deactivate"},
		invalid("of an inactive client", fresh),
	)
	w.refused(w.form("/oauth2/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "svc.users.manage"), 401,
		"invalid_client")
}

// TestClient_AuthenticationMethod verifies that a client authenticates only with its registered method.
func TestClient_AuthenticationMethod(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	w.post(servers+"/default/scopes", `{"name":"s","default":true}`)
	basicID, basicSecret := w.client("")
	postID, postSecret := w.client(`,"token_endpoint_auth_method":"client_secret_post"`)
	grant := []string{"grant_type", "client_credentials"}
	ask := func(header map[string]string, more ...string) *apitest.Answer {
		return w.form("/oauth2/default/v1/token", header, append(more, grant...)...)
	}
	require.Equal(t, 200, ask(basic(basicID, basicSecret)).Status)
	require.Equal(t, 200, ask(basic(basicID, basicSecret), "client_id", basicID).Status)
	require.Equal(t, 200, ask(nil, "client_id", postID, "client_secret", postSecret).Status)
	unauthorized := ask(basic(basicID, "wrong"))
	w.refused(unauthorized, 401, "invalid_client")
	require.Contains(t, unauthorized.Header.Get("WWW-Authenticate"), "Basic")
	w.refused(ask(basic("nobody", "wrong")), 401, "invalid_client")
	w.refused(ask(basic(postID, postSecret)), 401, "invalid_client")
	w.refused(ask(map[string]string{"Authorization": "Basic %"}), 401, "invalid_client")
	w.refused(ask(basic(basicID, basicSecret), "client_id", postID), 401, "invalid_client")
	w.refused(ask(nil, "client_id", postID, "client_secret", "wrong"), 400, "invalid_client")
	w.refused(ask(nil, "client_id", basicID, "client_secret", basicSecret), 400, "invalid_client")
	w.refused(ask(nil, "client_id", basicID), 400, "invalid_client")
	w.refused(ask(nil), 400, "invalid_client")
	w.refused(ask(basic(basicID, basicSecret), "client_secret", basicSecret), 400, "invalid_request")
	w.refused(ask(nil, "client_id", postID, "client_assertion", "x"), 400, "invalid_request")
	w.refused(ask(map[string]string{"Authorization": basic(basicID, basicSecret)["Authorization"], "Content-Type": "application/json"}), 400,
		"invalid_request")
	require.NotContains(t, w.Log.String(), basicSecret)
}

// refusals returns the log entries about tokens that the org server did not issue.
func (w *world) refusals() []any {
	w.t.Helper()
	list, ok := w.Do(w.t, "GET /api/v1/logs?limit=1000&filter=eventType+eq+%22app.oauth2.token.grant%22+and+outcome.result+eq+%22FAILURE%22",
		"", nil).JSON.([]any)
	require.True(w.t, ok)
	return list
}

func TestPrivateKeyJWT(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: &private.PublicKey, KeyID: "one", Use: "sig"}, {Key: &curve.PublicKey, KeyID: "two", Use: "sig", Algorithm: "ES256"},
	}})
	require.NoError(t, err)
	id, secret := w.client(`,"token_endpoint_auth_method":"private_key_jwt","jwks":` + string(set))
	require.Empty(t, secret)
	w.grantScopes(id, "svc.users.read")
	endpoint := w.Server.URL + "/oauth2/v1/token"
	now := w.Clock.Now()
	type claims = jwt.MapClaims
	good := func(change claims) claims {
		out := claims{"iss": id, "sub": id, "aud": endpoint, "exp": now.Add(time.Minute).Unix()}
		maps.Copy(out, change)
		maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
		return out
	}
	sign := func(method jwt.SigningMethod, key any, kid string, says claims) string {
		token := jwt.NewWithClaims(method, says)
		if kid != "" {
			token.Header["kid"] = kid
		}
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	ask := func(assertion string, more ...string) *apitest.Answer {
		return w.form("/oauth2/v1/token", nil, append(more, "grant_type", "client_credentials", "scope", "svc.users.read",
			"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion", assertion)...)
	}
	for name, assertion := range map[string]string{
		"RS256 with its kid":    sign(jwt.SigningMethodRS256, private, "one", good(nil)),
		"any key without a kid": sign(jwt.SigningMethodRS256, private, "", good(nil)),
		"ES256":                 sign(jwt.SigningMethodES256, curve, "two", good(nil)),
		"ES256 without a kid":   sign(jwt.SigningMethodES256, curve, "", good(nil)),
		"for the issuer":        sign(jwt.SigningMethodRS256, private, "one", good(claims{"aud": w.Server.URL})),
		"several audiences":     sign(jwt.SigningMethodRS256, private, "one", good(claims{"aud": []string{"x", endpoint}})),
		"exactly one hour":      sign(jwt.SigningMethodRS256, private, "one", good(claims{"exp": now.Add(time.Hour).Unix()})),
		"a minute of skew":      sign(jwt.SigningMethodRS256, private, "one", good(claims{"exp": now.Add(-59 * time.Second).Unix()})),
	} {
		a := ask(assertion)
		require.Equal(t, 200, a.Status, "%s: %s", name, a.Body)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	others, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &other.PublicKey, KeyID: "other", Use: "sig"}}})
	require.NoError(t, err)
	otherID, _ := w.client(`,"token_endpoint_auth_method":"private_key_jwt","jwks":` + string(others))
	w.grantScopes(otherID, "svc.users.read")
	// extended returns an assertion with an additional header member.
	extended := func(key *rsa.PrivateKey, member string, value any) string {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, good(nil))
		token.Header["kid"], token.Header[member] = "one", value
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	parts := strings.Split(sign(jwt.SigningMethodRS256, private, "one", good(nil)), ".")
	changed, err := json.Marshal(good(claims{"jti": "x"}))
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	require.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for name, assertion := range map[string]string{
		"signed by another key":  sign(jwt.SigningMethodRS256, other, "one", good(nil)),
		"the kid of another key": sign(jwt.SigningMethodRS256, private, "two", good(nil)),
		"an unknown kid":         sign(jwt.SigningMethodRS256, private, "three", good(nil)),
		"an unknown algorithm":   sign(jwt.SigningMethodPS256, private, "one", good(nil)),
		"alg none":               sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "one", good(nil)),
		"key confusion": sign(jwt.SigningMethodHS256, []byte(base64.RawURLEncoding.EncodeToString(private.N.Bytes())), "one",
			good(nil)),
		"key confusion with PEM": sign(jwt.SigningMethodHS256, public, "one", good(nil)),
		"key confusion with DER": sign(jwt.SigningMethodHS256, der, "", good(nil)),
		"for another audience":   sign(jwt.SigningMethodRS256, private, "one", good(claims{"aud": "https://elsewhere.example"})),
		"for no audience":        sign(jwt.SigningMethodRS256, private, "one", good(claims{"aud": nil})),
		"of another issuer":      sign(jwt.SigningMethodRS256, private, "one", good(claims{"iss": "me"})),
		"of another subject":     sign(jwt.SigningMethodRS256, private, "one", good(claims{"sub": "me"})),
		"of an unknown client":   sign(jwt.SigningMethodRS256, private, "one", good(claims{"sub": "me", "iss": "me"})),
		"without exp":            sign(jwt.SigningMethodRS256, private, "one", good(claims{"exp": nil})),
		"expired":                sign(jwt.SigningMethodRS256, private, "one", good(claims{"exp": now.Add(-61 * time.Second).Unix()})),
		"too long": sign(jwt.SigningMethodRS256, private, "one",
			good(claims{"exp": now.Add(time.Hour + 62*time.Second).Unix()})),
		"an exp that is not a number": sign(jwt.SigningMethodRS256, private, "one", good(claims{"exp": "tomorrow"})),
		"not valid yet":               sign(jwt.SigningMethodRS256, private, "one", good(claims{"nbf": now.Add(2 * time.Minute).Unix()})),
		"issued in the future":        sign(jwt.SigningMethodRS256, private, "one", good(claims{"iat": now.Add(2 * time.Minute).Unix()})),
		"no JWT":                      "abc",
		"nothing between dots":        "..",
		"without a signature":         parts[0] + "." + parts[1] + ".",
		"changed after signing":       parts[0] + "." + base64.RawURLEncoding.EncodeToString(changed) + "." + parts[2],
		"the key of another client, claimed as issuer": sign(jwt.SigningMethodRS256, private, "one",
			good(claims{"iss": otherID, "sub": otherID})),
		"the key and the kid of another client": sign(jwt.SigningMethodRS256, other, "other", good(nil)),
		"ES256 with the kid of the RSA key":     sign(jwt.SigningMethodES256, curve, "one", good(nil)),
		"with its key in the header":            extended(other, "jwk", jose.JSONWebKey{Key: &other.PublicKey}),
		"with a critical extension":             extended(private, "crit", []string{"x"}),
		"an exp that is not a valid time":       sign(jwt.SigningMethodRS256, private, "one", good(claims{"exp": 1e300})),
		"an nbf that is not a valid time":       sign(jwt.SigningMethodRS256, private, "one", good(claims{"nbf": 1e300})),
		"an iat that is not a valid time":       sign(jwt.SigningMethodRS256, private, "one", good(claims{"iat": 1e300})),
		"a jti that is too long": sign(jwt.SigningMethodRS256, private, "one",
			good(claims{"jti": strings.Repeat("x", 256)})),
		"a jti that is not a string": sign(jwt.SigningMethodRS256, private, "one", good(claims{"jti": 7})),
		"huge, within the size limit": sign(jwt.SigningMethodRS256, private, "one",
			good(claims{"aud": strings.Repeat("x", 23000)})),
		"huge, above the size limit": sign(jwt.SigningMethodRS256, private, "one",
			good(claims{"x": strings.Repeat("x", 40000)})),
	} {
		status, code := 401, "invalid_client"
		if len(assertion) > 32<<10 {
			status, code = 400, "invalid_request"
		}
		before := len(w.refusals())
		a := ask(assertion)
		require.Equal(t, status, a.Status, "%s: %s", name, a.Body)
		require.Equal(t, code, a.Value("error"), name)
		if status == 401 {
			require.Len(t, w.refusals(), before+1, "%s is logged", name)
		}
	}
	count, err := w.Model.UsedTokens.Count(t.Context(), w.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, count, "no jti is stored")
	once := sign(jwt.SigningMethodRS256, private, "one", good(claims{"jti": "1", "exp": now.Add(time.Hour).Unix()}))
	require.Equal(t, 200, ask(once).Status)
	w.refused(ask(once), 401, "invalid_client")
	w.Clock.Advance(59 * time.Minute)
	w.refused(ask(once), 401, "invalid_client")
	now = w.Clock.Now()
	w.refused(ask(sign(jwt.SigningMethodRS256, private, "one", good(nil)), "client_id", "other"), 401, "invalid_client")
	require.Equal(t, 200, ask(sign(jwt.SigningMethodRS256, private, "one", good(nil)), "client_id", id).Status)
	log := w.Do(t, "GET /api/v1/logs?filter=outcome.result+eq+%22FAILURE%22&limit=1000", "", nil)
	require.Contains(t, string(log.Body), "was already used")
	require.NotContains(t, string(log.Body), once)
}
