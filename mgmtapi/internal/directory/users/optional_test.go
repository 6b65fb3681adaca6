package users_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

// enrollment returns the steps that set whether the enrollment policy requires a password.
func enrollment(self string) []apitest.Step {
	return []apitest.Step{
		{Do: "GET /api/v1/policies?type=MFA_ENROLL", Save: map[string]string{"enrollment": "0.id"}},
		{Name: "passwords are " + self, Do: "PUT /api/v1/policies/{{enrollment}}",
			Body: `{"type":"MFA_ENROLL","name":"Default Policy","settings":{"authenticators":[{"key":"svc_password","enroll":{"self":"` + self +
				`"}}]}}`},
	}
}

// The behavior with Optional Password, and the behavior that is the same without it.
//
// Proves B-users-21, B-users-22, B-users-23.
func TestOptionalPassword(t *testing.T) {
	const user = "/api/v1/users/{{u}}"
	given := `{` + profile("a@example.com") + `,"credentials":{"password":{"value":"` + password1 + `"}}}`
	const rejected = "password: An administrator cannot set a password"
	required := []apitest.Step{
		{Name: "without a password", Do: "POST /api/v1/users", Body: without("b@example.com"), Equal: map[string]any{"status": "PROVISIONED"},
			Save: map[string]string{"b": "id"}},
		{Name: "a one-time token is sent", Do: "GET /sandbox/v1/outbox?userId={{b}}",
			Equal: map[string]any{"#": 1, "0.template": "user.activation"}, Has: []string{"0.token"}},
		{Name: "with a password", Do: "POST /api/v1/users", Body: given, Equal: map[string]any{"status": "ACTIVE"},
			Save: map[string]string{"a": "id"}},
		{Name: "the administrator sets a password", Do: "POST /api/v1/users/{{b}}",
			Body:  `{"credentials":{"password":{"value":"` + password1 + `"}}}`,
			Equal: map[string]any{"status": "ACTIVE"}},
		{Do: "POST /api/v1/users?activate=false", Body: without("c@example.com"), Save: map[string]string{"c": "id"}},
		{Do: "POST /api/v1/users/{{c}}/lifecycle/activate"},
		{Do: "GET /api/v1/users/{{c}}", Equal: map[string]any{"status": "PROVISIONED"}},
		{Do: "POST /api/v1/users/{{a}}/lifecycle/expire_password_with_temp_password", Has: []string{"tempPassword"}},
	}
	free := []apitest.Step{
		{Name: "without a password", Do: "POST /api/v1/users", Body: without("a@example.com"), Equal: map[string]any{"status": "ACTIVE"},
			Lacks: []string{"credentials.password"}, Has: []string{"activated"}, Save: map[string]string{"u": "id"}},
		{Name: "nothing is sent", Do: "GET /sandbox/v1/outbox?userId={{u}}", Equal: map[string]any{"#": 0}},
		{Name: "with a password", Do: "POST /api/v1/users",
			Body: `{` + profile("b@example.com") + `,"credentials":{"password":{"value":"` + password1 + `"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{rejected}},
		{Name: "with a password, not activated", Do: "POST /api/v1/users?activate=false",
			Body: `{` + profile("b@example.com") + `,"credentials":{"password":{"value":"` + password1 + `"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{rejected}},
		{Name: "a hash", Do: "POST /api/v1/users",
			Body: `{` + profile("b@example.com") +
				`,"credentials":{"password":{"hash":{"algorithm":"SHA-1","value":"W6ph5Mm5Pz8GgiULbPgzG37mj9g="}}}}`, Status: 400, Code: "E0000001",
			Causes: []string{rejected}},
		{Name: "a hook", Do: "POST /api/v1/users",
			Body: `{` + profile("b@example.com") + `,"credentials":{"password":{"hook":{"type":"default"}}}}`, Status: 400, Code: "E0000001",
			Causes: []string{rejected}},
		{Name: "in an update", Do: "POST " + user, Body: `{"credentials":{"password":{"value":"` + password1 + `"}}}`, Status: 400,
			Code: "E0000001", Causes: []string{rejected}},
		{Name: "in a replacement", Do: "PUT " + user, Body: `{"credentials":{"password":{"value":"` + password1 + `"}}}`, Status: 400,
			Code: "E0000001", Causes: []string{rejected}},
		{Name: "an empty object is no password", Do: "POST " + user, Body: `{"credentials":{"password":{}},"profile":{"title":"Captain"}}`},
		{Name: "a temporary password", Do: "POST " + user + "/lifecycle/expire_password_with_temp_password", Status: 403, Code: "E0000038"},
		{Name: "a password to be changed", Do: "POST " + user + "/lifecycle/expire_password", Status: 403, Code: "E0000038"},
		{Do: "POST /api/v1/users?activate=true&nextLogin=changePassword", Body: without("b@example.com"), Status: 400, Code: "E0000124"},
		{Do: "POST " + user + "/lifecycle/deactivate"},
		{Do: "POST " + user + "/lifecycle/activate"},
		{Do: "GET " + user, Equal: map[string]any{"status": "ACTIVE"}},
		{Do: "POST " + user + "/lifecycle/deactivate"},
		{Do: "PUT /sandbox/v1/work", Body: `{"hold":true}`},
		{Do: "POST " + user + "/lifecycle/activate"},
		{Do: "GET " + user, Equal: map[string]any{"status": "DEPROVISIONED", "transitioningToStatus": "ACTIVE"}},
	}
	on := func(o *assembly.Options) { o.OptionalPassword = true }
	for _, c := range []struct {
		name  string
		on    bool
		steps []apitest.Step
	}{
		{"off", false, required},
		{"required by default", true, required},
		{"REQUIRED", true, append(enrollment("REQUIRED"), required...)},
		{"OPTIONAL", true,
			append(enrollment("OPTIONAL"),
				append(free,
					apitest.Step{Name: "a user may still choose a password", Do: "POST /api/v1/users", Body: without("d@example.com"),
						Save: map[string]string{"d": "id"}},
					apitest.Step{Do: "POST /api/v1/users/{{d}}/lifecycle/reset_password?sendEmail=false", Has: []string{"resetPasswordUrl"}})...)},
		{"NOT_ALLOWED", true,
			append(enrollment("NOT_ALLOWED"),
				append(free, apitest.Step{Do: "POST /api/v1/users", Body: without("d@example.com"), Save: map[string]string{"d": "id"}},
					apitest.Step{Do: "POST /api/v1/users/{{d}}/lifecycle/reset_password", Status: 403, Code: "E0000038"})...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				adjust := []func(*assembly.Options){apitest.Sandboxed}
				if c.on {
					adjust = append(adjust, on)
				}
				e := apitest.New(t, db, adjust...)
				e.Run(t, c.steps...)
			})
		})
	}
}
