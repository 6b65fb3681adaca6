package desired_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/desired"
)

func TestOwnersAreLookedForAmongTheAssigned(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		w.Connect(app, `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`)
		ann, bob := w.User("ann"), w.User("bob")
		w.Assign(app, ann)
		login := user(t, w, app, ann).UserName

		owners := func(a desired.Account) (ids []string) {
			found, err := w.Desired.UserOwners(t.Context(), app, []desired.Account{a})
			require.NoError(t, err)
			for _, o := range found {
				ids = append(ids, o.ID)
			}
			return ids
		}
		require.Equal(t, []string{ann}, owners(desired.Account{Name: login}))
		require.Equal(t, []string{ann}, owners(desired.Account{ExternalID: ann}))
		require.Equal(t, []string{ann}, owners(desired.Account{Name: "ann@elsewhere.example"}), "the same up to the @")
		require.Empty(t, owners(desired.Account{ExternalID: bob, Name: "bob@elsewhere.example"}), "who is not assigned is left out")
		require.Empty(t, owners(desired.Account{}))

		listed, err := w.Desired.AssignedUsers(t.Context(), app, "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{ann}, listed)
		listed, err = w.Desired.AssignedUsers(t.Context(), app, ann, 10)
		require.NoError(t, err)
		require.Empty(t, listed)
	})
}

func TestAnExplanationNamesTheGroupAndTheRule(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	w.Connect(app, `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`)
	ann := w.User("ann")
	group := w.Group("Sales", ann)
	w.Put("/apps/"+app+"/groups/"+group, `{}`).OK()

	reasons, values, err := w.Desired.ExplainUser(t.Context(), app, ann)
	require.NoError(t, err)
	require.Equal(t, []string{"The user is a member of the group Sales.", "The group Sales is assigned to the application."}, reasons)
	require.Equal(t, desired.Value{Path: "userName", Source: "the user name template of the application", Rule: "${source.login}", Value: user(t, w, app, ann).UserName}, values[1])

	w.Post("/users/"+ann+"/lifecycle/suspend", nil).OK()
	reasons, _, err = w.Desired.ExplainUser(t.Context(), app, ann)
	require.NoError(t, err)
	require.Equal(t, "The user is SUSPENDED, so the account stays as it is.", reasons[2])

	reasons, _, err = w.Desired.ExplainGroup(t.Context(), app, group)
	require.NoError(t, err)
	require.Equal(t, []string{"The group is not pushed to the application."}, reasons)
}
