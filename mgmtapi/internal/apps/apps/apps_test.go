package apps_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const customSAML = `{
	"label": "Acme & Co. 2", "signOnMode": "SAML_2_0",
	"settings": {"signOn": {
		"ssoAcsUrl": "https://acme.example/acs", "audience": "urn:acme", "recipient": "https://acme.example/acs",
		"destination": "https://acme.example/acs", "subjectNameIdTemplate": "${user.userName}",
		"subjectNameIdFormat": "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
		"signatureAlgorithm": "RSA_SHA256", "digestAlgorithm": "SHA256",
		"authnContextClassRef": "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport",
		"attributeStatements": [{"type": "EXPRESSION", "name": "mail", "values": ["user.email"]}], "unheardOf": 1
	}}}`

// Proves C-apps-01, C-apps-04, C-apps-06, C-apps-07, C-apps-08, C-apps-12, C-apps-14, C-apps-15, C-apps-16, C-apps-17, C-apps-22,
// C-apps-23.
func TestCreate_Defaults(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		created := w.Post("/apps", `{"name":"bookmark","label":"Wiki","settings":{"app":{"url":"https://wiki.example/","other":1}}}`).OK()
		var got map[string]any
		created.Into(&got)
		id := created.Text("id")
		require.True(t, strings.HasPrefix(id, "0oa") && len(id) == 20, id)
		links := created.Value("_links", "appLinks").([]any)
		require.Len(t, links, 1)
		link := links[0].(map[string]any)["href"]
		require.Regexp(t, `/home/bookmark/`+id+`/aln[0-9A-Za-z]{17}$`, link)
		base := strings.TrimSuffix(created.Text("_links", "self", "href"), "/"+id)
		for _, volatile := range []string{"id", "created", "lastUpdated"} {
			require.NotEmpty(t, got[volatile])
			delete(got, volatile)
		}
		want := map[string]any{
			"name": "bookmark", "label": "Wiki", "status": "ACTIVE", "signOnMode": "BOOKMARK", "features": []any{},
			"accessibility": map[string]any{"selfService": false, "errorRedirectUrl": nil, "loginRedirectUrl": nil},
			"visibility": map[string]any{
				"autoLaunch": false, "autoSubmitToolbar": false,
				"hide":     map[string]any{"iOS": false, "web": false},
				"appLinks": map[string]any{"login": true},
			},
			"credentials": map[string]any{"userNameTemplate": map[string]any{"template": "${source.login}", "type": "BUILT_IN"}},
			"settings": map[string]any{
				"app": map[string]any{"url": "https://wiki.example/", "requestIntegration": nil},
				"notifications": map[string]any{
					"vpn": map[string]any{"network": map[string]any{"connection": "DISABLED"}, "message": nil, "helpUrl": nil}},
				"notes": map[string]any{"admin": nil, "enduser": nil},
			},
			"_links": map[string]any{
				"self":     map[string]any{"href": base + "/" + id},
				"users":    map[string]any{"href": base + "/" + id + "/users"},
				"groups":   map[string]any{"href": base + "/" + id + "/groups"},
				"appLinks": []any{map[string]any{"name": "login", "href": link, "type": "text/html"}},
				"logo": []any{map[string]any{
					"name": "medium", "href": strings.TrimSuffix(base, "/api/v1/apps") + "/assets/logos/" + id, "type": "image/svg+xml",
				}},
				"help": map[string]any{"href": strings.TrimSuffix(base, "/api/v1/apps") + "/app/bookmark/" + id + "/setup/help",
					"type": "text/html"},
				"uploadLogo": map[string]any{"href": base + "/" + id + "/logo", "hints": map[string]any{"allow": []any{"POST"}}},
				"deactivate": map[string]any{
					"href": base + "/" + id + "/lifecycle/deactivate", "hints": map[string]any{"allow": []any{"POST"}},
				},
			},
		}
		require.Empty(t, cmp.Diff(want, got))
		require.Equal(t, created.Body, w.Get("/apps/"+id).OK().Body, "a read shows the same")
		w.Expect(model.AppChanged{App: id})
	})
}

// Proves C-apps-03, C-apps-11, C-apps-22.
func TestCreate_Accepted(t *testing.T) {
	field := `"url":"https://a.example","usernameField":"u","passwordField":"p"`
	cases := map[string]struct {
		body string
		path []string
		want any
	}{
		"basic authentication": {
			`{"name":"template_basic_auth","label":"x","settings":{"app":{"url":"https://a.example","authURL":"https://b.example"}}}`,
			[]string{"credentials", "scheme"}, "EDIT_USERNAME_AND_PASSWORD",
		},
		"the browser plugin template": {
			`{"name":"template_swa","label":"x","signOnMode":"BROWSER_PLUGIN","settings":{"app":{` + field + `,"buttonField":"b"}}}`,
			[]string{"settings", "app", "loginUrlRegex"}, nil,
		},
		"the three-field template with the alias": {
			`{"name":"template_swa3field","label":"x","settings":{"app":{"targetURL":"https://a.example","userNameSelector":"#u",` +
				`"passwordSelector":"#p","buttonSelector":"#b","extraFieldSelector":"#e","extraFieldValue":"v"}}}`,
			[]string{"settings", "app", "usernameSelector"}, "#u",
		},
		"the secure password store": {
			`{"name":"template_sps","label":"x","settings":{"app":{` + field + `,"optionalField1":"o"}}}`,
			[]string{"settings", "app", "optionalField1"}, "o",
		},
		"org to org":            {`{"name":"svc_org2org","label":"x"}`, []string{"signOnMode"}, "SAML_2_0"},
		"a name of the catalog": {`{"name":"zendesk","label":"x"}`, []string{"credentials", "scheme"}, nil},
		"a name in its second mode": {
			`{"name":"zendesk","label":"x","signOnMode":"BROWSER_PLUGIN"}`, []string{"signOnMode"}, "BROWSER_PLUGIN",
		},
		"an inactive one": {`{"name":"facebook","label":"x"}`, []string{"status"}, "INACTIVE"},
		"a custom web application": {
			`{"label":"Two Words","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`,
			[]string{"name"}, "sandbox_twowords_1",
		},
		"a custom SAML application":         {customSAML, []string{"name"}, "sandbox_acmeco2_1"},
		"with false for its booleans":       {customSAML, []string{"settings", "signOn", "responseSigned"}, false},
		"without unknown members":           {customSAML, []string{"settings", "signOn", "unheardOf"}, nil},
		"with a link derived from its name": {customSAML, []string{"visibility", "appLinks"}, nil},
		"with its own links": {
			`{"name":"facebook","label":"x","visibility":{"appLinks":{"login":false}}}`,
			[]string{"visibility", "appLinks"}, map[string]any{"login": false},
		},
		"a custom user name template": {
			`{"name":"facebook","label":"x","credentials":{"userNameTemplate":{"type":"CUSTOM","template":"${fn:substringBefore(source.login, ` +
				`\"@\")}","pushStatus":"PUSH"}}}`,
			[]string{"credentials", "userNameTemplate", "pushStatus"}, "PUSH",
		},
		"empty strings as absent": {
			`{"name":"facebook","label":"x","accessibility":{"errorRedirectUrl":""},"credentials":{"userName":"","password":{}}}`,
			[]string{"accessibility", "errorRedirectUrl"}, nil,
		},
		"null arrays as empty": {
			`{"name":"zendesk","label":"x","features":null,"settings":{"signOn":{"attributeStatements":null}}}`,
			[]string{"features"}, []any{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, path := apptest.New(t), "/apps"
			if strings.Contains(name, "inactive") {
				path += "?activate=false"
			}
			got := w.Post(path, c.body).OK()
			if name == "with a link derived from its name" {
				require.Equal(t, true, got.Value("visibility", "appLinks", got.Text("name")+"_link"))
				return
			}
			require.Empty(t, cmp.Diff(c.want, got.Value(c.path...)))
		})
	}
}

func TestCreate_NumbersGeneratedNames(t *testing.T) {
	w := apptest.New(t)
	first := w.Post("/apps", `{"label":"N","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`).OK()
	second := w.Post("/apps", `{"label":"n!","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`).OK()
	require.Equal(t, "sandbox_n_1", first.Text("name"))
	require.Equal(t, "sandbox_n_2", second.Text("name"))
}

// Proves C-apps-02, C-apps-03, C-settings-11.
func TestCreate_Rejected(t *testing.T) {
	w := apptest.New(t)
	cases := map[string]struct{ body, clue string }{
		"no label":              {`{"name":"facebook"}`, "label: The field cannot be left blank"},
		"a long label":          {`{"name":"facebook","label":"` + strings.Repeat("x", 101) + `"}`, "label: "},
		"neither name nor mode": {`{"label":"x"}`, "signOnMode: The field cannot be left blank"},
		"an unknown name":       {`{"name":"nosuch","label":"x"}`, "name: The catalog has no application"},
		"an unknown mode":       {`{"label":"x","signOnMode":"WS_FEDERATION"}`, "signOnMode: The value must be one of BOOKMARK"},
		"OpenID Connect without settings": {`{"name":"oidc_client","label":"x","signOnMode":"OPENID_CONNECT"}`,
			"credentials.oauthClient.token_endpoint_auth_method: The field cannot be left blank"},
		"OpenID Connect without name": {`{"label":"x","signOnMode":"OPENID_CONNECT"}`, "name: The field cannot be left blank"},
		"a mode that the entry does not support": {`{"name":"bookmark","label":"x","signOnMode":"SAML_2_0"}`,
			"signOnMode: The value for bookmark must be one of BOOKMARK"},
		"a template without name": {`{"label":"x","signOnMode":"BOOKMARK"}`, "name: The field cannot be left blank"},
		"a missing setting":       {`{"name":"bookmark","label":"x"}`, "settings.app.url: The field cannot be left blank"},
		"a relative URL": {`{"name":"bookmark","label":"x","settings":{"app":{"url":"/x"}}}`,
			"settings.app.url: The value must be an absolute"},
		"an FTP URL": {`{"name":"bookmark","label":"x","settings":{"app":{"url":"ftp://x"}}}`,
			"settings.app.url: The value must be an absolute"},
		"a number as string": {`{"name":"bookmark","label":"x","settings":{"app":{"url":7}}}`,
			"settings.app.url: The value must be a string"},
		"a string as boolean": {
			`{"name":"bookmark","label":"x","settings":{"app":{"url":"https://a.example","requestIntegration":"yes"}}}`,
			"requestIntegration: The value must be true or false"},
		"SAML without settings": {`{"label":"x","signOnMode":"SAML_2_0"}`,
			"settings.signOn.digestAlgorithm: The field cannot be left blank"},
		"two statements of one name": {strings.Replace(customSAML, `"values": ["user.email"]}`, `"values": []}, {"type": "EXPRESSION", `+
			`"name": "mail", "values": []}`, 1), "is used twice"},
		"a statement without values": {strings.Replace(customSAML, `, "values": ["user.email"]`, "", 1),
			"attributeStatements[0].values: The field cannot be left blank"},
		"an unknown hook": {strings.Replace(customSAML, `"unheardOf": 1`, `"inlineHooks": [{"id": "cal1"}]`, 1),
			"settings.signOn.inlineHooks"},
		"a scheme without passwords": {`{"name":"zendesk","label":"x","credentials":{"scheme":"ADMIN_SETS_CREDENTIALS"}}`, "credentials.scheme"},
		"an unknown scheme":          {`{"name":"facebook","label":"x","credentials":{"scheme":"NONE"}}`, "credentials.scheme"},
		"a shared scheme alone": {`{"name":"facebook","label":"x","credentials":{"scheme":"SHARED_USERNAME_AND_PASSWORD"}}`,
			"credentials.userName: The field cannot be left blank"},
		"a shared name alone": {`{"name":"facebook","label":"x","credentials":{"userName":"all"}}`, "credentials: Only the scheme"},
		"an expression with a typo": {`{"name":"facebook","label":"x","credentials":{"userNameTemplate":{"template":"${source.logim}"}}}`,
			"credentials.userNameTemplate.template"},
		"an unsupported function": {
			`{"name":"facebook","label":"x","credentials":{"userNameTemplate":{"template":"${String.lower(source.login)}"}}}`,
			"unknown function String.lower"},
		"an empty custom template": {`{"name":"facebook","label":"x","credentials":{"userNameTemplate":{"type":"CUSTOM"}}}`,
			"credentials.userNameTemplate.template: The field cannot be left blank"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w.Post("/apps", c.body).Fails(400, "E0000001", c.clue)
		})
	}
	t.Run("several errors, one cause each", func(t *testing.T) {
		w.Post("/apps", `{"name":"template_sps","settings":{"app":{"url":"x"}}}`).
			Fails(400, "E0000001", "label: ", "settings.app.url: ", "settings.app.usernameField: ", "settings.app.passwordField: ")
	})
	require.Empty(t, w.Get("/apps").IDs(), "nothing was created")
}

// TestSharedPassword_StoredAndHidden verifies that a replacement without the shared password keeps it and that no response contains it.
func TestSharedPassword_StoredAndHidden(t *testing.T) {
	w := apptest.New(t)
	body := `{"name":"facebook","label":"x","credentials":{"scheme":"SHARED_USERNAME_AND_PASSWORD","userName":"all",` +
		`"password":{"value":"Open-Sesame"}}}`
	app := w.Post("/apps", body).OK()
	require.Empty(t, cmp.Diff(map[string]any{}, app.Value("credentials", "password")))
	path := "/apps/" + app.Text("id")
	// Send the application back as it was read, without the password.
	again := w.Put(path, string(app.Body)).OK()
	require.Empty(t, cmp.Diff(map[string]any{}, again.Value("credentials", "password")))
	doc, err := w.Model.Apps.Get(t.Context(), w.Store.Reader(), app.Text("id"))
	require.NoError(t, err)
	require.NotEmpty(t, doc.Value.Credentials.SealedPassword)
	require.NotContains(t, fmt.Sprintf("%+v", doc.Value), "Open-Sesame")
	require.NotContains(t, w.Answered(), "Open-Sesame")
}

func TestReplace_KeepsReadOnlyMembers(t *testing.T) {
	w := apptest.New(t)
	app := w.Post("/apps", customSAML).OK()
	path := "/apps/" + app.Text("id")
	w.Events()

	body := strings.Replace(string(app.Body), `"label":"Acme \u0026 Co. 2"`, `"label":"Renamed"`, 1)
	body = strings.Replace(body, `Acme & Co. 2`, `Renamed`, 1)
	body = strings.Replace(body, `"status":"ACTIVE"`, `"status":"INACTIVE"`, 1)
	body = strings.Replace(body, `"name":"sandbox_acmeco2_1"`, `"name":"other"`, 1)
	got := w.Put(path, body).OK()
	require.Equal(t, "Renamed", got.Text("label"))
	require.Equal(t, "ACTIVE", got.Text("status"), "the status is read-only")
	require.Equal(t, app.Text("name"), got.Text("name"), "the name is read-only")
	require.Empty(t, cmp.Diff(app.Value("settings"), got.Value("settings")))
	require.Empty(t, cmp.Diff(app.Value("visibility"), got.Value("visibility")))
	w.Expect(model.AppChanged{App: app.Text("id")})

	w.Put(path, `{"label":"x","signOnMode":"AUTO_LOGIN"}`).Fails(400, "E0000001", "signOnMode: The sign-on mode cannot be changed")
	w.Put(path, `{"label":"x"}`).Fails(400, "E0000001", "settings.signOn.ssoAcsUrl")
	w.Put("/apps/0oanosuch", `{}`).Fails(404, "E0000007", "0oanosuch (AppInstance)")
	require.Equal(t, "Renamed", w.Get(path).OK().Text("label"))
}

// Proves C-apps-05, C-apps-20, C-apps-21.
func TestApp_Lifecycle(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		id := w.Bookmark("Wiki")
		path := "/apps/" + id
		w.Delete(path).Fails(403, "E0000056", "Deactivate the application")

		require.JSONEq(t, `{}`, string(w.Post(path+"/lifecycle/deactivate", nil).OK().Body))
		inactive := w.Get(path).OK()
		require.Equal(t, "INACTIVE", inactive.Text("status"))
		require.NotEmpty(t, inactive.Text("_links", "activate", "href"))
		require.Nil(t, inactive.Value("_links", "deactivate"))

		w.Events()
		w.Post(path+"/lifecycle/deactivate", nil).OK()
		require.Empty(t, w.Events(), "the same status again changes nothing")

		w.Post(path+"/lifecycle/activate", nil).OK()
		w.Expect(model.AppChanged{App: id})
		w.Post(path+"/lifecycle/deactivate", nil).OK()
		w.Delete(path).OK(204)
		w.Expect(model.AppChanged{App: id, Deleted: true})

		w.Get(path).Fails(404, "E0000007", id+" (AppInstance)")
		w.Delete(path).Fails(404, "E0000007")
		w.Post(path+"/lifecycle/activate", nil).Fails(404, "E0000007")
		w.Post(path+"/lifecycle/deactivate", nil).Fails(404, "E0000007")
	})
}

// Proves C-api-03, C-apps-24, C-apps-25, C-apps-27, C-apps-30, C-apps-31, C-apps-32, C-apps-34, C-apps-35.
func TestListsOfApplications(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		var ids []string
		for i := range 5 {
			ids = append(ids, w.Bookmark(fmt.Sprintf("Wiki %d", i)))
		}
		scim := w.SCIMApp("Áccents")
		w.Post("/apps/"+ids[1]+"/lifecycle/deactivate", nil).OK()
		user := w.User("ada")
		group := w.Group("staff", user)
		w.Assign(ids[2], user)
		w.Put("/apps/"+ids[4]+"/groups/"+group, nil).OK()

		require.Equal(t, append(ids[:5:5], scim), w.Get("/apps").IDs())
		var paged []string
		for path := "/apps?limit=2"; path != ""; {
			page := w.Get(path)
			paged = append(paged, page.IDs()...)
			path = page.Next()
		}
		require.Equal(t, append(ids[:5:5], scim), paged)

		cases := map[string]struct {
			query string
			want  []string
		}{
			"label prefix in any case":       {"q=wIKI", ids},
			"label prefix with an accent":    {"q=%C3%A1cc", []string{scim}},
			"name prefix":                    {"q=SCIM2_test", []string{scim}},
			"status, unquoted":               {"filter=status+eq+INACTIVE", ids[1:2]},
			"status, quoted":                 {"filter=status+eq+%22INACTIVE%22", ids[1:2]},
			"operator in capitals":           {"filter=status+EQ+INACTIVE", ids[1:2]},
			"name":                           {"filter=name+eq+scim2_test_app", []string{scim}},
			"user, direct and through group": {"filter=user.id+eq+" + user, []string{ids[2], ids[4]}},
			"user, quoted":                   {"filter=user.id+eq+%22" + user + "%22", []string{ids[2], ids[4]}},
			"group":                          {"filter=group.id+eq+" + group, ids[4:]},
			"unknown user":                   {"filter=user.id+eq+00unosuch", []string{}},
			"signing key":                    {"filter=credentials.signing.kid+eq+SIMcCQNY3uwXoW3y0vf6VxiBb5n9pf8L2fK8d-FIbm4", []string{}},
			"a limit above the maximum":      {"q=wiki&limit=100000", ids},
			"empty parameters":               {"q=&filter=&limit=&after=", append(ids[:5:5], scim)},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) { require.Equal(t, c.want, w.Get("/apps?"+c.query).IDs()) })
		}
		refused := map[string]struct{ query, code string }{
			"q with filter":                {"q=a&filter=status+eq+ACTIVE", "E0000033"},
			"an unknown attribute":         {"filter=label+eq+x", "E0000031"},
			"another case":                 {"filter=Status+eq+ACTIVE", "E0000031"},
			"another operator":             {"filter=name+sw+x", "E0000031"},
			"two expressions":              {"filter=status+eq+ACTIVE+and+name+eq+x", "E0000031"},
			"an unknown status":            {"filter=status+eq+GONE", "E0000031"},
			"a number":                     {"filter=name+eq+7", "E0000031"},
			"nonsense":                     {"filter=%28%28", "E0000031"},
			"a bad cursor":                 {"after=xyz", "E0000029"},
			"a limit that is not a number": {"limit=many", "E0000001"},
			"a limit of zero":              {"limit=0", "E0000001"},
		}
		for name, c := range refused {
			t.Run(name, func(t *testing.T) { w.Get("/apps?"+c.query).Fails(400, c.code) })
		}
	})
}

func TestListsOfGroupApps(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		first, second, group := w.SCIMApp("First"), w.Bookmark("Second"), w.Group("G")
		path := "/groups/" + group + "/apps"
		require.Empty(t, w.Get(path).IDs())
		w.Put("/apps/"+second+"/groups/"+group, nil).OK()
		w.Put("/apps/"+first+"/groups/"+group, nil).OK()
		w.Connect(first, apptest.All)
		require.Equal(t, []string{second, first}, w.Get(path).IDs())
		page := w.Get(path + "?limit=1")
		require.Equal(t, []string{second}, page.IDs())
		w.Delete("/apps/" + second + "/groups/" + group).OK(204)
		page = w.Get(page.Next())
		require.Equal(t, []string{first}, page.IDs(), "a cursor stays valid after its application is deleted")
		require.Contains(t, string(page.Body), "PUSH_NEW_USERS")
		require.Empty(t, page.Next())
		w.Get(path+"?after=%21").Fails(400, "E0000029")
		w.Get("/groups/nowhere/apps").Fails(404, "E0000007")
	})
}
