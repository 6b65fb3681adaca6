package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/connections"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
	"github.com/scimwright/scimwright/mgmtapi/internal/log/syslog"
	"github.com/scimwright/scimwright/mgmtapi/internal/sandboxapi"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// Options configure an API. Store and Model are required; the zero values of the rest are valid.
type Options struct {
	// Store holds the collections of Model. It must be opened with Model.Tables().
	Store *docstore.Store
	Model *model.Model
	// Secrets encrypts data that must be readable again, such as the tokens of connections. Default: a random key; the encrypted data is then
	// unreadable after a restart.
	Secrets seal.Secrets
	// Connections verifies connections to SCIM servers. Default: none; no connection can be activated.
	Connections connections.ConnectionTester
	// Syncing reports whether the account of an assignment is being provisioned. Default: the stored state.
	Syncing func(ctx context.Context, u *model.AppUser) bool
	// Work is the provisioning that /sandbox/v1 shows and controls. Default: none; these paths are not served.
	Work sandboxport.Work
	// Released is called when /sandbox/v1/work releases the work on hold. The process that calls API.Work must then call API.Work again, so
	// that the released work starts. Default: none.
	Released func()
	// Rescheduled is called before the commit of a changed schedule of imports.
	Rescheduled func()
	// Guarded lists operations that another handler serves behind API.Authorize. /sandbox/v1/authz/explain also explains them.
	Guarded []rest.Info
	// Imports reads the accounts of targets. Default: none; there are no imports.
	Imports imports.Engine
	// Providers are the SCIM servers that /sandbox/v1 can configure. Default: none; these paths are not served.
	Providers sandboxport.Providers
	// Clock is the clock that /sandbox/v1/clock moves. Options.Now must return the time of this clock. Default: none; the path is not served.
	Clock sandboxport.Clock
	// Reset implements /sandbox/v1/reset. It calls API.Reset and resets everything else of the sandbox. Default: none; the path is not served.
	Reset func(ctx context.Context, seed bool) error
	// Hooks configures the connections to the endpoints of inline hooks.
	Hooks calls.Network
	// Authorizer decides what callers may do. Default: by their roles, see authz.
	Authorizer callers.Authorizer
	// RateLimits configure the rate limits.
	RateLimits callers.Limits
	// BaseURL is the public base URL of all links and issuers. Default: scheme and host of each request; OAuth endpoints and access tokens
	// then work at a loopback address only.
	BaseURL string
	// Aliases are further base URLs at which clients reach the API. They require BaseURL.
	Aliases []string
	// CustomDomain is the base URL at a custom domain, which can be the issuer of authorization servers. It requires BaseURL. Default: none.
	CustomDomain string
	// DynamicIssuer enables Dynamic Issuer Mode for authorization servers: in this mode, the issuer is below the base URL to which the client
	// sent its request.
	DynamicIssuer bool
	// Subdomain is the prefix of the generated names of custom applications. Default: apps.DefaultSubdomain.
	Subdomain string
	// HashCost is the bcrypt cost of passwords. Default: bcrypt.DefaultCost.
	HashCost int
	// KeySource generates the key pairs of authorization servers, applications and hook keys. Default: that of package signkey.
	KeySource signkey.Source
	// MaxBody is the maximum size of request bodies in bytes. Default: rest.DefaultMaxBody.
	MaxBody int64
	// AnswerReplays makes the verification of a factor respond with a factor result instead of an error if the passcode was used before or
	// belongs to another time.
	AnswerReplays bool
	// RelaxedFIDO accepts the data of security keys without checking signatures: only the challenge in it is checked. Generated data can then
	// enroll and verify a key.
	RelaxedFIDO bool
	// OptionalPassword allows the enrollment policy to make passwords optional or not allowed. Users without a password are then ACTIVE and
	// sign in by email.
	OptionalPassword bool
	// Now returns the current time. Default: time.Now.
	Now func() time.Time
	// Logger receives internal errors. Default: slog.Default.
	Logger *slog.Logger
}

// API is the management API.
type API struct {
	deps    model.Deps
	routes  []rest.Route
	handler *rest.Handler
	log     *syslog.Slice
	hooks   *calls.Caller
	workers []worker
	imports *imports.Service // nil if Options.Imports is nil
	keys    *tokens.Keys

	configured atomic.Value // the token of the last Setup, a string
}

// worker is a slice with work that requests have queued.
type worker interface {
	Work(ctx context.Context) (more bool, err error)
}

// New builds an API. It cannot serve requests until Setup has run on its store.
func New(o Options) (*API, error) {
	if o.Store == nil || o.Model == nil {
		return nil, errors.New("mgmtapi: a store and a model are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Secrets == nil {
		o.Secrets = seal.Random()
	}
	aliases := o.Aliases
	if o.CustomDomain = strings.TrimRight(o.CustomDomain, "/"); o.CustomDomain != "" {
		if o.BaseURL == "" {
			return nil, errors.New("mgmtapi: a custom domain requires a base URL")
		}
		aliases = append(slices.Clone(aliases), o.CustomDomain)
	}
	deps := model.Deps{Model: o.Model, Store: o.Store, Feed: model.NewFeed(o.Store), Now: o.Now, OptionalPassword: o.OptionalPassword}
	if o.Authorizer == nil {
		o.Authorizer = authz.New(deps)
	}
	caller, err := calls.New(deps, calls.Options{Network: o.Hooks, Secrets: o.Secrets, Logger: o.Logger})
	if err != nil {
		return nil, fmt.Errorf("mgmtapi: %w", err)
	}
	a := &API{deps: deps, log: syslog.New(deps, syslog.Options{Logger: o.Logger}), hooks: caller}
	keys := tokens.NewKeys(deps, o.Secrets, o.KeySource)
	a.keys = keys
	guard := callers.NewGuard(deps, o.Authorizer, o.Logger)
	guard.AcceptAccessTokens(keys)
	infos := func() []rest.Info { return append(a.infos(), o.Guarded...) }
	list, importing := slicesOf(deps, o, keys, a.log, caller, infos, a.keepTokens)
	if o.Imports != nil {
		a.imports = importing
	}
	for _, s := range list {
		a.routes = append(a.routes, s.Routes()...)
		if w, ok := s.(worker); ok {
			a.workers = append(a.workers, w)
		}
	}
	limiter := callers.NewLimiter(o.RateLimits, o.Now)
	limiter.Share(o.Store, o.Model.RateWindows)
	a.handler, err = rest.NewHandler(a.routes, rest.Options{
		Guard: guard, Limiter: limiter, Limited: a.log.Limited,
		BaseURL: o.BaseURL, Aliases: aliases, MaxBody: o.MaxBody, Now: o.Now, Logger: o.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("mgmtapi: %w", err)
	}
	return a, nil
}

// ServeHTTP serves /api/v1, /oauth2 and /.well-known, the pages and logos of applications at /app, /home and /assets/logos, and, if
// Options.Work is set, /sandbox/v1.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// CloseIdleConnections closes the idle connections to inline hooks. The API can still be used afterwards.
func (a *API) CloseIdleConnections() { a.hooks.CloseIdleConnections() }

// Deps returns the shared dependencies of the slices.
func (a *API) Deps() model.Deps { return a.deps }

// Authorize returns a handler that passes the requests of SUPER_ADMINs to `next`. The operations of `next` have no authorization rule,
// and such operations are reserved for this role. A caller with an access token also needs the given scope.
func (a *API) Authorize(scope string, next http.Handler) http.Handler {
	return a.handler.Guarded(rest.Info{ID: scope, Scopes: []string{scope}}, next)
}

// Operations returns the table of operations.
func (a *API) Operations() []rest.Route { return slices.Clone(a.routes) }

// PurgeLog deletes the events of the system log that are past their retention and returns their number. A long-running server must call it
// periodically.
func (a *API) PurgeLog(ctx context.Context) (int, error) {
	n, err := a.log.Purge(ctx)
	if err != nil {
		return 0, fmt.Errorf("mgmtapi: purge the system log: %w", err)
	}
	return n, nil
}

// infos returns the descriptions of all operations.
func (a *API) infos() []rest.Info {
	out := make([]rest.Info, len(a.routes))
	for i, route := range a.routes {
		out[i] = rest.Describe(route)
	}
	return out
}

// Work runs a batch of the work that requests have queued, such as updating all users of an application after a change of a mapping. It
// reports whether more work may be pending. Pending work survives a restart. The server must call Work after each commit that emitted
// events, and periodically. While /sandbox/v1/work holds the work, Work does nothing.
func (a *API) Work(ctx context.Context) (more bool, err error) {
	switch org, err := a.deps.Org(ctx, a.deps.Store.Reader()); {
	case err != nil:
		return false, fmt.Errorf("mgmtapi: run queued work: %w", err)
	case org.HoldWork:
		return false, nil
	}
	for _, w := range a.workers {
		left, err := w.Work(ctx)
		if err != nil {
			return false, fmt.Errorf("mgmtapi: run queued work: %w", err)
		}
		more = more || left
	}
	return more, nil
}

// Import starts the scheduled imports whose time has come, and processes a batch of accounts of each open import. It reports whether more
// work may be pending. Import is separate from Work because an import may wait for an inline hook, and would delay other work.
func (a *API) Import(ctx context.Context) (more bool, err error) {
	if a.imports == nil {
		return false, nil
	}
	if more, err = a.imports.Work(ctx); err != nil {
		return more, fmt.Errorf("mgmtapi: import accounts: %w", err)
	}
	return more, nil
}

// Importing returns the service that imports accounts as users. It is nil if Options.Imports is nil.
func (a *API) Importing() *imports.Service { return a.imports }

// Version is the version of the management API.
const Version = "v1"

// OpenAPI returns the OpenAPI 3.0 document of the API as indented JSON. It is valid; its bytes depend only on the table of operations.
func (a *API) OpenAPI() ([]byte, error) {
	return a.handler.Document("scimwright management API", Version)
}

// Setup configures the initial content of an organization.
type Setup struct {
	// Login is the login of the built-in administrator. Default: DefaultLogin. It does not change an existing administrator.
	Login string
	// Token is an API token of the administrator, any visible ASCII characters. Default: none.
	Token string
}

// DefaultLogin is the login of the built-in administrator.
const DefaultLogin = "admin@example.com"

// configuredToken is the name of the API token that Setup stores.
const configuredToken = "configured"

// Setup creates the required content of an organization: its record, the administrator with the role SUPER_ADMIN, the group Everyone, and
// the configured API token. It does not modify existing content, except that it extends the expiry of the token.
func (a *API) Setup(ctx context.Context, s Setup) error {
	if s.Token != "" {
		if err := callers.CheckSecret(s.Token); err != nil {
			return fmt.Errorf("mgmtapi: %w", err)
		}
	}
	if err := a.deps.Update(ctx, func(tx *docstore.Tx) error { return a.setUp(ctx, tx, s) }); err != nil {
		return fmt.Errorf("mgmtapi: set up the organization: %w", err)
	}
	a.configured.Store(s.Token)
	return nil
}

// Reset deletes all data of the organization, including its log and the events that no engine has read, and creates the initial content
// again, in one transaction. In this transaction, after the deletion and before the creation, Reset calls the callback `cleared` with the
// ids of the former applications, including applications that were deleted before and whose deletion event no engine has read.
func (a *API) Reset(ctx context.Context, s Setup, cleared func(ctx context.Context, tx *docstore.Tx, apps []string) error) error {
	err := a.deps.Update(ctx, func(tx *docstore.Tx) error {
		var apps []string
		err := model.Each(ctx, tx, a.deps.Apps, nil, func(doc docstore.Doc[model.App]) error {
			apps = append(apps, doc.ID)
			return nil
		})
		if err != nil {
			return err
		}
		events, err := a.deps.Store.Clear(ctx, tx, a.deps.Tables()...)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Topic == model.EventAppChanged {
				apps = append(apps, e.Key)
			}
		}
		slices.Sort(apps)
		if err := cleared(ctx, tx, slices.Compact(apps)); err != nil {
			return err
		}
		return a.setUp(ctx, tx, s)
	})
	if err != nil {
		return fmt.Errorf("mgmtapi: reset the organization: %w", err)
	}
	return nil
}

func (a *API) setUp(ctx context.Context, tx *docstore.Tx, s Setup) error {
	org, err := a.deps.Org(ctx, tx)
	if errors.Is(err, docstore.ErrNotFound) {
		org, err = a.createOrg(ctx, tx, cmp.Or(s.Login, DefaultLogin))
	}
	if err != nil {
		return err
	}
	if err := a.deps.SetUpPolicies(ctx, tx); err != nil {
		return err
	}
	if err := a.deps.SetUpDefaultType(ctx, tx, org); err != nil {
		return err
	}
	if err := a.revokeFromDeprovisioned(ctx, tx); err != nil {
		return err
	}
	if err := a.deps.SetUpRoles(ctx, tx, org); err != nil {
		return err
	}
	if err := a.deps.CompleteAllMappings(ctx, tx); err != nil {
		return err
	}
	if err := a.deps.SetUpDefaultServer(ctx, tx); err != nil || s.Token == "" {
		return err
	}
	return a.configureToken(ctx, tx, org, s.Token)
}

// revokeFromDeprovisioned removes the roles and API tokens of DEPROVISIONED users. Such roles and tokens only remain from deactivations by
// earlier versions.
func (a *API) revokeFromDeprovisioned(ctx context.Context, tx *docstore.Tx) error {
	holders := map[string]bool{}
	err := model.Each(ctx, tx, a.deps.RoleAssignments, nil, func(doc docstore.Doc[model.RoleAssignment]) error {
		holders[doc.Value.Assignee] = true
		return nil
	})
	if err != nil {
		return err
	}
	err = model.Each(ctx, tx, a.deps.RoleMembers, nil, func(doc docstore.Doc[model.RoleMember]) error {
		holders[doc.Value.Assignee] = true
		return nil
	})
	if err != nil {
		return err
	}
	err = model.Each(ctx, tx, a.deps.APITokens, nil, func(doc docstore.Doc[model.APIToken]) error {
		holders[doc.Value.UserID] = true
		return nil
	})
	if err != nil {
		return err
	}
	// The ids of groups and applications among the holders match no user.
	users, err := a.deps.Users.GetMany(ctx, tx, slices.Sorted(maps.Keys(holders)))
	if err != nil {
		return err
	}
	for _, user := range users {
		if user.Value.Status != model.UserDeprovisioned {
			continue
		}
		if err := authz.RevokeAll(ctx, tx, a.deps, user.ID); err != nil {
			return err
		}
		if err := apitokens.RevokeAll(ctx, tx, a.deps, user.ID); err != nil {
			return err
		}
	}
	return nil
}

// createOrg creates the organization.
func (a *API) createOrg(ctx context.Context, tx *docstore.Tx, login string) (model.Org, error) {
	now := tx.Now()
	org := model.Org{
		ID: model.NewID(model.KindOrg), Administrator: model.NewID(model.KindUser),
		Everyone: model.NewID(model.KindGroup), UserType: model.NewID(model.KindUserType),
	}
	if _, err := a.deps.Orgs.Insert(ctx, tx, model.OrgDocument, org); err != nil {
		return org, err
	}
	everyone := model.Group{
		Type: model.GroupBuiltIn, Profile: map[string]any{"name": model.EveryoneName, "description": "All users in your organization"},
		LastUpdated: now, LastMembershipUpdated: now.Truncate(time.Second),
	}
	if _, err := a.deps.Groups.Insert(ctx, tx, org.Everyone, everyone); err != nil {
		return org, err
	}
	administrator := model.User{
		Activated: now, Type: org.UserType, Provider: model.ProviderService,
		Profile: map[string]any{"login": login, "email": login, "firstName": "Built-in", "lastName": "Administrator"},
	}
	model.CompleteProfile(administrator.Profile)
	administrator.Enter(model.UserActive, now)
	if _, err := a.deps.Users.Insert(ctx, tx, org.Administrator, administrator); err != nil {
		return org, err
	}
	events := []model.Event{model.GroupChanged{ID: org.Everyone}, model.UserChanged{ID: org.Administrator}}
	if err := a.deps.Feed.Emit(ctx, tx, events...); err != nil {
		return org, err
	}
	if err := a.deps.Join(ctx, tx, org.Everyone, org.Administrator); err != nil {
		return org, err
	}
	return org, a.deps.Feed.Emit(ctx, tx, model.UserActivated{ID: org.Administrator})
}

func (a *API) configureToken(ctx context.Context, tx *docstore.Tx, org model.Org, secret string) error {
	where := docstore.Eq(model.APITokenByUser, org.Administrator)
	err := model.Each(ctx, tx, a.deps.APITokens, where, func(doc docstore.Doc[model.APIToken]) error {
		if doc.Value.Client != configuredToken || doc.Value.Hash == model.SecretHash(secret) {
			return nil
		}
		return a.deps.APITokens.Delete(ctx, tx, doc.ID) // Setup stores the new configured token in place of this one
	})
	if err != nil {
		return err
	}
	token, err := callers.FindToken(ctx, tx, a.deps, secret)
	if err != nil {
		return err
	}
	if token == nil {
		_, err := callers.StoreToken(ctx, tx, a.deps, callers.Token{
			Name: configuredToken, UserID: org.Administrator, Client: configuredToken, Secret: secret,
		})
		return err
	}
	return callers.ExtendToken(ctx, tx, a.deps, token.ID, a.deps.Now())
}

// keepTokens extends the configured token and the token of a request that moves the clock, so that they are valid at the new time.
// Otherwise no client could move the clock back.
func (a *API) keepTokens(ctx context.Context, within docstore.Execer, now time.Time) error {
	return a.deps.Store.Within(ctx, within, func(tx *docstore.Tx) error { return a.extendTokens(ctx, tx, now) })
}

func (a *API) extendTokens(ctx context.Context, tx *docstore.Tx, now time.Time) error {
	caller := rest.Caller(ctx)
	ids := []string{caller.TokenID}
	if secret, _ := a.configured.Load().(string); secret != "" {
		token, err := callers.FindToken(ctx, tx, a.deps, secret)
		if err != nil {
			return err
		}
		if token != nil {
			ids = append(ids, token.ID)
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := callers.ExtendToken(ctx, tx, a.deps, id, now); err != nil {
			return err
		}
	}
	if caller.AccessTokenID != "" {
		return a.keys.Extend(ctx, tx, caller.AccessTokenID, now.Add(tokens.OrgLifetime))
	}
	return nil
}

// createToken adapts apitokens.Create to sandboxapi.
func createToken(tokens *apitokens.Slice) func(ctx context.Context, name, user string) (sandboxapi.CreatedToken, error) {
	return func(ctx context.Context, name, user string) (sandboxapi.CreatedToken, error) {
		created, err := tokens.Create(ctx, name, user)
		if err != nil {
			return sandboxapi.CreatedToken{}, err
		}
		return sandboxapi.CreatedToken{ID: created.ID, Name: created.Name, UserID: created.UserID, Token: created.Secret}, nil
	}
}
