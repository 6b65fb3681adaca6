package slicetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/scim"
)

func TestDesired_FindsAccountOwners(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		w.Connect(app, `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`)
		ann, bob := w.User("ann"), w.User("bob")
		w.Assign(app, ann)
		login := desiredUser(t, w, app, ann).UserName

		gone := w.User("gone")
		w.Post("/users/"+gone+"/lifecycle/deactivate", nil).OK()
		owners := func(account string) (ids []string) {
			r, err := scim.DecodeResource([]byte(account))
			require.NoError(t, err)
			found, err := w.Desired.UserOwners(t.Context(), app, []*scim.Resource{{}, r})
			require.NoError(t, err)
			require.Empty(t, found[0], "what shows nothing is nobody's")
			for _, o := range found[1] {
				ids = append(ids, o.ID)
			}
			return ids
		}
		require.Equal(t, []string{ann}, owners(`{"userName":"`+login+`"}`))
		require.Equal(t, []string{bob}, owners(`{"userName":"BOB@example.com"}`), "the login, of somebody who is not assigned")
		require.Equal(t, []string{ann}, owners(`{"externalId":"`+ann+`"}`))
		require.Equal(t, []string{bob}, owners(`{"emails":[{"value":"x@example.org"},{"value":"bob@example.com","primary":true}]}`))
		require.Equal(t, []string{bob}, owners(`{"userName":"b","name":{"givenName":"bob","familyName":"tester"}}`))
		require.Empty(t, owners(`{"userName":"bob@elsewhere.example","name":{"givenName":"bob"}}`))
		require.Empty(t, owners(`{"externalId":"`+gone+`","userName":"gone@example.com"}`), "who is DEPROVISIONED is left out")

		listed, err := w.Desired.AssignedUsers(t.Context(), app, "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{ann}, listed)
		listed, err = w.Desired.AssignedUsers(t.Context(), app, ann, 10)
		require.NoError(t, err)
		require.Empty(t, listed)
	})
}

func TestDesired_ExplainsGroupAndRule(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	w.Connect(app, `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`)
	ann := w.User("ann")
	group := w.Group("Sales", ann)
	w.Put("/apps/"+app+"/groups/"+group, `{}`).OK()

	reasons, values, err := w.Desired.ExplainUser(t.Context(), app, ann)
	require.NoError(t, err)
	require.Equal(t, []string{"The user is a member of the group Sales.", "The group Sales is assigned to the application."}, reasons)
	require.Equal(t,
		desired.Value{Path: "userName", Source: "the user name template of the application", Rule: "${source.login}",
			Value: desiredUser(t, w, app, ann).UserName}, values[1])

	w.Post("/users/"+ann+"/lifecycle/suspend", nil).OK()
	reasons, _, err = w.Desired.ExplainUser(t.Context(), app, ann)
	require.NoError(t, err)
	require.Equal(t, "The user is SUSPENDED, so the account stays as it is.", reasons[2])

	reasons, _, err = w.Desired.ExplainGroup(t.Context(), app, group)
	require.NoError(t, err)
	require.Equal(t, []string{"The group is not pushed to the application."}, reasons)
}
