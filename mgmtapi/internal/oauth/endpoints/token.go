package endpoints

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

type tokenRequest struct {
	serverRequest
	tokens.Credentials
	GrantType    string `form:"grant_type" doc:"client_credentials, password or refresh_token."`
	Scope        string `form:"scope" max:"10000" doc:"Names of scopes, separated by spaces."`
	Username     string `form:"username" max:"1000" doc:"Login of the user, for the grant type password."`
	Password     string `form:"password" max:"1000" writeOnly:"true" doc:"Password of the user, for the grant type password."`
	RefreshToken string `form:"refresh_token" max:"1000" writeOnly:"true" doc:"The refresh token, for the grant type refresh_token."`
}

// TokenResponse is the response of a token endpoint (RFC 6749 section 5.1).
type TokenResponse struct {
	TokenType    string `json:"token_type" readOnly:"true" doc:"Bearer."`
	ExpiresIn    int    `json:"expires_in" readOnly:"true" doc:"Lifetime of the access token in seconds."`
	AccessToken  string `json:"access_token" readOnly:"true" doc:"The access token."`
	Scope        string `json:"scope" readOnly:"true" doc:"Granted scopes, separated by spaces."`
	RefreshToken string `json:"refresh_token,omitempty" readOnly:"true" doc:"The refresh token, if offline_access was granted."`
	IDToken      string `json:"id_token,omitempty" readOnly:"true" doc:"The ID token, if openid was granted for a user."`
}

// grantTypes are the grant types of custom servers.
var grantTypes = []string{model.GrantClientCredentials, model.GrantPassword, model.GrantRefreshToken}

func (s *Slice) token(ctx context.Context, r *tokenRequest) (TokenResponse, error) {
	at := r.place(ctx)
	client, err := s.clients.Authenticate(ctx, r.Credentials, at.audiences(tokenEndpoint)...)
	if err != nil {
		return TokenResponse{}, s.refuse(ctx, audit.AccessGrant, r.server(), unknownClient(err, r.ClientID), err)
	}
	out, err := s.grant(ctx, r, client)
	if err != nil {
		return TokenResponse{}, s.refuse(ctx, audit.AccessGrant, r.server(), audit.Client(client), err)
	}
	return out, nil
}

// server returns the server as a log target.
func (r *serverRequest) server() model.LogParty { return audit.AuthServer(r.found.ID, &r.found.Value) }

// unknownClient returns a rejected client as a log target.
func unknownClient(err error, sent string) model.LogParty {
	id := tokens.Claimed(err)
	if id == "" {
		id = sent
	}
	if id == "" {
		id = "unknown"
	}
	return model.LogParty{ID: id, Type: audit.TypeClient, AlternateID: id}
}

// refuse logs why a client received no token, and returns err. Wrong passwords are already logged.
func (s *Slice) refuse(ctx context.Context, event audit.Type, server, client model.LogParty, err error) error {
	e, ok := errors.AsType[*rest.OAuthError](err)
	if !ok || errors.Is(err, errLogged) || !s.refusals.AllowN(s.Now(), 1) {
		return err
	}
	audit.WriteAlone(ctx, s.Deps, s.logger, audit.Entry{
		Type: event, Actor: &client, Targets: []model.LogParty{server}, Failure: e.Description, Debug: map[string]string{"error": e.Code},
	})
	return err
}

// errLogged marks errors that are already logged.
var errLogged = errors.New("logged")

// checkGrantType returns an error if the server does not support the grant type, or the client may not use it.
func checkGrantType(client docstore.Doc[model.App], grant string, supported []string) error {
	switch {
	case grant == "":
		return rest.OAuthFail(rest.OAuthInvalidRequest, "grant_type is missing.")
	case !slices.Contains(supported, grant):
		return rest.OAuthFail(rest.OAuthUnsupportedGrant, "The grant type must be one of "+strings.Join(supported, ", ")+".")
	case !slices.Contains(client.Value.Settings.OAuthClient.GrantTypes, grant):
		return rest.OAuthFail(rest.OAuthUnauthorized, "The client is not authorized to use the provided grant type.")
	}
	return nil
}

// grant issues tokens to an authenticated client.
func (s *Slice) grant(ctx context.Context, r *tokenRequest, client docstore.Doc[model.App]) (TokenResponse, error) {
	if err := checkGrantType(client, r.GrantType, grantTypes); err != nil {
		return TokenResponse{}, err
	}
	if r.GrantType == model.GrantRefreshToken {
		return s.refresh(ctx, r, client)
	}
	scopes, err := tokens.RequestedScopes(&r.found.Value, r.Scope)
	if err != nil {
		return TokenResponse{}, err
	}
	in := tokens.Request{Server: r.found, Issuer: r.issuer, Grant: r.GrantType, Client: client, Scopes: scopes, SignedIn: s.Now()}
	switch {
	case r.GrantType == model.GrantPassword:
		if in.Person, err = s.signIn(ctx, r, client); err != nil {
			return TokenResponse{}, err
		}
	case client.Value.Credentials.OAuthClient.AuthMethod == model.AuthNone:
		return TokenResponse{}, rest.OAuthFail(rest.OAuthUnauthorized, "A client without credentials cannot use client_credentials.")
	}
	if in.Decision, err = tokens.Decide(&r.found.Value, in.ClientID(), r.GrantType, in.Person, scopes); err != nil {
		return TokenResponse{}, err
	}
	grants := client.Value.Settings.OAuthClient.GrantTypes
	var secret string
	if in.Person != nil && slices.Contains(scopes, model.ScopeOffline) && slices.Contains(grants, model.GrantRefreshToken) {
		in.Refresh, secret = model.NewID(model.KindRefreshToken), model.NewSecret(refreshLength)
	}
	issued, err := s.issuer.Issue(ctx, in)
	if err != nil {
		return TokenResponse{}, err
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if secret != "" {
			if err := s.storeRefresh(ctx, tx, &in, secret); err != nil {
				return err
			}
		}
		if err := s.consent(ctx, tx, &in); err != nil {
			return err
		}
		return s.logIssued(ctx, tx, &in, &issued, secret != "")
	})
	if err != nil {
		return TokenResponse{}, err
	}
	return respond(&in, &issued, secret), nil
}

// refreshLength is the number of characters in a refresh token.
const refreshLength = 43

func respond(in *tokens.Request, issued *tokens.Issued, refresh string) TokenResponse {
	return TokenResponse{
		TokenType: "Bearer", ExpiresIn: issued.ExpiresIn, AccessToken: issued.Access, Scope: strings.Join(in.Scopes, " "),
		RefreshToken: refresh, IDToken: issued.ID,
	}
}

// storeRefresh stores a refresh token, unless its client, user or server was deleted in the meantime.
func (s *Slice) storeRefresh(ctx context.Context, tx *docstore.Tx, in *tokens.Request, secret string) error {
	_, noServer := s.AuthServers.Get(ctx, tx, in.Server.ID)
	_, noApp := s.Apps.Get(ctx, tx, in.Client.ID)
	_, noUser := s.Users.Get(ctx, tx, in.Person.User.ID)
	if err := errors.Join(noServer, noApp, noUser); err != nil {
		if errors.Is(err, docstore.ErrNotFound) {
			return rest.OAuthFail(rest.OAuthAccessDenied, "The client, the user or the authorization server was deleted.")
		}
		return err
	}
	now := s.Now()
	t := model.RefreshToken{
		Hash: model.SecretHash(secret), Server: in.Server.ID, ClientID: in.ClientID(), AppID: in.Client.ID, UserID: in.Person.User.ID,
		Scopes: in.Scopes,
		Status: model.TokenActive, Grant: in.Grant, Policy: in.Policy.ID, Rule: in.Rule.ID, SignedIn: in.SignedIn,
		Window: time.Duration(in.Rule.WindowMinutes) * time.Minute,
	}
	if in.Rule.RefreshMinutes > 0 {
		t.End = now.Add(time.Duration(in.Rule.RefreshMinutes) * time.Minute)
	}
	t.Use(now)
	if _, err := s.RefreshTokens.DeleteWhere(ctx, tx, docstore.Lt(model.RefreshTokenByExpires, now.Add(-forgetAfter))); err != nil {
		return err
	}
	_, err := s.RefreshTokens.Insert(ctx, tx, in.Refresh, t)
	return err
}

// forgetAfter is the time for which an expired refresh token can still be read.
const forgetAfter = 24 * time.Hour

// consent records the consent of the user to the scopes that require it. Without a browser, giving the client the password is the consent.
func (s *Slice) consent(ctx context.Context, tx *docstore.Tx, in *tokens.Request) error {
	if in.Person == nil {
		return nil
	}
	for _, name := range in.Scopes {
		scope := in.Server.Value.Scope(name)
		if scope == nil || scope.Consent == model.ConsentImplicit {
			continue
		}
		c := model.Consent{
			Server: in.Server.ID, ClientID: in.ClientID(), AppID: in.Client.ID, UserID: in.Person.User.ID, ScopeID: scope.ID, Scope: name,
			Status: model.TokenActive, Source: model.SourceEndUser,
		}
		known := false
		where := docstore.All(docstore.Eq(model.ConsentByUser, c.UserID), docstore.Eq(model.ConsentByClient, c.ClientID),
			docstore.Eq(model.ConsentByStatus, string(model.TokenActive)))
		err := model.Each(ctx, tx, s.Consents, where, func(doc docstore.Doc[model.Consent]) error {
			known = known || doc.Value.Server == c.Server && doc.Value.ScopeID == c.ScopeID
			return nil
		})
		if err != nil {
			return err
		}
		if known {
			continue
		}
		if _, err := s.Consents.Insert(ctx, tx, model.NewID(model.KindGrant), c); err != nil {
			return err
		}
	}
	return nil
}

// logIssued logs the issued tokens, their recipient and the rule.
func (s *Slice) logIssued(ctx context.Context, tx *docstore.Tx, in *tokens.Request, issued *tokens.Issued, refresh bool) error {
	client := audit.Client(in.Client)
	debug := map[string]string{"grantType": in.Grant, "grantedScopes": strings.Join(in.Scopes, " "), "policyId": in.Policy.ID,
		"ruleId": in.Rule.ID}
	if issued.HookProblem != nil {
		debug["inlineHookProblem"] = "The response was not applied; see the events of the hook." // no internal error
	}
	about := []model.LogParty{audit.AuthServer(in.Server.ID, &in.Server.Value)}
	if in.Person != nil {
		about = append(about, audit.User(in.Person.User))
	}
	entries := []audit.Entry{
		{Type: audit.AccessGrant, Actor: &client, Targets: about, Debug: debug},
		{Type: audit.AccessIssue, Actor: &client, Targets: append([]model.LogParty{accessToken(issued.JTI)}, about...)},
	}
	if refresh {
		token := model.LogParty{ID: in.Refresh, Type: audit.TypeRefresh, AlternateID: client.ID, DisplayName: "Refresh token"}
		entries = append(entries, audit.Entry{Type: audit.RefreshIssue, Actor: &client, Targets: append([]model.LogParty{token}, about...)})
	}
	return audit.Write(ctx, tx, s.Deps, entries...)
}

// accessToken returns an access token as a log target.
func accessToken(jti string) model.LogParty {
	return model.LogParty{ID: jti, Type: audit.TypeAccess, AlternateID: jti, DisplayName: "Access token"}
}
