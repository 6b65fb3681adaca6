package slicetest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// token requests an access token of a server for a new client that the policy of the server allows.
func token(t *testing.T, e *apitest.Env, server string) int {
	t.Helper()
	client := e.Do(t, "POST /oauth2/v1/clients", `{"client_name":"R","application_type":"service","grant_types":["client_credentials"],
		"response_types":["token"],"token_endpoint_auth_method":"client_secret_post"}`, nil)
	form := "grant_type=client_credentials&scope=s&client_id=" + client.Value("client_id") + "&client_secret=" +
		client.Value("client_secret")
	return e.Do(t, "POST /oauth2/"+server+"/v1/token", form,
		serverSaved{"Authorization": "", "Content-Type": "application/x-www-form-urlencoded"}).Status
}

// Proves A-servers-15, A-servers-22, A-servers-25, A-servers-26, A-servers-27, A-servers-28, A-servers-29, A-servers-52, A-api-03,
// A-api-04.
func TestServer_IssuerAndLinks(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	e.Run(t,
		serverStep{Do: "POST " + servers, Body: `{"name":"n","description":"d","audiences":["a"],"issuer":"https://x.example"}`, Status: 201,
			Save: serverSaved{"as": "id", "oauth": "_links.metadata.0.href", "oidc": "_links.metadata.1.href"}, Then: func(t *testing.T,
				a *apitest.Answer) {
				at := e.Server.URL + servers + "/" + a.Value("id")
				require.Equal(t, e.Server.URL+"/oauth2/"+a.Value("id"), a.Value("issuer"), "not what the client sent")
				require.Equal(t, "AUTO", a.Value("credentials.signing.rotationMode"))
				for link, want := range map[string][]any{
					"self": {"GET", "PUT", "DELETE"}, "scopes": {"GET"}, "claims": {"GET"}, "policies": {"GET"}, "rotateKey": {"POST"},
				} {
					found := a.JSON.(map[string]any)["_links"].(map[string]any)[link].(map[string]any)
					require.NotEmpty(t, found["href"], link)
					require.Subset(t, found["hints"].(map[string]any)["allow"], want, link)
				}
				require.Equal(t, at, a.Value("_links.self.href"))
				require.Equal(t, at+"/credentials/lifecycle/keyRotate", a.Value("_links.rotateKey.href"))
				for i, name := range []string{"oauth-authorization-server", "openid-configuration"} {
					link := fmt.Sprint("_links.metadata.", i)
					require.Equal(t, name, a.Value(link+".name"))
					require.Equal(t, e.Server.URL+"/oauth2/"+a.Value("id")+"/.well-known/"+name, a.Value(link+".href"))
					require.Equal(t, "GET", a.Value(link+".hints.allow.0"))
				}
			}},
		serverStep{Do: "GET {{oauth}}", Equal: serverValues{"issuer": e.Server.URL + "/oauth2/{{as}}"}},
		serverStep{Do: "GET {{oidc}}", Equal: serverValues{"issuer": e.Server.URL + "/oauth2/{{as}}"}},
		serverStep{Do: "PUT " + servers + "/{{as}}", Body: `{"name":"m","description":"e","audiences":["b"],"issuer":"https://x.example"}`,
			Equal: serverValues{"name": "m", "description": "e", "audiences.#": 1, "audiences.0": "b", "issuer": e.Server.URL +
				"/oauth2/{{as}}"}},
		serverStep{Do: "GET " + servers + "/{{as}}", Equal: serverValues{"name": "m", "description": "e", "audiences.0": "b"}},
	)
}

// Proves A-servers-39, A-servers-40, A-servers-42, A-servers-43.
func TestServer_UsableWhileActive(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	e.Run(t, serverStep{Do: "POST " + servers + "/default/scopes", Body: `{"name":"s"}`, Status: 201})
	require.Equal(t, http.StatusOK, token(t, e, "default"))
	e.Run(t, serverStep{Do: "POST " + servers + "/default/lifecycle/deactivate", Status: 204})
	require.Equal(t, http.StatusBadRequest, token(t, e, "default"))
	e.Run(t,
		serverStep{Do: "POST " + servers + "/default/lifecycle/activate", Status: 204},
		serverStep{Do: "GET " + servers + "/default", Equal: serverValues{"status": "ACTIVE"}},
	)
	require.Equal(t, http.StatusOK, token(t, e, "default"))
}

// Proves A-servers-48, A-servers-49.
func TestServerList_PageSize(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	for i := range 200 {
		require.Equal(t, 201, e.Do(t, "POST "+servers, fmt.Sprintf(`{"name":"n%d","description":"d","audiences":["a"]}`, i), nil).Status)
	}
	e.Run(t,
		serverStep{Name: "the default", Do: "GET " + servers, Equal: serverValues{"#": 200}, Has: []string{"link:next"}},
		serverStep{Name: "and the largest", Do: "GET " + servers + "?limit=201", Equal: serverValues{"#": 200}, Has: []string{"link:next"}},
	)
}

// Proves A-servers-04, A-policies-12, A-policies-13, A-policies-14, A-policies-15, A-policies-21.
func TestPolicy_SentBackAsRead(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	at := servers + "/default/policies"
	var read, rule string
	ids := e.Run(t,
		serverStep{Do: "POST " + at, Body: policyBody("P", all,
			`,"priority":1,"created":"2001-01-01T00:00:00.000Z","lastUpdated":"2001-01-01T00:00:00.000Z"`), Status: 201,
			Save: serverSaved{"p": "id"}, Equal: serverValues{"created": serverHour, "lastUpdated": serverHour},
			Then: func(t *testing.T, a *apitest.Answer) {
				read = string(a.Body)
				for link, want := range map[string][]any{"self": {"GET", "PUT", "DELETE"}, "deactivate": {"POST"}, "rules": {"GET"}} {
					found := a.JSON.(map[string]any)["_links"].(map[string]any)[link].(map[string]any)
					require.Subset(t, found["hints"].(map[string]any)["allow"], want, link)
				}
			}},
	)
	e.Clock.Advance(time.Hour)
	later := "2026-03-04T06:06:07.000Z"
	e.Run(t,
		serverStep{Do: "PUT " + at + "/" + ids["p"], Body: read, Equal: serverValues{"id": ids["p"], "name": "P", "description": "d",
			"priority": 1, "created": serverHour}},
		serverStep{Do: "PUT " + at + "/" + ids["p"], Body: `{"type":"OAUTH_AUTHORIZATION_POLICY","id":"` + ids["p"] +
			`","status":"ACTIVE","name":"Q","description":"e",
			"priority":2,"system":false,"conditions":{"clients":{"include":["ALL_CLIENTS"]}}}`,
			Equal: serverValues{"name": "Q", "description": "e", "priority": 2, "status": "ACTIVE", "system": false, "created": serverHour,
				"lastUpdated": later}},
		serverStep{Do: "GET " + at, Equal: serverValues{"0.system": true, "1.id": ids["p"]}, Save: serverSaved{"system": "0.id"},
			Then: func(t *testing.T, a *apitest.Answer) {
				rule = at + "/" + a.Value("0.id") + "/rules"
			}},
	)
	e.Run(t,
		serverStep{Name: "the rule of the pre-configured server", Do: "GET " + rule, Equal: serverValues{"#": 1}, Then: func(t *testing.T,
			a *apitest.Answer) {
			rule += "/" + a.Value("0.id")
		}},
	)
	e.Run(t, serverStep{Do: "PUT " + rule, Body: ruleBody("Mine", anything, `"accessTokenLifetimeMinutes":5`),
		Equal: serverValues{"name": "Mine", "actions.token.accessTokenLifetimeMinutes": 5}})
	policy := at + "/" + e.Do(t, "GET "+at, "", nil).Value("0.id")
	e.Run(t, serverStep{Name: "and its policy", Do: "PUT " + policy, Body: policyBody("Mine", all, `,"priority":1,"id":"`+e.Do(t,
		"GET "+policy, "", nil).Value("id")+`"`),
		Equal: serverValues{"name": "Mine", "system": true}})
}

// Proves A-policies-10.
func TestPolicy_AppliesToItsClients(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	at := servers + "/default/policies"
	system := e.Do(t, "GET "+at, "", nil).Value("0.id")
	client := func() (id, form string) {
		a := e.Do(t, "POST /oauth2/v1/clients", `{"client_name":"R","application_type":"service","grant_types":["client_credentials"],
			"response_types":["token"],"token_endpoint_auth_method":"client_secret_post"}`, nil)
		id = a.Value("client_id")
		return id, "grant_type=client_credentials&scope=s&client_id=" + id + "&client_secret=" + a.Value("client_secret")
	}
	one, oneForm := client()
	_, otherForm := client()
	e.Run(t,
		serverStep{Do: "POST " + servers + "/default/scopes", Body: `{"name":"s"}`, Status: 201},
		serverStep{Do: "PUT " + at + "/" + system, Body: policyBody("Mine", `"`+one+`"`, `,"priority":1,"id":"`+system+`"`),
			Equal: serverValues{"conditions.clients.include.0": one}},
	)
	header := serverSaved{"Authorization": "", "Content-Type": "application/x-www-form-urlencoded"}
	require.Equal(t, http.StatusOK, e.Do(t, "POST /oauth2/default/v1/token", oneForm, header).Status)
	require.Equal(t, "access_denied", e.Do(t, "POST /oauth2/default/v1/token", otherForm, header).Value("error"))
}
