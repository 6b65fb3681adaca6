package apps_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// set returns the JSON text with a member, given by its dotted path, set to a value. Nil removes the member.
func set(t *testing.T, text, path string, value any) string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	at, names := object, strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		inner, ok := at[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			at[name] = inner
		}
		at = inner
	}
	if last := names[len(names)-1]; value == nil {
		delete(at, last)
	} else {
		at[last] = value
	}
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return string(data)
}

type object = map[string]any

// plain returns a value in its JSON form.
func plain(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

// certificate returns a certificate in base64.
func certificate(t *testing.T) string {
	t.Helper()
	k, err := signkey.New(seal.Random(), signkey.Options{Name: "sp"})
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(k.Certificate)
}

func TestSignOn_EchoesNull(t *testing.T) {
	w := apptest.New(t)
	members := []string{"configuredAttributeStatements", "attributeStatements", "destinationOverride", "inlineHooks", "slo", "spCertificate"}
	for name, body := range map[string]string{
		"catalog":     `{"name":"zendesk","label":"Z","signOnMode":"SAML_2_0","settings":{"signOn":{}}}`,
		"svc_org2org": `{"name":"svc_org2org","label":"O","signOnMode":"SAML_2_0","settings":{"app":{},"signOn":{}}}`,
		"custom":      customSAML,
	} {
		t.Run(name, func(t *testing.T) {
			for _, member := range members {
				body = set(t, body, "settings.signOn."+member, json.RawMessage("null"))
			}
			created := w.Post("/apps", body).OK()
			path := "/apps/" + created.Text("id")
			for what, answer := range map[string]*apptest.Answer{
				"create": created, "read": w.Get(path).OK(), "written back": w.Put(path, string(created.Body)).OK(),
			} {
				var app struct {
					Settings struct{ SignOn map[string]any }
				}
				answer.Into(&app)
				for _, member := range members {
					value, there := app.Settings.SignOn[member]
					require.True(t, there, "%s: %s", what, member)
					require.Nil(t, value, "%s: %s", what, member)
				}
			}
		})
	}
	answer := w.Post("/apps", set(t, customSAML, "settings.signOn.honorForceAuthn", json.RawMessage("null"))).OK()
	require.Equal(t, false, answer.Value("settings", "signOn", "honorForceAuthn"))
	w.Post("/apps", set(t, customSAML, "settings.signOn.audience", nil)).Fails(400, "E0000001", "audience: The field cannot be left blank")
}

func TestMembersOfSAMLSettings(t *testing.T) {
	w, cert := apptest.New(t), certificate(t)
	cases := map[string]struct {
		member string
		value  any
		want   any    // the stored value; nil if the stored value equals the one that was sent
		clue   string // part of the error, "" for success
	}{
		"a signature algorithm": {"signatureAlgorithm", "RSA_SHA1", nil, ""},
		"an unknown one":        {"signatureAlgorithm", "DSA", nil, "signatureAlgorithm: The value must be one of"},
		"a digest algorithm":    {"digestAlgorithm", "SHA1", nil, ""},
		"an unknown digest":     {"digestAlgorithm", "MD5", nil, "digestAlgorithm: The value must be one of"},
		"a name format":         {"subjectNameIdFormat", "urn:oasis:names:tc:SAML:2.0:nameid-format:transient", nil, ""},
		"an unknown format":     {"subjectNameIdFormat", "urn:x", nil, "subjectNameIdFormat: The value must be one of"},
		"a template of the app": {"subjectNameIdTemplate", "${appuser.anything}-${fn:substringBefore(user.userName, \"@\")}", nil,
			""},
		"an unknown attribute":              {"subjectNameIdTemplate", "${user.logim}", nil, "subjectNameIdTemplate: "},
		"an unclosed template":              {"subjectNameIdTemplate", "${user.login", nil, "is not closed"},
		"a context class":                   {"authnContextClassRef", "urn:oasis:names:tc:SAML:2.0:ac:classes:X509", nil, ""},
		"a context class that is not a URN": {"authnContextClassRef", "by password", nil, "authnContextClassRef: The value must be a URN"},
		"a relay state":                     {"defaultRelayState", "any text", nil, ""},
		"a flag":                            {"honorForceAuthn", true, nil, ""},
		"a string as flag":                  {"responseSigned", "yes", nil, "responseSigned: The value must be true or false"},
		"an override":                       {"destinationOverride", "https://o.example/", nil, ""},
		"a relative override":               {"recipientOverride", "o", nil, "recipientOverride: The value must be an absolute"},
		"an audience override":              {"audienceOverride", "urn:any", nil, ""},
		"logout disabled":                   {"slo", object{"enabled": false, "other": 1}, object{"enabled": false}, ""},
		"logout without members":            {"slo", object{"enabled": true}, nil, "slo.spIssuer: The field cannot be left blank"},
		"logout without certificate": {"slo", object{"enabled": true, "spIssuer": "urn:sp", "logoutUrl": "https://sp.example/"}, nil,
			"settings.signOn.spCertificate: The field cannot be left blank"},
		"logout with a relative URL": {"slo", object{"logoutUrl": "nowhere"}, nil, "slo.logoutUrl: The value must be an absolute"},
		"a string as logout":         {"slo", "yes", nil, "slo: The value must be an object"},
		"participation in logout": {"participateSlo",
			object{"enabled": true, "logoutRequestUrl": "https://sp.example/", "sessionIndexRequired": true, "bindingType": "REDIRECT"}, nil, ""},
		"participation without members": {"participateSlo", object{"enabled": true}, nil,
			"participateSlo.logoutRequestUrl: The field cannot be left blank"},
		"participation with an unknown binding": {"participateSlo", object{"bindingType": "PIGEON"}, nil,
			"participateSlo.bindingType: The value must be one of POST, REDIRECT"},
		"a certificate":  {"spCertificate", object{"x5c": []any{cert}}, nil, ""},
		"no certificate": {"spCertificate", object{"x5c": []any{"AAAA"}}, nil, "spCertificate.x5c: Element 0 is not a certificate"},
		"an empty chain": {"spCertificate", object{}, nil, "spCertificate.x5c: The value must be an array"},
		"endpoints without allowMultipleAcsEndpoints": {"acsEndpoints", []any{object{"url": "https://sp.example/", "index": 1}}, nil,
			"acsEndpoints: Endpoints in addition to ssoAcsUrl require"},
		"endpoints without URL": {"acsEndpoints", []any{object{"index": 1}}, nil, "acsEndpoints[0].url: The field cannot be left blank"},
		"endpoints without index": {"acsEndpoints", []any{object{"url": "https://sp.example/", "index": "x"}}, nil,
			"acsEndpoints[0].index: The value must be between"},
		"endpoints with the same index": {"acsEndpoints",
			[]any{object{"url": "https://a.example/", "index": 0}, object{"url": "https://b.example/", "index": 0}}, nil,
			"acsEndpoints[1].index: The index 0 is used twice"},
		"a string as endpoint": {"acsEndpoints", []any{"https://sp.example/"}, nil, "acsEndpoints[0]: The value must be an object"},
		"too many endpoints":   {"acsEndpoints", make([]any, 101), nil, "acsEndpoints: The value has more than 100"},
		"null statements":      {"attributeStatements", []any(nil), nil, ""},
		"a statement with defaults": {"attributeStatements",
			[]any{object{"name": "n", "values": []any{"user.email", "text", "${user.firstName}!"}, "filterType": "REGEX", "x": 1}},
			[]any{object{"name": "n", "type": "EXPRESSION", "values": []any{"user.email", "text", "${user.firstName}!"}}}, ""},
		"a statement of groups": {"attributeStatements",
			[]any{
				object{"name": "g", "type": "GROUP", "namespace": "urn:oasis:names:tc:SAML:2.0:attrname-format:basic", "filterType": "STARTS_WITH",
					"filterValue": "eng", "values": []any{}}},
			[]any{
				object{"name": "g", "type": "GROUP", "namespace": "urn:oasis:names:tc:SAML:2.0:attrname-format:basic", "filterType": "STARTS_WITH",
					"filterValue": "eng"}}, ""},
		"a statement without name": {"attributeStatements", []any{object{"values": []any{}}}, nil,
			"attributeStatements[0].name: The field cannot be left blank"},
		"a statement of an unknown type": {"attributeStatements", []any{object{"name": "n", "type": "X", "values": []any{}}}, nil,
			"attributeStatements[0].type: The value must be one of EXPRESSION, GROUP"},
		"a statement with an unknown namespace": {"attributeStatements", []any{object{"name": "n", "namespace": "x", "values": []any{}}}, nil,
			"attributeStatements[0].namespace: The value must be one of"},
		"a group statement with an unknown filter": {"attributeStatements",
			[]any{object{"name": "n", "type": "GROUP", "filterType": "LIKE", "filterValue": "x"}}, nil,
			"attributeStatements[0].filterType: The value must be one of"},
		"a group statement without filter": {"attributeStatements", []any{object{"name": "n", "type": "GROUP"}}, nil,
			"attributeStatements[0].filterValue: The field cannot be left blank"},
		"a number as value": {"attributeStatements", []any{object{"name": "n", "values": []any{1}}}, nil,
			"attributeStatements[0].values[0]: The value must be a string"},
		"a reference to an unknown attribute": {"attributeStatements", []any{object{"name": "n", "values": []any{"user.nobody"}}}, nil,
			"attributeStatements[0].values[0]: "},
		"an expression with an unknown attribute": {"attributeStatements", []any{object{"name": "n", "values": []any{"x ${user.nobody}"}}}, nil,
			"attributeStatements[0].values[0]: "},
		"configured statements": {"configuredAttributeStatements", []any{object{"name": "n"}}, nil,
			"configuredAttributeStatements[0].values: The field cannot be left blank"},
		"an unknown hook": {"inlineHooks", []any{object{"id": "cal1"}}, nil,
			"inlineHooks[0].id: No inline hook of the SAML type"},
		"a hook without id":           {"inlineHooks", []any{object{}}, nil, "inlineHooks[0].id: The field cannot be left blank"},
		"hooks that are not an array": {"inlineHooks", "cal1", nil, "inlineHooks: The value must be an array"},
		"an object as audience":       {"audience", object{}, nil, "audience: The value must be a string"},
		"a long string":               {"audience", strings.Repeat("x", 5000), nil, "audience: The value is too long"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			answer := w.Post("/apps", set(t, customSAML, "settings.signOn."+c.member, c.value))
			if c.clue != "" {
				answer.Fails(400, "E0000001", c.clue)
				return
			}
			want := c.want
			if want == nil {
				want = c.value
			}
			if name == "null statements" {
				require.Nil(t, answer.OK().Value("settings", "signOn", c.member))
				return
			}
			require.Empty(t, cmp.Diff(plain(t, want), answer.OK().Value("settings", "signOn", c.member)))
			again := w.Put("/apps/"+answer.Text("id"), string(answer.Body)).OK()
			require.Empty(t, cmp.Diff(answer.Value("settings"), again.Value("settings")), "a replacement with the read application changes nothing")
		})
	}
	t.Run("logout and endpoints with all required members", func(t *testing.T) {
		body := set(t, customSAML, "settings.signOn.spCertificate", object{"x5c": []any{cert}})
		body = set(t, body, "settings.signOn.slo", object{"enabled": true, "spIssuer": "urn:sp", "logoutUrl": "https://sp.example/out"})
		body = set(t, body, "settings.signOn.allowMultipleAcsEndpoints", true)
		body = set(t, body, "settings.signOn.acsEndpoints",
			[]any{object{"url": "https://a.example/", "index": 0}, object{"url": "https://b.example/", "index": 1}})
		app := w.Post("/apps", body).OK()
		require.Empty(t,
			cmp.Diff(plain(t, []any{object{"url": "https://a.example/", "index": 0}, object{"url": "https://b.example/", "index": 1}}),
				app.Value("settings", "signOn", "acsEndpoints")))
	})
	t.Run("every required member of a custom application", func(t *testing.T) {
		for _, member := range []string{
			"ssoAcsUrl", "audience", "recipient", "destination", "subjectNameIdTemplate", "subjectNameIdFormat", "signatureAlgorithm",
			"digestAlgorithm", "authnContextClassRef",
		} {
			w.Post("/apps", set(t, customSAML, "settings.signOn."+member, nil)).Fails(400, "E0000001",
				"settings.signOn."+member+": The field cannot be left blank")
		}
	})
}

// Proves C-apps-07, C-apps-08, C-apps-12, C-apps-14.
func TestMembersOfAllApps(t *testing.T) {
	w := apptest.New(t)
	const bookmark = `{"name":"bookmark","label":"x","settings":{"app":{"url":"https://a.example/"}}}`
	cases := map[string]struct {
		member string
		value  any
		clue   string
	}{
		"self-service":      {"accessibility.selfService", true, ""},
		"a page for errors": {"accessibility.errorRedirectUrl", "https://e.example/", ""},
		"a relative page":   {"accessibility.errorRedirectUrl", "/e", "accessibility.errorRedirectUrl: The value must be an absolute"},
		"a page to sign in": {"accessibility.loginRedirectUrl", "ftp://e.example/",
			"accessibility.loginRedirectUrl: The value must be an absolute"},
		"a string as self-service flag": {"accessibility.selfService", "yes", "accessibility.selfService: "},
		"a launch":                      {"visibility.autoLaunch", true, ""},
		"the toolbar":                   {"visibility.autoSubmitToolbar", true, ""},
		"hide flags":                    {"visibility.hide", object{"iOS": true, "web": true}, ""},
		"links":                         {"visibility.appLinks", object{"login": false}, ""},
		"an array as links":             {"visibility.appLinks", []any{"login"}, "visibility.appLinks: "},
		"a string as link":              {"visibility.appLinks", object{"login": "yes"}, "visibility.appLinks"},
		"a private network": {"settings.notifications.vpn",
			object{"network": object{"connection": "OFF_NETWORK"}, "message": "m", "helpUrl": "https://h.example/"}, ""},
		"an unknown network": {"settings.notifications.vpn.network.connection", "MARS", "settings.notifications.vpn.network.connection: "},
		"a relative help": {"settings.notifications.vpn.helpUrl", "help",
			"settings.notifications.vpn.helpUrl: The value must be an absolute"},
		"notes":      {"settings.notes", object{"admin": "a", "enduser": "e"}, ""},
		"long notes": {"settings.notes.admin", strings.Repeat("x", 4001), "settings.notes.admin: "},
		"a user name with suffix": {"credentials.userNameTemplate", object{"template": "${source.login}", "type": "BUILT_IN", "suffix": ".x"},
			""},
		"a user name without template": {"credentials.userNameTemplate", object{"type": "NONE"}, ""},
		"a user name template of an unknown type": {"credentials.userNameTemplate", object{"type": "OTHER"},
			"credentials.userNameTemplate.type: "},
		"a user name pushed": {"credentials.userNameTemplate",
			object{"template": "${source.email}", "type": "CUSTOM", "pushStatus": "PUSH"}, ""},
		"an unknown push status of the user name": {"credentials.userNameTemplate.pushStatus", "TWICE",
			"credentials.userNameTemplate.pushStatus: "},
		"a key of another application": {"credentials.signing.kid", "x", "credentials.signing.kid: "},
		"no key":                       {"credentials.signing", object{"kid": ""}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			answer := w.Post("/apps", set(t, bookmark, c.member, c.value))
			if c.clue != "" {
				answer.Fails(400, "E0000001", c.clue)
				return
			}
			answer.OK()
			if name != "no key" {
				require.Empty(t, cmp.Diff(plain(t, c.value), answer.Value(strings.Split(c.member, ".")...)))
			}
			again := w.Put("/apps/"+answer.Text("id"), string(answer.Body)).OK()
			for _, part := range []string{"accessibility", "visibility", "credentials", "settings"} {
				require.Empty(t, cmp.Diff(answer.Value(part), again.Value(part)))
			}
		})
	}
}

// Proves C-apps-10, C-apps-11.
func TestSchemesOfSignOnModes(t *testing.T) {
	w := apptest.New(t)
	bodies := map[string]string{
		"BASIC_AUTH": `{"name":"template_basic_auth","label":"x","settings":{"app":{"url":"https://a.example",` +
			`"authURL":"https://b.example"}}}`,
		"BROWSER_PLUGIN": `{"name":"facebook","label":"x"}`,
		"SECURE_PASSWORD_STORE": `{"name":"template_sps","label":"x","settings":{"app":{"url":"https://a.example","usernameField":"u",` +
			`"passwordField":"p"}}}`,
		"AUTO_LOGIN":     `{"label":"x","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`,
		"BOOKMARK":       `{"name":"bookmark","label":"x","settings":{"app":{"url":"https://a.example/"}}}`,
		"SAML_2_0":       customSAML,
		"OPENID_CONNECT": serviceClient,
	}
	for mode, body := range bodies {
		with := mode != "BOOKMARK" && mode != "SAML_2_0" && mode != "OPENID_CONNECT"
		app := w.Post("/apps", body).OK()
		require.Equal(t, mode, app.Text("signOnMode"))
		if !with {
			require.Nil(t, app.Value("credentials", "scheme"), mode)
		} else {
			require.Equal(t, "EDIT_USERNAME_AND_PASSWORD", app.Text("credentials", "scheme"), mode)
		}
		for _, scheme := range []string{"EDIT_USERNAME_AND_PASSWORD", "ADMIN_SETS_CREDENTIALS", "EDIT_PASSWORD_ONLY", "EXTERNAL_PASSWORD_SYNC"} {
			answer := w.Post("/apps", set(t, body, "credentials.scheme", scheme))
			if with {
				require.Equal(t, scheme, answer.OK().Text("credentials", "scheme"))
			} else {
				answer.Fails(400, "E0000001", "credentials.scheme: ")
			}
		}
		if with {
			shared := set(t, set(t, body, "credentials.scheme", "SHARED_USERNAME_AND_PASSWORD"), "credentials.userName", "all")
			w.Post("/apps", shared).Fails(400, "E0000001", "credentials.password.value: The field cannot be left blank")
			answer := w.Post("/apps", set(t, shared, "credentials.password", object{"value": "Open-Sesame"})).OK()
			require.Empty(t, cmp.Diff(any(object{}), answer.Value("credentials", "password")))
		}
	}
}

// Proves C-settings-03, C-settings-04, C-settings-11.
func TestMandatorySettingsOfTemplates(t *testing.T) {
	w := apptest.New(t)
	address := map[string]bool{"url": true, "authURL": true, "targetURL": true, "loginUrl": true}
	for name, members := range map[string][]string{
		"bookmark":            {"url"},
		"template_basic_auth": {"url", "authURL"},
		"template_swa":        {"url", "usernameField", "passwordField", "buttonField"},
		"template_swa3field":  {"targetURL", "usernameSelector", "passwordSelector", "buttonSelector", "extraFieldSelector", "extraFieldValue"},
		"template_sps":        {"url", "usernameField", "passwordField"},
	} {
		settings := object{}
		for _, member := range members {
			if settings[member] = "#x"; address[member] {
				settings[member] = "https://a.example/"
			}
		}
		whole := set(t, fmt.Sprintf(`{"name":%q,"label":"x"}`, name), "settings.app", settings)
		w.Post("/apps", whole).OK()
		for _, member := range members {
			w.Post("/apps", set(t, whole, "settings.app."+member, nil)).Fails(400, "E0000001",
				"settings.app."+member+": The field cannot be left blank")
			if address[member] {
				w.Post("/apps", set(t, whole, "settings.app."+member, "mailto:x")).Fails(400, "E0000001",
					"settings.app."+member+": The value must be an absolute")
			}
		}
	}
	w.Post("/apps", `{"label":"x","signOnMode":"AUTO_LOGIN"}`).Fails(400, "E0000001",
		"settings.signOn.loginUrl: The field cannot be left blank")
	for _, name := range []string{"svc_org2org", "scim2_test_app", "zendesk", "workday", "salesforce", "facebook", "amazon_aws", "boxnet",
		"aws_console"} {
		w.Post("/apps", fmt.Sprintf(`{"name":%q,"label":"x"}`, name)).OK()
	}
	app := w.Post("/apps", `{"name":"svc_org2org","label":"x","settings":{"app":{"acsUrl":null,"audRestriction":"https://a.example/"}}}`).OK()
	require.Empty(t,
		cmp.Diff(any(object{"acsUrl": nil, "audRestriction": "https://a.example/", "baseUrl": nil}), app.Value("settings", "app")))
}

func TestUnsupportedOperations_Return501(t *testing.T) {
	w := apptest.New(t)
	id := w.Bookmark("x")
	for _, do := range []string{
		"GET /credentials/csrs", "POST /credentials/csrs", "GET /credentials/csrs/c", "DELETE /credentials/csrs/c",
		"POST /credentials/csrs/c/lifecycle/publish",
		"POST /logo", "GET /credentials/secrets", "POST /credentials/secrets", "GET /credentials/secrets/s", "DELETE /credentials/secrets/s",
		"POST /credentials/secrets/s/lifecycle/activate", "POST /credentials/secrets/s/lifecycle/deactivate",
		"GET /federated-claims", "POST /federated-claims", "GET /federated-claims/c", "PUT /federated-claims/c", "DELETE /federated-claims/c",
		"GET /cwo/connections", "POST /cwo/connections", "GET /cwo/connections/c", "PATCH /cwo/connections/c", "DELETE /cwo/connections/c",
		"PUT /policies/p",
	} {
		method, path, _ := strings.Cut(do, " ")
		w.Do(method, "/apps/"+id+path, nil).Fails(501, "E0000060")
		w.Do(method, "/apps/0oanosuch"+path, nil).Fails(404, "E0000007", "0oanosuch (AppInstance)")
	}
	w.Put("/apps/"+id+"/logo", nil).Fails(405, "E0000022")
}
