package mgmtapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
)

// The deletion of an object in use is rejected with the code of the error table and does not change stored data. The log shows the caller
// and the object.
func TestDeletion_RejectedWhileInUse(t *testing.T) {
	w := newOrganization(t)
	w.seed(t, "GET /api/v1/iam/assignees/users", "", "org", "value.0.orn")
	w.ids["org"] = strings.Split(w.ids["org"], ":")[3]
	w.seed(t, "GET /api/v1/users/me", "", "me", "id")
	w.seed(t, "GET /api/v1/users/me/roles", "", "myrole", "0.id")
	w.seed(t, "POST /api/v1/users", `{"profile":{"login":"bob@example.com","email":"bob@example.com","firstName":"Bob","lastName":"Member"}}`,
		"bob", "id")
	w.seed(t, "PUT /api/v1/groups/{group}/users/{bob}", "", "", "")
	w.seed(t, "POST /api/v1/users",
		`{"profile":{"login":"guest@example.com","email":"guest@example.com","firstName":"G","lastName":"Uest"},"type":{"id":"{type}"}}`, "", "")
	w.seed(t, "PUT /api/v1/users/{user}/roles/{userrole}/targets/groups/{group}", "", "", "")
	w.seed(t, "PUT /oauth2/v1/clients/{client}/roles/{clientrole}/targets/catalog/apps/scim2_test_app", "", "", "")
	w.seed(t, "POST /api/v1/groups", `{"profile":{"name":"Excluded"}}`, "excluded", "id")
	w.seed(t, "POST /api/v1/iam/resource-sets/{set}/resources",
		`{"resourceOrnOrUrl":"/api/v1/users",`+
			`"conditions":{"Exclude":{"svc:ORN":["orn:svc:directory:{org}:groups:{excluded}:contained_resources"]}}}`, "", "")
	w.seed(t, "POST /api/v1/groups/rules",
		`{"type":"group_rule","name":"Runs","conditions":{"expression":{"type":"urn:svc:expression:1.0","value":"user.lastName==\"Nobody\""}},`+
			`"actions":{"assignUserToGroups":{"groupIds":["{excluded}"]}}}`, "running", "id")
	w.seed(t, "POST /api/v1/groups/rules/{running}/lifecycle/activate", "", "", "")
	w.seed(t, "GET /api/v1/groups?filter=type+eq+%22BUILT_IN%22", "", "everyone", "0.id")
	w.seed(t, "GET /api/v1/meta/types/user", "", "standardtype", "0.id")
	w.seed(t, "POST /api/v1/inlineHooks",
		`{"name":"Signed","type":"com.svc.oauth2.tokens.transform","version":"1.0.0","channel":{"type":"OAUTH","version":"1.0.0",`+
			`"config":{"uri":"https://hooks.example.com","clientId":"c","tokenUrl":"https://hooks.example.com/token",`+
			`"authType":"private_key_jwt","hookKeyId":"{hookkey}"}}}`, "", "")
	const server = "/api/v1/authorizationServers/"
	w.seed(t, "GET "+server+"default", "", "standardserver", "id")
	w.seed(t, "POST "+server, `{"name":"Own","description":"d","audiences":["a"]}`, "server", "id")
	w.seed(t, "POST "+server+"{server}/scopes", `{"name":"byclaim"}`, "claimed", "id")
	w.seed(t, "POST "+server+"{server}/scopes", `{"name":"byrule"}`, "ruled", "id")
	w.seed(t, "POST "+server+"{server}/claims",
		`{"name":"c","claimType":"RESOURCE","valueType":"EXPRESSION","value":"user.login","conditions":{"scopes":["byclaim"]}}`, "", "")
	w.seed(t, "POST "+server+"{server}/policies",
		`{"type":"OAUTH_AUTHORIZATION_POLICY","name":"P","description":"d","priority":1,"conditions":{"clients":{"include":["ALL_CLIENTS"]}}}`,
		"policyofown", "id")
	w.seed(t, "POST "+server+"{server}/policies/{policyofown}/rules",
		`{"type":"RESOURCE_ACCESS","name":"R","priority":1,"conditions":{"grantTypes":{"include":["client_credentials"]},`+
			`"scopes":{"include":["byrule"]}}}`, "", "")
	require.NoError(t, w.env.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		token, err := w.env.Model.HardwareTokens.Get(t.Context(), tx, w.ids["hardware"])
		if err == nil {
			token.Value.User = w.ids["user"]
			_, err = w.env.Model.HardwareTokens.Update(t.Context(), tx, token.ID, token.Rev, token.Value)
		}
		return err
	}))
	for _, rejected := range []struct {
		name, do string
		status   int
		code     string
		event    string
		target   string // the name of the object whose id the log event must have as its target
	}{
		{"a custom role that is bound", "/api/v1/iam/roles/{role}", 400, "E0000001", "iam.role.delete", "role"},
		{"the role of the last super administrator", "/api/v1/users/me/roles/{myrole}", 400, "E0000001", "user.account.privilege.revoke", "me"},
		{"the last target of a user's role", "/api/v1/users/{user}/roles/{userrole}/targets/groups/{group}", 400, "E0000001",
			"iam.role.target.delete", "user"},
		{"the last target of a client's role", "/oauth2/v1/clients/{client}/roles/{clientrole}/targets/catalog/apps/scim2_test_app", 400,
			"E0000001", "iam.role.target.delete", "client"},
		{"the built-in administrator", "/api/v1/users/{me}", 400, "E0000001", "user.lifecycle.deactivate", "me"},
		{"a group whose users a resource set excludes", "/api/v1/groups/{excluded}", 403, "E0000107", "group.lifecycle.delete", "excluded"},
		{"the group Everyone", "/api/v1/groups/{everyone}", 501, "E0000060", "group.lifecycle.delete", "everyone"},
		{"a member of the group Everyone", "/api/v1/groups/{everyone}/users/{bob}", 501, "E0000060", "group.user_membership.remove", "bob"},
		{"a running group rule", "/api/v1/groups/rules/{running}", 403, "E0000107", "group.user_membership.rule.delete", "running"},
		{"an active application", "/api/v1/apps/{app}", 403, "E0000056", "application.lifecycle.delete", "app"},
		{"an assignment through a group", "/api/v1/apps/{app}/users/{bob}", 403, "E0000046", "application.user_membership.remove", "bob"},
		{"an active push mapping", "/api/v1/apps/{app}/group-push/mappings/{push}?deleteTargetGroup=false", 403, "E0000107",
			"application.provision.group_push.removed", "push"},
		{"the default user type", "/api/v1/meta/types/user/{standardtype}", 403, "E0000142", "directory.user_profile.update", "standardtype"},
		{"a user type with users", "/api/v1/meta/types/user/{type}", 403, "E0000142", "directory.user_profile.update", "type"},
		{"the hardware token of a user", "/api/v1/org/factors/hardware_token/tokens/{hardware}", 403, "E0000107",
			"system.mfa.hardware_token.delete", "hardware"},
		{"an active inline hook", "/api/v1/inlineHooks/{hook}", 400, "E0000001", "inline_hook.deleted", "hook"},
		{"the key of an inline hook", "/api/v1/hook-keys/{hookkey}", 400, "E0000001", "hook_key.deleted", "hookkey"},
		{"the default authorization server", server + "default", 400, "E0000001", "oauth2.as.deleted", "standardserver"},
		{"a scope of the system", server + "default/scopes/{scope}", 400, "E0000001", "oauth2.scope.deleted", "standardserver"},
		{"a claim of the system", server + "default/claims/{claim}", 400, "E0000001", "oauth2.claim.deleted", "standardserver"},
		{"a scope of a claim", server + "{server}/scopes/{claimed}", 400, "E0000001", "oauth2.scope.deleted", "server"},
		{"a scope of a rule", server + "{server}/scopes/{ruled}", 400, "E0000001", "oauth2.scope.deleted", "server"},
	} {
		before := w.dump(t)
		a := w.env.Do(t, "DELETE "+w.fill(rejected.do), "", nil)
		require.Equal(t, rejected.status, a.Status, "%s: %s", rejected.name, a.Body)
		require.Equal(t, rejected.code, a.Value("errorCode"), rejected.name)
		for table, rows := range w.dump(t) {
			require.Empty(t, cmp.Diff(before[table], rows), "the rejected deletion of %s has changed the table %s", rejected.name, table)
		}
		logged := w.env.Do(t, "GET /api/v1/logs?filter=transaction.id+eq+%22"+a.Header.Get("X-Svc-Request-Id")+"%22", "", nil)
		require.Len(t, logged.JSON, 1, "%s: %s", rejected.name, logged.Body)
		require.Equal(t, []string{rejected.event, "FAILURE", w.ids["me"]},
			[]string{logged.Value("0.eventType"), logged.Value("0.outcome.result"), logged.Value("0.actor.id")}, rejected.name)
		require.NotEmpty(t, logged.Value("0.outcome.reason"), rejected.name)
		var targets []string
		for _, target := range logged.JSON.([]any)[0].(map[string]any)["target"].([]any) {
			targets = append(targets, target.(map[string]any)["id"].(string))
		}
		require.True(t, slices.Contains(targets, w.ids[rejected.target]), "%s: the event is about %s", rejected.name, targets)
	}
}
