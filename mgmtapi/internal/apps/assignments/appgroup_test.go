package assignments_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Proves C-assignments-26.
func TestGroupAssignment_AssignsMembers(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		w.Connect(app, apptest.All)
		ada, bob, staged := w.User("ada"), w.User("bob"), w.StagedUser("carl")
		group := w.Group("staff", ada, staged)
		users := "/apps/" + app + "/users"
		w.Events()

		assigned := w.Put("/apps/"+app+"/groups/"+group, nil).OK()
		require.Equal(t, group, assigned.Text("id"))
		require.EqualValues(t, 0, assigned.Value("priority"))
		w.Expect(model.AppGroupChanged{App: app, Group: group}, model.AppUserChanged{App: app, User: ada, Provision: true})
		require.Equal(t, []string{ada}, w.Get(users).IDs(), "a staged member is not assigned yet")
		got := w.Get(users + "/" + ada).OK()
		require.Equal(t, "GROUP", got.Text("scope"))
		require.Contains(t, got.Text("_links", "group", "href"), "/groups/"+group)

		w.Join(group, bob)
		w.Expect(model.AppUserChanged{App: app, User: bob, Provision: true})
		require.Equal(t, []string{ada, bob}, w.Get(users).IDs())
		w.Post("/users/"+staged+"/lifecycle/activate?sendEmail=false", nil).OK()
		require.Equal(t, []string{ada, bob, staged}, w.Get(users).IDs())

		w.Delete(users+"/"+bob).Fails(403, "E0000046", group)
		w.Events()
		w.Leave(group, bob)
		w.Expect(model.AppUserChanged{App: app, User: bob, Provision: true})
		require.Equal(t, []string{ada, staged}, w.Get(users).IDs())

		w.Delete("/apps/" + app + "/groups/" + group).OK(204)
		w.Expect(model.AppGroupChanged{App: app, Group: group}, model.AppUserChanged{App: app, User: ada, Provision: true})
		require.Empty(t, w.Get(users).IDs())
		w.Delete("/apps/"+app+"/groups/"+group).Fails(404, "E0000007", group+" (GroupAssignment)")
	})
}

func TestScopesConvert(t *testing.T) {
	w := apptest.New(t)
	app, user := w.SCIMApp("HR"), w.User("ada")
	group := w.Group("staff", user)
	path := "/apps/" + app + "/users"
	w.Put("/apps/"+app+"/groups/"+group, `{"profile":{"userType":"Staff"}}`).OK()
	require.Equal(t, "GROUP", w.Get(path+"/"+user).OK().Text("scope"))

	t.Run("to USER by assigning", func(t *testing.T) {
		got := w.Post(path, `{"id":"`+user+`","credentials":{"userName":"mine"},"profile":{"givenName":"A."}}`).OK()
		require.Equal(t, "USER", got.Text("scope"))
		require.Equal(t, "mine", got.Text("credentials", "userName"))
		require.Nil(t, got.Value("profile", "userType"), "the assignment has no values of the group")
		require.Nil(t, got.Value("_links", "group"))
	})
	t.Run("an update alone keeps the scope", func(t *testing.T) {
		require.Equal(t, "USER", w.Post(path+"/"+user, `{"profile":{}}`).OK().Text("scope"))
	})
	t.Run("to GROUP by an update", func(t *testing.T) {
		got := w.Post(path+"/"+user, `{"scope":"GROUP"}`).OK()
		require.Equal(t, "GROUP", got.Text("scope"))
		require.Equal(t, "Staff", got.Text("profile", "userType"))
		require.Equal(t, "ada", got.Text("profile", "givenName"))
		require.Equal(t, "ada@example.com", got.Text("credentials", "userName"))
	})
	t.Run("to GROUP by removing a USER assignment", func(t *testing.T) {
		w.Post(path, `{"id":"`+user+`","credentials":{"userName":"mine"},"profile":{"givenName":"A."}}`).OK()
		w.Delete(path + "/" + user).OK()
		require.Equal(t, "ada@example.com", w.Get(path+"/"+user).OK().Text("credentials", "userName"))
		got := w.Get(path + "/" + user).OK()
		require.Equal(t, "GROUP", got.Text("scope"))
		require.Equal(t, "ada", got.Text("profile", "givenName"))
	})
	t.Run("a USER assignment survives its group", func(t *testing.T) {
		w.Post(path, `{"id":"`+user+`","scope":"USER"}`).OK()
		w.Leave(group, user)
		require.Equal(t, []string{user}, w.Get(path).IDs())
		w.Post(path+"/"+user, `{"scope":"GROUP"}`).Fails(400, "E0000001", "scope")
	})
}

// TestGroupAssignment_LowestPriorityWins verifies that a user gets the profile of the assigned group with the lowest priority number.
func TestGroupAssignment_LowestPriorityWins(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, user := w.SCIMApp("HR"), w.User("ada")
		first, second := w.Group("first", user), w.Group("second", user)
		kind := func() string { return w.Get("/apps/"+app+"/users/"+user).OK().Text("profile", "userType") }
		w.Put("/apps/"+app+"/groups/"+first, `{"priority":5,"profile":{"userType":"One"}}`).OK()
		w.Put("/apps/"+app+"/groups/"+second, `{"profile":{"userType":"Two"}}`).OK()
		require.Equal(t, "One", kind())
		w.Put("/apps/"+app+"/groups/"+second, `{"priority":1,"profile":{"userType":"Two"}}`).OK()
		require.Equal(t, "Two", kind())
		w.Leave(second, user)
		require.Equal(t, "One", kind(), "derived from the next group")
		w.Put("/apps/"+app+"/groups/"+first, `{"priority":5,"profile":{"userType":"Uno"}}`).OK()
		require.Equal(t, "Uno", kind())
		w.Join(second, user)
		require.Equal(t, "Two", kind())
		w.Delete("/groups/" + second).OK(204)
		require.Equal(t, "Uno", kind(), "a deleted group is no longer assigned")
		require.Equal(t, []string{first}, w.Get("/apps/"+app+"/groups").IDs())
	})
}

// Proves C-assignments-25, C-assignments-27.
func TestPriorities(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.Bookmark("Wiki")
		path := "/apps/" + app + "/groups"
		var groups []string
		for _, name := range []string{"a", "b", "c", "d"} {
			group := w.Group(name)
			w.Put(path+"/"+group, `{}`).OK()
			groups = append(groups, group)
		}
		a, b, c, d := groups[0], groups[1], groups[2], groups[3]
		require.Equal(t, []string{a, b, c, d}, w.Get(path).IDs())

		w.Put(path+"/"+d, `{"priority":1}`).OK()
		require.Equal(t, []string{a, d, b, c}, w.Get(path).IDs(), "groups with the requested priority move up")
		w.Put(path+"/"+a, `{"priority":50}`).OK()
		require.Equal(t, []string{d, b, c, a}, w.Get(path).IDs())
		w.Put(path+"/"+c, `{"priority":0}`).OK()
		require.Equal(t, []string{d, b, c, a}, w.Get(path).IDs(), "priority 0 keeps the stored priority")
		require.EqualValues(t, 3, w.Get(path+"/"+c).OK().Value("priority"))

		var paged []string
		for next := path + "?limit=1"; next != ""; {
			page := w.Get(next)
			paged = append(paged, page.IDs()...)
			next = page.Next()
		}
		require.Equal(t, []string{d, b, c, a}, paged)

		w.Put(path+"/"+a, `{"priority":101}`).Fails(400, "E0000001", "priority")
		w.Put(path+"/"+a, `{"priority":-1}`).Fails(400, "E0000001", "priority")
		w.Put(path+"/"+a, `{"profile":{"userType":"x"}}`).Fails(400, "E0000001", "profile.userType: The attribute is not defined")
		w.Put(path+"/00gnosuch", nil).Fails(404, "E0000007", "00gnosuch (UserGroup)")
		w.Put("/apps/0oanosuch/groups/"+a, nil).Fails(404, "E0000007", "AppInstance")
		w.Get(path+"/00gnosuch").Fails(404, "E0000007", "00gnosuch (GroupAssignment)")
		w.Get("/apps/0oanosuch/groups").Fails(404, "E0000007")
	})
}

// TestGroupAssignment_TakenUserName verifies that a member with a taken user name has a sync error and that other calls succeed.
func TestGroupAssignment_TakenUserName(t *testing.T) {
	w := apptest.New(t)
	app := w.Post("/apps",
		`{"name":"scim2_test_app","label":"x","credentials":{"userNameTemplate":{"type":"CUSTOM","template":"${source.lastName}"}}}`).OK().Text(
		"id")
	w.Connect(app, apptest.All)
	ada, bob := w.User("ada"), w.User("bob")
	group := w.Group("staff", ada)
	w.Put("/apps/"+app+"/groups/"+group, nil).OK()
	w.Join(group, bob)

	got := w.Get("/apps/" + app + "/users/" + bob).OK()
	require.Equal(t, "STAGED", got.Text("status"))
	require.Equal(t, "ERROR", got.Text("syncState"))
	state, err := w.Desired.User(t.Context(), app, bob)
	require.NoError(t, err)
	require.Equal(t, desired.Keep, state.Want, "a taken user name is not provisioned")

	w.Post("/users/"+bob, `{"profile":{"lastName":"Builder"}}`).OK()
	got = w.Get("/apps/" + app + "/users/" + bob).OK()
	require.Equal(t, "Builder", got.Text("credentials", "userName"))
	require.Equal(t, "OUT_OF_SYNC", got.Text("syncState"))
}

func TestGroupAssignment_Everyone(t *testing.T) {
	w := apptest.New(t)
	var everyone []struct{ ID string }
	w.Get("/groups?q=Everyone").OK().Into(&everyone)
	require.Len(t, everyone, 1)
	app, ada := w.Bookmark("Wiki"), w.User("ada")
	w.Put("/apps/"+app+"/groups/"+everyone[0].ID, nil).OK()
	bob := w.User("bob")
	ids := w.Get("/apps/" + app + "/users").IDs()
	require.Contains(t, ids, ada)
	require.Contains(t, ids, bob, "a new user is in everyone")
	w.Post("/users/"+bob+"/lifecycle/deactivate", nil).OK()
	require.NotContains(t, w.Get("/apps/"+app+"/users").IDs(), bob)
	w.Post("/users/"+bob+"/lifecycle/activate?sendEmail=false", nil).OK()
	require.Contains(t, w.Get("/apps/"+app+"/users").IDs(), bob)
}

func TestPatchesOfGroupAssignments(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, user := w.SCIMApp("HR"), w.User("ada")
		first, second := w.Group("first", user), w.Group("second", user)
		path := "/apps/" + app + "/groups/"
		w.Put(path+first, `{"priority":1,"profile":{"userType":"One","locale":"en_US"}}`).OK()
		w.Put(path+second, `{"priority":2,"profile":{"userType":"Two"}}`).OK()
		kind := func() any { return w.Get("/apps/"+app+"/users/"+user).OK().Value("profile", "userType") }
		patch := func(group, operations string) *apptest.Answer { return w.Patch(path+group, operations) }

		w.Events()
		got := patch(first, `[{"op":"replace","path":"/profile/userType","value":"Uno"}]`).OK()
		w.Expect(model.AppGroupChanged{App: app, Group: first})
		require.Equal(t, map[string]any{"userType": "Uno", "locale": "en_US"}, got.Value("profile"))
		require.EqualValues(t, 1, got.Value("priority"), "omitted members keep their values")
		require.Equal(t, "Uno", kind())

		got = patch(second, `[{"op":"replace","path":"/priority","value":1},{"op":"add","path":"/profile/locale","value":"de_DE"}]`).OK()
		require.EqualValues(t, 1, got.Value("priority"))
		require.Equal(t, "Two", kind())
		require.EqualValues(t, 2, w.Get(path+first).OK().Value("priority"), "the group with the requested priority moves up")

		patch(second, `[{"op":"remove","path":"/profile/locale"},{"op":"replace","path":"/profile","value":{"userType":"Dos"}}]`).OK()
		require.Equal(t, "Dos", kind())
		require.Equal(t, map[string]any{}, patch(second, `[{"op":"remove","path":"/profile"}]`).OK().Value("profile"))
		require.Nil(t, kind())
		require.Equal(t, map[string]any{}, patch(second, `[]`).OK().Value("profile"))
	})
}

func TestPatchesOfGroupAssignments_Rejected(t *testing.T) {
	w := apptest.New(t)
	app, group := w.SCIMApp("HR"), w.Group("first")
	path := "/apps/" + app + "/groups/" + group
	w.Patch(path, `[]`).Fails(404, "E0000007")
	w.Put(path, `{"profile":{"userType":"One"}}`).OK()
	for name, c := range map[string]struct{ body, code, clue string }{
		"no body":                {"", "E0000003", ""},
		"an object":              {`{}`, "E0000003", "array"},
		"a number":               {`1`, "E0000003", ""},
		"an element of a number": {`[1]`, "E0000001", "[0]: "},
		"a missing operation":    {`[{}]`, "E0000001", "[0].op: "},
		"an unknown operation":   {`[{"op":"move","path":"/priority"}]`, "E0000001", "[0].op: "},
		"an unknown path": {`[{"op":"add","path":"/profile/locale","value":"x"},{"op":"replace","path":"/id","value":"x"}]`, "E0000001",
			"[1].path: "},
		"a removed priority":   {`[{"op":"remove","path":"/priority"}]`, "E0000001", "[0].path: "},
		"a string as priority": {`[{"op":"replace","path":"/priority","value":"1"}]`, "E0000001", "[0].value: "},
		"a high priority":      {`[{"op":"replace","path":"/priority","value":101}]`, "E0000001", "[0].value: "},
		"a string as profile":  {`[{"op":"replace","path":"/profile","value":"x"}]`, "E0000001", "[0].value: "},
		"an unknown attribute": {`[{"op":"add","path":"/profile/hat","value":"x"}]`, "E0000001", "profile.hat: "},
		"nothing to replace":   {`[{"op":"replace","path":"/profile/locale","value":"x"}]`, "E0000001", "[0].path: "},
		"nothing to remove":    {`[{"op":"remove","path":"/profile/locale"}]`, "E0000001", "[0].path: "},
	} {
		t.Run(name, func(t *testing.T) { w.Patch(path, c.body).Fails(400, c.code, c.clue) })
	}
	require.Equal(t, map[string]any{"userType": "One"}, w.Get(path).OK().Value("profile"))
}
