package sandbox_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// Work on hold survives a restart and is done when it is released.
func TestHold_WorkSurvivesRestart(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Empty: true, Data: filepath.Join(t.TempDir(), "data")}
	s, api := startSandbox(t, o)
	var user struct{ ID, Status, TransitioningToStatus string }
	do(t, api, http.MethodPost, "/api/v1/users?activate=false",
		`{"profile":{"login":"a@chain.example","email":"a@chain.example","firstName":"A","lastName":"B"}}`, &user)
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

// After a change of the mapping of an application, its users are updated only when the work on hold is released, even if the sandbox
// restarts before.
func TestHold_DelaysMappingChange(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Empty: true, Data: filepath.Join(t.TempDir(), "data")}
	s, api := startSandbox(t, o)
	target, token := newSCIMServer(t)
	app := newApp(t, api, target, token)
	ann := newUser(t, api, "ann@chain.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+ann+`"}`, nil)
	drain(t, api)
	type work struct {
		Hold    bool
		Pending int
	}
	held := func() (w work) {
		t.Helper()
		do(t, api, http.MethodGet, "/sandbox/v1/work", "", &w)
		return w
	}
	familyName := func() (assigned, provisioned string) {
		t.Helper()
		var a struct{ Profile struct{ FamilyName string } }
		do(t, api, http.MethodGet, "/api/v1/apps/"+app+"/users/"+ann, "", &a)
		list, err := find(t.Context(), target, token, "ann@chain.example")
		require.NoError(t, err)
		require.Len(t, list.Resources, 1)
		return a.Profile.FamilyName, list.Resources[0].Name.FamilyName
	}
	was, _ := familyName()
	var mappings []struct{ ID string }
	do(t, api, http.MethodGet, "/api/v1/mappings?targetId="+app, "", &mappings)
	require.Len(t, mappings, 1)
	do(t, api, http.MethodPut, "/sandbox/v1/work", `{"hold":true}`, nil)
	do(t, api, http.MethodPost, "/api/v1/mappings/"+mappings[0].ID,
		`{"properties":{"familyName":{"expression":"\"Of \" + user.login"}}}`, nil)
	require.Equal(t, work{Hold: true, Pending: 1}, held())
	require.NoError(t, s.Close(t.Context()))

	_, api = startSandbox(t, o)
	require.Equal(t, []string{
		"pending: 1 (users, groups and changes with pending work)",
		"held: 1 (users and applications with work on hold); PUT /sandbox/v1/work releases it",
	},
		notDrained(t, api, "/sandbox/v1/jobs/drain"))
	require.Equal(t, work{Hold: true, Pending: 1}, held())
	assigned, provisioned := familyName()
	require.Equal(t, []string{was, was}, []string{assigned, provisioned}, "held")

	do(t, api, http.MethodPut, "/sandbox/v1/work", `{"hold":false}`, nil)
	drain(t, api)
	assigned, provisioned = familyName()
	require.Equal(t, []string{"Of ann@chain.example", "Of ann@chain.example"}, []string{assigned, provisioned}, "released")
	require.Equal(t, work{}, held())
}
