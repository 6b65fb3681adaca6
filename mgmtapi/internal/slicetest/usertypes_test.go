package slicetest_test

import (
	"fmt"
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/directory/usertypes"
)

func typeUser(login, typeID string) string {
	return fmt.Sprintf(
		`{"profile":{"login":"%[1]s@example.com","email":"%[1]s@example.com","firstName":"A","lastName":"B"},"type":{"id":"%[2]s"}}`, login,
		typeID)
}

func TestUserType_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/meta/types/user/default", Save: map[string]string{"default": "id"},
				Equal: map[string]any{"name": "user", "displayName": "User", "default": true, "description": nil, "_links.self.rel": "self",
					"_links.self.method": "GET"}},
			apitest.Step{Do: "POST /api/v1/meta/types/user", Body: `{"name":"contractor","displayName":"Contractor","description":"From outside"}`,
				Save:  map[string]string{"id": "id", "me": "createdBy", "self": "_links.self.href", "schema": "_links.schema.href"},
				Equal: map[string]any{"default": false, "description": "From outside"}},
			apitest.Step{Do: "GET {{self}}", Equal: map[string]any{"id": "{{id}}", "lastUpdatedBy": "{{me}}"}},
			apitest.Step{Do: "GET {{schema}}",
				Equal: map[string]any{"name": "contractor", "title": "Contractor", "definitions.custom.required.#": 0}},
			apitest.Step{Do: "GET /api/v1/meta/types/user", Equal: map[string]any{"#": 2, "0.id": "{{default}}", "1.id": "{{id}}"},
				Has: []string{"link:self"}, Lacks: []string{"link:next"}},
			apitest.Step{Name: "an update changes what is given", Do: "POST /api/v1/meta/types/user/{{id}}", Body: `{"displayName":"Temp"}`,
				Equal: map[string]any{"name": "contractor", "displayName": "Temp", "description": "From outside"}},
			apitest.Step{Name: "a replacement without description clears it", Do: "PUT /api/v1/meta/types/user/{{id}}",
				Body:  `{"name":"temp","displayName":"Temp"}`,
				Equal: map[string]any{"name": "temp", "description": nil}},
			apitest.Step{Name: "the default type can have other names for people", Do: "POST /api/v1/meta/types/user/default",
				Body:  `{"name":"user","displayName":"Staff"}`,
				Equal: map[string]any{"id": "{{default}}", "displayName": "Staff"}},
			apitest.Step{Name: "users can have the type", Do: "POST /api/v1/users", Body: typeUser("temp", "{{id}}"),
				Equal: map[string]any{"type.id": "{{id}}"}, Save: map[string]string{"u": "id"}},
			apitest.Step{Name: "a type with users stays", Do: "DELETE /api/v1/meta/types/user/{{id}}", Status: 403, Code: "E0000142",
				Causes: []string{"reason: UNMET_REQUIREMENTS"}},
			apitest.Step{Name: "an update cannot change the type of a user", Do: "POST /api/v1/users/{{u}}", Body: `{"type":{"id":"{{default}}"}}`,
				Status: 400, Code: "E0000001", Causes: []string{"type"}},
			apitest.Step{Name: "a replacement can", Do: "PUT /api/v1/users/{{u}}", Body: typeUser("temp", "{{default}}"),
				Equal: map[string]any{"type.id": "{{default}}"}},
			apitest.Step{Do: "DELETE /api/v1/meta/types/user/{{id}}", Status: 204},
			apitest.Step{Do: "GET {{self}}", Status: 404, Code: "E0000007"},
			apitest.Step{Name: "its schema went with it", Do: "GET {{schema}}", Status: 404, Code: "E0000007"},
			apitest.Step{Name: "its name is free", Do: "POST /api/v1/meta/types/user", Body: `{"name":"temp","displayName":"T"}`},
			apitest.Step{Name: "the default type stays", Do: "DELETE /api/v1/meta/types/user/default", Status: 403, Code: "E0000142",
				Causes: []string{"reason: PROHIBITED"}},
			apitest.Step{Name: "users of no type do not exist", Do: "POST /api/v1/users", Body: typeUser("x", "{{id}}"), Status: 404,
				Code: "E0000007"},
			apitest.Step{Name: "not as replacements either", Do: "PUT /api/v1/users/{{u}}", Body: typeUser("temp", "{{id}}"), Status: 404,
				Code: "E0000007"},
		)
	})
}

func TestUserType_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/meta/types/user", Status: 400, Code: "E0000003"},
		apitest.Step{Name: "nothing is given", Do: "POST /api/v1/meta/types/user", Body: `{"name":"","displayName":null}`, Status: 400,
			Code: "E0000001", Causes: []string{"name: The field cannot be left blank", "displayName: The field cannot be left blank"}},
		apitest.Step{Name: "the name is none of a variable", Do: "POST /api/v1/meta/types/user", Body: `{"name":"1x","displayName":7}`,
			Status: 400, Code: "E0000001", Causes: []string{"displayName", "name"}},
		apitest.Step{Name: "the name is taken", Do: "POST /api/v1/meta/types/user", Body: `{"name":"user","displayName":"x"}`, Status: 400,
			Code: "E0000001", Causes: []string{"name: An object with this field already exists"}},
		apitest.Step{Name: "the default type keeps its name", Do: "PUT /api/v1/meta/types/user/default",
			Body: `{"name":"staff","displayName":"x"}`, Status: 400, Code: "E0000001", Causes: []string{"name"}},
		apitest.Step{Name: "also in an update", Do: "POST /api/v1/meta/types/user/default", Body: `{"name":"staff"}`, Status: 400,
			Code: "E0000001", Causes: []string{"name"}},
		apitest.Step{Name: "a replacement names everything", Do: "PUT /api/v1/meta/types/user/default", Body: `{"name":"user"}`, Status: 400,
			Code: "E0000001", Causes: []string{"displayName"}},
		apitest.Step{Do: "GET /api/v1/meta/types/user/oty000", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "DELETE /api/v1/meta/types/user/oty000", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "existence comes before the body", Do: "PUT /api/v1/meta/types/user/oty000", Body: "{", Status: 404, Code: "E0000007"},
	)
	for i := range usertypes.MaxTypes - 1 {
		e.Run(t, apitest.Step{Do: "POST /api/v1/meta/types/user", Body: fmt.Sprintf(`{"name":"t%d","displayName":"T"}`, i)})
	}
	e.Run(t,
		apitest.Step{Name: "there are too many", Do: "POST /api/v1/meta/types/user", Body: `{"name":"more","displayName":"T"}`, Status: 400,
			Code: "E0000001"})
}
