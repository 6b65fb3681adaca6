package authn_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// maxAttempts is the default limit of an organization.
var maxAttempts = model.DefaultPasswordSettings().MaxAttempts

// told counts the log entries. The keys of the result are "TYPE: REASON", where REASON is empty for a success.
func told(t *testing.T, e *apitest.Env) map[string]int {
	t.Helper()
	out := map[string]int{}
	require.NoError(t, model.Each(t.Context(), e.Store.Reader(), e.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		out[doc.Value.Type+": "+doc.Value.Reason]++
		return nil
	}))
	return out
}

// TestAttempts_ConcurrentLimit verifies that a client tests no more passwords with concurrent attempts than with sequential ones.
func TestAttempts_ConcurrentLimit(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Unrecorded()
		require.Equal(t, http.StatusOK, e.Do(t, create, isaac(credentials), nil).Status)
		tries := 3 * maxAttempts
		var wg sync.WaitGroup
		answers := make([]string, tries)
		for i := range tries {
			wg.Go(func() {
				a := e.Do(t, "POST /api/v1/authn", fmt.Sprintf(`{"username":"isaac","password":"guess %d"}`, i), public)
				answers[i] = a.Value("errorCode") + a.Value("status")
			})
		}
		wg.Wait()
		counts := map[string]int{}
		for _, answer := range answers {
			counts[answer]++
		}
		require.Equal(t, map[string]int{"E0000004": maxAttempts, "LOCKED_OUT": tries - maxAttempts}, counts)
		log := told(t, e)
		require.Equal(t, maxAttempts, log["user.session.start: The password is wrong"])
		require.Equal(t, 1, log["user.account.lock: Too many failed attempts in a row"])
	})
}

// TestAttempts_ConcurrentRightPassword verifies that the right password among concurrent wrong ones succeeds only while attempts remain.
func TestAttempts_ConcurrentRightPassword(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t)) // on SQLite, the order of log events is the order of the commits
	e.Unrecorded()
	require.Equal(t, http.StatusOK, e.Do(t, create, isaac(credentials), nil).Status)
	var wg sync.WaitGroup
	for i := range 2 * maxAttempts {
		wg.Go(func() {
			guess := "wrong"
			if i == maxAttempts {
				guess = first
			}
			e.Do(t, "POST /api/v1/authn", `{"username":"isaac","password":"`+guess+`"}`, public)
		})
	}
	wg.Wait()
	// At most maxAttempts failures precede the success in the log, and no failure is counted after a lockout.
	failures, series := 0, 0
	require.NoError(t, model.Each(t.Context(), e.Store.Reader(), e.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		switch {
		case doc.Value.Type == "user.session.start" && doc.Value.Result == model.LogSuccess:
			series++
			failures = 0
		case doc.Value.Reason == "The password is wrong":
			failures++
		}
		require.LessOrEqual(t, failures, maxAttempts)
		return nil
	}))
	require.LessOrEqual(t, series, 1)
}

// TestAttempts_UserNotModified verifies that a rejected sign-in does not modify the user and that deleting the user deletes the count.
func TestAttempts_UserNotModified(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: create, Body: isaac(credentials), Save: map[string]string{"u": "id"}})
	before, err := e.Model.Users.Get(t.Context(), e.Store.Reader(), saved["u"])
	require.NoError(t, err)
	waiting, err := e.Store.Waiting(t.Context())
	require.NoError(t, err)
	e.Run(t, refused(signIn("a wrong password", "isaac", "wrong"), 401, "E0000004"))
	after, err := e.Model.Users.Get(t.Context(), e.Store.Reader(), saved["u"])
	require.NoError(t, err)
	require.Equal(t, before.Rev, after.Rev)
	still, err := e.Store.Waiting(t.Context())
	require.NoError(t, err)
	require.Equal(t, waiting, still, "no event is emitted")
	e.Run(t,
		apitest.Step{Do: "DELETE /api/v1/users/isaac", Status: 204},
		apitest.Step{Do: "DELETE /api/v1/users/isaac", Status: 204},
	)
	n, err := e.Model.Attempts.Count(t.Context(), e.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, n, "the count is deleted with the user")
}

// TestAttempts_ExpiredPassword verifies that failed attempts also lock out a user with an expired password.
func TestAttempts_ExpiredPassword(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		fail := func(n int) {
			for range n {
				e.Run(t, refused(signIn("a wrong password", "isaac", "wrong"), 401, "E0000004"))
			}
		}
		lock := func() {
			fail(maxAttempts)
			e.Run(t, apitest.Step{Do: "GET /api/v1/users/isaac", Equal: map[string]any{"status": "LOCKED_OUT"}})
		}
		begin := signIn("the expired password starts a change", "isaac", first)
		begin.Equal, begin.Save = map[string]any{"status": "PASSWORD_EXPIRED"}, map[string]string{"state": "stateToken"}
		e.Run(t, apitest.Step{Do: create + "?nextLogin=changePassword", Body: isaac(credentials)})
		fail(maxAttempts - 1)
		e.Run(t, begin,
			refused(step("a wrong old password counts as a failed attempt", "credentials/change_password", `{"stateToken":"{{state}}",`+
				`"oldPassword":"wrong","newPassword":"`+second+`"}`), 403, "E0000014"),
			apitest.Step{Do: "GET /api/v1/users/isaac", Equal: map[string]any{"status": "LOCKED_OUT"}},
			refused(
				step("the change is then invalid", "credentials/change_password",
					`{"stateToken":"{{state}}","oldPassword":"`+first+`","newPassword":"`+second+`"}`), 401, "E0000011"),
			refused(
				step("for every password", "credentials/change_password",
					`{"stateToken":"{{state}}","oldPassword":"wrong","newPassword":"`+second+`"}`),
				401, "E0000011"),
			apitest.Step{Do: "POST /api/v1/users/isaac/lifecycle/unlock"},
			apitest.Step{Name: "an unlocked user must still change it", Do: "GET /api/v1/users/isaac",
				Equal: map[string]any{"status": "PASSWORD_EXPIRED"}},
		)
		lock()
		success := signIn("a password from an administrator is not expired", "isaac", second)
		success.Equal = map[string]any{"status": "SUCCESS"}
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/users/isaac", Body: `{"credentials":{"password":{"value":"` + second + `"}}}`,
				Equal: map[string]any{"status": "LOCKED_OUT"}},
			apitest.Step{Do: "POST /api/v1/users/isaac/lifecycle/unlock"}, success,
		)
		fail(maxAttempts - 1)
		e.Run(t,
			apitest.Step{Name: "a new password resets the count of attempts", Do: "POST /api/v1/users/isaac",
				Body: `{"credentials":{"password":{"value":"Third-2026"}}}`})
		fail(maxAttempts - 1)
		e.Run(t, apitest.Step{Do: "GET /api/v1/users/isaac", Equal: map[string]any{"status": "ACTIVE"}})
	})
}
