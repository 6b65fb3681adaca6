package slicetest_test

import (
	"net/url"
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// TestUserSchema_SearchRulesTemplates checks that searches, group rules and user name templates use the custom attributes of users.
func TestUserSchema_SearchRulesTemplates(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	search := func(expression string) string {
		return "GET /api/v1/users?sortBy=profile.shoe&search=" + url.QueryEscape(expression)
	}
	found := func(expression string, logins ...string) apitest.Step {
		equal := map[string]any{"#": len(logins)}
		for i, login := range logins {
			equal[string(rune('0'+i))+".profile.firstName"] = "A"
			equal[string(rune('0'+i))+".profile.login"] = login + "@example.com"
		}
		return apitest.Step{Name: expression, Do: search(expression), Equal: equal}
	}
	refused := func(expression string) apitest.Step {
		return apitest.Step{Name: "refused: " + expression, Do: search(expression), Status: 400, Code: "E0000031"}
	}
	rule := func(expression string) string {
		return `{"name":"tall","conditions":{"expression":{"value":"` + expression +
			`"}},"actions":{"assignUserToGroups":{"groupIds":["{{group}}"]}}}`
	}
	template := func(text string) string {
		return `{"name":"scim2_test_app","label":"HR","credentials":{"userNameTemplate":{"type":"CUSTOM","template":"` + text + `"}}}`
	}
	e.Run(t,
		refused(`profile.shoe gt 40`),
		apitest.Step{Do: schema,
			Body: schemaCustom(
				`"shoe":{"title":"Shoe","type":"number"},"driver":{"title":"Drives","type":"boolean"},"badge":{"title":"Badge","type":"string"},
			"skills":{"title":"Skills","type":"array","items":{"type":"string"}},
			"secret":{"title":"Secret","type":"string","mutability":"WRITE_ONLY"}`)},
		apitest.Step{Do: "POST /api/v1/users", Body: profile("a", `"shoe":41.5,"driver":true,"badge":"Äx","skills":["Go","scim"],"secret":"s"`),
			Save: map[string]string{"a": "id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: profile("b", `"shoe":-3,"driver":false,"badge":"b"`), Save: map[string]string{"b": "id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: profile("c", `"shoe":9`)},
		found(`profile.shoe gt 8`, "c", "a"), found(`profile.shoe le 9`, "b", "c"), found(`profile.shoe eq 41.5`, "a"),
		found(`profile.shoe pr`, "b", "c", "a"),
		found(`profile.driver eq true`, "a"), found(`profile.driver pr and profile.shoe lt 0`, "b"),
		found(`profile.badge sw "äX"`, "a"), found(`profile.badge eq "ax"`), found(`profile.badge lt "c"`, "b"),
		found(`profile.skills eq "go"`, "a"),
		refused(`profile.shoe eq "41.5"`), refused(`profile.shoe sw 4`), refused(`profile.driver eq "true"`), refused(`profile.driver gt true`),
		refused(`profile.badge co "x"`), refused(`profile.badge eq 3`), refused(`profile.secret eq "s"`), refused(`profile.nose pr`),

		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Tall"}}`, Save: map[string]string{"group": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/rules", Body: rule(`user.nose`), Status: 400, Code: "E0000001",
			Causes: []string{"conditions.expression: "}},
		apitest.Step{Do: "POST /api/v1/groups/rules", Body: rule(`user.shoe > 40 AND Arrays.contains(user.skills, \"Go\")`),
			Save: map[string]string{"rule": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/rules/{{rule}}/lifecycle/activate", Status: 204},
		apitest.Step{Do: "GET /api/v1/groups/{{group}}/users", Equal: map[string]any{"#": 1, "0.id": "{{a}}"}},
		apitest.Step{Do: "POST /api/v1/users/{{b}}", Body: `{"profile":{"shoe":44,"skills":["Go"]}}`},
		apitest.Step{Do: "GET /api/v1/groups/{{group}}/users", Equal: map[string]any{"#": 2}},

		apitest.Step{Do: "POST /api/v1/apps", Body: template("${source.nose}"), Status: 400, Code: "E0000001",
			Causes: []string{"credentials.userNameTemplate.template: "}},
		apitest.Step{Do: "POST /api/v1/apps", Body: template("${source.badge}-${source.shoe}"), Save: map[string]string{"app": "id"}},
		apitest.Step{Do: "POST /api/v1/apps/{{app}}/users", Body: `{"id":"{{b}}"}`, Equal: map[string]any{"credentials.userName": "b-44"}},

		apitest.Step{Name: "what is gone is null", Do: schema, Body: schemaCustom(`"shoe":null`)},
		apitest.Step{Do: "GET /api/v1/groups/{{group}}/users", Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "POST /api/v1/apps/{{app}}/users", Body: `{"id":"{{a}}"}`, Equal: map[string]any{"credentials.userName": "Äx-"}},
	)
}
