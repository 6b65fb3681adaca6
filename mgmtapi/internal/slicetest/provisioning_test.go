package slicetest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/connections"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestConnection_Lifecycle(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		path := "/apps/" + app + "/connections/default"
		w.Events()

		never := w.Get(path).OK()
		base := never.Text("_links", "self", "href")
		want := map[string]any{
			"authScheme": "TOKEN", "status": "DISABLED", "profile": map[string]any{"authScheme": "TOKEN"},
			"_links": map[string]any{
				"self":     map[string]any{"href": base, "hints": map[string]any{"allow": []any{"POST", "GET"}}},
				"activate": map[string]any{"href": base + "/lifecycle/activate", "hints": map[string]any{"allow": []any{"POST"}}},
			},
		}
		require.Empty(t, cmp.Diff(want, never.Value()))
		w.Post(path+"/lifecycle/activate", nil).Fails(400, "E0000001", "no credentials")
		w.Post(path+"/lifecycle/deactivate", nil).OK(204)
		require.Empty(t, w.Tester.Asked())

		set := w.Post(path, `{"baseUrl":"https://scim.example.com/v2/","profile":{"authScheme":"TOKEN","token":"`+apptest.Secret+`"}}`).OK()
		require.Equal(t, "DISABLED", set.Text("status"))
		require.Equal(t, "https://scim.example.com/v2", set.Text("baseUrl"))
		require.Empty(t, w.Tester.Asked(), "without activation the connection is not tested")
		w.Expect(model.AppChanged{App: app})

		w.Tester.Fail(errors.New("401 for Bearer " + apptest.Secret))
		w.Post(path+"/lifecycle/activate", nil).Fails(400, "E0000059", "401 for Bearer [redacted]")
		require.Equal(t, "DISABLED", w.Get(path).OK().Text("status"))

		w.Tester.Fail(nil)
		w.Post(path+"/lifecycle/activate", nil).OK(204)
		active := w.Get(path).OK()
		require.Equal(t, "ENABLED", active.Text("status"))
		require.Nil(t, active.Value("_links", "activate"))
		require.NotEmpty(t, active.Text("_links", "deactivate", "href"))
		w.Expect(model.AppChanged{App: app})
		asked := w.Tester.Asked()
		require.Equal(t, connections.Endpoint{
			App: app, BaseURL: "https://scim.example.com/v2", Header: model.HeaderBearer, Token: apptest.Secret,
		}, asked[len(asked)-1])

		w.Tester.Fail(errors.New("not a list response"))
		w.Post(path+"?activate=true", `{"baseUrl":"https://scim.example.com/v3"}`).Fails(400, "E0000059")
		require.Equal(t, "https://scim.example.com/v2", w.Get(path).OK().Text("baseUrl"), "the connection is unchanged")
		w.Tester.Fail(nil)
		w.Post(path+"?activate=TRUE", `{"baseUrl":"https://scim.example.com/v3"}`).OK()
		asked = w.Tester.Asked()
		require.Equal(t, apptest.Secret, asked[len(asked)-1].Token, "an omitted token remains")

		w.Post(path+"/lifecycle/deactivate", nil).OK(204)
		require.Equal(t, "DISABLED", w.Get(path).OK().Text("status"))
		w.Expect(model.AppChanged{App: app, Ended: true})
		w.Post(path+"/lifecycle/deactivate", nil).OK(204)
		require.Empty(t, w.Events(), "the connection is already inactive")
	})
}

// TestConnection_DeactivationKeepsPendingWork checks that pending deactivations and pushed groups survive the deactivation of a connection.
func TestConnection_DeactivationKeepsPendingWork(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		ann, bob, cid := w.User("ann"), w.User("bob"), w.User("cid")
		app, group, _ := pushed(w, ann, bob, cid)
		path := "/apps/" + app + "/connections/default/lifecycle/"
		for _, user := range []string{ann, bob, cid} {
			require.NoError(t,
				w.Desired.ReportUser(t.Context(), app, user, desired.Result{Want: desired.Active, Outcome: desired.Done, RemoteID: "r-" + user}))
		}
		w.Delete("/apps/" + app + "/users/" + ann).OK()
		w.Events()
		w.Post(path+"deactivate", nil).OK(204)
		w.Expect(model.AppChanged{App: app, Ended: true}, model.AppUserChanged{App: app, User: ann, Provision: true})

		w.Post("/users/"+bob+"/lifecycle/deactivate", nil).OK()
		target, err := w.Desired.Target(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, []bool{true, true}, []bool{target.Paused, target.DeactivateUsers},
			"the check for overdue deactivations needs DeactivateUsers of paused targets")
		for user, want := range map[string]desired.Want{ann: desired.Inactive, bob: desired.Inactive, cid: desired.Active} {
			got, err := w.Desired.User(t.Context(), app, user)
			require.NoError(t, err)
			require.Equal(t, want, got.Want)
		}
		w.Events()
		w.Post(path+"activate", nil).OK(204)
		w.Expect(model.AppChanged{App: app}, model.PushMappingChanged{App: app, Group: group, AllMembers: true})
	})
}

// TestConnection_TokenEncryptedAtRest checks that no response, event or stored document contains the token in plaintext.
func TestConnection_TokenEncryptedAtRest(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		w.Connect(app, apptest.All)
		path := "/apps/" + app
		w.Get(path + "/connections/default").OK()
		w.Get(path + "/features").OK()
		w.Get(path).OK()
		require.NotContains(t, w.Answered(), apptest.Secret)

		var stored int
		rows, err := w.Store.Reader().Query(t.Context(), "SELECT doc FROM connections")
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var doc string
			require.NoError(t, rows.Scan(&doc))
			require.NotContains(t, doc, apptest.Secret)
			require.Contains(t, doc, "sealedToken")
			stored++
		}
		require.NoError(t, rows.Err())
		require.Equal(t, 1, stored)
		for _, e := range w.Events() {
			require.NotContains(t, e.Data, apptest.Secret)
		}
		target, err := w.Desired.Target(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, apptest.Secret, target.Token, "the engine receives the token in plaintext")
	})
}

func TestConnection_ShortTokenKeepsErrorText(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	w.Tester.Fail(errors.New("the server rejects the request: Bearer e is unknown"))
	w.Post("/apps/"+app+"/connections/default?activate=true", `{"baseUrl":"https://scim.example.com","profile":{"token":"e"}}`).
		Fails(400, "E0000059", "the server rejects the request: Bearer [redacted] is unknown")
}

func TestConnection_RejectsBadInput(t *testing.T) {
	w := apptest.New(t)
	path := "/apps/" + w.SCIMApp("HR") + "/connections/default"
	body := func(url string) string {
		return `{"baseUrl":"` + url + `","profile":{"authScheme":"TOKEN","token":"x"}}`
	}
	oauth := func(more string) string {
		return `{"baseUrl":"https://a.example","profile":{"authScheme":"OAUTH2"` + more + `}}`
	}
	cases := map[string]struct{ body, clue string }{
		"nothing at all":                {`{}`, "baseUrl: The field cannot be left blank"},
		"no token":                      {`{"baseUrl":"https://a.example"}`, "profile.token: The field cannot be left blank"},
		"a relative URL":                {body("/scim/v2"), "baseUrl: The value must be an absolute URL"},
		"no scheme":                     {body("a.example/scim"), "baseUrl: The value must be an absolute URL"},
		"another scheme":                {body("file:///etc/passwd"), "baseUrl: The value must be an absolute URL"},
		"no host":                       {body("https:///scim"), "baseUrl: The URL must name a host"},
		"an opaque URL":                 {body("https:scim"), "baseUrl: The URL must name a host"},
		"credentials in the URL":        {body("https://u:p@a.example"), "baseUrl: The URL must not contain credentials"},
		"a query":                       {body("https://a.example/?x=1"), "baseUrl: The URL must not have a query"},
		"an empty query":                {body("https://a.example/?"), "baseUrl: The URL must not have a query"},
		"a fragment":                    {body("https://a.example/#x"), "baseUrl: The URL must not have a fragment"},
		"an empty fragment":             {body("https://a.example/#"), "baseUrl: The URL must not have a fragment"},
		"a URL with a bad escape":       {body("https://a.example/%zz"), "baseUrl: The value is not a URL"},
		"another authentication scheme": {`{"baseUrl":"https://a.example","profile":{"authScheme":"SAML"}}`, "profile.authScheme"},
		"no client":                     {oauth(``), "profile.clientId: The field cannot be left blank"},
		"no client secret": {oauth(`,"clientId":"c","tokenUrl":"https://i.example/token"`),
			"profile.clientSecret: The field cannot be left blank"},
		"no token endpoint": {oauth(`,"clientId":"c","clientSecret":"s"`), "profile.tokenUrl: The field cannot be left blank"},
		"a relative token endpoint": {oauth(`,"clientId":"c","clientSecret":"s","tokenUrl":"/token"`),
			"profile.tokenUrl: The value must be an absolute URL"},
		"a token for a client": {oauth(`,"clientId":"c","clientSecret":"s","tokenUrl":"https://i.example/token","token":"x"`),
			"profile.token: The member belongs to the authScheme TOKEN"},
		"a client for a token": {`{"baseUrl":"https://a.example","profile":{"token":"x","clientId":"c"}}`,
			"profile.clientId: The member belongs to the authScheme OAUTH2"},
		"another header format": {`{"baseUrl":"https://a.example","profile":{"token":"x","headerFormat":"DIGEST"}}`, "profile.headerFormat"},
		"basic without a colon": {`{"baseUrl":"https://a.example","profile":{"token":"x","headerFormat":"BASIC"}}`,
			"profile.token: The token for BASIC"},
		"a header injection": {`{"baseUrl":"https://a.example","profile":{"token":"x\r\nX-Evil: 1"}}`,
			"profile.token: The value contains a control character"},
		"an unknown style":    {`{"baseUrl":"https://a.example","profile":{"token":"x","updateStyle":"PUT"}}`, "profile.updateStyle"},
		"an unknown fallback": {`{"baseUrl":"https://a.example","profile":{"token":"x","fallback":"MAYBE"}}`, "profile.fallback"},
		"a lookup attribute that is an expression": {`{"baseUrl":"https://a.example","profile":{"token":"x","userNameAttribute":"a eq b"}}`,
			"profile.userNameAttribute"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { w.Post(path, c.body).Fails(400, "E0000001", c.clue) })
	}
	w.Post("/apps/0oanosuch/connections/default", `{}`).Fails(404, "E0000007", "AppInstance")
	w.Get("/apps/0oanosuch/connections/default").Fails(404, "E0000007")
	require.Equal(t, "", w.Get(path).OK().Text("baseUrl"))
}

func TestConnection_OAuthClient(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		path := "/apps/" + app + "/connections/default"
		w.Post(path, `{"baseUrl":"https://a.example","profile":{"token":"first"}}`).OK()
		w.Post(path, `{"profile":{"authScheme":"OAUTH2","clientId":"me","tokenUrl":"https://i.example/token?x=1"}}`).
			// the stored token is not used as the client secret
			Fails(400, "E0000001", "profile.clientSecret: The field cannot be left blank")
		got := w.Post(path,
			`{"profile":{"authScheme":"OAUTH2","clientId":"me","clientSecret":"`+apptest.Secret+
				`","tokenUrl":"https://i.example/token?x=1","scope":"scim"}}`).OK()
		want := map[string]any{"authScheme": "OAUTH2", "clientId": "me", "tokenUrl": "https://i.example/token?x=1", "scope": "scim",
			"updateStyle": "CATALOG", "fallback": "NONE"}
		require.Empty(t, cmp.Diff(want, got.Value("profile")))
		require.Equal(t, "OAUTH2", got.Text("authScheme"))

		w.Post(path+"?activate=true", `{"profile":{"scope":"scim write"}}`).OK()
		client := &model.ConnectionOAuth{ClientID: "me", TokenURL: "https://i.example/token?x=1", Scope: "scim write"}
		asked := w.Tester.Asked()
		require.Equal(t,
			connections.Endpoint{App: app, BaseURL: "https://a.example", Header: model.HeaderBearer, Token: apptest.Secret, OAuth: client},
			asked[len(asked)-1])
		target, err := w.Desired.Target(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, client, target.OAuth)
		require.Equal(t, apptest.Secret, target.Token)
		require.NotContains(t, w.Answered(), apptest.Secret)

		// The stored client secret is not used as the token.
		w.Post(path, `{"profile":{"authScheme":"TOKEN"}}`).Fails(400, "E0000001", "profile.token: The field cannot be left blank")
		require.Equal(t, "TOKEN", w.Post(path, `{"profile":{"authScheme":"TOKEN","token":"x"}}`).OK().Text("authScheme"))
		target, err = w.Desired.Target(t.Context(), app)
		require.NoError(t, err)
		require.Nil(t, target.OAuth)
		require.Equal(t, "x", target.Token)
	})
}

// TestConnection_OmitsDefaultExtensions checks that a connection shows headerFormat and userNameAttribute only if they differ from the
// default.
func TestConnection_OmitsDefaultExtensions(t *testing.T) {
	w := apptest.New(t)
	path := "/apps/" + w.SCIMApp("HR") + "/connections/default"
	got := w.Post(path,
		`{"baseUrl":"http://127.0.0.1:8080/scim","profile":{"authScheme":"TOKEN","token":"u:p","headerFormat":"BASIC",`+
			`"userNameAttribute":"emails.value"}}`).OK()
	require.Equal(t, "BASIC", got.Text("profile", "headerFormat"))
	require.Equal(t, "emails.value", got.Text("profile", "userNameAttribute"))
	got = w.Post(path, `{"profile":{"headerFormat":"BEARER","userNameAttribute":"userName"}}`).OK()
	require.Nil(t, got.Value("profile", "headerFormat"))
	require.Nil(t, got.Value("profile", "userNameAttribute"))
}

func TestConnection_UpdateStyle(t *testing.T) {
	w := apptest.New(t)
	custom := w.Post("/apps", `{"label":"x","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`).OK().Text("id")
	for app, derived := range map[string]model.UpdateStyle{w.SCIMApp("HR"): model.StyleCatalog, custom: model.StyleWizard} {
		path := "/apps/" + app + "/connections/default"
		check := func(want model.UpdateStyle, got *apptest.Answer) {
			t.Helper()
			require.Equal(t, string(want), got.OK().Text("profile", "updateStyle"))
			require.Equal(t, string(want), w.Get(path).OK().Text("profile", "updateStyle"))
			target, err := w.Desired.Target(t.Context(), app)
			require.NoError(t, err)
			require.Equal(t, want, target.Style)
		}
		check(derived, w.Post(path, `{"baseUrl":"http://127.0.0.1:8080/scim","profile":{"token":"x"}}`))
		for _, style := range []model.UpdateStyle{model.StyleCatalog, model.StyleWizard, model.StyleAuto} {
			check(style, w.Post(path, `{"profile":{"updateStyle":"`+string(style)+`"}}`))
		}
		check(model.StyleAuto, w.Post(path, `{"profile":{"fallback":"LEARN"}}`))
	}
}

func TestConnection_Fallback(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	path := "/apps/" + app + "/connections/default"
	target := func() model.Fallback {
		got, err := w.Desired.Target(t.Context(), app)
		require.NoError(t, err)
		return got.Fallback
	}
	require.Equal(t, "NONE", w.Post(path, `{"baseUrl":"http://127.0.0.1:8080/scim","profile":{"token":"x"}}`).OK().Text("profile", "fallback"))
	require.Equal(t, model.FallbackNone, target())
	require.Equal(t, "LEARN", w.Post(path, `{"profile":{"fallback":"LEARN"}}`).OK().Text("profile", "fallback"))
	require.Equal(t, model.FallbackLearn, target())
	require.Equal(t, "LEARN", w.Post(path, `{"profile":{"headerFormat":"RAW"}}`).OK().Text("profile", "fallback"), "an omitted member remains")
	require.Equal(t, "NONE", w.Post(path, `{"profile":{"fallback":"NONE"}}`).OK().Text("profile", "fallback"))
	require.Equal(t, model.FallbackNone, target())
}

func TestConnection_UnsupportedApplications(t *testing.T) {
	w := apptest.New(t)
	basic := w.Post("/apps",
		`{"name":"template_basic_auth","label":"x","settings":{"app":{"url":"https://a.example","authURL":"https://b.example"}}}`).OK().Text("id")
	for _, app := range []string{w.Bookmark("Wiki"), basic} {
		path := "/apps/" + app + "/connections/default"
		want := map[string]any{"authScheme": "UNKNOWN", "status": "UNKNOWN", "profile": map[string]any{"authScheme": "UNKNOWN"}}
		require.Empty(t, cmp.Diff(want, w.Get(path).OK().Value()))
		w.Post(path, `{"baseUrl":"https://a.example","profile":{"token":"x"}}`).Fails(400, "E0000024")
		w.Post(path+"/lifecycle/activate", nil).Fails(400, "E0000024")
		w.Post(path+"/lifecycle/deactivate", nil).Fails(400, "E0000024")
	}
}

func TestFeatures(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		path := "/apps/" + app + "/features"
		off := map[string]any{"status": "DISABLED"}
		on := map[string]any{"status": "ENABLED"}
		for _, answer := range []*apptest.Answer{w.Get(path), w.Get(path + "/USER_PROVISIONING"), w.Put(path+"/GROUP_PUSH", `{}`)} {
			answer.Fails(400, "E0000001", "feature: Provisioning is not enabled")
		}
		w.Get(path+"/NO_SUCH").Fails(404, "E0000007", "NO_SUCH (Feature)")

		w.Connect(app, "")
		var list []map[string]any
		w.Get(path).OK().Into(&list)
		require.Len(t, list, 3)
		require.Equal(t, "USER_PROVISIONING", list[0]["name"])
		require.Equal(t, "INBOUND_PROVISIONING", list[1]["name"])
		require.Equal(t, "GROUP_PUSH", list[2]["name"])
		require.Empty(t, cmp.Diff(map[string]any{
			"create": map[string]any{"lifecycleCreate": off},
			"update": map[string]any{
				"profile": off, "lifecycleDeactivate": off,
				"password": map[string]any{"status": "DISABLED", "seed": "RANDOM", "change": "KEEP_EXISTING"},
			},
		}, list[0]["capabilities"]))
		require.Empty(t, cmp.Diff(map[string]any{"push": on}, list[2]["capabilities"]))
		require.Equal(t, []any{"GROUP_PUSH"}, w.Get("/apps/"+app).OK().Value("features"))

		w.Events()
		w.Put(path+"/USER_PROVISIONING", `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`).OK()
		w.Expect(model.AppChanged{App: app})
		got := w.Put(path+"/USER_PROVISIONING", `{"update":{"lifecycleDeactivate":{"status":"ENABLED"},"password":{"seed":"SVC"}}}`).OK()
		require.Empty(t, cmp.Diff(map[string]any{
			"create": map[string]any{"lifecycleCreate": on},
			"update": map[string]any{
				"profile": off, "lifecycleDeactivate": on,
				"password": map[string]any{"status": "DISABLED", "seed": "SVC", "change": "KEEP_EXISTING"},
			},
		}, got.Value("capabilities")), "only the sent members change")
		require.Equal(t, got.Body, w.Get(path+"/USER_PROVISIONING").OK().Body)
		require.Equal(t, []any{"PUSH_NEW_USERS", "PUSH_USER_DEACTIVATION", "REACTIVATE_USERS", "GROUP_PUSH"},
			w.Get("/apps/"+app).OK().Value("features"))
		var apps []map[string]any
		w.Get("/apps").OK().Into(&apps)
		require.Len(t, apps[0]["features"], 4, "lists also show the features")

		got = w.Put(path+"/USER_PROVISIONING", `{"update":{"password":{"status":"ENABLED","change":"CHANGE"}}}`).OK()
		require.Equal(t, map[string]any{"status": "ENABLED", "seed": "SVC", "change": "CHANGE"}, got.Value("capabilities", "update", "password"))
		require.Contains(t, w.Get("/apps/"+app).OK().Value("features"), "PUSH_PASSWORD_UPDATES")
		w.Put(path+"/USER_PROVISIONING", `{"update":{"password":{"status":"ENABLED","seed":"OTHER"}}}`).Fails(400, "E0000001",
			"update.password.seed")
		w.Put(path+"/USER_PROVISIONING", `{"update":{"password":{"status":"DISABLED"}}}`).OK()
		w.Put(path+"/USER_PROVISIONING", `{"create":{"lifecycleCreate":{"status":"MAYBE"}}}`).Fails(400, "E0000001",
			"create.lifecycleCreate.status")
		w.Post("/apps/"+app+"/connections/default/lifecycle/deactivate", nil).OK(204)
		require.Equal(t, []any{}, w.Get("/apps/"+app).OK().Value("features"))
		w.Get(path).OK().Into(&list)
		require.Equal(t, "DISABLED", list[0]["status"])
		require.Equal(t, "DISABLED", w.Get(path+"/GROUP_PUSH").OK().Text("status"))
		w.Put(path+"/GROUP_PUSH", `{"push":{"status":"DISABLED"}}`).Fails(400, "E0000001", "feature: Provisioning is not enabled")
		w.Post("/apps/"+app+"/connections/default/lifecycle/activate", nil).OK(204)
		require.Equal(t, "ENABLED", w.Get(path+"/GROUP_PUSH").OK().Text("status"))
		require.Len(t, w.Get("/apps/"+app).OK().Value("features"), 4, "the options remain after a deactivation")
	})
}

func TestFeatures_ImportSettings(t *testing.T) {
	w := apptest.New(t)
	app := w.SCIMApp("HR")
	path := "/apps/" + app + "/features/INBOUND_PROVISIONING"
	w.Get(path).Fails(400, "E0000001", "feature: Provisioning is not enabled")
	w.Connect(app, "")
	rules := func(exact string, on bool) map[string]any {
		return map[string]any{"userCreateAndMatch": map[string]any{
			"exactMatchCriteria": exact, "allowPartialMatch": true, "autoConfirmPartialMatch": false,
			"autoConfirmExactMatch": on, "autoConfirmNewUsers": false, "autoActivateNewUsers": false,
		}}
	}
	settings := func(username map[string]any) map[string]any {
		return map[string]any{"username": username, "schedule": map[string]any{"status": "DISABLED"}}
	}
	require.Empty(t,
		cmp.Diff(map[string]any{"importRules": rules("USERNAME", false), "importSettings": settings(map[string]any{"userNameFormat": "LOGIN"})},
			w.Get(path).OK().Value("capabilities")))
	require.NotContains(t, w.Get("/apps/"+app).OK().Value("features"), "IMPORT_NEW_USERS")

	login := func() any {
		var mappings []struct{ ID string }
		w.Get("/mappings?sourceId=" + app).OK().Into(&mappings)
		return w.Get("/mappings/"+mappings[0].ID).OK().Value("properties", "login", "expression")
	}
	require.Equal(t, "appuser.userName", login())
	got := w.Put(path,
		`{"importRules":{"userCreateAndMatch":{"exactMatchCriteria":"EMAIL","autoConfirmExactMatch":true}},`+
			`"importSettings":{"username":{"userNameFormat":"EMAIL"}}}`).OK()
	require.Empty(t,
		cmp.Diff(map[string]any{"importRules": rules("EMAIL", true), "importSettings": settings(map[string]any{"userNameFormat": "EMAIL"})},
			got.Value("capabilities")))
	require.Equal(t, got.Body, w.Get(path).OK().Body)
	require.Equal(t, []any{"GROUP_PUSH", "IMPORT_NEW_USERS", "IMPORT_PROFILE_UPDATES"}, w.Get("/apps/"+app).OK().Value("features"))
	require.Equal(t, "appuser.email", login(), "the mapping is updated")
	w.Put(path, `{"importSettings":{"username":{"userNameFormat":"CUSTOM","userNameExpression":"appuser.userName + \"@corp.example\""}}}`).OK()
	require.Equal(t, `appuser.userName + "@corp.example"`, login())

	const expression = "importSettings.username.userNameExpression"
	w.Put(path, `{"importSettings":{"username":{"userNameExpression":""}}}`).Fails(400, "E0000001", expression)
	w.Put(path, `{"importSettings":{"username":{"userNameExpression":"appuser.nothing"}}}`).Fails(400, "E0000001", expression)
	w.Put(path, `{"importSettings":{"username":{"userNameFormat":"OTHER"}}}`).Fails(400, "E0000001", "userNameFormat")
	w.Put(path, `{"importRules":{"userCreateAndMatch":{"exactMatchCriteria":"NAME"}}}`).Fails(400, "E0000001", "exactMatchCriteria")
	require.Equal(t, `appuser.userName + "@corp.example"`, login(), "a rejected request changes nothing")
	w.Post("/apps/"+app+"/connections/default", `{"baseUrl":"https://scim.example.com/v3"}`).OK()
	require.Equal(t, `appuser.userName + "@corp.example"`, login(), "another base URL does not change the settings")
}

func TestFeatures_ImportSchedule(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		w.Connect(app, "")
		path := "/apps/" + app + "/features/INBOUND_PROVISIONING"
		put := func(schedule string) *apptest.Answer {
			return w.Put(path, `{"importSettings":{"schedule":`+schedule+`}}`)
		}
		shown := func(a *apptest.Answer) any { return a.OK().Value("capabilities", "importSettings", "schedule") }
		due := func() time.Time {
			doc, err := model.Optional(t.Context(), w.Store.Reader(), w.Model.DueImports, app)
			require.NoError(t, err)
			if doc == nil {
				return time.Time{}
			}
			return doc.Value.Due
		}
		for name, c := range map[string]struct{ schedule, cause string }{
			"no time":           {`{"status":"ENABLED"}`, "status: An enabled schedule requires an expression"},
			"an unknown status": {`{"status":"ON"}`, "status"},
			"four fields": {`{"fullImport":{"expression":"0 3 * *"}}`,
				"fullImport.expression: The value must be a UNIX cron expression: it has 5 fields"},
			"six fields":                    {`{"fullImport":{"expression":"0 0 3 * * *"}}`, "fullImport.expression"},
			"a word":                        {`{"fullImport":{"expression":"@daily"}}`, "fullImport.expression"},
			"a time zone before the fields": {`{"fullImport":{"expression":"TZ=UTC 0 3 * *"}}`, "fullImport.expression"},
			"a time zone after tabs":        {`{"fullImport":{"expression":"TZ=UTC\t0\t3\t*\t*"}}`, "fullImport.expression"},
			"an invalid hour":               {`{"incrementalImport":{"expression":"0 24 * * *"}}`, "incrementalImport.expression"},
			"an invalid day": {`{"incrementalImport":{"expression":"0 0 31 2 *"}}`,
				"incrementalImport.expression: The value must be a UNIX cron expression: there is no such day"},
			"an unknown time zone": {`{"fullImport":{"expression":"0 3 * * *","timezone":"Mars/Olympus"}}`,
				"fullImport.timezone: The value must be the name of an IANA time zone"},
			"the local time zone": {`{"fullImport":{"expression":"0 3 * * *","timezone":"Local"}}`, "fullImport.timezone"},
		} {
			put(c.schedule).Fails(400, "E0000001", "importSettings.schedule."+c.cause)
			require.Equal(t, map[string]any{"status": "DISABLED"}, shown(w.Get(path)), name)
		}
		utc := map[string]any{"expression": "30 3 * * *", "timezone": "UTC"}
		require.Equal(t, map[string]any{"status": "DISABLED", "fullImport": utc}, shown(put(`{"fullImport":{"expression":"30 3 * * *"}}`)))
		require.Zero(t, due(), "the schedule is disabled")
		require.Equal(t, map[string]any{"status": "ENABLED", "fullImport": utc}, shown(put(`{"status":"ENABLED"}`)))
		first := due()
		require.True(t, first.After(w.Now()) && !first.After(w.Now().Add(24*time.Hour)), first)
		require.Equal(t, "03:30", first.UTC().Format("15:04"))

		got := shown(put(`{"incrementalImport":{"expression":"0 9 * * MON-FRI","timezone":"Europe/Berlin"},"fullImport":{"expression":""}}`))
		require.Equal(t,
			map[string]any{"status": "ENABLED", "incrementalImport": map[string]any{"expression": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"}},
			got)
		require.Equal(t, got, shown(w.Get(path)))
		berlin, err := time.LoadLocation("Europe/Berlin")
		require.NoError(t, err)
		require.Equal(t, "09:00", due().In(berlin).Format("15:04"))
		before := due()
		w.Put(path, `{"importRules":{"userCreateAndMatch":{"autoConfirmNewUsers":true}}}`).OK()
		require.Equal(t, before, due())
		put(`{"incrementalImport":{"expression":""}}`).Fails(400, "E0000001", "importSettings.schedule.status")
		put(`{"status":"DISABLED"}`).OK()
		require.Zero(t, due())
	})
}

// pushed creates a connected application and a group that is pushed as "Staff".
func pushed(w *apptest.World, members ...string) (app, group, mapping string) {
	app = w.SCIMApp("HR")
	w.Connect(app, apptest.All)
	group = w.Group("staff", members...)
	for _, user := range members {
		w.Assign(app, user)
	}
	mapping = w.Post("/apps/"+app+"/group-push/mappings", `{"sourceGroupId":"`+group+`","targetGroupName":"Staff"}`).OK(201).Text("id")
	return app, group, mapping
}

func TestPushMapping_Lifecycle(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, group, id := pushed(w)
		path := "/apps/" + app + "/group-push/mappings"
		w.Expect(model.PushMappingChanged{App: app, Group: group, AllMembers: true})
		got := w.Get(path + "/" + id).OK()
		require.True(t, strings.HasPrefix(id, "gPm"))
		require.Equal(t, "ACTIVE", got.Text("status"))
		require.Equal(t, group, got.Text("sourceGroupId"))
		target := got.Text("targetGroupId")
		require.Contains(t, got.Text("_links", "targetGroup", "href"), target)
		require.Nil(t, got.Value("lastPush"))
		group2 := w.Get("/groups/" + target).OK()
		require.Equal(t, "APP_GROUP", group2.Text("type"))
		require.Equal(t, "Staff", group2.Text("profile", "name"))
		require.Equal(t, []string{id}, w.Get(path).IDs())

		w.Delete(path+"/"+id+"?deleteTargetGroup=true").Fails(403, "E0000107")
		w.Delete(path+"/"+id).Fails(400, "E0000001", "deleteTargetGroup")
		w.Events()
		require.Equal(t, "INACTIVE", w.Patch(path+"/"+id, `{"status":"INACTIVE"}`).OK().Text("status"))
		w.Expect(model.PushMappingChanged{App: app, Group: group})
		w.Patch(path+"/"+id, `{"status":"INACTIVE"}`).OK()
		require.Empty(t, w.Events(), "the same status again changes nothing")
		require.Equal(t, []string{id}, w.Get(path+"?status=INACTIVE&sourceGroupId="+group).IDs())
		require.Empty(t, w.Get(path+"?status=ACTIVE").IDs())
		w.Patch(path+"/"+id, `{"status":"ACTIVE"}`).OK()
		w.Expect(model.PushMappingChanged{App: app, Group: group, AllMembers: true})
		w.Patch(path+"/"+id, `{"status":"ERROR"}`).Fails(400, "E0000001", "status")
		w.Patch(path+"/"+id, `{}`).Fails(400, "E0000001", "status")

		w.Patch(path+"/"+id, `{"status":"INACTIVE"}`).OK()
		w.Delete(path + "/" + id + "?deleteTargetGroup=true").OK(204)
		w.Expect(model.PushMappingChanged{App: app, Group: group}, model.GroupDeleted{ID: target})
		w.Get(path+"/"+id).Fails(404, "E0000007", id+" (GroupPushMapping)")
		w.Patch(path+"/"+id, `{"status":"ACTIVE"}`).Fails(404, "E0000007")
		w.Get("/groups/"+target).Fails(404, "E0000007")
		require.Empty(t, w.Get(path).IDs())
	})
}

func TestPushMapping_RejectsBadInput(t *testing.T) {
	w := apptest.New(t)
	app, group, id := pushed(w)
	path := "/apps/" + app + "/group-push/mappings"
	target := w.Get(path + "/" + id).OK().Text("targetGroupId")
	other := w.Group("other")
	post := func(body string) *apptest.Answer { return w.Post(path, body) }

	post(`{"targetGroupName":"X"}`).Fails(400, "E0000001", "sourceGroupId")
	post(`{"sourceGroupId":"`+other+`"}`).Fails(400, "E0000001", "targetGroupName: Give either")
	post(`{"sourceGroupId":"`+other+`","targetGroupName":"X","targetGroupId":"`+target+`"}`).Fails(400, "E0000001", "Give either")
	post(`{"sourceGroupId":"00gnosuch","targetGroupName":"X"}`).Fails(404, "E0000007", "00gnosuch (UserGroup)")
	post(`{"sourceGroupId":"`+target+`","targetGroupName":"X"}`).Fails(400, "E0000001",
		"sourceGroupId: A group that belongs to an application")
	post(`{"sourceGroupId":"`+group+`","targetGroupName":"X"}`).Fails(409, "E0000055", "sourceGroupId")
	post(`{"sourceGroupId":"`+other+`","targetGroupName":"Staff"}`).Fails(409, "E0000055", "targetGroupName")
	post(`{"sourceGroupId":"`+other+`","targetGroupId":"`+target+`"}`).Fails(409, "E0000055", "targetGroupId")
	post(`{"sourceGroupId":"`+other+`","targetGroupId":"`+group+`"}`).Fails(400, "E0000001", "targetGroupId: The group does not belong")
	post(`{"sourceGroupId":"`+other+`","targetGroupName":"X","status":"ERROR"}`).Fails(400, "E0000001", "status")
	w.Put("/apps/"+app+"/features/GROUP_PUSH", `{"push":{"status":"DISABLED"}}`).OK()
	post(`{"sourceGroupId":"`+other+`","targetGroupName":"X"}`).Fails(400, "E0000001", "feature: Group push is not enabled")
	w.Post("/apps/"+w.SCIMApp("Y")+"/group-push/mappings", `{"sourceGroupId":"`+other+`","targetGroupName":"X"}`).Fails(400, "E0000001",
		"feature")
	w.Post("/apps/0oanosuch/group-push/mappings", `{}`).Fails(404, "E0000007", "AppInstance")
	w.Get(path+"?lastUpdated=yesterday").Fails(400, "E0000001", "lastUpdated")
	require.Empty(t, w.Get(path+"?lastUpdated=2999-01-01T00:00:00Z").IDs())
	require.Equal(t, []string{id}, w.Get(path+"?lastUpdated=2020-01-01T00:00:00Z").IDs())

	w.Events()
	w.Put("/apps/"+app+"/features/GROUP_PUSH", `{"push":{"status":"ENABLED"}}`).OK()
	w.Expect(model.PushMappingChanged{App: app, Group: group, AllMembers: true})
}

// TestPushMapping_ReportsGroupChanges checks that changes of a pushed group and its members emit the event PushMappingChanged.
func TestPushMapping_ReportsGroupChanges(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		ada := w.User("ada")
		app, group, id := pushed(w, ada)
		path := "/apps/" + app + "/group-push/mappings/" + id
		target := w.Get(path).OK().Text("targetGroupId")
		bob := w.User("bob")
		w.Events()

		w.Join(group, bob)
		w.Expect(model.PushMappingChanged{App: app, Group: group, Members: []string{bob}})
		w.Assign(app, bob)
		w.Expect(
			model.AppUserChanged{App: app, User: bob, Provision: true},
			model.PushMappingChanged{App: app, Group: group, Members: []string{bob}})
		w.Leave(group, bob)
		w.Expect(model.PushMappingChanged{App: app, Group: group, Members: []string{bob}})
		w.Delete("/apps/" + app + "/users/" + ada).OK()
		w.Expect(model.PushMappingChanged{App: app, Group: group, Members: []string{ada}})

		w.Put("/groups/"+group, `{"profile":{"name":"Crew"}}`).OK()
		w.Expect(model.PushMappingChanged{App: app, Group: group})
		require.Equal(t, "Crew", w.Get("/groups/"+target).OK().Text("profile", "name"))
		w.Put("/groups/"+group, `{"profile":{"name":"Crew","description":"x"}}`).OK()
		require.NotContains(t, w.Events(),
			apptest.Event{Topic: model.EventPushMappingChanged, Data: `{"app":"` + app + `","group":"` + group + `"}`})

		w.Delete("/groups/" + group).OK(204)
		w.Expect(model.PushMappingChanged{App: app, Group: group})
		w.Get(path).Fails(404, "E0000007")
		w.Get("/groups/" + target).OK()
	})
}

func TestPushMapping_DeletedWithApplication(t *testing.T) {
	w := apptest.New(t)
	app, group, id := pushed(w)
	target := w.Get("/apps/" + app + "/group-push/mappings/" + id).OK().Text("targetGroupId")
	w.Post("/apps/"+app+"/lifecycle/deactivate", nil).OK()
	w.Delete("/apps/" + app).OK(204)
	n, err := w.Model.PushMappings.Count(t.Context(), w.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
	w.Get("/groups/"+target).Fails(404, "E0000007")
	w.Get("/groups/" + group).OK()
}
