package model_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model/modeltest"
)

// rsaKey is a public key of 2048 bits.
var rsaKey = map[string]any{
	"kty": "RSA", "kid": "one", "use": "sig", "e": "AQAB",
	"n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64t" +
		"Z_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbO" +
		"pbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
}

func TestOAuthClient_Validation(t *testing.T) {
	const basic, none, private = model.AuthSecretBasic, model.AuthNone, model.AuthPrivateKey
	with := func(change func(k map[string]any)) *model.AppJWKS {
		key := map[string]any{}
		for name, value := range rsaKey {
			key[name] = value
		}
		change(key)
		return &model.AppJWKS{Keys: []map[string]any{key}}
	}
	bad := "/relative"
	list := func(values ...string) []string { return values }
	cases := map[string]struct {
		method   model.AuthMethod
		settings model.AppOAuthSettings
		want     []string // the members with errors
	}{
		"a service": {basic,
			model.AppOAuthSettings{ApplicationType: "service", GrantTypes: list("client_credentials"), ResponseTypes: list("token")}, nil},
		"a service with a key": {private,
			model.AppOAuthSettings{ApplicationType: "service", GrantTypes: list("client_credentials"), ResponseTypes: list("token"),
				JWKS: with(func(map[string]any) {})}, nil},
		"a web application": {basic, model.AppOAuthSettings{
			ApplicationType: "web", GrantTypes: list("authorization_code", "implicit", "refresh_token"),
			ResponseTypes: list("code", "token", "id_token"), RedirectURIs: list("https://a.example/cb"),
		}, nil},
		"a native client with a private-use scheme": {none, model.AppOAuthSettings{
			ApplicationType: "native", GrantTypes: list("authorization_code", "password"), ResponseTypes: list("code"),
			RedirectURIs: list("com.example:/cb"),
		}, nil},
		"all members missing": {"", model.AppOAuthSettings{},
			list("application_type", "grant_types", "response_types", "token_endpoint_auth_method")},
		"unknown values": {"tls", model.AppOAuthSettings{ApplicationType: "robot", GrantTypes: list("magic"), ResponseTypes: list("wish")},
			list("application_type", "grant_types", "response_types", "token_endpoint_auth_method")},
		"a duplicate value": {basic,
			model.AppOAuthSettings{ApplicationType: "web", GrantTypes: list("password", "password"), ResponseTypes: list("token")},
			list("grant_types")},
		"a service without client credentials": {basic, model.AppOAuthSettings{
			ApplicationType: "service", GrantTypes: list("authorization_code"), ResponseTypes: list("code")}, list("grant_types")},
		"a service with the implicit grant": {basic, model.AppOAuthSettings{
			ApplicationType: "service", GrantTypes: list("client_credentials", "implicit"), ResponseTypes: list("token")}, list("grant_types")},
		"a browser client with client credentials": {basic, model.AppOAuthSettings{
			ApplicationType: "browser", GrantTypes: list("client_credentials"), ResponseTypes: list("token")}, list("grant_types")},
		"client credentials without authentication": {none, model.AppOAuthSettings{
			ApplicationType: "service", GrantTypes: list("client_credentials"), ResponseTypes: list("token")}, list("grant_types")},
		"the code grant without response type code": {basic, model.AppOAuthSettings{
			ApplicationType: "web", GrantTypes: list("authorization_code"), ResponseTypes: list("token")}, list("response_types")},
		"the implicit grant without response type": {basic, model.AppOAuthSettings{
			ApplicationType: "web", GrantTypes: list("implicit", "authorization_code"), ResponseTypes: list("code")}, list("response_types")},
		"response type code without grant": {basic, model.AppOAuthSettings{
			ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("code")}, list("response_types")},
		"response type id_token without grant": {basic, model.AppOAuthSettings{
			ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("id_token")}, list("response_types")},
		"invalid URLs": {basic, model.AppOAuthSettings{
			ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("token"), ClientURI: &bad, LogoURI: &bad, TOSURI: &bad,
			PolicyURI:        &bad,
			InitiateLoginURI: &bad, RedirectURIs: list("https://a.example/#x"), PostLogoutRedirectURIs: list("com.example:/x"),
		}, list("client_uri", "logo_uri", "tos_uri", "policy_uri", "initiate_login_uri", "redirect_uris", "post_logout_redirect_uris")},
		"a missing key": {private,
			model.AppOAuthSettings{ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("token")}, list("jwks")},
		"a symmetric key": {basic,
			model.AppOAuthSettings{ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("token"),
				JWKS: &model.AppJWKS{Keys: []map[string]any{{"kty": "oct", "k": "AAAA"}}}}, list("jwks")},
		"a key for encryption": {basic,
			model.AppOAuthSettings{ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("token"),
				JWKS: with(func(k map[string]any) { k["use"] = "enc" })}, list("jwks")},
		"an incomplete key": {basic,
			model.AppOAuthSettings{ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("token"),
				JWKS: with(func(k map[string]any) { delete(k, "n") })}, list("jwks")},
		"two keys with one kid": {basic,
			model.AppOAuthSettings{ApplicationType: "web", GrantTypes: list("password"), ResponseTypes: list("token"),
				JWKS: &model.AppJWKS{Keys: []map[string]any{rsaKey, rsaKey}}}, list("jwks")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			c.settings.Problems(c.method, func(member, format string, args ...any) {
				if len(got) == 0 || got[len(got)-1] != member {
					got = append(got, member)
				}
				require.NotContains(t, fmt.Sprintf(format, args...), "%!")
			})
			require.Empty(t, cmp.Diff(c.want, got))
		})
	}
}

func TestGivenClientIDsAndSecrets(t *testing.T) {
	require.Empty(t, model.ClientIDProblem("0oa1.x_y-z"))
	require.Empty(t, model.ClientSecretProblem(model.NewSecret(model.OAuthSecretLength)))
	for _, bad := range []string{"", "short", "with space", "ümlaut-x"} {
		require.NotEmpty(t, model.ClientIDProblem(bad), bad)
		require.NotEmpty(t, model.ClientSecretProblem(bad), bad)
	}
}

func TestFindOAuthClient(t *testing.T) {
	d, ctx := modeltest.Deps(t, sqldbtest.SQLite(t), nil), t.Context()
	client := model.AppOAuthClient{ID: "my-client", AuthMethod: model.AuthNone}
	app := model.NewOIDCApp("x", client, model.AppOAuthSettings{ApplicationType: model.OAuthNative})
	require.NoError(t, d.Store.Update(ctx, func(tx *docstore.Tx) error {
		if _, err := d.Apps.Insert(ctx, tx, "a1", app); err != nil {
			return err
		}
		_, err := d.AppGrants.Insert(ctx, tx, model.NewID(model.KindGrant), model.AppGrant{AppID: "a1", ScopeID: "svc.users.read"})
		return err
	}))
	doc, err := d.FindOAuthClient(ctx, d.Store.Reader(), "my-client")
	require.NoError(t, err)
	require.Equal(t, "a1", doc.ID)
	require.Empty(t, cmp.Diff(app, doc.Value))
	_, err = d.FindOAuthClient(ctx, d.Store.Reader(), "a1")
	require.ErrorIs(t, err, docstore.ErrNotFound)
	scopes, err := d.GrantedScopes(ctx, d.Store.Reader(), "a1")
	require.NoError(t, err)
	require.Equal(t, []string{"svc.users.read"}, scopes)
	err = d.Store.Update(ctx, func(tx *docstore.Tx) error { _, err := d.Apps.Insert(ctx, tx, "a2", app); return err })
	require.ErrorContains(t, err, model.AppByClientID, "client_id is unique")
}
