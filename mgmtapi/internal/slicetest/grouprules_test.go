package slicetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
)

// rule returns the body of a rule. The arguments after groups are excluded users.
func rule(name, expression string, groups []string, excluded ...string) string {
	if excluded == nil {
		excluded = []string{}
	}
	quoted := func(ids []string) string {
		out := make([]string, len(ids))
		for i, id := range ids {
			out[i] = fmt.Sprintf("%q", id)
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	return fmt.Sprintf(
		`{"type":"group_rule","name":%q,"status":"ACTIVE","conditions":{"people":{"users":{"exclude":%s},"groups":{"exclude":[]}},`+
			`"expression":{"value":%q,"type":"urn:svc:expression:1.0"}},"actions":{"assignUserToGroups":{"groupIds":%s}}}`, name, quoted(excluded),
		expression, quoted(groups))
}

func TestGroupRule_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		apitest.New(t, db).Run(t,
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Sales"}}`, Save: map[string]string{"g": "id"}},
			apitest.Step{Name: "a new rule is always inactive", Do: "POST /api/v1/groups/rules",
				Body: rule("Sellers", `user.department == "Sales"`, []string{"{{g}}", "{{g}}"}), Save: map[string]string{"r": "id"},
				Equal: map[string]any{"type": "group_rule", "name": "Sellers", "status": "INACTIVE", "conditions.people.users.exclude.#": 0,
					"conditions.people.groups.exclude.#": 0, "conditions.expression.value": `user.department == "Sales"`,
					"conditions.expression.type": "urn:svc:expression:1.0", "actions.assignUserToGroups.groupIds.#": 1, "allGroupsValid": true,
					"created": "2026-03-04T05:06:07.000Z"}, Lacks: []string{"_embedded"}},
			apitest.Step{Name: "the unique name is case-insensitive", Do: "POST /api/v1/groups/rules",
				Body:   rule("SELLERS", `true`, []string{"{{g}}"}),
				Status: 400, Code: "E0000001", Causes: []string{"name: An object with this field already exists"}},
			apitest.Step{Do: "GET /api/v1/groups/rules/{{r}}?expand=groupIdToGroupNameMap", Has: []string{"_embedded.groupIdToGroupNameMap"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Contains(t, a.Value("_embedded.groupIdToGroupNameMap"), "Sales")
				}},
			apitest.Step{Do: "POST /api/v1/groups/rules", Body: rule("All", `true`, []string{"{{g}}"})},
			apitest.Step{Do: "GET /api/v1/groups/rules", Equal: map[string]any{"#": 2, "0.id": "{{r}}"}, Has: []string{"link:self"},
				Lacks: []string{"link:next"}},
			apitest.Step{Do: "GET /api/v1/groups/rules?search=LLER", Equal: map[string]any{"#": 1, "0.id": "{{r}}"}},
			apitest.Step{Do: "GET /api/v1/groups/rules?limit=1&expand=groupIdToGroupNameMap", Equal: map[string]any{"#": 1},
				Has: []string{"0._embedded.groupIdToGroupNameMap"}, Save: map[string]string{"next": "link:next"}},
			apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"#": 1, "0.name": "All"}},
			apitest.Step{Do: "POST /api/v1/groups/rules/{{r}}/lifecycle/activate", Status: 204},
			apitest.Step{Name: "activating again changes nothing", Do: "POST /api/v1/groups/rules/{{r}}/lifecycle/activate", Status: 204},
			apitest.Step{Do: "GET /api/v1/groups/rules/{{r}}", Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Name: "an active rule cannot be changed", Do: "PUT /api/v1/groups/rules/{{r}}",
				Body: rule("Sellers", `true`, []string{"{{g}}"}), Status: 403, Code: "E0000107"},
			apitest.Step{Name: "an active rule cannot be deleted", Do: "DELETE /api/v1/groups/rules/{{r}}", Status: 403, Code: "E0000107"},
			apitest.Step{Do: "POST /api/v1/groups/rules/{{r}}/lifecycle/deactivate", Status: 204},
			apitest.Step{Name: "deactivating again changes nothing", Do: "POST /api/v1/groups/rules/{{r}}/lifecycle/deactivate", Status: 204},
			apitest.Step{Do: "PUT /api/v1/groups/rules/{{r}}", Body: rule("Selling", `user.department == "Sell"`, []string{"{{g}}"}),
				Equal: map[string]any{"name": "Selling", "status": "INACTIVE", "conditions.expression.value": `user.department == "Sell"`}},
			apitest.Step{Name: "a replacement may omit the groups", Do: "PUT /api/v1/groups/rules/{{r}}",
				Body:  `{"name":"Selling","conditions":{"expression":{"value":"false"}}}`,
				Equal: map[string]any{"actions.assignUserToGroups.groupIds.0": "{{g}}", "conditions.expression.value": "false"}},
			apitest.Step{Do: "DELETE /api/v1/groups/rules/{{r}}", Status: 202},
			apitest.Step{Do: "GET /api/v1/groups/rules/{{r}}", Status: 404, Code: "E0000007"},
			apitest.Step{Name: "the name can be used again", Do: "POST /api/v1/groups/rules", Body: rule("Selling", `true`, []string{"{{g}}"})},
		)
	})
}

func TestGroupRule_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	post := func(name, body string, causes ...string) apitest.Step {
		return apitest.Step{Name: name, Do: "POST /api/v1/groups/rules", Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	groups := make([]string, 101)
	for i := range groups {
		groups[i] = fmt.Sprint("g", i)
	}
	e.Run(t,
		apitest.Step{Name: "no body", Do: "POST /api/v1/groups/rules", Status: 400, Code: "E0000003"},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"H"}}`, Save: map[string]string{"h": "id"}},
		apitest.Step{Do: "GET /api/v1/groups?q=Everyone", Save: map[string]string{"everyone": "0.id"}},
		post("an empty object", `{}`, "name: The field cannot be left blank", "conditions.expression: The field cannot be left blank",
			"actions.assignUserToGroups.groupIds: The field cannot be left blank"),
		post("wrong types", `{"name":1,"conditions":[],"actions":{"assignUserToGroups":{"groupIds":"x"}}}`, "name: ", "conditions: ",
			"actions.assignUserToGroups.groupIds: "),
		post("a long name, another type, excluded groups",
			`{"type":"rule","name":"`+strings.Repeat("n", 51)+
				`","conditions":{"people":{"groups":{"exclude":["{{g}}"]}},"expression":{"value":"true","type":"x"}},`+
				`"actions":{"assignUserToGroups":{"groupIds":["{{g}}"]}}}`,
			"name: ", "type: The value must be one of: group_rule", "conditions.people.groups.exclude: ", "conditions.expression.type: "),
		post("an unknown attribute", rule("r", `user.shoeSize == "44"`, []string{"{{g}}"}),
			"conditions.expression: at character 6: unknown field shoeSize"),
		post("an expression with a string result", rule("r", `user.login`, []string{"{{g}}"}),
			"conditions.expression: at character 1: the expression is a string"),
		post("unknown and built-in groups", rule("r", `true`, []string{"{{g}}", "nowhere", "{{everyone}}"}),
			"actions.assignUserToGroups.groupIds[1]: ", "actions.assignUserToGroups.groupIds[2]: "),
		post("too many groups", rule("r", `true`, groups), "actions.assignUserToGroups.groupIds: "),
		post("unknown users", rule("r", `true`, []string{"{{g}}"}, "nobody"), "conditions.people.users.exclude[0]: "),
		post("too many users", rule("r", `true`, []string{"{{g}}"}, make([]string, 1001)...), "conditions.people.users.exclude: "),
		apitest.Step{Do: "POST /api/v1/groups/rules", Body: rule("r", `true`, []string{"{{g}}"}), Save: map[string]string{"r": "id"}},
		apitest.Step{Name: "other groups in a replacement", Do: "PUT /api/v1/groups/rules/{{r}}", Body: rule("", `nonsense(`, []string{"{{h}}"}),
			Status: 400, Code: "E0000001", Causes: []string{"name: ", "conditions.expression: ", "actions: "}},
		apitest.Step{Do: "GET /api/v1/groups/rules/nowhere", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "existence is checked before the body", Do: "PUT /api/v1/groups/rules/nowhere", Body: `{`, Status: 404,
			Code: "E0000007"},
		apitest.Step{Do: "DELETE /api/v1/groups/rules/nowhere", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "an id of another kind", Do: "POST /api/v1/groups/rules/{{g}}/lifecycle/activate", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST /api/v1/groups/rules/nowhere/lifecycle/deactivate", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET /api/v1/groups/rules?after=%21", Status: 400, Code: "E0000029"},
		apitest.Step{Do: "GET /api/v1/groups/rules?limit=none", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "DELETE /api/v1/groups/rules/{{r}}?removeUsers=maybe", Status: 400, Code: "E0000001"},
	)
}

// ruleWorld is a World with methods for rules and members.
type ruleWorld struct {
	*apptest.World
	t     *testing.T
	rules *int // number of created rules
}

func each(t *testing.T, fn func(t *testing.T, w ruleWorld)) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) { fn(t, ruleWorld{w, t, new(int)}) })
}

func (w ruleWorld) rule(expression string, groups []string, excluded ...string) string {
	w.t.Helper()
	*w.rules++
	return w.Post("/groups/rules", rule(fmt.Sprint("rule ", *w.rules), expression, groups, excluded...)).OK().Text("id")
}

func (w ruleWorld) active(expression string, groups ...string) string {
	w.t.Helper()
	id := w.rule(expression, groups)
	w.activate(id)
	return id
}

func (w ruleWorld) activate(rule string) {
	w.t.Helper()
	w.Post("/groups/rules/"+rule+"/lifecycle/activate", nil).OK(http.StatusNoContent)
}

func (w ruleWorld) deactivate(rule string) {
	w.t.Helper()
	w.Post("/groups/rules/"+rule+"/lifecycle/deactivate", nil).OK(http.StatusNoContent)
}

func (w ruleWorld) status(rule string) string {
	w.t.Helper()
	return w.Get("/groups/rules/" + rule).OK().Text("status")
}

func (w ruleWorld) set(user, attribute, value string) {
	w.t.Helper()
	w.Post("/users/"+user, map[string]any{"profile": map[string]any{attribute: value}}).OK()
}

func (w ruleWorld) members(group string, want ...string) {
	w.t.Helper()
	require.ElementsMatch(w.t, want, w.Get("/groups/"+group+"/users").IDs())
}

// logged returns the targets of the events of a type, oldest first.
func (w ruleWorld) logged(event string) (targets [][]string) {
	w.t.Helper()
	var events []struct {
		Target []struct {
			ID string `json:"id"`
		} `json:"target"`
	}
	w.Get("/logs?filter=eventType+eq+%22" + event + "%22").OK().Into(&events)
	for _, e := range events {
		var ids []string
		for _, target := range e.Target {
			ids = append(ids, target.ID)
		}
		targets = append(targets, ids)
	}
	return targets
}

func TestGroupRule_FollowsUserAttributes(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		g, h := w.Group("Sales"), w.Group("Travel")
		ada, bea := w.User("ada", "department", "Sales"), w.User("bea")
		staged, gone := w.StagedUser("staged", "department", "Sales"), w.User("gone", "department", "Sales")
		w.Post("/users/"+gone+"/lifecycle/deactivate", nil).OK()
		r := w.active(`user.department == "Sales"`, g, h)
		w.members(g, ada)
		w.members(h, ada)

		w.set(bea, "department", "Sales")
		w.members(g, ada, bea)
		w.set(ada, "department", "Cafeteria")
		w.members(g, bea)
		w.members(h, bea)
		cem := w.User("cem", "department", "Sales")
		w.members(g, bea, cem)
		w.Post("/users/"+staged+"/lifecycle/activate?sendEmail=false", nil).OK()
		w.members(g, bea, cem, staged)
		w.Post("/users/"+bea+"/lifecycle/suspend", nil).OK()
		w.members(g, bea, cem, staged)
		w.Post("/users/"+cem+"/lifecycle/deactivate", nil).OK()
		w.members(g, bea, staged)
		require.Equal(t, [][]string{{r, bea}, {r, ada}, {r, cem}, {r, staged}}, w.logged("group.user_membership.rule.trigger")[:4])

		w.deactivate(r)
		w.set(bea, "department", "Cafeteria")
		w.User("dan", "department", "Sales")
		w.members(g, bea, staged)
		w.activate(r)
		require.NotContains(t, w.Get("/groups/"+g+"/users").IDs(), bea, "the user no longer matches")
		require.Len(t, w.Get("/groups/"+g+"/users").IDs(), 2)
	})
}

func TestGroupRule_KeepsManualMemberships(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		ada, bea := w.User("ada", "city", "Rome"), w.User("bea", "city", "Rome")
		g := w.Group("Rome", ada)
		r := w.active(`user.city == "Rome"`, g)
		w.members(g, ada, bea)
		w.set(ada, "city", "Oslo")
		w.set(bea, "city", "Oslo")
		w.members(g, ada)

		w.set(bea, "city", "Rome")
		w.Leave(g, bea) // the removal by a client excludes bea from the rule
		w.members(g, ada)
		require.Equal(t, []any{bea}, w.Get("/groups/rules/"+r).OK().Value("conditions", "people", "users", "exclude"))
		w.set(bea, "nickName", "B")
		w.members(g, ada)
		w.Join(g, bea)
		w.set(bea, "city", "Oslo")
		w.members(g, ada, bea)

		w.Post("/users/"+bea+"/lifecycle/deactivate", nil).OK()
		w.Delete("/users/" + bea).OK(http.StatusNoContent)
		require.Equal(t, []any{}, w.Get("/groups/rules/"+r).OK().Value("conditions", "people", "users", "exclude"))
	})
}

// TestGroupRule_RemovalExcludesUser checks that the removal of a user from one group of a rule excludes the user from all its groups.
func TestGroupRule_RemovalExcludesUser(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		ada := w.User("ada")
		g, h := w.Group("G"), w.Group("H")
		r := w.active(`true`, g, h)
		w.Leave(g, ada)
		require.NotContains(t, w.Get("/groups/"+h+"/users").IDs(), ada)
		w.deactivate(r)
		administrator := w.Get("/users/me").OK().Text("id")
		w.Leave(g, administrator) // the removal does not exclude the user, because the rule is inactive
		require.Equal(t, []any{ada}, w.Get("/groups/rules/"+r).OK().Value("conditions", "people", "users", "exclude"))
		w.Put("/groups/rules/"+r, rule("again", "true", []string{g, h}, administrator)).OK()
		w.activate(r)
		w.members(g, ada)
		w.members(h, ada)
	})
}

// TestGroupRule_OverlappingRules checks that a user remains a member as long as one rule assigns the group.
func TestGroupRule_OverlappingRules(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		ada := w.User("ada", "city", "Rome", "title", "Boss")
		g := w.Group("G")
		rome, boss := w.active(`user.city == "Rome"`, g), w.active(`user.title == "Boss"`, g)
		w.set(ada, "city", "Oslo")
		w.members(g, ada)
		w.set(ada, "city", "Rome")
		w.deactivate(rome)
		w.Delete("/groups/rules/" + rome + "?removeUsers=true").OK(http.StatusAccepted)
		w.members(g, ada)
		w.deactivate(boss)
		w.Delete("/groups/rules/" + boss + "?removeUsers=true").OK(http.StatusAccepted)
		w.members(g)

		kept := w.active(`user.city == "Rome"`, g)
		w.deactivate(kept)
		w.Delete("/groups/rules/" + kept).OK(http.StatusAccepted)
		w.members(g, ada)
		w.set(ada, "city", "Oslo")
		w.members(g, ada)
	})
}

func TestGroupRule_GroupExpressions(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		ada := w.User("ada")
		a, b, c := w.Group("A"), w.Group("B"), w.Group("C")
		// The rules are created in reverse order of their dependencies, so that a single evaluation of each is not enough.
		w.active(`isMemberOfGroup("`+b+`")`, c)
		w.active(`isMemberOfGroupName("A")`, b)
		w.Join(a, ada)
		w.members(c, ada)
		w.Put("/groups/"+a, `{"profile":{"name":"Z"}}`).OK()
		w.members(c)
		w.members(b)
		w.Put("/groups/"+a, `{"profile":{"name":"A"}}`).OK()
		w.members(c, ada)

		w.active(`isMemberOfGroup("`+c+`")`, b) // two rules that test each other's groups keep no member
		w.members(b, ada)
		w.Leave(a, ada)
		w.members(b)
		w.members(c)
		w.Join(a, ada)
		w.members(c, ada)
		w.Delete("/groups/" + a).OK(http.StatusNoContent)
		w.members(b)
		w.members(c)
	})
}

func TestGroupRule_ContradictingRules(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		ada := w.User("ada")
		a, b := w.Group("A"), w.Group("B")
		w.active(`isMemberOfGroup("`+a+`") AND user.login != "ada@example.com"`, b)
		other := w.rule(`NOT isMemberOfGroup("`+b+`")`, []string{a})
		w.Post("/groups/rules/"+other+"/lifecycle/activate", nil).Fails(400, "E0000001", "conditions.expression: The rule conflicts with others")
		require.Equal(t, "INACTIVE", w.status(other))
		w.members(a)

		second := w.active(`NOT isMemberOfGroup("`+b+`") AND user.city == "Rome"`, a)
		w.set(ada, "city", "Rome")
		w.members(a, ada)
		require.Equal(t, "ACTIVE", w.status(second))
		bea := w.User("bea", "city", "Rome") // for bea, the rules contradict each other
		require.Equal(t, "INVALID", w.status(second))
		w.members(a, ada)
		w.members(b)
		require.Len(t, w.logged("group.user_membership.rule.invalidate"), 2)
		w.Post("/groups/rules/"+second+"/lifecycle/activate", nil).Fails(403, "E0000107")
		w.Post("/groups/rules/"+second+"/lifecycle/deactivate", nil).Fails(403, "E0000107")
		w.Put("/groups/rules/"+second, rule("fixed", `user.city == "Rome"`, []string{a})).OK()
		require.Equal(t, "INACTIVE", w.status(second))
		w.activate(second)
		w.members(a, ada, bea)
	})
}

func TestGroupRule_InvalidAfterGroupDeletion(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		ada := w.User("ada", "city", "Rome")
		g, h := w.Group("G"), w.Group("H")
		r, idle := w.active(`user.city == "Rome"`, g, h), w.rule(`true`, []string{g})
		w.Delete("/groups/" + g).OK(http.StatusNoContent)
		require.Equal(t, "INVALID", w.status(r))
		require.Equal(t, "INVALID", w.status(idle))
		require.Equal(t, [][]string{{r}, {idle}}, w.logged("group.user_membership.rule.invalidate"))
		answer := w.Get("/groups/rules/" + r + "?expand=groupIdToGroupNameMap").OK()
		require.Equal(t, false, answer.Value("allGroupsValid"))
		require.Equal(t, map[string]any{h: "H"}, answer.Value("_embedded", "groupIdToGroupNameMap"))
		w.members(h, ada)
		w.Put("/groups/rules/"+r, rule("r", "true", []string{g, h})).OK()
		require.Equal(t, "INVALID", w.status(r))
		w.Delete("/groups/rules/" + r + "?removeUsers=true").OK(http.StatusAccepted)
		w.members(h)
	})
}

func TestGroupRule_UpdatesAppAssignments(t *testing.T) {
	each(t, func(t *testing.T, w ruleWorld) {
		app := w.SCIMApp("Target")
		w.Connect(app, apptest.All)
		ada, g := w.User("ada"), w.Group("G")
		w.Put("/apps/"+app+"/groups/"+g, nil).OK()
		w.active(`user.department == "Sales"`, g)
		w.Get("/apps/"+app+"/users/"+ada).Fails(404, "E0000007")
		w.set(ada, "department", "Sales")
		require.Equal(t, "GROUP", w.Get("/apps/"+app+"/users/"+ada).OK().Text("scope"))
		user, err := w.Desired.User(t.Context(), app, ada)
		require.NoError(t, err)
		require.Equal(t, desired.Active, user.Want)
		w.set(ada, "department", "Cafeteria")
		w.Get("/apps/"+app+"/users/"+ada).Fails(404, "E0000007")
	})
}
