package callers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// AcceptAccessTokens makes the guard accept access tokens of the org authorization server, which are signed with `keys`. Call it before the
// first request.
func (g *Guard) AcceptAccessTokens(keys *tokens.Keys) { g.tokens = keys }

// byAccessToken finds the client of an access token. It returns the scopes of the token without those that have been revoked from the
// application since the token was issued.
func (g *Guard) byAccessToken(ctx context.Context, token string) (rest.Principal, error) {
	if g.tokens == nil {
		return rest.Principal{}, invalidToken("Access tokens are not accepted; use an API token")
	}
	if err := rest.CheckHost(ctx); err != nil {
		return rest.Principal{}, err
	}
	addresses := rest.Bases(ctx)
	says, ok, err := g.tokens.Read(ctx, model.OrgRing, false, addresses, token)
	if err != nil {
		return rest.Principal{}, err
	}
	if !ok || !slices.Contains(addresses, says.Audience) {
		return g.refuseAccess(ctx, "The access token is malformed, has expired, or is not of the org authorization server", "")
	}
	q := g.deps.Store.Reader()
	app, ok, err := g.tokens.Holder(ctx, q, says)
	if err != nil {
		return rest.Principal{}, err
	}
	if !ok {
		return g.refuseAccess(ctx, "The client of the access token was deleted or is not active", says.Client)
	}
	granted, err := g.deps.GrantedScopes(ctx, q, app.ID)
	if err != nil {
		return rest.Principal{}, err
	}
	scopes := slices.DeleteFunc(says.Scopes, func(name string) bool { return !slices.Contains(granted, name) })
	return rest.Principal{ClientID: says.Client, AccessTokenID: says.ID, Name: app.Value.Label, Scopes: strings.Join(scopes, " ")}, nil
}

// invalidToken returns the error for an access token. The challenge has no error_description: client libraries would report only the
// description and ignore the code, the summary and the id in the body.
func invalidToken(why string) error {
	return &rest.Error{Code: rest.CodeToken, Causes: []string{"Authorization: " + why}, Header: http.Header{
		"Www-Authenticate": {`Bearer error="invalid_token"`},
	}}
}

// refuseAccess logs why an access token is rejected.
func (g *Guard) refuseAccess(ctx context.Context, why, client string) (rest.Principal, error) {
	if g.refusals.AllowN(g.deps.Now(), 1) {
		entry := audit.Entry{Type: audit.TokenRefuse, Failure: why}
		if client != "" {
			entry.Actor = &model.LogParty{ID: client, Type: audit.TypeClient, AlternateID: client}
		}
		audit.WriteAlone(ctx, g.deps, g.logger, entry)
	}
	return rest.Principal{}, invalidToken("The access token is invalid")
}

// Authorize requires the scopes of the operation in the access token of a client, and then calls the Authorizer.
func (g *Guard) Authorize(ctx context.Context, p rest.Principal, op rest.Info) error {
	if p.ClientID != "" {
		if lack := scopeProblem(strings.Fields(p.Scopes), op.Scopes); lack != "" {
			return &rest.Error{
				Code: rest.CodeForbidden, Causes: []string{"Authorization: " + lack},
				Header: http.Header{"Www-Authenticate": {fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, strings.Join(op.Scopes, " "))}},
			}
		}
	}
	return g.Authorizer.Authorize(ctx, p, op)
}

// scopeProblem returns the reason why an access token with the scopes in `have` does not permit an operation that requires those in
// `needed`, or an empty string if it permits the operation. A manage scope includes the read scope: svc.users.manage includes
// svc.users.read. No access token permits an operation without scopes.
func scopeProblem(have, needed []string) string {
	if len(needed) == 0 {
		return "No access token permits this operation"
	}
	var missing []string
	for _, scope := range needed {
		area, reads := strings.CutSuffix(scope, ".read")
		if !slices.Contains(have, scope) && (!reads || !slices.Contains(have, area+".manage")) {
			missing = append(missing, scope)
		}
	}
	switch len(missing) {
	case 0:
		return ""
	case 1:
		return "The access token lacks the scope " + missing[0]
	}
	return "The access token lacks the scopes " + strings.Join(missing, ", ")
}
