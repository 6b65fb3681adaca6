package webhooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/spans"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Source has the events of the engine. *sqlstore.Store implements it.
type Source interface {
	// Events lists the events of an app, ascending by Seq.
	Events(ctx context.Context, q engine.EventQuery) ([]engine.Event, error)
	// EventHeads returns the numbers of the last events of the apps that have events, in ascending byte order of the apps, after the given
	// app (empty for the first page). Fewer than limit heads end the list.
	EventHeads(ctx context.Context, after string, limit int) ([]engine.EventHead, error)
}

// Seal encrypts secrets at rest. The binding identifies the place where the encrypted text is stored: Open fails with another binding.
// desired.NewKey returns one.
type Seal interface {
	Seal(plain, binding string) (string, error)
	Open(sealed, binding string) (string, error)
}

// Options configure a Service. Dialect, Source and Seal are required.
type Options struct {
	// Dialect, Schema, Prefix and Updater have the same meaning as in sqlstore.Options, and usually the same values.
	Dialect sqlstore.Dialect
	Schema  string
	Prefix  string
	Updater sqlstore.Updater
	// Source has the events.
	Source Source
	// Seal encrypts the secrets of the endpoints.
	Seal Seal
	// Shown returns the id of an app in messages. Default: the id in the Source. A program whose apps have the prefix of a tenant removes it.
	Shown func(app string) string

	// Egress is the policy for the addresses of endpoints. Default: every address except link-local ones and metadata services. A program
	// whose tenants choose the URLs sets engine.EgressPublic.
	Egress engine.Egress
	// AllowHTTP allows URLs without TLS. Default: https only.
	AllowHTTP bool
	// Transport sends the requests. Default: connections of the Service. Egress does not apply to a given Transport.
	Transport http.RoundTripper
	// Timeout is the time limit of a request. Default: 15s.
	Timeout time.Duration
	// Concurrency is the maximum number of concurrent requests to one endpoint. Default: 8.
	Concurrency int
	// RetryInitial and RetryMax are the first and the maximum delay before a retry. A delay is twice the previous one, and differs from that
	// by up to half at random. Defaults: 5s and 1h.
	RetryInitial, RetryMax time.Duration
	// Attempts is the number of attempts after which a message is a dead letter. Default: 20, which takes about half a day.
	Attempts int
	// HoldAfter is the number of consecutive failures, of different messages, after which an endpoint gets one message at a time, with the
	// delays of retries. Default: 5.
	HoldAfter int
	// DisableAfter is the time without a success, from the first of at least HoldAfter consecutive failures, after which an endpoint is
	// disabled. Default: 120h, five days.
	DisableAfter time.Duration
	// MaxEndpoints is the maximum number of endpoints, and MaxPerScope that of endpoints with the same App or Prefix. Defaults: 1000 and 20.
	MaxEndpoints, MaxPerScope int
	// MaxParked is the maximum number of messages of an endpoint that wait for a retry. Later events then wait in the Source. Default: 1000.
	MaxParked int
	// KeepDead and MaxDead are the maximum age and, for each endpoint, the maximum number of dead letters. Older ones are removed. Defaults:
	// 720h, 30 days, and 1000.
	KeepDead time.Duration
	MaxDead  int
	// Owner is the name of this process among the processes that share the database. A process with the name of a killed one delivers to the
	// endpoints of that one immediately, without waiting for Lease. Two running processes must not have the same name. Default: random.
	Owner string
	// Lease is the time after which other processes deliver to the endpoints of a process that was killed. Default: 10s.
	Lease time.Duration
	// Poll is the interval of the search for events without a call of Wake: for those that another process has stored. Default: 500ms.
	Poll time.Duration
	// TracerProvider creates an OpenTelemetry span for each attempt to deliver a message. Default: no spans.
	TracerProvider trace.TracerProvider
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Logger receives errors of the database, and endpoints that are disabled. Default: slog.Default.
	Logger *slog.Logger
}

const (
	defaultTimeout      = 15 * time.Second
	defaultConcurrency  = 8
	defaultRetry        = 5 * time.Second
	defaultRetryMax     = time.Hour
	defaultAttempts     = 20
	defaultHoldAfter    = 5
	defaultDisableAfter = 5 * 24 * time.Hour
	defaultEndpoints    = 1000
	defaultPerScope     = 20
	defaultParked       = 1000
	defaultKeepDead     = 30 * 24 * time.Hour
	defaultDead         = 1000
	defaultLease        = 10 * time.Second
	defaultPoll         = 500 * time.Millisecond
)

func (o *Options) fill() error {
	switch {
	case o.Source == nil:
		return errors.New("Options.Source is required: the *sqlstore.Store of the engine")
	case o.Seal == nil:
		return errors.New("Options.Seal is required: desired.NewKey returns one")
	case min(o.Timeout, o.RetryInitial, o.RetryMax, o.DisableAfter, o.KeepDead, o.Lease, o.Poll) < 0,
		min(o.Concurrency, o.Attempts, o.HoldAfter, o.MaxEndpoints, o.MaxPerScope, o.MaxParked, o.MaxDead) < 0:
		return errors.New("Options must not be negative")
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Concurrency = cmp.Or(o.Concurrency, defaultConcurrency)
	o.RetryInitial = cmp.Or(o.RetryInitial, defaultRetry)
	o.RetryMax = max(cmp.Or(o.RetryMax, defaultRetryMax), o.RetryInitial)
	o.Attempts = cmp.Or(o.Attempts, defaultAttempts)
	o.HoldAfter = cmp.Or(o.HoldAfter, defaultHoldAfter)
	o.DisableAfter = cmp.Or(o.DisableAfter, defaultDisableAfter)
	o.MaxEndpoints = cmp.Or(o.MaxEndpoints, defaultEndpoints)
	o.MaxPerScope = cmp.Or(o.MaxPerScope, defaultPerScope)
	o.MaxParked = cmp.Or(o.MaxParked, defaultParked)
	o.KeepDead = cmp.Or(o.KeepDead, defaultKeepDead)
	o.MaxDead = cmp.Or(o.MaxDead, defaultDead)
	o.Lease = cmp.Or(o.Lease, defaultLease)
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	if o.Shown == nil {
		o.Shown = func(app string) string { return app }
	}
	if o.Owner == "" {
		o.Owner = rand.Text()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

// Service stores endpoints and delivers events to them. It may be used by several goroutines.
type Service struct {
	o      Options
	db     *sqldb.DB // belongs to the embedder: the Service never closes it
	client *http.Client
	close  func()        // closes idle connections
	owner  string        // identifies this process
	spans  *spans.Tracer // nil without Options.TracerProvider

	changed chan struct{} // has an element if endpoints have changed since the last claim
	none    bool          // no endpoint existed at the last claim; only the goroutine of manage uses it
	renewed bool          // the leases of an earlier process with this owner have a new epoch; only the goroutine of manage uses it

	mu      sync.Mutex
	workers map[string]*worker // of the endpoints that this process owns
	cancel  context.CancelFunc // nil before Start
	stopped bool
	done    chan struct{}
}

// Open returns a Service with its tables in the embedder's database, which the embedder closes. It creates or upgrades the tables in one
// transaction. The Service delivers nothing until Start.
func Open(ctx context.Context, db *sql.DB, o Options) (*Service, error) {
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("webhooks: open: %w", err)
	}
	wrapped, err := sqldb.Embed(ctx, db, string(o.Dialect), o.Schema, o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("webhooks: open: %w", err)
	}
	s := &Service{
		o: o, db: wrapped, owner: o.Owner, spans: spans.NewWebhooks(o.TracerProvider), changed: make(chan struct{}, 1),
		workers: map[string]*worker{}, done: make(chan struct{}),
	}
	s.client, s.close = newClient(&o)
	err = s.transact(ctx, sqldb.LongWait, func(tx *sqldb.Tx) error {
		return tx.Upgrade(ctx, sqldb.Steps{Name: "webhooks", Texts: steps, First: "webhook_endpoint"})
	})
	if err != nil {
		return nil, fmt.Errorf("webhooks: open: %w", err)
	}
	return s, nil
}

// Start begins the deliveries in the background and returns. The end of ctx does not stop them: call Stop. A second call does nothing.
// After Stop, Start returns an error.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("webhooks: the service was stopped: open a new one")
	}
	if s.cancel != nil {
		return nil
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go func() {
		defer close(s.done)
		s.manage(work)
		s.close()
	}()
	return nil
}

// Stop cancels the requests in flight, releases the endpoints and returns. Another process, or the next one, sends the canceled messages
// again. If ctx ends first, Stop returns its error. A second call waits, too.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	cancel := s.cancel
	s.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wake reports that an app has new events, which are then delivered immediately. Pass it to sqlstore.Options.Recorded. It does not wait.
func (s *Service) Wake(app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if w.covers(app) {
			w.offer(app)
		}
	}
}

func (s *Service) transact(ctx context.Context, wait sqldb.Wait, fn func(tx *sqldb.Tx) error) error {
	if s.o.Updater == nil {
		return s.db.UpdateWaiting(ctx, wait, fn)
	}
	return s.o.Updater(ctx, func(tx engine.Execer) error {
		t := s.db.Wrap(tx)
		if err := fn(t); err != nil {
			return err
		}
		return t.Err()
	})
}

func (s *Service) update(ctx context.Context, fn func(tx *sqldb.Tx) error) error {
	return s.transact(ctx, sqldb.DefaultWait, fn)
}

// refresh makes the manager read the endpoints.
func (s *Service) refresh() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// milli returns the stored form of a time.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
