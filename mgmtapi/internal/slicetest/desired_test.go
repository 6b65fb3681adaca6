package slicetest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestDesired_TargetFollowsConnection(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		ctx := t.Context()
		_, err := w.Desired.Target(ctx, "0oanosuch")
		require.ErrorIs(t, err, desired.ErrUnknownApp)
		app := w.SCIMApp("HR")
		_, err = w.Desired.Target(ctx, app)
		require.ErrorIs(t, err, desired.ErrUnknownApp, "an application without a connection has no target")

		w.Connect(app, `{"update":{"profile":{"status":"ENABLED"}}}`)
		want := desired.Target{
			BaseURL: "https://scim.example.com/v2", Header: model.HeaderBearer, Token: apptest.Secret,
			UserNameAttribute: "userName", Style: model.StyleCatalog, Fallback: model.FallbackNone, UpdateUsers: true, PushGroups: true,
		}
		got, err := w.Desired.Target(ctx, app)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", got, got, got), apptest.Secret)

		paused := func() bool {
			target, err := w.Desired.Target(ctx, app)
			require.NoError(t, err)
			return target.Paused
		}
		w.Post("/apps/"+app+"/lifecycle/deactivate", nil).OK()
		require.True(t, paused(), "an inactive application")
		w.Post("/apps/"+app+"/lifecycle/activate", nil).OK()
		require.False(t, paused())
		w.Post("/apps/"+app+"/connections/default/lifecycle/deactivate", nil).OK(204)
		require.True(t, paused(), "a connection that is not enabled")
	})
}

// TestDesired_CustomAppStyle checks that the target of a custom application has the style WIZARD.
func TestDesired_CustomAppStyle(t *testing.T) {
	w := apptest.New(t)
	app := w.Post("/apps", `{"label":"x","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`).OK().Text("id")
	w.Connect(app, "")
	target, err := w.Desired.Target(t.Context(), app)
	require.NoError(t, err)
	require.Equal(t, model.StyleWizard, target.Style)
}

// desiredUser returns the desired state of a user.
func desiredUser(t *testing.T, w *apptest.World, app, id string) desired.User {
	t.Helper()
	got, err := w.Desired.User(t.Context(), app, id)
	require.NoError(t, err)
	return got
}

func report(t *testing.T, w *apptest.World, app, id string, r desired.Result) {
	t.Helper()
	require.NoError(t, w.Desired.ReportUser(t.Context(), app, id, r))
}

func TestResource_UserAttributes(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	w.Connect(app, apptest.All)
	ada := w.User("ada", "middleName", "K", "displayName", "Ada <T>", "locale", "sv_SE", "secondEmail", "ada@home.example",
		"mobilePhone", "+46 70 174 06 05", "userType", "Employee")
	w.Assign(app, ada)
	got := desiredUser(t, w, app, ada)
	require.Equal(t, desired.Active, got.Want)
	require.Equal(t, "ada@example.com", got.UserName)
	var resource, want any
	text, err := json.Marshal(got.Resource)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &resource))
	require.NoError(t, json.Unmarshal([]byte(`{
		"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
		"externalId": "`+ada+`", "userName": "ada@example.com",
		"name": {"givenName": "ada", "middleName": "K", "familyName": "Tester"},
		"emails": [
			{"primary": true, "value": "ada@example.com", "type": "work"},
			{"primary": false, "value": "ada@home.example", "type": "other"}],
		"phoneNumbers": [{"primary": true, "value": "+46 70 174 06 05", "type": "mobile"}],
		"displayName": "Ada <T>", "locale": "sv-SE", "userType": "Employee"}`), &want))
	require.Empty(t, cmp.Diff(want, resource))
	require.True(t, strings.HasPrefix(string(text), `{"schemas":`), "schemas come first")
}

// The default locale of users is en_US, which SCIM writes with a hyphen.
func TestResource_DefaultLocale(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	w.Connect(app, apptest.All)
	ada := w.User("ada")
	w.Assign(app, ada)
	resource := desiredUser(t, w, app, ada).Resource
	require.Equal(t, "en-US", resource.Text("locale"))
	w.Post("/users/"+ada, map[string]any{"profile": map[string]any{"locale": "de_CH"}}).OK()
	resource = desiredUser(t, w, app, ada).Resource
	require.Equal(t, "de-CH", resource.Text("locale"))
}

// TestDesired_UserStates checks the desired state of a user after each change of the assignment and of the user.
func TestDesired_UserStates(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		ada := w.User("ada")
		require.Equal(t, desired.Absent, desiredUser(t, w, app, ada).Want, "not assigned")
		w.Assign(app, ada)
		require.Equal(t, desired.Keep, desiredUser(t, w, app, ada).Want, "assigned while Create Users was disabled")
		w.Connect(app, apptest.All)
		require.Equal(t, desired.Keep, desiredUser(t, w, app, ada).Want, "enabling Create Users provisions no user")

		staged := w.StagedUser("bob")
		w.Assign(app, staged)
		require.Equal(t, desired.Keep, desiredUser(t, w, app, staged).Want, "the user is not activated yet")
		w.Post("/users/"+staged+"/lifecycle/activate?sendEmail=false", nil).OK()
		require.Equal(t, desired.Active, desiredUser(t, w, app, staged).Want)

		w.Post("/users/"+staged+"/lifecycle/suspend", nil).OK()
		require.Equal(t, desired.Keep, desiredUser(t, w, app, staged).Want, "suspended")
		w.Post("/users/"+staged+"/lifecycle/unsuspend", nil).OK()
		require.Equal(t, desired.Active, desiredUser(t, w, app, staged).Want)

		report(t, w, app, staged, desired.Result{Outcome: desired.Done, RemoteID: "r1"})
		w.Delete("/apps/" + app + "/users/" + staged).OK()
		gone := desiredUser(t, w, app, staged)
		require.Equal(t, desired.Inactive, gone.Want, "removed")
		require.Equal(t, "r1", gone.RemoteID)
		require.Equal(t, "bob@example.com", gone.UserName, "the tombstone contains the user name for the search")
		require.NotNil(t, gone.Resource)

		w.Assign(app, staged)
		require.Equal(t, desired.Active, desiredUser(t, w, app, staged).Want, "assigned again")
		w.Post("/users/"+staged+"/lifecycle/deactivate", nil).OK()
		require.Equal(t, desired.Inactive, desiredUser(t, w, app, staged).Want, "deactivated")
	})
}

// TestDesired_RemovalWithDeactivateUsersDisabled checks that a removal with Deactivate Users disabled sends nothing, even if the option is
// enabled later.
func TestDesired_RemovalWithDeactivateUsersDisabled(t *testing.T) {
	w := apptest.New(t)
	app, ada := w.SCIMApp("HR"), w.User("ada")
	w.Connect(app, `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`)
	w.Assign(app, ada)
	report(t, w, app, ada, desired.Result{Outcome: desired.Done, RemoteID: "r1"})
	w.Delete("/apps/" + app + "/users/" + ada).OK()
	require.Equal(t, desired.Keep, desiredUser(t, w, app, ada).Want)
	w.Put("/apps/"+app+"/features/USER_PROVISIONING", apptest.All).OK()
	require.Equal(t, desired.Keep, desiredUser(t, w, app, ada).Want, "enabling the option later sends nothing")
}

func TestResult_SetsAppUserStatus(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, ada := w.SCIMApp("HR"), w.User("ada")
		w.Connect(app, apptest.All)
		w.Assign(app, ada)
		shows := func(status, state string) *apptest.Answer {
			t.Helper()
			got := w.Get("/apps/" + app + "/users/" + ada).OK()
			require.Equal(t, status, got.Text("status"))
			require.Equal(t, state, got.Text("syncState"))
			return got
		}
		w.Events()
		report(t, w, app, ada, desired.Result{Outcome: desired.Started})
		shows("STAGED", "SYNCING")
		report(t, w, app, ada, desired.Result{Outcome: desired.Failed, Error: "409 for POST /Users"})
		require.Nil(t, shows("STAGED", "ERROR").Value("externalId"))
		require.Empty(t, w.Events(), "results cause no events")

		// The next update of the assignment makes the engine retry the provisioning.
		w.Post("/apps/"+app+"/users/"+ada, `{"profile":{}}`).OK()
		shows("STAGED", "OUT_OF_SYNC")
		w.Expect(model.AppUserChanged{App: app, User: ada, Provision: true})

		report(t, w, app, ada, desired.Result{Outcome: desired.Done, RemoteID: "r1"})
		got := shows("PROVISIONED", "SYNCHRONIZED")
		require.Equal(t, "r1", got.Text("externalId"))
		require.NotNil(t, got.Value("lastSync"))

		w.Post("/users/"+ada, `{"profile":{"lastName":"New"}}`).OK()
		shows("PROVISIONED", "OUT_OF_SYNC")
		report(t, w, app, ada, desired.Result{Outcome: desired.Done, RemoteID: "r1", More: true})
		shows("PROVISIONED", "OUT_OF_SYNC")
		report(t, w, app, ada, desired.Result{Outcome: desired.Failed, Error: "500"})
		shows("PROVISIONED", "ERROR")
		report(t, w, app, ada, desired.Result{Outcome: desired.Done, RemoteID: "r1"})
		shows("PROVISIONED", "SYNCHRONIZED")

		// The engine may report a result for the desired state before the removal. It must not change the removed assignment.
		w.Delete("/apps/" + app + "/users/" + ada).OK()
		tombstone := func() model.SyncState {
			doc, err := w.Desired.AppUsers.Get(t.Context(), w.Desired.Store.Reader(), model.AppUserID(app, ada))
			require.NoError(t, err)
			return doc.Value.SyncState
		}
		report(t, w, app, ada, desired.Result{Want: desired.Active, Outcome: desired.Done, RemoteID: "r1"})
		require.NotEqual(t, model.SyncSynchronized, tombstone(), "the removal is not provisioned yet")
		report(t, w, app, ada, desired.Result{Outcome: desired.Done, RemoteID: "r1", More: true})
		require.Equal(t, desired.Inactive, desiredUser(t, w, app, ada).Want)
		require.Empty(t, w.Get("/apps/"+app+"/users").IDs())
		report(t, w, app, ada, desired.Result{Want: desired.Inactive, Outcome: desired.Done, RemoteID: "r1"})
		require.Equal(t, model.SyncSynchronized, tombstone())
		require.Equal(t, desired.Inactive, desiredUser(t, w, app, ada).Want)
		report(t, w, app, "00unosuch", desired.Result{Outcome: desired.Done, RemoteID: "x"})
	})
}

func TestResult_SkippedLeavesNothingPending(t *testing.T) {
	w := apptest.New(t)
	app, ada := w.SCIMApp("HR"), w.User("ada")
	w.Connect(app, apptest.All)
	w.Assign(app, ada)
	path := "/apps/" + app + "/users/" + ada
	report(t, w, app, ada, desired.Result{Outcome: desired.Skipped})
	require.Equal(t, "DISABLED", w.Get(path).OK().Text("syncState"))
	w.Post("/users/"+ada, `{"profile":{"lastName":"New"}}`).OK()
	require.Equal(t, "OUT_OF_SYNC", w.Get(path).OK().Text("syncState"), "the next change is pending")

	report(t, w, app, ada, desired.Result{Outcome: desired.Failed, Error: strings.Repeat("é", 5000)})
	doc, err := w.Model.AppUsers.Get(t.Context(), w.Store.Reader(), model.AppUserID(app, ada))
	require.NoError(t, err)
	require.Less(t, len(doc.Value.ErrorSummary), 1100, "error summaries are truncated")

	w.Delete(path).OK()
	report(t, w, app, ada, desired.Result{Outcome: desired.Started})
	report(t, w, app, ada, desired.Result{Outcome: desired.Failed, Error: "500"})
	require.Equal(t, desired.Inactive, desiredUser(t, w, app, ada).Want, "a failed deactivation is still desired")
	report(t, w, app, ada, desired.Result{Outcome: desired.Skipped})
	require.Equal(t, desired.Keep, desiredUser(t, w, app, ada).Want)
}

// TestTombstone_OutlivesUser checks that the tombstone of an assignment outlives its deleted user until the account is deactivated.
func TestTombstone_OutlivesUser(t *testing.T) {
	w := apptest.New(t)
	app, ada := w.SCIMApp("HR"), w.User("ada")
	w.Connect(app, apptest.All)
	w.Assign(app, ada)
	report(t, w, app, ada, desired.Result{Outcome: desired.Done, RemoteID: "r1"})
	w.Delete("/users/" + ada).OK(204) // deactivates
	w.Delete("/users/" + ada).OK(204) // deletes
	require.Equal(t, desired.Inactive, desiredUser(t, w, app, ada).Want)
	report(t, w, app, ada, desired.Result{Outcome: desired.Done, RemoteID: "r1"})
	require.Equal(t, desired.Absent, desiredUser(t, w, app, ada).Want)
	n, err := w.Model.AppUsers.Count(t.Context(), w.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestDesired_PushedGroups(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		ctx := t.Context()
		app := w.SCIMApp("HR")
		var users []string
		for i := range 5 {
			users = append(users, w.User(fmt.Sprintf("u%d", i)))
		}
		late := w.User("late")
		w.Assign(app, late) // the user gets no account, because the application has no connection yet
		w.Connect(app, apptest.All)
		group := w.Group("staff", append(slices.Clone(users), late)...)
		for _, user := range users[:4] {
			w.Assign(app, user)
		}
		state := func() desired.Group {
			t.Helper()
			got, err := w.Desired.Group(ctx, app, group)
			require.NoError(t, err)
			return got
		}
		require.Equal(t, desired.Group{Want: desired.Absent}, state(), "not pushed")
		mappings := "/apps/" + app + "/group-push/mappings"
		id := w.Post(mappings, `{"sourceGroupId":"`+group+`","targetGroupName":"Staff"}`).OK(201).Text("id")
		require.Equal(t, desired.Group{Want: desired.Active, DisplayName: "Staff"}, state())

		want := slices.Sorted(slices.Values(users[:4]))
		for _, limit := range []int{1, 2, 3, 4, 100} {
			var members []string
			for after := ""; ; {
				page, err := w.Desired.Members(ctx, app, group, after, limit)
				require.NoError(t, err)
				members = append(members, page...)
				if len(page) < limit {
					break
				}
				after = page[len(page)-1]
			}
			require.Equal(t, want, members, "pages of %d", limit)
		}
		in, err := w.Desired.IsMember(ctx, app, group, []string{users[0], users[4], late, "00unosuch"})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{users[0]: true}, in)

		require.NoError(t, w.Desired.ReportGroup(ctx, app, group, desired.Result{Outcome: desired.Failed, Error: "500"}))
		got := w.Get(mappings + "/" + id).OK()
		require.Equal(t, "ERROR", got.Text("status"))
		require.Equal(t, "500", got.Text("errorSummary"))
		require.Equal(t, desired.Active, state().Want, "an error does not end the push")
		require.NoError(t, w.Desired.ReportGroup(ctx, app, group, desired.Result{Outcome: desired.Done, RemoteID: "g1"}))
		got = w.Get(mappings + "/" + id).OK()
		require.Equal(t, "ACTIVE", got.Text("status"))
		require.Equal(t, "", got.Text("errorSummary"))
		require.NotNil(t, got.Value("lastPush"))
		require.Equal(t, desired.Group{Want: desired.Active, DisplayName: "Staff", RemoteID: "g1"}, state())

		w.Put("/groups/"+group, `{"profile":{"name":"Crew"}}`).OK()
		require.Equal(t, "Crew", state().DisplayName)
		w.Patch(mappings+"/"+id, `{"status":"INACTIVE"}`).OK()
		require.Equal(t, desired.Inactive, state().Want)
		w.Delete(mappings + "/" + id + "?deleteTargetGroup=true").OK(204)
		require.Equal(t, desired.Group{Want: desired.Absent, DisplayName: "Crew", RemoteID: "g1", DeleteRemote: true}, state())
		require.NoError(t, w.Desired.ReportGroup(ctx, app, group, desired.Result{Outcome: desired.Failed, Error: "500"}))
		require.True(t, state().DeleteRemote, "the deletion is still pending")
		require.NoError(t, w.Desired.ReportGroup(ctx, app, group, desired.Result{Want: desired.Inactive, Outcome: desired.Done, RemoteID: "g1"}))
		require.True(t, state().DeleteRemote, "the result is for the earlier pause")
		require.NoError(t, w.Desired.ReportGroup(ctx, app, group, desired.Result{Want: desired.Absent, Outcome: desired.Done, More: true}))
		require.Equal(t, desired.Group{Want: desired.Absent}, state(), "another attempt follows, without a group to delete")

		// A deletion with deleteTargetGroup=false keeps the group in the target. A new push mapping uses this group again.
		second := w.Post(mappings, `{"sourceGroupId":"`+group+`","targetGroupName":"Staff"}`).OK(201)
		w.Patch(mappings+"/"+second.Text("id"), `{"status":"INACTIVE"}`).OK()
		w.Delete(mappings + "/" + second.Text("id") + "?deleteTargetGroup=false").OK(204)
		require.Equal(t, desired.Group{Want: desired.Absent, DisplayName: "Staff"}, state())
		third := w.Post(mappings, `{"sourceGroupId":"`+group+`","targetGroupId":"`+second.Text("targetGroupId")+`"}`).OK(201)
		require.Equal(t, second.Text("targetGroupId"), third.Text("targetGroupId"))
		require.Equal(t, desired.Group{Want: desired.Active, DisplayName: "Staff"}, state())
	})
}
