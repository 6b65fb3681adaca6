package slicetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

const (
	allRules = "/api/v1/policies/{{id}}/rules"
	oneRule  = allRules + "/{{rule}}"
)

// demands is a rule that demands a factor, with further members.
func demands(name, more string) string {
	return fmt.Sprintf(`{"type":"SIGN_ON","name":%q,"actions":{"signon":{"access":"ALLOW","requireFactor":true}}%s}`, name, more)
}

var signOn = apitest.Step{Do: "GET /api/v1/policies?type=SVC_SIGN_ON", Save: map[string]string{"id": "0.id"}}

func TestSignOnRules(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			signOn,
			apitest.Step{Do: "GET " + allRules,
				Equal: map[string]any{"#": 1, "0.system": true, "0.priority": 1, "0.actions.signon.requireFactor": false,
					"0.conditions.people.groups.include.0": "EVERYONE"}, Save: map[string]string{"own": "0.id"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Careful"}}`, Save: map[string]string{"group": "id"}},
			apitest.Step{Do: "POST " + allRules,
				Body: demands("Two",
					`,"conditions":{"people":{"groups":{"include":["{{group}}"]}},"network":{"connection":"ANYWHERE"},"authContext":{"authType":"ANY"}}`),
				Save: map[string]string{"rule": "id"},
				Equal: map[string]any{"type": "SIGN_ON", "status": "ACTIVE", "priority": 1, "system": false,
					"conditions.people.groups.include.0": "{{group}}", "conditions.people.users.include.#": 0,
					"actions.signon.access": "ALLOW", "actions.signon.requireFactor": true, "actions.signon.factorPromptMode": "ALWAYS"},
				Has: []string{"_links.deactivate", "_links.self"}, Lacks: []string{"_links.activate"}},
			apitest.Step{Name: "without people it is for everyone", Do: "POST " + allRules,
				Body: `{"name":"Deny","status":"INACTIVE","priority":1,"actions":{"signon":{"access":"DENY"}}}`, Save: map[string]string{"deny": "id"},
				Equal: map[string]any{"priority": 1, "status": "INACTIVE", "conditions.people.groups.include.0": "EVERYONE",
					"actions.signon.access": "DENY"}, Has: []string{"_links.activate"}},
			apitest.Step{Do: "GET " + allRules,
				Equal: map[string]any{"#": 3, "0.id": "{{deny}}", "1.id": "{{rule}}", "1.priority": 2, "2.id": "{{own}}", "2.priority": 3}},
			apitest.Step{Do: "GET " + oneRule, Equal: map[string]any{"name": "Two", "priority": 2}, Then: func(t *testing.T, a *apitest.Answer) {
				self := a.Value("_links.self.href")
				back := e.Do(t, "PUT "+self, string(a.Body), nil)
				require.JSONEq(t, string(a.Body), string(back.Body), "what was read can be written back")
			}},
			apitest.Step{Do: "PUT " + oneRule, Body: demands("Second", `,"priority":1,"conditions":{"people":{"users":{"exclude":["{{own}}x"]}}}`),
				Status: 400, Code: "E0000001", Causes: []string{"conditions.people.users.exclude[0]: "}},
			apitest.Step{Name: "with nothing but exclusions it is for the others", Do: "PUT " + oneRule,
				Body: demands("Second", `,"priority":1,"conditions":{"people":{"groups":{"exclude":["{{group}}"]}}}`),
				Equal: map[string]any{"name": "Second", "priority": 1, "conditions.people.groups.include.0": "EVERYONE",
					"conditions.people.groups.exclude.0": "{{group}}"}},
			apitest.Step{Name: "an empty include is nobody", Do: "PUT " + oneRule,
				Body:  demands("Second", `,"conditions":{"people":{"groups":{"include":[]}}}`),
				Equal: map[string]any{"priority": 1, "conditions.people.groups.include.#": 0}},
			apitest.Step{Do: "POST " + oneRule + "/lifecycle/deactivate", Status: 204},
			apitest.Step{Do: "GET " + oneRule, Equal: map[string]any{"status": "INACTIVE"}},
			apitest.Step{Do: "POST " + oneRule + "/lifecycle/activate", Status: 204},
			apitest.Step{Do: "GET " + oneRule, Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Do: "DELETE " + oneRule, Status: 204},
			apitest.Step{Do: "GET " + oneRule, Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+sw+%22policy.rule%22",
				Equal: map[string]any{"#": 8, "0.target.1.displayName": "Default Policy"}},
		)
	})
}

func TestSignOnRules_RejectBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	invalid := func(name, body string, causes ...string) apitest.Step {
		return apitest.Step{Name: name, Do: "POST " + allRules, Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	saved := e.Run(t,
		signOn,
		apitest.Step{Do: "GET " + allRules, Save: map[string]string{"own": "0.id"}},
		invalid("nothing", `{}`, "name: ", "actions: "),
		invalid("no action", `{"name":"A","actions":{}}`, "actions.signon: "),
		invalid("no access", `{"name":"A","actions":{"signon":{}}}`, "actions.signon.access: "),
		invalid("access that is none", `{"name":"A","actions":{"signon":{"access":"MAYBE"}}}`, "actions.signon.access: "),
		invalid("a denial with a factor", `{"name":"A","actions":{"signon":{"access":"DENY","requireFactor":true}}}`,
			"actions.signon.requireFactor: "),
		invalid("a mode that is not served",
			`{"name":"A","actions":{"signon":{"access":"ALLOW","requireFactor":true,"factorPromptMode":"DEVICE"}}}`,
			"actions.signon.factorPromptMode: "),
		invalid("networks that are not served", demands("A", `,"conditions":{"network":{"connection":"ZONE"}}`),
			"conditions.network.connection: "),
		invalid("another type", `{"type":"PASSWORD","name":"A","actions":{"signon":{"access":"ALLOW"}}}`, "type: "),
		invalid("the name of the rule of the system", demands("default rule", ""), "name: "),
		invalid("spaces", demands("  ", ""), "name: "),
		invalid("users and groups of nobody", demands("A", `,"conditions":{"people":{"users":{"include":["x"]},"groups":{"include":["y"]}}}`),
			"conditions.people.users.include[0]: ", "conditions.people.groups.include[0]: "),
		apitest.Step{Do: "POST " + allRules, Body: demands("A", ""), Save: map[string]string{"rule": "id"}},
		invalid("a name that is taken", demands("a", ""), "name: "),
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}/rules/{{own}}", Body: demands("B", ""), Status: 400, Code: "E0000001",
			Causes: []string{"ruleId: "}},
		apitest.Step{Do: "DELETE /api/v1/policies/{{id}}/rules/{{own}}", Status: 400, Code: "E0000001", Causes: []string{"ruleId: "}},
		apitest.Step{Do: "POST /api/v1/policies/{{id}}/rules/{{own}}/lifecycle/deactivate", Status: 400, Code: "E0000001",
			Causes: []string{"ruleId: "}},
		apitest.Step{Do: "GET /api/v1/policies/{{id}}/rules/{{own}}", Equal: map[string]any{"system": true}},
		apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD", Save: map[string]string{"password": "0.id"}},
		apitest.Step{Name: "of another policy", Do: "GET /api/v1/policies/{{password}}/rules/{{rule}}", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST /api/v1/policies/{{password}}/rules", Body: demands("A", ""), Status: 501, Code: "E0000060"},
		apitest.Step{Do: "GET /api/v1/policies/{{password}}/rules", Equal: map[string]any{"#": 1}},
	)
	for i := range 99 {
		a := e.Do(t, "POST "+strings.ReplaceAll(allRules, "{{id}}", saved["id"]), demands(fmt.Sprint(i), ""), nil)
		require.Equal(t, 200, a.Status, "%s", a.Body)
	}
	require.Equal(t, 400, e.Do(t, "POST "+strings.ReplaceAll(allRules, "{{id}}", saved["id"]), demands("one too many", ""), nil).Status)
}

func TestEnrollmentPolicy_Password(t *testing.T) {
	on := func(o *assembly.Options) { o.OptionalPassword = true }
	put := func(of, settings string) string {
		return `{"type":"` + of + `","name":"Default Policy","settings":` + settings + `}`
	}
	const optional = `{"authenticators":[{"key":"svc_password","enroll":{"self":"OPTIONAL"}}]}`
	enrollment := apitest.Step{Do: "GET /api/v1/policies?type=MFA_ENROLL", Save: map[string]string{"id": "0.id"}}
	apitest.New(t, sqldbtest.SQLite(t), on).Run(t,
		enrollment,
		apitest.Step{Do: "GET /api/v1/policies/{{id}}",
			Equal: map[string]any{"settings.authenticators.0.key": "svc_password", "settings.authenticators.0.enroll.self": "REQUIRED"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: put("MFA_ENROLL", optional),
			Equal: map[string]any{"settings.authenticators.0.enroll.self": "OPTIONAL"}},
		apitest.Step{Do: "GET /api/v1/policies/{{id}}", Equal: map[string]any{"settings.authenticators.0.enroll.self": "OPTIONAL"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}",
			Body: put("MFA_ENROLL", `{"authenticators":[{"key":"svc_email","enroll":{"self":"OPTIONAL"}}]}`), Status: 400, Code: "E0000001",
			Causes: []string{"settings.authenticators[0].key: "}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}",
			Body: put("MFA_ENROLL", `{"authenticators":[{"key":"svc_password","enroll":{"self":"MAYBE"}}]}`), Status: 400, Code: "E0000001",
			Causes: []string{"settings.authenticators[0].enroll.self: "}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: put("MFA_ENROLL", `{"authenticators":[{"key":"svc_password"}]}`), Status: 400,
			Code: "E0000001", Causes: []string{"settings.authenticators[0].enroll: "}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: put("MFA_ENROLL", `{"password":{}}`), Status: 400, Code: "E0000001",
			Causes: []string{"settings: "}},
		apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD", Save: map[string]string{"password": "0.id"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{password}}", Body: put("PASSWORD", optional), Status: 400, Code: "E0000001",
			Causes: []string{"settings.authenticators: "}},
		apitest.Step{Name: "what is left out goes back", Do: "PUT /api/v1/policies/{{id}}", Body: put("MFA_ENROLL", `{}`),
			Equal: map[string]any{"settings.authenticators.0.enroll.self": "REQUIRED"}},
	)
	apitest.New(t, sqldbtest.SQLite(t)).Run(t,
		enrollment,
		apitest.Step{Do: "GET /api/v1/policies/{{id}}", Lacks: []string{"settings"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: put("MFA_ENROLL", optional), Status: 400, Code: "E0000001",
			Causes: []string{"settings.authenticators: Optional Password is not enabled"}},
	)
}
