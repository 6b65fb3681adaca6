package scimserver_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

func TestTokens_RequiredEverywhere(t *testing.T) {
	h := serve(t, newMapStore())
	for _, path := range []string{"", "/", "/Users", "/Users/x", "/Users/.search", "/Groups", "/Groups/x", "/.search", "/Me", "/Bulk",
		"/ServiceProviderConfig", "/Schemas", "/Schemas/x", "/ResourceTypes", "/ResourceTypes/User", "/nothing/here",
		"/Users?access_token=" + token} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodOptions} {
			a := h.do(t, method, path, nil, func(r *http.Request) { r.Header.Del("Authorization") }).wantError(t, http.StatusUnauthorized, "")
			require.Equal(t, `Bearer realm="SCIM"`, a.header.Get("WWW-Authenticate"), "%s %s", method, path)
		}
	}
}

func TestTokens(t *testing.T) {
	h := serve(t, newMapStore())
	for _, test := range []struct {
		name, authorization string
		status              int
		challenge           string
	}{
		{"the first token", "Bearer " + token, 200, ""},
		{"another token", "Bearer second-token", 200, ""},
		{"the scheme in another case", "bEARER " + token, 200, ""},
		{"an unknown token", "Bearer wrong", 401, `Bearer realm="SCIM", error="invalid_token"`},
		{"a token in another case", "Bearer The-Token", 401, `Bearer realm="SCIM", error="invalid_token"`},
		{"the start of a token", "Bearer the-toke", 401, `Bearer realm="SCIM", error="invalid_token"`},
		{"an empty token", "Bearer ", 401, `Bearer realm="SCIM"`},
		{"no scheme", token, 401, `Bearer realm="SCIM"`},
		{"another scheme", "Basic " + token, 401, `Bearer realm="SCIM"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := h.do(t, http.MethodGet, "/Users", nil, header("Authorization", test.authorization))
			a.want(t, test.status)
			require.Equal(t, test.challenge, a.header.Get("WWW-Authenticate"))
			require.NotContains(t, a.text, token)
		})
	}
	t.Run("two Authorization headers", func(t *testing.T) {
		h.do(t, http.MethodGet, "/Users", nil, func(r *http.Request) { r.Header.Add("Authorization", "Bearer second-token") }).
			wantError(t, http.StatusUnauthorized, "")
	})
}

func TestStaticTokens_RejectEmptyToken(t *testing.T) {
	for _, tokens := range []scimserver.TokenVerifier{scimserver.StaticTokens(""), scimserver.StaticTokens()} {
		_, err := tokens.VerifyToken(t.Context(), "")
		require.ErrorIs(t, err, scimserver.ErrBadToken)
	}
}

type brokenTokens struct{}

func (brokenTokens) VerifyToken(context.Context, string) (scimserver.Grant, error) {
	return scimserver.Grant{}, errors.New("the token database of Ann is down")
}

// TestTokens_VerifierFailure checks that the server returns an internal error without details if the token verifier fails.
func TestTokens_VerifierFailure(t *testing.T) {
	h := serve(t, newMapStore(), func(o *scimserver.Options) { o.Tokens = brokenTokens{} })
	a := h.do(t, http.MethodGet, "/Users", nil).wantError(t, http.StatusInternalServerError, "")
	require.NotContains(t, a.text, "Ann")
	require.Contains(t, h.log.String(), "the token database of Ann is down")
	require.NotContains(t, h.log.String(), token)
}

// readOnlyToken accepts one token, which is read-only.
type readOnlyToken string

func (r readOnlyToken) VerifyToken(_ context.Context, token string) (scimserver.Grant, error) {
	if token != string(r) {
		return scimserver.Grant{}, scimserver.ErrBadToken
	}
	return scimserver.Grant{ReadOnly: true}, nil
}

func TestTokens_ReadOnly(t *testing.T) {
	store := newMapStore()
	path := "/Users/" + serve(t, store).newUser(t, "ann").id()
	h := serve(t, store, func(o *scimserver.Options) { o.Tokens = readOnlyToken(token) })
	h.get(t, path)
	h.get(t, "/Schemas")
	search := object{"schemas": []string{scim.SearchRequestMessage}}
	h.do(t, http.MethodPost, "/Users/.search", search).want(t, http.StatusOK)
	h.do(t, http.MethodPost, "/.search", search).want(t, http.StatusOK)
	h.do(t, http.MethodPost, "/Users", user("bob")).wantError(t, http.StatusForbidden, "")
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		h.do(t, method, path, user("bob")).wantError(t, http.StatusForbidden, "")
		h.do(t, method, path+"/.search", user("bob")).want(t, http.StatusNotFound)
	}
	require.Equal(t, `"ann"`, h.get(t, path).json("userName"))
}
