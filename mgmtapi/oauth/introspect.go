package oauth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/issue"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// presented is a token that a client asks about.
type presented struct {
	serverRequest
	issue.Credentials
	Token string `form:"token" max:"32768" required:"true" writeOnly:"true" doc:"The token."`
	Hint  string `form:"token_type_hint" max:"100" doc:"access_token or refresh_token. It changes nothing: both are looked for."`
}

type introspectRequest struct{ presented }

type revokeRequest struct{ presented }

func (s *Slice) findForIntrospect(ctx context.Context, r *introspectRequest) error {
	return s.findActive(ctx, &r.serverRequest)
}

func (s *Slice) findForRevoke(ctx context.Context, r *revokeRequest) error {
	return s.findActive(ctx, &r.serverRequest)
}

// Introspection is what a token is worth (RFC 7662). Of one that is worth nothing only that is told.
type Introspection struct {
	Active    bool   `json:"active" readOnly:"true" doc:"Whether the token is worth anything."`
	Scope     string `json:"scope,omitempty" readOnly:"true" doc:"The scopes, with spaces between."`
	ClientID  string `json:"client_id,omitempty" readOnly:"true" doc:"Id of the client."`
	Username  string `json:"username,omitempty" readOnly:"true" doc:"Login of the user."`
	Expires   int64  `json:"exp,omitempty" readOnly:"true" doc:"When it ends, in seconds of Unix time."`
	Issued    int64  `json:"iat,omitempty" readOnly:"true" doc:"When it was issued, in seconds of Unix time."`
	Subject   string `json:"sub,omitempty" readOnly:"true" doc:"Whom it is about."`
	Audience  string `json:"aud,omitempty" readOnly:"true" doc:"Whom it is for."`
	Issuer    string `json:"iss,omitempty" readOnly:"true" doc:"Address of the authorization server."`
	ID        string `json:"jti,omitempty" readOnly:"true" doc:"Id of the token."`
	TokenType string `json:"token_type,omitempty" readOnly:"true" doc:"Bearer, for access tokens."`
	UserID    string `json:"uid,omitempty" readOnly:"true" doc:"Id of the user."`
}

// authenticate returns the client that presents a token. endpoint is the last segment of the address.
func (s *Slice) authenticate(ctx context.Context, r *presented, endpoint string) (docstore.Doc[model.App], error) {
	issuer := r.issuer(ctx)
	return s.clients.Authenticate(ctx, r.Credentials, issuer+"/v1/"+endpoint, issuer+"/v1/token", issuer)
}

func (s *Slice) introspect(ctx context.Context, r *introspectRequest) (Introspection, error) {
	client, err := s.authenticate(ctx, &r.presented, "introspect")
	if err != nil {
		return Introspection{}, err
	}
	refresh, err := s.usableRefresh(ctx, r.found.ID, client.Value.Credentials.OAuthClient.ID, r.Token)
	if err == nil {
		return s.introspectRefresh(ctx, r, refresh)
	}
	if err != errRefreshToken { //nolint:errorlint // it is never wrapped
		return Introspection{}, err
	}
	token, ok, err := s.keys.Read(ctx, r.found.ID, r.found.Value.ManualRotation, r.issuer(ctx), r.Token)
	if err != nil || !ok {
		return Introspection{}, err
	}
	out := Introspection{
		Active: true, Scope: strings.Join(token.Scopes, " "), ClientID: token.Client, Expires: token.Expires, Issued: token.Issued, Subject: token.Subject,
		Audience: token.Audience, Issuer: token.Issuer, ID: token.ID, TokenType: "Bearer", UserID: token.User,
	}
	app, err := s.FindOAuthClient(ctx, s.Store.Reader(), token.Client)
	if errors.Is(err, docstore.ErrNotFound) || err == nil && app.Value.Status != model.AppActive {
		return Introspection{}, nil
	}
	if err != nil || token.User == "" {
		return out, err
	}
	user, err := model.Optional(ctx, s.Store.Reader(), s.Users, token.User)
	if err != nil || user == nil || user.Value.Status != model.UserActive {
		return Introspection{}, err
	}
	out.Username = user.Value.Login()
	return out, nil
}

func (s *Slice) introspectRefresh(ctx context.Context, r *introspectRequest, doc docstore.Doc[model.RefreshToken]) (Introspection, error) {
	t := doc.Value
	user, err := model.Optional(ctx, s.Store.Reader(), s.Users, t.UserID)
	if err != nil || user == nil || user.Value.Status != model.UserActive {
		return Introspection{}, err
	}
	return Introspection{
		Active: true, Scope: strings.Join(t.Scopes, " "), ClientID: t.ClientID, Username: user.Value.Login(), Expires: t.Expires.Unix(),
		Issued: doc.Created.Unix(), Subject: user.Value.Login(), Issuer: r.issuer(ctx), ID: doc.ID, UserID: t.UserID,
	}, nil
}

// revoke revokes a token of the client. One that is worth nothing already is no error (RFC 7009 section 2.2), one of another client is.
func (s *Slice) revoke(ctx context.Context, r *revokeRequest) (rest.Nothing, error) {
	client, err := s.authenticate(ctx, &r.presented, "revoke")
	if err != nil {
		return rest.Nothing{}, err
	}
	actor := audit.Client(client)
	refresh, err := s.usableRefresh(ctx, r.found.ID, client.Value.Credentials.OAuthClient.ID, r.Token)
	if err == nil {
		return rest.Nothing{}, s.Update(ctx, func(tx *docstore.Tx) error {
			revoked, err := s.RevokeTokens(ctx, tx, docstore.IDs(refresh.ID), nil)
			if err != nil || len(revoked) == 0 {
				return err
			}
			return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.OAuthRevoke, Actor: &actor, Targets: []model.LogParty{audit.RefreshToken(refresh)}})
		})
	}
	if err != errRefreshToken { //nolint:errorlint // it is never wrapped
		return rest.Nothing{}, err
	}
	token, ok, err := s.keys.Read(ctx, r.found.ID, r.found.Value.ManualRotation, r.issuer(ctx), r.Token)
	if err != nil || !ok {
		return rest.Nothing{}, err
	}
	if token.Client != client.Value.Credentials.OAuthClient.ID {
		return rest.Nothing{}, rest.OAuthFail(rest.OAuthUnauthorized, "The token was issued to another client.")
	}
	return rest.Nothing{}, s.Update(ctx, func(tx *docstore.Tx) error {
		fresh, err := s.Spend(ctx, tx, model.RevokedID(token.ID), time.Unix(token.Expires, 0))
		if err != nil || !fresh {
			return err
		}
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.OAuthRevoke, Actor: &actor, Targets: []model.LogParty{accessToken(token.ID)}})
	})
}
