package slicetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func TestPolicies_OnePerType(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD",
				Save: map[string]string{"id": "0.id", "everyone": "0.conditions.people.groups.include.0", "self": "0._links.self.href",
					"rules": "0._links.rules.href"}, Lacks: []string{"link:next"},
				Equal: map[string]any{"#": 1, "0.name": "Default Policy", "0.status": "ACTIVE", "0.system": true, "0.priority": 1,
					"0.settings.password.complexity.minLength": 8, "0.settings.password.complexity.excludeUsername": true,
					"0.settings.password.complexity.excludeAttributes.#": 0, "0.settings.password.age.historyCount": 4,
					"0.settings.password.lockout.maxAttempts": 10, "0.settings.password.lockout.showLockoutFailures": true}},
			apitest.Step{Do: "GET /api/v1/groups/{{everyone}}", Equal: map[string]any{"type": "BUILT_IN"}},
			apitest.Step{Do: "GET {{self}}", Equal: map[string]any{"id": "{{id}}", "type": "PASSWORD"}},
			apitest.Step{Do: "GET {{rules}}",
				Equal: map[string]any{"#": 1, "0.type": "PASSWORD", "0.name": "Default Rule", "0.actions.passwordChange.access": "ALLOW"}},
			apitest.Step{Do: "GET /api/v1/policies?type=SVC_SIGN_ON", Equal: map[string]any{"#": 1}, Lacks: []string{"0.settings"},
				Save: map[string]string{"signon": "0.id"}},
			apitest.Step{Do: "GET /api/v1/policies/{{signon}}/rules", Equal: map[string]any{"0.actions.signon.requireFactor": false}},
			apitest.Step{Do: "GET /api/v1/policies?type=MFA_ENROLL", Equal: map[string]any{"#": 1, "0.type": "MFA_ENROLL"}},
			apitest.Step{Name: "a description can be changed", Do: "PUT /api/v1/policies/{{signon}}",
				Body:  `{"type":"SVC_SIGN_ON","name":"Default Policy","description":"Ours","settings":{}}`,
				Equal: map[string]any{"description": "Ours"}},
			apitest.Step{Do: "GET /api/v1/policies/{{signon}}", Equal: map[string]any{"description": "Ours"}},
			apitest.Step{Name: "others cannot be made", Do: "POST /api/v1/policies", Body: `{"type":"PASSWORD","name":"Strict"}`, Status: 501,
				Code: "E0000060"},
			apitest.Step{Do: "POST /api/v1/policies", Body: `{"type":"OTHER"}`, Status: 400, Code: "E0000001", Causes: []string{"type: ", "name: "}},
			apitest.Step{Name: "nor taken away", Do: "DELETE /api/v1/policies/{{id}}", Status: 405, Code: "E0000022"},
		)
	})
}

func TestPolicies_RejectBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/policies", Status: 400, Code: "E0000001", Causes: []string{"type: "}},
		apitest.Step{Do: "GET /api/v1/policies?type=ACCESS", Status: 400, Code: "E0000001", Causes: []string{"type: "}},
		apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD",
			Save: map[string]string{"id": "0.id", "everyone": "0.conditions.people.groups.include.0"}},
		apitest.Step{Do: "GET /api/v1/policies?type=MFA_ENROLL", Save: map[string]string{"enroll": "0.id"}},
		apitest.Step{Do: "GET /api/v1/policies/00pnone", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "the id of a group is none of a policy", Do: "GET /api/v1/policies/{{everyone}}/rules", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "existence comes before the body", Do: "PUT /api/v1/policies/00pnone", Body: "{", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Status: 400, Code: "E0000003"},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: `{}`, Status: 400, Code: "E0000001",
			Causes: []string{"type: The field cannot be left blank", "name: The field cannot be left blank"}},
		apitest.Step{Name: "what belongs to the system stays", Do: "PUT /api/v1/policies/{{id}}",
			Body: `{"type":"MFA_ENROLL","name":"Other","status":"INACTIVE","priority":2}`, Status: 400, Code: "E0000001",
			Causes: []string{"type: ", "name: ", "status: ", "priority: "}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}",
			Body: `{"type":"PASSWORD","name":"Default Policy","settings":{"password":{"complexity":{"minLength":0,"minSymbol":"1",` +
				`"excludeAttributes":["email"]},"age":{"expireWarnDays":5,"historyCount":31},"lockout":{"maxAttempts":-1}}}}`,
			Status: 400, Code: "E0000001",
			Causes: []string{"settings.password.complexity.minLength: ", "settings.password.complexity.minSymbol: ",
				"settings.password.complexity.excludeAttributes[0]: ", "settings.password.age.expireWarnDays: ", "settings.password.age.historyCount: ",
				"settings.password.lockout.maxAttempts: "}},
		apitest.Step{Name: "the others have no settings", Do: "PUT /api/v1/policies/{{enroll}}",
			Body: `{"type":"MFA_ENROLL","name":"Default Policy","settings":{"password":{}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"settings: "}},
		apitest.Step{Name: "nothing has changed", Do: "GET /api/v1/policies/{{id}}",
			Equal: map[string]any{"settings.password.complexity.minLength": 8, "settings.password.lockout.maxAttempts": 10}},
	)
}

const policyPerson = `"profile":{"login":"%[1]s@example.com","email":"%[1]s@example.com","firstName":"Isaac","lastName":"Brock"}`

// create makes a user with a password.
func create(login, password string) string {
	return fmt.Sprintf(`{`+policyPerson+`,"credentials":{"password":{"value":"%[2]s"}}}`, login, password)
}

// policy is the password policy with these settings of passwords.
func policy(settings string) string {
	return `{"type":"PASSWORD","name":"Default Policy","settings":` + settings + `}`
}

func policySignIn(login, password string) string {
	return fmt.Sprintf(`{"username":"%s@example.com","password":"%s"}`, login, password)
}

// Proves B-credentials-07, B-credentials-17.
func TestPasswordPolicy_Complexity(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD", Save: map[string]string{"id": "0.id"}},
		apitest.Step{Name: "it is good at the beginning", Do: "POST /api/v1/users", Body: create("one", "Isaac-2026"),
			Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}",
			Body:  policy(`{"password":{"complexity":{"minLength":12,"minSymbol":2,"excludeAttributes":["firstName"]}}}`),
			Equal: map[string]any{"settings.password.complexity.minSymbol": 2, "settings.password.complexity.minUpperCase": 1}},
		apitest.Step{Name: "the same password is refused now", Do: "POST /api/v1/users", Body: create("two", "Isaac-2026"), Status: 400,
			Code: "E0000001",
			Causes: []string{"password: Password requirements were not met. The password must have at least 12 characters; it must have at least " +
				"2 symbols; it must not contain the attribute firstName"}},
		apitest.Step{Name: "in updates", Do: "POST /api/v1/users/{{u}}", Body: `{"credentials":{"password":{"value":"Tlpwd-2026"}}}`, Status: 400,
			Code: "E0000001", Causes: []string{"password: "}},
		apitest.Step{Name: "and where people change it", Do: "POST /api/v1/users/{{u}}/credentials/change_password",
			Body: `{"oldPassword":{"value":"Isaac-2026"},"newPassword":{"value":"Tlpwd-2026"}}`, Status: 403, Code: "E0000014",
			Causes: []string{"password: "}},
		apitest.Step{Name: "who has it keeps it", Do: "POST /api/v1/authn", Body: policySignIn("one", "Isaac-2026"),
			Equal: map[string]any{"status": "SUCCESS"}},
		apitest.Step{Do: "POST /api/v1/users", Body: create("two", "Longer-2026!!")},
		apitest.Step{Name: "temporary ones fulfil it", Do: "POST /api/v1/users/{{u}}/lifecycle/expire_password_with_temp_password",
			Save: map[string]string{"temporary": "tempPassword"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/credentials/change_password",
			Body: `{"oldPassword":{"value":"{{temporary}}"},"newPassword":{"value":"Another+2026+x"}}`},
		apitest.Step{Name: "settings that are left out go back", Do: "PUT /api/v1/policies/{{id}}",
			Body:  policy(`{"password":{"complexity":{"minUpperCase":0,"minLowerCase":0,"minNumber":0,"minLength":3,"excludeUsername":false}}}`),
			Equal: map[string]any{"settings.password.complexity.minSymbol": 0}},
		apitest.Step{Do: "POST /api/v1/users", Body: create("three", "three")},
		apitest.Step{Name: "answers to recovery questions", Do: "POST /api/v1/users/{{u}}",
			Body: `{"credentials":{"recovery_question":{"question":"Who?","answer":"Bob"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"recovery_question: "}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}",
			Body: policy(`{"recovery":{"factors":{"recovery_question":{"properties":{"complexity":{"minLength":3}}},` +
				`"svc_email":{"properties":{"recoveryToken":{"tokenLifetimeMinutes":5}}}}}}`),
			Equal: map[string]any{"settings.recovery.factors.svc_email.properties.recoveryToken.tokenLifetimeMinutes": 5}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}", Body: `{"credentials":{"recovery_question":{"question":"Who?","answer":"Bob"}}}`},
		apitest.Step{Name: "and the life of links", Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password?sendEmail=false",
			Has: []string{"resetPasswordUrl"}, Then: func(t *testing.T, a *apitest.Answer) {
				e.Clock.Advance(5 * time.Minute)
				url := a.Value("resetPasswordUrl")
				e.Run(t,
					apitest.Step{Do: "POST /api/v1/authn/recovery/token", Body: fmt.Sprintf(`{"recoveryToken":%q}`, url[len(url)-20:]), Status: 403,
						Code: "E0000105"})
			}},
	)
}

// Proves B-users-47.
func TestPasswordPolicy_AgeAndHistory(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	change := func(from, to string) apitest.Step {
		return apitest.Step{Do: "POST /api/v1/users/{{u}}/credentials/change_password?strict=true",
			Body: fmt.Sprintf(`{"oldPassword":{"value":%q},"newPassword":{"value":%q}}`, from, to)}
	}
	refused := func(s apitest.Step, why string) apitest.Step {
		s.Name, s.Status, s.Code, s.Causes = why, 403, "E0000014", []string{"password: Password requirements were not met. The password must " +
			why}
		return s
	}
	later := func(by time.Duration, s apitest.Step) apitest.Step {
		s.Then = func(*testing.T, *apitest.Answer) { e.Clock.Advance(by) }
		return s
	}
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD", Save: map[string]string{"id": "0.id"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}",
			Body: policy(`{"password":{"age":{"maxAgeDays":20,"minAgeMinutes":60,"historyCount":2}}}`)},
		apitest.Step{Do: "POST /api/v1/users", Body: create("isaac", "First-2026"), Save: map[string]string{"u": "id"}},
		later(time.Hour, refused(change("First-2026", "Second-2026"), "be kept for 60 minutes before it is changed")),
		later(time.Hour, change("First-2026", "Second-2026")),
		refused(change("Second-2026", "First-2026"), "differ from the last 2 passwords"),
		later(time.Hour, change("Second-2026", "Third-2026")),
		apitest.Step{Name: "the first one is history", Do: "POST /api/v1/users/{{u}}/credentials/change_password?strict=true",
			Body: `{"oldPassword":{"value":"Third-2026"},"newPassword":{"value":"First-2026"}}`},
		later(20*24*time.Hour,
			apitest.Step{Do: "POST /api/v1/authn", Body: policySignIn("isaac", "First-2026"), Equal: map[string]any{"status": "SUCCESS"}}),
		apitest.Step{Name: "nobody watches the age", Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "ACTIVE"}},
		apitest.Step{Name: "it has to be changed at the next sign-in", Do: "POST /api/v1/authn", Body: policySignIn("isaac", "First-2026"),
			Equal: map[string]any{"status": "PASSWORD_EXPIRED"}, Save: map[string]string{"state": "stateToken"}},
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "PASSWORD_EXPIRED"}},
		apitest.Step{Do: "POST /api/v1/authn/credentials/change_password",
			Body: `{"stateToken":"{{state}}","oldPassword":"First-2026","newPassword":"Fourth-2026"}`, Equal: map[string]any{"status": "SUCCESS"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: policy(`{"password":{"age":{"historyCount":0}}}`)},
		apitest.Step{Name: "without a history any will do", Do: "POST /api/v1/users/{{u}}/credentials/change_password?strict=true",
			Body: `{"oldPassword":{"value":"Fourth-2026"},"newPassword":{"value":"Fourth-2026"}}`},
	)
}

func TestPasswordPolicy_Lockout(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	wrong := apitest.Step{Do: "POST /api/v1/authn", Body: policySignIn("isaac", "wrong"), Status: 401, Code: "E0000004"}
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD", Save: map[string]string{"id": "0.id"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: policy(`{"password":{"lockout":{"maxAttempts":2,"autoUnlockMinutes":15}}}`)},
		apitest.Step{Do: "POST /api/v1/users", Body: create("isaac", "First-2026"), Save: map[string]string{"u": "id"}},
		wrong,
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "ACTIVE"}},
		wrong,
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "LOCKED_OUT"}},
		apitest.Step{Do: "POST /api/v1/authn", Body: policySignIn("isaac", "First-2026"), Equal: map[string]any{"status": "LOCKED_OUT"},
			Then: func(*testing.T, *apitest.Answer) { e.Clock.Advance(15 * time.Minute) }},
		apitest.Step{Name: "the lock-out ends by itself", Do: "POST /api/v1/authn", Body: policySignIn("isaac", "First-2026"),
			Equal: map[string]any{"status": "SUCCESS"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: policy(`{"password":{"lockout":{"maxAttempts":1,"showLockoutFailures":false}}}`)},
		wrong,
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "LOCKED_OUT"}},
		apitest.Step{Name: "it is not shown", Do: "POST /api/v1/authn", Body: policySignIn("isaac", "First-2026"), Status: 401, Code: "E0000004"},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/unlock"},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}", Body: policy(`{"password":{"lockout":{"maxAttempts":0}}}`)},
		wrong, wrong, wrong,
		apitest.Step{Name: "nobody is locked out any more", Do: "POST /api/v1/authn", Body: policySignIn("isaac", "First-2026"),
			Equal: map[string]any{"status": "SUCCESS"}},
	)
}

// TestPasswordPolicy_AutoUnlockKeepsExpiry checks that an expired password is still expired after an automatic unlock.
func TestPasswordPolicy_AutoUnlockKeepsExpiry(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	wrong := apitest.Step{Do: "POST /api/v1/authn", Body: policySignIn("isaac", "wrong"), Status: 401, Code: "E0000004"}
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/policies?type=PASSWORD", Save: map[string]string{"id": "0.id"}},
		apitest.Step{Do: "PUT /api/v1/policies/{{id}}",
			Body: policy(`{"password":{"lockout":{"maxAttempts":2,"autoUnlockMinutes":15,"showLockoutFailures":false}}}`)},
		apitest.Step{Do: "POST /api/v1/users", Body: create("isaac", "First-2026"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/expire_password", Equal: map[string]any{"status": "PASSWORD_EXPIRED"}},
		wrong, wrong,
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "LOCKED_OUT"}, Then: func(*testing.T, *apitest.Answer) {
			e.Clock.Advance(15 * time.Minute)
		}},
		apitest.Step{Name: "a wrong password unlocks, too, and counts anew", Do: wrong.Do, Body: wrong.Body, Status: wrong.Status,
			Code: wrong.Code},
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "PASSWORD_EXPIRED"}},
		apitest.Step{Do: "POST /api/v1/authn", Body: policySignIn("isaac", "First-2026"), Equal: map[string]any{"status": "PASSWORD_EXPIRED"}},
	)
}
