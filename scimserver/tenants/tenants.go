package tenants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/observe"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// Stores opens and removes the stores of tenants. Each tenant has a separate store.
type Stores interface {
	// Open returns the store of a tenant with its previous content, or an empty store for a new tenant. It is called each time the tenant is
	// added. Empty types mean users and groups.
	Open(ctx context.Context, name string, types []*schema.ResourceType) (scimserver.Store, error)
	// Drop deletes the store of a tenant with all its content, after the last request of the tenant has finished.
	Drop(ctx context.Context, name string, types []*schema.ResourceType) error
}

// Options configure [New]. Stores is required.
type Options struct {
	Stores Stores
	// PasswordCost is passed to scimserver.Options.
	PasswordCost int
	// Cursors is passed to scimserver.Options. Default: a random key per tenant, so that cursors are valid in this process only.
	Cursors scimserver.CursorOptions
	// Memory limits the memory of the requests in progress of all tenants together. Default: DefaultMemory bytes.
	Memory *scimserver.Memory
	// Tokens accepts further tokens in every tenant, for a program that shows the resources of its tenants. Default: none.
	Tokens scimserver.TokenVerifier
	// Metrics counts the requests by tenant. Default: nil, no metrics.
	Metrics *observe.Metrics
	// Logger receives the access log, whose records name the tenant, and internal errors. Default: slog.Default.
	Logger *slog.Logger
	// Now is the clock for the expiration of tokens. Default: time.Now.
	Now func() time.Time
}

// DefaultMemory is the default of Options.Memory in bytes: twice the default of scimserver.Limits.MaxMemory, so that the requests of one
// tenant do not use all of it.
const DefaultMemory = 256 << 20

var (
	// ErrExists is returned if a tenant with that name exists already.
	ErrExists = errors.New("tenants: a tenant with this name exists")
	// ErrNotFound is returned for a tenant that does not exist.
	ErrNotFound = errors.New("tenants: tenant not found")
)

// unknown is the tenant name in log and metrics for requests to nonexistent tenants. No tenant can have this name.
const unknown = "(unknown)"

// Tenants is an http.Handler over any number of tenants. Create one with [New].
type Tenants struct {
	o     Options
	other http.Handler // handles the paths of nonexistent tenants

	changing sync.Mutex // locked while a tenant is added or removed

	mu     sync.RWMutex
	byName map[string]*Tenant
}

// New returns a handler without tenants. Options.Stores is required.
func New(o Options) (*Tenants, error) {
	if o.Stores == nil {
		return nil, errors.New("tenants: Options.Stores is required")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Memory == nil {
		o.Memory = scimserver.NewMemory(DefaultMemory)
	}
	return &Tenants{
		o: o, byName: map[string]*Tenant{},
		other: observe.Wrap(http.HandlerFunc(serveUnknown), observe.Options{Provider: unknown, Logger: o.Logger, Metrics: o.Metrics}),
	}, nil
}

// serveUnknown handles requests for tenants that do not exist.
func serveUnknown(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(&scim.Error{Status: http.StatusNotFound, Detail: "no SCIM service at this path"})
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", scim.MediaType)
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(body) // ignore the error: the client has disconnected
}

// Add opens the store of a tenant and starts to serve the tenant. It fails with [ErrExists], or if the configuration is invalid.
func (ts *Tenants) Add(ctx context.Context, c Config) (*Tenant, error) {
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	if err := uniqueTokens(c.Tokens); err != nil {
		return nil, fmt.Errorf("tenant %s: %w", c.Name, err)
	}
	ts.changing.Lock()
	defer ts.changing.Unlock()
	if ts.named(c.Name) != nil {
		return nil, fmt.Errorf("%w: %s", ErrExists, c.Name)
	}
	t, err := ts.open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("tenant %s: %w", c.Name, err)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.byName[c.Name] = t
	return t, nil
}

func (ts *Tenants) open(ctx context.Context, c Config) (*Tenant, error) {
	t := &Tenant{config: c, tokens: tokens{now: ts.o.Now, common: ts.o.Tokens}}
	t.tokens.set(c.Tokens)
	store, err := ts.o.Stores.Open(ctx, c.Name, c.Types)
	if err != nil {
		return nil, err
	}
	server, err := scimserver.New(scimserver.Options{
		Store: store, Tokens: &t.tokens, Types: c.Types, Prefix: Prefix(c.Name), Refuse: c.Refuse,
		PasswordCost: ts.o.PasswordCost, Cursors: ts.o.Cursors, Memory: ts.o.Memory, Logger: ts.o.Logger.With("provider", c.Name),
	})
	if err != nil {
		return nil, err
	}
	if t.quirks, err = quirks.New(server); err != nil {
		return nil, err
	}
	if err := t.quirks.SetShared(c.Shared, c.Quirks...); err != nil {
		return nil, err
	}
	var endpoints []string
	for _, rt := range c.Types {
		endpoints = append(endpoints, strings.TrimPrefix(rt.Endpoint, "/"))
	}
	// The log and the metrics record the responses that clients receive, with quirks applied.
	t.handler = observe.Wrap(t.quirks,
		observe.Options{Provider: c.Name, Prefix: root(c.Name), Endpoints: endpoints, Logger: ts.o.Logger, Metrics: ts.o.Metrics})
	t.ended, t.end = context.WithCancel(context.WithoutCancel(ctx))
	return t, nil
}

// Remove stops a tenant, cancels its requests in progress, waits for them to finish, and deletes the tenant's resources. If Remove fails,
// the tenant receives no more requests, its name stays in use, and Remove can be called again. For an unknown tenant the error is
// [ErrNotFound].
func (ts *Tenants) Remove(ctx context.Context, name string) error {
	return ts.stop(ctx, name, ts.o.Stores.Drop)
}

// Stop stops a tenant as Remove does, but leaves the tenant's resources. It is for a replica whose tenant another replica has removed.
func (ts *Tenants) Stop(ctx context.Context, name string) error {
	return ts.stop(ctx, name, func(context.Context, string, []*schema.ResourceType) error { return nil })
}

func (ts *Tenants) stop(ctx context.Context, name string, end func(context.Context, string, []*schema.ResourceType) error) error {
	ts.changing.Lock()
	defer ts.changing.Unlock()
	t := ts.named(name)
	if t == nil {
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	ts.mu.Lock()
	t.leaving = true
	ts.mu.Unlock()
	t.end()
	if err := t.wait(ctx); err != nil {
		return fmt.Errorf("tenant %s: wait for its running requests: %w", name, err)
	}
	if err := end(ctx, name, t.config.Types); err != nil {
		return fmt.Errorf("tenant %s: %w", name, err)
	}
	ts.o.Metrics.Forget(name)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.byName, name)
	return nil
}

// named returns the tenant with that name, even while it is being removed, or nil if no such tenant exists.
func (ts *Tenants) named(name string) *Tenant {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return ts.byName[name]
}

// Get returns the tenant with that name. The second result is false if no such tenant exists.
func (ts *Tenants) Get(name string) (*Tenant, bool) {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	t, ok := ts.byName[name]
	return t, ok && !t.leaving
}

// All returns the tenants, sorted by name.
func (ts *Tenants) All() []*Tenant {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	all := slices.SortedFunc(maps.Values(ts.byName), func(a, b *Tenant) int { return cmp.Compare(a.config.Name, b.config.Name) })
	return slices.DeleteFunc(all, func(t *Tenant) bool { return t.leaving })
}

// Owns reports whether a path is in the URL space of tenants, even if the tenant in it does not exist.
func (ts *Tenants) Owns(path string) bool {
	_, ok := nameOf(path)
	return ok
}

// ServeHTTP passes the request to the tenant that the path belongs to.
func (ts *Tenants) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t := ts.enter(r.URL.Path); t != nil {
		t.serve(w, r)
		return
	}
	ts.other.ServeHTTP(w, r)
}

// enter returns the tenant of a path and counts the request as running, so that the tenant's store is not deleted during the request.
func (ts *Tenants) enter(path string) *Tenant {
	name, ok := nameOf(path)
	if !ok {
		return nil
	}
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	t, ok := ts.byName[name]
	if !ok || t.leaving {
		return nil
	}
	t.running.Add(1)
	return t
}
