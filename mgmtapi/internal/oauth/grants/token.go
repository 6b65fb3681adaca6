package grants

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// RefreshToken is a refresh token on the wire.
type RefreshToken struct {
	ID          string            `json:"id" readOnly:"true" doc:"Id of the token, which is not the token."`
	Status      model.TokenStatus `json:"status" readOnly:"true" enum:"ACTIVE,REVOKED" doc:"Whether it can be used."`
	Created     rest.Time         `json:"created" readOnly:"true" doc:"When the token was issued."`
	LastUpdated rest.Time         `json:"lastUpdated" readOnly:"true" doc:"When it was last used, or revoked."`
	ExpiresAt   rest.Time         `json:"expiresAt" readOnly:"true" doc:"When it ends unless it is used."`
	Issuer      string            `json:"issuer" readOnly:"true" doc:"Address of the authorization server."`
	ClientID    string            `json:"clientId" readOnly:"true" doc:"Id of the client."`
	UserID      string            `json:"userId" readOnly:"true" doc:"Id of the user."`
	Scopes      []string          `json:"scopes" readOnly:"true" doc:"Names of the scopes."`
	Links       rest.Links        `json:"_links" readOnly:"true" doc:"What the token is about."`
	Embedded    *EmbeddedScopes   `json:"_embedded,omitempty" readOnly:"true" doc:"What expand asked for."`
}

// EmbeddedScopes are the scopes of a token or of a consent.
type EmbeddedScopes struct {
	Scopes []EmbeddedScope `json:"scopes" readOnly:"true" doc:"The scopes that the server still has."`
}

// EmbeddedScope tells of a scope.
type EmbeddedScope struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id of the scope."`
	Name        string     `json:"name" readOnly:"true" doc:"Name of the scope."`
	Description string     `json:"description,omitempty" readOnly:"true" doc:"What the scope is for."`
	DisplayName string     `json:"displayName,omitempty" readOnly:"true" doc:"Name for people."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Where the scope is."`
}

// expandScope is the value of expand that adds the scopes.
const expandScope = "scope"

// issuer is the address of a server, and the part of its path that names it.
func (s *Slice) issuer(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[model.AuthServer], string, error) {
	doc, err := s.AuthServers.Get(ctx, q, id)
	name := id
	if doc.Value.Default {
		name = model.DefaultServerName
	}
	return doc, rest.URL(ctx, "oauth2", name), err
}

// parties are the links to what a token or a consent is about.
func parties(ctx context.Context, app, client, user, server string) rest.Links {
	link := func(segments ...string) rest.Link { return rest.To(rest.URL(ctx, segments...), http.MethodGet) }
	return rest.Links{
		"app": link("api", "v1", "apps", app), "client": link("oauth2", "v1", "clients", client),
		"user": link("api", "v1", "users", user), "authorizationServer": link("api", "v1", "authorizationServers", server),
	}
}

// show renders a token at an address.
func (s *Slice) show(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.RefreshToken], self, expand string) (RefreshToken,
	error) {
	t := doc.Value
	server, issuer, err := s.issuer(ctx, q, t.Server)
	if err != nil {
		return RefreshToken{}, err
	}
	out := RefreshToken{
		ID: doc.ID, Status: t.Status, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated), ExpiresAt: rest.TimeOf(t.Expires),
		Issuer: issuer, ClientID: t.ClientID, UserID: t.UserID, Scopes: t.Scopes, Links: parties(ctx, t.AppID, t.ClientID, t.UserID, t.Server),
	}
	out.Links["self"] = rest.To(self, http.MethodGet, http.MethodDelete)
	out.Links["revoke"] = rest.To(self, http.MethodDelete)
	if expand == expandScope {
		out.Embedded = &EmbeddedScopes{Scopes: []EmbeddedScope{}}
		for _, name := range t.Scopes {
			if scope := server.Value.Scope(name); scope != nil {
				out.Embedded.Scopes = append(out.Embedded.Scopes, showScope(ctx, t.Server, scope))
			}
		}
	}
	return out, nil
}

func showScope(ctx context.Context, server string, c *model.AuthScope) EmbeddedScope {
	return EmbeddedScope{
		ID: c.ID, Name: c.Name, Description: c.Description, DisplayName: c.DisplayName,
		Links: rest.Links{"scope": rest.To(rest.URL(ctx, "api", "v1", "authorizationServers", server, "scopes", c.ID), http.MethodGet)},
	}
}

// usable are the tokens that can be used.
func (s *Slice) usable(where docstore.Cond) docstore.Cond {
	return docstore.All(where, docstore.Eq(model.RefreshTokenByStatus, string(model.TokenActive)),
		docstore.Gt(model.RefreshTokenByExpires, s.Now()))
}

// addressed is a request that knows where its tokens are.
type addressed interface {
	holder
	address(ctx context.Context, token string) string
}

func (r *userClientRequest) address(ctx context.Context, token string) string {
	return rest.URL(ctx, "api", "v1", "users", r.id, "clients", r.Client, "tokens", token)
}

func (r *appRequest) address(ctx context.Context, token string) string {
	return rest.URL(ctx, "api", "v1", "apps", r.App, "tokens", token)
}

func (r *serverClientRequest) address(ctx context.Context, token string) string {
	return rest.URL(ctx, "api", "v1", "authorizationServers", r.id, "clients", r.Client, "tokens", token)
}

func list[R any, H interface {
	*R
	addressed
	page() *paging
}](s *Slice) func(context.Context, *R) (rest.Page[RefreshToken], error) {
	return func(ctx context.Context, r *R) (out rest.Page[RefreshToken], err error) {
		h := H(r)
		p := h.page()
		err = s.Store.View(ctx, func(q docstore.Reader) error {
			page, err := s.RefreshTokens.Query(ctx, q,
				docstore.Query[model.RefreshToken]{Where: s.usable(h.tokens()), After: p.After, Limit: p.Limit})
			if err != nil {
				return err
			}
			out = rest.Page[RefreshToken]{Next: page.Next}
			for _, doc := range page.Docs {
				token, err := s.show(ctx, q, doc, h.address(ctx, doc.ID), p.Expand)
				if err != nil {
					return err
				}
				out.Items = append(out.Items, token)
			}
			return nil
		})
		return out, err
	}
}

func read[R any, H interface {
	*R
	addressed
	token() *tokenID
	expand() string
}](s *Slice) func(context.Context, *R) (RefreshToken, error) {
	return func(ctx context.Context, r *R) (RefreshToken, error) {
		h := H(r)
		return s.show(ctx, s.Store.Reader(), h.token().doc, h.address(ctx, h.token().Token), h.expand())
	}
}

func revokeAll[R any, H interface {
	*R
	holder
}](s *Slice) func(context.Context, *R) (rest.NoContent, error) {
	return func(ctx context.Context, r *R) (rest.NoContent, error) { return s.revoke(ctx, H(r).tokens()) }
}

func revokeOne[R any, H interface {
	*R
	token() *tokenID
}](s *Slice) func(context.Context, *R) (rest.NoContent, error) {
	return func(ctx context.Context, r *R) (rest.NoContent, error) {
		return s.revoke(ctx, docstore.IDs(H(r).token().doc.ID))
	}
}

// revoke revokes the tokens that can be used. Those that cannot stay as they are.
func (s *Slice) revoke(ctx context.Context, where docstore.Cond) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		tokens, err := s.RevokeTokens(ctx, tx, s.usable(where), nil)
		if err != nil {
			return err
		}
		return s.logTokens(ctx, tx, tokens)
	})
}
