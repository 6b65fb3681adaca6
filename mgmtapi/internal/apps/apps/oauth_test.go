package apps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const serviceClient = `{
	"name": "oidc_client", "label": "Nightly", "signOnMode": "OPENID_CONNECT",
	"credentials": {"oauthClient": {"token_endpoint_auth_method": "client_secret_basic"}},
	"settings": {"oauthClient": {"application_type": "service", "grant_types": ["client_credentials"], "response_types": ["token"],
		"unheard_of": 1}}}`

const publicKey = `{"kty": "RSA", "kid": "one", "e": "AQAB", "n": ` +
	`"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64t` +
	`Z_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbO` +
	`pbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}`

func TestOAuthClient_Lifecycle(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.Post("/apps", serviceClient).OK()
		id := app.Text("id")
		path := "/apps/" + id
		secret := app.Text("credentials", "oauthClient", "client_secret")
		require.Regexp(t, `^[\w-]{40,}$`, secret)
		require.Empty(t, cmp.Diff(any(object{
			"client_id": id, "client_secret": secret, "autoKeyRotation": true, "token_endpoint_auth_method": "client_secret_basic",
			"pkce_required": false,
		}), app.Value("credentials", "oauthClient")))
		require.Empty(t, cmp.Diff(any(object{
			"application_type": "service", "grant_types": []any{"client_credentials"}, "response_types": []any{"token"},
			"consent_method": "TRUSTED", "issuer_mode": "ORG_URL", "client_uri": nil, "logo_uri": nil,
		}), app.Value("settings", "oauthClient")))
		require.Empty(t, cmp.Diff(any(object{"iOS": true, "web": true}), app.Value("visibility", "hide")), "clients are hidden")
		require.Regexp(t, `^[\w-]{43}$`, app.Text("credentials", "signing", "kid"))
		require.True(t, strings.HasSuffix(app.Text("_links", "clientCredentials", "href"), "/oauth2/v1/clients/"+id))
		require.Equal(t, app.Body, w.Get(path).OK().Body, "a read shows the same, the secret too")

		list := w.Get("/apps?q=nightly").OK()
		require.NotContains(t, string(list.Body), secret, "a list shows no secrets")
		doc, err := w.Model.Apps.Get(t.Context(), w.Store.Reader(), id)
		require.NoError(t, err)
		stored, err := json.Marshal(doc.Value)
		require.NoError(t, err)
		require.NotContains(t, string(stored), secret, "the store has no plaintext secret")

		again := w.Put(path, string(app.Body)).OK()
		require.Equal(t, secret, again.Text("credentials", "oauthClient", "client_secret"), "the secret is returned unchanged")
		again = w.Put(path, serviceClient).OK()
		require.Equal(t, secret, again.Text("credentials", "oauthClient", "client_secret"), "an omitted secret keeps its value")
		other := w.Put(path, set(t, serviceClient, "credentials.oauthClient.client_secret", "a-secret-of-my-own")).OK()
		require.Equal(t, "a-secret-of-my-own", other.Text("credentials", "oauthClient", "client_secret"))
		w.Put(path, set(t, serviceClient, "credentials.oauthClient.client_id", "another-client")).Fails(400, "E0000001",
			"credentials.oauthClient.client_id: ")

		keyed := set(t, serviceClient, "credentials.oauthClient.token_endpoint_auth_method", "private_key_jwt")
		w.Put(path, keyed).Fails(400, "E0000001", "settings.oauthClient.jwks: ")
		keyed = strings.Replace(keyed, `"unheard_of":1`, `"jwks":{"keys":[`+publicKey+`]}`, 1)
		signed := w.Put(path, keyed).OK()
		require.Nil(t, signed.Value("credentials", "oauthClient", "client_secret"), "a client with private_key_jwt has no secret")
		require.Equal(t, "one", signed.Value("settings", "oauthClient", "jwks", "keys").([]any)[0].(object)["kid"])
		back := w.Put(path, serviceClient).OK()
		require.NotContains(t, []string{"", secret, "a-secret-of-my-own"}, back.Text("credentials", "oauthClient", "client_secret"),
			"a new secret is generated")

		w.Post(path+"/lifecycle/deactivate", nil).OK()
		w.Delete(path).OK(204)
	})
}

func TestMembersOfOAuthClients(t *testing.T) {
	w := apptest.New(t)
	own := set(t, serviceClient, "credentials.oauthClient.client_id", "my-own-client")
	require.Equal(t, "my-own-client", w.Post("/apps", own).OK().Text("credentials", "oauthClient", "client_id"))
	w.Post("/apps", own).Fails(400, "E0000001", "credentials.oauthClient.client_id: An object with this field already exists")
	other := w.Post("/apps", serviceClient).OK().Text("id")
	w.Post("/apps", set(t, serviceClient, "credentials.oauthClient.client_id", other)).Fails(400, "E0000001",
		"credentials.oauthClient.client_id: An object with this field already exists")
	keyed := w.Post("/apps", set(t, own, "credentials.oauthClient.client_id", "client-whose-id-is-not-its-own")).OK().Text("id")
	w.Post("/apps", set(t, serviceClient, "credentials.oauthClient.client_id", keyed)).Fails(400, "E0000001",
		"credentials.oauthClient.client_id: An object with this field already exists")
	native := set(t,
		set(t,
			set(t, set(t, serviceClient, "settings.oauthClient.application_type", "native"), "settings.oauthClient.grant_types", []any{"password"}),
			"credentials.oauthClient.token_endpoint_auth_method", "none"), "visibility.hide", object{"iOS": true, "web": false})
	public := w.Post("/apps", native).OK()
	require.Equal(t, true, public.Value("credentials", "oauthClient", "pkce_required"))
	require.Equal(t, false, public.Value("visibility", "hide", "web"))
	require.Nil(t, public.Value("credentials", "oauthClient", "client_secret"))

	cases := map[string]struct {
		member string
		value  any
		clue   string
	}{
		"no type": {"settings.oauthClient.application_type", nil,
			"settings.oauthClient.application_type: The field cannot be left blank"},
		"no grants": {"settings.oauthClient.grant_types", nil, "settings.oauthClient.grant_types: The field cannot be left blank"},
		"null for grants": {"settings.oauthClient.grant_types", []any(nil),
			"settings.oauthClient.grant_types: The field cannot be left blank"},
		"no responses": {"settings.oauthClient.response_types", []any{},
			"settings.oauthClient.response_types: The field cannot be left blank"},
		"no method": {"credentials.oauthClient", nil,
			"credentials.oauthClient.token_endpoint_auth_method: The field cannot be left blank"},
		"an unknown method": {"credentials.oauthClient.token_endpoint_auth_method", "tls_client_auth",
			"credentials.oauthClient.token_endpoint_auth_method: The value must be one of"},
		"a service with users": {"settings.oauthClient.grant_types", []any{"password"},
			"settings.oauthClient.grant_types: Clients of the type service need"},
		"an unknown consent":     {"settings.oauthClient.consent_method", "MAYBE", "settings.oauthClient.consent_method: "},
		"a custom domain":        {"settings.oauthClient.issuer_mode", "CUSTOM_URL", "settings.oauthClient.issuer_mode: "},
		"a relative picture":     {"settings.oauthClient.logo_uri", "x.png", "settings.oauthClient.logo_uri: "},
		"a relative redirect":    {"settings.oauthClient.redirect_uris", []any{"/cb"}, "settings.oauthClient.redirect_uris: "},
		"a number as a redirect": {"settings.oauthClient.redirect_uris", []any{1}, "settings.oauthClient.redirect_uris"},
		"an incomplete key":      {"settings.oauthClient.jwks", object{"keys": []any{object{"kty": "RSA"}}}, "settings.oauthClient.jwks: key 0"},
		"invalid keys":           {"settings.oauthClient.jwks", object{"keys": []any{1}}, "settings.oauthClient.jwks"},
		"a short secret":         {"credentials.oauthClient.client_secret", "short", "credentials.oauthClient.client_secret: "},
		"an id with spaces":      {"credentials.oauthClient.client_id", "my client", "credentials.oauthClient.client_id: "},
		"the id that represents all clients": {"credentials.oauthClient.client_id", "ALL_CLIENTS",
			"credentials.oauthClient.client_id: The value is reserved"},
		"a scheme": {"credentials.scheme", "EDIT_USERNAME_AND_PASSWORD", "credentials.scheme: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w.Post("/apps", set(t, serviceClient, c.member, c.value)).Fails(400, "E0000001", c.clue)
		})
	}
	w.Post("/apps", set(t, native, "credentials.oauthClient.pkce_required", false)).Fails(400, "E0000001",
		"credentials.oauthClient.pkce_required: ")
	w.Post("/apps", set(t, serviceClient, "signOnMode", "SAML_2_0")).Fails(400, "E0000001",
		"signOnMode: The value for oidc_client must be one of OPENID_CONNECT")
}

func TestOAuthClient_ScopeGrants(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.Post("/apps", serviceClient).OK()
		id := app.Text("id")
		org, _, _ := strings.Cut(app.Text("_links", "self", "href"), "/api/v1")
		path := "/apps/" + id + "/grants"
		require.Empty(t, w.Get(path).IDs())
		grant := w.Post(path, object{"scopeId": "svc.users.read", "issuer": org + "/"}).OK(201)
		var got object
		grant.Into(&got)
		for _, volatile := range []string{"id", "created", "lastUpdated", "createdBy"} {
			require.NotEmpty(t, got[volatile])
			delete(got, volatile)
		}
		grantID := grant.Text("id")
		require.Regexp(t, `^oag\w{17}$`, grantID)
		require.Regexp(t, `^00u\w{17}$`, grant.Text("createdBy", "id"))
		require.Empty(t, cmp.Diff(object{
			"status": "ACTIVE", "scopeId": "svc.users.read", "clientId": id, "issuer": org, "source": "ADMIN",
			"_links": object{
				"app":    object{"href": org + "/api/v1/apps/" + id},
				"client": object{"href": org + "/oauth2/v1/clients/" + id},
				"self":   object{"href": org + "/api/v1/apps/" + id + "/grants/" + grantID, "hints": object{"allow": []any{"GET", "DELETE"}}},
			},
		}, got))
		require.Equal(t, grant.Body, w.Get(path+"/"+grantID).OK().Body)

		w.Post(path, object{"scopeId": "svc.users.read", "issuer": org}).Fails(400, "E0000001",
			"scopeId: The scope is already granted to the application")
		second := w.Post(path, object{"scopeId": "svc.appGrants.manage", "issuer": org}).OK(201).Text("id")
		page := w.Get(path + "?limit=1")
		require.Equal(t, []string{grantID}, page.IDs())
		require.Equal(t, []string{second}, w.Get(page.Next()).IDs())
		w.Get(path+"?after=x").Fails(400, "E0000029")
		w.Get(path+"?limit=0").Fails(400, "E0000001", "limit: ")

		w.Post(path, nil).Fails(400, "E0000003")
		w.Post(path, `{}`).Fails(400, "E0000001", "scopeId: The field cannot be left blank", "issuer: The field cannot be left blank")
		w.Post(path, `{"scopeId":1,"issuer":[]}`).Fails(400, "E0000001", "scopeId: ", "issuer: ")
		w.Post(path, object{"scopeId": "svc.nothing.read", "issuer": org}).Fails(400, "E0000001", "scopeId: Unknown scope")
		w.Post(path, object{"scopeId": "openid", "issuer": org}).Fails(400, "E0000001", "scopeId: ")
		w.Post(path, object{"scopeId": "svc.users.manage", "issuer": "https://elsewhere.example"}).Fails(400, "E0000001",
			"issuer: The value must be "+org)

		other := w.Post("/apps", serviceClient).OK().Text("id")
		for _, elsewhere := range []string{"/apps/" + other + "/grants/" + grantID, path + "/oagnosuch", "/apps/0oanosuch/grants/" + grantID,
			path + "/" + id} {
			w.Get(elsewhere).Fails(404, "E0000007")
			w.Delete(elsewhere).Fails(404, "E0000007")
		}
		bookmark := w.Bookmark("x")
		w.Get("/apps/"+bookmark+"/grants").Fails(400, "E0000024")
		w.Post("/apps/"+bookmark+"/grants", object{"scopeId": "svc.users.read", "issuer": org}).Fails(400, "E0000024")

		w.Delete(path + "/" + grantID).OK(204)
		require.Equal(t, []string{second}, w.Get(path).IDs())
		w.Post("/apps/"+id+"/lifecycle/deactivate", nil).OK()
		w.Delete("/apps/" + id).OK(204)
		_, err := w.Model.AppGrants.Get(t.Context(), w.Store.Reader(), second)
		require.Error(t, err, "grants are deleted with their application")
		scopes, err := (model.Deps{Model: w.Model, Store: w.Store}).GrantedScopes(t.Context(), w.Store.Reader(), id)
		require.NoError(t, err)
		require.Empty(t, scopes)
	})
}
