package apps

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// ScopeGrant is a scope of the management API that is granted to an application.
type ScopeGrant struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id of the grant."`
	Status      string     `json:"status" readOnly:"true" enum:"ACTIVE" doc:"Status."`
	Created     rest.Time  `json:"created" readOnly:"true" doc:"When the scope was granted."`
	LastUpdated rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the grant was last changed."`
	CreatedBy   Grantor    `json:"createdBy" readOnly:"true" doc:"Who granted the scope."`
	Issuer      string     `json:"issuer" readOnly:"true" doc:"The authorization server, which is that of the organization."`
	ClientID    string     `json:"clientId" readOnly:"true" doc:"The client_id of the application."`
	ScopeID     string     `json:"scopeId" readOnly:"true" doc:"Name of the scope."`
	Source      string     `json:"source" readOnly:"true" enum:"ADMIN" doc:"Who consented."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Links."`
}

// Grantor is the user who granted a scope.
type Grantor struct {
	ID   string `json:"id" readOnly:"true" doc:"Id of the user."`
	Type string `json:"type" readOnly:"true" enum:"User" doc:"Type of the object with the id."`
}

func renderGrant(ctx context.Context, app docstore.Doc[model.App], doc docstore.Doc[model.AppGrant]) ScopeGrant {
	g, client := doc.Value, app.Value.Credentials.OAuthClient.ID
	return ScopeGrant{
		ID: doc.ID, Status: "ACTIVE", Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		CreatedBy: Grantor{ID: g.CreatedBy, Type: "User"}, Issuer: g.Issuer, ClientID: client, ScopeID: g.ScopeID, Source: "ADMIN",
		Links: rest.Links{
			"self":   rest.To(rest.URL(ctx, "api", "v1", "apps", g.AppID, "grants", doc.ID), "GET", "DELETE"),
			"app":    rest.To(rest.URL(ctx, "api", "v1", "apps", g.AppID)),
			"client": rest.To(rest.URL(ctx, "oauth2", "v1", "clients", client)),
		},
	}
}

func (s *Slice) grantRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[listGrantsRequest, rest.Page[ScopeGrant]]{
			ID: "listScopeConsentGrants", Route: "GET /api/v1/apps/{appId}/grants", Tag: tag, Scopes: grantsReadScope,
			Summary: "Lists the scopes granted to an application",
			Find:    lookup.Found(s.Store, s.findClient, "AppInstance", (*listGrantsRequest).at),
			Do:      s.listGrants,
		},
		rest.Op[grantScopeRequest, ScopeGrant]{
			ID: "consentToScope", Route: "POST /api/v1/apps/{appId}/grants", Tag: tag, Scopes: grantsWriteScope, Status: http.StatusCreated,
			Summary: "Grants a scope to an application", Find: lookup.Found(s.Store, s.findClient, "AppInstance", (*grantScopeRequest).at),
			Check: s.checkGrantScope, Do: s.grantScope,
		},
		rest.Op[grantRequest, ScopeGrant]{
			ID: "getScopeConsentGrant", Route: "GET /api/v1/apps/{appId}/grants/{grantId}", Tag: tag, Scopes: grantsReadScope,
			Summary: "Reads a scope grant of an application", Find: s.findForGrant, Do: s.getGrant,
		},
		rest.Op[grantRequest, rest.NoContent]{
			ID: "revokeScopeConsentGrant", Route: "DELETE /api/v1/apps/{appId}/grants/{grantId}", Tag: tag, Scopes: grantsWriteScope,
			Summary: "Withdraws a scope from an application", Find: s.findForGrant, Do: s.revokeGrant,
		},
	}
}

// findClient reads an application that is an OAuth client.
func (s *Slice) findClient(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[model.App], error) {
	app, err := s.find(ctx, q, id)
	if err == nil && !app.Value.OAuth() {
		err = rest.Fail(rest.CodeAppOperation, "signOnMode: Only applications with the sign-on mode OPENID_CONNECT can have scope grants")
	}
	return app, err
}

type listGrantsRequest struct {
	getRequest
	Limit int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page."`
	After string `query:"after" doc:"Cursor of the page."`
}

func (s *Slice) listGrants(ctx context.Context, req *listGrantsRequest) (page rest.Page[ScopeGrant], err error) {
	found, err := search.Page(ctx, s.AppGrants, s.Store.Reader(), docstore.Query[model.AppGrant]{
		Where: docstore.Eq(model.AppGrantByApp, req.AppID), After: req.After, Limit: req.Limit,
	})
	if err != nil {
		return page, err
	}
	page.Next = found.Next
	for _, doc := range found.Docs {
		page.Items = append(page.Items, renderGrant(ctx, req.app, doc))
	}
	return page, nil
}

type grantScopeRequest struct {
	getRequest
	Body struct {
		ScopeID string `json:"scopeId" required:"true" max:"255" doc:"Name of a scope that an operation requires."`
		Issuer  string `json:"issuer" required:"true" max:"1024" doc:"The URL of the organization."`
	} `body:"required"`
}

// checkGrantScope validates the scope and the issuer.
func (s *Slice) checkGrantScope(ctx context.Context, r *grantScopeRequest, causes *rest.Causes) error {
	if scopes := s.Scopes(); r.Body.ScopeID != "" && !slices.Contains(scopes, r.Body.ScopeID) {
		causes.Add("scopeId", "Unknown scope; the scopes are %s", strings.Join(scopes, ", "))
	}
	if r.Body.Issuer != "" && rest.Below(ctx, strings.TrimRight(r.Body.Issuer, "/")) != "" {
		causes.Add("issuer", "The value must be %s", rest.URL(ctx))
	}
	return nil
}

func (s *Slice) grantScope(ctx context.Context, req *grantScopeRequest) (ScopeGrant, error) {
	var granted docstore.Doc[model.AppGrant]
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		app, err := s.findClient(ctx, tx, req.AppID)
		if err != nil {
			return err
		}
		granted, err = s.AppGrants.Insert(ctx, tx, model.NewID(model.KindGrant), model.AppGrant{
			AppID: req.AppID, ScopeID: req.Body.ScopeID, Issuer: rest.URL(ctx), CreatedBy: rest.Caller(ctx).UserID,
		})
		if err != nil {
			return err
		}
		return s.log(ctx, tx, audit.AppUpdate, app)
	})
	if unique, ok := errors.AsType[*docstore.UniqueError](err); ok && unique.Index == model.AppGrantByScope {
		err = rest.Invalid("scopeId", "The scope is already granted to the application")
	}
	if err != nil {
		return ScopeGrant{}, err
	}
	return renderGrant(ctx, req.app, granted), nil
}

type grantRequest struct {
	getRequest
	GrantID string `path:"grantId" doc:"Id of the grant."`

	grant docstore.Doc[model.AppGrant]
}

func (s *Slice) findForGrant(ctx context.Context, req *grantRequest) (err error) {
	if req.app, err = s.findClient(ctx, s.Store.Reader(), req.AppID); err != nil {
		return err
	}
	req.grant, err = s.grant(ctx, s.Store.Reader(), req)
	return err
}

// grant reads a grant of the application, or returns a 404 error.
func (s *Slice) grant(ctx context.Context, q docstore.Reader, req *grantRequest) (docstore.Doc[model.AppGrant], error) {
	doc, err := s.AppGrants.Get(ctx, q, req.GrantID)
	if err == nil && doc.Value.AppID != req.AppID {
		err = docstore.ErrNotFound
	}
	return doc, rest.Missing(err, "OAuth2ScopeConsentGrant", req.GrantID)
}

func (s *Slice) getGrant(ctx context.Context, req *grantRequest) (ScopeGrant, error) {
	return renderGrant(ctx, req.app, req.grant), nil
}

func (s *Slice) revokeGrant(ctx context.Context, req *grantRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if _, err := s.grant(ctx, tx, req); err != nil {
			return err
		}
		if err := s.AppGrants.Delete(ctx, tx, req.GrantID); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.AppUpdate, req.app)
	})
	return rest.NoContent{}, err
}
