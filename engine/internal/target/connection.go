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
	UserAgent   string           // Empty: the one of package connect
	MaxCall     time.Duration    // no call takes longer, whatever Target.Timeout allows
	Concurrency int              // of the requests of all apps that are in flight
	Now         func() time.Time // the clock
}

// Connector connects to the targets of all apps of an engine.
type Connector struct {
	o     Options
	turns *semaphore.Weighted // of the requests of all apps, in the order in which they come
	paces sync.Map            // of app to its *lane.RateLimiter
}

// NewConnector returns a Connector.
func NewConnector(o Options) *Connector {
	return &Connector{o: o, turns: semaphore.NewWeighted(int64(o.Concurrency))}
}

// RateLimiter returns the rate limit of an app, which outlives connections and leases.
func (c *Connector) RateLimiter(app string) *lane.RateLimiter {
	p, ok := c.paces.Load(app)
	if !ok {
		p, _ = c.paces.LoadOrStore(app, lane.NewRateLimiter(c.o.Now))
	}
	return p.(*lane.RateLimiter)
}

// Forget removes the rate limit of an app.
func (c *Connector) Forget(app string) { c.paces.Delete(app) }

// Connection is a target and the client for it. It does not change: another configuration is another connection.
type Connection struct {
	Target   engine.Target
	Client   *connect.Client
	Broken   error // why there is no client
	Requests int   // how many requests of the app may be in flight

	names   *regexp.Regexp // that no account is renamed to without a decision; nil for none
	windows []window       // of maintenance
	slots   *semaphore.Weighted
	turns   *semaphore.Weighted // of the connector
}

// Connect returns the connection to a target. What is wrong with the configuration is in Connection.Broken.
func (c *Connector) Connect(t engine.Target) *Connection {
	out := &Connection{Target: t, Requests: c.requests(t), turns: c.turns}
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

// defaultRequests is the number of requests of an app that are in flight at once.
const defaultRequests = 4

// requests returns how many requests of an app may be in flight: one app has at most half of what all have.
func (c *Connector) requests(t engine.Target) int {
	wanted := cmp.Or(max(t.Concurrency, 0), defaultRequests)
	return min(wanted, max(c.o.Concurrency/2, 1))
}

// check rejects words that are not defined: a sequence would read them as the default, which may allow more.
func check(t engine.Target) error {
	return cmp.Or(
		known("Style", t.Style, engine.Catalog, engine.Wizard, engine.Auto),
		known("Fallback", t.Fallback, engine.FallbackLearn, engine.FallbackNone),
		known("OnMissing", t.OnMissing, engine.Recreate, engine.Fail),
		known("OnExisting", t.OnExisting, existing...),
		known("OnRecycled", t.OnRecycled, existing...),
	)
}

// known returns an error for a word that is neither empty nor one of those that are defined.
func known[T ~string](field string, value T, words ...T) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("unknown Target.%s %q: want one of %q", field, value, words)
}

var existing = []engine.Existing{engine.LinkAuto, engine.LinkAsk, engine.LinkNever}

// noHoldNames is Target.HoldNames for none.
const noHoldNames = "-"

// heldNames compiles Target.HoldNames; nil holds none.
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

// HoldsName reports whether an account must not be renamed to that without a decision.
func (c *Connection) HoldsName(name string) bool { return c.names != nil && c.names.MatchString(name) }

// Is reports whether a target is the one of the connection, so that the connection may stay.
func (c *Connection) Is(t engine.Target) bool {
	have := c.Target
	if !slices.EqualFunc(t.Maintenance, have.Maintenance, sameWindow) {
		return false
	}
	t.Maintenance, have.Maintenance = nil, nil
	return reflect.DeepEqual(t, have)
}
