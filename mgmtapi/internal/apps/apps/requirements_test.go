package apps_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

// Proves C-apps-02, C-settings-01, C-settings-02, C-settings-03, C-settings-05, C-settings-08, C-settings-09, C-settings-10.
func TestSettings_OfTemplates(t *testing.T) {
	w := apptest.New(t)
	w.Unrecorded()
	const site = "https://a.example/"
	for name, settings := range map[string]object{
		"bookmark":            {"requestIntegration": true, "url": site},
		"template_basic_auth": {"authURL": "https://b.example/", "url": site},
		"svc_org2org":         {"acsUrl": site, "audRestriction": site, "baseUrl": site},
		"template_swa":        {"buttonField": "b", "loginUrlRegex": "r", "passwordField": "p", "url": site, "usernameField": "u"},
		"template_swa3field": {
			"buttonSelector": "b", "extraFieldSelector": "e", "extraFieldValue": "v", "loginUrlRegex": "r", "passwordSelector": "p",
			"targetURL": site, "usernameSelector": "u",
		},
		"template_sps": {
			"url": site, "usernameField": "u", "passwordField": "p", "optionalField1": "1", "optionalField1Value": "one",
			"optionalField2": "2", "optionalField2Value": "two",
			"optionalField3": "3", "optionalField3Value": "three",
		},
	} {
		body := set(t, fmt.Sprintf(`{"name":%q,"label":"x"}`, name), "settings.app", settings)
		app := w.Post("/apps", body).OK()
		require.Equal(t, name, app.Text("name"))
		require.Empty(t, cmp.Diff(plain(t, settings), app.Value("settings", "app")), name)
		require.Empty(t, cmp.Diff(app.Value("settings"), w.Get("/apps/"+app.Text("id")).OK().Value("settings")), name)
	}
	nullable := map[string][]string{
		"svc_org2org": {"acsUrl", "audRestriction", "baseUrl"},
		"template_sps": {"optionalField1", "optionalField1Value", "optionalField2", "optionalField2Value", "optionalField3",
			"optionalField3Value"},
	}
	for name, members := range nullable {
		settings := object{"url": site, "usernameField": "u", "passwordField": "p"}
		if name == "svc_org2org" {
			settings = object{}
		}
		for _, member := range members {
			settings[member] = json.RawMessage("null")
		}
		app := w.Post("/apps", set(t, fmt.Sprintf(`{"name":%q,"label":"x"}`, name), "settings.app", settings)).OK()
		for _, member := range members {
			value, there := app.Value("settings", "app").(map[string]any)[member]
			require.True(t, there && value == nil, member)
		}
	}
	settings := object{"url": site, "orgName": "acme"}
	zendesk := w.Post("/apps", set(t, `{"name":"zendesk","label":"x"}`, "settings.app", settings)).OK()
	require.Equal(t, "SAML_2_0", zendesk.Text("signOnMode"))
	require.Empty(t, cmp.Diff(plain(t, settings), zendesk.Value("settings", "app")))
}

// Proves C-settings-06, C-settings-07, C-settings-12, C-settings-13, C-settings-14, C-settings-15, C-settings-16, C-settings-17,
// C-settings-18, C-settings-19, C-settings-20.
func TestSettings_OfSAML(t *testing.T) {
	w := apptest.New(t)
	w.Unrecorded()
	hook := w.Post("/inlineHooks", `{"name":"saml","type":"com.svc.saml.tokens.transform","version":"1.0.0",
		"channel":{"type":"HTTP","version":"1.0.0","config":{"uri":"https://hook.example"}}}`).OK().Text("id")
	const site, statement = "https://acme.example/", "attributeStatements"
	signOn := object{
		"defaultRelayState": "r", "ssoAcsUrl": site + "acs", "idpIssuer": "urn:idp", "audience": "urn:acme", "recipient": site + "r",
		"destination":           site + "d",
		"subjectNameIdTemplate": "${user.userName}", "subjectNameIdFormat": "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
		"responseSigned": true, "assertionSigned": true, "signatureAlgorithm": "RSA_SHA256", "digestAlgorithm": "SHA256",
		"honorForceAuthn":      true,
		"authnContextClassRef": "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport",
		"slo":                  object{"enabled": true, "spIssuer": "urn:sp", "logoutUrl": site + "out"},
		"participateSlo": object{"enabled": true, "logoutRequestUrl": site + "slo", "sessionIndexRequired": true,
			"bindingType": "REDIRECT"},
		"spCertificate": object{"x5c": []any{certificate(t)}}, "requestCompressed": true, "allowMultipleAcsEndpoints": true,
		"acsEndpoints": []any{object{"url": site + "a", "index": 0}, object{"url": site + "b", "index": 1}},
		statement: []any{object{
			"type": "EXPRESSION", "name": "mail", "namespace": "urn:oasis:names:tc:SAML:2.0:attrname-format:basic",
			"values": []any{"user.email", "user.login"},
		}},
		"inlineHooks":       []any{object{"id": hook}},
		"ssoAcsUrlOverride": site + "o1", "audienceOverride": "urn:o2", "recipientOverride": site + "o3",
		"destinationOverride":           site + "o4",
		"configuredAttributeStatements": []any{object{"type": "EXPRESSION", "name": "n", "values": []any{"user.email"}}},
	}
	app := w.Post("/apps", set(t, customSAML, "settings.signOn", signOn)).OK()
	shown := w.Get("/apps/" + app.Text("id")).OK()
	for member, want := range signOn {
		got := shown.Value("settings", "signOn", member)
		if member == "inlineHooks" {
			found := got.([]any)[0].(map[string]any)
			require.Equal(t, hook, found["id"])
			require.Contains(t, found["_links"], "self")
			continue
		}
		require.Empty(t, cmp.Diff(plain(t, want), got), member)
	}
	require.Equal(t, app.Body, shown.Body)
	require.Equal(t, true, w.Put("/apps/"+app.Text("id"), string(shown.Body)).OK().Value("settings", "signOn", "honorForceAuthn"))
}

// Proves C-apps-01, C-apps-09, C-apps-13, C-apps-33.
func TestApp_ReadOnlyMembersAndKeys(t *testing.T) {
	w := apptest.New(t)
	w.Unrecorded()
	saml := w.Post("/apps", set(t, customSAML, "id", "0oa00000000000000000")).OK()
	require.NotEqual(t, "0oa00000000000000000", saml.Text("id"))
	other := w.Post("/apps", customSAML).OK()
	kid := saml.Text("credentials", "signing", "kid")
	require.NotEmpty(t, kid)
	require.Equal(t, []string{saml.Text("id")}, w.Get("/apps?filter=credentials.signing.kid+eq+"+kid).IDs())
	require.Equal(t, []string{other.Text("id")}, w.Get("/apps?filter=credentials.signing.kid+eq+%22"+other.Text("credentials",
		"signing", "kid")+"%22").IDs())

	scim := w.SCIMApp("HR")
	require.Equal(t, []any{}, w.Get("/apps/"+scim).OK().Value("features"))
	w.Connect(scim, apptest.All)
	features := w.Get("/apps/" + scim).OK().Value("features")
	require.Contains(t, features, "PUSH_NEW_USERS")
	require.Contains(t, features, "PUSH_PROFILE_UPDATES")
}
