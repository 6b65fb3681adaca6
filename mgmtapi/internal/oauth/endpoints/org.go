package endpoints

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

type orgTokenRequest struct {
	tokens.Credentials
	GrantType string `form:"grant_type" doc:"client_credentials."`
	Scope     string `form:"scope" max:"10000" doc:"Names of scopes, separated by spaces."`
}

// orgParty is the entry for the org authorization server in the targets of a log event.
var orgParty = model.LogParty{ID: model.OrgRing, Type: audit.TypeAuthServer, AlternateID: model.OrgRing,
	DisplayName: "Org authorization server"}

func (s *Slice) orgToken(ctx context.Context, r *orgTokenRequest) (TokenResponse, error) {
	at := orgPlace(ctx)
	client, err := s.clients.Authenticate(ctx, r.Credentials, at.audiences(tokenEndpoint)...)
	if err != nil {
		return TokenResponse{}, s.refuse(ctx, audit.OrgAccessGrant, orgParty, unknownClient(err, r.ClientID), err)
	}
	out, err := s.orgGrant(ctx, r, client)
	if err != nil {
		return TokenResponse{}, s.refuse(ctx, audit.OrgAccessGrant, orgParty, audit.Client(client), err)
	}
	return out, nil
}

// orgGrantTypes are the grant types of the org server.
var orgGrantTypes = []string{model.GrantClientCredentials}

// orgGrant issues a token with scopes that were granted to the application of a client.
func (s *Slice) orgGrant(ctx context.Context, r *orgTokenRequest, client docstore.Doc[model.App]) (TokenResponse, error) {
	if err := checkGrantType(client, r.GrantType, orgGrantTypes); err != nil {
		return TokenResponse{}, err
	}
	if client.Value.Credentials.OAuthClient.AuthMethod == model.AuthNone {
		return TokenResponse{}, rest.OAuthFail(rest.OAuthUnauthorized, "A client without credentials cannot use client_credentials.")
	}
	granted, err := s.GrantedScopes(ctx, s.Store.Reader(), client.ID)
	if err != nil {
		return TokenResponse{}, err
	}
	var scopes []string
	for _, name := range strings.Fields(r.Scope) {
		if !slices.Contains(granted, name) {
			return TokenResponse{}, rest.OAuthFail(rest.OAuthInvalidScope, "One or more scopes are unknown or not granted to the client.")
		}
		if !slices.Contains(scopes, name) {
			scopes = append(scopes, name)
		}
	}
	if len(scopes) == 0 {
		return TokenResponse{}, rest.OAuthFail(rest.OAuthInvalidScope, "The request names no scope.")
	}
	token, jti, err := s.issuer.IssueOrg(ctx, rest.URL(ctx), client.Value.Credentials.OAuthClient.ID, scopes)
	if err != nil {
		return TokenResponse{}, err
	}
	actor := audit.Client(client)
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		return audit.Write(ctx, tx, s.Deps, audit.Entry{
			Type: audit.OrgAccessGrant, Actor: &actor, Targets: []model.LogParty{accessToken(jti), orgParty},
			Debug: map[string]string{"grantType": r.GrantType, "grantedScopes": strings.Join(scopes, " ")},
		})
	})
	if err != nil {
		return TokenResponse{}, err
	}
	return TokenResponse{TokenType: "Bearer", ExpiresIn: int(tokens.OrgLifetime / time.Second), AccessToken: token,
		Scope: strings.Join(scopes, " ")}, nil
}
