package slicetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const (
	servers    = "/api/v1/authorizationServers"
	serverHour = "2026-03-04T05:06:07.000Z" // initial time of the clock
)

type (
	serverStep   = apitest.Step
	serverValues = map[string]any
	serverSaved  = map[string]string
)

// Proves A-servers-01, A-servers-02, A-servers-08, A-servers-13, A-servers-16, A-servers-19, A-servers-20, A-servers-21,
// A-servers-30, A-servers-41, A-servers-44, A-servers-45, A-servers-46, A-servers-47, A-servers-50, A-servers-51, A-servers-53,
// A-servers-54.
func TestServer_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			serverStep{Name: "the default server exists", Do: "GET " + servers, Equal: serverValues{
				"#": 1, "0.name": "default", "0.default": true, "0.audiences.0": "api://default", "0.status": "ACTIVE",
				"0.issuer":                           e.Server.URL + "/oauth2/default",
				"0.credentials.signing.rotationMode": "AUTO", "0.credentials.signing.nextRotation": "2026-06-02T05:06:07.000Z",
			}, Save: serverSaved{"default": "0.id"}},
			serverStep{Do: "GET " + servers + "/default", Equal: serverValues{"id": "{{default}}"}},
			serverStep{Name: "the default server cannot be deleted", Do: "DELETE " + servers + "/default", Status: 400, Code: "E0000001"},
			serverStep{Do: "POST " + servers,
				Body: `{"name":"Orders","description":"Who may order","audiences":["https://orders.example"],"issuerMode":"ORG_URL"}`, Status: 201,
				Save: serverSaved{"as": "id", "kid": "credentials.signing.kid", "location": "header:Location"},
				Equal: serverValues{"name": "Orders", "description": "Who may order", "audiences.#": 1, "default": false, "created": serverHour,
					"lastUpdated": serverHour, "_links.deactivate.hints.allow.0": "POST", "_links.metadata.1.name": "openid-configuration"},
				Has:   []string{"_links.self", "_links.scopes", "_links.claims", "_links.policies", "_links.keys", "_links.rotateKey"},
				Lacks: []string{"issuerMode", "_links.activate"}},
			serverStep{Do: "GET {{location}}", Equal: serverValues{"id": "{{as}}", "issuer": e.Server.URL + "/oauth2/{{as}}"}},
			serverStep{Name: "a new server has the system scopes", Do: "GET " + servers + "/{{as}}/scopes",
				Equal: serverValues{"#": 7, "0.name": "openid", "0.system": true}},
			serverStep{Name: "a new server has the system claim", Do: "GET " + servers + "/{{as}}/claims",
				Equal: serverValues{"#": 1, "0.name": "sub", "0.valueType": "SYSTEM", "0.claimType": "RESOURCE", "0.alwaysIncludeInToken": true}},
			serverStep{Name: "a new server has no policy", Do: "GET " + servers + "/{{as}}/policies", Equal: serverValues{"#": 0}},
			serverStep{Do: "GET " + servers + "?q=ORD", Equal: serverValues{"#": 1, "0.id": "{{as}}"}},
			serverStep{Name: "a search includes audiences", Do: "GET " + servers + "?q=orders.example", Equal: serverValues{"#": 1}},
			serverStep{Do: "GET " + servers + "?limit=1", Equal: serverValues{"#": 1}, Save: serverSaved{"next": "link:next"}},
			serverStep{Do: "GET {{next}}", Equal: serverValues{"#": 1, "0.id": "{{as}}"}, Lacks: []string{"link:next"}},
			serverStep{Do: "GET " + servers + "?after=x", Status: 400, Code: "E0000029"},
			serverStep{Do: "GET " + servers + "?limit=0", Status: 400, Code: "E0000001"},
			serverStep{Do: "POST " + servers + "/{{as}}/lifecycle/deactivate", Status: 204},
			serverStep{Name: "a second deactivation changes nothing", Do: "POST " + servers + "/{{as}}/lifecycle/deactivate", Status: 204},
			serverStep{Do: "GET " + servers + "/{{as}}", Equal: serverValues{"status": "INACTIVE"}, Has: []string{"_links.activate"},
				Lacks: []string{"_links.deactivate"}},
			serverStep{Do: "POST " + servers + "/{{as}}/lifecycle/activate", Status: 204},
			serverStep{Name: "a replacement may omit the description", Do: "PUT " + servers + "/{{as}}",
				Body: `{"name":"Purchases","audiences":["https://buy.example"],"credentials":{"signing":{"rotationMode":"MANUAL"}}}`,
				Equal: serverValues{"name": "Purchases", "description": "Who may order", "credentials.signing.rotationMode": "MANUAL",
					"credentials.signing.kid": "{{kid}}"}, Lacks: []string{"credentials.signing.nextRotation"}},
			serverStep{Do: "DELETE " + servers + "/{{as}}", Status: 204},
			serverStep{Do: "GET " + servers + "/{{as}}", Status: 404, Code: "E0000007"},
		)
	})
}

// Proves A-servers-05, A-servers-06, A-servers-07, A-servers-09, A-servers-10, A-servers-11.
func TestServer_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	bad := func(body string, causes ...string) serverStep {
		return serverStep{Name: body, Do: "POST " + servers, Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	e.Run(t,
		bad(`{}`, "name: ", "audiences: ", "description: "),
		bad(`{"name":" ","description":"","audiences":[]}`, "name: ", "audiences: ", "description: "),
		bad(`{"name":"a","description":"d","audiences":["a","b"]}`, "audiences: "),
		bad(`{"name":"a","description":"d","audiences":[""]}`, "audiences: "),
		bad(`{"name":1,"description":[],"audiences":"a"}`, "name: ", "description: ", "audiences: "),
		bad(`{"name":"a","description":"d","audiences":["a"],"issuerMode":"CUSTOM_URL"}`, "issuerMode: "),
		bad(`{"name":"a","description":"d","audiences":["a"],"credentials":{"signing":{"rotationMode":"NEVER"}}}`,
			"credentials.signing.rotationMode: "),
		serverStep{Do: "POST " + servers, Status: 400, Code: "E0000003"},
		serverStep{Do: "PUT " + servers + "/default", Body: `{"name":""}`, Status: 400, Code: "E0000001",
			Causes: []string{"name: ", "audiences: "}},
		serverStep{Do: "PUT " + servers + "/nobody", Body: `{"name":""}`, Status: 404, Code: "E0000007"},
		serverStep{Do: "GET " + servers, Equal: serverValues{"#": 1, "0.name": "default"}, Save: serverSaved{"as": "0.id"}},
		serverStep{Do: "GET " + servers + "/00u12345678901234567", Status: 404, Code: "E0000007"},
		serverStep{Do: "DELETE " + servers + "/nobody", Status: 404, Code: "E0000007"},
		serverStep{Do: "POST " + servers + "/nobody/lifecycle/activate", Status: 404, Code: "E0000007"},
		serverStep{Do: "GET " + servers, Header: map[string]string{"Authorization": ""}, Status: 403, Code: "E0000005"},
	)
}

// policyBody returns the body of a policy. more contains further members. Unless it contains a priority, the policy gets the lowest one.
func policyBody(name, clients, more string) string {
	if !strings.Contains(more, `"priority"`) {
		more += `,"priority":0`
	}
	return fmt.Sprintf(`{"type":"OAUTH_AUTHORIZATION_POLICY","name":%q,"description":"d","conditions":{"clients":{"include":[%s]}}%s}`, name,
		clients, more)
}

const all = `"ALL_CLIENTS"`

// Proves A-policies-01, A-policies-02, A-policies-04, A-policies-05, A-policies-06, A-policies-09, A-policies-16, A-policies-17,
// A-policies-18, A-policies-19, A-policies-20, A-policies-22.
// Proves A-policies-03, A-policies-07.
func TestPolicy_Priorities(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	at := servers + "/default/policies"
	order := func(t *testing.T, names ...string) {
		a := e.Do(t, "GET "+at, "", nil)
		var have []string
		for i := range a.JSON.([]any) {
			have = append(have, a.Value(fmt.Sprintf("%d.name", i)))
			require.Equal(t, fmt.Sprint(i+1), a.Value(fmt.Sprintf("%d.priority", i)))
		}
		require.Equal(t, names, have)
	}
	e.Run(t,
		serverStep{Do: "GET " + at,
			Equal: serverValues{"#": 1, "0.name": "Default Policy", "0.system": true, "0.conditions.clients.include.0": "ALL_CLIENTS",
				"0.type": "OAUTH_AUTHORIZATION_POLICY"}, Save: serverSaved{"default": "0.id"}},
		serverStep{Name: "a new policy has the lowest priority", Do: "POST " + at, Body: policyBody("A", all, ""), Status: 201,
			Equal: serverValues{"priority": 2, "status": "ACTIVE", "system": false}, Save: serverSaved{"a": "id"},
			Has: []string{"_links.self", "_links.rules", "_links.deactivate"}},
		serverStep{Name: "a new policy can have a priority", Do: "POST " + at, Body: policyBody("B", all, `,"priority":1,"status":"INACTIVE"`),
			Status: 201,
			Equal:  serverValues{"priority": 1, "status": "INACTIVE"}, Save: serverSaved{"b": "id"}, Then: func(t *testing.T, _ *apitest.Answer) {
				order(t, "B", "Default Policy", "A")
			}},
		serverStep{Name: "a priority past the end means the end", Do: "PUT " + at + "/{{b}}",
			Body:  policyBody("B", all, `,"priority":99,"id":"{{b}}"`),
			Equal: serverValues{"priority": 3, "status": "INACTIVE"}, Then: func(t *testing.T, _ *apitest.Answer) {
				order(t, "Default Policy", "A", "B")
			}},
		serverStep{Name: "the priority 0 keeps the position", Do: "PUT " + at + "/{{a}}",
			Body:  policyBody("A2", all, `,"id":"{{a}}","priority":0,"system":true,"status":"ACTIVE"`),
			Equal: serverValues{"priority": 2, "system": false}, Then: func(t *testing.T, _ *apitest.Answer) {
				order(t, "Default Policy", "A2", "B")
			}},
		serverStep{Do: "PUT " + at + "/{{a}}", Body: policyBody("A2", all, `,"id":"{{b}}"`), Status: 400, Code: "E0000001",
			Causes: []string{"id: "}},
		serverStep{Do: "POST " + at + "/{{b}}/lifecycle/activate", Status: 204},
		serverStep{Do: "POST " + at + "/{{b}}/lifecycle/activate", Status: 204},
		serverStep{Do: "GET " + at + "/{{b}}", Equal: serverValues{"status": "ACTIVE", "name": "B"}},
		serverStep{Do: "POST " + at + "/{{b}}/lifecycle/deactivate", Status: 204},
		serverStep{Do: "GET " + at + "/{{b}}", Equal: serverValues{"status": "INACTIVE"}},
		serverStep{Name: "a system policy can be changed", Do: "PUT " + at + "/{{default}}",
			Body: policyBody("Mine", all, `,"id":"{{default}}"`), Equal: serverValues{"name": "Mine", "system": true}},
		serverStep{Name: "a system policy cannot be deleted", Do: "DELETE " + at + "/{{default}}", Status: 400, Code: "E0000001"},
		serverStep{Do: "DELETE " + at + "/{{a}}", Status: 204, Then: func(t *testing.T, _ *apitest.Answer) { order(t, "Mine", "B") }},
		serverStep{Do: "GET " + at + "/{{a}}", Status: 404, Code: "E0000007"},

		serverStep{Do: "POST " + at, Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"name: ", "description: ", "priority: "}},
		serverStep{Do: "POST " + at, Body: policyBody("C", all, `,"priority":null`), Status: 400, Code: "E0000001",
			Causes: []string{"priority: "}},
		serverStep{Do: "PUT " + at + "/{{b}}", Body: `{}`, Status: 400, Code: "E0000001",
			Causes: []string{"name: ", "description: ", "priority: ", "id: "}},
		serverStep{Do: "PUT " + at + "/{{b}}", Body: policyBody("C", all, ""), Status: 400, Code: "E0000001", Causes: []string{"id: "}},
		serverStep{Do: "PUT " + at + "/{{b}}", Body: policyBody("C", all, `,"id":"{{b}}","priority":null`), Status: 400, Code: "E0000001",
			Causes: []string{"priority: "}},
		serverStep{Do: "PUT " + at + "/{{b}}",
			Body: `{"id":"{{b}}","name":"C","description":"d","priority":1,"conditions":{"clients":{"include":null}}}`, Status: 400,
			Code: "E0000001", Causes: []string{"conditions.clients.include: "}},
		serverStep{Do: "POST " + at, Body: policyBody("C", "", ""), Status: 400, Code: "E0000001",
			Causes: []string{"conditions.clients.include: "}},
		serverStep{Do: "POST " + at, Body: policyBody("C", `"ALL_CLIENTS","nobody"`, ""), Status: 400, Code: "E0000001",
			Causes: []string{"conditions.clients.include[1]: "}},
		serverStep{Do: "POST " + at, Body: strings.Replace(policyBody("C", all, ""), "OAUTH_AUTHORIZATION_POLICY", "PASSWORD", 1), Status: 400,
			Code: "E0000001"},
		serverStep{Do: "POST " + at, Body: policyBody("C", all, `,"priority":-1`), Status: 400, Code: "E0000001", Causes: []string{"priority: "}},
		serverStep{Do: "POST " + at, Status: 400, Code: "E0000003"},
		serverStep{Do: "POST " + servers + "/nobody/policies", Body: `{}`, Status: 404, Code: "E0000007"},
		serverStep{Name: "policies of other servers are not found", Do: "POST " + servers,
			Body: `{"name":"o","description":"d","audiences":["a"]}`, Status: 201, Save: serverSaved{"other": "id"}},
		serverStep{Do: "GET " + servers + "/{{other}}/policies/{{b}}", Status: 404, Code: "E0000007"},
		serverStep{Do: "DELETE " + servers + "/{{other}}/policies/{{b}}", Status: 404, Code: "E0000007",
			Then: func(t *testing.T, _ *apitest.Answer) { order(t, "Mine", "B") }},
	)
}

func ruleBody(name, conditions, token string) string {
	return fmt.Sprintf(`{"type":"RESOURCE_ACCESS","name":%q,"conditions":{%s},"actions":{"token":{%s}}}`, name, conditions, token)
}

const anything = `"grantTypes":{"include":["client_credentials"]},"scopes":{"include":["*"]}`

// Proves A-servers-03.
func TestServer_Rules(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	rejected := func(at, body string, causes ...string) serverStep {
		return serverStep{Name: body, Do: "POST " + at, Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	policies := servers + "/default/policies"
	at := policies + "/{{p}}/rules"
	e.Run(t,
		serverStep{Do: "GET " + policies, Save: serverSaved{"default": "0.id"}},
		serverStep{Do: "GET " + policies + "/{{default}}/rules",
			Equal: serverValues{"#": 1, "0.name": "Default Policy Rule", "0.system": true, "0.conditions.people.groups.include.0": "EVERYONE",
				"0.conditions.scopes.include.0": "*", "0.actions.token.accessTokenLifetimeMinutes": 60}, Save: serverSaved{"system": "0.id"}},
		serverStep{Name: "a system rule cannot be deleted", Do: "DELETE " + policies + "/{{default}}/rules/{{system}}", Status: 400,
			Code: "E0000001"},
		serverStep{Do: "POST " + policies, Body: policyBody("P", all, ""), Status: 201, Save: serverSaved{"p": "id"}},
		serverStep{Do: "POST /api/v1/users",
			Body: `{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"A","lastName":"B"}}`, Save: serverSaved{"u": "id"}},
		serverStep{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: serverSaved{"g": "id"}},
		serverStep{Name: "omitted members get their defaults", Do: "POST " + at, Body: ruleBody("R1", anything, ""), Status: 201,
			Save: serverSaved{"r1": "id"},
			Equal: serverValues{"type": "RESOURCE_ACCESS", "priority": 1, "status": "ACTIVE", "conditions.people.groups.include.0": "EVERYONE",
				"actions.token.accessTokenLifetimeMinutes": 60, "actions.token.refreshTokenLifetimeMinutes": 0,
				"actions.token.refreshTokenWindowMinutes": 10080},
			Lacks: []string{"actions.token.inlineHook"}, Has: []string{"_links.self", "_links.deactivate"}},
		serverStep{Do: "POST " + at,
			Body: ruleBody("R2", `"people":{"users":{"include":["{{u}}"]},"groups":{"exclude":["{{g}}"]}},`+anything,
				`"accessTokenLifetimeMinutes":5,"refreshTokenLifetimeMinutes":5,"refreshTokenWindowMinutes":10`), Status: 201,
			Save: serverSaved{"r2": "id"},
			Equal: serverValues{"priority": 2, "conditions.people.users.include.0": "{{u}}", "conditions.people.groups.exclude.0": "{{g}}",
				"conditions.people.groups.include.#": 0}},
		serverStep{Do: "PUT " + at + "/{{r2}}", Body: strings.Replace(ruleBody("R2b", anything, ""), `{"type"`, `{"priority":1,"type"`, 1),
			Equal: serverValues{"priority": 1, "name": "R2b"}},
		serverStep{Do: "GET " + at, Equal: serverValues{"#": 2, "0.id": "{{r2}}", "1.id": "{{r1}}", "1.priority": 2}},
		serverStep{Do: "POST " + at + "/{{r1}}/lifecycle/deactivate", Status: 204},
		serverStep{Do: "GET " + at + "/{{r1}}", Equal: serverValues{"status": "INACTIVE"}, Has: []string{"_links.activate"}},
		serverStep{Do: "POST " + at + "/{{r1}}/lifecycle/activate", Status: 204},
		serverStep{Do: "POST " + at + "/{{r1}}/lifecycle/activate", Status: 204},
		rejected(at, `{}`, "name: "),
		rejected(at, ruleBody("R1", anything, ""), "name: An object"),
		rejected(at, ruleBody("x", "", ""), "conditions.grantTypes.include: ", "conditions.scopes.include: "),
		rejected(at, ruleBody("x", `"grantTypes":{"include":["magic"]},"scopes":{"include":["nothing"]}`, ""),
			"conditions.grantTypes.include[0]: ", "conditions.scopes.include[0]: "),
		rejected(at, ruleBody("x", `"people":{"users":{"include":["nobody"]},"groups":{"include":["{{u}}"]}},`+anything, ""),
			"conditions.people.users.include[0]: ", "conditions.people.groups.include[0]: "),
		rejected(at, ruleBody("x", anything, `"accessTokenLifetimeMinutes":4,"refreshTokenWindowMinutes":9`),
			"actions.token.accessTokenLifetimeMinutes: ", "actions.token.refreshTokenWindowMinutes: "),
		rejected(at, ruleBody("x", anything, `"accessTokenLifetimeMinutes":1441,"refreshTokenWindowMinutes":2628001`),
			"actions.token.accessTokenLifetimeMinutes: ", "actions.token.refreshTokenWindowMinutes: "),
		rejected(at, ruleBody("x", anything, `"accessTokenLifetimeMinutes":60,"refreshTokenLifetimeMinutes":59`),
			"actions.token.refreshTokenLifetimeMinutes: "),
		rejected(at, ruleBody("x", anything, `"inlineHook":{"id":"cal1"}`), "actions.token.inlineHook.id: "),
		serverStep{Do: "POST " + at, Status: 400, Code: "E0000003"},
		serverStep{Do: "PUT " + at + "/nobody", Body: `{}`, Status: 404, Code: "E0000007"},
		serverStep{Do: "GET " + policies + "/{{default}}/rules/{{r1}}", Status: 404, Code: "E0000007"},
		serverStep{Do: "GET " + policies + "/nobody/rules", Status: 404, Code: "E0000007"},
		serverStep{Do: "GET " + at, Equal: serverValues{"#": 2}},
		serverStep{Do: "PUT " + at + "/{{r1}}",
			Body: ruleBody("R1", `"people":{"users":{"include":["{{u}}"]},"groups":{"include":["{{g}}"]}},`+anything, "")},
		serverStep{Name: "a deleted group is removed from rules", Do: "DELETE /api/v1/groups/{{g}}", Status: 204},
		serverStep{Do: "GET " + at + "/{{r1}}",
			Equal: serverValues{"conditions.people.groups.include.#": 0, "conditions.people.users.include.#": 1}},
		serverStep{Do: "DELETE " + at + "/{{r2}}", Status: 204},
		serverStep{Do: "GET " + at, Equal: serverValues{"#": 1, "0.priority": 1}},
		serverStep{Name: "deleting a policy deletes its rules", Do: "DELETE " + policies + "/{{p}}", Status: 204},
		serverStep{Do: "GET " + at + "/{{r1}}", Status: 404, Code: "E0000007"},
	)
}

func TestServer_Scopes(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	at := servers + "/default/scopes"
	rejected := func(body string, causes ...string) serverStep {
		return serverStep{Name: body, Do: "POST " + at, Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	e.Run(t,
		serverStep{Do: "POST " + at, Body: `{"name":"orders:read"}`, Status: 201, Save: serverSaved{"s": "id"},
			Equal: serverValues{"name": "orders:read", "system": false, "default": false, "consent": "IMPLICIT", "optional": false,
				"metadataPublish": "NO_CLIENTS"}, Has: []string{"_links.self"}},
		serverStep{Do: "POST " + at,
			Body: `{"name":"orders:write","displayName":"Order","description":"Orders","consent":"REQUIRED","optional":true,"default":true,` +
				`"metadataPublish":"ALL_CLIENTS"}`, Status: 201, Save: serverSaved{"w": "id"},
			Equal: serverValues{"consent": "REQUIRED", "metadataPublish": "ALL_CLIENTS", "default": true, "optional": true, "displayName": "Order"}},
		rejected(`{}`, "name: "), rejected(`{"name":"a b"}`, "name: "), rejected(`{"name":"a\"b"}`, "name: "),
		rejected(`{"name":"a\\b"}`, "name: "),
		rejected(`{"name":"ä"}`, "name: "),
		rejected(`{"name":"*"}`, "name: "), rejected(`{"name":"svc"}`, "name: "), rejected(`{"name":"svc.x"}`, "name: "),
		rejected(`{"name":"svc:x"}`, "name: "),
		rejected(`{"name":"orders:read"}`, "name: An object"), rejected(`{"name":"openid"}`, "name: An object"),
		rejected(`{"name":"x","consent":"MAYBE"}`, "consent: "), rejected(`{"name":"x","default":1}`, "default: "),
		serverStep{Do: "POST " + at, Status: 400, Code: "E0000003"},
		serverStep{Do: "GET " + at + "?q=orders", Equal: serverValues{"#": 2, "0.id": "{{s}}"}},
		serverStep{Do: "GET " + at + "?filter=name+eq+%22orders:write%22", Equal: serverValues{"#": 1, "0.id": "{{w}}"}},
		serverStep{Do: "GET " + at + "?filter=id+eq+%221%22", Status: 400, Code: "E0000031"},
		serverStep{Do: "GET " + at + "?limit=8", Equal: serverValues{"#": 8}, Save: serverSaved{"next": "link:next"}},
		serverStep{Name: "a cursor is valid after the deletion of its scope", Do: "DELETE " + at + "/{{s}}", Status: 204},
		serverStep{Do: "GET {{next}}", Equal: serverValues{"#": 1, "0.id": "{{w}}"}, Lacks: []string{"link:next"}},
		serverStep{Do: "GET " + at + "?after=?", Status: 400, Code: "E0000029"},
		serverStep{Do: "GET " + servers + "/default/policies", Save: serverSaved{"p": "0.id"}},
		serverStep{Do: "POST " + servers + "/default/policies/{{p}}/rules",
			Body: ruleBody("R", `"grantTypes":{"include":["password"]},"scopes":{"include":["orders:write"]}`, ""), Status: 201,
			Save: serverSaved{"r": "id"}},
		serverStep{Do: "PUT " + at + "/{{w}}", Body: `{"name":"orders:all"}`,
			Equal: serverValues{"name": "orders:all", "consent": "IMPLICIT", "default": false}, Lacks: []string{"displayName"}},
		serverStep{Name: "rules show the new name of a scope", Do: "GET " + servers + "/default/policies/{{p}}/rules/{{r}}",
			Equal: serverValues{"conditions.scopes.include.0": "orders:all"}},
		serverStep{Do: "GET " + at + "?q=openid", Save: serverSaved{"openid": "0.id"}},
		serverStep{Do: "PUT " + at + "/{{openid}}",
			Body:  `{"name":"openid","description":"Mine","consent":"REQUIRED","metadataPublish":"NO_CLIENTS"}`,
			Equal: serverValues{"description": "Mine", "system": true, "metadataPublish": "NO_CLIENTS", "consent": "REQUIRED"}},
		serverStep{Do: "PUT " + at + "/{{openid}}", Body: `{"name":"other"}`, Status: 400, Code: "E0000001", Causes: []string{"name: "}},
		serverStep{Do: "PUT " + at + "/{{openid}}", Body: `{"name":"openid","default":true}`, Status: 400, Code: "E0000001",
			Causes: []string{"default: "}},
		serverStep{Do: "DELETE " + at + "/{{openid}}", Status: 400, Code: "E0000001"},
		serverStep{Do: "PUT " + at + "/{{w}}", Body: `{"name":"openid"}`, Status: 400, Code: "E0000001", Causes: []string{"name: An object"}},
		serverStep{Do: "GET " + at + "/{{w}}", Equal: serverValues{"name": "orders:all"}},
		serverStep{Do: "GET " + at + "/{{s}}", Status: 404, Code: "E0000007"},
		serverStep{Do: "POST " + servers + "/default/claims",
			Body:   `{"name":"c","claimType":"RESOURCE","valueType":"EXPRESSION","value":"app.id","conditions":{"scopes":["orders:all"]}}`,
			Status: 201, Save: serverSaved{"c": "id"}},
		serverStep{Name: "a scope of a rule cannot be deleted", Do: "DELETE " + at + "/{{w}}", Status: 400, Code: "E0000001",
			Causes: []string{`scopeId: The scope is in use by the rule "R" of the policy "Default Policy"`}},
		serverStep{Do: "DELETE " + servers + "/default/policies/{{p}}/rules/{{r}}", Status: 204},
		serverStep{Name: "a scope of a claim cannot be deleted: without it the claim would be in every token", Do: "DELETE " + at + "/{{w}}",
			Status: 400, Code: "E0000001", Causes: []string{`scopeId: The scope is in use by the claim "c"`}},
		serverStep{Do: "GET " + servers + "/default/claims/{{c}}", Equal: serverValues{"conditions.scopes.0": "orders:all"}},
		serverStep{Do: "GET /api/v1/logs?filter=eventType+eq+%22oauth2.scope.deleted%22+and+outcome.result+eq+%22FAILURE%22",
			Equal: serverValues{"#": 3}},
		serverStep{Do: "DELETE " + servers + "/default/claims/{{c}}", Status: 204},
		serverStep{Do: "DELETE " + at + "/{{w}}", Status: 204},
		serverStep{Do: "GET " + servers + "/nobody/scopes", Status: 404, Code: "E0000007"},
	)
}

func TestServer_Claims(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	at := servers + "/default/claims"
	claim := func(name, more string) string {
		return fmt.Sprintf(`{"name":%q,"claimType":"RESOURCE","valueType":"EXPRESSION","value":"user.login"%s}`, name, more)
	}
	rejected := func(body string, causes ...string) serverStep {
		return serverStep{Name: body, Do: "POST " + at, Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	e.Run(t,
		serverStep{Do: "POST " + at, Body: claim("who", `,"alwaysIncludeInToken":false`), Status: 201, Save: serverSaved{"c": "id"},
			Equal: serverValues{"name": "who", "status": "ACTIVE", "alwaysIncludeInToken": true, "system": false, "conditions.scopes.#": 0},
			Lacks: []string{"group_filter_type"}},
		serverStep{Do: "POST " + at,
			Body: `{"name":"groups","claimType":"IDENTITY","valueType":"GROUPS","value":"^A.*","group_filter_type":"REGEX",` +
				`"conditions":{"scopes":["profile"]}}`, Status: 201,
			Equal: serverValues{"group_filter_type": "REGEX", "alwaysIncludeInToken": false, "conditions.scopes.0": "profile"}},
		serverStep{Name: "claims of different types can have the same name", Do: "POST " + at,
			Body:   strings.Replace(claim("who", ""), "RESOURCE", "IDENTITY", 1),
			Status: 201},
		serverStep{Name: "claims with different scopes can have the same name", Do: "POST " + at,
			Body: claim("who", `,"conditions":{"scopes":["email"]}`), Status: 201},
		rejected(claim("who", ""), "name: An object"),
		rejected(`{}`, "name: ", "claimType: ", "valueType: ", "value: "),
		rejected(claim("iss", ""), "name: "), rejected(claim("scp", ""), "name: "),
		rejected(strings.Replace(claim("x", ""), "EXPRESSION", "SYSTEM", 1), "valueType: "),
		rejected(strings.Replace(claim("x", ""), "user.login", "user.nothing", 1), "value: "),
		rejected(strings.Replace(claim("x", ""), "user.login", "user.", 1), "value: "),
		rejected(claim("x", `,"conditions":{"scopes":["nothing"]}`), "conditions.scopes[0]: "),
		rejected(`{"name":"x","claimType":"RESOURCE","valueType":"GROUPS","value":"a"}`, "group_filter_type: "),
		rejected(`{"name":"x","claimType":"RESOURCE","valueType":"GROUPS","value":"(","group_filter_type":"REGEX"}`, "value: "),
		serverStep{Do: "POST " + at, Status: 400, Code: "E0000003"},
		serverStep{Do: "PUT " + at + "/{{c}}", Body: claim("whom", `,"status":"INACTIVE"`),
			Equal: serverValues{"name": "whom", "status": "INACTIVE"}},
		serverStep{Do: "GET " + at + "/{{c}}", Equal: serverValues{"name": "whom"}},
		serverStep{Do: "GET " + at + "?includeClaims=true", Equal: serverValues{"#": 5, "0.name": "sub"}, Save: serverSaved{"sub": "0.id"}},
		serverStep{Do: "PUT " + at + "/{{sub}}", Body: `{"name":"sub","claimType":"RESOURCE","valueType":"SYSTEM","value":"app.clientId"}`,
			Equal: serverValues{"value": "app.clientId", "valueType": "SYSTEM", "system": true}},
		serverStep{Do: "PUT " + at + "/{{sub}}", Body: `{"name":"subject","claimType":"RESOURCE","valueType":"SYSTEM","value":"app.clientId"}`,
			Status: 400, Code: "E0000001"},
		serverStep{Do: "DELETE " + at + "/{{sub}}", Status: 400, Code: "E0000001"},
		serverStep{Do: "DELETE " + at + "/{{c}}", Status: 204},
		serverStep{Do: "GET " + at + "/{{c}}", Status: 404, Code: "E0000007"},
		serverStep{Do: "PUT " + at + "/{{c}}", Body: `{}`, Status: 404, Code: "E0000007"},
		serverStep{Do: "GET " + servers + "/nobody/claims", Status: 404, Code: "E0000007"},
	)
}

// Proves A-servers-23, A-servers-24.
func TestKeysRotate(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	at := servers + "/default/credentials/keys"
	rotate := "POST " + servers + "/default/credentials/lifecycle/keyRotate"
	kids := e.Run(t,
		serverStep{Do: "GET " + at,
			Equal: serverValues{"#": 2, "0.status": "ACTIVE", "1.status": "NEXT", "0.kty": "RSA", "0.alg": "RS256", "0.use": "sig", "0.e": "AQAB"},
			Save:  serverSaved{"a": "0.kid", "b": "1.kid", "n": "0.n"}},
		serverStep{Do: "GET " + at + "/{{a}}", Equal: serverValues{"kid": "{{a}}", "n": "{{n}}", "status": "ACTIVE"},
			Has: []string{"_links.self"}, Lacks: []string{"d", "sealed"}},
		serverStep{Do: rotate, Body: `{"use":"enc"}`, Status: 400, Code: "E0000001",
			Equal: serverValues{"errorSummary": "Api validation failed: rotateKeys"}},
		serverStep{Do: rotate, Status: 400, Code: "E0000003"},
		serverStep{Name: "a rejected rotation changes nothing", Do: "GET " + at, Equal: serverValues{"#": 2, "0.kid": "{{a}}"}},
		serverStep{Do: rotate, Body: `{"use":"sig"}`,
			Equal: serverValues{"#": 3, "0.kid": "{{b}}", "0.status": "ACTIVE", "2.kid": "{{a}}", "2.status": "EXPIRED"},
			Save:  serverSaved{"c": "1.kid"}},
		serverStep{Do: "GET " + servers + "/default",
			Equal: serverValues{"credentials.signing.kid": "{{b}}", "credentials.signing.lastRotated": serverHour}},
		serverStep{Do: "GET " + at + "/nobody", Status: 404, Code: "E0000007"},
		serverStep{Do: "GET " + servers + "/nobody/credentials/keys", Status: 404, Code: "E0000007"},
	)
	wait(t, e, 90*24*time.Hour-time.Second)
	e.Run(t,
		serverStep{Name: "the key does not change before the end of the period", Do: "GET " + at, Then: func(t *testing.T, a *apitest.Answer) {
			require.Equal(t, kids["b"], a.Value("0.kid"))
		}})
	e.Clock.Advance(time.Second)
	e.Run(t,
		serverStep{Name: "the key changes automatically", Do: "GET " + at, Equal: serverValues{"#": 3, "0.status": "ACTIVE"},
			Then: func(t *testing.T, a *apitest.Answer) {
				require.Equal(t, kids["c"], a.Value("0.kid"))
				require.Equal(t, kids["b"], a.Value("2.kid"))
			}},
		serverStep{Do: "GET " + servers + "/default",
			Equal: serverValues{"credentials.signing.lastRotated": "2026-06-02T05:06:07.000Z",
				"credentials.signing.nextRotation": "2026-08-31T05:06:07.000Z"}},
		serverStep{Do: "GET /api/v1/logs?filter=eventType+eq+%22app.oauth2.as.key.rollover%22&since=2026-03-05T00:00:00Z",
			Equal: serverValues{"#": 1, "0.actor.type": "SystemPrincipal", "0.transaction.type": "JOB"}},
		serverStep{Do: "PUT " + servers + "/default",
			Body:  `{"name":"default","audiences":["api://default"],"credentials":{"signing":{"rotationMode":"MANUAL"}}}`,
			Equal: serverValues{"credentials.signing.kid": kids["c"]}},
	)
	wait(t, e, 400*24*time.Hour)
	e.Run(t,
		serverStep{Name: "without requests the key does not change", Do: "GET " + servers + "/default",
			Equal: serverValues{"credentials.signing.kid": kids["c"], "credentials.signing.lastRotated": "2026-06-02T05:06:07.000Z"}})
}

// Proves A-servers-38.
func TestRotationMode_SwitchKeepsKey(t *testing.T) {
	const keys = servers + "/default/credentials/keys"
	mode := func(name string) string {
		return fmt.Sprintf(`{"name":"default","audiences":["api://default"],"credentials":{"signing":{"rotationMode":%q}}}`, name)
	}
	day := 24 * time.Hour
	for _, away := range []time.Duration{time.Hour, 90 * day, 125 * day, 200 * day} {
		t.Run(away.String(), func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t))
			at := func() string { return e.Clock.Now().Truncate(time.Second).Format("2006-01-02T15:04:05.000Z") }
			begin := at()
			saved := e.Run(t,
				serverStep{Do: "GET " + keys, Save: serverSaved{"kid": "0.kid", "next": "1.kid"}},
				serverStep{Do: "PUT " + servers + "/default", Body: mode("MANUAL"), Equal: serverValues{"credentials.signing.kid": "{{kid}}"},
					Lacks: []string{"credentials.signing.nextRotation"}},
			)
			wait(t, e, away)
			same := serverValues{"credentials.signing.kid": saved["kid"], "credentials.signing.lastRotated": begin}
			due := e.Clock.Now().Add(model.RotationPeriod).Truncate(time.Second).Format("2006-01-02T15:04:05.000Z")
			e.Run(t,
				serverStep{Name: "manual", Do: "GET " + servers + "/default", Equal: same},
				serverStep{Name: "switch to AUTO", Do: "PUT " + servers + "/default", Body: mode("AUTO"), Equal: same},
				serverStep{Name: "the period starts at the switch", Do: "GET " + servers + "/default", Equal: serverValues{
					"credentials.signing.kid": saved["kid"], "credentials.signing.lastRotated": begin, "credentials.signing.nextRotation": due,
				}},
				serverStep{Name: "no key was added", Do: "GET " + keys, Equal: serverValues{"#": 2, "0.kid": saved["kid"], "1.kid": saved["next"]}},
				serverStep{Name: "no rotation is logged", Do: "GET /api/v1/logs?filter=eventType+eq+%22app.oauth2.as.key.rollover%22",
					Equal: serverValues{"#": 0}},
			)
			wait(t, e, model.RotationPeriod-time.Second)
			e.Run(t,
				serverStep{Name: "no rotation before the end of the period", Do: "GET " + servers + "/default",
					Equal: serverValues{"credentials.signing.kid": saved["kid"]}})
			e.Clock.Advance(10 * time.Hour)
			e.Run(t, serverStep{Name: "automatic rotation at the end of the period", Do: "GET " + servers + "/default", Equal: serverValues{
				"credentials.signing.kid": saved["next"], "credentials.signing.lastRotated": at(),
			}})
			wait(t, e, 2*model.RotationPeriod)
			e.Run(t,
				serverStep{Name: "switch to MANUAL with a rotation pending", Do: "PUT " + servers + "/default", Body: mode("MANUAL"),
					Equal: serverValues{"credentials.signing.kid": saved["next"]}})
		})
	}
}

// wait advances the clock in steps that keep the API token in use.
func wait(t *testing.T, e *apitest.Env, d time.Duration) {
	t.Helper()
	for most := 29 * 24 * time.Hour; d > 0; d -= most {
		e.Clock.Advance(min(d, most))
		e.Do(t, "GET /api/v1/users/me", "", nil)
	}
}
