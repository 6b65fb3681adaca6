package slicetest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// writeBack reads a resource, sends it back as it was read, and expects the same resource.
func writeBack(t *testing.T, e *apitest.Env, path string) *apitest.Answer {
	t.Helper()
	read := e.Do(t, "GET "+path, "", nil)
	require.Equal(t, 200, read.Status, "%s", read.Body)
	written := e.Do(t, "PUT "+path, string(read.Body), nil)
	require.Equal(t, 200, written.Status, "%s", written.Body)
	plain := func(a *apitest.Answer) string {
		var object map[string]any
		require.NoError(t, json.Unmarshal(a.Body, &object))
		delete(object, "lastUpdated")
		text, err := json.Marshal(object)
		require.NoError(t, err)
		return string(text)
	}
	require.JSONEq(t, plain(read), plain(written))
	return written
}

func TestRule_HookDeleted(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		hook := func(name string) string {
			return fmt.Sprintf(
				`{"name":%q,"type":"com.svc.oauth2.tokens.transform","version":"1.0.0","channel":{"config":{"uri":"https://hooks.example.com"}}}`, name)
		}
		policies := servers + "/default/policies"
		saved := e.Run(t,
			serverStep{Do: "POST /api/v1/inlineHooks", Body: hook("one"), Save: serverSaved{"one": "id"}},
			serverStep{Do: "POST /api/v1/inlineHooks", Body: hook("two"), Save: serverSaved{"two": "id"}},
			serverStep{Do: "POST " + policies, Body: policyBody("P", all, ""), Status: 201, Save: serverSaved{"p": "id"}},
			serverStep{Do: "POST " + policies + "/{{p}}/rules", Body: ruleBody("R1", anything, `"inlineHook":{"id":"{{one}}"}`), Status: 201,
				Save: serverSaved{"r1": "id"}},
			serverStep{Do: "POST " + policies + "/{{p}}/rules", Body: ruleBody("R2", anything, `"inlineHook":{"id":"{{two}}"}`), Status: 201,
				Save: serverSaved{"r2": "id"}},
			serverStep{Do: "POST /api/v1/inlineHooks/{{one}}/lifecycle/deactivate"},
			serverStep{Name: "an inactive hook stays in the rule", Do: "GET " + policies + "/{{p}}/rules/{{r1}}",
				Equal: serverValues{"actions.token.inlineHook.id": "{{one}}"}},
			serverStep{Do: "DELETE /api/v1/inlineHooks/{{one}}", Status: 204},
			serverStep{Name: "a deleted one does not", Do: "GET " + policies + "/{{p}}/rules/{{r1}}", Lacks: []string{"actions.token.inlineHook"}},
			serverStep{Name: "nor does another one go", Do: "GET " + policies + "/{{p}}/rules/{{r2}}",
				Equal: serverValues{"actions.token.inlineHook.id": "{{two}}"}},
		)
		rules := policies + "/" + saved["p"] + "/rules/"
		writeBack(t, e, rules+saved["r1"])
		writeBack(t, e, rules+saved["r2"])
	})
}

func TestPolicy_LastClientDeleted(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		client := func(name string) (id, secret string) {
			a := e.Do(t, "POST /oauth2/v1/clients",
				fmt.Sprintf(`{"client_name":%q,"application_type":"service","grant_types":["client_credentials"],"response_types":["token"],`+
					`"token_endpoint_auth_method":"client_secret_post"}`, name), nil)
			require.Equal(t, 201, a.Status, "%s", a.Body)
			return a.Value("client_id"), a.Value("client_secret")
		}
		gone, _ := client("gone")
		id, secret := client("stays")
		policies := servers + "/default/policies"
		saved := e.Run(t,
			serverStep{Do: "GET " + policies, Save: serverSaved{"default": "0.id"}},
			serverStep{Do: "POST " + policies + "/{{default}}/lifecycle/deactivate", Status: 204},
			serverStep{Do: "POST " + servers + "/default/scopes", Body: `{"name":"orders"}`, Status: 201},
			serverStep{Do: "POST " + policies, Body: policyBody("P", fmt.Sprintf("%q", gone), ""), Status: 201, Save: serverSaved{"p": "id"}},
			serverStep{Do: "POST " + policies + "/{{p}}/rules", Body: ruleBody("R", anything, ""), Status: 201},
			serverStep{Do: "DELETE /oauth2/v1/clients/" + gone, Status: 204},
		)
		policy := policies + "/" + saved["p"]
		refused := func() {
			a := e.Do(t, "POST /oauth2/default/v1/token", "grant_type=client_credentials&scope=orders&client_id="+id+"&client_secret="+secret,
				map[string]string{"Authorization": "", "Content-Type": "application/x-www-form-urlencoded"})
			require.Equal(t, 400, a.Status, "%s", a.Body)
			require.Equal(t, "access_denied", a.Value("error"))
		}
		refused()
		require.Equal(t, "0", writeBack(t, e, policy).Value("conditions.clients.include.#"))
		refused()
	})
}
