package users_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

const other = "Another-2026" //nolint:gosec // of a test user

// change returns the body of a password change.
func change(from, to string) string {
	return `{"oldPassword":{"value":"` + from + `"},"newPassword":{"value":"` + to + `"}}`
}

// question returns the body of a change of the recovery question.
func question(secret, question, answer string) string {
	return `{"password":{"value":"` + secret + `"},"recovery_question":{"question":"` + question + `","answer":"` + answer + `"}}`
}

// answer returns the body of a recovery.
func answer(answer, secret string) string {
	return `{"password":{"value":"` + secret + `"},"recovery_question":{"answer":"` + answer + `"}}`
}

// Proves B-users-50, B-users-52, B-users-53.
func TestChangeCredentials(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		var id string
		const do = "POST /api/v1/users/{{u}}/credentials/"
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: withPassword("isaac@example.com"), Save: map[string]string{"u": "id"},
				Then: func(_ *testing.T, a *apitest.Answer) { id = a.Value("id") }},
			apitest.Step{Name: "change a password", Do: do + "change_password", Body: change(password1, other),
				Equal: map[string]any{"provider.type": "SVC", "recovery_question.question": "Who is the best?"}, Has: []string{"password"},
				Lacks: []string{"recovery_question.answer"},
				Then: func(t *testing.T, _ *apitest.Answer) {
					require.True(t, password.Matches(stored(t, e, id).PasswordHash, other))
				}},
			apitest.Step{Name: "the old password must be correct", Do: do + "change_password", Body: change(password1, other), Status: 403,
				Code:   "E0000014",
				Causes: []string{"password: The old password"}},
			apitest.Step{Name: "the new password must match the policy", Do: do + "change_password", Body: change(other, "weak"), Status: 403,
				Code:   "E0000014",
				Causes: []string{"password: Password requirements were not met"}},
			apitest.Step{Name: "without strict the history is not checked", Do: do + "change_password", Body: change(other, password1)},
			apitest.Step{Name: "with strict the history is checked", Do: do + "change_password?strict=true", Body: change(password1, other),
				Status: 403,
				Code:   "E0000014", Causes: []string{"password: Password requirements were not met. The password must differ"}},
			apitest.Step{Name: "both passwords are needed", Do: do + "change_password", Body: `{"oldPassword":{}}`, Status: 400, Code: "E0000001",
				Causes: []string{"oldPassword.value: ", "newPassword: "}},
			apitest.Step{Name: "a body is required", Do: do + "change_password", Status: 400, Code: "E0000003"},
			apitest.Step{Name: "the password length is limited", Do: do + "change_password", Body: change(password1, strings.Repeat("Aa1", 25)),
				Status: 400,
				Code:   "E0000001", Causes: []string{"newPassword.value: "}},
			apitest.Step{Name: "an administrator may set an old password again", Do: "POST /api/v1/users/{{u}}",
				Body: `{"credentials":{"password":{"value":"` + other + `"}}}`},
			apitest.Step{Name: "with strict an administrator may not", Do: "PUT /api/v1/users/{{u}}?strict=true",
				Body: `{"credentials":{"password":{"value":"` + password1 + `"}}}`, Status: 400, Code: "E0000001",
				Causes: []string{"password: Password requirements were not met"}},
			apitest.Step{Name: "change a recovery question", Do: do + "change_recovery_question",
				Body:  question(other, "Which city?", "Bern, on the Aare"),
				Equal: map[string]any{"recovery_question.question": "Which city?"}},
			apitest.Step{Name: "the password must be correct", Do: do + "change_recovery_question",
				Body: question(password1, "Which city?", "Bern, on the Aare"), Status: 403, Code: "E0000014",
				Causes: []string{"password: The old password"}},
			apitest.Step{Name: "the answer has a minimum length", Do: do + "change_recovery_question", Body: question(other, "Which city?", "Bex"),
				Status: 400, Code: "E0000001", Causes: []string{"recovery_question: "}},
			apitest.Step{Name: "the answer is required", Do: do + "change_recovery_question", Body: `{"recovery_question":{"question":"Q"}}`,
				Status: 400, Code: "E0000001", Causes: []string{"password: ", "recovery_question.answer: "}},
		)
		e.Run(t, apitest.Step{Name: "no password is in the log", Do: "GET /api/v1/logs", Then: func(t *testing.T, a *apitest.Answer) {
			for _, secret := range []string{password1, other, "Bern, on the Aare"} {
				require.NotContains(t, string(a.Body), secret)
			}
		}})
	})
}

// TestChangeCredentials_ByStatus verifies which credential operations the API allows in each status of a user.
func TestChangeCredentials_ByStatus(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	for _, status := range model.UserStatuses() {
		saved := e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: withPassword(strings.ToLower(string(status)) + "@example.com"),
				Save: map[string]string{"u": "id"}})
		user := "/api/v1/users/" + saved["u"]
		step := func(verb, body, code string, allowed ...model.UserStatus) {
			set(t, e, saved["u"], status)
			s := apitest.Step{Name: verb + " of a user who is " + string(status), Do: "POST " + user + "/credentials/" + verb, Body: body,
				Status: 403, Code: code}
			for _, a := range allowed {
				if a == status {
					s.Status, s.Code = 200, ""
				}
			}
			e.Run(t, s)
		}
		step("change_recovery_question", question(password1, "Which city?", "Bern, on the Aare"), "E0000036", model.UserStaged, model.UserActive,
			model.UserRecovery)
		step("forgot_password?sendEmail=false", "", "E0000034", model.UserActive)
		step("forgot_password", answer("bern, ON the Aare ", other), "E0000034", model.UserActive)
		if status == model.UserActive {
			e.Run(t, apitest.Step{Do: "POST " + user, Body: `{"credentials":{"password":{"value":"` + password1 + `"}}}`})
		}
		step("change_password", change(password1, other), "E0000035", model.UserStaged, model.UserActive, model.UserRecovery,
			model.UserPasswordExpired)
		after := map[model.UserStatus]string{model.UserRecovery: "ACTIVE", model.UserPasswordExpired: "ACTIVE"}[status]
		if after == "" {
			after = string(status)
		}
		e.Run(t, apitest.Step{Do: "GET " + user, Equal: map[string]any{"status": after}})
	}
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users?activate=false", Body: without("bare@example.com")},
		apitest.Step{Name: "without a password, no password change", Do: "POST /api/v1/users/bare/credentials/change_password",
			Body: change(password1, other), Status: 403, Code: "E0000035"},
		apitest.Step{Name: "without a password, no question change", Do: "POST /api/v1/users/bare/credentials/change_recovery_question",
			Body: question(password1, "Q?", "answer"), Status: 403, Code: "E0000036"},
	)
}

func TestForgotPassword(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		var id string
		const do = "POST /api/v1/users/{{u}}/credentials/"
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: withPassword("isaac@example.com"), Save: map[string]string{"u": "id"},
				Has: []string{"_links.forgotPassword"}, Then: func(_ *testing.T, a *apitest.Answer) { id = a.Value("id") }},
			apitest.Step{Name: "a recovery starts with a URL", Do: do + "forgot_password?sendEmail=false", Body: `{}`,
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Regexp(t, `^http://[^/]+/signin/reset-password/[-\w]{20}$`, a.Value("resetPasswordUrl"))
					require.True(t, stored(t, e, id).Reset.Ask)
				}},
			apitest.Step{Name: "the password stays valid", Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Name: "without an outbox no message is sent", Do: do + "forgot_password", Status: 501, Code: "E0000060"},
			apitest.Step{Name: "the answer sets a password", Do: do + "forgot_password", Body: answer(" annie OAKLEY", other),
				Equal: map[string]any{"provider.type": "SVC"}, Has: []string{"password"}, Lacks: []string{"resetPasswordUrl"},
				Then: func(t *testing.T, _ *apitest.Answer) {
					u := stored(t, e, id)
					require.True(t, password.Matches(u.PasswordHash, other))
					require.Nil(t, u.Reset)
				}},
			apitest.Step{Name: "the separate operation sets a password", Do: do + "forgot_password_recovery_question",
				Body: answer("Annie Oakley", password1), Has: []string{"password", "provider"}},
			apitest.Step{Name: "the separate operation requires a body", Do: do + "forgot_password_recovery_question", Status: 400,
				Code: "E0000003"},
			apitest.Step{Name: "the separate operation requires all members", Do: do + "forgot_password_recovery_question", Body: `{}`, Status: 400,
				Code:   "E0000001",
				Causes: []string{"password: ", "recovery_question: "}},
			apitest.Step{Name: "a password without an answer is rejected", Do: do + "forgot_password",
				Body: `{"password":{"value":"` + other + `"}}`, Status: 400,
				Code: "E0000001", Causes: []string{"recovery_question: "}},
			apitest.Step{Name: "an answer without a password is rejected", Do: do + "forgot_password", Body: `{"recovery_question":{"answer":"x"}}`,
				Status: 400,
				Code:   "E0000001", Causes: []string{"password: "}},
			apitest.Step{Name: "the policy applies", Do: do + "forgot_password", Body: answer("Annie Oakley", "weak"), Status: 403, Code: "E0000080",
				Causes: []string{"password: Password requirements"}},
		)
		wrong := apitest.Step{Do: "POST /api/v1/users/isaac/credentials/forgot_password", Body: answer("Buffalo Bill", other), Status: 403,
			Code: "E0000087"}
		for range model.DefaultPasswordSettings().MaxAttempts - 1 {
			e.Run(t, wrong)
		}
		e.Run(t,
			apitest.Step{Name: "a correct answer resets the count of attempts", Do: "POST /api/v1/users/isaac/credentials/forgot_password",
				Body: answer("Annie Oakley", other)},
			wrong,
			apitest.Step{Do: "GET /api/v1/users/isaac", Equal: map[string]any{"status": "ACTIVE"}},
		)
		for range model.DefaultPasswordSettings().MaxAttempts - 1 {
			e.Run(t, wrong)
		}
		e.Run(t,
			apitest.Step{Name: "too many wrong answers lock the user out", Do: "GET /api/v1/users/isaac",
				Equal: map[string]any{"status": "LOCKED_OUT"}},
			apitest.Step{Do: "POST /api/v1/users/isaac/credentials/forgot_password", Body: answer("Annie Oakley", password1), Status: 403,
				Code: "E0000034"},
			apitest.Step{Name: "the lockout is logged", Do: `GET /api/v1/logs?filter=eventType+eq+%22user.account.lock%22`,
				Equal: map[string]any{"#": 1, "0.target.0.alternateId": "isaac@example.com"}},
			apitest.Step{Do: "POST /api/v1/users/isaac/lifecycle/unlock"},
			wrong,
			apitest.Step{Name: "an unlocked user has no failed attempts", Do: "GET /api/v1/users/isaac", Equal: map[string]any{"status": "ACTIVE"}},
		)
	})
}
