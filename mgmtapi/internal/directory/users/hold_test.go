package users_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// hold returns the step that holds or releases asynchronous work.
func hold(on string) apitest.Step {
	return apitest.Step{Name: "hold " + on, Do: "PUT /sandbox/v1/work", Body: `{"hold":` + on + `}`}
}

// transits returns the step that reads a user with a status and a pending change to another status.
func transits(status, to string) apitest.Step {
	return apitest.Step{Name: status + " to " + to, Do: "GET /api/v1/users/{{u}}",
		Equal: map[string]any{"status": status, "transitioningToStatus": to}}
}

// settled returns the step that reads a user with a status and no pending change.
func settled(status string) apitest.Step {
	return apitest.Step{Name: "final status " + status, Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": status},
		Lacks: []string{"transitioningToStatus"}}
}

// released returns the step that releases the work and performs it.
func released(e *apitest.Env) apitest.Step {
	s := hold("false")
	s.Then = func(t *testing.T, _ *apitest.Answer) { e.Work(t) }
	return s
}

// waits returns the steps that try every lifecycle operation on a user with a pending change. The password of a user with an external
// provider cannot be reset in any status.
func waits(external bool) (steps []apitest.Step) {
	for _, verb := range []string{
		"deactivate", "activate", "activate?sendEmail=false", "suspend", "unsuspend", "reactivate", "reset_password", "expire_password",
		"expire_password_with_temp_password", "unlock", "reset_factors",
	} {
		if external && verb == "reset_password" {
			continue
		}
		steps = append(steps,
			apitest.Step{Name: verb + " is rejected while a change is pending", Do: "POST /api/v1/users/{{u}}/lifecycle/" + verb,
				Status: http.StatusConflict,
				Code:   "E0000112"})
	}
	return append(steps,
		apitest.Step{Name: "a deletion is rejected while a change is pending", Do: "DELETE /api/v1/users/{{u}}", Status: http.StatusConflict,
			Code: "E0000112"})
}

// Proves B-users-04, B-users-32.
func TestWorkHold_ShowsTransitions(t *testing.T) {
	withPassword := `{` + profile("a@example.com") + `,"credentials":{"password":{"value":"` + password1 + `"}}}`
	for _, c := range []struct{ name, body, to string }{
		{"with a password", withPassword, "ACTIVE"},
		{"without a password", without("a@example.com"), "PROVISIONED"},
		{"federated", `{` + profile("a@example.com") + `,"credentials":{"provider":{"type":"FEDERATION","name":"FEDERATION"}}}`, "ACTIVE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				e := apitest.New(t, db, apitest.Sandboxed)
				create := "POST /api/v1/users?activate=false"
				if c.name == "federated" {
					create += "&provider=true"
				}
				const user = "/api/v1/users/{{u}}"
				steps := []apitest.Step{
					{Do: "GET /sandbox/v1/work", Equal: map[string]any{"hold": false, "pending": 0}},
					{Do: create, Body: c.body, Save: map[string]string{"u": "id"}},
					hold("true"),
					{Do: "POST " + user + "/lifecycle/activate"},
					transits("STAGED", c.to),
					{Do: "GET /sandbox/v1/work", Equal: map[string]any{"hold": true, "pending": 1}, Then: func(t *testing.T, _ *apitest.Answer) {
						e.Work(t)
					}},
					transits("STAGED", c.to),
				}
				steps = append(steps, waits(c.name == "federated")...)
				steps = append(steps,
					apitest.Step{Name: "nothing was sent", Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 0}},
					apitest.Step{Name: "nothing was logged", Do: "GET /api/v1/logs?filter=eventType+eq+%22user.lifecycle.activate%22",
						Equal: map[string]any{"#": 0}},
					released(e), settled(c.to),
					apitest.Step{Name: "the log names the requesting user", Do: "GET /api/v1/logs?filter=eventType+eq+%22user.lifecycle.activate%22",
						Equal: map[string]any{"#": 1, "0.actor.alternateId": "admin@example.com", "0.transaction.type": "JOB"}},
					apitest.Step{Name: "the message is sent", Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 1}},
					hold("true"),
					apitest.Step{Name: "a deactivation without Prefer is queued", Do: "POST " + user + "/lifecycle/deactivate"},
					transits(c.to, "DEPROVISIONED"),
				)
				steps = append(steps, waits(c.name == "federated")...)
				steps = append(steps,
					released(e), settled("DEPROVISIONED"),
					hold("true"),
					apitest.Step{Do: "POST " + user + "/lifecycle/activate"},
					transits("DEPROVISIONED", c.to),
					released(e), settled(c.to),
					apitest.Step{Do: "GET " + user + "/groups", Equal: map[string]any{"#": 1}},
					apitest.Step{Name: "work is performed immediately again", Do: "POST " + user + "/lifecycle/deactivate"}, settled("DEPROVISIONED"),
					hold("true"),
					apitest.Step{Do: "DELETE " + user, Status: 204}, transits("DEPROVISIONED", "DEPROVISIONED"),
					released(e),
					apitest.Step{Do: "GET " + user, Status: 404, Code: "E0000007"},
				)
				e.Run(t, steps...)
			})
		})
	}
}

// The token in the response to an activation becomes valid when the activation is performed; the email with a token is sent then.
func TestWorkHold_ActivationToken(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/users?activate=false", Body: without("a@example.com"), Save: map[string]string{"u": "id"}},
		hold("true"),
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/activate?sendEmail=false", Save: map[string]string{"token": "activationToken"},
			Has: []string{"activationUrl"}},
		apitest.Step{Do: "POST /api/v1/authn", Body: `{"token":"{{token}}"}`, Status: 401, Code: "E0000011"},
		released(e),
		apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "POST /api/v1/authn", Body: `{"token":"{{token}}"}`, Equal: map[string]any{"status": "PASSWORD_RESET"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate"},
		hold("true"),
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/activate"},
		released(e),
		apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 1, "0.to": "isaac@example.com"},
			Save: map[string]string{"sent": "0.token", "link": "0.link"}},
		apitest.Step{Do: "POST /api/v1/authn", Body: `{"token":"{{sent}}"}`, Equal: map[string]any{"status": "PASSWORD_RESET"}},
	)
	require.Equal(t, e.Server.URL+"/welcome/"+saved["sent"], saved["link"])
}

func TestWorkHold_Rejected(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	e.Run(t,
		apitest.Step{Do: "PUT /sandbox/v1/work", Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"hold: "}},
		apitest.Step{Do: "PUT /sandbox/v1/work", Body: `{"hold":"yes"}`, Status: 400, Code: "E0000001", Causes: []string{"hold: "}},
		apitest.Step{Do: "PUT /sandbox/v1/work", Status: 400, Code: "E0000003"},
		hold("true"), hold("true"),
		apitest.Step{Do: "POST /api/v1/users", Body: without("a@example.com"), Save: map[string]string{"u": "id"},
			Equal: map[string]any{"status": "PROVISIONED"}},
		apitest.Step{Name: "rejections are immediate", Do: "POST /api/v1/users/{{u}}/lifecycle/activate", Status: 403,
			Code: "E0000016"},
		apitest.Step{Do: "POST /api/v1/users/me/lifecycle/deactivate", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "GET /sandbox/v1/work", Equal: map[string]any{"hold": true, "pending": 0}},
	)
}

// The hold and the queue survive a restart, and a reset of the sandbox clears both.
func TestWorkHold_Restart(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		secrets := seal.Random()
		keep := func(o *assembly.Options) { o.Secrets = secrets }
		e := apitest.New(t, db, apitest.Sandboxed, keep)
		saved := e.Run(t,
			apitest.Step{Do: "POST /api/v1/users?activate=false", Body: without("a@example.com"), Save: map[string]string{"u": "id"}},
			hold("true"),
			apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/activate"},
		)
		again := apitest.New(t, db, apitest.Sandboxed, keep)
		again.Work(t)
		here := func(s apitest.Step) apitest.Step { s.Do = strings.ReplaceAll(s.Do, "{{u}}", saved["u"]); return s }
		again.Run(t,
			here(transits("STAGED", "PROVISIONED")),
			apitest.Step{Do: "GET /sandbox/v1/work", Equal: map[string]any{"hold": true, "pending": 1}},
			released(again), here(settled("PROVISIONED")),
			apitest.Step{Do: "POST /api/v1/users/" + saved["u"] + "/lifecycle/deactivate"},
			hold("true"),
			apitest.Step{Do: "POST /api/v1/users/" + saved["u"] + "/lifecycle/activate"},
		)
		nothing := func(context.Context, *docstore.Tx, []string) error { return nil }
		require.NoError(t, again.API.Reset(t.Context(), assembly.Setup{Token: apitest.Token}, nothing))
		again.Run(t, apitest.Step{Do: "GET /sandbox/v1/work", Equal: map[string]any{"hold": false, "pending": 0}})
	})
}

// PUT /sandbox/v1/work notifies the process of released work.
func TestWorkHold_ReleaseNotifies(t *testing.T) {
	woken := 0
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed, func(o *assembly.Options) { o.Released = func() { woken++ } })
	e.Run(t, hold("true"))
	require.Zero(t, woken)
	e.Run(t, hold("false"))
	require.Equal(t, 1, woken)
	org, err := e.Model.Orgs.Get(t.Context(), e.Store.Reader(), model.OrgDocument)
	require.NoError(t, err)
	require.False(t, org.Value.HoldWork)
}
