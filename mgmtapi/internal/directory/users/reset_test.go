package users_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// stored reads a user from the store.
func stored(t *testing.T, e *apitest.Env, id string) model.User {
	t.Helper()
	doc, err := e.Model.Users.Get(t.Context(), e.Store.Reader(), id)
	require.NoError(t, err)
	return doc.Value
}

func TestPassword_ResetAndExpired(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		var id, temporary string
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: withPassword("isaac@example.com"), Save: map[string]string{"u": "id"},
				Then: func(_ *testing.T, a *apitest.Answer) { id = a.Value("id") }},
			apitest.Step{Name: "expire_password returns the user", Do: "POST /api/v1/users/{{u}}/lifecycle/expire_password",
				Equal: map[string]any{"id": "{{u}}", "status": "PASSWORD_EXPIRED"}, Has: []string{"_links.changePassword", "_links.expirePassword"},
				Lacks: []string{"tempPassword"}},
			apitest.Step{Name: "with tempPassword it returns a temporary password",
				Do:    "POST /api/v1/users/{{u}}/lifecycle/expire_password?tempPassword=true",
				Lacks: []string{"id"}, Then: func(t *testing.T, a *apitest.Answer) {
					temporary = a.Value("tempPassword")
					require.Empty(t, password.BrokenRules(new(model.DefaultPasswordSettings()), temporary, map[string]any{"login": "isaac@example.com"}))
					require.True(t, password.Matches(stored(t, e, id).PasswordHash, temporary))
				}},
			apitest.Step{Name: "the separate operation always returns a temporary password",
				Do: "POST /api/v1/users/{{u}}/lifecycle/expire_password_with_temp_password", Then: func(t *testing.T, a *apitest.Answer) {
					require.True(t, password.Matches(stored(t, e, id).PasswordHash, a.Value("tempPassword")))
					require.NotEqual(t, temporary, a.Value("tempPassword"))
				}},
			apitest.Step{Name: "a reset by email returns no token", Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password",
				Lacks: []string{"resetPasswordUrl"}},
			apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "RECOVERY"},
				Has: []string{"_links.reactivate", "_links.changePassword", "_links.changeRecoveryQuestion", "credentials.password"}},
			apitest.Step{Name: "a reset without email returns a token", Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password?sendEmail=false",
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Regexp(t, `^http://[^/]+/reset_password/[-\w]{20}$`, a.Value("resetPasswordUrl"))
					reset := stored(t, e, id).Reset
					require.NotNil(t, reset)
					require.NotContains(t, a.Value("resetPasswordUrl"), reset.Hash)
					require.Equal(t, e.Clock.Now().Add(time.Hour), reset.Expires)
				}},
			apitest.Step{Name: "another activation invalidates the token", Do: "POST /api/v1/users/{{u}}/lifecycle/reactivate",
				Has: []string{"activationToken"},
				Then: func(t *testing.T, _ *apitest.Answer) {
					require.Nil(t, stored(t, e, id).Reset)
				}},
			apitest.Step{Name: "a reset invalidates the activation token", Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password?sendEmail=false",
				Then: func(t *testing.T, _ *apitest.Answer) {
					require.Nil(t, stored(t, e, id).Activation)
				}},
			apitest.Step{Name: "a password that an administrator sets ends the recovery", Do: "POST /api/v1/users/{{u}}",
				Body: `{"credentials":{"password":{"value":"Another-2026"}}}`, Equal: map[string]any{"status": "ACTIVE"},
				Then: func(t *testing.T, _ *apitest.Answer) {
					require.Nil(t, stored(t, e, id).Reset)
				}},
			apitest.Step{Name: "an unknown provider", Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password?provider=SOCIAL", Status: 400,
				Code: "E0000001", Causes: []string{"provider: "}},
			apitest.Step{Name: "an invalid value of sendEmail", Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password?sendEmail=2",
				Status: 400, Code: "E0000001", Causes: []string{"sendEmail: "}},
			apitest.Step{Name: "a user can be federated",
				Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password?provider=FEDERATION&sendEmail=false", Lacks: []string{"resetPasswordUrl"}},
			apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "ACTIVE", "credentials.provider.type": "FEDERATION"},
				Lacks: []string{"credentials.password", "credentials.recovery_question", "_links.changePassword", "_links.forgotPassword",
					"_links.expirePassword"}},
			apitest.Step{Name: "a federated user has no password to reset", Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password", Status: 403,
				Code: "E0000038"},
			apitest.Step{Name: "a federated user has no password to expire", Do: "POST /api/v1/users/{{u}}/lifecycle/expire_password", Status: 403,
				Code: "E0000038"},
			apitest.Step{Do: "POST /api/v1/users", Body: without("new@example.com"), Save: map[string]string{"new": "id"}},
			apitest.Step{Name: "a user without a password can be asked to choose one",
				Do: "POST /api/v1/users/{{new}}/lifecycle/reset_password?sendEmail=false", Has: []string{"resetPasswordUrl"}},
			apitest.Step{Name: "a user without a password has none to expire",
				Do:     "POST /api/v1/users/{{new}}/lifecycle/expire_password?tempPassword=true",
				Status: 403, Code: "E0000038"},
		)
	})
}

// TestBlocks_LockedOutUser verifies that a locked out user has a block until an administrator unlocks it.
func TestBlocks_LockedOutUser(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: withPassword("isaac@example.com"), Save: map[string]string{"u": "id"}})
	user := "/api/v1/users/" + saved["u"]
	e.Run(t, apitest.Step{Name: "nothing blocks an ACTIVE user", Do: "GET " + user + "/blocks", Equal: map[string]any{"#": 0}})
	set(t, e, saved["u"], model.UserLockedOut)
	e.Run(t,
		apitest.Step{Do: "GET " + user + "/blocks", Equal: map[string]any{"#": 1, "0.type": "DEVICE_BASED", "0.appliesTo": "ANY_DEVICES"}},
		apitest.Step{Name: "expand=blocks adds the blocks", Do: "GET " + user + "?expand=blocks",
			Equal: map[string]any{"_embedded.blocks.#": 1}, Has: []string{"_links.unlock"}},
		apitest.Step{Do: "GET " + user, Lacks: []string{"_embedded"}},
		apitest.Step{Do: "POST " + user + "/lifecycle/unlock", Header: map[string]string{"Content-Type": "application/json"}},
		apitest.Step{Do: "GET " + user + "?expand=blocks", Equal: map[string]any{"_embedded.blocks.#": 0, "status": "ACTIVE"},
			Lacks: []string{"_links.unlock"}},
		apitest.Step{Name: "links to credentials are omitted", Do: "GET " + user,
			Header: map[string]string{"Content-Type": `application/json; svc-response="omitCredentials,omitCredentialsLinks"`},
			Has:    []string{"_links.suspend"},
			Lacks: []string{"credentials", "_links.changePassword", "_links.changeRecoveryQuestion", "_links.forgotPassword",
				"_links.resetPassword", "_links.expirePassword"}},
	)
}
