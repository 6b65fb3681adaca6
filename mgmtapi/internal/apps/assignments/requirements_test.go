package assignments_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
)

// Proves C-assignments-02, C-assignments-04, C-assignments-05, C-assignments-06.
func TestAppUser_AfterProvisioning(t *testing.T) {
	w := apptest.New(t)
	w.Unrecorded()
	app, user := w.SCIMApp("HR"), w.User("ada")
	w.Connect(app, apptest.All)
	assigned := w.Assign(app, user)
	require.Nil(t, assigned.Value("externalId"))
	require.Nil(t, assigned.Value("lastSync"))
	require.NoError(t, w.Desired.ReportUser(t.Context(), app, user, desired.Result{Outcome: desired.Done, RemoteID: "r1"}))
	got := w.Get("/apps/" + app + "/users/" + user).OK()
	require.Equal(t, []string{"r1", "PROVISIONED", "SYNCHRONIZED"}, []string{got.Text("externalId"), got.Text("status"),
		got.Text("syncState")})
	for _, member := range []string{"statusChanged", "created", "lastUpdated", "lastSync"} {
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, got.Text(member), member)
	}
}

// Proves C-assignments-13, C-assignments-23.
func TestAppUser_ValuesOfMappings(t *testing.T) {
	for _, c := range []struct {
		capabilities string
		refused      bool
	}{
		{"", false},
		{`{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`, true},
		{`{"update":{"profile":{"status":"ENABLED"}}}`, true},
	} {
		t.Run(c.capabilities, func(t *testing.T) {
			w := apptest.New(t)
			w.Unrecorded()
			app, one, two := w.SCIMApp("HR"), w.User("ada"), w.User("bob")
			w.Connect(app, c.capabilities)
			path := "/apps/" + app + "/users"
			assign, update := w.Post(path, `{"id":"`+one+`","profile":{"givenName":"Other","userType":"Guest"}}`), w.Assign(app, two)
			require.Equal(t, "bob", update.Text("profile", "givenName"), "values of the mapping")
			update = w.Post(path+"/"+two, `{"profile":{"givenName":"Other"}}`)
			if c.refused {
				assign.Fails(403, "E0000075", "givenName")
				update.Fails(403, "E0000075", "givenName")
				require.Equal(t, "bob", w.Get(path+"/"+two).OK().Text("profile", "givenName"))
				w.Post(path+"/"+two, `{"profile":{"givenName":"bob"}}`).OK()
				return
			}
			require.Equal(t, "Other", assign.OK().Text("profile", "givenName"), "supplied values override the mapping")
			require.Equal(t, "Other", update.OK().Text("profile", "givenName"))
		})
	}
}

// Proves C-assignments-19, C-assignments-20, C-assignments-25, C-assignments-26, C-assignments-27.
func TestAppUser_UpdatesAndRemoval(t *testing.T) {
	w := apptest.New(t)
	w.Unrecorded()
	app, user := w.SCIMApp("HR"), w.User("ada")
	path := "/apps/" + app + "/users/" + user
	w.Assign(app, user)
	require.Equal(t, "mine", w.Post(path, `{"credentials":{"userName":"mine"}}`).OK().Text("credentials", "userName"))
	updated := w.Post(path, `{"profile":{"userType":"Guest"}}`).OK()
	require.Equal(t, []string{"mine", "Guest"}, []string{updated.Text("credentials", "userName"), updated.Text("profile", "userType")})
	for _, query := range []string{"", "?sendEmail=false"} {
		require.JSONEq(t, `{}`, string(w.Delete(path+query).OK().Body))
		w.Get(path).Fails(404, "E0000007")
		again := w.Assign(app, user)
		require.Equal(t, "ada@example.com", again.Text("credentials", "userName"), "supplied values are removed")
		require.Empty(t, again.Text("profile", "userType"))
	}

	group := w.Group("staff")
	groups := "/apps/" + app + "/groups/" + group
	for _, body := range []any{nil, `{}`, `{"priority":0}`} {
		assigned := w.Put(groups, body).OK()
		require.Equal(t, group, assigned.Text("id"))
		require.EqualValues(t, 0, assigned.Value("priority"))
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, assigned.Text("lastUpdated"))
		require.JSONEq(t, string(assigned.Body), string(w.Get(groups).OK().Body))
	}
}

// Proves C-assignments-21.
func TestAppUser_RemovalSendsEmail(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	e.Unrecorded()
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/users",
			Body: `{"profile":{"login":"a@example.com","email":"a@example.com","firstName":"A","lastName":"B"}}`,
			Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/apps",
			Body: `{"name":"bookmark","label":"B","settings":{"app":{"url":"https://example.com"}}}`, Save: map[string]string{"a": "id"}},
	)
	at := "/api/v1/apps/" + saved["a"] + "/users"
	for _, c := range []struct {
		query string
		sent  int
	}{{"", 0}, {"?sendEmail=false", 0}, {"?sendEmail=true", 1}} {
		e.Run(t,
			apitest.Step{Do: "POST " + at, Body: `{"id":"` + saved["u"] + `"}`},
			apitest.Step{Do: "DELETE " + at + "/" + saved["u"] + c.query},
			apitest.Step{Name: "sent after " + c.query, Do: "GET /sandbox/v1/outbox?to=admin@example.com",
				Equal: map[string]any{"#": c.sent}},
		)
	}
}
