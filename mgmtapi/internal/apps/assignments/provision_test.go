package assignments_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/assignments"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// TestProvision_StagesAssignedUsers verifies that Provision stages the users assigned before the application had a connection.
func TestProvision_StagesAssignedUsers(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.Post("/apps", `{"name":"zendesk","label":"Desk"}`).OK().Text("id")
		ada, bob, staged := w.User("ada"), w.User("bob"), w.StagedUser("carl")
		for _, user := range []string{ada, bob, staged} {
			require.Equal(t, map[string]any{}, w.Assign(app, user).Value("profile"), "without a connection there is no profile")
		}
		slice := assignments.New(model.Deps{Model: w.Model, Store: w.Store, Feed: model.NewFeed(w.Store), Now: w.Now}, assignments.Options{})
		require.ErrorContains(t, slice.Provision(t.Context(), app, nil), "Creating users is not enabled")
		require.ErrorContains(t, slice.Provision(t.Context(), "0oanosuch", nil), "AppInstance")
		w.Connect(app, apptest.All)
		shows := func(user, status, state string) {
			t.Helper()
			got := w.Get("/apps/" + app + "/users/" + user).OK()
			require.Equal(t, []string{status, state}, []string{got.Text("status"), got.Text("syncState")})
		}
		shows(ada, "ACTIVE", "DISABLED")
		w.Events()

		require.NoError(t, slice.Provision(t.Context(), app, []string{ada}))
		w.Expect(model.AppUserChanged{App: app, User: ada, Provision: true})
		shows(ada, "STAGED", "OUT_OF_SYNC")
		shows(bob, "ACTIVE", "DISABLED")
		require.Equal(t, "ada", w.Get("/apps/"+app+"/users/"+ada).OK().Text("profile", "givenName"), "the mapping is applied now")
		require.ErrorContains(t, slice.Provision(t.Context(), app, []string{"00unosuch"}), "AppUser")

		require.NoError(t, slice.Provision(t.Context(), app, nil))
		shows(bob, "STAGED", "OUT_OF_SYNC")
		shows(staged, "STAGED", "DISABLED")
		n, err := w.Model.AppUsers.Count(t.Context(), w.Store.Reader(), docstore.Eq(model.AppUserByApp, app))
		require.NoError(t, err)
		require.Equal(t, 3, n)
	})
}
