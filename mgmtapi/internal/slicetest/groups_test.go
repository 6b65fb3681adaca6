package slicetest_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

const groupUser = `{"profile":{"login":"isaac@example.com","email":"isaac@example.com","firstName":"Isaac","lastName":"Brock"}}`

func TestGroup_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"West Coast","description":"All users"}}`,
				Save: map[string]string{"g": "id", "tag": "header:ETag"},
				Equal: map[string]any{"type": "SVC_GROUP", "objectClass.0": "svc:user_group", "profile.name": "West Coast",
					"lastMembershipUpdated": "2026-03-04T05:06:07.000Z"},
				Has:   []string{"_links.self", "_links.users", "_links.apps", "_links.owners"},
				Lacks: []string{"_embedded", "source", "_links.source"}},
			apitest.Step{Name: "the unique name is case-insensitive", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"WEST coast"}}`,
				Status: 400,
				Code:   "E0000001", Causes: []string{"name: An object with this field already exists"}},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}", Equal: map[string]any{"id": "{{g}}", "header:ETag": "{{tag}}"}},
			apitest.Step{Do: "POST /api/v1/users", Body: groupUser, Save: map[string]string{"u": "id"}},
			apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/{{u}}", Status: 204},
			apitest.Step{Name: "a second addition changes nothing", Do: "PUT /api/v1/groups/{{g}}/users/isaac",
				Header: map[string]string{"Content-Type": "application/json"}, Status: 204},
			apitest.Step{Name: "membership does not change the entity tag", Do: "GET /api/v1/groups/{{g}}?expand=stats",
				Equal: map[string]any{"_embedded.stats.usersCount": 1, "_embedded.stats.appsCount": 0, "header:ETag": "{{tag}}"}},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}/users", Equal: map[string]any{"#": 1, "0.id": "{{u}}"}},
			apitest.Step{Name: "a wrong entity tag is rejected", Do: "PUT /api/v1/groups/{{g}}", Body: `{"profile":{"name":"x"}}`,
				Header: map[string]string{"If-Match": `W/"x"`}, Status: 412, Code: "E0000231"},
			apitest.Step{Name: "a replacement without description clears it", Do: "PUT /api/v1/groups/{{g}}",
				Body: `{"profile":{"name":"Ostküste"}}`, Header: map[string]string{"If-Match": "{{tag}}"},
				Equal: map[string]any{"profile.name": "Ostküste", "profile.description": nil}},
			apitest.Step{Do: "DELETE /api/v1/groups/{{g}}/users/{{u}}", Status: 204},
			apitest.Step{Name: "a second removal changes nothing", Do: "DELETE /api/v1/groups/{{g}}/users/{{u}}", Status: 204},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}/users", Equal: map[string]any{"#": 0}},
			apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/{{u}}", Status: 204},
			apitest.Step{Do: "DELETE /api/v1/groups/{{g}}", Status: 204},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET /api/v1/users/{{u}}/groups", Equal: map[string]any{"#": 1}},
			apitest.Step{Name: "the name can be used again", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"ostküste"}}`},
		)
		var topics []string
		_, err := e.Store.Relay(t.Context(), 100, func(_ *docstore.Tx, events []docstore.Event) error {
			for _, event := range events[4:] { // skip the four events of the setup
				topics = append(topics, event.Topic)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t,
			"group.changed user.changed membership.changed user.activated membership.changed group.changed membership.changed membership.changed "+
				"group.deleted group.changed", strings.Join(topics, " "))
	})
}

func TestGroup_BuiltInReadOnly(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/groups?filter=" + url.QueryEscape(`type eq "BUILT_IN"`),
			Equal: map[string]any{"#": 1, "0.profile.name": "Everyone"}, Save: map[string]string{"g": "0.id"}},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}", Body: `{"profile":{"name":"x"}}`, Status: 501, Code: "E0000060"},
		apitest.Step{Do: "DELETE /api/v1/groups/{{g}}", Status: 501, Code: "E0000060"},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/me", Status: 501, Code: "E0000060"},
		apitest.Step{Do: "DELETE /api/v1/groups/{{g}}/users/me", Status: 501, Code: "E0000060"},
		apitest.Step{Do: "GET /api/v1/groups/{{g}}/users", Equal: map[string]any{"#": 1}},
		apitest.Step{Name: "a group can have the name of a built-in group", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"everyone"}}`},
	)
}

func TestGroup_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	post := func(name, body string, causes ...string) apitest.Step {
		return apitest.Step{Name: name, Do: "POST /api/v1/groups", Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	e.Run(t,
		apitest.Step{Name: "no body", Do: "POST /api/v1/groups", Status: 400, Code: "E0000003"},
		post("no profile", `{}`, "name: The field cannot be left blank"),
		post("blank name", `{"profile":{"name":""}}`, "name: The field cannot be left blank"),
		post("long name and description", `{"profile":{"name":"`+strings.Repeat("n", 256)+`","description":"`+strings.Repeat("d", 1025)+`"}}`,
			"name: ", "description: "),
		post("wrong types", `{"profile":{"name":1,"description":[]}}`, "name: The value must be a string", "description: "),
		post("unknown attributes", `{"profile":{"name":"x","b":1,"a":1}}`, "a: ", "b: "),
		apitest.Step{Name: "names are counted in characters", Do: "POST /api/v1/groups",
			Body: `{"profile":{"name":"` + strings.Repeat("ü", 255) + `"}}`},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Real"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/nobody", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "PUT /api/v1/groups/nowhere/users/me", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "PUT /api/v1/groups/nowhere", Body: `{`, Status: 404, Code: "E0000007"},
		apitest.Step{Do: "DELETE /api/v1/groups/nowhere", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET /api/v1/groups/nowhere/users", Status: 404, Code: "E0000007"},
	)
}

func TestGroup_List(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		for _, name := range []string{"Sales West", "sales", "Support"} {
			e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"`+name+`","description":"`+strings.ToLower(name)+`"}}`, nil)
		}
		for _, c := range []struct{ query, want string }{
			{"", "Everyone, Sales West, sales, Support"},
			{"q=SALES", "sales, Sales West"},
			{"q=x", ""},
			{"filter=" + url.QueryEscape(`type eq "SVC_GROUP"`), "Sales West, sales, Support"},
			{"filter=" + url.QueryEscape(`lastMembershipUpdated lt "2026-03-04T05:06:07Z"`), ""},
			{"search=" + url.QueryEscape(`profile.name co "S"`), "Sales West, sales, Support"},
			{"search=" + url.QueryEscape(`profile.description eq "SALES" or type sw "built"`), "Everyone, sales"},
			{"search=" + url.QueryEscape(`type eq "SVC_GROUP"`) + "&sortBy=profile.name&sortOrder=desc", "Support, Sales West, sales"},
			{"search=" + url.QueryEscape(`source.id pr`), ""},
			{"expand=stats&limit=20000", "Everyone, Sales West, sales, Support"},
		} {
			t.Run(c.query, func(t *testing.T) {
				a := e.Do(t, "GET /api/v1/groups?"+c.query, "", nil)
				require.Equal(t, 200, a.Status, "%s", a.Body)
				var names []string
				list, _ := a.JSON.([]any)
				for _, g := range list {
					names = append(names, g.(map[string]any)["profile"].(map[string]any)["name"].(string))
				}
				require.Equal(t, c.want, strings.Join(names, ", "))
			})
		}
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/groups?limit=3", Equal: map[string]any{"#": 3}, Save: map[string]string{"next": "link:next"}},
			apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"#": 1, "0.profile.name": "Support"}, Lacks: []string{"link:next"}},
			apitest.Step{Do: "GET /api/v1/groups?after=%21", Status: 400, Code: "E0000029"},
			apitest.Step{Do: "GET /api/v1/groups?filter=hat+pr", Status: 400, Code: "E0000031"},
			apitest.Step{Do: "GET /api/v1/groups?q=a&search=b", Status: 400, Code: "E0000033"},
		)
	})
}

func TestGroup_Owners(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		apitest.New(t, db).Run(t,
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"g": "id"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Board"}}`, Save: map[string]string{"b": "id"}},
			apitest.Step{Do: "POST /api/v1/users", Body: groupUser, Save: map[string]string{"u": "id"}},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}/owners", Equal: map[string]any{"#": 0}},
			apitest.Step{Do: "POST /api/v1/groups/{{g}}/owners", Body: `{"id":"{{u}}","type":"USER"}`, Status: 201,
				Equal: map[string]any{"id": "{{u}}", "type": "USER", "displayName": "Isaac Brock", "lastUpdated": "2026-03-04T05:06:07.000Z"}},
			apitest.Step{Do: "POST /api/v1/groups/{{g}}/owners", Body: `{"id":"{{b}}","type":"GROUP"}`, Status: 201,
				Equal: map[string]any{"id": "{{b}}", "type": "GROUP", "displayName": "Board"}},
			apitest.Step{Name: "a user can be added as an owner only once", Do: "POST /api/v1/groups/{{g}}/owners",
				Body: `{"id":"{{u}}","type":"USER"}`, Status: 400, Code: "E0000001", Causes: []string{"id: "}},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}/owners", Equal: map[string]any{"#": 2, "0.id": "{{u}}", "1.displayName": "Board"},
				Lacks: []string{"link:next"}},
			apitest.Step{Do: "DELETE /api/v1/groups/{{g}}/owners/{{u}}", Status: 204},
			apitest.Step{Do: "DELETE /api/v1/groups/{{g}}/owners/{{u}}", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "POST /api/v1/groups/{{g}}/owners", Body: `{"id":"{{u}}","type":"USER"}`, Status: 201},
			apitest.Step{Do: "POST /api/v1/groups/{{b}}/owners", Body: `{"id":"{{g}}","type":"GROUP"}`, Status: 201},
			apitest.Step{Do: "DELETE /api/v1/groups/{{b}}", Status: 204},
			apitest.Step{Name: "a deleted group is removed from the owners", Do: "GET /api/v1/groups/{{g}}/owners",
				Equal: map[string]any{"#": 1, "0.id": "{{u}}"}},
			apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate"},
			apitest.Step{Do: "DELETE /api/v1/users/{{u}}", Status: 204},
			apitest.Step{Name: "a deleted user is removed from the owners", Do: "GET /api/v1/groups/{{g}}/owners", Equal: map[string]any{"#": 0}},
		)
	})
}

func TestGroup_RejectsInvalidOwners(t *testing.T) {
	post := func(name, body, code string, status int, causes ...string) apitest.Step {
		return apitest.Step{Name: name, Do: "POST /api/v1/groups/{{g}}/owners", Body: body, Status: status, Code: code, Causes: causes}
	}
	apitest.New(t, sqldbtest.SQLite(t)).Run(t,
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "GET /api/v1/groups?q=Everyone", Save: map[string]string{"everyone": "0.id"}},
		apitest.Step{Do: "GET /api/v1/users/me", Save: map[string]string{"u": "id"}},
		post("no body", "", "E0000003", 400),
		post("an empty object", `{}`, "E0000001", 400, "id: The field cannot be left blank", "type: The field cannot be left blank"),
		post("wrong types", `{"id":1,"type":"ROLE"}`, "E0000001", 400, "id: ", "type: The value must be one of: USER, GROUP"),
		post("an unknown user", `{"id":"nobody","type":"USER"}`, "E0000007", 404),
		post("an id of another kind", `{"id":"{{u}}","type":"GROUP"}`, "E0000007", 404),
		apitest.Step{Name: "built-in groups", Do: "POST /api/v1/groups/{{everyone}}/owners", Body: `{"id":"{{u}}","type":"USER"}`,
			Status: 501, Code: "E0000060"},
		apitest.Step{Do: "GET /api/v1/groups/nowhere/owners", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST /api/v1/groups/nowhere/owners", Body: `{`, Status: 404, Code: "E0000007"},
		apitest.Step{Do: "DELETE /api/v1/groups/nowhere/owners/{{u}}", Status: 404, Code: "E0000007"},
	)
}

func TestGroup_OfApplication(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, staff := w.SCIMApp("Target"), w.Group("Staff")
		w.Connect(app, apptest.All)
		mapping := w.Post("/apps/"+app+"/group-push/mappings", map[string]any{"sourceGroupId": staff, "targetGroupName": "Staff"}).OK(201)
		target := mapping.Text("targetGroupId")
		got := w.Get("/groups/" + target).OK()
		require.Equal(t, app, got.Text("source", "id"))
		require.Contains(t, got.Text("_links", "source", "href"), "/api/v1/apps/"+app)
		search := func(expression string) []string { return w.Get("/groups?search=" + url.QueryEscape(expression)).IDs() }
		require.Equal(t, []string{target}, search(`source.id eq "`+app+`"`))
		require.Equal(t, []string{target}, search(`source.id pr`))
		require.Empty(t, search(`source.id eq "`+staff+`"`))
		w.Put("/groups/"+target+"/users/me", nil).Fails(501, "E0000060")
		w.Post("/groups/"+target+"/owners", map[string]any{"id": staff, "type": "GROUP"}).Fails(501, "E0000060")
	})
}
