package slicetest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

// TestMapping_PairPerUserType checks that each application has one mapping per direction for every user type.
func TestMapping_PairPerUserType(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t,
		apitest.Step{Do: "GET /api/v1/mappings", Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "GET /api/v1/meta/types/user/default", Save: map[string]string{"type": "id"}},
		apitest.Step{Do: "POST /api/v1/apps", Body: `{"name":"scim2_test_app","label":"HR"}`, Save: map[string]string{"app": "id"}},
		apitest.Step{Do: "GET /api/v1/mappings", Lacks: []string{"0.properties"}, Save: map[string]string{"to": "0.id", "from": "1.id"},
			Equal: map[string]any{
				"#": 2, "0.source.id": "{{type}}", "0.source.type": "user", "0.source.name": "user", "0.target.id": "{{app}}",
				"0.target.type": "appuser", "0.target.name": "scim2_test_app",
				"1.source.id": "{{app}}", "1.target.id": "{{type}}",
			}, Has: []string{"0._links.self.href", "0.source._links.self.href", "0.source._links.schema.href", "0.target._links.schema.href"}},
		apitest.Step{Do: "GET /api/v1/mappings/{{to}}", Equal: map[string]any{
			"properties.userName.expression": "source.login", "properties.userName.pushStatus": "PUSH",
			"properties.familyName.expression": "user.lastName", "properties.familyName.pushStatus": "PUSH",
			"properties.userType.expression": "user.userType",
		}, Then: func(t *testing.T, a *apitest.Answer) {
			require.Len(t, a.JSON.(map[string]any)["properties"], 10)
		}},
		apitest.Step{Do: "GET /api/v1/mappings/{{from}}",
			Equal: map[string]any{"properties.login.expression": "appuser.userName", "properties.lastName.expression": "appuser.familyName"}},
		apitest.Step{Name: "an application without provisioning maps only the user name", Do: "POST /api/v1/apps",
			Body: `{"name":"bookmark","label":"News","settings":{"app":{"url":"https://example.com/"}}}`, Save: map[string]string{"plain": "id"}},
		apitest.Step{Do: "GET /api/v1/mappings?targetId={{plain}}", Save: map[string]string{"plainTo": "0.id"}, Equal: map[string]any{"#": 1}},
		apitest.Step{Do: "GET /api/v1/mappings/{{plainTo}}", Has: []string{"properties.userName"}, Lacks: []string{"properties.email"}},
		apitest.Step{Name: "a new user type", Do: "POST /api/v1/meta/types/user", Body: `{"name":"temp","displayName":"Temp"}`,
			Save: map[string]string{"temp": "id"}},
		apitest.Step{Do: "GET /api/v1/mappings?sourceId={{temp}}",
			Equal: map[string]any{"#": 2, "0.target.id": "{{app}}", "1.target.id": "{{plain}}"}},
		apitest.Step{Do: "GET /api/v1/mappings?sourceId={{temp}}&targetId={{plain}}", Equal: map[string]any{"#": 1}},
		apitest.Step{Do: "GET /api/v1/mappings?sourceId=oty0", Equal: map[string]any{"#": 0}},
		apitest.Step{Name: "the first page", Do: "GET /api/v1/mappings?limit=5", Equal: map[string]any{"#": 5},
			Then: func(t *testing.T, a *apitest.Answer) {
				require.Len(t, a.Header.Values("Link"), 2)
			}},
		apitest.Step{Name: "a bad cursor", Do: "GET /api/v1/mappings?after=x", Status: 400, Code: "E0000029"},
		apitest.Step{Name: "no such mapping", Do: "GET /api/v1/mappings/prm0", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "an id of another kind", Do: "GET /api/v1/mappings/{{app}}", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "deleting a user type deletes its mappings", Do: "DELETE /api/v1/meta/types/user/{{temp}}", Status: 204},
		apitest.Step{Do: "GET /api/v1/mappings", Equal: map[string]any{"#": 4}},
		apitest.Step{Do: "POST /api/v1/apps/{{app}}/lifecycle/deactivate"},
		apitest.Step{Name: "deleting an application deletes its mappings", Do: "DELETE /api/v1/apps/{{app}}", Status: 204},
		apitest.Step{Do: "GET /api/v1/mappings", Equal: map[string]any{"#": 2}},
		apitest.Step{Do: "GET /api/v1/mappings/{{to}}", Status: 404, Code: "E0000007"},
	)
	require.NotEmpty(t, saved["to"])
}

// TestMapping_Preview checks that a preview evaluates stored and changed rules, and stores nothing.
func TestMapping_Preview(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users?activate=false", Body: `{"profile":{"login":"ada@northwind.example",` +
			`"email":"ada@northwind.example","firstName":"Ada","lastName":"Lovelace"}}`, Save: map[string]string{"user": "id"}},
		apitest.Step{Do: "POST /api/v1/apps", Body: `{"name":"scim2_test_app","label":"HR"}`, Save: map[string]string{"app": "id"}},
		apitest.Step{Do: "GET /api/v1/mappings", Save: map[string]string{"to": "0.id", "from": "1.id"}},
		apitest.Step{Do: "POST /api/v1/mappings/{{to}}/preview", Body: `{"userId":"{{user}}","properties":{` +
			`"familyName":{"expression":"String.toUpperCase(user.lastName)"},"givenName":null}}`,
			Then: func(t *testing.T, a *apitest.Answer) {
				by := map[string]map[string]any{}
				for _, v := range a.JSON.(map[string]any)["values"].([]any) {
					one := v.(map[string]any)
					by[one["attribute"].(string)] = one
				}
				require.Equal(t, "ada@northwind.example", by["userName"]["value"])
				require.Equal(t, false, by["userName"]["changed"])
				require.Equal(t, "Lovelace", by["familyName"]["value"])
				require.Equal(t, map[string]any{"expression": "String.toUpperCase(user.lastName)", "value": "LOVELACE"}, by["familyName"]["draft"])
				require.Equal(t, true, by["familyName"]["changed"])
				require.Equal(t, "Ada", by["givenName"]["value"])
				require.Equal(t, map[string]any{}, by["givenName"]["draft"])
			}},
		apitest.Step{Do: "GET /api/v1/mappings/{{to}}", Equal: map[string]any{
			"properties.familyName.expression": "user.lastName", "properties.givenName.expression": "user.firstName",
		}},
		apitest.Step{Name: "an invalid rule", Do: "POST /api/v1/mappings/{{to}}/preview", Status: 400, Code: "E0000001",
			Body: `{"userId":"{{user}}","properties":{"familyName":{"expression":"nonsense("}}}`},
		apitest.Step{Name: "no user", Do: "POST /api/v1/mappings/{{to}}/preview", Body: `{}`, Status: 400, Code: "E0000001"},
		apitest.Step{Name: "an unknown user", Do: "POST /api/v1/mappings/{{to}}/preview", Body: `{"userId":"00u0"}`,
			Status: 404, Code: "E0000007"},
		apitest.Step{Name: "another direction", Do: "POST /api/v1/mappings/{{from}}/preview", Body: `{"userId":"{{user}}"}`, Status: 400,
			Code: "E0000001"},
	)
}

// mapping returns the path of the mapping to an application.
func mapping(w *apptest.World, app string) string {
	return "/mappings/" + w.Get("/mappings?targetId=" + app).IDs()[0]
}

func mappingCustom(properties string) string {
	return `{"definitions":{"custom":{"properties":{` + properties + `}}}}`
}

func TestMapping_RejectsBadInput(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	path := mapping(w, app)
	w.Post("/meta/schemas/apps/"+app+"/default",
		mappingCustom(`"size":{"title":"Size","type":"integer"},"flag":{"title":"Flag","type":"boolean"}`)).OK()
	w.Post(path, nil).Fails(400, "E0000003")
	w.Post("/mappings/prm0", `{"properties":{}}`).Fails(404, "E0000007", "ProfileMapping")
	w.Post(path, `{"properties":{"nose":{"expression":"user.login"},"login":null}}`).Fails(400, "E0000001", "properties.login: ",
		"properties.nose: The target of the mapping has no attribute")
	w.Post(path, `{"properties":{"size":{"pushStatus":"PUSH"}}}`).Fails(400, "E0000001",
		"properties.size.expression: The field cannot be left blank")
	w.Post(path, `{"properties":{"size":{"expression":"user.login","pushStatus":"SOMETIMES"}}}`).Fails(400, "E0000001", "pushStatus")
	w.Post(path, `{"properties":"x"}`).Fails(400, "E0000001")
	for _, expression := range []string{"user.hatSize", "user.login +", "appuser.email", "String.upper(user.login)", "true", "app.secret",
		"login"} {
		w.Post(path, fmt.Sprintf(`{"properties":{"size":{"expression":%q}}}`, expression)).Fails(400, "E0000001", "properties.size.expression: ")
	}
	w.Post(path, `{"properties":{"flag":{"expression":"String.len(user.login)"},"email":{"expression":"["}}}`).Fails(400, "E0000001",
		"properties.email.expression: ", "properties.flag.expression: ")
	require.Len(t, w.Get(path).OK().Value("properties"), 10, "nothing was stored")

	from := "/mappings/" + w.Get("/mappings?sourceId=" + app).IDs()[0]
	w.Post(from, `{"properties":{"nickName":{"expression":"user.login"}}}`).Fails(400, "E0000001", "properties.nickName.expression: ")
	require.Equal(t, "appuser.size + 1",
		w.Post(from, `{"properties":{"nickName":{"expression":"appuser.size + 1"},"costCenter":null}}`).OK().Text("properties", "nickName",
			"expression"))
}

// TestMapping_ChangeMergedAndApplied checks that a change of a mapping keeps the other properties and updates the assigned users.
func TestMapping_ChangeMergedAndApplied(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		w.Post("/meta/schemas/user/default",
			mappingCustom(`"shoe":{"title":"Shoe","type":"number"},"tags":{"title":"Tags","type":"array","items":{"type":"string"}}`)).OK()
		app := w.SCIMApp("HR")
		path := mapping(w, app)
		w.Connect(app, apptest.All)
		w.Post("/meta/schemas/apps/"+app+"/default",
			mappingCustom(`"size":{"title":"Size","type":"integer"},"tags":{"title":"Tags","type":"array","items":{"type":"string"}},`+
				`"origin":{"title":"O","type":"string"}`)).OK()
		ann := w.User("ann", "nickName", "Annie", "displayName", "Ann T")
		w.Post("/users/"+ann, `{"profile":{"shoe":38,"tags":["a","b"]}}`).OK()
		w.Assign(app, ann)
		profile := func() map[string]any {
			return w.Get("/apps/" + app + "/users/" + ann).OK().Value("profile").(map[string]any)
		}
		w.Events()

		changed := w.Post(path,
			`{"properties":{"size":{"expression":"user.shoe"},"tags":{"expression":"user.tags"},
			"displayName":{"expression":"String.toUpperCase(user.nickName)"},"userType":null,
			"origin":{"expression":"app.label + \"/\" + user.login","pushStatus":"DONT_PUSH"}}}`).OK()
		require.Equal(t, "user.lastName", changed.Text("properties", "familyName", "expression"), "omitted properties remain")
		require.Nil(t, changed.Value("properties", "userType"))
		require.Equal(t, "PUSH", changed.Text("properties", "size", "pushStatus"))
		require.Equal(t, changed.Value("properties"), w.Get(path).OK().Value("properties"))
		require.Equal(t, "Ann T", profile()["displayName"], "users are updated in the background")
		w.Work()
		require.Equal(t, map[string]any{
			"givenName": "ann", "familyName": "Tester", "email": "ann@example.com", "locale": "en_US", "displayName": "ANNIE", "size": 38.0,
			"tags": []any{"a", "b"},
		}, profile(), "a rule for creation only does not change existing assignments")
		var marked bool
		for _, e := range w.Events() {
			marked = marked || e.Topic == "appuser.changed" && e.Data == fmt.Sprintf(`{"app":%q,"user":%q,"provision":true}`, app, ann)
		}
		require.True(t, marked, "the change is marked for provisioning")
		require.Equal(t, "OUT_OF_SYNC", w.Get("/apps/"+app+"/users/"+ann).OK().Text("syncState"))

		w.Post("/users/"+ann, `{"profile":{"shoe":null,"tags":["c"],"nickName":null}}`).OK()
		require.Equal(t,
			map[string]any{"givenName": "ann", "familyName": "Tester", "email": "ann@example.com", "locale": "en_US", "tags": []any{"c"}}, profile())

		bob := w.User("bob", "nickName", "Bob")
		require.Equal(t, "HR/bob@example.com", w.Assign(app, bob).Text("profile", "origin"))
		w.Post("/users/"+bob, `{"profile":{"login":"robert@example.com"}}`).OK()
		require.Equal(t, "HR/bob@example.com", w.Get("/apps/"+app+"/users/"+bob).OK().Text("profile", "origin"), "set at creation only")
		w.Post("/apps/"+app+"/users/"+bob, `{"profile":{"size":40}}`).Fails(403, "E0000075", "size")
		require.Equal(t, "free", w.Post("/apps/"+app+"/users/"+bob, `{"profile":{"userType":"free"}}`).OK().Text("profile", "userType"),
			"no rule sets the attribute")

		w.Post(path, `{"properties":{"size":null,"tags":null,"displayName":{"expression":"user.displayName"}}}`).OK()
		w.Work()
		require.Equal(t,
			map[string]any{"givenName": "ann", "familyName": "Tester", "email": "ann@example.com", "locale": "en_US", "displayName": "Ann T"},
			profile())
	})
}

func TestMapping_RoundTrip(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	path := mapping(w, app)
	read := w.Get(path).OK()
	require.JSONEq(t, string(read.Body), string(w.Post(path, string(read.Body)).OK().Body))
	w.Put("/apps/"+app,
		`{"name":"scim2_test_app","label":"HR","credentials":{"userNameTemplate":{"template":"x-${source.login}","type":"CUSTOM",`+
			`"pushStatus":"PUSH"}}}`).OK()
	after := w.Get(path).OK()
	require.Equal(t, `"x-" + source.login`, after.Text("properties", "userName", "expression"), "the user name still follows the template")
	require.Equal(t, "PUSH", after.Text("properties", "userName", "pushStatus"))
}

func TestMapping_UserName(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	path := mapping(w, app)
	w.Post(path, `{"properties":{"userName":{"expression":"user.nickName","pushStatus":"PUSH"}}}`).OK()
	ann := w.User("ann", "nickName", "annie")
	require.Equal(t, "annie", w.Assign(app, ann).Text("credentials", "userName"))
	w.Post("/users/"+ann, `{"profile":{"nickName":"anna"}}`).OK()
	require.Equal(t, "anna", w.Get("/apps/"+app+"/users/"+ann).OK().Text("credentials", "userName"))
	w.Post("/apps/"+app+"/users", `{"id":"`+w.User("bob")+`"}`).Fails(400, "E0000001", "userName")
	w.Post(path, `{"properties":{"userName":null}}`).OK()
	w.Post("/apps/"+app+"/users", `{"id":"`+w.User("carl", "nickName", "c")+`"}`).Fails(400, "E0000001", "userName")
}

func TestMapping_RulesPerUserType(t *testing.T) {
	w := apptest.New(t)
	kind := w.Post("/meta/types/user", `{"name":"temp","displayName":"Temp"}`).OK().Text("id")
	app := w.SCIMApp("HR")
	w.Post("/mappings/"+w.Get("/mappings?sourceId=" + kind + "&targetId=" + app).IDs()[0],
		`{"properties":{"userType":{"expression":"\"temp\""}}}`).OK()
	temp := w.Post("/users",
		`{"profile":{"login":"t@example.com","email":"t@example.com","firstName":"T","lastName":"T"},"type":{"id":"`+kind+`"}}`).OK().Text("id")
	require.Equal(t, "temp", w.Assign(app, temp).Text("profile", "userType"))
	require.Empty(t, w.Assign(app, w.User("ann")).Text("profile", "userType"))
}

func TestMapping_GroupExpressions(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, ann := w.SCIMApp("HR"), w.User("ann")
		sales := w.Group("Sales")
		w.Assign(app, ann)
		w.Post(mapping(w, app), `{"properties":{"userType":{"expression":"isMemberOfGroupName(\"Sales\") ? \"seller\" : null"}}}`).OK()
		w.Work()
		is := func() string { return w.Get("/apps/"+app+"/users/"+ann).OK().Text("profile", "userType") }
		require.Empty(t, is())
		w.Join(sales, ann)
		require.Equal(t, "seller", is())
		w.Put("/groups/"+sales, `{"profile":{"name":"Marketing"}}`).OK()
		w.Work()
		require.Empty(t, is())
		w.Put("/groups/"+sales, `{"profile":{"name":"Sales"}}`).OK()
		w.Work()
		require.Equal(t, "seller", is())
		w.Leave(sales, ann)
		require.Empty(t, is())
		w.Join(sales, ann)
		w.Delete("/groups/" + sales).OK(204)
		w.Work()
		require.Empty(t, is())
	})
}

// TestMapping_InvalidValueNotProvisioned checks that the service does not provision a mapped value that violates the application schema.
func TestMapping_InvalidValueNotProvisioned(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	w.Connect(app, apptest.All)
	w.Post("/meta/schemas/apps/"+app+"/default", mappingCustom(`"size":{"title":"Size","type":"integer","maximum":50}`)).OK()
	w.Post(mapping(w, app), `{"properties":{"size":{"expression":"user.costCenter"}}}`).OK()
	ann := w.User("ann", "costCenter", "40")
	require.Equal(t, 40.0, w.Assign(app, ann).Value("profile", "size"))
	w.Post("/users/"+ann, `{"profile":{"costCenter":"90"}}`).OK()
	read := w.Get("/apps/" + app + "/users/" + ann).OK()
	require.Equal(t, "ERROR", read.Text("syncState"))
	require.Nil(t, read.Value("profile", "size"))
	w.Post("/users/"+ann, `{"profile":{"costCenter":"41"}}`).OK()
	read = w.Get("/apps/" + app + "/users/" + ann).OK()
	require.Equal(t, "OUT_OF_SYNC", read.Text("syncState"))
	require.Equal(t, 41.0, read.Value("profile", "size"))
	w.Post("/apps/"+app+"/users", `{"id":"`+w.User("bob", "costCenter", "x")+`"}`).Fails(400, "E0000001", "profile.size: ")
}

// TestMapping_UpdatesUsersInBatches checks that a mapping change updates users in batches, and that a second change restarts the update.
func TestMapping_UpdatesUsersInBatches(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	var users []string
	for i := range 120 {
		users = append(users, w.StagedUser(fmt.Sprintf("u%03d", i), "nickName", "n"))
		w.Assign(app, users[i])
	}
	path := mapping(w, app)
	w.Post(path, `{"properties":{"displayName":{"expression":"user.nickName"}}}`).OK()
	left := func() (n int) {
		for _, user := range users {
			if w.Get("/apps/"+app+"/users/"+user).OK().Text("profile", "displayName") == "" {
				n++
			}
		}
		return n
	}
	require.Equal(t, 120, left())
	w.Step()
	require.Equal(t, 20, left(), "each step updates a limited number of users")
	w.Post(path, `{"properties":{"displayName":{"expression":"\"m\""}}}`).OK()
	w.Work()
	for _, user := range users {
		require.Equal(t, "m", w.Get("/apps/"+app+"/users/"+user).OK().Text("profile", "displayName"), "a change during the update restarts it")
	}
	n, err := w.Model.Followings.Count(t.Context(), w.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
}
