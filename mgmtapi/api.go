package mgmtapi

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// API is the management API. It is an http.Handler for /api/v1, /oauth2, /.well-known, /app, /home and /assets/logos.
type API struct {
	inner  *assembly.API
	db     *sqldb.DB
	logger *slog.Logger
	wanted *Wanted

	worker, importer *worker
	jobs             Jobs // nil: Run does all work
}

// Open creates the tables that the database lacks and returns the API. Requests to the API fail until Setup has run on the database.
func Open(ctx context.Context, o Options) (*API, error) {
	inside, err := o.inside(ctx)
	if err != nil {
		return nil, fmt.Errorf("mgmtapi: %w", err)
	}
	a := &API{logger: inside.Logger, jobs: o.Jobs}
	if a.db, err = o.open(ctx, inside.Logger); err != nil {
		return nil, fmt.Errorf("mgmtapi: %w", err)
	}
	if err := a.assemble(ctx, inside); err != nil {
		return nil, errors.Join(err, a.db.Close())
	}
	return a, nil
}

func (a *API) assemble(ctx context.Context, o assembly.Options) (err error) {
	o.Model = model.New()
	if o.Store, err = docstore.OpenAdopting(ctx, a.db, o.Now, adoption(a.db, o.Model), o.Model.Tables()...); err != nil {
		return fmt.Errorf("mgmtapi: %w", err)
	}
	o.Released, o.Rescheduled = func() { a.worker.wakeUp() }, func() { a.importer.wakeUp() }
	if a.inner, err = assembly.New(o); err != nil {
		return err
	}
	a.wanted = &Wanted{deps: a.inner.Deps(), state: desired.New(o.Model, o.Store, o.Secrets, o.Now)}
	a.worker, a.importer = newWorker(a.inner.Work, a.logger), newWorker(a.inner.Import, a.logger)
	o.Store.OnEmit(a.worker.wakeUp)
	if a.jobs != nil {
		return a.registerJobs()
	}
	return nil
}

// errMixed is the error for a database that an earlier version shares with SCIM servers or a sandbox. The API does not create new, empty
// tables in that database: an administrator would take the data in the old tables for lost.
var errMixed = errors.New(
	"the database has tables of an earlier version, without a prefix, that a SCIM server or a sandbox also uses: set Options.NoPrefix")

// adoption returns which tables of earlier versions, which had no prefix, belong to the API.
func adoption(db *sqldb.DB, m *model.Model) docstore.Adoption {
	if db.Names().Prefix == "" && (db.Dialect() == sqldb.SQLite || db.Names().Schema == "") {
		return docstore.Adoption{}
	}
	own := map[string]bool{}
	for _, table := range m.Tables() {
		own[table.Name()] = true
	}
	return docstore.Adoption{Own: func(collection string) bool { return own[collection] }, Mixed: errMixed}
}

// OpenAPI returns the OpenAPI 3.0 document of an API with these options, as indented JSON. It needs no database.
func OpenAPI(ctx context.Context, o Options) ([]byte, error) {
	inside, err := o.inside(ctx)
	if err != nil {
		return nil, fmt.Errorf("mgmtapi: %w", err)
	}
	inside.Store, inside.Model = &docstore.Store{}, model.New()
	api, err := assembly.New(inside)
	if err != nil {
		return nil, err
	}
	return api.OpenAPI()
}

// checkBases returns an error if a base URL of the options is invalid.
func (o *Options) checkBases() error {
	bases := map[string]string{"BaseURL": o.BaseURL, "CustomDomain": o.CustomDomain}
	for i, alias := range o.Aliases {
		bases[fmt.Sprintf("Aliases[%d]", i)] = cmp.Or(alias, " ")
	}
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		base := bases[name]
		if base == "" {
			continue
		}
		u, err := url.Parse(base)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("Options.%s %q is not a base URL: use one such as https://id.example.com", name, base)
		}
	}
	return nil
}

// inside converts the options to assembly.Options, except for the member Store, which Open sets.
func (o *Options) inside(ctx context.Context) (assembly.Options, error) {
	in := assembly.Options{
		RateLimits: callers.Limits(o.Limits), BaseURL: o.BaseURL, Aliases: o.Aliases, CustomDomain: o.CustomDomain,
		DynamicIssuer: o.DynamicIssuer, Subdomain: o.Subdomain, HashCost: o.HashCost, MaxBody: o.MaxBody, AnswerReplays: o.AnswerReplays,
		RelaxedFIDO: o.RelaxedFIDO, OptionalPassword: o.OptionalPassword, Now: o.Now, Logger: o.Logger,
		Hooks: calls.Network{
			CA: o.Hooks.CA, CAOption: o.Hooks.CAOption, Timeout: o.Hooks.Timeout,
			Egress: egress.Policy{Range: egress.Range(o.Hooks.Reach), Allow: o.Hooks.Allow, Own: o.Hooks.Own},
		},
		Secrets: seal.Random(),
	}
	switch o.Hooks.Reach {
	case "", ReachAny, ReachPrivate, ReachPublic:
	default:
		return in, fmt.Errorf("unknown Hooks.Reach %q: use %q, %q or %q", o.Hooks.Reach, ReachAny, ReachPrivate, ReachPublic)
	}
	if err := o.checkBases(); err != nil {
		return in, err
	}
	if in.Logger == nil {
		in.Logger = slog.Default()
	}
	if o.Secrets != nil {
		key, err := seal.New(o.Secrets)
		if err != nil {
			return in, fmt.Errorf("Options.Secrets: %w", err)
		}
		in.Secrets = key
	}
	if o.Connections != nil {
		in.Connections = tester{o.Connections}
	}
	if o.Syncing != nil {
		in.Syncing = func(ctx context.Context, u *model.AppUser) bool { return o.Syncing(ctx, accountOf(u)) }
	}
	var reads imports.Engine
	if o.Imports != nil {
		reads = importer{o.Imports}
	}
	in.Complete(ctx, reads)
	return in, nil
}

// open returns the database of Options.DB.
func (o *Options) open(ctx context.Context, log *slog.Logger) (*sqldb.DB, error) {
	dialect, ok := map[Dialect]sqldb.Dialect{SQLite: sqldb.SQLite, Postgres: sqldb.Postgres}[o.Dialect]
	switch {
	case o.DB == nil:
		return nil, errors.New("Options.DB is required")
	case !ok:
		return nil, fmt.Errorf("unknown dialect %q: use mgmtapi.SQLite or mgmtapi.Postgres", o.Dialect)
	case o.Updater != nil && o.Dialect != SQLite:
		return nil, errors.New("Options.Updater requires the dialect SQLite: omit it for PostgreSQL")
	case o.Dialect == SQLite && o.Readers == nil && o.DB.Stats().MaxOpenConnections == 1:
		return nil, errors.New("Options.DB has only one connection: raise its limit, or set Options.Readers")
	}
	err := sqldb.Check(ctx, o.DB, dialect)
	if err != nil {
		return nil, err
	}
	in := sqldb.Options{Dialect: dialect, Writer: o.DB, Readers: o.Readers, Borrowed: true, Logger: log}
	if in.Names, err = o.names(ctx, dialect); err != nil {
		return nil, err
	}
	if o.Updater != nil {
		in.Updater = func(ctx context.Context, fn func(tx sqldb.Execer) error) error {
			return o.Updater(ctx, func(tx Tx) error { return fn(tx) })
		}
	} else {
		in.GroupCommit = o.Dialect == SQLite
	}
	return sqldb.New(in)
}

// names returns the schema and prefix of the tables.
func (o *Options) names(ctx context.Context, d sqldb.Dialect) (sqldb.Names, error) {
	if o.NoPrefix {
		if o.Prefix != "" {
			return sqldb.Names{}, errors.New("Options.Prefix and Options.NoPrefix are mutually exclusive: set only one of them")
		}
		if o.Schema == "" {
			return sqldb.Names{}, nil
		}
	}
	names, err := sqldb.Embedded(d, o.Schema, o.Prefix)
	if err != nil {
		return names, err
	}
	return names.Located(ctx, o.DB, d)
}

// Close rejects further write requests, waits for running ones, and closes idle connections to inline hooks. Options.DB stays open.
func (a *API) Close() error {
	a.inner.CloseIdleConnections()
	return a.db.Close()
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.inner.ServeHTTP(w, r) }

// OpenAPI returns the OpenAPI 3.0 document of the API, as indented JSON.
func (a *API) OpenAPI() ([]byte, error) { return a.inner.OpenAPI() }

// Wanted returns the interface of the API for a provisioning engine.
func (a *API) Wanted() *Wanted { return a.wanted }

// Caller is the user or client that sent a request.
type Caller struct {
	UserID string // id of the owner of the API token; empty for a client
	Login  string // login of the owner
	// ClientID is the id of the client that calls with an access token, empty for a user.
	ClientID string
}

// Authorize returns a handler that passes a request to the handler `next` if the caller has the role SUPER_ADMIN. A caller with an access
// token also needs the given scope. Rate limits, headers and error responses are those of the API. In `next`, [CallerOf] returns the
// caller.
func (a *API) Authorize(scope string, next http.Handler) http.Handler {
	return a.inner.Authorize(scope, next)
}

// CallerOf returns the caller of the request that ctx belongs to. Handlers passed to Authorize use it. In other handlers, ok is false.
func CallerOf(ctx context.Context) (c Caller, ok bool) {
	p := rest.Caller(ctx)
	return Caller{UserID: p.UserID, Login: p.Login, ClientID: p.ClientID}, p.UserID != "" || p.ClientID != ""
}

// Setup is the initial content of an organization.
type Setup struct {
	// Login of the built-in administrator. Default: DefaultLogin. Setup does not change an existing administrator.
	Login string
	// Token is an API token of the administrator, a string of visible ASCII characters. Default: none.
	Token string
}

// DefaultLogin is the login of the built-in administrator: admin@example.com.
const DefaultLogin = assembly.DefaultLogin

// Setup creates the initial content of an organization: its record, the administrator (a SUPER_ADMIN), the group Everyone, and the
// configured API token. Setup does not change existing content, except that it extends the expiry of the token.
func (a *API) Setup(ctx context.Context, s Setup) error { return a.inner.Setup(ctx, assembly.Setup(s)) }

// Reset removes all content of the organization, including its log and pending changes, and runs Setup, in one transaction. Unless the
// callback `also` is nil, Reset calls it in that transaction before Setup. Its argument apps contains the ids of the removed applications,
// and of applications that were deleted before but whose deletion Wanted.Changes has not delivered yet.
func (a *API) Reset(ctx context.Context, s Setup, also func(ctx context.Context, tx Tx, apps []string) error) error {
	return a.inner.Reset(ctx, assembly.Setup(s), func(ctx context.Context, tx *docstore.Tx, apps []string) error {
		if also == nil {
			return nil
		}
		return also(ctx, tx.SQL().Execer(), apps)
	})
}

var (
	_ http.Handler = (*API)(nil)
	_ Tx           = (*sql.Tx)(nil)
)
