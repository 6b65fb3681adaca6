package assignments_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Proves C-assignments-02, C-assignments-03, C-assignments-04, C-assignments-05, C-assignments-06, C-assignments-07,
// C-assignments-09, C-assignments-10, C-assignments-11, C-assignments-12, C-assignments-14, C-assignments-20.
func TestAssign_WithoutProvisioning(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, user := w.Bookmark("Wiki"), w.User("ada")
		w.Events()
		var got map[string]any
		assigned := w.Assign(app, user).Into(&got)
		for _, volatile := range []string{"created", "lastUpdated", "statusChanged"} {
			require.NotEmpty(t, got[volatile])
			delete(got, volatile)
		}
		base := strings.TrimSuffix(assigned.Text("_links", "user", "href"), "/users/"+user)
		want := map[string]any{
			"id": user, "externalId": nil, "scope": "USER", "status": "ACTIVE", "syncState": "DISABLED",
			"passwordChanged": nil, "lastSync": nil, "profile": map[string]any{},
			"credentials": map[string]any{"userName": "ada@example.com"},
			"_links": map[string]any{
				"app":  map[string]any{"href": base + "/apps/" + app},
				"user": map[string]any{"href": base + "/users/" + user},
			},
		}
		require.Empty(t, cmp.Diff(want, got))
		w.Expect(model.AppUserChanged{App: app, User: user})
		require.Equal(t, assigned.Body, w.Get("/apps/"+app+"/users/"+user).OK().Body)

		require.JSONEq(t, `{}`, string(w.Delete("/apps/"+app+"/users/"+user).OK().Body))
		w.Expect(model.AppUserChanged{App: app, User: user})
		w.Get("/apps/"+app+"/users/"+user).Fails(404, "E0000007", user+" (AppUser)")
		require.Empty(t, w.Get("/apps/"+app+"/users").IDs())
	})
}

func TestAssign_WithProvisioning(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		w.Connect(app, apptest.All)
		user := w.User("ada", "displayName", "Ada T", "userType", "Employee")
		staged := w.StagedUser("bob")
		w.Events()
		got := w.Assign(app, user)
		require.Equal(t, "STAGED", got.Text("status"))
		require.Equal(t, "OUT_OF_SYNC", got.Text("syncState"))
		want := map[string]any{
			"givenName": "ada", "familyName": "Tester", "email": "ada@example.com", "displayName": "Ada T", "userType": "Employee",
		}
		profile, _ := got.Value("profile").(map[string]any)
		delete(profile, "locale") // the default locale is tested in package users
		require.Empty(t, cmp.Diff(want, profile))
		w.Expect(model.AppUserChanged{App: app, User: user, Provision: true})

		waiting := w.Assign(app, staged)
		require.Equal(t, "STAGED", waiting.Text("status"))
		require.Equal(t, "DISABLED", waiting.Text("syncState"))
		w.Events()
		w.Post("/users/"+staged+"/lifecycle/activate?sendEmail=false", nil).OK()
		w.Expect(model.AppUserChanged{App: app, User: staged, Provision: true})
		require.Equal(t, "OUT_OF_SYNC", w.Get("/apps/"+app+"/users/"+staged).OK().Text("syncState"))
	})
}

// Proves C-assignments-01.
func TestAssign_Rejected(t *testing.T) {
	w := apptest.New(t)
	app, user, gone := w.Bookmark("Wiki"), w.User("ada"), w.User("bob")
	w.Post("/users/"+gone+"/lifecycle/deactivate", nil).OK()
	path := "/apps/" + app + "/users"

	w.Post("/apps/0oanosuch/users", `{"id":"x"}`).Fails(404, "E0000007", "0oanosuch (AppInstance)")
	w.Post(path, `{}`).Fails(400, "E0000001", "id: The field cannot be left blank")
	w.Post(path, `{"id":"00unosuch"}`).Fails(404, "E0000007", "00unosuch (User)")
	w.Post(path, `{"id":"`+gone+`"}`).Fails(403, "E0000117")
	w.Post(path, `{"id":"`+user+`","scope":"BOTH"}`).Fails(400, "E0000001", "scope")
	w.Post(path, `{"id":"`+user+`","scope":"GROUP"}`).Fails(400, "E0000001", "scope: No group")
	w.Post(path, `{"id":"`+user+`","profile":{"givenName":"A"}}`).Fails(400, "E0000001", "profile.givenName: The attribute is not defined")
	w.Post(path+"/"+user, `{}`).Fails(404, "E0000007", user+" (AppUser)")
	w.Delete(path+"/"+user).Fails(404, "E0000007", user+" (AppUser)")
	w.Get("/apps/0oanosuch/users").Fails(404, "E0000007")
	w.Get("/apps/0oanosuch/users/x").Fails(404, "E0000007", "AppInstance")
	require.Empty(t, w.Get(path).IDs())
}

// Proves C-assignments-08, C-assignments-24.
func TestCredentials_FollowScheme(t *testing.T) {
	w := apptest.New(t)
	user := w.User("ada")
	cases := []struct {
		scheme             string // "" for a sign-on mode without credentials
		userName, password bool
	}{
		{"EDIT_USERNAME_AND_PASSWORD", true, true},
		{"ADMIN_SETS_CREDENTIALS", true, true},
		{"EDIT_PASSWORD_ONLY", true, true},
		{"EXTERNAL_PASSWORD_SYNC", true, false},
		{"SHARED_USERNAME_AND_PASSWORD", false, false},
		{"", true, false},
	}
	for _, c := range cases {
		t.Run(c.scheme, func(t *testing.T) {
			app := `{"name":"zendesk","label":"x"}`
			if c.scheme != "" {
				app = `{"name":"facebook","label":"x","credentials":{"scheme":"` + c.scheme + `"}}`
			}
			if !c.userName {
				app = `{"name":"facebook","label":"x","credentials":{"scheme":"` + c.scheme + `","userName":"all","password":{"value":"p"}}}`
			}
			path := "/apps/" + w.Post("/apps", app).OK().Text("id") + "/users"
			try := func(accepted bool, credentials string) {
				answer := w.Post(path, `{"id":"`+user+`","credentials":`+credentials+`}`)
				if accepted {
					answer.OK()
				} else {
					answer.Fails(400, "E0000041")
				}
			}
			try(c.userName, `{"userName":"ada.l"}`)
			try(c.password, `{"password":{"value":"Pass-For-The-App"}}`)
			try(true, `{"userName":"","password":{}}`)
			got := w.Get(path + "/" + user).OK()
			if c.userName {
				require.Equal(t, "ada.l", got.Text("credentials", "userName"))
			} else {
				require.Nil(t, got.Value("credentials"))
			}
			if c.password {
				require.Empty(t, cmp.Diff(map[string]any{}, got.Value("credentials", "password")))
				require.NotNil(t, got.Value("passwordChanged"))
			}
		})
	}
	require.NotContains(t, w.Answered(), "Pass-For-The-App")
}

func TestUserName_FromTemplate(t *testing.T) {
	w := apptest.New(t)
	app := func(template string) string {
		return w.Post("/apps", `{"name":"scim2_test_app","label":"x","credentials":{"userNameTemplate":`+template+`}}`).OK().Text("id")
	}
	user := w.User("ada")
	t.Run("by default the login", func(t *testing.T) {
		require.Equal(t, "ada@example.com", w.Assign(w.SCIMApp("x"), user).Text("credentials", "userName"))
	})
	t.Run("a custom one with a suffix", func(t *testing.T) {
		id := app(`{"type":"CUSTOM","template":"${fn:substringBefore(source.login, \"@\")}","suffix":".x${y}"}`)
		require.Equal(t, "ada.x${y}", w.Assign(id, user).Text("credentials", "userName"))
	})
	t.Run("a template without a result is an error", func(t *testing.T) {
		id := app(`{"type":"CUSTOM","template":"${source.nickName}","suffix":".x"}`)
		w.Post("/apps/"+id+"/users", `{"id":"`+user+`"}`).Fails(400, "E0000001", "userName: The field cannot be left blank")
		w.Post("/apps/"+id+"/users", `{"id":"`+user+`","credentials":{"userName":"given"}}`).OK()
	})
	t.Run("without a template the user name is required", func(t *testing.T) {
		id := app(`{"type":"NONE"}`)
		w.Post("/apps/"+id+"/users", `{"id":"`+user+`"}`).Fails(400, "E0000001", "userName")
		require.Equal(t, "mine",
			w.Post("/apps/"+id+"/users", `{"id":"`+user+`","profile":{"userName":"mine"}}`).OK().Text("credentials", "userName"))
	})
	t.Run("two different user names are rejected", func(t *testing.T) {
		w.Post("/apps/"+w.SCIMApp("y")+"/users", `{"id":"`+user+`","credentials":{"userName":"a"},"profile":{"userName":"b"}}`).
			Fails(400, "E0000001", "profile.userName")
	})
	t.Run("unique ignoring case where users are provisioned", func(t *testing.T) {
		id, other := w.SCIMApp("z"), w.User("bob")
		w.Assign(id, user)
		w.Post("/apps/"+id+"/users", `{"id":"`+other+`","credentials":{"userName":"ADA@example.com"}}`).
			Fails(400, "E0000001", "userName: An object with this field already exists")
		w.Delete("/apps/" + id + "/users/" + user).OK()
		w.Post("/apps/"+id+"/users", `{"id":"`+other+`","credentials":{"userName":"ADA@example.com"}}`).OK()
	})
}

func TestUserName_FollowsRename(t *testing.T) {
	w := apptest.New(t)
	carl := w.User("carl")
	const (
		scim = `{"name":"scim2_test_app","label":"%s"`
		swa  = `{"name":"template_swa","label":"%s","signOnMode":"BROWSER_PLUGIN","settings":{"app":{"buttonField":"b",
			"passwordField":"p","usernameField":"u","url":"https://example.com"}}`
		sps = `{"name":"template_sps","label":"%s","signOnMode":"SECURE_PASSWORD_STORE","settings":{"app":{"url":"https://example.com",` +
			`"passwordField":"p","usernameField":"u"}}`
		saml = `{"label":"%s","signOnMode":"SAML_2_0","settings":{"signOn":{"ssoAcsUrl":"https://example.com/acs",
			"audience":"https://example.com","recipient":"https://example.com/acs","destination":"https://example.com/acs",
			"subjectNameIdTemplate":"${user.userName}",
			"subjectNameIdFormat":"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress","signatureAlgorithm":"RSA_SHA256",
			"digestAlgorithm":"SHA256","authnContextClassRef":"urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"}}`
		bookmark = `{"name":"bookmark","label":"%s","signOnMode":"BOOKMARK","settings":{"app":{"url":"https://example.com"}}`
		basic    = `{"name":"template_basic_auth","label":"%s","signOnMode":"BASIC_AUTH","settings":{"app":{"url":"https://example.com",` +
			`"authURL":"https://example.com/a"}}`
		built = `,"credentials":{"userNameTemplate":{"type":"BUILT_IN","template":"${source.login}"}}`
	)
	template := func(of string) string { return `,"credentials":{"userNameTemplate":` + of + `}` }
	cases := map[string]struct{ app, credentials, given, want string }{
		"a SCIM app":                 {app: scim, want: "karl@example.com"},
		"a SCIM app, named template": {app: scim, credentials: built, want: "karl@example.com"},
		"a custom SAML app":          {app: saml, want: "karl@example.com"},
		"a browser plugin app":       {app: swa, want: "karl@example.com"},
		"a password store app":       {app: sps, want: "karl@example.com"},
		"a bookmark":                 {app: bookmark, want: "karl@example.com"},
		"basic authentication":       {app: basic, want: "karl@example.com"},
		"the email address": {app: scim, credentials: template(`{"type":"BUILT_IN","template":"${source.email}"}`),
			want: "karl.new@example.com"},
		"a custom template": {app: scim, credentials: template(`{"type":"CUSTOM","template":"${source.firstName}"}`),
			want: "Karl"},
		"a custom template, pushed": {app: scim,
			credentials: template(`{"type":"CUSTOM","template":"${source.firstName}","pushStatus":"PUSH"}`), want: "Karl"},
		"a template, not pushed": {app: scim,
			credentials: template(`{"type":"BUILT_IN","template":"${source.login}","pushStatus":"DONT_PUSH"}`), want: "carl@example.com"},
		"a custom template, not pushed": {app: scim,
			credentials: template(`{"type":"CUSTOM","template":"${source.firstName}","pushStatus":"DONT_PUSH"}`), want: "carl"},
		"a given name":                      {app: scim, given: "boss", want: "boss"},
		"a given name of a custom SAML app": {app: saml, given: "boss", want: "boss"},
		"no template":                       {app: scim, credentials: template(`{"type":"NONE"}`), given: "boss", want: "boss"},
	}
	path := map[string]string{}
	for name, c := range cases {
		app := w.Post("/apps", fmt.Sprintf(c.app, name)+c.credentials+"}").OK().Text("id")
		path[name] = "/apps/" + app + "/users/" + carl
		w.Post("/apps/"+app+"/users", `{"id":"`+carl+`","credentials":{"userName":"`+c.given+`"}}`).OK()
	}
	w.Post("/users/"+carl, `{"profile":{"login":"karl@example.com","email":"karl.new@example.com","firstName":"Karl"}}`).OK()
	for name, c := range cases {
		require.Equal(t, c.want, w.Get(path[name]).OK().Text("credentials", "userName"), name)
	}
}

func TestUserName_RemovedRuleKeepsName(t *testing.T) {
	w := apptest.New(t)
	app, carl := w.SCIMApp("HR"), w.User("carl")
	w.Assign(app, carl)
	mapping := w.Get("/mappings?targetId=" + app).OK().IDs()[0]
	w.Post("/mappings/"+mapping, `{"properties":{"userName":null}}`).OK()
	w.Post("/users/"+carl, `{"profile":{"login":"karl@example.com"}}`).OK()
	require.Equal(t, "carl@example.com", w.Get("/apps/"+app+"/users/"+carl).OK().Text("credentials", "userName"))
}

// Proves C-assignments-13, C-assignments-19, C-assignments-23.
func TestSuppliedAttributes(t *testing.T) {
	w := apptest.New(t)
	app, user := w.SCIMApp("HR"), w.User("ada")
	path := "/apps/" + app + "/users/" + user
	w.Assign(app, user)

	t.Run("override the mapping", func(t *testing.T) {
		require.Equal(t, "A.", w.Post(path, `{"profile":{"givenName":"A."}}`).OK().Text("profile", "givenName"))
		w.Post("/users/"+user, `{"profile":{"firstName":"Adele","lastName":"New"}}`).OK()
		got := w.Get(path).OK()
		require.Equal(t, "A.", got.Text("profile", "givenName"))
		require.Equal(t, "New", got.Text("profile", "familyName"), "other values follow the user")
	})
	t.Run("null restores the mapped value", func(t *testing.T) {
		require.Equal(t, "Adele", w.Post(path, `{"profile":{"givenName":null}}`).OK().Text("profile", "givenName"))
	})
	t.Run("are not stored if they equal the mapping", func(t *testing.T) {
		w.Post(path, `{"profile":{"givenName":"Adele"}}`).OK()
		w.Post("/users/"+user, `{"profile":{"firstName":"Ada"}}`).OK()
		require.Equal(t, "Ada", w.Get(path).OK().Text("profile", "givenName"))
	})
	t.Run("change together with credentials", func(t *testing.T) {
		got := w.Post(path, `{"credentials":{"userName":"ada.n"},"profile":{"userType":"Guest"}}`).OK()
		require.Equal(t, "ada.n", got.Text("credentials", "userName"))
		require.Equal(t, "Guest", got.Text("profile", "userType"))
	})
	t.Run("are rejected if unknown or of another type", func(t *testing.T) {
		w.Post(path, `{"profile":{"shoeSize":"7","email":7}}`).Fails(400, "E0000001", "profile.shoeSize",
			"profile.email: The value must be a string")
	})
	t.Run("must not differ while profiles are pushed", func(t *testing.T) {
		w.Connect(app, `{"update":{"profile":{"status":"ENABLED"}}}`)
		w.Post(path, `{"profile":{"familyName":"Other"}}`).Fails(403, "E0000075", "familyName")
		w.Post(path, `{"profile":{"familyName":"New","email":"ada@example.com"}}`).OK()
		w.Post("/apps/"+app+"/users", `{"id":"`+user+`","profile":{"familyName":"Other"}}`).Fails(403, "E0000075")
		require.Equal(t, "New", w.Get(path).OK().Text("profile", "familyName"))
	})
}

// Proves C-assignments-15, C-assignments-17, C-assignments-18.
func TestListsOfAppUsers(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, other := w.Bookmark("Wiki"), w.Bookmark("Other")
		var users []string
		for i := range 5 {
			user := w.User(fmt.Sprintf("u%d", i), "firstName", fmt.Sprintf("Émile%d", i), "lastName", fmt.Sprintf("Zola%d", i))
			w.Assign(app, user)
			users = append(users, user)
		}
		w.Assign(other, users[0])
		path := "/apps/" + app + "/users"
		w.Post(path+"/"+users[1], `{"credentials":{"userName":"Zorro"}}`).OK()

		var paged []string
		for next := path + "?limit=2"; next != ""; {
			page := w.Get(next)
			paged = append(paged, page.IDs()...)
			next = page.Next()
		}
		require.Equal(t, users, paged)
		for q, want := range map[string][]string{
			"zo": users, "ZORRO": users[1:2], "zola3": users[3:4], "%C3%A9MILE2": users[2:3],
			"u4@example": users[4:], "mile": {}, "%C3%A9": users,
		} {
			require.Equal(t, want, w.Get(path+"?q="+q).IDs(), q)
		}
		w.Post("/users/"+users[3], `{"profile":{"lastName":"Balzac"}}`).OK()
		require.Equal(t, users[3:4], w.Get(path+"?q=balz").IDs(), "search follows the user")
		w.Get(path+"?after=xyz").Fails(400, "E0000029")
		require.Equal(t, users, w.Get(path+"?limit=99999").IDs())

		client := w.Post("/apps",
			`{"name":"oidc_client","label":"Client","signOnMode":"OPENID_CONNECT",
			"credentials":{"oauthClient":{"token_endpoint_auth_method":"client_secret_basic"}},
			"settings":{"oauthClient":{"application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}}}`).OK().Text(
			"id")
		w.Assign(client, users[2])
		for q, want := range map[string][]string{"u2@example": users[2:3], "zola": {}, "%C3%A9": {}} {
			require.Equal(t, want, w.Get("/apps/"+client+"/users?q="+q).IDs(), "names are not searched: %s", q)
		}
	})
}

// TestAssignments_FollowUser verifies how profile changes and lifecycle transitions of a user change its assignments.
func TestAssignments_FollowUser(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		hr, wiki, user := w.SCIMApp("HR"), w.Bookmark("Wiki"), w.User("ada")
		w.Connect(hr, apptest.All)
		w.Assign(hr, user)
		w.Assign(wiki, user)
		require.NoError(t, w.Desired.ReportUser(t.Context(), hr, user, desired.Result{Outcome: desired.Done, RemoteID: "r1"}))
		w.Events()

		w.Post("/users/"+user, `{"profile":{"firstName":"Adele"}}`).OK()
		w.Expect(model.AppUserChanged{App: hr, User: user, Provision: true}, model.AppUserChanged{App: wiki, User: user})
		got := w.Get("/apps/" + hr + "/users/" + user).OK()
		require.Equal(t, "Adele", got.Text("profile", "givenName"))
		require.Equal(t, "PROVISIONED", got.Text("status"))
		require.Equal(t, "OUT_OF_SYNC", got.Text("syncState"))

		w.Post("/users/"+user+"/lifecycle/suspend", nil).OK()
		w.Expect(model.AppUserChanged{App: hr, User: user, Provision: true})
		require.Equal(t, []string{user}, w.Get("/apps/"+hr+"/users").IDs(), "suspension keeps assignments")
		w.Post("/users/"+user+"/lifecycle/unsuspend", nil).OK()

		w.Events()
		w.Post("/users/"+user+"/lifecycle/deactivate", nil).OK()
		w.Expect(model.AppUserChanged{App: hr, User: user, Provision: true}, model.AppUserChanged{App: wiki, User: user})
		require.Empty(t, w.Get("/apps/"+hr+"/users").IDs())
		require.Empty(t, w.Get("/apps/"+wiki+"/users").IDs())
		w.Post("/users/"+user+"/lifecycle/activate?sendEmail=false", nil).OK()
		require.Empty(t, w.Get("/apps/"+hr+"/users").IDs(), "previous assignments are not restored")

		back := w.Assign(hr, user)
		require.Equal(t, "STAGED", back.Text("status"))
		require.Equal(t, "r1", back.Text("externalId"), "the id of the account is preserved")
	})
}

func TestAssignments_DeletedWithApp(t *testing.T) {
	w := apptest.New(t)
	app, user := w.SCIMApp("HR"), w.User("ada")
	group := w.Group("staff", user)
	w.Connect(app, apptest.All)
	w.Put("/apps/"+app+"/groups/"+group, nil).OK()
	w.Post("/apps/"+app+"/lifecycle/deactivate", nil).OK()
	w.Delete("/apps/" + app).OK(204)
	for name, count := range map[string]func() (int, error){
		"users":       func() (int, error) { return w.Model.AppUsers.Count(t.Context(), w.Store.Reader(), nil) },
		"groups":      func() (int, error) { return w.Model.AppGroups.Count(t.Context(), w.Store.Reader(), nil) },
		"connections": func() (int, error) { return w.Model.Connections.Count(t.Context(), w.Store.Reader(), nil) },
	} {
		n, err := count()
		require.NoError(t, err)
		require.Zero(t, n, name)
	}
}
