package sandbox_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sandbox"
)

// Held work outlives the process, and is done as soon as it is released.
func TestHeldWork_SurvivesRestart(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Empty: true, Data: filepath.Join(t.TempDir(), "data")}
	s, api := startSandbox(t, o)
	var user struct{ ID, Status, TransitioningToStatus string }
	do(t, api, http.MethodPost, "/api/v1/users?activate=false", `{"profile":{"login":"a@chain.example","email":"a@chain.example","firstName":"A","lastName":"B"}}`, &user)
	path := "/api/v1/users/" + user.ID
	do(t, api, http.MethodPut, "/sandbox/v1/work", `{"hold":true}`, nil)
	do(t, api, http.MethodPost, path+"/lifecycle/activate", "", nil)
	require.ErrorContains(t, api.Do(t.Context(), http.MethodPost, path+"/lifecycle/deactivate", nil, nil), "E0000112")
	require.NoError(t, s.Close(t.Context()))

	_, api = startSandbox(t, o)
	do(t, api, http.MethodGet, path, "", &user)
	require.Equal(t, []string{"STAGED", "PROVISIONED"}, []string{user.Status, user.TransitioningToStatus})
	do(t, api, http.MethodPut, "/sandbox/v1/work", `{"hold":false}`, nil)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	user.TransitioningToStatus = ""
	do(t, api, http.MethodGet, path, "", &user)
	require.Equal(t, []string{"PROVISIONED", ""}, []string{user.Status, user.TransitioningToStatus})
}
