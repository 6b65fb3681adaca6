package slicetest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves B-targets-10, B-targets-17.
func TestTargets_PageSize(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	at := "/api/v1/users/" + e.Do(t, "POST /api/v1/users", rolePerson("ann"), nil).Value("id") + "/roles"
	e.Run(t,
		apitest.Step{Do: "POST " + at, Body: `{"type":"USER_ADMIN"}`, Status: 201},
		apitest.Step{Do: "POST " + at, Body: `{"type":"APP_ADMIN"}`, Status: 201},
	)
	groups, apps := at+"/"+userAdmin+"/targets/groups", at+"/"+appAdmin+"/targets/catalog/apps"
	for i := range 21 {
		group := e.Do(t, "POST /api/v1/groups", fmt.Sprintf(`{"profile":{"name":"G%d"}}`, i), nil).Value("id")
		require.Equal(t, 204, e.Do(t, "PUT "+groups+"/"+group, "", nil).Status)
		app := e.Do(t, "POST /api/v1/apps", roleBookmark(fmt.Sprint("B", i)), nil).Value("id")
		require.Equal(t, 204, e.Do(t, "PUT "+apps+"/bookmark/"+app, "", nil).Status)
	}
	for _, list := range []string{groups, apps} {
		e.Run(t,
			apitest.Step{Do: "GET " + list, Equal: map[string]any{"#": 20}, Save: map[string]string{"next": "link:next"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Contains(t, a.Value("link:next"), "after=")
				}},
			apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"#": 1}, Lacks: []string{"link:next"}},
			apitest.Step{Do: "GET " + list + "?limit=21", Equal: map[string]any{"#": 21}},
		)
	}
}

// Proves B-targets-22.
func TestAssignment_UnboundedAgain(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: rolePerson("ann"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"A"}}`, Save: map[string]string{"g": "id"}},
	)
	at := "/api/v1/users/" + saved["u"] + "/roles"
	e.Run(t,
		apitest.Step{Do: "POST " + at, Body: `{"type":"USER_ADMIN"}`, Status: 201},
		apitest.Step{Do: "PUT " + at + "/" + userAdmin + "/targets/groups/" + saved["g"], Status: 204},
		apitest.Step{Do: "GET " + at + "/" + userAdmin + "/targets/groups", Equal: map[string]any{"#": 1}},
		apitest.Step{Do: "DELETE " + at + "/" + userAdmin, Status: 204},
		apitest.Step{Do: "POST " + at, Body: `{"type":"USER_ADMIN"}`, Status: 201},
		apitest.Step{Do: "GET " + at + "/" + userAdmin + "/targets/groups", Equal: map[string]any{"#": 0}},
	)
}

// The links of a target lead to what is there.
func TestTargets_Links(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	at := "/api/v1/users/" + e.Do(t, "POST /api/v1/users", rolePerson("ann"), nil).Value("id") + "/roles"
	app := e.Do(t, "POST /api/v1/apps", roleBookmark("B"), nil).Value("id")
	apps := at + "/" + appAdmin + "/targets/catalog/apps"
	e.Run(t, apitest.Step{Do: "POST " + at, Body: `{"type":"APP_ADMIN"}`, Status: 201})
	custom := e.Do(t, "POST /api/v1/apps", `{"label":"W","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://w.example"}}}`,
		nil).Value("name")
	for _, name := range []string{"bookmark", "oidc_client", "scim2_test_app", custom} {
		e.Run(t,
			apitest.Step{Do: "PUT " + apps + "/" + name, Status: 204},
			apitest.Step{Do: "GET " + apps, Save: map[string]string{"self": "0._links.self.href", "logo": "0._links.logo.0.href"},
				Equal: map[string]any{"#": 1, "0.name": name}},
			apitest.Step{Do: "GET {{self}}", Equal: map[string]any{"name": name, "status": "ACTIVE"}},
			apitest.Step{Do: "GET {{logo}}"},
			apitest.Step{Do: "DELETE " + at + "/" + appAdmin, Status: 204},
			apitest.Step{Do: "POST " + at, Body: `{"type":"APP_ADMIN"}`, Status: 201},
		)
	}
	e.Run(t,
		apitest.Step{Do: "PUT " + apps + "/bookmark/" + app, Status: 204},
		apitest.Step{Do: "GET " + apps, Save: map[string]string{"self": "0._links.self.href"}},
		apitest.Step{Do: "GET {{self}}", Equal: map[string]any{"id": app}},
		apitest.Step{Do: "GET /api/v1/catalog/apps/unknown", Status: 404, Code: "E0000007"},
	)
}
