package mgmtapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Proves A-api-01, A-api-02, B-api-04, C-api-04.
func TestOperations_PathsAndMediaTypes(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	clients := 0
	for _, route := range e.API.Operations() {
		info := rest.Describe(route)
		switch {
		case info.OAuth || strings.Contains(info.Path, "/.well-known/"), strings.HasPrefix(info.Path, "/sandbox/v1/"), info.Public:
		case strings.HasPrefix(info.Path, "/oauth2/v1/clients"):
			if strings.Contains(info.Path, "/roles") {
				clients++
			}
		default:
			require.True(t, strings.HasPrefix(info.Path, "/api/v1/"), info.Path)
		}
	}
	require.NotZero(t, clients, "only the paths of client roles start with /oauth2/v1")
	for _, do := range []string{"GET /api/v1/users/me", "GET /api/v1/groups", "GET /api/v1/apps", "GET /api/v1/inlineHooks",
		"GET /api/v1/authorizationServers"} {
		a := e.Do(t, do, "", nil)
		require.True(t, strings.HasPrefix(a.Header.Get("Content-Type"), "application/json"), do)
	}
	e.Run(t, apitest.Step{Do: "POST /api/v1/groups", Body: `profile=x`,
		Header: header{"Content-Type": "application/x-www-form-urlencoded"}, Status: 400, Code: "E0000021"})
}

// Proves A-api-05, A-api-09, A-api-10, B-api-01, B-api-05, C-api-01, C-api-02.
func TestErrors_Members(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	ids := map[string]bool{}
	for do, want := range map[string]struct {
		status int
		code   string
		causes bool
	}{
		"POST /api/v1/users":                          {400, "E0000001", true},
		"POST /api/v1/authorizationServers":           {400, "E0000001", true},
		"POST /api/v1/inlineHooks":                    {400, "E0000001", true},
		"POST /api/v1/hook-keys":                      {400, "E0000001", true},
		"POST /api/v1/iam/roles":                      {400, "E0000001", true},
		"POST /api/v1/apps":                           {400, "E0000001", true},
		"POST /api/v1/users/nobody/lifecycle/suspend": {404, "E0000007", false},
		"POST /api/v1/nothing":                        {404, "E0000008", false},
	} {
		a := e.Do(t, do, `{}`, nil)
		require.Equal(t, want.status, a.Status, do)
		var body map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(a.Body, &body))
		for _, name := range []string{"errorCode", "errorSummary", "errorLink", "errorId"} {
			var text string
			require.NoError(t, json.Unmarshal(body[name], &text), "%s: %s", do, name)
			require.NotEmpty(t, text, "%s: %s", do, name)
			require.False(t, name == "errorId" && ids[text], "error ids are unique")
			ids[text] = true
		}
		require.Equal(t, want.code, a.Value("errorCode"), do)
		var causes []map[string]string
		require.NoError(t, json.Unmarshal(body["errorCauses"], &causes), do)
		require.Equal(t, want.causes, len(causes) > 0, do)
		for _, cause := range causes {
			require.NotEmpty(t, cause["errorSummary"], do)
		}
	}
	// The same caller with a valid token, with an invalid token, and without a token.
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/users/me"},
		apitest.Step{Do: "GET /api/v1/users/me", Header: header{"Authorization": "SSWS " + apitest.Token + "x"}, Status: 401,
			Code: "E0000011"},
		apitest.Step{Do: "GET /api/v1/users/me", Header: header{"Authorization": ""}, Status: 403, Code: "E0000005"},
	)
}

// Proves C-apps-24, C-apps-25, C-apps-26, C-assignments-15, C-assignments-16, C-assignments-28.
func TestLists_PageSizes(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/apps",
			Body: `{"name":"bookmark","label":"B","settings":{"app":{"url":"https://example.com"}}}`, Save: map[string]string{"app": "id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: person("isaac@example.com", ""), Save: map[string]string{"user": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"group": "id"}},
		apitest.Step{Do: "POST /api/v1/apps/{{app}}/users", Body: `{"id":"{{user}}"}`},
		apitest.Step{Do: "PUT /api/v1/apps/{{app}}/groups/{{group}}"},
	)
	// The test copies documents inside the store. Requests that create as many objects would take longer.
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		app, err := e.Model.Apps.Get(t.Context(), tx, saved["app"])
		require.NoError(t, err)
		user, err := e.Model.Users.Get(t.Context(), tx, saved["user"])
		require.NoError(t, err)
		group, err := e.Model.Groups.Get(t.Context(), tx, saved["group"])
		require.NoError(t, err)
		appUser, err := e.Model.AppUsers.Get(t.Context(), tx, model.AppUserID(app.ID, user.ID))
		require.NoError(t, err)
		appGroup, err := e.Model.AppGroups.Get(t.Context(), tx, model.AppGroupID(app.ID, group.ID))
		require.NoError(t, err)
		for i := range 500 {
			copied, assigned := user.Value, appUser.Value
			copied.Profile = maps.Clone(copied.Profile)
			copied.Profile["login"] = fmt.Sprintf("copy%d@example.com", i)
			assigned.UserID = model.NewID(model.KindUser)
			_, err := e.Model.Users.Insert(t.Context(), tx, assigned.UserID, copied)
			require.NoError(t, err)
			_, err = e.Model.AppUsers.Insert(t.Context(), tx, model.AppUserID(app.ID, assigned.UserID), assigned)
			require.NoError(t, err)
			if i >= 200 {
				continue
			}
			_, err = e.Model.Apps.Insert(t.Context(), tx, model.NewID(model.KindApp), app.Value)
			require.NoError(t, err)
			copiedGroup, assignedGroup := group.Value, appGroup.Value
			copiedGroup.Profile = maps.Clone(copiedGroup.Profile)
			copiedGroup.Profile["name"] = fmt.Sprint("copy ", i)
			assignedGroup.GroupID = model.NewID(model.KindGroup)
			_, err = e.Model.Groups.Insert(t.Context(), tx, assignedGroup.GroupID, copiedGroup)
			require.NoError(t, err)
			_, err = e.Model.AppGroups.Insert(t.Context(), tx, model.AppGroupID(app.ID, assignedGroup.GroupID), assignedGroup)
			require.NoError(t, err)
		}
		return nil
	}))
	for list, want := range map[string][3]int{
		"/api/v1/apps": {20, 200, 201},
		"/api/v1/apps/" + saved["app"] + "/users":  {50, 500, 501},
		"/api/v1/apps/" + saved["app"] + "/groups": {20, 200, 201},
	} {
		e.Run(t, apitest.Step{Name: list + " by default", Do: "GET " + list, Equal: map[string]any{"#": want[0]},
			Has: []string{"link:next"}})
		rest := e.Run(t, apitest.Step{Name: list + " at most", Do: "GET " + list + fmt.Sprint("?limit=", want[2]),
			Equal: map[string]any{"#": want[1]}, Save: map[string]string{"next": "link:next"}})
		e.Run(t, apitest.Step{Name: list + " after the first page", Do: "GET " + rest["next"], Equal: map[string]any{"#": 1},
			Lacks: []string{"link:next"}})
	}
}
