package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
)

// AppGrant is a scope of the management API that was granted to an application. The application may request the scope for an access token
// of the org authorization server. Its document id is of the kind KindGrant.
type AppGrant struct {
	AppID   string `json:"appId"`
	ScopeID string `json:"scopeId"` // the name of the scope, for example svc.users.read
	Issuer  string `json:"issuer"`  // the URL of the organization, as the client sent it
	// CreatedBy is the id of the user who granted the scope.
	CreatedBy string `json:"createdBy"`
}

// The indexes of the scope grants.
const (
	AppGrantByApp   = "app"   // index by the application
	AppGrantByScope = "scope" // index by JoinID(application, scope), unique
)

func appGrantCollection() docstore.Collection[AppGrant] {
	return docstore.NewCollection("app_grants",
		docstore.Index[AppGrant]{Name: AppGrantByApp, Values: func(g *AppGrant) []any { return []any{g.AppID} }},
		docstore.Index[AppGrant]{Name: AppGrantByScope, Unique: true, Values: func(g *AppGrant) []any {
			return []any{docstore.JoinID(g.AppID, g.ScopeID)}
		}},
	)
}

// GrantedScopes returns the scopes of the management API that were granted to an application, in the order of the grants.
func (d Deps) GrantedScopes(ctx context.Context, q docstore.Reader, app string) (scopes []string, err error) {
	err = Each(ctx, q, d.AppGrants, docstore.Eq(AppGrantByApp, app), func(doc docstore.Doc[AppGrant]) error {
		scopes = append(scopes, doc.Value.ScopeID)
		return nil
	})
	return scopes, err
}
