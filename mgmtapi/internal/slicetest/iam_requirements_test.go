package slicetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

type (
	iamStep   = apitest.Step
	iamValues = map[string]any
	iamSaved  = map[string]string
)

const (
	iamHour = "2026-03-04T05:06:07.000Z" // initial time of the clock
	later   = "2026-03-04T06:06:07.000Z"
)

// names are the permissions that the requirements list, by the resource type that they apply to.
var names = map[string]string{
	"users": `manage read credentials.manage credentials.resetFactors credentials.resetPassword credentials.expirePassword userprofile.manage
		lifecycle.manage lifecycle.activate lifecycle.deactivate lifecycle.suspend lifecycle.unsuspend lifecycle.delete lifecycle.unlock
		lifecycle.clearSessions groupMembership.manage appAssignment.manage apitokens.manage apitokens.read create`,
	"groups":            "manage members.manage read appAssignment.manage create",
	"apps":              "read manage assignment.manage",
	"profilesources":    "import.run",
	"authzServers":      "read manage",
	"customizations":    "read manage",
	"identityProviders": "read manage",
	"workflows":         "read invoke",
	"agents":            "manage register view",
	"directories":       "manage read",
	"devices": "manage lifecycle.manage lifecycle.activate lifecycle.deactivate lifecycle.suspend lifecycle.unsuspend " +
		"lifecycle.delete read",
	"iam": "read",
}

// Proves B-permissions-14, B-permissions-15, B-permissions-16, B-permissions-17, B-permissions-18, B-permissions-19, B-permissions-20,
// B-permissions-21, B-permissions-22, B-permissions-23, B-permissions-24, B-permissions-25, B-permissions-26, B-permissions-27,
// B-permissions-32.
func TestPermissions_Names(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	count := 0
	for area, list := range names {
		var all []string
		for name := range strings.FieldsSeq(list) {
			all = append(all, `"svc.`+area+`.`+name+`"`)
		}
		count += len(all)
		e.Run(t,
			iamStep{Do: "POST " + roles, Body: `{"label":"` + area + `","description":"x","permissions":[` + strings.Join(all, ",") + `]}`},
			iamStep{Do: "GET " + roles + "/" + area + "/permissions", Equal: iamValues{"permissions.#": len(all)}, Then: func(t *testing.T,
				a *apitest.Answer) {
				for i := range all {
					require.Contains(t, all, `"`+a.Value(fmt.Sprintf("permissions.%d.label", i))+`"`)
				}
			}},
		)
	}
	require.Equal(t, 51, count)
	for _, name := range []string{"svc.governance.accessCertifications.manage", "svc.governance.accessRequests.manage",
		"svc.apps.manageFirstPartyApps", "svc.users.fly"} {
		e.Run(t,
			iamStep{Do: "POST " + roles, Body: `{"label":"R","description":"x","permissions":["` + name + `"]}`, Status: 400,
				Code: "E0000001", Causes: []string{"permissions"}},
			iamStep{Do: "POST " + roles + "/users/permissions/" + name, Status: 400, Code: "E0000001"},
		)
	}
	e.Run(t, iamStep{Do: "GET " + roles + "/ACCESS_REQUESTS_ADMIN/permissions", Equal: iamValues{"permissions.#": 1,
		"permissions.0.label": "svc.governance.accessRequests.manage"}})
}

// Proves B-assignments-12, B-assignments-13.
func TestRoles_OfGovernance(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	for role, permission := range map[string]string{
		"ACCESS_REQUESTS_ADMIN":       "svc.governance.accessRequests.manage",
		"ACCESS_CERTIFICATIONS_ADMIN": "svc.governance.accessCertifications.manage",
	} {
		e.Run(t, iamStep{Do: "GET " + roles + "/" + role + "/permissions", Equal: iamValues{"permissions.#": 1,
			"permissions.0.label": permission}})
	}
}

// Proves B-roles-05, B-roles-06, B-roles-11, B-permissions-01, B-permissions-05.
func TestRole_Members(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	const given = `,"id":"x","created":"2001-01-01T00:00:00.000Z","lastUpdated":"2001-01-01T00:00:00.000Z"`
	e.Run(t, iamStep{Do: "POST " + roles, Body: `{"label":"R","description":"x","permissions":["svc.users.read"]` + given + `}`,
		Equal: iamValues{"created": iamHour, "lastUpdated": iamHour}})
	e.Clock.Advance(time.Hour)
	at := roles + "/R/permissions/svc.users.read"
	e.Run(t,
		iamStep{Do: "PUT " + roles + "/R", Body: `{"label":"R"}`, Status: 400, Code: "E0000001", Causes: []string{"description"}},
		iamStep{Do: "PUT " + roles + "/R", Body: `{"description":"x"}`, Status: 400, Code: "E0000001", Causes: []string{"label"}},
		iamStep{Do: "PUT " + roles + "/R", Body: `{"label":"R","description":"y"` + given + `}`, Equal: iamValues{"label": "R",
			"description": "y", "created": iamHour, "lastUpdated": later}},
		iamStep{Do: "GET " + roles + "/R", Equal: iamValues{"description": "y"}},
		iamStep{Do: "PUT " + at, Body: `{"label":"svc.groups.read",` +
			`"conditions":{"include":{"svc:ResourceAttribute/User/Profile":["city"]}}` + given + `}`,
			Equal: iamValues{"label": "svc.users.read", "created": iamHour, "lastUpdated": later}},
		iamStep{Do: "GET " + roles + "/R/permissions", Equal: iamValues{"permissions.#": 1, "permissions.0.label": "svc.users.read"}},
	)
}

// Proves B-roles-13, B-sets-10.
func TestLists_Paginated(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	for i := range 101 {
		e.Do(t, "POST "+roles, fmt.Sprintf(`{"label":"R%d","description":"x","permissions":["svc.users.read"]}`, i), nil)
		e.Do(t, "POST "+sets, fmt.Sprintf(`{"label":"S%d","description":"x","resources":["/api/v1/users"]}`, i), nil)
	}
	for list, member := range map[string]string{roles: "roles", sets: "resource-sets"} {
		e.Run(t,
			iamStep{Do: "GET " + list, Has: []string{member, "_links.next.href"}, Save: iamSaved{"next": "_links.next.href"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Contains(t, a.Value("_links.next.href"), "after=")
					require.NotEqual(t, "101", a.Value(member+".#"))
				}},
			iamStep{Do: "GET {{next}}", Has: []string{member + ".0.label"}, Lacks: []string{"_links.next"}},
		)
	}
}

// Proves B-sets-03, B-sets-05, B-sets-06, B-sets-08, B-sets-09, B-sets-11, B-sets-12, B-sets-14.
func TestSet_Members(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	org := strings.Split(e.Do(t, "GET /api/v1/iam/assignees/users", "", nil).Value("value.0.orn"), ":")[3]
	group := e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"G"}}`, nil).Value("id")
	name := "orn:svc:directory:" + org + ":groups:" + group
	for body, cause := range map[string]string{
		`{"description":"x","resources":["/api/v1/users"]}`: "label", `{"label":"S","resources":["/api/v1/users"]}`: "description",
		`{"label":"S","description":"x"}`: "resources",
	} {
		e.Run(t, iamStep{Name: "without " + cause, Do: "POST " + sets, Body: body, Status: 400, Code: "E0000001", Causes: []string{cause}})
	}
	ids := e.Run(t,
		iamStep{Do: "POST " + sets, Body: `{"label":"S","description":"x","resources":["` + name + `"]}`, Save: iamSaved{"s": "id"},
			Equal: iamValues{"label": "S", "description": "x", "created": iamHour, "lastUpdated": iamHour}},
		iamStep{Do: "GET " + sets + "/S", Equal: iamValues{"id": "{{s}}"}},
		iamStep{Do: "GET " + sets + "/{{s}}", Equal: iamValues{"label": "S"}},
		iamStep{Do: "GET " + sets + "/S/resources", Equal: iamValues{"resources.#": 1, "resources.0.orn": name}},
		iamStep{Do: "PUT " + sets + "/S", Body: `{"label":"S"}`, Status: 400, Code: "E0000001", Causes: []string{"description"}},
		iamStep{Do: "PUT " + sets + "/S", Body: `{"description":"x"}`, Status: 400, Code: "E0000001", Causes: []string{"label"}},
		iamStep{Do: "PUT " + sets + "/S", Body: `{"label":"T","description":"y","resources":["/api/v1/users"]}`,
			Equal: iamValues{"id": "{{s}}", "label": "T", "description": "y"}},
		iamStep{Name: "the members remain", Do: "GET " + sets + "/T/resources", Equal: iamValues{"resources.#": 1, "resources.0.orn": name}},

		iamStep{Do: "POST /api/v1/users", Body: iamPerson("ann"), Save: iamSaved{"ann": "id"}},
		iamStep{Do: "POST " + roles, Body: `{"label":"R","description":"x","permissions":["svc.users.read"]}`, Save: iamSaved{"r": "id"}},
		iamStep{Do: "POST " + sets + "/T/bindings", Body: `{"role":"R","members":["/api/v1/users/{{ann}}"]}`},
		iamStep{Do: "GET /api/v1/users/{{ann}}/roles", Equal: iamValues{"#": 1}},
		iamStep{Do: "DELETE " + sets + "/T", Status: 204},
		iamStep{Do: "GET /api/v1/users/{{ann}}/roles", Equal: iamValues{"#": 0}},
		iamStep{Name: "the role is no longer in use", Do: "DELETE " + roles + "/R", Status: 204},
	)
	e.Run(t, iamStep{Do: "GET " + sets + "/" + ids["s"], Status: 404, Code: "E0000007"})
}
