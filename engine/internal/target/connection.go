package target

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
)

// Options configures a Connector; all fields are required.
type Options struct {
	Network     *connect.Network
	UserAgent   string           // empty: the default of package connect
	MaxCall     time.Duration    // upper limit of Target.Timeout
	Concurrency int              // maximum number of requests in flight of all apps
	Now         func() time.Time // the clock
}

// Connector connects to the targets of all apps of an engine.
type Connector struct {
	o           Options
	sharedSlots *slots   // slots for the requests of all apps
	limiters    sync.Map // *lane.RateLimiter by app
}

// NewConnector returns a Connector.
func NewConnector(o Options) *Connector {
	return &Connector{o: o, sharedSlots: newSlots(o.Concurrency)}
}

// RateLimiter returns the rate limiter of an app, which outlives connections and leases.
func (c *Connector) RateLimiter(app string) *lane.RateLimiter {
	p, ok := c.limiters.Load(app)
	if !ok {
		p, _ = c.limiters.LoadOrStore(app, lane.NewRateLimiter(c.o.Now))
	}
	return p.(*lane.RateLimiter)
}

// Forget removes the rate limiter of an app.
func (c *Connector) Forget(app string) { c.limiters.Delete(app) }

// Connection is a target and its client. It is immutable: another configuration results in another connection.
type Connection struct {
	Target   engine.Target
	Client   *connect.Client
	Broken   error // error in the configuration; Client is then nil
	Requests int   // maximum number of requests of the app in flight

	names       *regexp.Regexp // names to which an account is only renamed after a decision; nil matches no name
	windows     []window       // maintenance windows
	slots       *semaphore.Weighted
	sharedSlots *slots // slots of the connector
}

// Connect returns the connection to a target. An error in the configuration is in Connection.Broken.
func (c *Connector) Connect(t engine.Target) *Connection {
	out := &Connection{Target: t, Requests: c.requests(t), sharedSlots: c.sharedSlots}
	out.slots = semaphore.NewWeighted(int64(out.Requests))
	if out.Broken = check(t); out.Broken == nil {
		out.windows, out.Broken = compile(t.Maintenance)
	}
	if out.Broken == nil {
		out.names, out.Broken = heldNames(t.HoldNames)
	}
	if out.Broken == nil {
		out.Client, out.Broken = connect.New(connect.Config{
			BaseURL: t.BaseURL, Auth: t.Auth, TLS: t.TLS, Timeout: min(cmp.Or(t.Timeout, connect.DefaultTimeout), c.o.MaxCall),
			UserAgent: c.o.UserAgent, Network: c.o.Network, Now: c.o.Now,
		})
	}
	return out
}

// defaultRequests is the default number of concurrent requests of an app.
const defaultRequests = 4

// requests returns the maximum number of concurrent requests of an app: at most half of the limit for all apps.
func (c *Connector) requests(t engine.Target) int {
	wanted := cmp.Or(max(t.Concurrency, 0), defaultRequests)
	return min(wanted, max(c.o.Concurrency/2, 1))
}

// check rejects undefined values, because a sequence would treat them as the default, which may permit requests that the administrator
// excluded.
func check(t engine.Target) error {
	return cmp.Or(
		known("Style", t.Style, engine.Catalog, engine.Wizard, engine.Auto),
		known("Fallback", t.Fallback, engine.FallbackLearn, engine.FallbackNone),
		known("OnMissing", t.OnMissing, engine.Recreate, engine.Fail),
		known("OnExisting", t.OnExisting, existing...),
		known("OnRecycled", t.OnRecycled, existing...),
	)
}

// known returns an error for a value that is neither empty nor defined.
func known[T ~string](field string, value T, words ...T) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("unknown Target.%s %q: want one of %q", field, value, words)
}

var existing = []engine.Existing{engine.LinkAuto, engine.LinkAsk, engine.LinkNever}

// noHoldNames is the value of Target.HoldNames that matches no name.
const noHoldNames = "-"

// heldNames compiles Target.HoldNames; nil matches no name.
func heldNames(expression string) (*regexp.Regexp, error) {
	if expression == noHoldNames {
		return nil, nil
	}
	names, err := regexp.Compile(cmp.Or(expression, engine.DefaultHoldNames))
	if err != nil {
		return nil, fmt.Errorf("HoldNames: %w", err)
	}
	return names, nil
}

// HoldsName reports whether a rename of an account to this name requires a decision.
func (c *Connection) HoldsName(name string) bool { return c.names != nil && c.names.MatchString(name) }

// Is reports whether the connection is for this target, so that it can be reused.
func (c *Connection) Is(t engine.Target) bool {
	have := c.Target
	if !slices.EqualFunc(t.Maintenance, have.Maintenance, sameWindow) {
		return false
	}
	t.Maintenance, have.Maintenance = nil, nil
	return reflect.DeepEqual(t, have)
}
