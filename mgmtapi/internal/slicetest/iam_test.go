package slicetest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

const (
	roles = "/api/v1/iam/roles"
	sets  = "/api/v1/iam/resource-sets"
)

func iamPerson(login string) string {
	return fmt.Sprintf(`{"profile":{"login":"%[1]s@example.com","email":"%[1]s@example.com","firstName":"A","lastName":"B"}}`, login)
}

// Proves B-permissions-02, B-permissions-06, B-permissions-07, B-permissions-08, B-permissions-09, B-permissions-10,
// B-permissions-11, B-permissions-12, B-roles-01, B-roles-02, B-roles-03, B-roles-04, B-roles-07, B-roles-08, B-roles-10,
// B-roles-12, B-roles-14.
func TestRole_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{Do: "POST " + roles,
				Body: `{"label":"Desk","description":"Helps","permissions":["svc.users.read","svc.groups.read","svc.users.read"]}`,
				Save: map[string]string{"r": "id", "self": "_links.self.href"}, Equal: map[string]any{"label": "Desk", "description": "Helps"},
				Has: []string{"created", "lastUpdated", "_links.permissions", "link:self"}, Lacks: []string{"permissions"}},
			apitest.Step{Do: "GET {{self}}", Equal: map[string]any{"id": "{{r}}"}},
			apitest.Step{Name: "a role by its label, case-insensitive", Do: "GET " + roles + "/DESK", Equal: map[string]any{"id": "{{r}}"}},
			apitest.Step{Do: "GET " + roles, Equal: map[string]any{"roles.#": 1, "roles.0.id": "{{r}}"}, Lacks: []string{"_links"}},
			apitest.Step{Do: "PUT " + roles + "/{{r}}", Body: `{"label":"Help desk","description":"Helps more"}`,
				Equal: map[string]any{"label": "Help desk"}, Has: []string{"link:self"}},
			apitest.Step{Name: "labels are unique", Do: "POST " + roles,
				Body: `{"label":"HELP desk","description":"x","permissions":["svc.users.read"]}`, Status: 400, Code: "E0000001",
				Causes: []string{"label: An object with this field already exists"}},
			apitest.Step{Name: "repeated permissions are stored once", Do: "GET " + roles + "/{{r}}/permissions",
				Equal: map[string]any{"permissions.#": 2, "permissions.0.label": "svc.users.read", "permissions.0.conditions": nil}},
			apitest.Step{Do: "POST " + roles + "/{{r}}/permissions/svc.users.userprofile.manage",
				Body: `{"conditions":{"exclude":{"svc:ResourceAttribute/User/Profile":["costCenter","costCenter"]}}}`, Status: 204},
			apitest.Step{Name: "a permission can be added only once", Do: "POST " + roles + "/{{r}}/permissions/svc.users.userprofile.manage",
				Status: 400,
				Code:   "E0000001"},
			apitest.Step{Do: "GET " + roles + "/{{r}}/permissions/svc.users.userprofile.manage",
				Equal: map[string]any{"conditions.exclude.svc:ResourceAttribute/User/Profile.#": 1}, Has: []string{"_links.role", "_links.self"}},
			apitest.Step{Do: "PUT " + roles + "/{{r}}/permissions/svc.users.read",
				Body:  `{"conditions":{"include":{"svc:ResourceAttribute/User/Profile":["city"]}}}`,
				Equal: map[string]any{"conditions.include.svc:ResourceAttribute/User/Profile.0": "city"}},
			apitest.Step{Name: "without conditions, a permission applies to all resources", Do: "PUT " + roles + "/{{r}}/permissions/svc.users.read",
				Equal: map[string]any{"conditions": nil}},
			apitest.Step{Do: "POST " + roles + "/{{r}}/permissions/svc.apps.read", Status: 204},
			apitest.Step{Do: "DELETE " + roles + "/{{r}}/permissions/svc.apps.read", Status: 204},
			apitest.Step{Do: "DELETE " + roles + "/{{r}}/permissions/svc.apps.read", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "DELETE " + roles + "/{{r}}", Status: 204},
			apitest.Step{Do: "GET " + roles + "/{{r}}", Status: 404, Code: "E0000007"},
		)
	})
}

// Proves B-assignments-12, B-permissions-03, B-permissions-32, B-roles-09.
func TestRole_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	bad := func(name, body string, causes ...string) apitest.Step {
		return apitest.Step{Name: name, Do: "POST " + roles, Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	conditions := func(name, permission, body string) apitest.Step {
		return apitest.Step{Name: name, Do: "POST " + roles + "/{{r}}/permissions/" + permission, Body: body, Status: 400, Code: "E0000001"}
	}
	const cities = `{"svc:ResourceAttribute/User/Profile":["city"]}`
	e.Run(t,
		apitest.Step{Do: "POST " + roles, Status: 400, Code: "E0000003"},
		bad("all members are missing", `{}`, "label", "description", "permissions"),
		bad("members of wrong types", `{"label":1,"description":"x","permissions":"x"}`, "label", "permissions"),
		bad("no permissions", `{"label":"A","description":"x","permissions":[]}`, "permissions"),
		bad("unknown permissions", `{"label":"A","description":"x","permissions":["svc.users.fly"]}`, "permissions"),
		bad("governance permissions", `{"label":"A","description":"x","permissions":["svc.governance.accessRequests.manage"]}`, "permissions"),
		bad("permissions with the prefix of the vendor", `{"label":"A","description":"x","permissions":["svc.apps.manageFirstPartyApps"]}`,
			"permissions"),
		bad("a label like a standard role", `{"label":"ORG_ADMIN","description":"x","permissions":["svc.users.read"]}`, "label"),
		bad("a label like an id", `{"label":"cr0aaaaaaaaaaaaaaaaa","description":"x","permissions":["svc.users.read"]}`, "label"),
		bad("a long label", `{"label":"`+strings.Repeat("x", 256)+`","description":"x","permissions":["svc.users.read"]}`, "label"),
		apitest.Step{Name: "no rejected request has stored a role", Do: "GET " + roles, Equal: map[string]any{"roles.#": 0}},
		apitest.Step{Name: "unknown cursors", Do: "GET " + roles + "?after=x", Status: 400, Code: "E0000029"},
		apitest.Step{Do: "POST " + roles, Body: `{"label":"A","description":"x","permissions":["svc.users.read"]}`,
			Save: map[string]string{"r": "id"}},
		conditions("conditions on another permission", "svc.groups.read", `{"conditions":{"include":`+cities+`}}`),
		conditions("conditions without include and exclude", "svc.users.userprofile.manage", `{"conditions":{}}`),
		conditions("both", "svc.users.userprofile.manage", `{"conditions":{"include":`+cities+`,"exclude":`+cities+`}}`),
		conditions("no attribute", "svc.users.userprofile.manage", `{"conditions":{"include":{"svc:ResourceAttribute/User/Profile":[]}}}`),
		conditions("unknown attributes", "svc.users.userprofile.manage",
			`{"conditions":{"include":{"svc:ResourceAttribute/User/Profile":["wings"]}}}`),
		conditions("another key", "svc.users.userprofile.manage", `{"conditions":{"include":{"x":["city"]}}}`),
		conditions("an unknown permission", "svc.users.fly", ``),
		apitest.Step{Name: "a permission that the role lacks", Do: "PUT " + roles + "/{{r}}/permissions/svc.apps.read", Body: `{}`, Status: 404,
			Code: "E0000007"},
		apitest.Step{Do: "GET " + roles + "/{{r}}/permissions/svc.apps.read", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET " + roles + "/{{r}}/permissions", Equal: map[string]any{"permissions.#": 1}},
		apitest.Step{Name: "governance roles can be read", Do: "GET " + roles + "/ACCESS_REQUESTS_ADMIN",
			Equal: map[string]any{"id": "ACCESS_REQUESTS_ADMIN", "label": "Access Requests Administrator"}},
		apitest.Step{Do: "GET " + roles + "/ACCESS_CERTIFICATIONS_ADMIN/permissions",
			Equal: map[string]any{"permissions.0.label": "svc.governance.accessCertifications.manage"}},
		apitest.Step{Do: "GET " + sets + "/ACCESS_REQUESTS_IAM_POLICY", Equal: map[string]any{"id": "ACCESS_REQUESTS_IAM_POLICY"}},
		apitest.Step{Name: "governance roles cannot be changed", Do: "PUT " + roles + "/ACCESS_REQUESTS_ADMIN",
			Body: `{"label":"B","description":"x"}`, Status: 400,
			Code: "E0000001"},
		apitest.Step{Do: "DELETE " + roles + "/ACCESS_REQUESTS_ADMIN", Status: 400, Code: "E0000001"},
		apitest.Step{Name: "other standard roles are not custom roles", Do: "GET " + roles + "/ORG_ADMIN", Status: 404, Code: "E0000007"},
	)
}

// Proves B-sets-01, B-sets-04, B-sets-07, B-sets-13.
func TestSet_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		apps := url.QueryEscape(`name eq "bookmark"`)
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`,
				Save: map[string]string{"g": "id", "gurl": "_links.self.href"}},
			apitest.Step{Do: "POST /api/v1/apps", Body: `{"name":"bookmark","label":"B","settings":{"app":{"url":"https://example.com"}}}`,
				Save: map[string]string{"a": "id"}},
			apitest.Step{Do: "POST " + sets,
				Body: `{"label":"S","description":"some","resources":["{{gurl}}","/api/v1/groups/{{g}}","/api/v1/users","/api/v1/apps/{{a}}",` +
					`"/api/v1/apps?filter=` + apps + `"]}`,
				Save: map[string]string{"s": "id", "self": "_links.self.href"}, Has: []string{"_links.resources", "_links.bindings"},
				Lacks: []string{"resources"}},
			apitest.Step{Do: "GET {{self}}", Equal: map[string]any{"label": "S"}},
			apitest.Step{Do: "GET " + sets + "/s/resources", Equal: map[string]any{"resources.#": 4},
				Has: []string{"_links.resource-set", "resources.1._links.users"},
				Save: map[string]string{"orn": "resources.0.orn", "g1": "resources.0.id", "users": "resources.1.id", "usersOrn": "resources.1.orn",
					"apporn": "resources.2.orn", "appsOrn": "resources.3.orn"}},
			apitest.Step{Do: "GET " + sets + "?after=", Equal: map[string]any{"resource-sets.#": 1}},
			apitest.Step{Do: "GET " + sets + "/{{s}}/resources/{{g1}}", Equal: map[string]any{"_links.self.href": "{{gurl}}", "orn": "{{orn}}"},
				Has: []string{"_links.resource"}, Lacks: []string{"conditions"}},
			apitest.Step{Do: "PATCH " + sets + "/{{s}}/resources", Body: `{"additions":["{{orn}}:contained_resources","{{orn}}"]}`,
				Equal: map[string]any{"id": "{{s}}"}},
			apitest.Step{Name: "existing resources remain", Do: "GET " + sets + "/{{s}}/resources?limit=3", Equal: map[string]any{"resources.#": 3},
				Save: map[string]string{"next": "_links.next.href"}},
			apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"resources.#": 2}, Lacks: []string{"_links.next"}},
			apitest.Step{Do: "POST " + sets + "/{{s}}/resources",
				Body:  `{"resourceOrnOrUrl":"/api/v1/groups","conditions":{"Exclude":{"svc:ORN":["{{orn}}"]}}}`,
				Equal: map[string]any{"conditions.Exclude.svc:ORN.0": "{{orn}}"}, Has: []string{"_links.groups"},
				Save: map[string]string{"groups": "id"}},
			apitest.Step{Name: "a resource can be added only once", Do: "POST " + sets + "/{{s}}/resources",
				Body:   `{"resourceOrnOrUrl":"/api/v1/groups"}`,
				Status: 400, Code: "E0000001", Causes: []string{"resourceOrnOrUrl"}},
			apitest.Step{Do: "PUT " + sets + "/{{s}}/resources/{{groups}}", Body: `{}`, Lacks: []string{"conditions"}},
			apitest.Step{Name: "only collections have conditions", Do: "PUT " + sets + "/{{s}}/resources/{{g1}}",
				Body: `{"conditions":{"Exclude":{"svc:ORN":["{{orn}}"]}}}`, Status: 400, Code: "E0000001", Causes: []string{"conditions"}},
			apitest.Step{Name: "conditions can only exclude resources of the collection", Do: "PUT " + sets + "/{{s}}/resources/{{groups}}",
				Body: `{"conditions":{"Exclude":{"svc:ORN":["{{apporn}}"]}}}`, Status: 400, Code: "E0000001", Causes: []string{"conditions"}},
			apitest.Step{Name: "conditions must not be empty", Do: "PUT " + sets + "/{{s}}/resources/{{groups}}",
				Body:   `{"conditions":{"Exclude":{}}}`,
				Status: 400, Code: "E0000001", Causes: []string{"conditions"}},
			apitest.Step{Do: "DELETE " + sets + "/{{s}}/resources/{{groups}}", Status: 204},
			apitest.Step{Do: "GET " + sets + "/{{s}}/resources/{{groups}}", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "PUT " + sets + "/{{s}}", Body: `{"label":"T","description":"other"}`, Equal: map[string]any{"label": "T"}},
			apitest.Step{Name: "a deleted group is removed from the set", Do: "DELETE /api/v1/groups/{{g}}", Status: 204},
			apitest.Step{Do: "POST /api/v1/apps/{{a}}/lifecycle/deactivate"},
			apitest.Step{Do: "DELETE /api/v1/apps/{{a}}", Status: 204},
			apitest.Step{Do: "GET " + sets + "/T/resources",
				Equal: map[string]any{"resources.#": 2, "resources.0.orn": "{{usersOrn}}", "resources.1.orn": "{{appsOrn}}"}},
			apitest.Step{Do: "DELETE " + sets + "/{{s}}", Status: 204},
			apitest.Step{Do: "GET " + sets + "/{{s}}", Status: 404, Code: "E0000007"},
		)
	})
}

// Proves B-sets-02, B-sets-03.
func TestSet_RejectsInvalidResources(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	org := e.Do(t, "GET /api/v1/iam/assignees/users", "", nil).Value("value.0.orn")
	org = strings.Split(org, ":")[3]
	for _, resource := range []string{
		"", "users", "https://elsewhere.example/api/v1/users", "/api/v1/users/00u1", "/api/v1/groups/00g1", "/api/v1/apps?filter=label",
		"/api/v1/apps/0oa1",
		"/api/v1/users?limit=1", "/api/v1", "//x/api/v1/users", "/api/v1/groups/%zz", "orn:svc:directory:00o1:users",
		"orn:other:directory:" + org + ":users",
		"orn:svc:directory:" + org + ":groups:00g1", "orn:svc:directory:" + org + ":groups:", "orn:svc:directory:" + org + ":groups:00g1:other",
		"orn:svc:idp:" + org + ":apps:nothing", "orn:svc:idp:" + org + ":apps:bookmark:0oa1", "orn:svc:idp:" + org + ":users",
		"orn:svc:directory:" + org,
		"/api/v1/authorizationServers/aus1", "orn:svc:idp:" + org + ":authorization_servers:aus1", "orn:svc:iam:" + org + ":resource-sets:iam1",
	} {
		e.Run(t,
			apitest.Step{Name: "the resource " + resource, Do: "POST " + sets,
				Body: fmt.Sprintf(`{"label":"S","description":"x","resources":["/api/v1/users",%q]}`, resource), Status: 400, Code: "E0000001",
				Causes: []string{"resources"}})
	}
	many := `"/api/v1/users"` + strings.Repeat(`,"/api/v1/users"`, 1000)
	e.Run(t,
		apitest.Step{Do: "POST " + sets, Body: `{"label":"S","description":"x","resources":[` + many + `]}`, Status: 400, Code: "E0000001",
			Causes: []string{"resources"}},
		apitest.Step{Do: "POST " + sets, Body: `{"label":"S","description":"x","resources":[]}`, Status: 400, Code: "E0000001",
			Causes: []string{"resources"}},
		apitest.Step{Do: "POST " + sets, Body: `{"label":"iamaaaaaaaaaaaaaaaaa","resources":["/api/v1/users"]}`, Status: 400, Code: "E0000001",
			Causes: []string{"description", "label"}},
		apitest.Step{Do: "GET " + sets, Equal: map[string]any{"resource-sets.#": 0}},
		apitest.Step{Name: "the log shows the rejection",
			Do:    "GET /api/v1/logs?filter=eventType+eq+%22iam.resourceset.resources.add%22+and+outcome.result+eq+%22FAILURE%22&limit=1000",
			Equal: map[string]any{"#": 23, "1.outcome.reason": `resources: "users" is not a URL of this organization`}},
		apitest.Step{Name: "resources that the API does not serve are stored", Do: "POST " + sets,
			Body: `{"label":"S","description":"x","resources":["orn:svc:idp:` + org + `:customizations","orn:svc:workflow:` + org +
				`:flows","orn:svc:iam:` + org + `:contained_resources","/api/v1/authorizationServers"]}`},
		apitest.Step{Do: "GET " + sets + "/S/resources", Equal: map[string]any{"resources.#": 4}},
		apitest.Step{Name: "labels are unique", Do: "POST " + sets, Body: `{"label":"s","description":"x","resources":["/api/v1/users"]}`,
			Status: 400, Code: "E0000001", Causes: []string{"label"}},
		apitest.Step{Do: "GET " + sets + "/S/resources?after=x", Status: 400, Code: "E0000029"},
	)
}

// Proves B-assignments-03.
func TestBinding_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		saved := e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: iamPerson("ann"), Save: map[string]string{"ann": "id"}},
			apitest.Step{Do: "POST /api/v1/users", Body: iamPerson("bob"), Save: map[string]string{"bob": "id", "bobs": "_links.self.href"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"g": "id"}},
			apitest.Step{Do: "GET /api/v1/groups?q=Everyone", Save: map[string]string{"everyone": "0.id"}},
			apitest.Step{Do: "POST " + roles, Body: `{"label":"R","description":"x","permissions":["svc.users.read"]}`,
				Save: map[string]string{"r": "id"}},
			apitest.Step{Do: "POST " + sets, Body: `{"label":"S","description":"x","resources":["/api/v1/users"]}`,
				Save: map[string]string{"s": "id"}},
			apitest.Step{Do: "GET " + sets + "/S/bindings/R", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "PATCH " + sets + "/S/bindings/R/members", Body: `{"additions":["/api/v1/users/{{ann}}"]}`, Status: 404,
				Code: "E0000007"},
			apitest.Step{Do: "POST " + sets + "/S/bindings", Body: `{"role":"{{r}}","members":["/api/v1/users/{{ann}}","/api/v1/groups/{{g}}"]}`,
				Has: []string{"_links.self", "_links.bindings", "_links.resource-set"}},
			apitest.Step{Do: "GET " + sets + "/S/bindings", Equal: map[string]any{"roles.#": 1, "roles.0.id": "{{r}}"},
				Has: []string{"roles.0._links.members", "_links.resource-set", "_links.self"}, Lacks: []string{"_links.next"}},
			apitest.Step{Do: "GET " + sets + "/{{s}}/bindings/R", Equal: map[string]any{"id": "{{r}}"},
				Has: []string{"_links.members", "_links.bindings"}},
			apitest.Step{Name: "a second binding adds members", Do: "POST " + sets + "/S/bindings",
				Body: `{"role":"R","members":["{{bobs}}","/api/v1/users/{{ann}}"]}`},
			apitest.Step{Do: "GET " + sets + "/S/bindings/{{r}}/members",
				Equal: map[string]any{"members.#": 3, "members.2._links.self.href": "{{bobs}}"},
				Save:  map[string]string{"m0": "members.0.id", "m1": "members.1.id", "m2": "members.2.id"}, Has: []string{"_links.binding"}},
			apitest.Step{Do: "GET " + sets + "/S/bindings/R/members/{{m2}}", Equal: map[string]any{"id": "{{m2}}", "_links.self.href": "{{bobs}}"}},
			apitest.Step{Name: "a binding is listed as a role of its member", Do: "GET /api/v1/users/{{bob}}/roles",
				Equal: map[string]any{"#": 1, "0.id": "{{m2}}", "0.type": "CUSTOM", "0.label": "R", "0.role": "{{r}}", "0.resource-set": "{{s}}"},
				Has:   []string{"0._links.member", "0._links.permissions"}},
			apitest.Step{Name: "a bound role cannot be deleted", Do: "DELETE " + roles + "/R", Status: 400, Code: "E0000001",
				Causes: []string{"roleIdOrLabel: The role is bound to the resource sets S"}},
			apitest.Step{Do: "DELETE " + sets + "/S/bindings/R/members/{{m2}}", Status: 204},
			apitest.Step{Do: "DELETE " + sets + "/S/bindings/R/members/{{m2}}", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "PATCH " + sets + "/S/bindings/R/members", Body: `{"additions":["{{bobs}}"]}`, Has: []string{"_links.self"}},
			apitest.Step{Name: "an unknown user", Do: "PATCH " + sets + "/S/bindings/R/members", Body: `{"additions":["/api/v1/users/00u1"]}`,
				Status: 404,
				Code:   "E0000007"},
			apitest.Step{Name: "an application is not an assignee", Do: "PATCH " + sets + "/S/bindings/R/members",
				Body:   `{"additions":["/api/v1/apps/0oa1"]}`,
				Status: 400, Code: "E0000001"},
			apitest.Step{Name: "no members", Do: "POST " + sets + "/S/bindings", Body: `{"role":"R","members":[]}`, Status: 400, Code: "E0000001",
				Causes: []string{"members"}},
			apitest.Step{Name: "the group Everyone", Do: "POST " + sets + "/S/bindings",
				Body:   `{"role":"R","members":["/api/v1/groups/{{everyone}}"]}`,
				Status: 400, Code: "E0000001", Causes: []string{"members"}},
			apitest.Step{Name: "an unknown role", Do: "POST " + sets + "/S/bindings", Body: `{"role":"X","members":["{{bobs}}"]}`, Status: 404,
				Code: "E0000007"},
			apitest.Step{Name: "an unknown client", Do: "POST " + sets + "/S/bindings",
				Body: `{"role":"R","members":["/oauth2/v1/clients/0oa1"]}`, Status: 404, Code: "E0000007"},
			apitest.Step{Name: "with one invalid member, no member is bound", Do: "GET " + sets + "/S/bindings/R/members",
				Equal: map[string]any{"members.#": 3}},
			apitest.Step{Do: "DELETE " + sets + "/S/bindings/R", Status: 204},
			apitest.Step{Do: "GET " + sets + "/S/bindings", Equal: map[string]any{"roles.#": 0}},
			apitest.Step{Do: "POST " + sets + "/S/bindings", Body: `{"role":"R","members":["{{bobs}}"]}`},
			apitest.Step{Name: "deleting a set deletes its bindings", Do: "DELETE " + sets + "/S", Status: 204},
			apitest.Step{Do: "GET /api/v1/users/{{bob}}/roles", Equal: map[string]any{"#": 0}},
		)
		require.NotEmpty(t, saved["m1"])
	})
}
