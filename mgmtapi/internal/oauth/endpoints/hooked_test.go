package endpoints_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// hookedWorld is a world that trusts the certificate of the hook endpoint.
func hookedWorld(t *testing.T, db *sqldb.DB, timeout time.Duration) (*world, *hookstest.Endpoint) {
	t.Helper()
	endpoint := hookstest.New(t)
	w := &world{apitest.New(t, db, func(o *assembly.Options) { o.Hooks = calls.Network{CA: endpoint.CA, Timeout: timeout} }), t}
	t.Cleanup(w.API.CloseIdleConnections)
	return w, endpoint
}

// hook registers an inline hook and returns its id.
func (w *world) hook(kind, uri string) string {
	w.t.Helper()
	return w.post("/api/v1/inlineHooks", fmt.Sprintf(
		`{"name":%q,"type":%[1]q,"version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0","config":{"uri":%q,`+
			`"authScheme":{"type":"HEADER","key":"X-Key","value":"the-key"}}}}`, kind, uri)).Value("id")
}

// Proves A-events-01, A-events-17, A-events-21, A-events-22, A-events-23, A-hooks-31.
func TestTokenHook_ChangesTokens(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w, endpoint := hookedWorld(t, db, 0)
		user := w.user("ann")
		id, secret := w.app()
		w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
		hook := w.hook("com.svc.oauth2.tokens.transform", endpoint.URL)
		other := w.hook("com.svc.user.credential.password.import", endpoint.URL)
		policy := w.Do(t, "GET "+servers+"/default/policies", "", nil).Value("0.id")
		rules := servers + "/default/policies/" + policy + "/rules"
		rule := w.Do(t, "GET "+rules, "", nil).Value("0.id")
		body := func(hook string) string {
			return fmt.Sprintf(`{"type":"RESOURCE_ACCESS","name":"hooked","conditions":{"people":{"groups":{"include":["EVERYONE"]}},`+
				`"grantTypes":{"include":["password"]},"scopes":{"include":["*"]}},"actions":{"token":{"inlineHook":{"id":%q}}}}`, hook)
		}
		w.Run(t,
			step{Name: "a hook of another type", Do: "PUT " + rules + "/" + rule, Body: body(other), Status: 400, Code: "E0000001",
				Causes: []string{"actions.token.inlineHook.id: "}},
			step{Do: "PUT " + rules + "/" + rule, Body: body(hook), Equal: values{"actions.token.inlineHook.id": hook}},
		)
		ask := func() *apitest.Answer {
			a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann@example.com", "password", password,
				"scope", "openid email")
			require.Equal(t, 200, a.Status, "%s", a.Body)
			return a
		}
		plain := ask()
		require.NotContains(t, w.claims("/oauth2/default", plain.Value("access_token")), "team")
		require.Equal(t, "3600", plain.Value("expires_in"))

		endpoint.Answer(hookstest.JSON(200, `{"commands":[
			{"type":"com.svc.access.patch","value":[{"op":"add","path":"/claims/team","value":{"name":"red"}},
				{"op":"replace","path":"/token/lifetime/expiration","value":600}]},
			{"type":"com.svc.identity.patch","value":[{"op":"replace","path":"/claims/email","value":"a@example.org"}]}]}`))
		a := ask()
		access, identity := w.claims("/oauth2/default", a.Value("access_token")), w.claims("/oauth2/default", a.Value("id_token"))
		require.Equal(t, map[string]any{"name": "red"}, access["team"])
		require.Equal(t, user, access["uid"])
		require.Equal(t, access["iat"].(float64)+600, access["exp"])
		require.Equal(t, "600", a.Value("expires_in"))
		require.Equal(t, "a@example.org", identity["email"])
		require.NotEmpty(t, identity["at_hash"])
		call := endpoint.Called(1)[0]
		require.Equal(t, "the-key", call.Header.Get("X-Key"))
		var told struct {
			Data struct {
				Context struct {
					Protocol struct {
						Issuer struct{ URI string }
						Client struct{ ID string }
					}
					User   struct{ ID string }
					Policy struct {
						ID   string
						Rule struct{ ID string }
					}
				}
				Access struct{ Scopes map[string]any }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(call.Body), &told))
		about := told.Data.Context
		require.Equal(t, []string{w.Server.URL + "/oauth2/default", id, user, policy, rule},
			[]string{about.Protocol.Issuer.URI, about.Protocol.Client.ID, about.User.ID, about.Policy.ID, about.Policy.Rule.ID})
		require.Len(t, told.Data.Access.Scopes, 2)
		require.NotContains(t, call.Body, password)

		endpoint.Answer(hookstest.JSON(200, `{"commands":[{"type":"com.svc.access.patch","value":[{"op":"add","path":"/claims/team",`+
			`"value":1},{"op":"replace","path":"/claims/scp","value":["all"]}]}]}`))
		a = ask()
		access = w.claims("/oauth2/default", a.Value("access_token"))
		require.NotContains(t, access, "team", "no command is applied")
		require.Equal(t, []any{"openid", "email"}, access["scp"])
		w.Run(t, step{Do: "GET /api/v1/logs?filter=outcome.reason+co+%22the+claim+scp+cannot+be+changed%22", Equal: values{"#": 1}})

		require.Equal(t, 200, w.Do(t, "POST /api/v1/inlineHooks/"+hook+"/lifecycle/deactivate", "", nil).Status)
		endpoint.Answer(hookstest.JSON(500, ""))
		ask()
		endpoint.Called(0)
	})
}

func TestPasswordGrant_CallsPasswordHook(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w, endpoint := hookedWorld(t, db, 0)
		w.hook("com.svc.user.credential.password.import", endpoint.URL)
		user := w.post("/api/v1/users",
			`{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"Ann","lastName":"Archer"},`+
				`"credentials":{"password":{"hook":{"type":"default"}}}}`).Value("id")
		id, secret := w.app()
		w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
		ask := func() *apitest.Answer {
			return w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann@example.com", "password",
				password, "scope", "openid")
		}
		endpoint.Answer(hookstest.JSON(500, ""))
		for range 12 { // no password is verified during an outage of the hook, so the user is not locked out
			w.refused(ask(), 400, "invalid_grant")
		}
		verdict := func(credential string) {
			endpoint.Answer(
				hookstest.JSON(200, fmt.Sprintf(`{"commands":[{"type":"com.svc.action.update","value":{"credential":%q}}]}`, credential)))
		}
		verdict("UNVERIFIED")
		w.refused(ask(), 400, "invalid_grant")
		endpoint.Called(1)
		verdict("VERIFIED")
		require.Equal(t, 200, ask().Status)
		require.Equal(t, 200, ask().Status)
		// the first sign-in has stored the hash of the password in this service, so the second one does not call the hook
		endpoint.Called(1)
	})
}

// TestTokenHook_TokensAlwaysIssued verifies that the server issues tokens even if the hook fails or its response is invalid.
func TestTokenHook_TokensAlwaysIssued(t *testing.T) {
	const (
		add    = `{"op":"add","path":"/claims/team","value":"red"}`
		failed = "the hook endpoint answered with "
	)
	commands := func(patches string) string {
		return `{"commands":[{"type":"com.svc.access.patch","value":[` + patches + `]}]}`
	}
	again := 0
	cases := map[string]struct {
		answer   http.HandlerFunc
		attempts string
		executed string // cause of a failed call, empty for success
		refused  string // cause of a rejected response, empty for success
		status   string
	}{
		"silence":          {hookstest.Hang, "2", "the hook endpoint did not answer within 200ms (attempts: 2)", "", "0"},
		"an endless body":  {hookstest.Endless(200), "2", failed + "more than 262144 bytes (attempts: 2)", "", "200"},
		"an endless error": {hookstest.Endless(503), "2", failed + "503 Service Unavailable (attempts: 2)", "", "503"},
		"HTML":             {hookstest.JSON(200, "<html>hello</html>"), "2", failed + "a body that is not JSON (attempts: 2)", "", "200"},
		"an error":         {hookstest.JSON(500, commands(add)), "2", failed + "500 Internal Server Error (attempts: 2)", "", "500"},
		"a redirect": {http.RedirectHandler("https://elsewhere.example", http.StatusFound).ServeHTTP, "2",
			failed + "302 Found (attempts: 2)", "", "302"},
		"a forbidden claim": {hookstest.JSON(200, commands(add+`,{"op":"replace","path":"/claims/sub","value":"root"}`)), "1", "",
			"the claim sub cannot be changed", "200"},
		"a forbidden scope": {hookstest.JSON(200, commands(add+`,{"op":"add","path":"/claims/scp/-","value":"admin"}`)), "1", "",
			"the claim scp cannot be changed", "200"},
		"a longer lifetime": {hookstest.JSON(200, commands(add+`,{"op":"replace","path":"/token/lifetime/expiration","value":86401}`)), "1", "",
			"a lifetime must be between 300 and 86400 seconds", "200"},
		"too many claims": {hookstest.JSON(200, commands(add+fmt.Sprintf(`,{"op":"add","path":"/claims/x","value":"%016400d"}`, 0))), "1", "",
			"the claims of the token would have more than 16384 bytes", "200"},
		"an unknown command": {hookstest.JSON(200, `{"commands":[{"type":"com.svc.action.update","value":{}}]}`), "1", "",
			`"com.svc.action.update" is not a command for tokens`, "200"},
		"a list": {hookstest.JSON(200, `[]`), "1", "", "it is not a JSON object", "200"},
		"an error and then the right answer": {func(rw http.ResponseWriter, r *http.Request) {
			status := 500
			if again++; again == 2 {
				status = 200
			}
			hookstest.JSON(status, commands(add))(rw, r)
		}, "2", "", "", "200"},
	}
	// The test does not depend on durations: a silent endpoint hangs until the client disconnects; other endpoints have a timeout of one
	// minute.
	for _, silent := range []bool{true, false} {
		timeout := time.Minute
		if silent {
			timeout = 200 * time.Millisecond
		}
		w, endpoint := hookedWorld(t, sqldbtest.SQLite(t), timeout)
		id, secret := w.client("")
		w.post(servers+"/default/scopes", `{"name":"s"}`)
		hook := w.hook("com.svc.oauth2.tokens.transform", endpoint.URL)
		rules := servers + "/default/policies/" + w.Do(t, "GET "+servers+"/default/policies", "", nil).Value("0.id") + "/rules"
		w.Run(t, step{Do: "PUT " + rules + "/" + w.Do(t, "GET "+rules, "", nil).Value("0.id"), Body: fmt.Sprintf(
			`{"name":"hooked","conditions":{"grantTypes":{"include":["client_credentials"]},"scopes":{"include":["*"]}},`+
				`"actions":{"token":{"inlineHook":{"id":%q}}}}`, hook)})
		newest := func(event string) *apitest.Answer {
			return w.Do(t, "GET /api/v1/logs?sortOrder=DESCENDING&limit=1&filter=eventType+eq+%22"+event+"%22", "", nil)
		}
		for name, c := range cases {
			if (name == "silence") != silent {
				continue
			}
			t.Run(name, func(t *testing.T) {
				endpoint.Answer(c.answer)
				a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "client_credentials", "scope", "s")
				require.Equal(t, 200, a.Status, "%s", a.Body)
				require.Equal(t, "3600", a.Value("expires_in"))
				says := w.claims("/oauth2/default", a.Value("access_token"))
				for claim, want := range map[string]any{"sub": id, "scp": []any{"s"}, "aud": "api://default"} {
					require.Equal(t, want, says[claim], claim)
				}
				good := c.executed == "" && c.refused == ""
				require.Equal(t, good, says["team"] == "red")
				require.NotContains(t, says, "x")
				require.Equal(t, c.attempts, fmt.Sprint(len(endpoint.Calls())))

				executed := newest("inline_hook.executed")
				require.Equal(t, hook, executed.Value("0.target.0.id"))
				require.Equal(t, id, executed.Value("0.target.1.id"))
				require.Equal(t, c.attempts, executed.Value("0.debugContext.debugData.attempts"))
				require.Equal(t, c.status, executed.Value("0.debugContext.debugData.status"))
				require.Equal(t, c.executed, executed.Value("0.outcome.reason"))
				if c.executed == "" {
					processed := newest("inline_hook.response.processed").Value("0.outcome.reason")
					if c.refused == "" {
						require.Empty(t, processed)
					} else {
						require.Equal(t, "invalid response of the hook: "+c.refused, processed)
					}
				}
				require.Equal(t, good, newest("app.oauth2.as.token.grant").Value("0.debugContext.debugData.inlineHookProblem") == "")
			})
		}
	}
}
