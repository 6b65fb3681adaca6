package grants

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// RefreshToken is a refresh token in JSON.
type RefreshToken struct {
	ID          string            `json:"id" readOnly:"true" doc:"Id of the token, not the token itself."`
	Status      model.TokenStatus `json:"status" readOnly:"true" enum:"ACTIVE,REVOKED" doc:"Whether the token can be used."`
	Created     rest.Time         `json:"created" readOnly:"true" doc:"When the token was issued."`
	LastUpdated rest.Time         `json:"lastUpdated" readOnly:"true" doc:"When the token was last used, or revoked."`
	ExpiresAt   rest.Time         `json:"expiresAt" readOnly:"true" doc:"When the token expires unless it is used before."`
	Issuer      string            `json:"issuer" readOnly:"true" doc:"Address of the authorization server."`
	ClientID    string            `json:"clientId" readOnly:"true" doc:"Id of the client."`
	UserID      string            `json:"userId" readOnly:"true" doc:"Id of the user."`
	Scopes      []string          `json:"scopes" readOnly:"true" doc:"Names of the scopes."`
	Links       rest.Links        `json:"_links" readOnly:"true" doc:"Links to the application, the client, the server and the user."`
	Embedded    *EmbeddedScopes   `json:"_embedded,omitempty" readOnly:"true" doc:"Objects requested by expand."`
}

// EmbeddedScopes are the scopes of a token or of a consent.
type EmbeddedScopes struct {
	Scopes []EmbeddedScope `json:"scopes" readOnly:"true" doc:"The scopes that the authorization server still has."`
}

// EmbeddedScope describes a scope.
type EmbeddedScope struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id of the scope."`
	Name        string     `json:"name" readOnly:"true" doc:"Name of the scope."`
	Description string     `json:"description,omitempty" readOnly:"true" doc:"Description of the scope."`
	DisplayName string     `json:"displayName,omitempty" readOnly:"true" doc:"Human-readable name."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Link to the scope."`
}

// expandScope is the value of expand that adds the scopes.
const expandScope = "scope"

// issuer returns a server and its issuer URL.
func (s *Slice) issuer(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[model.AuthServer], string, error) {
	doc, err := s.AuthServers.Get(ctx, q, id)
	name := id
	if doc.Value.Default {
		name = model.DefaultServerName
	}
	return doc, rest.URL(ctx, "oauth2", name), err
}

// parties returns the links to the related objects of a token or a consent.
func parties(ctx context.Context, app, client, user, server string) rest.Links {
	link := func(segments ...string) rest.Link { return rest.To(rest.URL(ctx, segments...), http.MethodGet) }
	return rest.Links{
		"app": link("api", "v1", "apps", app), "client": link("oauth2", "v1", "clients", client),
		"user": link("api", "v1", "users", user), "authorizationServer": link("api", "v1", "authorizationServers", server),
	}
}

// show renders a token with its URL.
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

// usable returns the condition for usable tokens.
func (s *Slice) usable(where docstore.Cond) docstore.Cond {
	return docstore.All(where, docstore.Eq(model.RefreshTokenByStatus, string(model.TokenActive)),
		docstore.Gt(model.RefreshTokenByExpires, s.Now()))
}

// addressed is a request about the tokens of a holder. address returns the URL of the token with an id.
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
			page, err := search.Page(ctx, s.RefreshTokens, q,
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

// revoke revokes the usable tokens. Other tokens are not modified.
func (s *Slice) revoke(ctx context.Context, where docstore.Cond) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		tokens, err := s.RevokeTokens(ctx, tx, s.usable(where), nil)
		if err != nil {
			return err
		}
		return s.logTokens(ctx, tx, tokens)
	})
}
