package desiredapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
)

// DefaultPrefix is the default of Options.Prefix.
const DefaultPrefix = "/engine/v1"

// DefaultScope is the default of Options.Scope.
const DefaultScope = "engine.desired"

// Options configure the API. Store and Authorize are required.
type Options struct {
	Store *desired.Store
	// Authorize is the authorization middleware of the embedder. It returns a handler that calls next for callers that may write the desired
	// state of all apps, and returns an error response to other callers.
	Authorize func(next http.Handler) http.Handler
	// Permit returns nil if a caller that Authorize has accepted may run an operation, and engine.ErrNotPermitted otherwise. Default: every
	// operation.
	Permit func(ctx context.Context, op Operation) error
	// Tenant returns the prefix of the ids of the caller's apps in the Store, such as "acme:". Requests and responses contain the ids
	// without it, and lists contain no other apps. ctx is that of the request. Default: no prefix.
	Tenant func(ctx context.Context) string
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
	case o.Store == nil:
		return nil, errors.New("desiredapi: Options.Store is required: desired.Open returns one")
	case o.Authorize == nil:
		return nil, errors.New("desiredapi: Options.Authorize is required: the API changes the accounts of targets")
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
	s             *desired.Store
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
		TextPaths: true, Guard: guard, Limiter: rest.AllowAll{}, MaxInFlight: maxInFlight, Now: o.Now, Logger: o.Logger,
	})
}

// maxInFlight is the maximum number of bytes that the requests in flight hold. An upload holds 4 MiB. The callers of a tenant get half of
// the maximum together; without Options.Tenant, all callers do. Further requests get 429 with Retry-After.
const maxInFlight = 256 << 20

func newAPI(o Options) *api {
	a := &api{s: o.Store, prefix: strings.TrimRight(cmp.Or(o.Prefix, DefaultPrefix), "/"), tenant: o.Tenant}
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
	Path   string // with the prefix; variables are in braces: {app}
	Access string // the permission, such as engine.AccessWrite
}

func operationOf(info rest.Info) Operation {
	return Operation{ID: info.ID, Method: info.Method, Path: info.Path, Access: info.Access}
}

// Operations lists the operations below a prefix, the default if it is empty.
func Operations(prefix string) []Operation {
	var all []Operation
	for _, r := range newAPI(Options{Prefix: prefix}).routes() {
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
	data, err := h.Document("scimwright desired state API", "v1")
	if err != nil {
		return nil, fmt.Errorf("desiredapi: %w", err)
	}
	return data, nil
}

// routes is the table of operations.
func (a *api) routes() []rest.Route {
	return slices.Concat(a.appRoutes(), a.userRoutes(), a.groupRoutes(), a.memberRoutes(), a.batchRoutes(), a.snapshotRoutes())
}

// row returns an operation.
func row[Req, Resp any](a *api, tag, id, route, summary string, do func(context.Context, *Req) (Resp, error)) rest.Op[Req, Resp] {
	method, path, _ := strings.Cut(route, " ")
	return rest.Op[Req, Resp]{
		ID: id, Route: method + " " + a.prefix + path, Tag: tag, Summary: summary, Scopes: []string{a.scope},
		Find: func(ctx context.Context, r *Req) error {
			if p, ok := any(r).(interface{ prepend(tenant string) }); ok {
				p.prepend(a.tenant(ctx))
			}
			return nil
		},
		Do: func(ctx context.Context, r *Req) (Resp, error) {
			out, err := do(ctx, r)
			if p, ok := any(r).(interface{ app() string }); ok {
				err = rest.Renamed(err, p.app(), strings.TrimPrefix(p.app(), a.tenant(ctx)))
			}
			return out, err
		},
	}
}

type appPath struct {
	App string `path:"app" doc:"id of the app"`
}

// prepend replaces the id in the path by that of the app in the Store.
func (p *appPath) prepend(tenant string) { p.App = tenant + p.App }

// app returns the id of the app in the Store.
func (p *appPath) app() string { return p.App }

// position selects a page of a list.
type position struct {
	After string `query:"after" doc:"id of the last object of the previous page"`
	Limit int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"maximum number of objects"`
}

// partOfPage is the number of objects that are read at a time, because they may be large.
const partOfPage = 50

// pageOf reads a page of a list. read returns the objects after an id, at most n. The page ends early at rest.PageBytes.
func pageOf[Stored, Item any](
	ctx context.Context, p position, read func(after string, n int) ([]Stored, error), show func(*Stored) Item, id func(*Stored) string,
) (rest.Page[Item], error) {
	out := rest.Page[Item]{Items: []Item{}}
	after := p.After
	for size := 0; ; {
		n := min(partOfPage, p.Limit-len(out.Items))
		if n == 0 {
			out.Next = after
			return out, nil
		}
		stored, err := read(after, n)
		if err != nil {
			return out, err
		}
		for i := range stored {
			item := show(&stored[i])
			text, err := json.Marshal(item)
			if err != nil {
				return out, fmt.Errorf("desiredapi: %w", err)
			}
			if size += len(text); size > rest.PageBytes && len(out.Items) > 0 {
				out.Next = after
				return out, nil
			}
			if err := rest.Hold(ctx, len(text)); err != nil {
				return out, err
			}
			out.Items, after = append(out.Items, item), id(&stored[i])
		}
		if len(stored) < n {
			return out, nil
		}
	}
}

// Written is the result of a write.
type Written struct {
	ID      string `json:"id" readOnly:"true" doc:"id of the object"`
	Version int64  `json:"version" readOnly:"true" doc:"the stored version"`
	Changed bool   `json:"changed" readOnly:"true" doc:"false: the stored content was the same"`
}

func written(id string, version int64, r desired.Result) Written {
	return Written{ID: id, Version: version, Changed: r == desired.Applied}
}

// versionQuery is the version of a deletion.
type versionQuery struct {
	Version int64 `query:"version" required:"true" min:"1" max:"9007199254740992" doc:"version of the deletion"`
}
