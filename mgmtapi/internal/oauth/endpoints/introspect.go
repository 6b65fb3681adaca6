package endpoints

import (
	"context"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// presentedToken is a token in an introspection or revocation request.
type presentedToken struct {
	tokens.Credentials
	Token string `form:"token" max:"32768" required:"true" writeOnly:"true" doc:"The token."`
	Hint  string `form:"token_type_hint" max:"100" doc:"access_token or refresh_token. Has no effect: both kinds are searched."`
}

type introspectRequest struct {
	serverRequest
	presentedToken
}

type revokeRequest struct {
	serverRequest
	presentedToken
}

type orgPresented struct{ presentedToken }

// place is the authorization server of an endpoint.
type place struct {
	id     string   // id of the server, or model.OrgRing
	manual bool     // signing keys are rotated only on request
	issuer string   // issuer of tokens issued for this request
	all    []string // all issuers of the server, accepted in presented tokens and as audiences of assertions
	path   string   // path from an issuer URL to the endpoints of the server
	party  model.LogParty
	event  audit.Type // event of a revocation
}

func (r *serverRequest) place(ctx context.Context) place {
	all := []string{}
	for _, base := range rest.Bases(ctx) {
		all = append(all, tokens.IssuerAt(base, r.found))
	}
	return place{r.found.ID, r.found.Value.ManualRotation, r.issuer, all, "/v1/", r.server(), audit.OAuthRevoke}
}

func orgPlace(ctx context.Context) place {
	return place{model.OrgRing, false, rest.URL(ctx), rest.Bases(ctx), "/oauth2/v1/", orgParty, audit.OrgRevoke}
}

// audiences returns the accepted audiences of assertions: the endpoint, the token endpoint and the issuers.
func (p *place) audiences(endpoint string) []string {
	var out []string
	for _, address := range p.all {
		out = append(out, address, address+p.path+endpoint, address+p.path+tokenEndpoint)
	}
	return out
}

// tokenEndpoint is the last segment of token endpoints.
const tokenEndpoint = "token"

// Introspection is the state of a token (RFC 7662). An invalid token has only the member active.
type Introspection struct {
	Active    bool   `json:"active" readOnly:"true" doc:"Whether the token is valid."`
	Scope     string `json:"scope,omitempty" readOnly:"true" doc:"Scopes, separated by spaces."`
	ClientID  string `json:"client_id,omitempty" readOnly:"true" doc:"Id of the client."`
	Username  string `json:"username,omitempty" readOnly:"true" doc:"Login of the user."`
	Expires   int64  `json:"exp,omitempty" readOnly:"true" doc:"When the token expires, in seconds of Unix time."`
	Issued    int64  `json:"iat,omitempty" readOnly:"true" doc:"When the token was issued, in seconds of Unix time."`
	Subject   string `json:"sub,omitempty" readOnly:"true" doc:"Subject of the token."`
	Audience  string `json:"aud,omitempty" readOnly:"true" doc:"Audience of the token."`
	Issuer    string `json:"iss,omitempty" readOnly:"true" doc:"Address of the authorization server."`
	ID        string `json:"jti,omitempty" readOnly:"true" doc:"Id of the token."`
	TokenType string `json:"token_type,omitempty" readOnly:"true" doc:"Bearer, for access tokens."`
	UserID    string `json:"uid,omitempty" readOnly:"true" doc:"Id of the user."`
}

// authenticate returns the client that presents a token to the endpoint. A rejection is logged as the event.
func (s *Slice) authenticate(ctx context.Context, r *presentedToken, at place, endpoint string, event audit.Type) (docstore.Doc[model.App],
	error) {
	client, err := s.clients.Authenticate(ctx, r.Credentials, at.audiences(endpoint)...)
	if err != nil {
		err = s.refuse(ctx, event, at.party, unknownClient(err, r.ClientID), err)
	}
	return client, err
}

func (s *Slice) introspect(ctx context.Context, r *introspectRequest) (Introspection, error) {
	return s.introspectAt(ctx, &r.presentedToken, r.place(ctx))
}

func (s *Slice) introspectOrg(ctx context.Context, r *orgPresented) (Introspection, error) {
	return s.introspectAt(ctx, &r.presentedToken, orgPlace(ctx))
}

func (s *Slice) introspectAt(ctx context.Context, r *presentedToken, at place) (Introspection, error) {
	client, err := s.authenticate(ctx, r, at, "introspect", audit.TokenRefuse)
	if err != nil {
		return Introspection{}, err
	}
	refresh, err := s.usableRefresh(ctx, at.id, client.Value.Credentials.OAuthClient.ID, r.Token)
	if err == nil {
		return s.introspectRefresh(ctx, at, refresh)
	}
	if err != errRefreshToken { //nolint:errorlint // errRefreshToken is never wrapped
		return Introspection{}, err
	}
	token, ok, err := s.keys.Read(ctx, at.id, at.manual, at.all, r.Token)
	if err != nil || !ok {
		return Introspection{}, err
	}
	// A client without credentials can be impersonated (RFC 7662 section 4): it receives only the state of its own tokens.
	own := client.Value.Credentials.OAuthClient
	if own.AuthMethod == model.AuthNone && own.ID != token.Client {
		return Introspection{}, nil
	}
	out := Introspection{
		Active: true, Scope: strings.Join(token.Scopes, " "), ClientID: token.Client, Expires: token.Expires, Issued: token.Issued,
		Subject:  token.Subject,
		Audience: token.Audience, Issuer: token.Issuer, ID: token.ID, TokenType: "Bearer", UserID: token.User,
	}
	if _, ok, err = s.keys.Holder(ctx, s.Store.Reader(), token); err != nil || !ok {
		return Introspection{}, err
	}
	if token.User == "" {
		return out, nil
	}
	user, err := model.Optional(ctx, s.Store.Reader(), s.Users, token.User)
	if err != nil || user == nil || user.Value.Status != model.UserActive {
		return Introspection{}, err
	}
	out.Username = user.Value.Login()
	return out, nil
}

func (s *Slice) introspectRefresh(ctx context.Context, at place, doc docstore.Doc[model.RefreshToken]) (Introspection, error) {
	t := doc.Value
	user, err := model.Optional(ctx, s.Store.Reader(), s.Users, t.UserID)
	if err != nil || user == nil || user.Value.Status != model.UserActive {
		return Introspection{}, err
	}
	return Introspection{
		Active: true, Scope: strings.Join(t.Scopes, " "), ClientID: t.ClientID, Username: user.Value.Login(), Expires: t.Expires.Unix(),
		Issued: doc.Created.Unix(), Subject: user.Value.Login(), Issuer: at.issuer, ID: doc.ID, UserID: t.UserID,
	}, nil
}

func (s *Slice) revoke(ctx context.Context, r *revokeRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.revokeAt(ctx, &r.presentedToken, r.place(ctx))
}

func (s *Slice) revokeOrg(ctx context.Context, r *orgPresented) (rest.NoContent, error) {
	return rest.NoContent{}, s.revokeAt(ctx, &r.presentedToken, orgPlace(ctx))
}

// revokeAt revokes a token of the client. It returns no error for an invalid token (RFC 7009 section 2.2), but an error for a token of
// another client.
func (s *Slice) revokeAt(ctx context.Context, r *presentedToken, at place) error {
	client, err := s.authenticate(ctx, r, at, "revoke", at.event)
	if err != nil {
		return err
	}
	actor, id := audit.Client(client), client.Value.Credentials.OAuthClient.ID
	refresh, err := s.usableRefresh(ctx, at.id, id, r.Token)
	if err == nil {
		return s.Update(ctx, func(tx *docstore.Tx) error {
			revoked, err := s.RevokeTokens(ctx, tx, docstore.IDs(refresh.ID), nil)
			if err != nil || len(revoked) == 0 {
				return err
			}
			return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: at.event, Actor: &actor, Targets: []model.LogParty{audit.RefreshToken(refresh)}})
		})
	}
	if err != errRefreshToken { //nolint:errorlint // errRefreshToken is never wrapped
		return err
	}
	token, ok, err := s.keys.Read(ctx, at.id, at.manual, at.all, r.Token)
	if err != nil || !ok {
		return err
	}
	if token.Client != id {
		return rest.OAuthFail(rest.OAuthUnauthorized, "The token was issued to another client.")
	}
	return s.Update(ctx, func(tx *docstore.Tx) error {
		fresh, err := s.Spend(ctx, tx, model.RevokedID(token.ID), time.Unix(token.Expires, 0))
		if err != nil || !fresh {
			return err
		}
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: at.event, Actor: &actor, Targets: []model.LogParty{accessToken(token.ID)}})
	})
}
