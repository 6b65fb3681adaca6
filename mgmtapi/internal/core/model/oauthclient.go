package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
)

// AuthMethod is the authentication method of an OAuth client at the token endpoint (RFC 7591 section 2).
type AuthMethod string

// The authentication methods.
const (
	AuthSecretBasic AuthMethod = "client_secret_basic" //nolint:gosec // a name
	AuthSecretPost  AuthMethod = "client_secret_post"  //nolint:gosec // a name
	AuthPrivateKey  AuthMethod = "private_key_jwt"
	AuthNone        AuthMethod = "none"
)

// AuthMethods lists the authentication methods.
func AuthMethods() []AuthMethod {
	return []AuthMethod{AuthSecretBasic, AuthSecretPost, AuthPrivateKey, AuthNone}
}

// Secret reports whether clients with this method have a secret.
func (m AuthMethod) Secret() bool { return m == AuthSecretBasic || m == AuthSecretPost }

// AppOAuthClient holds the client_id and the authentication of an application of the sign-on mode OPENID_CONNECT.
type AppOAuthClient struct {
	// ID is the client_id. Default: the id of the application. It is unique among all applications.
	ID string `json:"clientId"`
	// SealedSecret is the client_secret, encrypted with OAuthSecretBinding(app id). Empty for methods without a secret.
	SealedSecret    string     `json:"sealedSecret,omitempty"`
	AuthMethod      AuthMethod `json:"authMethod"`
	PKCERequired    bool       `json:"pkceRequired,omitempty"`
	AutoKeyRotation bool       `json:"autoKeyRotation,omitempty"`
}

// OAuthSecretBinding returns the binding with which package seal encrypts a client_secret.
func OAuthSecretBinding(app string) string { return "oauth-client-secret:" + app }

// OAuthSecretLength is the length of a generated client_secret, in characters.
const OAuthSecretLength = 64

// The types of OAuth clients.
const (
	OAuthWeb     = "web"
	OAuthNative  = "native"
	OAuthBrowser = "browser"
	OAuthService = "service"
)

// The grant types of OAuth clients that have validation rules.
const (
	GrantAuthorizationCode = "authorization_code"
	GrantImplicit          = "implicit"
	GrantPassword          = "password"
	GrantRefreshToken      = "refresh_token"
	GrantClientCredentials = "client_credentials"
)

// The values that the members of AppOAuthSettings accept.
var (
	oauthTypes  = []string{OAuthService, OAuthWeb, OAuthNative, OAuthBrowser}
	oauthGrants = []string{
		GrantAuthorizationCode, GrantImplicit, GrantPassword, GrantRefreshToken, GrantClientCredentials, "interaction_code",
		"urn:ietf:params:oauth:grant-type:device_code", "urn:ietf:params:oauth:grant-type:token-exchange",
		"urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:ietf:params:oauth:grant-type:saml2-bearer",
		"urn:openid:params:grant-type:ciba",
	}
	oauthResponses = []string{"code", "token", "id_token"}
)

// AppOAuthSettings are the settings of an application as an OAuth client, in the shape that they have in JSON.
type AppOAuthSettings struct {
	ClientURI              *string  `json:"client_uri" empty:"absent" max:"1024" doc:"Page with information about the client."`
	LogoURI                *string  `json:"logo_uri" empty:"absent" max:"1024" doc:"Logo of the client."`
	TOSURI                 *string  `json:"tos_uri,omitempty" empty:"absent" max:"1024" doc:"Terms of service of the client."`
	PolicyURI              *string  `json:"policy_uri,omitempty" empty:"absent" max:"1024" doc:"Privacy policy of the client."`
	InitiateLoginURI       *string  `json:"initiate_login_uri,omitempty" empty:"absent" max:"1024" doc:"Page that starts a sign-in."`
	RedirectURIs           []string `json:"redirect_uris,omitempty" max:"100" doc:"Redirect URIs of the client."`
	PostLogoutRedirectURIs []string `json:"post_logout_redirect_uris,omitempty" max:"100" doc:"Redirect URIs after a sign-out."`
	ResponseTypes          []string `json:"response_types" doc:"Response types of the authorization endpoint: code, token, id_token."`
	GrantTypes             []string `json:"grant_types" doc:"Grant types that the client may use."`
	ApplicationType        string   `json:"application_type" doc:"Type of the client: service, web, native or browser."`

	ConsentMethod string `json:"consent_method" empty:"absent" enum:"TRUSTED,REQUIRED" default:"TRUSTED" doc:"Whether users must consent."`

	IssuerMode string   `json:"issuer_mode" empty:"absent" default:"ORG_URL"`
	JWKS       *AppJWKS `json:"jwks,omitempty" doc:"The public keys of a client that authenticates with private_key_jwt."`
}

// MoreTags implements rest.Described.
func (AppOAuthSettings) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"issuer_mode": `enum:"ORG_URL,DYNAMIC" doc:"Issuer of tokens. It is always the URL of the organization."`,
	}
}

// AppJWKS is the set of public keys of an OAuth client (RFC 7517).
type AppJWKS struct {
	Keys []map[string]any `json:"keys" max:"50" doc:"The keys: RSA or EC, public halves only."`
}

// Set parses the keys. It returns an empty set for nil.
func (s *AppJWKS) Set() (set jose.JSONWebKeySet, err error) {
	if s == nil {
		return set, nil
	}
	for i, key := range s.Keys {
		text, err := json.Marshal(key)
		if err != nil {
			return set, fmt.Errorf("key %d: %w", i, err)
		}
		var k jose.JSONWebKey
		if err := json.Unmarshal(text, &k); err != nil {
			return set, fmt.Errorf("key %d: %w", i, err)
		}
		set.Keys = append(set.Keys, k)
	}
	return set, nil
}

// Problems reports the errors in the settings of a client that authenticates with the method, each with the name of its member.
// AuthMethodMember is the member name of the method.
func (s *AppOAuthSettings) Problems(method AuthMethod, report func(member, format string, args ...any)) {
	s.modeProblems(method, report)
	s.uriProblems(report)
	s.keyProblems(method, report)
}

// AuthMethodMember is the name of the member for the authentication method in requests.
const AuthMethodMember = "token_endpoint_auth_method"

func (s *AppOAuthSettings) modeProblems(method AuthMethod, report func(member, format string, args ...any)) {
	oneOf("application_type", []string{s.ApplicationType}, oauthTypes, report)
	oneOf("grant_types", s.GrantTypes, oauthGrants, report)
	oneOf("response_types", s.ResponseTypes, oauthResponses, report)
	if method == "" {
		report(AuthMethodMember, "The field cannot be left blank")
	} else if !slices.Contains(AuthMethods(), method) {
		report(AuthMethodMember, "The value must be one of %s", join(AuthMethods()))
	}
	has := func(grant string) bool { return slices.Contains(s.GrantTypes, grant) }
	answers := func(response string) bool { return slices.Contains(s.ResponseTypes, response) }
	switch {
	case s.ApplicationType == OAuthService && !has(GrantClientCredentials):
		report("grant_types", "Clients of the type service need %s", GrantClientCredentials)
	case s.ApplicationType == OAuthService && (has(GrantAuthorizationCode) || has(GrantImplicit)):
		report("grant_types", "Clients of the type service cannot use grant types that redirect users")
	case has(GrantClientCredentials) && (s.ApplicationType == OAuthBrowser || method == AuthNone):
		report("grant_types", "%s requires a confidential client, not the type browser or the method none", GrantClientCredentials)
	case has(GrantAuthorizationCode) && !answers("code"):
		report("response_types", "The grant type %s requires code", GrantAuthorizationCode)
	case has(GrantImplicit) && !answers("token") && !answers("id_token"):
		report("response_types", "The grant type %s requires token or id_token", GrantImplicit)
	case answers("code") && !has(GrantAuthorizationCode) && !has("interaction_code"):
		report("response_types", "code requires the grant type %s", GrantAuthorizationCode)
	case answers("id_token") && !has(GrantImplicit):
		report("response_types", "id_token requires the grant type %s", GrantImplicit)
	}
}

// oneOf reports values that are missing, not accepted or duplicates.
func oneOf(member string, values, accepted []string, report func(member, format string, args ...any)) {
	if len(values) == 0 || values[0] == "" {
		report(member, "The field cannot be left blank")
	}
	for i, value := range values {
		switch {
		case !slices.Contains(accepted, value):
			report(member, "The value must be one of %s", strings.Join(accepted, ", "))
		case slices.Contains(values[:i], value):
			report(member, "The value %s is a duplicate", value)
		}
	}
}

func join(methods []AuthMethod) string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

func (s *AppOAuthSettings) uriProblems(report func(member, format string, args ...any)) {
	for _, page := range []struct {
		member string
		text   *string
	}{
		{"client_uri", s.ClientURI},
		{"logo_uri", s.LogoURI},
		{"tos_uri", s.TOSURI},
		{"policy_uri", s.PolicyURI},
		{"initiate_login_uri", s.InitiateLoginURI},
	} {
		if page.text == nil {
			continue
		}
		if u, err := url.Parse(*page.text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			report(page.member, "The value must be an absolute http or https URL")
		}
	}
	s.redirectProblems("redirect_uris", s.RedirectURIs, report)
	s.redirectProblems("post_logout_redirect_uris", s.PostLogoutRedirectURIs, report)
}

func (s *AppOAuthSettings) redirectProblems(member string, uris []string, report func(member, format string, args ...any)) {
	for _, text := range uris {
		u, err := url.Parse(text)
		web := err == nil && (u.Scheme == "http" || u.Scheme == "https")
		switch {
		case err != nil || !u.IsAbs() || u.Fragment != "" || len(text) > maxURI || web && u.Hostname() == "":
			report(member, "%.100q is not an absolute URI without fragment of at most %d bytes", text, maxURI)
		case !web && s.ApplicationType != OAuthNative:
			report(member, "%.100q must have the scheme http or https: only clients of the type native can use other schemes", text)
		}
	}
}

const maxURI = 1024

func (s *AppOAuthSettings) keyProblems(method AuthMethod, report func(member, format string, args ...any)) {
	set, err := s.JWKS.Set()
	if err != nil {
		report("jwks", "%s", err)
		return
	}
	if method == AuthPrivateKey && len(set.Keys) == 0 {
		report("jwks", "The authentication method %s requires a key", AuthPrivateKey)
	}
	seen := map[string]bool{}
	for i, key := range set.Keys {
		kty, _ := s.JWKS.Keys[i]["kty"].(string)
		switch {
		case kty != "RSA" && kty != "EC":
			report("jwks", "key %d: The kty must be RSA or EC", i)
		case !key.IsPublic():
			report("jwks", "key %d: The key must be a public key", i)
		case !key.Valid():
			report("jwks", "key %d: The key is not valid", i)
		case key.Use != "" && key.Use != "sig":
			report("jwks", "key %d: The use must be sig", i)
		case len(set.Keys) > 1 && key.KeyID == "":
			report("jwks", "key %d: The kid is required if there are several keys", i)
		case seen[key.KeyID]:
			report("jwks", "key %d: The kid %s is a duplicate", i, key.KeyID)
		}
		seen[key.KeyID] = true
	}
}

// The length is compared separately: a counted repetition would multiply the size of a compiled expression.
var clientID = regexp.MustCompile(`^[A-Za-z0-9$_.+!*'(),-]*$`)

// ClientIDProblem returns why a supplied client_id is invalid, "" if it is valid.
func ClientIDProblem(id string) string {
	if len(id) >= 6 && len(id) <= 100 && clientID.MatchString(id) {
		return ""
	}
	return "The value must be 6 to 100 letters, digits or characters of $-_.+!*'(),"
}

var clientSecret = regexp.MustCompile(`^[!-~]*$`)

// ClientSecretProblem returns why a supplied client_secret is invalid, "" if it is valid.
func ClientSecretProblem(secret string) string {
	if len(secret) >= 14 && len(secret) <= 100 && clientSecret.MatchString(secret) {
		return ""
	}
	return "The value must be 14 to 100 visible ASCII characters"
}

// OIDCName is the catalog name of all OAuth clients.
const OIDCName = "oidc_client"

// NewOIDCApp returns an active OAuth client. All settings that do not concern OAuth have their defaults.
func NewOIDCApp(label string, client AppOAuthClient, settings AppOAuthSettings) App {
	kid := NewSecret(KIDLength)
	return App{
		Name: OIDCName, Label: label, Status: AppActive, SignOnMode: catalog.OpenIDConnect,
		Visibility: AppVisibility{Hide: AppHide{IOS: true, Web: true}, AppLinks: map[string]bool{DefaultLink: true}},
		Credentials: AppCredentials{
			UserNameTemplate: UserNameTemplate{Type: TemplateBuiltIn, Template: "${source.login}"},
			SigningKID:       kid, OwnKID: kid, OAuthClient: &client,
		},
		Settings: AppSettings{
			App:           map[string]any{},
			Notifications: AppNotifications{VPN: AppVPN{Network: AppNetwork{Connection: "DISABLED"}}},
			OAuthClient:   &settings,
		},
	}
}

// OAuth reports whether the application is an OAuth client.
func (a *App) OAuth() bool { return a.Credentials.OAuthClient != nil && a.Settings.OAuthClient != nil }

// FindOAuthClient returns the application that is the OAuth client with a client_id, or docstore.ErrNotFound. The caller must reject
// authentication by a client that is not ACTIVE.
func (d Deps) FindOAuthClient(ctx context.Context, q docstore.Reader, clientID string) (docstore.Doc[App], error) {
	page, err := d.Apps.Query(ctx, q, docstore.Query[App]{Where: docstore.Eq(AppByClientID, clientID), Limit: 1})
	switch {
	case err != nil:
		return docstore.Doc[App]{}, err
	case len(page.Docs) == 0:
		return docstore.Doc[App]{}, docstore.ErrNotFound
	}
	return page.Docs[0], nil
}
