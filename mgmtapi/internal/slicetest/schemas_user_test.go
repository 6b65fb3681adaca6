package slicetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

const schema = "POST /api/v1/meta/schemas/user/default"

// schemaCustom returns a body with custom properties.
func schemaCustom(properties string) string {
	return `{"definitions":{"custom":{"id":"#custom","type":"object","properties":{` + properties + `},"required":[]}}}`
}

// profile returns the body of a user with the mandatory attributes and further ones.
func profile(name, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"profile":{"login":"%[1]s@example.com","email":"%[1]s@example.com","firstName":"A","lastName":"B"%[2]s}}`, name, more)
}

func TestUserSchema_BaseProperties(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t, apitest.Step{
		Do: "GET /api/v1/meta/schemas/user/default",
		Equal: map[string]any{
			"$schema": "http://json-schema.org/draft-04/schema#", "name": "user", "type": "object", "definitions.base.id": "#base",
			"definitions.custom.id":                       "#custom",
			"definitions.base.properties.login.maxLength": 100, "definitions.base.properties.login.minLength": 5,
			"definitions.base.properties.firstName.maxLength": 50,
			"definitions.base.properties.locale.format":       "locale", "definitions.base.properties.email.required": true,
			"definitions.base.required.#":                     4,
			"definitions.base.properties.nickName.mutability": "READ_WRITE", "definitions.base.properties.nickName.permissions.0.principal": "SELF",
			"definitions.base.properties.nickName.master.type": "PROFILE_MASTER", "properties.profile.allOf.1.$ref": "#/definitions/base",
		},
		Has: []string{"_links.self.href", "_links.type.href"}, Lacks: []string{"definitions.base.properties.nickName.required"},
		Then: func(t *testing.T, a *apitest.Answer) {
			require.Contains(t, a.Value("id"), "/api/v1/meta/schemas/user/osc")
			require.Len(t, a.JSON.(map[string]any)["definitions"].(map[string]any)["base"].(map[string]any)["properties"], 31)
		},
	})
}

// kinds are custom properties of all types.
const kinds = `
	"shoe":{"title":"Shoe size","type":"integer","minimum":10,"maximum":60},
	"ratio":{"title":"Ratio","type":"number","enum":[0.5,1],"oneOf":[{"const":0.5,"title":"Half"},{"const":1,"title":"Full"}]},
	"driver":{"title":"Drives","type":"boolean"},
	"badge":{"title":"Badge","type":"string","minLength":3,"maxLength":5,"unique":"UNIQUE_VALIDATED","required":true},
	"site":{"title":"Site","type":"string","format":"uri"},
	"color":{"title":"Color","type":"string","enum":["red","blue"],"oneOf":[{"const":"red","title":"Red"},{"const":"blue","title":"Blue"}]},
	"skills":{"title":"Skills","type":"array","items":{"type":"string"}},
	"levels":{"title":"Levels","type":"array","items":{"type":"integer","enum":[1,2],
		"oneOf":[{"const":1,"title":"One"},{"const":2,"title":"Two"}]}}`

// Proves B-profile-28, B-profile-29.
func TestUserSchema_EnforcedOnWrite(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{Name: "a user from before the schema change", Do: "POST /api/v1/users", Body: profile("early", ""),
				Save: map[string]string{"early": "id"}},
			apitest.Step{Do: schema, Body: schemaCustom(kinds), Equal: map[string]any{
				"definitions.custom.required.0": "badge", "definitions.custom.properties.shoe.minimum": 10,
				"definitions.custom.properties.levels.items.enum.1": 2,
				"definitions.custom.properties.color.oneOf.0.title": "Red", "definitions.custom.properties.badge.unique": "UNIQUE_VALIDATED",
			}},
			apitest.Step{Name: "all errors are in one response", Do: "POST /api/v1/users", Status: 400, Code: "E0000001",
				Body: profile("a",
					`"countryCode":"XX","shoe":9.5,"ratio":0.7,"driver":"yes","site":"x","color":"green","skills":["a",1],"levels":[3],"nose":"long"`),
				Causes: []string{
					"countryCode: ", "badge: The field cannot be left blank", "color: The value must be one of: [\"red\",\"blue\"]",
					"driver: The value must be true or false",
					"levels: Element 0", "ratio: The value must be one of", "shoe: The value must be an integer",
					"site: The value must be an absolute URL", "skills: Element 1: The value must be a string",
					"nose: The attribute is not defined",
				}},
			apitest.Step{Name: "bounds are enforced", Do: "POST /api/v1/users", Body: profile("a", `"badge":"123456","shoe":61,"levels":"1"`),
				Status: 400,
				Code:   "E0000001",
				Causes: []string{"badge: The field must have between 3 and 5 characters", "levels: The value must be an array",
					"shoe: The value must be between 10 and 60"}},
			apitest.Step{Name: "integers must be exact", Do: "POST /api/v1/users", Body: profile("a", `"badge":"123","shoe":1e400`), Status: 400,
				Code: "E0000001", Causes: []string{"shoe: The value must be an integer"}},
			apitest.Step{Name: "no rejected request has created a user", Do: "GET /api/v1/users", Equal: map[string]any{"#": 2}},
			apitest.Step{Do: "POST /api/v1/users", Save: map[string]string{"u": "id"},
				Body: profile("a",
					`"badge":"abc","shoe":42,"ratio":0.5,"driver":false,"site":"https://x.org","color":"blue","skills":["go","<b>"],"levels":[2,1]`),
				Equal: map[string]any{"profile.shoe": 42, "profile.ratio": 0.5, "profile.driver": false, "profile.skills.1": "<b>",
					"profile.levels.0": 2}},
			apitest.Step{Do: "GET /api/v1/users/{{u}}",
				Equal: map[string]any{"profile.shoe": 42, "profile.color": "blue", "profile.skills.0": "go"}},
			apitest.Step{Name: "unique values are case-insensitive", Do: "POST /api/v1/users", Body: profile("b", `"badge":"ABC"`), Status: 400,
				Code: "E0000001", Causes: []string{"badge: An object with this field already exists"}},
			apitest.Step{Name: "the owner of a unique value may send it again", Do: "POST /api/v1/users/{{u}}",
				Body:  `{"profile":{"badge":"Abc","shoe":null,"skills":["x"]}}`,
				Equal: map[string]any{"profile.badge": "Abc", "profile.skills.#": 1, "profile.color": "blue"}, Lacks: []string{"profile.shoe"}},
			apitest.Step{Name: "updates are validated", Do: "POST /api/v1/users/{{u}}", Body: `{"profile":{"shoe":"42","badge":""}}`, Status: 400,
				Code: "E0000001", Causes: []string{"badge: The field cannot", "shoe: "}},
			apitest.Step{Name: "replacements are validated", Do: "PUT /api/v1/users/{{u}}", Body: profile("a", ""), Status: 400, Code: "E0000001",
				Causes: []string{"badge: The field cannot"}},
			apitest.Step{Name: "existing users are validated at their next update", Do: "POST /api/v1/users/{{early}}/lifecycle/deactivate",
				Body: "", Status: 200},
			apitest.Step{Do: "POST /api/v1/users/{{early}}", Body: `{"profile":{"nickName":"e"}}`, Status: 400, Code: "E0000001",
				Causes: []string{"badge: "}},
			apitest.Step{Name: "removing a property deletes its values", Do: schema, Body: schemaCustom(`"color":null,"badge":null`),
				Lacks: []string{"definitions.custom.properties.color"}, Equal: map[string]any{"definitions.custom.required.#": 0}},
			apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"profile.site": "https://x.org"},
				Lacks: []string{"profile.color", "profile.badge"}},
			apitest.Step{Do: "POST /api/v1/users/{{early}}", Body: `{"profile":{"nickName":"e"}}`, Equal: map[string]any{"profile.nickName": "e"}},
			apitest.Step{Do: "POST /api/v1/users/{{u}}", Body: `{"profile":{"color":"red"}}`, Status: 400, Code: "E0000001",
				Causes: []string{"color: The attribute is not defined"}},
		)
	})
}

// Proves B-users-07, B-users-08.
func TestUserSchema_SeparatePerType(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	typed := func(name, more string) string {
		return strings.TrimSuffix(profile(name, more), "}") + `,"type":{"id":"{{type}}"}}`
	}
	e.Run(t,
		apitest.Step{Do: schema, Body: schemaCustom(`"badge":{"title":"Badge","type":"string","unique":"UNIQUE_VALIDATED"}`)},
		apitest.Step{Do: "POST /api/v1/meta/types/user", Body: `{"name":"temp","displayName":"Temp"}`,
			Save: map[string]string{"type": "id", "schema": "_links.schema.href"}},
		apitest.Step{Name: "a new type has no custom properties", Do: "POST /api/v1/users", Body: typed("t", `"badge":"1"`), Status: 400,
			Code: "E0000001", Causes: []string{"badge: The attribute is not defined"}},
		apitest.Step{Do: "POST {{schema}}",
			Body: schemaCustom(`"agency":{"title":"Agency","type":"string"},"badge":{"title":"B","type":"string","unique":"UNIQUE_VALIDATED"}`)},
		apitest.Step{Do: "POST /api/v1/users", Body: typed("t", `"badge":"1","agency":"x"`), Save: map[string]string{"u": "id"}},
		apitest.Step{Name: "values are unique within a type", Do: "POST /api/v1/users", Body: profile("d", `"badge":"1"`)},
		apitest.Step{Name: "values are unique when the type changes", Do: "PUT /api/v1/users/d", Body: typed("d", `"badge":"1"`), Status: 400,
			Code:   "E0000001",
			Causes: []string{"badge: An object"}},
		apitest.Step{Name: "no such type", Do: "PUT /api/v1/users/{{u}}", Body: `{"type":{"id":"oty0"}}`, Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET /api/v1/meta/types/user/default", Save: map[string]string{"default": "id"}},
		apitest.Step{Name: "attributes of another type are rejected", Do: "PUT /api/v1/users/{{u}}",
			Body:   strings.TrimSuffix(profile("t", `"agency":"x"`), "}") + `,"type":{"id":"{{default}}"}}`,
			Status: 400, Code: "E0000001", Causes: []string{"agency: The attribute is not defined"}},
		apitest.Step{Name: "a duplicate of a unique value prevents the change of the type", Do: "PUT /api/v1/users/{{u}}",
			Body:   `{"type":{"id":"{{default}}"}}`,
			Status: 400, Code: "E0000001", Causes: []string{"badge: An object"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}", Body: `{"profile":{"badge":"2"}}`},
		apitest.Step{Name: "attributes that the new type lacks are removed", Do: "PUT /api/v1/users/{{u}}", Body: `{"type":{"id":"{{default}}"}}`,
			Lacks: []string{"profile.agency"}, Equal: map[string]any{"profile.badge": "2", "type.id": "{{default}}"}},
	)
}

func TestUserSchema_Mutability(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: schema,
			Body: schemaCustom(`"ro":{"title":"x","type":"string"},"im":{"title":"x","type":"string","mutability":"IMMUTABLE"},"wo":{"title":"x",` +
				`"type":"string","mutability":"WRITE_ONLY"}`)},
		apitest.Step{Do: "POST /api/v1/users", Body: profile("a", `"ro":"1","im":"2","wo":"3"`), Equal: map[string]any{"profile.im": "2"},
			Lacks: []string{"profile.wo"}},
		apitest.Step{Do: "GET /api/v1/users?search=profile.login+eq+%22a@example.com%22", Equal: map[string]any{"#": 1},
			Lacks: []string{"0.profile.wo"}},
		apitest.Step{Do: schema, Body: schemaCustom(`"ro":{"title":"x","type":"string","mutability":"READ_ONLY"}`)},
		apitest.Step{Do: "POST /api/v1/users/a", Body: `{"profile":{"ro":"2"}}`, Status: 403, Code: "E0000077", Causes: []string{"ro: "}},
		apitest.Step{Do: "POST /api/v1/users/a", Body: `{"profile":{"im":"3"}}`, Status: 403, Code: "E0000078", Causes: []string{"im: "}},
		apitest.Step{Do: "POST /api/v1/users/a", Body: `{"profile":{"im":null}}`, Status: 403, Code: "E0000078", Causes: []string{"im: "}},
		apitest.Step{Do: "POST /api/v1/users", Body: profile("b", `"ro":"1"`), Status: 403, Code: "E0000077", Causes: []string{"ro: "}},
		apitest.Step{Name: "sending a read-only value unchanged is allowed", Do: "POST /api/v1/users/a",
			Body: `{"profile":{"ro":"1","im":"2","wo":"4"}}`, Equal: map[string]any{"profile.ro": "1"}},
		apitest.Step{Name: "a replacement keeps read-only values", Do: "PUT /api/v1/users/a", Body: profile("a", ""),
			Equal: map[string]any{"profile.ro": "1", "profile.im": "2"}},
		apitest.Step{Name: "hidden values are still stored", Do: schema,
			Body: schemaCustom(`"wo":{"title":"x","type":"string"}`)},
		apitest.Step{Do: "GET /api/v1/users/a", Equal: map[string]any{"profile.wo": "4"}},
	)
}

func TestUserSchema_ExistingValuesBecomeUnique(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		unique := schemaCustom(`"badge":{"title":"Badge","type":"string","unique":"UNIQUE_VALIDATED"}`)
		e.Run(t,
			apitest.Step{Do: schema, Body: schemaCustom(`"badge":{"title":"Badge","type":"string"}`)},
			apitest.Step{Do: "POST /api/v1/users", Body: profile("a", `"badge":"x"`)},
			apitest.Step{Do: "POST /api/v1/users", Body: profile("b", `"badge":"X"`)},
			apitest.Step{Name: "a property with duplicate values cannot become unique", Do: schema, Body: unique, Status: 400, Code: "E0000001",
				Causes: []string{"definitions.custom.properties.badge.unique: "}},
			apitest.Step{Do: "GET /api/v1/meta/schemas/user/default", Lacks: []string{"definitions.custom.properties.badge.unique"}},
			apitest.Step{Do: "POST /api/v1/users/b", Body: `{"profile":{"badge":"y"}}`},
			apitest.Step{Do: schema, Body: unique},
			apitest.Step{Do: "POST /api/v1/users/b", Body: `{"profile":{"badge":"x"}}`, Status: 400, Code: "E0000001",
				Causes: []string{"badge: An object"}},
			apitest.Step{Name: "long values can be unique", Do: "POST /api/v1/users",
				Body: profile("c", `"badge":"`+strings.Repeat("long", 5000)+`"`)},
			apitest.Step{Do: "POST /api/v1/users", Body: profile("d", `"badge":"`+strings.Repeat("LONG", 5000)+`"`), Status: 400, Code: "E0000001",
				Causes: []string{"badge: An object"}},
			apitest.Step{Name: "a property can stop being unique", Do: schema,
				Body: schemaCustom(`"badge":{"title":"Badge","type":"string","unique":"NOT_UNIQUE"}`)},
			apitest.Step{Do: "POST /api/v1/users/b", Body: `{"profile":{"badge":"x"}}`},
		)
	})
}

// Proves B-profile-24, B-profile-26, B-profile-27.
func TestUserSchema_BasePropertyChanges(t *testing.T) {
	base := func(properties string) string { return `{"definitions":{"base":{"properties":{` + properties + `}}}}` }
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: schema,
			Body: base(`"firstName":{"required":false},"login":{"pattern":"[a-z]+[0-9]*"},"nickName":{"title":"Nickname","type":"string",` +
				`"permissions":[{"principal":"SELF","action":"HIDE"}]}`),
			Equal: map[string]any{"definitions.base.properties.firstName.required": false, "definitions.base.required.#": 3,
				"definitions.base.properties.nickName.permissions.0.action": "HIDE", "definitions.base.properties.login.pattern": "[a-z]+[0-9]*"}},
		apitest.Step{Do: "POST /api/v1/users", Body: `{"profile":{"login":"brock1","email":"b@example.com","lastName":"B"}}`,
			Equal: map[string]any{"profile.login": "brock1", "profile.firstName": nil}},
		apitest.Step{Do: "POST /api/v1/users", Body: `{"profile":{"login":"a@example.com","email":"b@example.com"}}`, Status: 400,
			Code: "E0000001", Causes: []string{"login: The value must match the pattern", "lastName"}},
		apitest.Step{Name: "a login cannot contain a slash", Do: schema, Body: base(`"login":{"pattern":".+"}`)},
		apitest.Step{Do: "POST /api/v1/users", Body: `{"profile":{"login":"a/b/c","email":"b@example.com","lastName":"B"}}`, Status: 400,
			Code: "E0000001", Causes: []string{"login: The value must not contain a slash"}},
		apitest.Step{Name: "an empty pattern restores the email format", Do: schema, Body: base(`"login":{"pattern":""}`),
			Lacks: []string{"definitions.base.properties.login.pattern"}},
		apitest.Step{Do: "POST /api/v1/users", Body: `{"profile":{"login":"brock2","email":"b@example.com","lastName":"B"}}`, Status: 400,
			Code: "E0000001", Causes: []string{"login: The value must look like"}},
		apitest.Step{Name: "all forbidden changes are in one response", Do: schema, Status: 400, Code: "E0000001",
			Body: base(`"email":{"required":false,"maxLength":200},"city":null,"title":{"title":"x","type":"integer","pattern":"x"},` +
				`"shoe":{"title":"x"},"login":{"pattern":"["}`),
			Causes: []string{
				"definitions.base.properties.city: ", "definitions.base.properties.email.required", "definitions.base.properties.email.maxLength",
				"definitions.base.properties.login.pattern",
				"definitions.base.properties.shoe: ", "definitions.base.properties.title.pattern", "definitions.base.properties.title.title",
				"definitions.base.properties.title.type",
			}},
	)
	var read string
	e.Run(t, apitest.Step{Do: "GET /api/v1/meta/schemas/user/default", Then: func(_ *testing.T, a *apitest.Answer) { read = string(a.Body) }})
	e.Run(t,
		apitest.Step{Name: "a schema can be sent back unchanged", Do: schema, Body: read, Then: func(t *testing.T, a *apitest.Answer) {
			require.JSONEq(t, read, string(a.Body))
		}})
}

func TestUserSchema_RejectsInvalidProperties(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	rejected := func(name, properties string, causes ...string) apitest.Step {
		for i := range causes {
			causes[i] = "definitions.custom.properties" + causes[i]
		}
		return apitest.Step{Name: name, Do: schema, Body: schemaCustom(properties), Status: 400, Code: "E0000001", Causes: causes}
	}
	e.Run(t,
		apitest.Step{Do: schema, Body: schemaCustom(`"shoe":{"title":"Shoe","type":"integer"}`)},
		apitest.Step{Name: "no body", Do: schema, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "no such schema", Do: "POST /api/v1/meta/schemas/user/osc0", Body: "{", Status: 404, Code: "E0000007"},
		rejected("a name of a base property", `"email":{"title":"x","type":"string"}`, ".email: "),
		rejected("invalid names", `"1x":{"title":"x","type":"string"},"a-b":{"title":"x","type":"string"}`, ".1x: ", ".a-b: "),
		rejected("title and type are mandatory", `"x":{},"y":null`, ".x.title: The field cannot be left blank",
			".x.type: The field cannot be left blank"),
		rejected("a type that does not exist", `"x":{"title":"x","type":"object"}`, ".x.type: "),
		rejected("a changed type", `"shoe":{"title":"Shoe","type":"string"}`, ".shoe.type: "),
		rejected("an array without an item type", `"x":{"title":"x","type":"array"}`, ".x.items.type: "),
		rejected("members that the type does not support",
			`"x":{"title":"x","type":"boolean","minLength":1,"maximum":2,"format":"uri","items":{"type":"string"},"enum":[true],`+
				`"unique":"UNIQUE_VALIDATED"},"y":{"title":"y","type":"string","pattern":"a"}`,
			".x.items", ".x.format", ".x.minLength", ".x.maximum", ".x.enum", ".x.unique", ".y.pattern"),
		rejected("a minimum above the maximum",
			`"x":{"title":"x","type":"string","minLength":3,"maxLength":2},"y":{"title":"y","type":"number","minimum":2,"maximum":1}`,
			".x.minLength", ".y.minimum"),
		rejected("enum without oneOf titles", `"x":{"title":"x","type":"string","enum":["a"]}`, ".x.enum"),
		rejected("titles that do not match the values", `"x":{"title":"x","type":"string","enum":["a"],"oneOf":[{"const":"b","title":"B"}]}`,
			".x.enum"),
		rejected("titles without values", `"x":{"title":"x","type":"array","items":{"type":"string","oneOf":[{"const":"b","title":"B"}]}}`,
			".x.items.enum"),
		rejected("values of another type", `"x":{"title":"x","type":"integer","enum":["a"],"oneOf":[{"const":"a","title":"B"}]}`, ".x.enum"),
		rejected("a duplicate value",
			`"x":{"title":"x","type":"integer","enum":[1,1.0],"oneOf":[{"const":1,"title":"A"},{"const":1,"title":"B"}]}`,
			".x.enum"),
		rejected("unknown keywords",
			`"x":{"title":"x","type":"string","mutability":"SOMETIMES","scope":"ALL","master":{"type":"ME"},"permissions":[{"principal":"YOU",`+
				`"action":"EAT"}]}`,
			".x.mutability", ".x.scope", ".x.permissions[0].principal", ".x.permissions[0].action", ".x.master.type"),
	)
	var many []string
	for i := range 6 {
		many = append(many, fmt.Sprintf(`"u%d":{"title":"x","type":"string","unique":"UNIQUE_VALIDATED"}`, i))
	}
	e.Run(t,
		rejected("six unique properties", strings.Join(many, ","), ": At most 5 custom properties"),
		apitest.Step{Name: "the type of an existing property can be omitted", Do: schema,
			Body:  schemaCustom(`"shoe":{"title":"Size","minimum":1}`),
			Equal: map[string]any{"definitions.custom.properties.shoe.title": "Size", "definitions.custom.properties.shoe.type": "integer"}},
		apitest.Step{Name: "no rejected request has changed the schema", Do: "GET /api/v1/meta/schemas/user/default",
			Then: func(t *testing.T, a *apitest.Answer) {
				require.Len(t, a.JSON.(map[string]any)["definitions"].(map[string]any)["custom"].(map[string]any)["properties"], 1)
			}},
	)
}
