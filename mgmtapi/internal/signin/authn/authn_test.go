package authn_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

// The passwords of the test users.
const (
	first  = "Tlpwd-2026"
	second = "Another-2026"
)

// isaac returns the body of the test user. more is empty, or contains further members after a comma.
func isaac(more string) string {
	return `{"profile":{"login":"isaac@example.com","email":"isaac@example.com","firstName":"Isaac","lastName":"Brock"}` + more + `}`
}

const credentials = `,"credentials":{"password":{"value":"` + first +
	`"},"recovery_question":{"question":"Who is the best?","answer":"Annie Oakley"}}`

// public is the header of requests without an API token.
var public = map[string]string{"Authorization": ""}

const create = "POST /api/v1/users"

// signIn returns the step that signs in with a password.
func signIn(name, user, password string) apitest.Step {
	return apitest.Step{Name: name, Do: "POST /api/v1/authn", Header: public,
		Body: fmt.Sprintf(`{"username":%q,"password":%q,"relayState":"/here"}`, user, password)}
}

func refused(s apitest.Step, status int, code string, causes ...string) apitest.Step {
	s.Status, s.Code, s.Causes = status, code, causes
	return s
}

func step(name, path, body string) apitest.Step {
	return apitest.Step{Name: name, Do: "POST /api/v1/authn/" + path, Header: public, Body: body}
}

// Proves B-profile-06.
func TestSignIn_Password(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		good := signIn("the right password signs in", "isaac@example.com", first)
		good.Equal = map[string]any{
			"status": "SUCCESS", "relayState": "/here", "expiresAt": "2026-03-04T05:11:07.000Z", "_embedded.user.id": "{{u}}",
			"_embedded.user.profile.login": "isaac@example.com", "_embedded.user.profile.locale": "en_US", "_embedded.user.profile.timeZone": "UTC",
		}
		good.Has, good.Lacks = []string{"sessionToken"}, []string{"stateToken", "_links", "_embedded.user.recovery_question"}
		good.Save = map[string]string{"session": "sessionToken"}
		e.Run(t,
			apitest.Step{Do: create, Body: isaac(credentials), Save: map[string]string{"u": "id"}},
			good,
			apitest.Step{Name: "the sign-in is stored", Do: "GET /api/v1/users/{{u}}",
				Equal: map[string]any{"lastLogin": "2026-03-04T05:06:07.000Z"}},
			apitest.Step{Name: "the sign-in is logged with the user", Do: "GET /api/v1/logs?filter=eventType+eq+%22user.session.start%22",
				Equal: map[string]any{"#": 1, "0.actor.id": "{{u}}", "0.outcome.result": "SUCCESS"}},
			signIn("a short login is accepted", "ISAAC", first),
			refused(signIn("another password is rejected", "isaac", second), 401, "E0000004"),
			refused(signIn("another user is rejected", "nobody", first), 401, "E0000004"),
			refused(signIn("a user without a password is rejected", "admin@example.com", first), 401, "E0000004"),
			refused(apitest.Step{Name: "login and password are required", Do: "POST /api/v1/authn", Body: `{}`, Header: public}, 400, "E0000001",
				"username: ",
				"password: "),
			refused(step("a session token is not a state token", "cancel", `{"stateToken":"{{session}}"}`), 401, "E0000011"),
			apitest.Step{Name: "no secret is in the log", Do: "GET /api/v1/logs", Then: func(t *testing.T, a *apitest.Answer) {
				require.NotContains(t, string(a.Body), first)
				require.NotContains(t, string(a.Body), second)
			}},
		)
	})
}

// Proves B-users-40.
func TestSignIn_DependsOnStatus(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: create, Body: isaac(credentials), Save: map[string]string{"u": "id"}})
	for _, status := range model.UserStatuses() {
		require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
			doc, err := e.Model.Users.Get(t.Context(), tx, saved["u"])
			if err != nil {
				return err
			}
			doc.Value.Status = status
			_, err = e.Model.Users.Update(t.Context(), tx, doc.ID, doc.Rev, doc.Value)
			return err
		}))
		s := signIn("a user who is "+string(status), "isaac", first)
		switch status {
		case model.UserActive:
			s.Equal = map[string]any{"status": "SUCCESS"}
		case model.UserPasswordExpired:
			s.Equal, s.Has = map[string]any{"status": "PASSWORD_EXPIRED", "_links.next.name": "changePassword"}, []string{"stateToken",
				"_links.cancel"}
		case model.UserLockedOut:
			s.Equal, s.Lacks = map[string]any{"status": "LOCKED_OUT"}, []string{"stateToken", "sessionToken", "_embedded"}
		default:
			s = refused(s, 401, "E0000004")
		}
		e.Run(t, s)
	}
}

func TestAttempts_LockOut(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t, apitest.Step{Do: create, Body: isaac(credentials), Save: map[string]string{"u": "id"}})
		fail := func(user string, n int) {
			for range n {
				e.Run(t, refused(signIn("a wrong password", user, "wrong"), 401, "E0000004"))
			}
		}
		status := func(want string) {
			e.Run(t, apitest.Step{Do: "GET /api/v1/users/isaac", Equal: map[string]any{"status": want}})
		}
		fail("isaac", maxAttempts-1)
		e.Run(t, signIn("the right password resets the count", "isaac", first))
		fail("isaac", maxAttempts-1)
		status("ACTIVE")
		fail("isaac", 1)
		status("LOCKED_OUT")
		locked := signIn("the lockout is reported to the user", "isaac", first)
		locked.Equal = map[string]any{"status": "LOCKED_OUT"}
		e.Run(t, locked,
			apitest.Step{Name: "once in the log", Do: "GET /api/v1/logs?filter=eventType+eq+%22user.account.lock%22", Equal: map[string]any{"#": 1}},
			apitest.Step{Do: "POST /api/v1/users/isaac/lifecycle/unlock"},
			signIn("until it is unlocked", "isaac", first),
			apitest.Step{Do: "POST /api/v1/users/me", Body: `{"credentials":{"password":{"value":"` + second + `"}}}`},
		)
		fail("admin", maxAttempts+1)
		e.Run(t,
			apitest.Step{Name: "the built-in administrator cannot be locked out", Do: "GET /api/v1/users/me",
				Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Do: "POST /api/v1/users/isaac/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201},
			apitest.Step{Do: "GET /api/v1/users/me/roles", Save: map[string]string{"r": "0.id"}},
			apitest.Step{Do: "DELETE /api/v1/users/me/roles/{{r}}", Status: 204},
		)
		fail("isaac", maxAttempts+1)
		e.Run(t, signIn("the last SUPER_ADMIN cannot be locked out", "isaac", first))
	})
}

func TestSignIn_ChangesExpiredPassword(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		begin := signIn("an expired password must be changed", "isaac", first)
		begin.Equal, begin.Save = map[string]any{"status": "PASSWORD_EXPIRED"}, map[string]string{"state": "stateToken"}
		body := func(from, to string) string {
			return `{"stateToken":"{{state}}","oldPassword":"` + from + `","newPassword":"` + to + `"}`
		}
		const path = "credentials/change_password"
		done := step("a valid password completes the sign-in", path, body(first, second))
		done.Equal, done.Has = map[string]any{"status": "SUCCESS", "relayState": "/here"}, []string{"sessionToken"}
		again := signIn("another sign-in", "isaac", second)
		again.Save = map[string]string{"state": "stateToken"}
		canceled := step("a sign-in can be canceled", "cancel", `{"stateToken":"{{state}}"}`)
		canceled.Equal = map[string]any{"relayState": "/here"}
		e.Run(t,
			apitest.Step{Do: create + "?nextLogin=changePassword", Body: isaac(credentials), Save: map[string]string{"u": "id"}},
			begin,
			refused(step("the old password is required", path, body(second, second)), 403, "E0000014", "password: The old password"),
			refused(step("the policy applies", path, body(first, "weak")), 403, "E0000014", "password: Password requirements"),
			refused(step("the history applies", path, body(first, first)), 403, "E0000014",
				"password: Password requirements were not met. The password must differ"),
			refused(step("all members are required", path, `{}`), 400, "E0000001", "stateToken: ", "oldPassword: ", "newPassword: "),
			refused(
				step("the sign-in does not allow a reset", "credentials/reset_password", `{"stateToken":"{{state}}","newPassword":"`+second+`"}`), 403,
				"E0000079"),
			done,
			apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "ACTIVE"}},
			refused(step("a state token is used once", path, body(second, first)), 401, "E0000011"),
			apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/expire_password"},
			again, canceled,
			refused(step("once", "cancel", `{"stateToken":"{{state}}"}`), 401, "E0000011"),
			again,
			apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/suspend", Status: 400, Code: "E0000001"},
			apitest.Step{Name: "the user is deactivated concurrently", Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate"},
			refused(step("the sign-in of the deactivated user is rejected", path, body(second, first)), 401, "E0000011"),
		)
	})
}

// TestSignIn_ActivationAndRecovery verifies that activations and recoveries finish with a new password.
func TestSignIn_ActivationAndRecovery(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		var token string
		last := func(path string) func(*testing.T, *apitest.Answer) {
			return func(_ *testing.T, a *apitest.Answer) {
				url := a.Value(path)
				token = url[strings.LastIndex(url, "/")+1:]
			}
		}
		choose := func(name, password string) apitest.Step {
			return step(name, "credentials/reset_password", `{"stateToken":"{{state}}","newPassword":"`+password+`"}`)
		}
		success := func(s apitest.Step) apitest.Step { s.Equal = map[string]any{"status": "SUCCESS"}; return s }
		saved := e.Run(t,
			apitest.Step{Do: create + "?activate=false",
				Body: isaac(`,"credentials":{"recovery_question":{"question":"Who is the best?","answer":"Annie Oakley"}}`),
				Save: map[string]string{"u": "id"}},
			apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/activate?sendEmail=false", Save: map[string]string{"token": "activationToken"}},
			apitest.Step{Name: "an activation token requires a new password", Do: "POST /api/v1/authn", Header: public,
				Body:  `{"token":"{{token}}"}`,
				Equal: map[string]any{"status": "PASSWORD_RESET", "_links.next.name": "resetPassword"}, Save: map[string]string{"state": "stateToken"}},
			refused(choose("the password must satisfy the policy", "weak"), 403, "E0000080", "password: "),
			refused(step("no question is pending", "recovery/answer", `{"stateToken":"{{state}}","answer":"Annie Oakley"}`), 403, "E0000079"),
			success(choose("and completes", first)),
			refused(apitest.Step{Name: "the activation token is used", Do: "POST /api/v1/authn", Header: public, Body: `{"token":"{{token}}"}`},
				401, "E0000011"),
			apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password?sendEmail=false", Then: last("resetPasswordUrl")},
		)
		recovery := `{"recoveryToken":"` + token + `","relayState":"/there"}`
		e.Run(t,
			refused(signIn("the previous password is invalid", "isaac", first), 401, "E0000004"),
			apitest.Step{Name: "a reset requires no answer", Do: "POST /api/v1/authn/recovery/token", Header: public, Body: recovery,
				Equal: map[string]any{"status": "PASSWORD_RESET", "relayState": "/there"}, Save: map[string]string{"state": "stateToken"}},
			success(choose("and completes with a new password", second)),
			refused(step("a recovery token is used once", "recovery/token", recovery), 401, "E0000011"),
			apitest.Step{Do: "POST /api/v1/users/" + saved["u"] + "/credentials/forgot_password?sendEmail=false", Then: last("resetPasswordUrl")},
		)
		recovery = `{"recoveryToken":"` + token + `"}`
		e.Run(t,
			apitest.Step{Name: "a forgotten password requires the answer", Do: "POST /api/v1/authn/recovery/token", Header: public, Body: recovery,
				Equal: map[string]any{"status": "RECOVERY", "_embedded.user.recovery_question.question": "Who is the best?",
					"_links.next.name": "answer"}, Save: map[string]string{"state": "stateToken"}},
			refused(choose("first", "Third-2026"), 403, "E0000079"),
			refused(step("a wrong answer is rejected", "recovery/answer", `{"stateToken":"{{state}}","answer":"Buffalo Bill"}`), 403, "E0000087"),
			apitest.Step{Name: "the right answer is accepted", Do: "POST /api/v1/authn/recovery/answer", Header: public,
				Body:  `{"stateToken":"{{state}}","answer":" annie oakley"}`,
				Equal: map[string]any{"status": "PASSWORD_RESET", "stateToken": "{{state}}"}},
			success(choose("the new password is set", "Third-2026")),
			signIn("the new password signs in", "isaac", "Third-2026"),
			apitest.Step{Do: "POST /api/v1/users/isaac/credentials/forgot_password?sendEmail=false", Then: last("resetPasswordUrl")},
		)
		e.Clock.Advance(time.Hour)
		e.Run(t,
			refused(step("an expired token is rejected", "recovery/token", `{"recoveryToken":"`+token+`"}`), 403, "E0000105"),
			refused(step("an unknown token is rejected", "recovery/token", `{"recoveryToken":"x"}`), 401, "E0000011"),
			refused(step("a token is required", "recovery/token", `{}`), 400, "E0000001", "recoveryToken: "),
		)
		page, err := e.Model.SignIns.Query(t.Context(), e.Store.Reader(), docstore.Query[model.SignIn]{})
		require.NoError(t, err)
		require.NotEmpty(t, page.Docs)
		e.Run(t, signIn("a new sign-in deletes expired ones", "isaac", "Third-2026"))
		page, err = e.Model.SignIns.Query(t.Context(), e.Store.Reader(), docstore.Query[model.SignIn]{})
		require.NoError(t, err)
		require.Len(t, page.Docs, 1)
	})
}
