package slicetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

const (
	scimApp        = `{"name":"scim2_test_app","label":"HR"}`
	schemaBookmark = `{"name":"bookmark","label":"News","settings":{"app":{"url":"https://example.com/"}}}`
	enterprise     = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
)

func TestAppSchema_BasedOnTemplate(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	const path = "GET /api/v1/meta/schemas/apps/"
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/apps", Body: scimApp, Save: map[string]string{"app": "id"}},
		apitest.Step{Do: path + "{{app}}/default", Has: []string{"_links.self.href", "created", "lastUpdated"}, Equal: map[string]any{
			"name": "scim2_test_app", "title": "HR User", "definitions.base.required.0": "userName",
			"definitions.base.properties.userName.maxLength":          255,
			"definitions.base.properties.givenName.externalName":      "name.givenName",
			"definitions.base.properties.givenName.externalNamespace": "urn:ietf:params:scim:schemas:core:2.0:User",
		}, Then: func(t *testing.T, a *apitest.Answer) {
			require.Len(t, a.JSON.(map[string]any)["definitions"].(map[string]any)["base"].(map[string]any)["properties"], 10)
		}},
		apitest.Step{Do: "POST /api/v1/apps", Body: schemaBookmark, Save: map[string]string{"plain": "id"}},
		apitest.Step{Name: "what does not provision has the user name alone", Do: path + "{{plain}}/default",
			Has: []string{"definitions.base.properties.userName"}, Lacks: []string{"definitions.base.properties.email"}},
		apitest.Step{Name: "no such application", Do: path + "0oa0/default", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET /api/v1/meta/types/user/default", Save: map[string]string{"type": "id"}},
		apitest.Step{Name: "an id of another kind", Do: path + "{{type}}/default", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "DELETE /api/v1/apps/{{app}}", Status: 403, Code: "E0000056"},
	)
}

func TestAppSchema_RejectsInvalidProperties(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: "POST /api/v1/apps", Body: scimApp, Save: map[string]string{"app": "id"}})
	path := "POST /api/v1/meta/schemas/apps/" + saved["app"] + "/default"
	refused := func(name, properties string, causes ...string) apitest.Step {
		for i := range causes {
			causes[i] = "definitions.custom.properties" + causes[i]
		}
		return apitest.Step{Name: name, Do: path, Body: schemaCustom(properties), Status: 400, Code: "E0000001", Causes: causes}
	}
	e.Run(t,
		apitest.Step{Name: "no body", Do: path, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "no such application", Do: "POST /api/v1/meta/schemas/apps/0oa0/default", Body: "{", Status: 404, Code: "E0000007"},
		refused("a name of the base", `"email":{"title":"x","type":"string"},"userName":{"title":"x","type":"string"}`, ".email: ",
			".userName: "),
		refused("names that are none", `"a-b":{"title":"x","type":"string"}`, ".a-b: "),
		refused("values that are unique", `"x":{"title":"x","type":"string","unique":"UNIQUE_VALIDATED"}`, ".x.unique: "),
		refused("a path that is none", `"x":{"title":"x","type":"string","externalName":"a b"}`, ".x.externalName: "),
		refused("an attribute that the engine sets",
			`"x":{"title":"x","type":"string","externalName":"active"},"y":{"title":"x","type":"string","externalName":"id"}`, ".x.externalName: ",
			".y.externalName: "),
		refused("a namespace that is no URN", `"x":{"title":"x","type":"string","externalName":"a","externalNamespace":"b"}`,
			".x.externalName: "),
		refused("the place of a base property", `"x":{"title":"x","type":"string","externalName":"displayName"}`,
			".x.externalName: The property displayName has"),
		refused("a place around that of another one", `"x":{"title":"x","type":"string","externalName":"name"}`,
			".x.externalName: The property familyName has"),
		refused("the same place twice",
			`"x":{"title":"x","type":"string","externalName":"a"},"y":{"title":"x","type":"string","externalName":"A"}`, ".x.externalName: ",
			".y.externalName: "),
		apitest.Step{Name: "base properties stay", Do: path, Status: 400, Code: "E0000001",
			Body: `{"definitions":{"base":{"properties":{"email":{"title":"Mail","required":true},"shoe":{"title":"x"},"locale":null,` +
				`"userName":{"pattern":"x","externalName":"y"}}}}}`,
			Causes: []string{
				"definitions.base.properties.email.title", "definitions.base.properties.email.required", "definitions.base.properties.locale: ",
				"definitions.base.properties.shoe: ",
				"definitions.base.properties.userName.externalName", "definitions.base.properties.userName.pattern",
			}},
		apitest.Step{Do: path,
			Body: schemaCustom(`"cost":{"title":"Cost center","type":"string","externalName":"costCenter","externalNamespace":"` + enterprise +
				`"}`), Equal: map[string]any{
				"definitions.custom.properties.cost.externalName": "costCenter", "definitions.custom.properties.cost.externalNamespace": enterprise,
			}},
		refused("another type than before", `"cost":{"title":"Cost center","type":"number"}`, ".cost.type: "),
	)
	var read string
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/meta/schemas/apps/" + saved["app"] + "/default", Then: func(_ *testing.T, a *apitest.Answer) {
			read = string(a.Body)
		}})
	e.Run(t,
		apitest.Step{Name: "a schema can be sent back as it was read", Do: path, Body: read, Then: func(t *testing.T, a *apitest.Answer) {
			require.JSONEq(t, read, string(a.Body))
		}})
}

func TestAppSchema_EnforcedOnUsers(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, ann, bob := w.SCIMApp("HR"), w.User("ann"), w.User("bob")
		early := w.Assign(app, w.User("early")).Text("id")
		schema := func(properties string) {
			w.Post("/meta/schemas/apps/"+app+"/default", schemaCustom(properties)).OK()
			w.Work()
		}
		schema(`"size":{"title":"Size","type":"integer","minimum":10},"skills":{"title":"Skills","type":"array","items":{"type":"string"}},
			"color":{"title":"Color","type":"string","enum":["red"],"oneOf":[{"const":"red","title":"Red"}]},
			"ro":{"title":"x","type":"string","mutability":"READ_ONLY"},"im":{"title":"x","type":"string","mutability":"IMMUTABLE"},
			"wo":{"title":"x","type":"string","mutability":"WRITE_ONLY"}`)

		assign := func(user, profile string) *apptest.Answer {
			return w.Post("/apps/"+app+"/users", `{"id":"`+user+`","profile":`+profile+`}`)
		}
		assign(ann, `{"size":9,"skills":"go","color":"blue","nose":"long","ro":null}`).Fails(400, "E0000001", "profile.color: ",
			"profile.nose: The attribute is not defined", "profile.size: ", "profile.skills: ")
		w.Get("/apps/"+app+"/users/"+ann).Fails(404, "E0000007")
		assign(ann, `{"ro":"x"}`).Fails(403, "E0000077", "profile.ro")
		assigned := assign(ann, `{"size":12,"skills":["go","scim"],"color":"red","im":"1","wo":"hidden"}`).OK()
		require.Equal(t, 12.0, assigned.Value("profile", "size"))
		require.Equal(t, []any{"go", "scim"}, assigned.Value("profile", "skills"))
		require.NotContains(t, string(assigned.Body), "hidden")
		require.NotContains(t, string(w.Get("/apps/"+app+"/users").OK().Body), "hidden")

		update := func(user, profile string) *apptest.Answer {
			return w.Post("/apps/"+app+"/users/"+user, `{"profile":`+profile+`}`)
		}
		update(ann, `{"size":"12"}`).Fails(400, "E0000001", "profile.size: ")
		update(ann, `{"im":"2"}`).Fails(403, "E0000078", "profile.im")
		update(ann, `{"im":null}`).Fails(403, "E0000078", "profile.im")
		require.Nil(t, update(ann, `{"im":"1","size":null,"skills":[]}`).OK().Value("profile", "size"))
		require.Equal(t, "red", w.Get("/apps/"+app+"/users/"+ann).OK().Text("profile", "color"))

		schema(`"must":{"title":"Must","type":"string","required":true}`)
		require.Equal(t, "ERROR", w.Get("/apps/"+app+"/users/"+early).OK().Text("syncState"), "who has no value is not provisioned")
		assign(bob, `{}`).Fails(400, "E0000001", "profile.must: The field cannot be left blank")
		assign(bob, `{"must":"x"}`).OK()
		update(early, `{"must":"y"}`).OK()
		require.Equal(t, "DISABLED", w.Get("/apps/"+app+"/users/"+early).OK().Text("syncState"))

		group := w.Group("Sales", w.User("carl"))
		w.Put("/apps/"+app+"/groups/"+group, `{"profile":{"size":3,"nose":"x","userName":"x"}}`).Fails(400, "E0000001", "profile.nose: ",
			"profile.size: ", "profile.userName: ")
		require.Equal(t, 11.0, w.Put("/apps/"+app+"/groups/"+group, `{"profile":{"size":11,"must":"g"}}`).OK().Value("profile", "size"))
		carl := w.Get("/apps/" + app + "/users?q=carl").IDs()[0]
		require.Equal(t, "g", w.Get("/apps/"+app+"/users/"+carl).OK().Text("profile", "must"))

		w.Post("/meta/schemas/apps/"+app+"/default", schemaCustom(`"must":null,"color":null,"size":null`)).OK()
		w.Post("/meta/schemas/apps/"+app+"/default", schemaCustom(`"must":{"title":"M","type":"string"}`)).Fails(400, "E0000001",
			"still being removed")
		w.Work()
		for _, user := range []string{ann, bob, carl} {
			for _, name := range []string{"must", "color", "size"} {
				require.Nil(t, w.Get("/apps/"+app+"/users/"+user).OK().Value("profile", name))
			}
		}
		require.Equal(t, map[string]any{}, w.Get("/apps/"+app+"/groups/"+group).OK().Value("profile"))
		schema(`"must":{"title":"M","type":"string"}`)
		require.Nil(t, w.Get("/apps/"+app+"/users/"+bob).OK().Value("profile", "must"), "what was removed does not come back")

		w.Post("/apps/"+app+"/lifecycle/deactivate", nil).OK()
		w.Delete("/apps/" + app).OK(204)
		w.Get("/meta/schemas/apps/"+app+"/default").Fails(404, "E0000007")
	})
}

func TestAppSchema_WithoutProvisioning(t *testing.T) {
	w := apptest.New(t)
	app, ann := w.Bookmark("News"), w.User("ann")
	require.Equal(t, map[string]any{}, w.Assign(app, ann).Value("profile"))
	w.Post("/meta/schemas/apps/"+app+"/default", schemaCustom(`"desk":{"title":"Desk","type":"string"}`)).OK()
	require.Equal(t, map[string]any{"desk": "7"}, w.Post("/apps/"+app+"/users/"+ann, `{"profile":{"desk":"7"}}`).OK().Value("profile"))
	w.Post("/apps/"+app+"/users/"+ann, `{"profile":{"email":"x@example.com"}}`).Fails(400, "E0000001", "profile.email: ")
}
