package authz_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// A USER_ADMIN cannot change a SUPER_ADMIN. After the deactivation, the user has no role, and the USER_ADMIN can activate it again.
func TestUserAdmin_RehiresAdministrator(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		hr, former := administrator(t, e, "hr", "USER_ADMIN"), administrator(t, e, "former", "SUPER_ADMIN")
		at := "/api/v1/users/" + former.id
		e.Run(t,
			former.may("GET /api/v1/logs", ""),
			hr.mayNot("POST "+at, `{"profile":{"title":"x"}}`),
			hr.mayNot("POST "+at+"/lifecycle/deactivate", ""),
			apitest.Step{Do: "POST " + at + "/lifecycle/deactivate"},
			hr.may("POST "+at, `{"profile":{"title":"Returning"}}`),
			hr.may("POST "+at+"/lifecycle/activate?sendEmail=false", ""),
			hr.may("POST "+at, `{"profile":{"title":"Assistant"},"credentials":{"password":{"value":"Another-2026"}}}`,
				equal(map[string]any{"profile.title": "Assistant", "status": "ACTIVE"})),
			apitest.Step{Name: "the earlier API token is revoked", Do: "GET /api/v1/users/me", Header: former.header, Status: 401,
				Code: "E0000011"},
			apitest.Step{Do: "GET " + at + "/roles", Equal: map[string]any{"#": 0}},
		)
		again := admin{former.id, map[string]string{"Authorization": "SSWS " + createToken(t, e, former.id, "new").Secret}}
		e.Run(t,
			again.mayNot("GET /api/v1/users/"+hr.id, ""), again.mayNot("GET /api/v1/logs", ""),
			hr.may("POST "+at+"/lifecycle/suspend", ""),
		)
	})
}
