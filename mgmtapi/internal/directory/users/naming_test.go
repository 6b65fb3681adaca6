package users_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves B-profile-02, B-profile-03.
func TestLogin_IgnoresCaseAndDiacritics(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		taken := func(name, login string) apitest.Step {
			return apitest.Step{Name: name, Do: "POST /api/v1/users", Body: without(login), Status: 400, Code: "E0000001",
				Causes: []string{"login: An object with this field already exists in the current organization"}}
		}
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: without("zoe@example.com"), Save: map[string]string{"zoe": "id"}},
			taken("another case is the same login", "ZOE@Example.COM"),
			taken("other diacritics are the same login", "zoë@example.com"),
			taken("other case and decomposed diacritics are the same login", "ZOE\u0308@example.com"),
			apitest.Step{Name: "users are found ignoring case and diacritics", Do: "GET /api/v1/users/ZO%C3%8B@EXAMPLE.com",
				Equal: map[string]any{"id": "{{zoe}}", "profile.login": "zoe@example.com"}},
			apitest.Step{Name: "users are found by short login", Do: "GET /api/v1/users/zo%C3%AB", Equal: map[string]any{"id": "{{zoe}}"}},
			apitest.Step{Do: "POST /api/v1/users", Body: without("zoe@example.org"), Save: map[string]string{"other": "id"}},
			apitest.Step{Name: "an ambiguous short login is not found", Do: "GET /api/v1/users/zoe", Status: 404, Code: "E0000007"},
			apitest.Step{Name: "a change of the login is checked", Do: "POST /api/v1/users/{{other}}",
				Body: `{"profile":{"login":"Zoé@example.com"}}`, Status: 400, Code: "E0000001"},
			apitest.Step{Name: "the login of a replacement is checked", Do: "PUT /api/v1/users/{{other}}", Body: without("ZOE@example.com"),
				Status: 400,
				Code:   "E0000001"},
			apitest.Step{Name: "a user's own login can change in case", Do: "POST /api/v1/users/{{zoe}}",
				Body: `{"profile":{"login":"Zoë@example.com"}}`, Equal: map[string]any{"profile.login": "Zoë@example.com"}},
			apitest.Step{Name: "a rejected change is not stored in part", Do: "GET /api/v1/users/{{other}}",
				Equal: map[string]any{"profile.login": "zoe@example.org"}},
		)
	})
}

func TestCreate_RolledBackOnFailure(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		nobody := apitest.Step{Name: "no user is left", Do: "GET /api/v1/users/x@example.com", Status: 404, Code: "E0000007"}
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Staff"}}`, Save: map[string]string{"g": "id"}},
			apitest.Step{Name: "one of the groups is unknown", Do: "POST /api/v1/users",
				Body: `{` + profile("x@example.com") + `,"groupIds":["{{g}}","00gnone"]}`, Status: 404, Code: "E0000007"}, nobody,
			apitest.Step{Name: "one id is not a group", Do: "POST /api/v1/users",
				Body: `{` + profile("x@example.com") + `,"groupIds":["{{g}}","00u00000000000000000"]}`, Status: 404, Code: "E0000007"}, nobody,
			apitest.Step{Name: "the type is unknown", Do: "POST /api/v1/users",
				Body: `{` + profile("x@example.com") + `,"type":{"id":"otynone"},"groupIds":["{{g}}"]}`, Status: 404, Code: "E0000007"}, nobody,
			apitest.Step{Name: "a provider without provider=true", Do: "POST /api/v1/users",
				Body: `{` + profile("x@example.com") + `,"credentials":{"provider":{"type":"SOCIAL"}}}`, Status: 400, Code: "E0000001",
				Causes: []string{"provider: "}}, nobody,
			apitest.Step{Name: "a password for a federated user", Do: "POST /api/v1/users?provider=true",
				Body:   `{` + profile("x@example.com") + `,"credentials":{"provider":{"type":"SOCIAL"},"password":{"value":"` + password1 + `"}}}`,
				Status: 400, Code: "E0000001", Causes: []string{"password: "}}, nobody,
			apitest.Step{Name: "the group has no members", Do: "GET /api/v1/groups/{{g}}/users", Equal: map[string]any{"#": 0}},
			apitest.Step{Name: "a SOCIAL user is ACTIVE", Do: "POST /api/v1/users?provider=true",
				Body:  `{` + profile("x@example.com") + `,"credentials":{"provider":{"type":"SOCIAL","name":"SOCIAL"}},"groupIds":["{{g}}"]}`,
				Equal: map[string]any{"status": "ACTIVE", "credentials.provider.type": "SOCIAL", "credentials.provider.name": "SOCIAL"},
				Lacks: []string{"credentials.password"}},
			apitest.Step{Do: "GET /api/v1/groups/{{g}}/users", Equal: map[string]any{"#": 1}},
		)
	})
}
