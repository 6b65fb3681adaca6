package daemon

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// api runs the operations of the daemon itself.
type api struct {
	db    *database
	store *desired.Store
	hooks *webhooks.Service
	now   func() time.Time
	seal  desired.Seal

	engineStore *sqlstore.Store
	engine      *provision.Engine
}

// routes is the table of operations.
func (a *api) routes() []rest.Route {
	const tokens = "/tokens/{token}"
	create := rest.Needs(row("createToken", "POST /tokens", "Tokens", "Create a token and show its value once", a.createToken), scopeAdmin)
	create.Status = 201
	return []rest.Route{
		row("showCaller", "GET /caller", "Tokens", "Show the token of the request, its tenant and its permissions", a.caller),
		create,
		rest.Needs(row("listTokens", "GET /tokens", "Tokens", "List the tokens of the tenant, without their values", a.listTokens), scopeAdmin),
		rest.Needs(row("revokeToken", "DELETE "+tokens, "Tokens", "Revoke a token", a.revokeToken), scopeAdmin),
		rest.Needs(
			row("reseal", "POST /reseal", "Keys", "Encrypt all secrets with the first key that an earlier key encrypts", a.reseal),
			engine.AccessFleet,
		),
		rest.Needs(
			row("listUnreadable", "GET /unreadable", "Keys", "List the secrets of the tenant that no key decrypts", a.listUnreadable),
			engine.AccessApps,
		),
		rest.Needs(row("resumeHaltedAtStart", "POST /halted-at-start/resume", "Halts",
			"End the halts of a start with --start-halted for all apps of the tenant", a.resumeHalted), engine.AccessApps),
		rest.Needs(row("listAudit", "GET /audit", "Audit", "List the writes of the tenant, in order", a.listAudit), scopeAdmin),
	}
}

// row returns an operation.
func row[Req, Resp any](id, route, tag, summary string, do func(context.Context, *Req) (Resp, error)) rest.Op[Req, Resp] {
	method, path, _ := strings.Cut(route, " ")
	return rest.Op[Req, Resp]{
		ID: id, Route: method + " " + desiredapi.DefaultPrefix + path, Tag: tag, Summary: summary, Scopes: []string{""}, Do: do,
	}
}

// Token is a token without its value.
type Token struct {
	ID       string    `json:"id" readOnly:"true" doc:"id of the token"`
	Tenant   string    `json:"tenant" readOnly:"true" doc:"tenant of the token"`
	Name     string    `json:"name" required:"true" max:"200" doc:"what the token is for"`
	Scopes   []string  `json:"scopes" required:"true" enum:"read,write,apps,approve,secrets,admin,fleet" doc:"permissions of the token"`
	Created  time.Time `json:"created,omitzero" readOnly:"true" doc:"time of the creation"`
	Expires  time.Time `json:"expires,omitzero" doc:"end of the validity. Default: none"`
	LastUsed time.Time `json:"lastUsed,omitzero" readOnly:"true" doc:"last use, accurate to a minute"`
}

// CreatedToken is a token with its value.
type CreatedToken struct {
	Token
	Value string `json:"token" readOnly:"true" doc:"the value, which is not stored"`
}

// AuditEntry is a write.
type AuditEntry struct {
	Seq       int64     `json:"seq" readOnly:"true" doc:"number of the entry; the entries of all tenants are numbered together"`
	At        time.Time `json:"at" readOnly:"true" doc:"time of the request"`
	Tenant    string    `json:"tenant" readOnly:"true" doc:"tenant of the request"`
	Caller    string    `json:"caller" readOnly:"true" doc:"id of the token"`
	Name      string    `json:"name" readOnly:"true" doc:"name of the token"`
	Operation string    `json:"operation" readOnly:"true" doc:"operationId in the OpenAPI document"`
	Object    string    `json:"object" readOnly:"true" doc:"path of the request"`
	Request   string    `json:"request" readOnly:"true" doc:"id of the request"`
	Status    int       `json:"status" readOnly:"true" doc:"status of the response; 0: not stored yet, or never, because the process ended"`
}

type createTokenRequest struct {
	Body Token `body:"required"`
}

type listTokensRequest struct {
	After string `query:"after" doc:"id of the last token of the previous page"`
	Limit int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"maximum number of tokens"`
}

type tokenRequest struct {
	Token string `path:"token" doc:"id of the token"`
}

type listAuditRequest struct {
	After int64 `query:"after" min:"0" doc:"only entries with a greater number"`
	Limit int   `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"maximum number of entries"`
	All   bool  `query:"allTenants" default:"false" doc:"the entries of all tenants; requires the permission fleet"`
}

func (a *api) caller(ctx context.Context, _ *rest.NoContent) (Token, error) {
	x := exchangeOf(ctx)
	t := shownToken(x.token)
	t.Tenant = x.tenant
	return t, nil
}

func (a *api) createToken(ctx context.Context, r *createTokenRequest) (CreatedToken, error) {
	x := exchangeOf(ctx)
	if len(r.Body.Scopes) == 0 {
		return CreatedToken{}, rest.Invalid("scopes", "at least one permission is required")
	}
	for _, scope := range r.Body.Scopes {
		// Otherwise a token could create a more powerful one.
		if scope == engine.AccessFleet && !x.token.has(engine.AccessFleet) {
			return CreatedToken{}, rest.Failf(rest.CodeForbidden, "A token with the permission %s requires this permission.", scope)
		}
	}
	if !r.Body.Expires.IsZero() && !r.Body.Expires.After(a.now()) {
		return CreatedToken{}, rest.Invalid("expires", "the time has passed")
	}
	granted := slices.Clone(r.Body.Scopes)
	slices.Sort(granted)
	value := newToken()
	t := token{
		ID: "tok-" + strings.ToLower(rand.Text()[:16]), Tenant: x.tenant, Name: r.Body.Name, Scopes: slices.Compact(granted),
		Created: a.now(), Expires: r.Body.Expires,
	}
	err := a.db.update(ctx, func(tx *sqldb.Tx) error { return putToken(ctx, tx, t, digestOf(value)) })
	return CreatedToken{Token: shownToken(t), Value: value}, err
}

func (a *api) listTokens(ctx context.Context, r *listTokensRequest) (rest.Page[Token], error) {
	found, err := a.db.tokens(ctx, exchangeOf(ctx).tenant, r.After, r.Limit)
	page := rest.Page[Token]{Items: []Token{}}
	for _, t := range found {
		page.Items = append(page.Items, shownToken(t))
	}
	if len(found) == r.Limit {
		page.Next = found[len(found)-1].ID
	}
	return page, err
}

func (a *api) revokeToken(ctx context.Context, r *tokenRequest) (rest.NoContent, error) {
	if r.Token == bootstrap {
		return rest.NoContent{}, rest.Failf(rest.CodeMoved,
			"The admin token cannot be revoked. To replace it, start the daemon with another one.")
	}
	found, err := a.db.deleteToken(ctx, exchangeOf(ctx).tenant, r.Token)
	if err == nil && !found {
		err = rest.NotFound("Token", r.Token)
	}
	return rest.NoContent{}, err
}

func (a *api) listAudit(ctx context.Context, r *listAuditRequest) ([]AuditEntry, error) {
	x := exchangeOf(ctx)
	tenant := x.tenant
	if r.All {
		if !x.token.has(engine.AccessFleet) {
			return nil, rest.Failf(rest.CodeForbidden, "The entries of all tenants require the permission %s.", engine.AccessFleet)
		}
		tenant = ""
	}
	found, err := a.db.entries(ctx, tenant, r.After, r.Limit)
	all := make([]AuditEntry, 0, len(found))
	for _, e := range found {
		all = append(all, AuditEntry(e))
	}
	return all, err
}

// Resealed is the result of an encryption with the first key.
type Resealed struct {
	Changed int `json:"changed" readOnly:"true" doc:"number of secrets that were encrypted again"`
	Lost    int `json:"lost" readOnly:"true" doc:"number of secrets that no key decrypts; they are not changed"`
}

func (a *api) reseal(ctx context.Context, _ *rest.NoContent) (Resealed, error) {
	changed, lost, err := a.store.Reseal(ctx)
	if err != nil {
		return Resealed{}, err
	}
	more, unreadable, err := a.hooks.Reseal(ctx)
	if err == nil {
		err = a.db.retireKeys(ctx, a.seal)
	}
	return Resealed{Changed: changed + more, Lost: lost + unreadable}, err
}

type listUnreadableRequest struct {
	After string `query:"after" doc:"cursor of the previous page"`
	Limit int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"maximum number of secrets of apps and users"`
}

func (a *api) listUnreadable(ctx context.Context, r *listUnreadableRequest) (rest.Page[Unreadable], error) {
	prefix := tenantPrefix(ctx)
	var after desired.Unreadable
	if r.After != "" {
		after.App, after.User, _ = strings.Cut(prefix+r.After, "/")
	}
	items, last, more, err := unreadablePage(ctx, a.store, a.hooks, prefix, after, r.Limit)
	page := rest.Page[Unreadable]{Items: items}
	if more {
		page.Next = strings.TrimSuffix(withoutTenant(last.App)+"/"+last.User, "/")
	}
	return page, err
}

func shownToken(t token) Token { return Token(t) }
