package control

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/rest"
)

// DefaultPrefix is the default of Options.Prefix.
const DefaultPrefix = "/engine/v1"

// DefaultScope is the default of Options.Scope.
const DefaultScope = "engine.manage"

// Options configure the API. Engine, Directory, Update and Authorize are required.
type Options struct {
	Engine *provision.Engine
	// Directory is the directory of the engine.
	Directory engine.Directory
	// Update runs fn in a transaction of the database of the engine's store, and commits the transaction if fn returns nil. See InTx.
	Update func(ctx context.Context, fn func(tx engine.Execer) error) error
	// Authorize is the authorization middleware of the embedder. It returns a handler that calls next for callers that may operate the
	// engine, and returns an error response to other callers.
	Authorize func(next http.Handler) http.Handler

	// Permit returns nil if a caller that Authorize has accepted may run an operation, and engine.ErrNotPermitted otherwise. Default: every
	// operation.
	Permit func(ctx context.Context, op Operation) error
	// Tenant returns the prefix of the ids of the caller's apps in the engine, such as "acme:". Requests and responses contain the ids
	// without it, and lists contain no other apps. ctx is that of the request. Operations with engine.AccessFleet concern all tenants.
	// Default: no prefix.
	Tenant func(ctx context.Context) string

	// Names describes apps and principals. Default: data of the engine and the directory.
	Names Names
	// Synced waits until the engine has a mark for every change that the embedder has committed before the call. Default: no wait. An
	// embedder that calls Engine.Mark in the transactions of its changes needs no wait.
	Synced func(ctx context.Context) error
	// Imports creates users from imported accounts. Default: imports link accounts to existing users and create none.
	Imports Imports
	// Unprovisioned returns the numbers of assigned users of an app that get no account. Default: the responses contain no such numbers.
	Unprovisioned func(ctx context.Context, app string) ([]client.Unprovisioned, error)

	// Feed reports new events to callers that wait for them. Default: only the search of Poll.
	Feed *Feed
	// Poll is the interval of the search for events without a call of Feed.Wake: for those that another process has stored. Default: 500ms.
	Poll time.Duration
	// Streams is the maximum number of callers that wait for events. Default: DefaultStreams.
	Streams int
	// Beat is the interval of comments in a stream of events. Default: 15s.
	Beat time.Duration

	// Prefix is the prefix of all paths. Default: DefaultPrefix.
	Prefix string
	// Scope is the name of the permission in the OpenAPI document. Default: DefaultScope. With Permit, the document has Operation.Access.
	Scope string
	// Now is the clock of the engine. Default: time.Now.
	Now func() time.Time
	// Logger receives internal errors. Default: slog.Default.
	Logger *slog.Logger
}

// InTx returns an Options.Update for a database.
func InTx(db *sql.DB) func(ctx context.Context, fn func(tx engine.Execer) error) error {
	return func(ctx context.Context, fn func(tx engine.Execer) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("control: %w", err)
		}
		if err := fn(tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
}

// New returns a handler of the API for all paths below Options.Prefix.
func New(o Options) (http.Handler, error) {
	switch {
	case o.Engine == nil:
		return nil, errors.New("control: Options.Engine is required")
	case o.Directory == nil:
		return nil, errors.New("control: Options.Directory is required")
	case o.Update == nil:
		return nil, errors.New("control: Options.Update is required: InTx returns one for a *sql.DB")
	case o.Authorize == nil:
		return nil, errors.New("control: Options.Authorize is required: the API shows users and changes targets")
	}
	h, err := newHandler(o)
	if err != nil {
		return nil, err
	}
	return o.Authorize(h), nil
}

// api runs the operations.
type api struct {
	o      Options
	prefix string
	scope  string // Options.Scope, which all operations require; empty with Options.Permit

	streams chan struct{} // has an element for each caller that waits for events
}

func newHandler(o Options) (*rest.Handler, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Names == nil {
		o.Names = defaultNames{o.Engine, o.Directory}
	}
	if o.Imports == nil {
		o.Imports = defaultImports{o.Engine}
	}
	guard := rest.Permitted{Holder: o.Tenant, Denied: engine.ErrNotPermitted}
	if permit := o.Permit; permit != nil {
		guard.Permit = func(ctx context.Context, info rest.Info) error { return permit(ctx, operationOf(info)) }
	}
	return rest.NewHandler(newAPI(o).routes(), rest.Options{
		TextPaths: true, Guard: guard, Limiter: rest.AllowAll{}, Words: words(), Now: o.Now, Logger: o.Logger,
	})
}

func newAPI(o Options) *api {
	if o.Tenant == nil {
		o.Tenant = func(context.Context) string { return "" }
	}
	if o.Feed == nil {
		o.Feed = &Feed{}
	}
	a := &api{o: o, prefix: strings.TrimRight(cmp.Or(o.Prefix, DefaultPrefix), "/")}
	if o.Permit == nil {
		a.scope = cmp.Or(o.Scope, DefaultScope)
	}
	a.streams = make(chan struct{}, cmp.Or(max(o.Streams, 0), DefaultStreams))
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

// OpenAPI returns the OpenAPI 3.0 document of the API with the prefix and the scope of the options, as indented JSON. It ignores the other
// options.
func OpenAPI(o Options) ([]byte, error) {
	h, err := newHandler(o)
	if err != nil {
		return nil, err
	}
	data, err := h.Document("scimwright engine API", "v1")
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return data, nil
}
