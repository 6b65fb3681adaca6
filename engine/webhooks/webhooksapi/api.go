package webhooksapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/internal/rest"
)

// DefaultPrefix is the default of Options.Prefix.
const DefaultPrefix = "/engine/v1"

// DefaultScope is the default of Options.Scope.
const DefaultScope = "engine.webhooks"

// AccessSecrets is the permission for operations that return a secret, in addition to engine.AccessWrite.
const AccessSecrets = "secrets"

// Options configure the API. Service and Authorize are required.
type Options struct {
	Service *webhooks.Service
	// Authorize is the authorization middleware of the embedder. It returns a handler that calls next for callers that may manage the
	// endpoints of all apps, and returns an error response to other callers.
	Authorize func(next http.Handler) http.Handler
	// Permit returns nil if a caller that Authorize has accepted may run an operation, and engine.ErrNotPermitted otherwise. Default: every
	// operation.
	Permit func(ctx context.Context, op Operation) error
	// Tenant returns the prefix of the ids of the caller's apps in the engine, such as "acme:". Requests and responses contain the ids
	// without it, and the endpoints of other apps do not exist for the caller. ctx is that of the request. Default: no prefix. Set
	// webhooks.Options.Shown, too: messages contain ids of apps.
	Tenant func(ctx context.Context) string
	// MaxPerTenant is the maximum number of endpoints with the same prefix of Tenant. Default: the limits of the Service only.
	MaxPerTenant int
	// App returns engine.ErrNotFound for an id of an app, with the prefix, that no endpoint may have. Default: endpoints may have any id.
	App func(ctx context.Context, id string) error
	// Next serves all other paths, without Authorize. Default: 404.
	Next http.Handler

	// Prefix is the prefix of all paths. Default: DefaultPrefix.
	Prefix string
	// Scope is the name of the permission in the OpenAPI document. Default: DefaultScope. With Permit, the document has Operation.Access.
	Scope string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Logger receives internal errors. Default: slog.Default.
	Logger *slog.Logger
}

// New returns a handler of the API.
func New(o Options) (http.Handler, error) {
	switch {
	case o.Service == nil:
		return nil, errors.New("webhooksapi: Options.Service is required: webhooks.Open returns one")
	case o.Authorize == nil:
		return nil, errors.New("webhooksapi: Options.Authorize is required: an endpoint receives the ids of users")
	}
	h, err := newHandler(o)
	if err != nil {
		return nil, err
	}
	guarded := o.Authorize(h)
	if o.Next == nil {
		return guarded, nil
	}
	mux := http.NewServeMux()
	var paths []string
	for _, r := range newAPI(o).routes() {
		paths = append(paths, rest.Describe(r).Path)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		mux.Handle(path, guarded)
	}
	mux.Handle("/", o.Next)
	return mux, nil
}

// api runs the operations.
type api struct {
	o             Options
	s             *webhooks.Service
	prefix, scope string // scope is empty with Options.Permit
	tenant        func(ctx context.Context) string
}

func newHandler(o Options) (*rest.Handler, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	guard := rest.Permitted{Holder: o.Tenant, Denied: engine.ErrNotPermitted}
	if permit := o.Permit; permit != nil {
		guard.Permit = func(ctx context.Context, info rest.Info) error { return permit(ctx, operationOf(info)) }
	}
	return rest.NewHandler(newAPI(o).routes(), rest.Options{
		Guard: guard, Limiter: rest.AllowAll{}, TextPaths: true, Now: o.Now, Logger: o.Logger,
	})
}

func newAPI(o Options) *api {
	a := &api{o: o, s: o.Service, prefix: strings.TrimRight(cmp.Or(o.Prefix, DefaultPrefix), "/"), tenant: o.Tenant}
	if o.Permit == nil {
		a.scope = cmp.Or(o.Scope, DefaultScope)
	}
	if a.tenant == nil {
		a.tenant = func(context.Context) string { return "" }
	}
	return a
}

// Operation is an operation of the API.
type Operation struct {
	ID     string // operationId in the OpenAPI document
	Method string
	Path   string   // with the prefix; variables are in braces: {endpoint}
	Access []string // the permissions, all of which are required, such as engine.AccessWrite
}

func operationOf(info rest.Info) Operation {
	return Operation{ID: info.ID, Method: info.Method, Path: info.Path, Access: info.Scopes}
}

// Operations lists the operations below a prefix, the default if it is empty.
func Operations(prefix string) []Operation {
	a := newAPI(Options{Prefix: prefix})
	a.scope = "" // the document of an API without Permit has Options.Scope instead of Operation.Access
	var all []Operation
	for _, r := range a.routes() {
		all = append(all, operationOf(rest.Describe(r)))
	}
	return all
}

// OpenAPI returns the OpenAPI 3.0 document of the API with the prefix and the scope of the options, as indented JSON. It ignores the
// other options.
func OpenAPI(o Options) ([]byte, error) {
	h, err := newHandler(o)
	if err != nil {
		return nil, err
	}
	data, err := h.Document("scimwright webhooks API", "v1")
	if err != nil {
		return nil, fmt.Errorf("webhooksapi: %w", err)
	}
	return data, nil
}

// routes is the table of operations.
func (a *api) routes() []rest.Route { return slices.Concat(a.endpointRoutes(), a.letterRoutes()) }

// endpointPath is a part of the requests for one endpoint.
type endpointPath struct {
	Endpoint string `path:"endpoint" doc:"id of the endpoint"`

	stored webhooks.Endpoint // set before the body is read
}

func (p *endpointPath) found() *endpointPath { return p }

// row returns an operation. If its request has an endpointPath, the operation returns a not-found error for an unknown endpoint, and for
// one of another tenant.
func row[Req, Resp any](a *api, id, route, summary string, do func(context.Context, *Req) (Resp, error)) rest.Op[Req, Resp] {
	method, path, _ := strings.Cut(route, " ")
	return rest.Op[Req, Resp]{
		ID: id, Route: method + " " + a.prefix + path, Tag: "Webhooks", Summary: summary, Scopes: []string{a.scope},
		Find: func(ctx context.Context, r *Req) (err error) {
			p, ok := any(r).(interface{ found() *endpointPath })
			if !ok {
				return nil
			}
			one := p.found()
			one.stored, err = a.s.Get(ctx, one.Endpoint)
			if err == nil && !strings.HasPrefix(one.stored.App+one.stored.Prefix, a.tenant(ctx)) {
				err = webhooks.ErrNotFound
			}
			return rejected(err, one.Endpoint)
		},
		Do: do,
	}
}

// secret returns an operation whose response contains a secret.
func secret[Req, Resp any](a *api, op rest.Op[Req, Resp]) rest.Op[Req, Resp] {
	if a.scope == "" {
		op.Scopes = append(op.Scopes, AccessSecrets)
	}
	return op
}

// members are the names of fields in JSON.
var members = map[string]string{
	"App": "app", "Prefix": "app", "URL": "url", "Types": "types", "Description": "description", "Secret": "secret",
	"overlap": "overlapSeconds", "Key": "Idempotency-Key",
}

// rejected converts an error of the service to an error response.
func rejected(err error, endpoint string) error {
	if err == nil {
		return nil
	}
	if input, ok := errors.AsType[*webhooks.InputError](err); ok {
		return rest.Invalid(cmp.Or(members[input.Field], input.Field), "%s", input.Problem)
	}
	if _, ok := errors.AsType[*webhooks.LimitError](err); ok {
		return &rest.Error{Code: rest.CodeMoved, Summary: errtext.Plain(err), Err: err}
	}
	if errors.Is(err, webhooks.ErrNotFound) {
		return rest.NotFound("Webhook", endpoint)
	}
	return err
}
