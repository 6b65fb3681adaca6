package slicetest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const (
	userAdmin = "KVJUKUS7IFCE2SKO"
	appAdmin  = "IFIFAX2BIRGUSTQ"
)

func rolePerson(login string) string {
	return fmt.Sprintf(`{"profile":{"login":"%[1]s@example.com","email":"%[1]s@example.com","firstName":"A","lastName":"B"},`+
		`"credentials":{"password":{"value":"Tlpwd-2026"}}}`, login)
}

func roleBookmark(label string) string {
	return fmt.Sprintf(`{"name":"bookmark","label":%q,"settings":{"app":{"url":"https://example.com"}}}`, label)
}

// roleClient stores an OAuth client of a type and returns its client id.
func roleClient(t *testing.T, e *apitest.Env, kind string) string {
	t.Helper()
	id := model.NewID(model.KindApp)
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		_, err := e.Model.Apps.Insert(t.Context(), tx, id, model.App{
			Name: "oidc_client", Label: "C", Status: model.AppActive, SignOnMode: catalog.OpenIDConnect,
			Credentials: model.AppCredentials{OAuthClient: &model.AppOAuthClient{ID: "client-" + kind}},
			Settings:    model.AppSettings{OAuthClient: &model.AppOAuthSettings{ApplicationType: kind}},
		})
		return err
	}))
	return "client-" + kind
}

// Users, groups and clients have the same operations.
//
// Proves B-assignments-01, B-assignments-02, B-assignments-04, B-assignments-05, B-assignments-07, B-assignments-08,
// B-assignments-09, B-assignments-10, B-assignments-15, B-assignments-16, B-assignments-17, B-assignments-18, B-assignments-19,
// B-targets-01, B-targets-02, B-targets-04, B-targets-05, B-targets-06, B-targets-07, B-targets-08, B-targets-09, B-targets-11,
// B-targets-12, B-targets-13, B-targets-14, B-targets-15, B-targets-16, B-targets-18, B-targets-20, B-targets-21.
func TestAssignment_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		saved := e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: rolePerson("ann"), Save: map[string]string{"ann": "id"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Admins"}}`, Save: map[string]string{"g": "id"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"West","description":"x"}}`, Save: map[string]string{"t1": "id"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"East"}}`, Save: map[string]string{"t2": "id"}},
			apitest.Step{Do: "POST /api/v1/apps", Body: roleBookmark("B1"), Save: map[string]string{"a1": "id"}},
			apitest.Step{Do: "POST /api/v1/apps", Body: roleBookmark("B2"), Save: map[string]string{"a2": "id"}},
			apitest.Step{Do: "POST /api/v1/iam/roles", Body: `{"label":"R","description":"x","permissions":["svc.users.read"]}`,
				Save: map[string]string{"r": "id"}},
			apitest.Step{Do: "POST /api/v1/iam/resource-sets", Body: `{"label":"S","description":"x","resources":["/api/v1/users"]}`,
				Save: map[string]string{"s": "id"}},
		)
		saved["c"] = roleClient(t, e, "service")
		for kind, at := range map[string]string{
			"USER": "/api/v1/users/" + saved["ann"], "GROUP": "/api/v1/groups/" + saved["g"], "CLIENT": "/oauth2/v1/clients/" + saved["c"],
		} {
			prefix := map[string]string{"USER": "ra1", "GROUP": "gra", "CLIENT": "rac"}[kind]
			groups, apps := at+"/roles/"+userAdmin+"/targets/groups", at+"/roles/"+appAdmin+"/targets/catalog/apps"
			t1, t2, a1, a2 := saved["t1"], saved["t2"], saved["a1"], saved["a2"]
			e.Run(t,
				apitest.Step{Do: "GET " + at + "/roles", Equal: map[string]any{"#": 0}},
				apitest.Step{Do: "POST " + at + "/roles?disableNotifications=true", Body: `{"type":"ORG_ADMIN"}`, Status: 201,
					Save:  map[string]string{"id": "id"},
					Equal: map[string]any{"label": "Organization Administrator", "type": "ORG_ADMIN", "status": "ACTIVE", "assignmentType": kind},
					Has:   []string{"_links.assignee", "created", "lastUpdated"}, Lacks: []string{"role", "resource-set"},
					Then: func(t *testing.T, a *apitest.Answer) { require.Regexp(t, "^"+prefix+"[0-9A-Za-z]{17}$", a.Value("id")) }},
				apitest.Step{Name: "a role comes once", Do: "POST " + at + "/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 409, Code: "E0000090"},
				apitest.Step{Do: "GET " + at + "/roles/{{id}}", Equal: map[string]any{"id": "{{id}}"}},
				apitest.Step{Name: "roles without targets", Do: "PUT " + at + "/roles/{{id}}/targets/groups/" + t1, Status: 400, Code: "E0000091"},
				apitest.Step{Do: "PUT " + at + "/roles/{{id}}/targets/catalog/apps/bookmark", Status: 400, Code: "E0000091"},
				apitest.Step{Do: "GET " + at + "/roles/{{id}}/targets/groups", Equal: map[string]any{"#": 0}},
				apitest.Step{Do: "DELETE " + at + "/roles/{{id}}", Status: 204},
				apitest.Step{Do: "DELETE " + at + "/roles/{{id}}", Status: 404, Code: "E0000007"},

				apitest.Step{Do: "POST " + at + "/roles", Body: `{"type":"CUSTOM","role":"` + saved["r"] + `","resource-set":"` + saved["s"] + `"}`,
					Status: 201, Save: map[string]string{"m": "id"},
					Equal: map[string]any{"role": saved["r"], "resource-set": saved["s"], "label": "R"},
					Has:   []string{"_links.member", "_links.role", "_links.resource-set", "_links.permissions"}},
				apitest.Step{Do: "POST " + at + "/roles", Body: `{"type":"CUSTOM","role":"` + saved["r"] + `","resource-set":"` + saved["s"] + `"}`,
					Status: 409, Code: "E0000090"},
				apitest.Step{Name: "the id of a role is none of an assignment", Do: "DELETE " + at + "/roles/" + saved["r"], Status: 404,
					Code: "E0000007"},
				apitest.Step{Name: "custom roles have no targets", Do: "PUT " + at + "/roles/{{m}}/targets/groups/" + t1, Status: 400,
					Code: "E0000091"},
				apitest.Step{Do: "GET " + at + "/roles/{{m}}/targets/groups", Status: 400, Code: "E0000091"},
				apitest.Step{Do: "DELETE " + at + "/roles/{{m}}", Status: 204},

				apitest.Step{Do: "POST " + at + "/roles", Body: `{"type":"USER_ADMIN"}`, Status: 201,
					Equal: map[string]any{"id": userAdmin, "label": "Group Administrator"}},
				apitest.Step{Do: "GET " + groups, Equal: map[string]any{"#": 0}},
				apitest.Step{Do: "PUT " + groups + "/" + t1, Status: 204},
				apitest.Step{Name: "a target that is there", Do: "PUT " + groups + "/" + t1, Status: 204},
				apitest.Step{Name: "the last target stays", Do: "DELETE " + groups + "/" + t1, Status: 400, Code: "E0000001",
					Causes: []string{"targets: The last target cannot be removed"}},
				apitest.Step{Name: "one that is none", Do: "DELETE " + groups + "/" + t2, Status: 404, Code: "E0000007"},
				apitest.Step{Name: "none at all", Do: "PUT " + groups + "/00g1", Status: 404, Code: "E0000007"},
				apitest.Step{Name: "an application is none of its targets", Do: "PUT " + at + "/roles/" + userAdmin + "/targets/catalog/apps/bookmark",
					Status: 400, Code: "E0000091"},
				apitest.Step{Do: "PUT " + groups + "/" + t2, Status: 204},
				apitest.Step{Do: "GET " + groups + "?limit=1", Equal: map[string]any{"#": 1, "0.id": t1, "0.profile.description": "x"},
					Save: map[string]string{"next": "link:next"}, Has: []string{"0._links.users", "0.objectClass"}},
				apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"#": 1, "0.id": t2}, Lacks: []string{"link:next"}},
				apitest.Step{Do: "GET " + groups + "?after=x", Status: 400, Code: "E0000029"},
				apitest.Step{Do: "DELETE " + groups + "/" + t1, Status: 204},

				apitest.Step{Do: "POST " + at + "/roles", Body: `{"type":"APP_ADMIN"}`, Status: 201, Equal: map[string]any{"id": appAdmin}},
				apitest.Step{Do: "PUT " + apps + "/bookmark/" + a1, Status: 204},
				apitest.Step{Do: "PUT " + apps + "/bookmark/" + a2, Status: 204},
				apitest.Step{Name: "an application of another name", Do: "PUT " + apps + "/zendesk/" + a1, Status: 404, Code: "E0000007"},
				apitest.Step{Name: "no catalog entry", Do: "PUT " + apps + "/nothing", Status: 404, Code: "E0000007"},
				apitest.Step{Name: "a group is none of its targets", Do: "PUT " + at + "/roles/" + appAdmin + "/targets/groups/" + t1, Status: 400,
					Code: "E0000091"},
				apitest.Step{Do: "DELETE " + apps + "/bookmark/" + a2, Status: 204},
				apitest.Step{Do: "GET " + apps, Equal: map[string]any{"#": 1, "0.id": a1, "0.name": "B1", "0.status": "ACTIVE"}},
				apitest.Step{Name: "a catalog entry takes the place of its applications", Do: "PUT " + apps + "/bookmark", Status: 204},
				apitest.Step{Do: "PUT " + apps + "/bookmark", Status: 204},
				apitest.Step{Do: "GET " + apps, Equal: map[string]any{"#": 1, "0.name": "bookmark", "0.signOnModes.0": "BOOKMARK"},
					Has: []string{"0._links.logo", "0.displayName", "0.verificationStatus"}, Lacks: []string{"0.id"}},
				apitest.Step{Name: "of which no application is another target", Do: "PUT " + apps + "/bookmark/" + a1, Status: 400, Code: "E0000001"},
				apitest.Step{Do: "DELETE " + apps + "/bookmark", Status: 400, Code: "E0000001", Causes: []string{"targets"}},
				apitest.Step{Do: "PUT " + apps + "/zendesk", Status: 204},
				apitest.Step{Do: "DELETE " + apps + "/bookmark", Status: 204},
				apitest.Step{Do: "GET " + at + "/roles?expand=targets/groups", Equal: map[string]any{"#": 2, "0._embedded.targets.groups.0.id": t2}},
				apitest.Step{Do: "GET " + at + "/roles?expand=targets/catalog/apps",
					Equal: map[string]any{"1._embedded.targets.catalog.apps.0.name": "zendesk"}},
				apitest.Step{Do: "POST " + at + "/roles", Body: `{"type":"ACCESS_REQUESTS_ADMIN"}`, Status: 201,
					Equal: map[string]any{"role": "ACCESS_REQUESTS_ADMIN", "resource-set": "ACCESS_REQUESTS_IAM_POLICY"}},

				apitest.Step{Name: "unknown types", Do: "POST " + at + "/roles", Body: `{"type":"KING"}`, Status: 400, Code: "E0000001",
					Causes: []string{"type: The value must be one of CUSTOM, SUPER_ADMIN"}},
				apitest.Step{Name: "no type", Do: "POST " + at + "/roles", Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"type"}},
				apitest.Step{Name: "half a custom role", Do: "POST " + at + "/roles", Body: `{"type":"CUSTOM"}`, Status: 400, Code: "E0000001",
					Causes: []string{"role", "resource-set"}},
				apitest.Step{Name: "no such role", Do: "POST " + at + "/roles", Body: `{"type":"CUSTOM","role":"x","resource-set":"S"}`, Status: 404,
					Code: "E0000007"},
				apitest.Step{Name: "no such set", Do: "POST " + at + "/roles", Body: `{"type":"CUSTOM","role":"R","resource-set":"x"}`, Status: 404,
					Code: "E0000007"},
				apitest.Step{Do: "POST " + at + "/roles", Status: 400, Code: "E0000003"},
				apitest.Step{Do: "POST " + at + "x/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 404, Code: "E0000007"},
				apitest.Step{Do: "GET " + at + "/roles/none", Status: 404, Code: "E0000007"},
			)
		}
		user := "/api/v1/users/" + saved["ann"] + "/roles/"
		e.Run(t,
			apitest.Step{Do: "GET " + user + userAdmin + "/targets", Equal: map[string]any{"#": 1, "0.assignmentType": "USER"},
				Has: []string{"0.orn", "0._links.self"}},
			apitest.Step{Do: "PUT " + user + appAdmin + "/targets/catalog/apps"},
			apitest.Step{Name: "without targets, it is not limited", Do: "GET " + user + appAdmin + "/targets", Equal: map[string]any{"#": 0}},
			apitest.Step{Do: "PUT " + user + userAdmin + "/targets/catalog/apps", Status: 400, Code: "E0000091"},
			apitest.Step{Do: "GET /api/v1/iam/assignees/users?limit=1", Equal: map[string]any{"value.#": 1},
				Save: map[string]string{"next": "_links.next.href"}},
			apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"value.#": 1, "value.0.id": saved["ann"]}, Lacks: []string{"_links"}},
			apitest.Step{Do: "GET /api/v1/iam/assignees/users?after=x", Status: 400, Code: "E0000029"},
		)
	})
}

// TestAssignment_RejectsInvalidAssignees checks that built-in groups, groups of active rules and web clients cannot have roles.
func TestAssignment_RejectsInvalidAssignees(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	web := roleClient(t, e, "web")
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/groups?q=Everyone", Save: map[string]string{"everyone": "0.id"}},
		apitest.Step{Name: "everybody", Do: "POST /api/v1/groups/{{everyone}}/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 400,
			Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Ruled"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/rules",
			Body: `{"type":"group_rule","name":"r","conditions":{"expression":{"type":"urn:svc:expression:1.0","value":"user.city == \"x\""}},` +
				`"actions":{"assignUserToGroups":{"groupIds":["{{g}}"]}}}`, Save: map[string]string{"rule": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/rules/{{rule}}/lifecycle/activate", Status: 204},
		apitest.Step{Name: "whom a rule finds", Do: "POST /api/v1/groups/{{g}}/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 400,
			Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Admins"}}`, Save: map[string]string{"admins": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/rules",
			Body: `{"type":"group_rule","name":"sleeping","conditions":{"expression":{"type":"urn:svc:expression:1.0","value":"user.city == ` +
				`\"x\""}},"actions":{"assignUserToGroups":{"groupIds":["{{admins}}"]}}}`, Save: map[string]string{"sleeping": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/{{admins}}/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 201},
		apitest.Step{Name: "nor may a rule find members of what has them", Do: "POST /api/v1/groups/rules/{{sleeping}}/lifecycle/activate",
			Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/groups/rules",
			Body: `{"type":"group_rule","name":"other","conditions":{"expression":{"type":"urn:svc:expression:1.0","value":"user.city == ` +
				`\"x\""}},"actions":{"assignUserToGroups":{"groupIds":["{{admins}}"]}}}`, Status: 400, Code: "E0000001"},
		apitest.Step{Name: "clients of people", Do: "POST /oauth2/v1/clients/" + web + "/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 400,
			Code: "E0000001"},
		apitest.Step{Name: "clients that there are not", Do: "GET /oauth2/v1/clients/0oa1/roles", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST /api/v1/apps", Body: roleBookmark("B"), Save: map[string]string{"app": "id"}},
		apitest.Step{Name: "applications that are no clients", Do: "GET /oauth2/v1/clients/{{app}}/roles", Status: 404, Code: "E0000007"},
	)
}

// Proves B-assignments-06.
func TestAssignment_ThroughGroups(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: rolePerson("ann"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Admins"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Others"}}`, Save: map[string]string{"h": "id"}},
		apitest.Step{Do: "POST /api/v1/iam/roles", Body: `{"label":"R","description":"x","permissions":["svc.users.read"]}`},
		apitest.Step{Do: "POST /api/v1/iam/resource-sets", Body: `{"label":"S","description":"x","resources":["/api/v1/users"]}`},
		apitest.Step{Do: "POST /api/v1/groups/{{g}}/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 201, Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "POST /api/v1/iam/resource-sets/S/bindings",
			Body: `{"role":"R","members":["/api/v1/groups/{{g}}","/api/v1/groups/{{h}}"]}`},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/{{u}}", Status: 204},
		apitest.Step{Do: "PUT /api/v1/groups/{{h}}/users/{{u}}", Status: 204},
		apitest.Step{Name: "each way is listed", Do: "GET /api/v1/users/{{u}}/roles",
			Equal: map[string]any{"#": 3, "0.id": "{{id}}", "0.assignmentType": "GROUP", "1.type": "CUSTOM", "2.type": "CUSTOM"}},
		apitest.Step{Do: "GET /api/v1/users/{{u}}/roles/{{id}}", Equal: map[string]any{"assignmentType": "GROUP"}},
		apitest.Step{Name: "and taken from the group only", Do: "DELETE /api/v1/users/{{u}}/roles/{{id}}", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET /api/v1/iam/assignees/users", Equal: map[string]any{"value.#": 2}},
		apitest.Step{Name: "roles go with their group", Do: "DELETE /api/v1/groups/{{g}}", Status: 204},
		apitest.Step{Do: "GET /api/v1/users/{{u}}/roles", Equal: map[string]any{"#": 1}},
		apitest.Step{Do: "GET /api/v1/iam/resource-sets/S/bindings/R/members", Equal: map[string]any{"members.#": 1}},
	)
}

func TestAssignment_KeepsLastSuperAdministrator(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	refused := func(do string) apitest.Step {
		return apitest.Step{Name: "refused: " + do, Do: do, Status: 400, Code: "E0000001",
			Causes: []string{"role: The last active user with the role SUPER_ADMIN cannot lose it"}}
	}
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/users/me/roles", Equal: map[string]any{"#": 1, "0.type": "SUPER_ADMIN", "0.label": "Super Administrator"},
			Save: map[string]string{"id": "0.id"}},
		refused("DELETE /api/v1/users/me/roles/{{id}}"),
		apitest.Step{Do: "POST /api/v1/users", Body: rolePerson("ann"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/users?activate=false", Body: rolePerson("new"), Save: map[string]string{"new": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{new}}/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201},
		refused("DELETE /api/v1/users/me/roles/{{id}}"),
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Super"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/{{g}}/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201, Save: map[string]string{"gid": "id"}},
		refused("DELETE /api/v1/users/me/roles/{{id}}"),
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/me", Status: 204},
		apitest.Step{Name: "the group is enough", Do: "DELETE /api/v1/users/me/roles/{{id}}", Status: 204},
		refused("DELETE /api/v1/groups/{{g}}/roles/{{gid}}"),
		refused("DELETE /api/v1/groups/{{g}}/users/me"),
		refused("DELETE /api/v1/groups/{{g}}"),
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/{{u}}", Status: 204},
		apitest.Step{Do: "DELETE /api/v1/groups/{{g}}/users/{{u}}", Status: 204},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate"},
		apitest.Step{Name: "a deactivation revokes roles", Do: "GET /api/v1/users/{{u}}/roles", Equal: map[string]any{"#": 0}},
		refused("DELETE /api/v1/groups/{{g}}"),
		apitest.Step{Name: "a suspended user keeps roles", Do: "POST /api/v1/users", Body: rolePerson("sue"), Save: map[string]string{"s": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{s}}/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201},
		apitest.Step{Do: "POST /api/v1/users/{{s}}/lifecycle/suspend"},
		apitest.Step{Do: "GET /api/v1/users/{{s}}/roles", Equal: map[string]any{"#": 1}},
		refused("DELETE /api/v1/groups/{{g}}"),
	)
}

// TestTargets_Deleted checks that the service removes a deleted target from its role assignment, and the assignment with its last target.
func TestTargets_Deleted(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: rolePerson("ann"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"A"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"B"}}`, Save: map[string]string{"h": "id"}},
		apitest.Step{Do: "POST /api/v1/apps", Body: roleBookmark("B"), Save: map[string]string{"a": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/roles", Body: `{"type":"USER_ADMIN"}`, Status: 201},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/roles", Body: `{"type":"APP_ADMIN"}`, Status: 201},
		apitest.Step{Do: "PUT /api/v1/users/{{u}}/roles/" + userAdmin + "/targets/groups/{{g}}", Status: 204},
		apitest.Step{Do: "PUT /api/v1/users/{{u}}/roles/" + userAdmin + "/targets/groups/{{h}}", Status: 204},
		apitest.Step{Do: "PUT /api/v1/users/{{u}}/roles/" + appAdmin + "/targets/catalog/apps/bookmark/{{a}}", Status: 204},
		apitest.Step{Do: "DELETE /api/v1/groups/{{g}}", Status: 204},
		apitest.Step{Do: "GET /api/v1/users/{{u}}/roles/" + userAdmin + "/targets/groups", Equal: map[string]any{"#": 1, "0.id": "{{h}}"}},
		apitest.Step{Name: "a role is not widened by the end of its last target: it ends too", Do: "DELETE /api/v1/groups/{{h}}", Status: 204},
		apitest.Step{Do: "POST /api/v1/apps/{{a}}/lifecycle/deactivate"},
		apitest.Step{Do: "DELETE /api/v1/apps/{{a}}", Status: 204},
		apitest.Step{Do: "GET /api/v1/users/{{u}}/roles", Equal: map[string]any{"#": 0}},
	)
}

func TestTargets_Limit(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	user := e.Do(t, "POST /api/v1/users", rolePerson("ann"), nil).Value("id")
	e.Run(t, apitest.Step{Do: "POST /api/v1/users/" + user + "/roles", Body: `{"type":"USER_ADMIN"}`, Status: 201})
	for i := range 101 {
		group := e.Do(t, "POST /api/v1/groups", fmt.Sprintf(`{"profile":{"name":"G%d"}}`, i), nil).Value("id")
		a := e.Do(t, "PUT /api/v1/users/"+user+"/roles/"+userAdmin+"/targets/groups/"+group, "", nil)
		if i < 100 {
			require.Equal(t, 204, a.Status)
		} else {
			require.Equal(t, "E0000093", a.Value("errorCode"))
		}
	}
}
