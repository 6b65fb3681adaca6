package slicetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

const groupSchema = "POST /api/v1/meta/schemas/group/default"

// TestGroupSchema_EnforcedOnWrite checks that every write of a group enforces the custom attributes of the group schema.
func TestGroupSchema_EnforcedOnWrite(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		group := func(more string) string { return `{"profile":{"name":"Sales"` + more + `}}` }
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/meta/schemas/group/default", Has: []string{"_links.self.href", "created"}, Equal: map[string]any{
				"name": "group", "definitions.base.properties.name.maxLength": 255, "definitions.base.required.0": "name",
				"definitions.base.properties.description.maxLength": 1024, "definitions.custom.required.#": 0,
			}},
			apitest.Step{Name: "a group from before", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Early"}}`,
				Save: map[string]string{"early": "id"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: group(`,"floor":3`), Status: 400, Code: "E0000001",
				Causes: []string{"floor: The attribute is not defined"}},
			apitest.Step{Do: groupSchema,
				Body: schemaCustom(`"floor":{"title":"Floor","type":"integer","required":true,"maximum":9},"tags":{"title":"Tags","type":"array",` +
					`"items":{"type":"string"}},"code":{"title":"Code","type":"string","mutability":"IMMUTABLE"},"ro":{"title":"x","type":"string",` +
					`"mutability":"READ_ONLY"}`),
				Equal: map[string]any{"definitions.custom.required.0": "floor", "definitions.custom.properties.floor.maximum": 9}},
			apitest.Step{Name: "all that is wrong is told at once", Do: "POST /api/v1/groups",
				Body: `{"profile":{"floor":"3","tags":["a",1],"nose":"x"}}`, Status: 400, Code: "E0000001",
				Causes: []string{"name: The field cannot", "floor: ", "tags: Element 1", "nose: "}},
			apitest.Step{Do: "POST /api/v1/groups", Body: group(""), Status: 400, Code: "E0000001",
				Causes: []string{"floor: The field cannot be left blank"}},
			apitest.Step{Do: "POST /api/v1/groups", Body: group(`,"floor":3,"ro":"x"`), Status: 403, Code: "E0000077", Causes: []string{"ro: "}},
			apitest.Step{Do: "POST /api/v1/groups", Body: group(`,"floor":3,"tags":["a"],"code":"X1"`), Save: map[string]string{"g": "id"},
				Equal: map[string]any{"profile.floor": 3, "profile.tags.0": "a", "profile.description": nil}},
			apitest.Step{Name: "a replacement drops what it does not name, and leaves what callers cannot change", Do: "PUT /api/v1/groups/{{g}}",
				Body: group(`,"floor":4`), Lacks: []string{"profile.tags"}, Equal: map[string]any{"profile.floor": 4, "profile.code": "X1"}},
			apitest.Step{Do: "PUT /api/v1/groups/{{g}}", Body: group(`,"floor":4,"code":"X2"`), Status: 403, Code: "E0000078",
				Causes: []string{"code: "}},
			apitest.Step{Do: "PUT /api/v1/groups/{{g}}", Body: group(`,"floor":10`), Status: 400, Code: "E0000001", Causes: []string{"floor: "}},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}", Equal: map[string]any{"profile.floor": 4}},
			apitest.Step{Name: "groups that exist are checked at their next update", Do: "PUT /api/v1/groups/{{early}}",
				Body: `{"profile":{"name":"Early"}}`, Status: 400, Code: "E0000001", Causes: []string{"floor: "}},
			apitest.Step{Name: "they can be searched for", Do: "GET /api/v1/groups?search=profile.floor+gt+3+and+profile.code+sw+%22x%22",
				Equal: map[string]any{"#": 1, "0.id": "{{g}}"}},
			apitest.Step{Name: "a removed property takes its values along", Do: groupSchema, Body: schemaCustom(`"floor":null,"code":null`),
				Lacks: []string{"definitions.custom.properties.floor"}},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}", Lacks: []string{"profile.floor", "profile.code"},
				Equal: map[string]any{"profile.name": "Sales"}},
			apitest.Step{Do: groupSchema, Body: schemaCustom(`"code":{"title":"Code","type":"string"}`)},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}", Lacks: []string{"profile.code"}},
			apitest.Step{Do: "PUT /api/v1/groups/{{early}}", Body: `{"profile":{"name":"Early","code":"q"}}`,
				Equal: map[string]any{"profile.code": "q"}},
		)
	})
}

func TestGroupSchema_RejectsInvalidProperties(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Name: "no body", Do: groupSchema, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "there is one schema", Do: "GET /api/v1/meta/schemas/group/osc0", Status: 404, Code: "E0000008"},
		apitest.Step{Name: "all at once", Do: groupSchema, Status: 400, Code: "E0000001",
			Body: `{"definitions":{"base":{"properties":{"name":{"required":false,"maxLength":9},"x":{"title":"x"}}},"custom":{"properties":{
				"name":{"title":"x","type":"string"},"a":{"title":"x","type":"string","unique":"UNIQUE_VALIDATED"},
				"b":{"title":"x","type":"string","mutability":"WRITE_ONLY"},"c":{}}}}}`,
			Causes: []string{
				"definitions.base.properties.name.maxLength", "definitions.base.properties.name.required", "definitions.base.properties.x",
				"definitions.custom.properties.a.unique", "definitions.custom.properties.b.mutability", "definitions.custom.properties.c.title",
				"definitions.custom.properties.c.type", "definitions.custom.properties.name",
			}},
	)
	var read string
	e.Run(t, apitest.Step{Do: "GET /api/v1/meta/schemas/group/default", Then: func(_ *testing.T, a *apitest.Answer) { read = string(a.Body) }})
	e.Run(t,
		apitest.Step{Name: "a schema can be sent back as it was read", Do: groupSchema, Body: read, Then: func(t *testing.T, a *apitest.Answer) {
			require.Equal(t, "group", a.Value("name"))
		}})
}
