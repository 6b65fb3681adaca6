package users_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// async requests a response before the change is performed.
var async = map[string]string{"Prefer": "respond-async"}

// finish performs the queued changes and returns their number.
func finish(t *testing.T, e *apitest.Env) int {
	t.Helper()
	before, err := e.Model.Transitions.Count(t.Context(), e.Store.Reader(), nil)
	require.NoError(t, err)
	more, err := e.API.Work(t.Context())
	require.NoError(t, err)
	require.False(t, more)
	after, err := e.Model.Transitions.Count(t.Context(), e.Store.Reader(), nil)
	require.NoError(t, err)
	return before - after
}

// Proves B-users-03, B-users-37, B-users-62, B-users-64, B-users-69.
func TestAsyncTransition_Deactivate(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		const user = "/api/v1/users/{{u}}"
		waiting := map[string]any{"status": "ACTIVE", "transitioningToStatus": "DEPROVISIONED"}
		saved := e.Run(t,
			apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Staff"}}`, Save: map[string]string{"g": "id"}},
			apitest.Step{Do: "POST /api/v1/users",
				Body: `{` + profile("a@example.com") + `,"credentials":{"password":{"value":"` + password1 + `"}},"groupIds":["{{g}}"]}`,
				Save: map[string]string{"u": "id"}, Lacks: []string{"transitioningToStatus"}},
			apitest.Step{Name: "the response is that of a completed deactivation", Do: "POST " + user + "/lifecycle/deactivate", Header: async,
				Then: func(t *testing.T, a *apitest.Answer) { require.JSONEq(t, `{}`, string(a.Body)) }},
			apitest.Step{Name: "a pending change is shown in the user", Do: "GET " + user, Equal: waiting},
			apitest.Step{Name: "a pending change is shown in lists", Do: "GET /api/v1/users?q=Isaac",
				Equal: map[string]any{"0.transitioningToStatus": "DEPROVISIONED"}},
			apitest.Step{Name: "a pending change can be omitted", Do: "GET " + user,
				Header: map[string]string{"Content-Type": `application/json; svc-response="omitTransitioningToStatus"`},
				Lacks:  []string{"transitioningToStatus"}},
			apitest.Step{Name: "nothing is done yet", Do: "GET " + user + "/groups", Equal: map[string]any{"#": 2}},
			apitest.Step{Name: "the profile can change", Do: "POST " + user, Body: `{"profile":{"title":"Captain"}}`, Equal: waiting},
		)
		for _, path := range []string{
			"deactivate", "activate", "suspend", "unsuspend", "reactivate", "reset_password", "reset_password?provider=FEDERATION",
			"expire_password",
			"expire_password_with_temp_password",
		} {
			e.Run(t,
				apitest.Step{Name: path + " is rejected while a change is pending", Do: "POST /api/v1/users/" + saved["u"] + "/lifecycle/" + path,
					Status: http.StatusConflict,
					Code:   "E0000112"})
		}
		e.Run(t,
			apitest.Step{Name: "a second deactivation is rejected while a change is pending", Do: "DELETE /api/v1/users/" + saved["u"],
				Status: http.StatusConflict, Code: "E0000112"})
		events(t, e)
		require.Equal(t, 1, finish(t, e))
		require.Contains(t, events(t, e), "user.deactivated "+saved["u"])
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/users/" + saved["u"], Equal: map[string]any{"status": "DEPROVISIONED", "profile.title": "Captain"},
				Lacks: []string{"transitioningToStatus"}},
			apitest.Step{Do: "GET /api/v1/users/" + saved["u"] + "/groups", Equal: map[string]any{"#": 0}},
			apitest.Step{Name: "the log names the requesting user and the job",
				Do:    "GET /api/v1/logs?filter=eventType+eq+%22user.lifecycle.deactivate%22",
				Equal: map[string]any{"#": 1, "0.actor.alternateId": "admin@example.com", "0.transaction.type": "JOB", "0.outcome.result": "SUCCESS"}},
			apitest.Step{Name: "a deletion can be asynchronous", Do: "DELETE /api/v1/users/" + saved["u"],
				Header: map[string]string{"Prefer": "wait=10, Respond-Async; foo=bar"}, Status: 204},
			apitest.Step{Do: "GET /api/v1/users/" + saved["u"],
				Equal: map[string]any{"status": "DEPROVISIONED", "transitioningToStatus": "DEPROVISIONED"}},
			apitest.Step{Name: "no activation while a deletion is pending", Do: "POST /api/v1/users/" + saved["u"] + "/lifecycle/activate",
				Status: 409,
				Code:   "E0000112"},
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+sw+%22user.lifecycle.delete%22",
				Equal: map[string]any{"#": 1, "0.eventType": "user.lifecycle.delete.initiated"}},
		)
		require.Equal(t, 1, finish(t, e))
		require.Zero(t, finish(t, e))
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/users/" + saved["u"], Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22user.lifecycle.delete.completed%22",
				Equal: map[string]any{"#": 1, "0.actor.alternateId": "admin@example.com"}},
		)
	})
}

func TestAsyncTransition_DeleteActiveUser(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: without("a@example.com"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "DELETE /api/v1/users/{{u}}", Header: async, Status: 204},
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"status": "PROVISIONED", "transitioningToStatus": "DEPROVISIONED"}},
	)
	require.Equal(t, 1, finish(t, e))
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/users/" + saved["u"], Equal: map[string]any{"status": "DEPROVISIONED"},
			Lacks: []string{"transitioningToStatus"}},
		apitest.Step{Name: "rejections are immediate", Do: "POST /api/v1/users/" + saved["u"] + "/lifecycle/deactivate", Header: async,
			Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST /api/v1/users/me/lifecycle/deactivate", Header: async, Status: 400, Code: "E0000001"},
		apitest.Step{Do: "DELETE /api/v1/users/me", Header: async, Status: 400, Code: "E0000001"},
	)
	require.Zero(t, finish(t, e))
}

// TestAsyncTransition_SurvivesRestart verifies that queued transitions survive a restart and that concurrent processes perform each one
// once.
func TestAsyncTransition_SurvivesRestart(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		var ids []string
		for _, login := range []string{"a@example.com", "b@example.com", "c@example.com"} {
			saved := e.Run(t,
				apitest.Step{Do: "POST /api/v1/users", Body: without(login), Save: map[string]string{"u": "id"}},
				apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate", Header: async},
			)
			ids = append(ids, saved["u"])
		}
		again := model.New()
		store, err := docstore.Open(t.Context(), db, e.Clock.Now, again.Tables()...)
		require.NoError(t, err)
		api, err := assembly.New(assembly.Options{Store: store, Model: again, Now: e.Clock.Now})
		require.NoError(t, err)
		var wg sync.WaitGroup // several processes may run Work
		errs := make([]error, 3)
		for i, a := range []*assembly.API{api, api, e.API} {
			wg.Go(func() { _, errs[i] = a.Work(t.Context()) })
		}
		wg.Wait()
		require.Equal(t, make([]error, 3), errs)
		deactivated := 0
		require.NoError(t, model.Each(t.Context(), e.Store.Reader(), e.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
			if doc.Value.Type == "user.lifecycle.deactivate" {
				deactivated++
			}
			return nil
		}))
		require.Equal(t, len(ids), deactivated, "each once")
		for _, id := range ids {
			e.Run(t, apitest.Step{Do: "GET /api/v1/users/" + id, Equal: map[string]any{"status": "DEPROVISIONED"}})
		}
	})
}

// TestAsyncTransition_Abandoned verifies that the worker abandons and logs a queued transition that is no longer allowed.
func TestAsyncTransition_Abandoned(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: without("a@example.com"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: without("b@example.com"), Save: map[string]string{"v": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate", Header: async},
		apitest.Step{Do: "POST /api/v1/users/{{v}}/lifecycle/deactivate", Header: async},
	)
	administrate(t, e, saved["u"])
	require.Equal(t, 2, finish(t, e))
	var told []string
	require.NoError(t, model.Each(t.Context(), e.Store.Reader(), e.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		if doc.Value.Type == "user.lifecycle.deactivate" {
			told = append(told, string(doc.Value.Result)+" "+doc.Value.Targets[0].ID)
		}
		return nil
	}))
	require.Empty(t, cmp.Diff([]string{"FAILURE " + saved["u"], "SUCCESS " + saved["v"]}, told))
	user, err := e.Model.Users.Get(t.Context(), e.Store.Reader(), saved["u"])
	require.NoError(t, err)
	require.Equal(t, model.UserProvisioned, user.Value.Status)
	require.Empty(t, user.Value.Transition)
}

// administrate makes a user the built-in administrator.
func administrate(t *testing.T, e *apitest.Env, user string) {
	t.Helper()
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		org, err := e.Model.Orgs.Get(t.Context(), tx, model.OrgDocument)
		if err != nil {
			return err
		}
		org.Value.Administrator = user
		_, err = e.Model.Orgs.Update(t.Context(), tx, org.ID, org.Rev, org.Value)
		return err
	}))
}
