package oauth_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/apitest"
	"github.com/scimwright/scimwright/mgmtapi/hooks"
	"github.com/scimwright/scimwright/mgmtapi/hooks/hookstest"
)

// hookedWorld is a world that trusts the endpoint of a hook.
func hookedWorld(t *testing.T, db *sqldb.DB) (*world, *hookstest.Endpoint) {
	t.Helper()
	endpoint := hookstest.New(t)
	w := &world{apitest.New(t, db, func(o *mgmtapi.Options) { o.Hooks = hooks.Network{CA: endpoint.CA} }), t}
	t.Cleanup(w.API.CloseIdleConnections)
	return w, endpoint
}

// hook registers an inline hook and returns its id.
func (w *world) hook(kind, uri string) string {
	w.t.Helper()
	return w.post("/api/v1/inlineHooks", fmt.Sprintf(
		`{"name":%q,"type":%[1]q,"version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0","config":{"uri":%q,"authScheme":{"type":"HEADER","key":"X-Key","value":"the-key"}}}}`, kind, uri)).Value("id")
}

func TestAHookChangesTheTokensOfItsRule(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w, endpoint := hookedWorld(t, db)
		user := w.user("ann")
		id, secret := w.app()
		w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
		hook := w.hook("com.svc.oauth2.tokens.transform", endpoint.URL)
		other := w.hook("com.svc.user.credential.password.import", endpoint.URL)
		policy := w.Do(t, "GET "+servers+"/default/policies", "", nil).Value("0.id")
		rules := servers + "/default/policies/" + policy + "/rules"
		rule := w.Do(t, "GET "+rules, "", nil).Value("0.id")
		body := func(hook string) string {
			return fmt.Sprintf(`{"type":"RESOURCE_ACCESS","name":"hooked","conditions":{"people":{"groups":{"include":["EVERYONE"]}},"grantTypes":{"include":["password"]},"scopes":{"include":["*"]}},"actions":{"token":{"inlineHook":{"id":%q}}}}`, hook)
		}
		w.Run(t,
			step{Name: "a hook of another type", Do: "PUT " + rules + "/" + rule, Body: body(other), Status: 400, Code: "E0000001", Causes: []string{"actions.token.inlineHook.id: "}},
			step{Do: "PUT " + rules + "/" + rule, Body: body(hook), Equal: values{"actions.token.inlineHook.id": hook}},
		)
		ask := func() *apitest.Answer {
			a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann@example.com", "password", password, "scope", "openid email")
			require.Equal(t, 200, a.Status, "%s", a.Body)
			return a
		}
		plain := ask()
		require.NotContains(t, w.claims("/oauth2/default", plain.Value("access_token")), "team")
		require.Equal(t, "3600", plain.Value("expires_in"))

		endpoint.Answer(hookstest.JSON(200, `{"commands":[
			{"type":"com.svc.access.patch","value":[{"op":"add","path":"/claims/team","value":{"name":"red"}},{"op":"replace","path":"/token/lifetime/expiration","value":600}]},
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
		require.Equal(t, []string{w.Server.URL + "/oauth2/default", id, user, policy, rule}, []string{about.Protocol.Issuer.URI, about.Protocol.Client.ID, about.User.ID, about.Policy.ID, about.Policy.Rule.ID})
		require.Len(t, told.Data.Access.Scopes, 2)
		require.NotContains(t, call.Body, password)

		endpoint.Answer(hookstest.JSON(200, `{"commands":[{"type":"com.svc.access.patch","value":[{"op":"add","path":"/claims/team","value":1},{"op":"replace","path":"/claims/scp","value":["all"]}]}]}`))
		a = ask()
		access = w.claims("/oauth2/default", a.Value("access_token"))
		require.NotContains(t, access, "team", "nothing is done by halves")
		require.Equal(t, []any{"openid", "email"}, access["scp"])
		w.Run(t, step{Do: "GET /api/v1/logs?filter=outcome.reason+co+%22the+claim+scp+cannot+be+changed%22", Equal: values{"#": 1}})

		require.Equal(t, 200, w.Do(t, "POST /api/v1/inlineHooks/"+hook+"/lifecycle/deactivate", "", nil).Status)
		endpoint.Answer(hookstest.JSON(500, ""))
		ask()
		endpoint.Called(0)
	})
}

func TestAPasswordGrantAsksThePasswordHook(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w, endpoint := hookedWorld(t, db)
		w.hook("com.svc.user.credential.password.import", endpoint.URL)
		user := w.post("/api/v1/users", `{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"Ann","lastName":"Archer"},"credentials":{"password":{"hook":{"type":"default"}}}}`).Value("id")
		id, secret := w.app()
		w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
		ask := func() *apitest.Answer {
			return w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann@example.com", "password", password, "scope", "openid")
		}
		endpoint.Answer(hookstest.JSON(500, ""))
		for range 12 { // an outage locks nobody out
			w.refused(ask(), 400, "invalid_grant")
		}
		verdict := func(credential string) {
			endpoint.Answer(hookstest.JSON(200, fmt.Sprintf(`{"commands":[{"type":"com.svc.action.update","value":{"credential":%q}}]}`, credential)))
		}
		verdict("UNVERIFIED")
		w.refused(ask(), 400, "invalid_grant")
		endpoint.Called(1)
		verdict("VERIFIED")
		require.Equal(t, 200, ask().Status)
		require.Equal(t, 200, ask().Status)
		endpoint.Called(1) // the password was taken over
	})
}
