package users_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves B-users-12, B-users-48, B-users-49, B-users-51.
func TestUpdatesAndReplacements(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/users",
				Body: `{"profile":{"login":"a@example.com","email":"a@example.com","firstName":"A","lastName":"B","title":"Boss","city":"Bern"}}`,
				Save: map[string]string{"id": "id", "tag": "header:ETag"}},
			apitest.Step{Do: "POST /api/v1/users", Body: without("other@example.com")},
			apitest.Step{Name: "a partial update changes what is sent", Do: "POST /api/v1/users/{{id}}",
				Body:  `{"profile":{"title":null,"nickName":"Al"}}`,
				Equal: map[string]any{"profile.nickName": "Al", "profile.city": "Bern", "profile.firstName": "A"}, Lacks: []string{"profile.title"},
				Save: map[string]string{"new": "header:ETag"}},
			apitest.Step{Name: "the old entity tag no longer matches", Do: "POST /api/v1/users/{{id}}", Body: `{"profile":{"title":"x"}}`,
				Header: map[string]string{"If-Match": "{{tag}}"}, Status: 412, Code: "E0000231"},
			apitest.Step{Name: "the new entity tag matches", Do: "POST /api/v1/users/{{id}}", Body: `{"profile":{"title":"x"}}`,
				Header: map[string]string{"If-Match": "{{new}}"}, Equal: map[string]any{"profile.title": "x"}},
			apitest.Step{Name: "a mandatory attribute cannot be cleared", Do: "POST /api/v1/users/{{id}}", Body: `{"profile":{"lastName":null}}`,
				Status: 400, Code: "E0000001", Causes: []string{"lastName: The field cannot be left blank"}},
			apitest.Step{Name: "a login of another user is rejected", Do: "POST /api/v1/users/{{id}}",
				Body: `{"profile":{"login":"Öther@example.com"}}`, Status: 400, Code: "E0000001",
				Causes: []string{"login: An object with this field already exists"}},
			apitest.Step{Name: "the user's own login in other case is accepted", Do: "POST /api/v1/users/{{id}}",
				Body: `{"profile":{"login":"A@Example.com"}}`, Equal: map[string]any{"profile.login": "A@Example.com"}},
			apitest.Step{Name: "an unknown attribute is rejected", Do: "POST /api/v1/users/{{id}}", Body: `{"profile":{"hat":"x"}}`, Status: 400,
				Code: "E0000001", Causes: []string{"hat: "}},
			apitest.Step{Name: "another type is rejected", Do: "POST /api/v1/users/{{id}}", Body: `{"type":{"id":"oty2"}}`, Status: 400,
				Code: "E0000001", Causes: []string{"type: "}},
			apitest.Step{Name: "a user can be sent back as it was read", Do: "POST /api/v1/users/{{id}}",
				Body: `{"id":"x","status":"y","_links":{},"created":5,"profile":{"mobilePhone":null}}`, Equal: map[string]any{"id": "{{id}}"}},
			apitest.Step{Name: "an update needs a body", Do: "POST /api/v1/users/{{id}}", Status: 400, Code: "E0000003"},
			apitest.Step{Name: "a replacement clears what is not sent", Do: "PUT /api/v1/users/{{id}}?strict=true", Body: without("a@example.com"),
				Lacks: []string{"profile.city", "profile.title"}, Equal: map[string]any{"profile.firstName": "Isaac"}},
			apitest.Step{Name: "a replacement needs the mandatory attributes", Do: "PUT /api/v1/users/{{id}}",
				Body: `{"profile":{"login":"a@example.com"}}`, Status: 400, Code: "E0000001", Causes: []string{"firstName", "lastName", "email"}},
			apitest.Step{Name: "a replacement without a profile keeps it", Do: "PUT /api/v1/users/{{id}}", Body: `{}`,
				Equal: map[string]any{"profile.firstName": "Isaac"}},
			apitest.Step{Name: "a replacement with an unknown type returns 404", Do: "PUT /api/v1/users/{{id}}", Body: `{"type":{"id":"oty2"}}`,
				Status: 404, Code: "E0000007"},
			apitest.Step{Name: "a password activates a PROVISIONED user", Do: "POST /api/v1/users/{{id}}",
				Body: `{"credentials":{"password":{"value":"` + password1 + `"}}}`, Equal: map[string]any{"status": "ACTIVE"},
				Has: []string{"credentials.password"}},
			apitest.Step{Name: "a weak password is rejected", Do: "POST /api/v1/users/{{id}}", Body: `{"credentials":{"password":{"value":"weak"}}}`,
				Status: 400, Code: "E0000001", Causes: []string{"password: "}},
			apitest.Step{Do: "POST /api/v1/users/{{id}}/lifecycle/deactivate"},
			apitest.Step{Name: "the profile of a DEPROVISIONED user can change", Do: "POST /api/v1/users/{{id}}",
				Body: `{"profile":{"title":"gone"}}`, Equal: map[string]any{"status": "DEPROVISIONED", "profile.title": "gone"}},
			apitest.Step{Name: "the credentials of a DEPROVISIONED user cannot change", Do: "POST /api/v1/users/{{id}}",
				Body: `{"credentials":{"password":{"value":"` + password1 + `"}}}`, Status: 403, Code: "E0000038"},
			apitest.Step{Name: "an unknown user is reported before the body is read", Do: "PUT /api/v1/users/00unobody", Body: `{`, Status: 404,
				Code: "E0000007"},
		)
	})
}
