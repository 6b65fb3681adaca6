package apitokens

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves the API tokens.
type Slice struct{ model.Deps }

// New returns the slice and subscribes its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeactivated) error {
		return RevokeAll(ctx, tx, d, e.ID)
	})
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
		return RevokeAll(ctx, tx, d, e.ID)
	})
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserActivated) error {
		if !e.Returning { // only users whom an earlier version deactivated (Returning) may still have tokens
			return nil
		}
		return RevokeAll(ctx, tx, d, e.ID)
	})
	return s
}

// RevokeAll revokes the API tokens of a user.
func RevokeAll(ctx context.Context, tx *docstore.Tx, d model.Deps, user string) error {
	return model.Each(ctx, tx, d.APITokens, docstore.Eq(model.APITokenByUser, user), func(token docstore.Doc[model.APIToken]) error {
		if err := d.APITokens.Delete(ctx, tx, token.ID); err != nil {
			return err
		}
		return audit.Write(ctx, tx, d, audit.Entry{
			Type: audit.TokenRevoke, Targets: []model.LogParty{audit.Token(token), authz.Party(ctx, tx, d, model.AssigneeUser, user)},
		})
	})
}

const (
	tag  = "API tokens"
	kind = "ApiToken"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.apiTokens.read"}, []string{"svc.apiTokens.manage"}
	return []rest.Route{
		rest.Op[listRequest, rest.Page[APIToken]]{
			ID: "listApiTokens", Route: "GET /api/v1/api-tokens", Tag: tag, Scopes: read,
			Summary: "Lists all API tokens", Do: s.list,
		},
		rest.Op[tokenRequest, APIToken]{
			ID: "getApiToken", Route: "GET /api/v1/api-tokens/{id}", Tag: tag, Scopes: read,
			Summary: "Reads an API token", Find: lookup.Found(s.Store, s.APITokens.Get, kind, (*tokenRequest).at), Do: s.get,
		},
		rest.Op[tokenRequest, rest.NoContent]{
			ID: "revokeApiToken", Route: "DELETE /api/v1/api-tokens/{id}", Tag: tag, Scopes: write,
			Summary: "Revokes an API token", Find: lookup.Found(s.Store, s.APITokens.Get, kind, (*tokenRequest).at), Do: s.revoke,
		},
		rest.Op[currentRequest, rest.NoContent]{
			ID: "revokeCurrentApiToken", Route: "DELETE /api/v1/api-tokens/current", Tag: tag, Scopes: write,
			Summary: "Revokes the API token of the request", Do: s.revokeCurrent,
		},
	}
}

// APIToken is an API token without its secret.
type APIToken struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id of the token."`
	Name        string     `json:"name" readOnly:"true" doc:"Name of the token."`
	UserID      string     `json:"userId" readOnly:"true" doc:"Owner, whose permissions the token has."`
	ClientName  string     `json:"clientName" readOnly:"true" doc:"Purpose of the token."`
	TokenWindow string     `json:"tokenWindow" readOnly:"true" doc:"Lifetime of the token after its last use, an ISO 8601 duration."`
	Network     Network    `json:"network" readOnly:"true" doc:"Networks from which the token may be used."`
	Created     rest.Time  `json:"created" readOnly:"true" doc:"When the token was created."`
	LastUpdated rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the token was last changed or extended."`
	ExpiresAt   rest.Time  `json:"expiresAt" readOnly:"true" doc:"When the token expires unless it is used before."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Links to the token and its owner."`
}

// Network is the network from which a token may be used.
type Network struct {
	Connection string `json:"connection" readOnly:"true" enum:"ANYWHERE" doc:"Always ANYWHERE."`
}

// tokenWindow is callers.TokenWindow as an ISO 8601 duration.
const tokenWindow = "P30D"

func render(ctx context.Context, doc docstore.Doc[model.APIToken]) APIToken {
	return APIToken{
		ID: doc.ID, Name: doc.Value.Name, UserID: doc.Value.UserID, ClientName: doc.Value.Client,
		TokenWindow: tokenWindow, Network: Network{Connection: "ANYWHERE"},
		Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated), ExpiresAt: rest.TimeOf(doc.Value.Expires),
		Links: rest.Links{
			"self": rest.To(rest.URL(ctx, "api", "v1", "api-tokens", doc.ID), "GET", "DELETE"),
			"user": rest.To(rest.URL(ctx, "api", "v1", "users", doc.Value.UserID), "GET"),
		},
	}
}

type listRequest struct{}

func (s *Slice) list(ctx context.Context, _ *listRequest) (rest.Page[APIToken], error) {
	var out rest.Page[APIToken]
	visible, err := authz.TokenOwners(ctx, s.Store.Reader(), s.Deps)
	if err != nil {
		return out, err
	}
	err = model.Each(ctx, s.Store.Reader(), s.APITokens, nil, func(doc docstore.Doc[model.APIToken]) error {
		if visible != nil && !visible(doc.Value.UserID) {
			return nil
		}
		out.Items = append(out.Items, render(ctx, doc))
		return nil
	})
	return out, err
}

type tokenRequest struct {
	ID string `path:"id" doc:"Id of the token."`

	found docstore.Doc[model.APIToken]
}

func (r *tokenRequest) at() (string, *docstore.Doc[model.APIToken]) { return r.ID, &r.found }

func (s *Slice) get(ctx context.Context, r *tokenRequest) (APIToken, error) {
	return render(ctx, r.found), nil
}

func (s *Slice) revoke(ctx context.Context, r *tokenRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.delete(ctx, r.found.ID)
}

type currentRequest struct{}

func (s *Slice) revokeCurrent(ctx context.Context, _ *currentRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.delete(ctx, rest.Caller(ctx).TokenID)
}

func (s *Slice) delete(ctx context.Context, id string) error {
	return s.Update(ctx, func(tx *docstore.Tx) error {
		token, err := s.APITokens.Get(ctx, tx, id)
		if err != nil {
			return rest.Missing(err, kind, id)
		}
		if err := s.APITokens.Delete(ctx, tx, id); err != nil {
			return rest.Missing(err, kind, id)
		}
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.TokenRevoke, Targets: []model.LogParty{audit.Token(token)}})
	})
}

// Created is a new API token with its secret.
type Created struct{ ID, Name, UserID, Secret string }

// Create creates an API token for a user, given by id, login or "me". The secret cannot be read again. Create returns a *rest.Error for an
// empty name, an unknown user and a DEPROVISIONED user.
func (s *Slice) Create(ctx context.Context, name, user string) (Created, error) {
	if name == "" {
		var causes rest.Causes
		causes.Blank("name")
		return Created{}, causes.Err()
	}
	out := Created{Name: name, Secret: callers.NewSecret()}
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		owner, err := callers.FindUser(ctx, s.Deps, tx, user)
		if err != nil {
			return err
		}
		if owner.Value.Status == model.UserDeprovisioned {
			return rest.Fail(rest.CodeStatus)
		}
		out.UserID = owner.ID
		doc, err := callers.StoreToken(ctx, tx, s.Deps, callers.Token{Name: name, UserID: owner.ID, Client: name, Secret: out.Secret})
		if err != nil {
			return err
		}
		out.ID = doc.ID
		return audit.Write(ctx, tx, s.Deps, audit.Entry{
			Type: audit.TokenCreate, Targets: []model.LogParty{audit.Token(doc), audit.User(owner)},
		})
	})
	if err != nil {
		return Created{}, err
	}
	return out, nil
}
