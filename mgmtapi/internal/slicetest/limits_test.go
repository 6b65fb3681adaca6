package slicetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// TestProfile_Limits requires that profiles do not grow beyond their limits, also by several requests, and that a larger one that is stored
// already can be read and changed.
func TestProfile_Limits(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Unrecorded()
		text := strings.Repeat("x", 600_000)
		array := func(n int) string { return `[` + strings.Repeat(`"x",`, n-1) + `"x"]` }
		rejected := func(do, body, cause string) apitest.Step {
			return apitest.Step{Do: do, Body: body, Status: 400, Code: "E0000001", Causes: []string{"profile: " + cause}}
		}
		saved := e.Run(t,
			apitest.Step{Do: schema, Body: schemaCustom(`"a":{"title":"A","type":"string"},"b":{"title":"B","type":"string"},
				"many":{"title":"M","type":"array","items":{"type":"string"}}`)},
			apitest.Step{Do: "POST /api/v1/users", Body: profile("u", `"a":"`+text+`","many":`+array(10_000)), Save: map[string]string{"u": "id"}},
			rejected("POST /api/v1/users", profile("v", `"many":`+array(10_001)), "The arrays have more than 10000 elements"),
			rejected("POST /api/v1/users/{{u}}", `{"profile":{"many":`+array(10_001)+`}}`, "The arrays have more than 10000 elements"),
			rejected("POST /api/v1/users/{{u}}", `{"profile":{"b":"`+text+`"}}`, "The attributes have more than 1048576 bytes"),
			apitest.Step{Do: "POST /api/v1/users/{{u}}", Body: `{"profile":{"a":null,"b":"` + text + `"}}`},
		)
		require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
			doc, err := e.Model.Users.Get(t.Context(), tx, saved["u"])
			if err != nil {
				return err
			}
			doc.Value.Profile["a"], doc.Value.Profile["b"] = text, text
			_, err = e.Model.Users.Update(t.Context(), tx, doc.ID, 0, doc.Value)
			return err
		}))
		one := "/api/v1/users/" + saved["u"]
		e.Run(t,
			apitest.Step{Do: "GET " + one, Equal: map[string]any{"profile.b": text}},
			apitest.Step{Do: "POST " + one, Body: `{"profile":{"lastName":"N"}}`, Equal: map[string]any{"profile.b": text}},
			rejected("POST "+one, `{"profile":{"lastName":"Name"}}`, "The attributes have more than 1048576 bytes"),
			apitest.Step{Do: "POST " + one + "/lifecycle/deactivate"},
			apitest.Step{Do: "POST " + one, Body: `{"profile":{"b":null}}`, Lacks: []string{"profile.b"}},
		)
	})
}

// TestPages_EndEarly requires that the lists with documents of other collections end at a number of bytes, and lose and repeat nothing.
func TestPages_EndEarly(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Unrecorded()
		const users = 9
		text := strings.Repeat("x", 500_000)
		steps := []apitest.Step{
			{Do: schema, Body: schemaCustom(`"a":{"title":"A","type":"string"}`)},
			{Do: "POST /api/v1/apps", Body: `{"name":"scim2_test_app","label":"App","settings":{"app":{}}}`, Save: map[string]string{"app": "id"}},
		}
		for i := range users {
			steps = append(steps,
				apitest.Step{Do: "POST /api/v1/users", Body: profile(fmt.Sprint("u", i), `"a":"`+text+`"`), Save: map[string]string{"u": "id"}},
				apitest.Step{Do: "POST /api/v1/apps/{{app}}/users", Body: `{"id":"{{u}}","scope":"USER"}`})
		}
		saved := e.Run(t, steps...)
		org, err := e.Model.Orgs.Get(t.Context(), e.Store.Reader(), model.OrgDocument)
		require.NoError(t, err)
		for _, path := range []string{
			"/api/v1/users?limit=200",
			"/api/v1/users?limit=200&sortBy=profile.login&sortOrder=desc&search=profile.firstName+pr",
			"/api/v1/groups/" + org.Value.Everyone + "/users?limit=1000",
			"/api/v1/apps/" + saved["app"] + "/users?limit=500&expand=user",
		} {
			var all []string
			pages := 0
			for next := e.Server.URL + path; next != ""; pages++ {
				e.Run(t, apitest.Step{Do: "GET " + next, Then: func(_ *testing.T, a *apitest.Answer) {
					items := a.JSON.([]any)
					for _, item := range items {
						all = append(all, item.(map[string]any)["id"].(string))
					}
					require.LessOrEqual(t, len(a.Body), 2_200_000)
					next = a.Value("link:next")
				}})
			}
			require.GreaterOrEqual(t, pages, 3, path)
			seen := map[string]bool{}
			for _, id := range all {
				require.False(t, seen[id], "%s repeats %s", path, id)
				seen[id] = true
			}
			require.GreaterOrEqual(t, len(all), users, path)
		}
	})
}
