package assignments_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

// Proves C-apps-28, C-apps-29.
func TestAssignments_Expanded(t *testing.T) {
	w := apptest.New(t)
	app, user := w.Bookmark("x"), w.User("ada")
	w.Assign(app, user)
	path := "/apps/" + app + "/users"
	require.Nil(t, w.Get(path+"/"+user).OK().Value("_embedded"))
	require.Equal(t, "ada@example.com", w.Get(path+"/"+user+"?expand=user").OK().Text("_embedded", "user", "profile", "login"))
	var list []struct {
		Embedded struct{ User struct{ ID string } } `json:"_embedded"`
	}
	w.Get(path + "?expand=user").OK().Into(&list)
	require.Equal(t, user, list[0].Embedded.User.ID)
	w.Get(path+"?expand=group").Fails(400, "E0000001", "expand: ")
	w.Get(path+"/"+user+"?expand=group").Fails(400, "E0000001", "expand: ")

	// The list of applications embeds the assignment of the user in each application.
	apps := "/apps?filter=user.id+eq+%22" + user + "%22&expand=user/"
	var found []struct {
		ID       string
		Embedded struct{ User struct{ ID, Scope string } } `json:"_embedded"`
	}
	w.Get(apps + user).OK().Into(&found)
	require.Len(t, found, 1)
	require.Equal(t, []string{app, user, "USER"}, []string{found[0].ID, found[0].Embedded.User.ID, found[0].Embedded.User.Scope})
	for _, query := range []string{apps + "00uother", "/apps?expand=user/" + user, "/apps?filter=status+eq+ACTIVE&expand=user/" + user, apps,
		"/apps?expand=logo"} {
		w.Get(query).Fails(400, "E0000063")
	}

	// The error of a failed provisioning is embedded in the assignment.
	scim := w.SCIMApp("S")
	w.Connect(scim, apptest.All)
	first, second, group := w.User("one"), w.User("two"), w.Group("g")
	w.Post("/apps/"+scim+"/users", object{"id": first, "credentials": object{"userName": "two@example.com"}}).OK()
	w.Join(group, second)
	w.Put("/apps/"+scim+"/groups/"+group, nil).OK()
	blocked := w.Get("/apps/" + scim + "/users/" + second).OK()
	require.Equal(t, "ERROR", blocked.Text("syncState"))
	require.Contains(t, blocked.Text("_embedded", "task", "errorSummary"), "two@example.com")
}

type object = map[string]any
