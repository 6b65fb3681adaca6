package users_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Proves B-users-31, B-users-34, B-users-35, B-users-36, B-users-39, B-users-43, B-users-44, B-users-65, B-users-66.
func TestEveryTransitionOfEveryStatus(t *testing.T) {
	all := model.UserStatuses()
	expires := map[model.UserStatus]model.UserStatus{
		model.UserActive: model.UserPasswordExpired, model.UserPasswordExpired: model.UserPasswordExpired,
		model.UserRecovery: model.UserPasswordExpired, model.UserLockedOut: model.UserPasswordExpired,
	}
	verbs := []struct {
		verb   string
		from   map[model.UserStatus]model.UserStatus
		status int
		code   string
	}{
		{"activate", map[model.UserStatus]model.UserStatus{model.UserStaged: model.UserActive, model.UserDeprovisioned: model.UserActive}, 403,
			"E0000016"},
		{"reactivate",
			map[model.UserStatus]model.UserStatus{model.UserProvisioned: model.UserProvisioned, model.UserRecovery: model.UserProvisioned}, 403,
			"E0000038"},
		{"suspend", map[model.UserStatus]model.UserStatus{model.UserActive: model.UserSuspended}, 400, "E0000001"},
		{"unsuspend", map[model.UserStatus]model.UserStatus{model.UserSuspended: model.UserActive}, 400, "E0000001"},
		{"deactivate", map[model.UserStatus]model.UserStatus{
			model.UserStaged: model.UserDeprovisioned, model.UserProvisioned: model.UserDeprovisioned, model.UserActive: model.UserDeprovisioned,
			model.UserRecovery: model.UserDeprovisioned, model.UserLockedOut: model.UserDeprovisioned,
			model.UserPasswordExpired: model.UserDeprovisioned,
			model.UserSuspended:       model.UserDeprovisioned,
		}, 403, "E0000038"},
		{"reset_password", map[model.UserStatus]model.UserStatus{
			model.UserActive: model.UserRecovery, model.UserProvisioned: model.UserRecovery, model.UserRecovery: model.UserRecovery,
			model.UserPasswordExpired: model.UserRecovery, model.UserLockedOut: model.UserRecovery,
		}, 403, "E0000038"},
		{"expire_password", expires, 403, "E0000038"},
		{"expire_password_with_temp_password", expires, 403, "E0000038"},
		{"unlock", map[model.UserStatus]model.UserStatus{model.UserLockedOut: model.UserActive, model.UserActive: model.UserActive}, 403,
			"E0000032"},
	}
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: withPassword("a@example.com"), Save: map[string]string{"id": "id"}})
	for _, v := range verbs {
		for _, from := range all {
			t.Run(v.verb+" from "+string(from), func(t *testing.T) {
				set(t, e, saved["id"], from)
				do := "POST /api/v1/users/" + saved["id"] + "/lifecycle/" + v.verb
				to, ok := v.from[from]
				if !ok {
					e.Run(t, apitest.Step{Do: do, Status: v.status, Code: v.code})
					to = from
				} else {
					e.Run(t, apitest.Step{Do: do})
				}
				e.Run(t, apitest.Step{Do: "GET /api/v1/users/" + saved["id"], Equal: map[string]any{"status": string(to)}})
			})
		}
	}
}

func set(t *testing.T, e *apitest.Env, id string, status model.UserStatus) {
	t.Helper()
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		doc, err := e.Model.Users.Get(t.Context(), tx, id)
		if err != nil {
			return err
		}
		doc.Value.Status = status
		_, err = e.Model.Users.Update(t.Context(), tx, id, doc.Rev, doc.Value)
		return err
	}))
}

// events drains the outbox and returns topics and keys.
func events(t *testing.T, e *apitest.Env) []string {
	t.Helper()
	var out []string
	for {
		n, err := e.Store.Relay(t.Context(), 100, func(_ *docstore.Tx, events []docstore.Event) error {
			for _, event := range events {
				out = append(out, event.Topic+" "+strings.Join(docstore.SplitID(event.Key), "+"))
			}
			return nil
		})
		require.NoError(t, err)
		if n == 0 {
			return out
		}
	}
}

// Proves B-users-31, B-users-45, B-users-46, B-users-58, B-users-67.
func TestLifecycle_MembershipsAndEvents(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		saved := e.Run(t,
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Staff"}}`, Save: map[string]string{"g": "id"}},
			apitest.Step{Do: "GET /api/v1/groups?q=Everyone", Save: map[string]string{"everyone": "0.id"}},
		)
		events(t, e)
		step := func(s apitest.Step, want ...string) {
			t.Helper()
			for k, v := range saved {
				s.Do, s.Body = strings.ReplaceAll(s.Do, "{{"+k+"}}", v), strings.ReplaceAll(s.Body, "{{"+k+"}}", v)
			}
			for k, v := range e.Run(t, s) {
				saved[k] = v
			}
			for i := range want {
				for k, v := range saved {
					want[i] = strings.ReplaceAll(want[i], "{{"+k+"}}", v)
				}
			}
			require.Empty(t, cmp.Diff(want, events(t, e)))
		}
		step(
			apitest.Step{Do: "POST /api/v1/users?activate=false", Body: `{` + profile("a@example.com") + `,"groupIds":["{{g}}"]}`,
				Save: map[string]string{"u": "id"}},
			"user.changed {{u}}", "membership.changed {{everyone}}+{{u}}", "membership.changed {{g}}+{{u}}")
		step(
			apitest.Step{Name: "activation returns a token with sendEmail=false", Do: "POST /api/v1/users/{{u}}/lifecycle/activate?sendEmail=false",
				Has: []string{"activationToken", "activationUrl"}},
			"user.changed {{u}}", "user.activated {{u}}")
		step(apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "PROVISIONED"}})
		step(
			apitest.Step{Name: "reactivation by email returns an empty object", Do: "POST /api/v1/users/{{u}}/lifecycle/reactivate?sendEmail=true",
				Lacks: []string{"activationToken"}}, "user.changed {{u}}")
		step(
			apitest.Step{Name: "the first DELETE deactivates", Do: "DELETE /api/v1/users/{{u}}?sendEmail=true",
				Header: map[string]string{"Prefer": "wait=10"}, Status: 204},
			"user.changed {{u}}", "membership.changed {{everyone}}+{{u}}", "membership.changed {{g}}+{{u}}", "user.deactivated {{u}}")
		step(apitest.Step{Do: "GET /api/v1/users/{{u}}/groups", Equal: map[string]any{"#": 0}})
		step(apitest.Step{Name: "a DEPROVISIONED user joins no group", Do: "PUT /api/v1/groups/{{g}}/users/{{u}}", Status: 403, Code: "E0000038"})
		step(apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/activate"}, "user.changed {{u}}", "membership.changed {{everyone}}+{{u}}",
			"user.activated {{u}}")
		step(apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate?sendEmail=true"}, "user.changed {{u}}",
			"membership.changed {{everyone}}+{{u}}", "user.deactivated {{u}}")
		step(
			apitest.Step{Name: "the login stays reserved", Do: "POST /api/v1/users", Body: without("a@example.com"), Status: 400, Code: "E0000001"})
		step(apitest.Step{Name: "the second DELETE deletes", Do: "DELETE /api/v1/users/{{u}}", Status: 204}, "user.deleted {{u}}")
		step(apitest.Step{Do: "GET /api/v1/users/{{u}}", Status: 404, Code: "E0000007"})
		step(
			apitest.Step{Name: "the login is free", Do: "POST /api/v1/users?activate=false", Body: without("a@example.com"),
				Save: map[string]string{"v": "id"}},
			"user.changed {{v}}", "membership.changed {{everyone}}+{{v}}")
	})
}

func TestLastAdministrator_StaysActive(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "DELETE /api/v1/users/me", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/users/me/lifecycle/deactivate", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/users/me/lifecycle/suspend", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/users/me/lifecycle/reset_password", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/users/me/lifecycle/expire_password", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/users/me/lifecycle/expire_password_with_temp_password", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "GET /api/v1/users/me", Equal: map[string]any{"status": "ACTIVE", "profile.login": "admin@example.com"}},
	)
}

// Proves B-users-65, B-users-66.
func TestUnknownUsers(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	for _, do := range []string{
		"GET /api/v1/users/x", "POST /api/v1/users/x", "PUT /api/v1/users/x", "DELETE /api/v1/users/x", "GET /api/v1/users/x/groups",
		"POST /api/v1/users/x/lifecycle/activate", "POST /api/v1/users/x/lifecycle/suspend", "POST /api/v1/users/x/lifecycle/unsuspend",
		"POST /api/v1/users/x/lifecycle/deactivate", "POST /api/v1/users/x/lifecycle/reactivate",
		"POST /api/v1/users/x/lifecycle/reset_password", "POST /api/v1/users/x/lifecycle/expire_password",
		"POST /api/v1/users/x/lifecycle/unlock",
		"POST /api/v1/users/x/lifecycle/expire_password_with_temp_password", "GET /api/v1/users/x/blocks",
		"POST /api/v1/users/x/credentials/change_password", "POST /api/v1/users/x/credentials/change_recovery_question",
		"POST /api/v1/users/x/credentials/forgot_password", "POST /api/v1/users/x/credentials/forgot_password_recovery_question",
		"GET /api/v1/users/%00", "GET /api/v1/users/%FF",
	} {
		e.Run(t, apitest.Step{Do: do, Status: 404, Code: "E0000007"})
	}
}
