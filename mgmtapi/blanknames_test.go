package mgmtapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mandatory name must contain a character that is not whitespace, because otherwise users cannot identify objects in lists.
func TestNames_NotBlank(t *testing.T) {
	const (
		group = `{"profile":{"name":"~"}}`
		rule  = `{"name":"~","type":"group_rule","conditions":{"expression":{"value":"user.firstName==\"a\"",` +
			`"type":"urn:svc:expression:1.0"}},"actions":{"assignUserToGroups":{"groupIds":["{ruled}"]}}}`
		app    = `{"name":"bookmark","label":"~","settings":{"app":{"url":"https://a.example/"}}}`
		client = `{"client_name":"~","application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}`
		hook   = `{"name":"~","type":"com.svc.oauth2.tokens.transform","version":"1.0.0",` +
			`"channel":{"config":{"uri":"https://hooks.example.com"}}}`
		key    = `{"name":"~"}`
		role   = `{"label":"~","description":"d","permissions":["svc.users.read"]}`
		set    = `{"label":"~","description":"d","resources":["/api/v1/users"]}`
		kind   = `{"name":"robots{number}","displayName":"~"}`
		server = `{"name":"~","description":"d","audiences":["a"]}`
		policy = `{"id":"{own}","name":"~","description":"d","priority":1,"conditions":{"clients":{"include":["ALL_CLIENTS"]}}}`
		access = `{"name":"~","conditions":{"grantTypes":{"include":["password"]},"scopes":{"include":["*"]}}}`
		claim  = `{"name":"~","claimType":"RESOURCE","valueType":"EXPRESSION","value":"user.login"}`
		token  = `{"name":"~","userId":"me"}`
	)
	w := newOrganization(t)
	w.seed(t, "POST /api/v1/groups", `{"profile":{"name":"By rule"}}`, "ruled", "id")
	const push = "POST /api/v1/apps/{app}/group-push/mappings"
	for i, tt := range []struct {
		create, body, replace, member, id string
	}{
		{"POST /api/v1/groups", group, "PUT /api/v1/groups/{own}", "name", "id"},
		{"POST /api/v1/groups/rules", rule, "PUT /api/v1/groups/rules/{own}", "name", "id"},
		{"POST /api/v1/apps", app, "PUT /api/v1/apps/{own}", "label", "id"},
		{"POST /oauth2/v1/clients", client, "PUT /oauth2/v1/clients/{own}", "client_name", "client_id"},
		{"POST /api/v1/inlineHooks", hook, "PUT /api/v1/inlineHooks/{own}", "name", "id"},
		{"POST /api/v1/inlineHooks", hook, "POST /api/v1/inlineHooks/{own}", "name", "id"},
		{"POST /api/v1/hook-keys", key, "PUT /api/v1/hook-keys/{own}", "name", "id"},
		{"POST /api/v1/iam/roles", role, "PUT /api/v1/iam/roles/{own}", "label", "id"},
		{"POST /api/v1/iam/resource-sets", set, "PUT /api/v1/iam/resource-sets/{own}", "label", "id"},
		{"POST /api/v1/meta/types/user", kind, "PUT /api/v1/meta/types/user/{own}", "displayName", "id"},
		{"POST /api/v1/meta/types/user", kind, "POST /api/v1/meta/types/user/{own}", "displayName", "id"},
		{"POST /api/v1/authorizationServers", server, "PUT /api/v1/authorizationServers/{own}", "name", "id"},
		{"POST /api/v1/authorizationServers/default/policies", policy, "PUT /api/v1/authorizationServers/default/policies/{own}", "name", "id"},
		{"POST /api/v1/authorizationServers/default/policies/{accesspolicy}/rules", access,
			"PUT /api/v1/authorizationServers/default/policies/{accesspolicy}/rules/{own}", "name", "id"},
		{"POST /api/v1/authorizationServers/default/claims", claim, "PUT /api/v1/authorizationServers/default/claims/{own}", "name", "id"},
		{push, `{"sourceGroupId":"{ruled}","targetGroupName":"~"}`, "", "targetGroupName", "id"},
		{"POST /sandbox/v1/api-tokens", token, "", "name", "id"},
	} {
		t.Run(tt.create+" "+tt.replace, func(t *testing.T) {
			w.ids["own"] = ""
			named := func(name string) string {
				return strings.NewReplacer("~", name, "{number}", fmt.Sprint(i)).Replace(tt.body)
			}
			rejected := func(do string) {
				a := w.env.Do(t, w.fill(do), w.fill(named(` \t\u00a0`)), nil)
				require.Equal(t, 400, a.Status, "%s: %s", do, a.Body)
				require.Equal(t, "E0000001", a.Value("errorCode"))
				require.Contains(t, string(a.Body), tt.member+": The field cannot be left blank")
			}
			rejected(tt.create)
			w.seed(t, tt.create, named(fmt.Sprintf("Name %d", i)), "own", tt.id)
			if tt.replace == "" {
				return
			}
			rejected(tt.replace)
			w.seed(t, tt.replace, named(fmt.Sprintf("Name %d again", i)), "", "")
		})
	}
}
