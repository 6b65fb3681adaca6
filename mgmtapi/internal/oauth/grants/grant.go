package grants

import (
	"context"
	"errors"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// Grant is the consent of a user in JSON.
type Grant struct {
	ID          string            `json:"id" readOnly:"true" doc:"Id of the consent."`
	Status      model.TokenStatus `json:"status" readOnly:"true" enum:"ACTIVE,REVOKED,EXPIRED" doc:"Status of the consent."`
	Created     rest.Time         `json:"created" readOnly:"true" doc:"When the consent was given."`
	LastUpdated rest.Time         `json:"lastUpdated" readOnly:"true" doc:"When the consent last changed."`
	Issuer      string            `json:"issuer" readOnly:"true" doc:"Address of the authorization server."`
	ClientID    string            `json:"clientId" readOnly:"true" doc:"Id of the client."`
	UserID      string            `json:"userId" readOnly:"true" doc:"Id of the user."`
	ScopeID     string            `json:"scopeId" readOnly:"true" doc:"Id of the scope."`
	Source      string            `json:"source" readOnly:"true" enum:"END_USER,ADMIN" doc:"END_USER or ADMIN: who gave the consent."`
	Links       rest.Links        `json:"_links" readOnly:"true" doc:"Links to the related objects."`
	Embedded    *EmbeddedGrant    `json:"_embedded,omitempty" readOnly:"true" doc:"Objects requested by expand."`
}

// EmbeddedGrant holds the objects that expand adds to a consent.
type EmbeddedGrant struct {
	Scope EmbeddedScope `json:"scope" readOnly:"true" doc:"The scope."`
}

// Client is a client with tokens or consents, in JSON.
type Client struct {
	ID      string     `json:"client_id" readOnly:"true" doc:"Id of the client."`
	Name    string     `json:"client_name" readOnly:"true" doc:"Name of the client."`
	URI     *string    `json:"client_uri" readOnly:"true" doc:"Home page of the client."`
	LogoURI *string    `json:"logo_uri" readOnly:"true" doc:"Logo of the client."`
	Links   rest.Links `json:"_links" readOnly:"true" doc:"Links to the tokens and consents of the client."`
}

// SchemaName implements rest.SchemaNamer.
func (Client) SchemaName() string { return "clienttokens.Client" }

func (s *Slice) showGrant(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.Consent], expand string) (Grant, error) {
	c := doc.Value
	server, issuer, err := s.issuer(ctx, q, c.Server)
	if err != nil {
		return Grant{}, err
	}
	out := Grant{
		ID: doc.ID, Status: c.Status, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated), Issuer: issuer,
		ClientID: c.ClientID, UserID: c.UserID, ScopeID: c.ScopeID, Source: c.Source,
		Links: parties(ctx, c.AppID, c.ClientID, c.UserID, c.Server),
	}
	out.Links["self"] = rest.To(rest.URL(ctx, "api", "v1", "users", c.UserID, "grants", doc.ID), http.MethodGet, http.MethodDelete)
	out.Links["scope"] = rest.To(rest.URL(ctx, "api", "v1", "authorizationServers", c.Server, "scopes", c.ScopeID), http.MethodGet)
	if scope := server.Value.Scope(c.Scope); expand == expandScope && scope != nil {
		out.Embedded = &EmbeddedGrant{showScope(ctx, c.Server, scope)}
	}
	return out, nil
}

// consentsRequest is a request about the consents of a user.
type consentsRequest struct {
	paging
	Scope string `query:"scopeId" doc:"Id of a scope: lists only its consents."`
}

type userGrantsRequest struct {
	userRequest
	consentsRequest
}

type clientGrantsRequest struct {
	userClientRequest
	consentsRequest
}

func (s *Slice) grantsOfUser(ctx context.Context, r *userGrantsRequest) (rest.Page[Grant], error) {
	return s.grants(ctx, docstore.Eq(model.ConsentByUser, r.id), &r.consentsRequest)
}

func (s *Slice) grantsForClient(ctx context.Context, r *clientGrantsRequest) (rest.Page[Grant], error) {
	return s.grants(ctx, r.consents(), &r.consentsRequest)
}

// consents returns the condition for the consents of the user for the client.
func (r *userClientRequest) consents() docstore.Cond {
	return docstore.All(docstore.Eq(model.ConsentByUser, r.id), docstore.Eq(model.ConsentByClient, r.Client))
}

func (s *Slice) grants(ctx context.Context, where docstore.Cond, h *consentsRequest) (out rest.Page[Grant], err error) {
	query := docstore.Query[model.Consent]{
		Where: docstore.All(where, docstore.Eq(model.ConsentByStatus, string(model.TokenActive))), After: h.After, Limit: h.Limit,
	}
	if h.Scope != "" {
		query.Match = func(doc *docstore.Doc[model.Consent]) bool { return doc.Value.ScopeID == h.Scope }
	}
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := search.Page(ctx, s.Consents, q, query)
		if err != nil {
			return err
		}
		out = rest.Page[Grant]{Next: page.Next}
		for _, doc := range page.Docs {
			grant, err := s.showGrant(ctx, q, doc, h.Expand)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, grant)
		}
		return nil
	})
	return out, err
}

type userGrantRequest struct {
	userRequest
	Grant string `path:"grantId" doc:"Id of the consent."`

	doc docstore.Doc[model.Consent]
}

func (r *userGrantRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	if err := r.userRequest.resolve(ctx, s, q); err != nil {
		return err
	}
	doc, err := s.Consents.Get(ctx, q, r.Grant)
	if err == nil && doc.Value.UserID != r.id {
		err = docstore.ErrNotFound
	}
	r.doc = doc
	return rest.Missing(err, "OAuth2Grant", r.Grant)
}

type userGrantReading struct {
	userGrantRequest
	expansion
}

func (s *Slice) grant(ctx context.Context, r *userGrantReading) (Grant, error) {
	return s.showGrant(ctx, s.Store.Reader(), r.doc, r.Expand)
}

func (s *Slice) withdraw(ctx context.Context, r *userGrantRequest) (rest.NoContent, error) {
	return s.withdrawAll(ctx, docstore.IDs(r.doc.ID))
}

func (s *Slice) withdrawOfUser(ctx context.Context, r *userRequest) (rest.NoContent, error) {
	return s.withdrawAll(ctx, docstore.Eq(model.ConsentByUser, r.id))
}

func (s *Slice) withdrawForClient(ctx context.Context, r *userClientRequest) (rest.NoContent, error) {
	return s.withdrawAll(ctx, r.consents())
}

func (s *Slice) withdrawAll(ctx context.Context, where docstore.Cond) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		consents, tokens, err := s.RevokeConsents(ctx, tx, where)
		if err != nil {
			return err
		}
		for _, c := range consents {
			if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.ConsentRevoke, Targets: []model.LogParty{audit.Consent(c)}}); err != nil {
				return err
			}
		}
		return s.logTokens(ctx, tx, tokens)
	})
}

func (s *Slice) clientsOfUser(ctx context.Context, r *userRequest) ([]Client, error) {
	return s.clients(ctx, r.where, docstore.Eq(model.ConsentByUser, r.id), func(client string) rest.Links {
		at := func(what string) rest.Link {
			return rest.To(rest.URL(ctx, "api", "v1", "users", r.id, "clients", client, what), http.MethodGet, http.MethodDelete)
		}
		return rest.Links{"grants": at("grants"), "tokens": at("tokens")}
	})
}

func (s *Slice) clientsOfServer(ctx context.Context, r *serverRequest) ([]Client, error) {
	return s.clients(ctx, r.where, nil, func(client string) rest.Links {
		url := rest.URL(ctx, "api", "v1", "authorizationServers", r.id, "clients", client, "tokens")
		return rest.Links{"tokens": rest.To(url, http.MethodGet, http.MethodDelete)}
	})
}

// clients returns the clients with usable tokens or active consents that match the conditions. A nil condition matches no consent.
func (s *Slice) clients(ctx context.Context, tokens, consents docstore.Cond, links func(client string) rest.Links) ([]Client, error) {
	out := []Client{}
	err := s.Store.View(ctx, func(q docstore.Reader) error {
		seen := map[string]bool{}
		add := func(client string) error {
			if seen[client] {
				return nil
			}
			seen[client] = true
			doc, err := s.FindOAuthClient(ctx, q, client)
			if errors.Is(err, docstore.ErrNotFound) { // the application is no longer an OAuth client
				return nil
			}
			if err != nil {
				return err
			}
			settings := doc.Value.Settings.OAuthClient
			out = append(out, Client{ID: client, Name: doc.Value.Label, URI: settings.ClientURI, LogoURI: settings.LogoURI, Links: links(client)})
			return nil
		}
		err := model.Each(ctx, q, s.RefreshTokens, s.usable(tokens), func(t docstore.Doc[model.RefreshToken]) error {
			return add(t.Value.ClientID)
		})
		if err != nil || consents == nil {
			return err
		}
		active := docstore.All(consents, docstore.Eq(model.ConsentByStatus, string(model.TokenActive)))
		return model.Each(ctx, q, s.Consents, active, func(c docstore.Doc[model.Consent]) error { return add(c.Value.ClientID) })
	})
	return out, err
}
