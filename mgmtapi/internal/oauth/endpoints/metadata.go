package endpoints

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// Metadata is the metadata of an authorization server (RFC 8414). It names no authorization endpoint, because no supported grant type uses
// one.
type Metadata struct {
	Issuer                string   `json:"issuer" readOnly:"true" doc:"Issuer of the tokens of the server."`
	TokenEndpoint         string   `json:"token_endpoint" readOnly:"true" doc:"Token endpoint."`
	RegistrationEndpoint  string   `json:"registration_endpoint" readOnly:"true" doc:"Client registration endpoint."`
	JWKSURI               string   `json:"jwks_uri" readOnly:"true" doc:"URL of the public signing keys."`
	IntrospectionEndpoint string   `json:"introspection_endpoint" readOnly:"true" doc:"Introspection endpoint."`
	RevocationEndpoint    string   `json:"revocation_endpoint" readOnly:"true" doc:"Revocation endpoint."`
	ResponseTypes         []string `json:"response_types_supported" readOnly:"true" doc:"None: browser flows are not supported."`
	ResponseModes         []string `json:"response_modes_supported" readOnly:"true" doc:"None."`
	GrantTypes            []string `json:"grant_types_supported" readOnly:"true" doc:"Supported grant types."`
	SubjectTypes          []string `json:"subject_types_supported" readOnly:"true" doc:"public."`
	Scopes                []string `json:"scopes_supported" readOnly:"true" doc:"Published scopes."`

	TokenMethods []string `json:"token_endpoint_auth_methods_supported" readOnly:"true" doc:"Client authentication at the token endpoint."`

	IntrospectionMethods []string `json:"introspection_endpoint_auth_methods_supported" readOnly:"true"`
	RevocationMethods    []string `json:"revocation_endpoint_auth_methods_supported" readOnly:"true"`

	SigningAlgorithms []string `json:"token_endpoint_auth_signing_alg_values_supported" readOnly:"true" doc:"Algorithms of client assertions."`

	Claims               []string `json:"claims_supported" readOnly:"true" doc:"Claims that tokens can have."`
	CodeChallengeMethods []string `json:"code_challenge_methods_supported" readOnly:"true" doc:"None."`
	RequestParameter     bool     `json:"request_parameter_supported" readOnly:"true" doc:"Always false."`
}

// MoreTags implements rest.Described.
func (Metadata) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"introspection_endpoint_auth_methods_supported": `doc:"Client authentication at the introspection endpoint."`,
		"revocation_endpoint_auth_methods_supported":    `doc:"Client authentication at the revocation endpoint."`,
	}
}

// OpenIDMetadata is the metadata of an OpenID provider (OpenID Connect Discovery).
type OpenIDMetadata struct {
	Metadata
	AuthorizationEndpoint string   `json:"authorization_endpoint" readOnly:"true"`
	IDTokenAlgorithms     []string `json:"id_token_signing_alg_values_supported" readOnly:"true" doc:"Signature algorithms of ID tokens."`
}

// MoreTags implements rest.Described.
func (OpenIDMetadata) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"authorization_endpoint": `doc:"Authorization endpoint. The format requires the member; no response type is supported."`,
	}
}

// signingAlgorithm is the signature algorithm of tokens.
const signingAlgorithm = "RS256"

// ownClaims are the claims that tokens have without configuration.
var ownClaims = []string{"iss", "ver", "sub", "aud", "iat", "exp", "jti", "cid", "uid", "scp", "auth_time", "amr"}

func methods() []string {
	var out []string
	for _, m := range model.AuthMethods() {
		out = append(out, string(m))
	}
	return out
}

// describe returns the metadata common to all servers. address is the base URL of the endpoints, base that of client registration.
func describe(issuer, address, base string) Metadata {
	at := func(endpoint string) string { return address + "/v1/" + endpoint }
	return Metadata{
		Issuer: issuer, TokenEndpoint: at(tokenEndpoint), RegistrationEndpoint: base + "/oauth2/v1/clients",
		JWKSURI: at("keys"), IntrospectionEndpoint: at("introspect"), RevocationEndpoint: at("revoke"), IntrospectionMethods: methods(),
		RevocationMethods: methods(),
		ResponseTypes:     []string{}, ResponseModes: []string{}, SubjectTypes: []string{"public"},
		TokenMethods: methods(), SigningAlgorithms: []string{"RS256", "ES256"}, CodeChallengeMethods: []string{}, Scopes: []string{},
	}
}

func (s *Slice) metadata(ctx context.Context, r *serverRequest) (Metadata, error) {
	m := describe(r.issuer, r.issuer, s.domains.Base(ctx, &r.found.Value))
	m.GrantTypes = grantTypes
	for _, scope := range r.found.Value.Scopes {
		if scope.Published {
			m.Scopes = append(m.Scopes, scope.Name)
		}
	}
	m.Claims = slices.Clone(ownClaims)
	for _, claim := range r.found.Value.Claims {
		if claim.Status == model.Active && !slices.Contains(m.Claims, claim.Name) {
			m.Claims = append(m.Claims, claim.Name)
		}
	}
	return m, nil
}

func (s *Slice) openID(ctx context.Context, r *serverRequest) (OpenIDMetadata, error) {
	m, err := s.metadata(ctx, r)
	return asOpenID(m), err
}

func (s *Slice) orgMetadata(ctx context.Context, _ *struct{}) (Metadata, error) {
	base := rest.URL(ctx)
	m := describe(base, base+"/oauth2", base)
	m.GrantTypes, m.Claims = orgGrantTypes, ownClaims
	return m, nil
}

func (s *Slice) orgOpenID(ctx context.Context, r *struct{}) (OpenIDMetadata, error) {
	m, err := s.orgMetadata(ctx, r)
	return asOpenID(m), err
}

func asOpenID(m Metadata) OpenIDMetadata {
	return OpenIDMetadata{
		Metadata: m, AuthorizationEndpoint: strings.TrimSuffix(m.TokenEndpoint, tokenEndpoint) + authorize,
		IDTokenAlgorithms: []string{signingAlgorithm},
	}
}

// KeySet holds the public signing keys of a server (RFC 7517 section 5).
type KeySet struct {
	Keys []signkey.JWK `json:"keys" readOnly:"true" doc:"The keys."`
}

func (s *Slice) keySet(ctx context.Context, r *serverRequest) (KeySet, error) {
	return s.publicKeys(ctx, r.found.ID, r.found.Value.ManualRotation)
}

func (s *Slice) orgKeySet(ctx context.Context, _ *struct{}) (KeySet, error) {
	return s.publicKeys(ctx, model.OrgRing, false)
}

// publicKeys returns the active key, the next key, and earlier keys whose tokens may still be valid.
func (s *Slice) publicKeys(ctx context.Context, server string, manual bool) (KeySet, error) {
	ring, err := s.keys.Ring(ctx, server, manual)
	if err != nil {
		return KeySet{}, err
	}
	out := KeySet{}
	for _, kid := range []string{ring.Active, ring.Next, ring.Expired} {
		if kid == "" {
			continue
		}
		key, err := s.keys.Key(ctx, server, kid)
		if err != nil {
			return KeySet{}, err
		}
		jwk, err := key.JWK()
		if err != nil {
			return KeySet{}, err
		}
		jwk.Alg = signingAlgorithm
		out.Keys = append(out.Keys, jwk)
	}
	return out, nil
}
