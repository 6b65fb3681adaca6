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

// Stores keep the resources of tenants, those of each in a place of its own.
type Stores interface {
	// Open returns the store of a tenant: what it held before, or an empty one. It is called once for each time the tenant is
	// added. No types stand for users and groups.
	Open(ctx context.Context, name string, types []*schema.ResourceType) (scimserver.Store, error)
	// Drop removes the store of a tenant with everything in it, after its last request has ended.
	Drop(ctx context.Context, name string, types []*schema.ResourceType) error
}

// Options configure [New]. Stores is required.
type Options struct {
	Stores Stores
	// PasswordCost is as in scimserver.Options.
	PasswordCost int
	// Metrics counts the requests by tenant. Defaults to not counting.
	Metrics *observe.Metrics
	// Logger gets the access log, whose records name the tenant, and internal errors. Default: slog.Default.
	Logger *slog.Logger
	// Now is the clock by which tokens expire. Defaults to time.Now.
	Now func() time.Time
}

var (
	// ErrExists is returned when a tenant of that name is there already.
	ErrExists = errors.New("tenants: there is a tenant of this name")
	// ErrNotFound is returned for a tenant that does not exist.
	ErrNotFound = errors.New("tenants: no such tenant")
)

// unknown is what log and metrics call all tenants that do not exist; none can have this name.
const unknown = "(unknown)"

// Tenants is an http.Handler over any number of tenants. Make one with [New].
type Tenants struct {
	o     Options
	other http.Handler // answers where no tenant is

	changing sync.Mutex // held while a tenant is added or removed

	mu     sync.RWMutex
	byName map[string]*Tenant
}

// New returns a handler without tenants.
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
	return &Tenants{
		o: o, byName: map[string]*Tenant{},
		other: observe.Wrap(http.HandlerFunc(nobody), observe.Options{Provider: unknown, Logger: o.Logger, Metrics: o.Metrics}),
	}, nil
}

// nobody answers for tenants that do not exist.
func nobody(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(&scim.Error{Status: http.StatusNotFound, Detail: "there is no SCIM service at this path"})
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", scim.MediaType)
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(body) // the client has gone
}

// Add opens the store of a tenant and serves it from then on. It fails with [ErrExists], and when the configuration cannot be
// served.
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
	t := &Tenant{config: c, tokens: tokens{now: ts.o.Now}}
	t.tokens.set(c.Tokens)
	store, err := ts.o.Stores.Open(ctx, c.Name, c.Types)
	if err != nil {
		return nil, err
	}
	server, err := scimserver.New(scimserver.Options{
		Store: store, Tokens: &t.tokens, Types: c.Types, Prefix: Prefix(c.Name), Refuse: c.Refuse,
		PasswordCost: ts.o.PasswordCost, Logger: ts.o.Logger.With("provider", c.Name),
	})
	if err != nil {
		return nil, err
	}
	if t.quirks, err = quirks.New(server, c.Quirks...); err != nil {
		return nil, err
	}
	var endpoints []string
	for _, rt := range c.Types {
		endpoints = append(endpoints, strings.TrimPrefix(rt.Endpoint, "/"))
	}
	// What is observed is what clients see: answers with their quirks.
	t.handler = observe.Wrap(t.quirks,
		observe.Options{Provider: c.Name, Prefix: root(c.Name), Endpoints: endpoints, Logger: ts.o.Logger, Metrics: ts.o.Metrics})
	t.ended, t.end = context.WithCancel(context.WithoutCancel(ctx))
	return t, nil
}

// Remove ends the service of a tenant, cancels its running requests and waits for their end, and drops its resources. When it
// fails, no request reaches the tenant any more, its name is still taken, and Remove can be called again. It fails with
// [ErrNotFound].
func (ts *Tenants) Remove(ctx context.Context, name string) error {
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
	if err := ts.o.Stores.Drop(ctx, name, t.config.Types); err != nil {
		return fmt.Errorf("tenant %s: %w", name, err)
	}
	ts.o.Metrics.Forget(name)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.byName, name)
	return nil
}

// named returns the tenant of that name, also while it is removed; nil when there is none.
func (ts *Tenants) named(name string) *Tenant {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return ts.byName[name]
}

// Get returns a tenant that is served.
func (ts *Tenants) Get(name string) (*Tenant, bool) {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	t, ok := ts.byName[name]
	return t, ok && !t.leaving
}

// All returns the tenants that are served, by name.
func (ts *Tenants) All() []*Tenant {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	all := slices.SortedFunc(maps.Values(ts.byName), func(a, b *Tenant) int { return cmp.Compare(a.config.Name, b.config.Name) })
	return slices.DeleteFunc(all, func(t *Tenant) bool { return t.leaving })
}

// Owns says whether a path is one of a tenant, existing or not.
func (ts *Tenants) Owns(path string) bool {
	_, ok := nameOf(path)
	return ok
}

// ServeHTTP answers as the tenant that the path belongs to.
func (ts *Tenants) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t := ts.enter(r.URL.Path); t != nil {
		t.serve(w, r)
		return
	}
	ts.other.ServeHTTP(w, r)
}

// enter finds the tenant of a path and counts a request in, so that it is not dropped meanwhile.
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
