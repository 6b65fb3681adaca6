package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	enginemetrics "github.com/scimwright/scimwright/engine/metrics"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/similar"
)

// Ready contains the addresses of a running daemon and, if it was created in this start, the admin token. It is the content of the ready
// file; scripts depend on its member names.
type Ready struct {
	BaseURL    string `json:"baseUrl"`
	EngineURL  string `json:"engineUrl"` // with the prefix of the API
	AdminToken string `json:"adminToken,omitempty"`
	MetricsURL string `json:"metricsUrl,omitempty"`
	ConsoleURL string `json:"consoleUrl,omitempty"` // logs in the first browser that opens it within an hour
	PID        int    `json:"pid"`
}

// Daemon is a running daemon.
type Daemon struct {
	serving.Closing
	given    Options // with the settings of the file, without defaults
	options  Options
	db       *database
	store    *desired.Store
	engine   *provision.Engine
	owner    string
	settings atomic.Pointer[settings]
	feed     control.Feed
	hooks    *webhooks.Service
	seal     desired.Seal
	lost     atomic.Bool // secrets may be unreadable

	engineStore *sqlstore.Store
	tokenFile   string      // that this start has created
	secure      *tls.Config // nil without TLS
	usage       *usage
	audit       *recorder
	traces      *traces
	metrics     *serving.MetricsServer
	counted     *enginemetrics.Metrics
	rate        console.Rate // of the chart of the console
	console     *console.Console
	server      *serving.Server
	ready       Ready
	stopping    context.Context // ends when the daemon stops
	stop        context.CancelFunc
}

// Start starts a daemon. It returns when all services are available. ctx applies to the start only; Close stops the daemon.
func Start(ctx context.Context, o Options) (*Daemon, error) {
	d := &Daemon{}
	d.stopping, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.start(ctx, o); err != nil {
		return nil, errors.Join(err, d.Close(context.WithoutCancel(ctx)))
	}
	return d, nil
}

func (d *Daemon) start(ctx context.Context, o Options) error {
	o.completeLookup()
	configured, err := readSettings(o.Config, o.LookupEnv)
	if err != nil {
		return err
	}
	o = o.with(&configured.file)
	d.given = o
	o.Limits = o.limits(configured)
	if err := o.check(); err != nil {
		return err
	}
	o.complete()
	records := o.Logger.Handler()
	if o.Traces.enabled(o.LookupEnv) {
		records = traceLog{records}
	}
	failures := serving.NewFailureLog(records)
	d.OnClose(failures.Close)
	o.Logger = slog.New(failures)
	d.options = o
	d.settings.Store(configured)
	if d.traces, err = openTraces(ctx, o); err != nil {
		return err
	}
	if d.traces != nil {
		d.OnClose(d.traces.close)
	}
	listener, secure, err := d.listen(ctx)
	if err != nil {
		return err
	}
	d.OnClose(func(context.Context) error { _ = listener.Close(); return nil }) // fails if the server has already closed the listener
	if d.metrics, err = serving.OpenMetrics(ctx, o.Metrics); err != nil {
		return err
	}
	d.OnClose(d.metrics.Close)
	if o.ReadyFile != "" { // the address was free, so the file is not that of another running daemon
		if err := serving.RemoveReady(o.ReadyFile); err != nil {
			return err
		}
	}
	if d.owner, err = serving.EngineName(&d.Closing, o.DB, listener, "daemon"); err != nil {
		return err
	}
	if err := d.open(ctx, listener.Addr()); err != nil {
		return err
	}
	if err := d.checkKeys(ctx, d.seal, o.AcceptLostKey); err != nil {
		return err
	}
	if text, err := d.unreadableText(ctx); err != nil {
		return err
	} else if text != "" {
		d.lost.Store(true)
		o.Logger.WarnContext(ctx, text)
	}
	if text, err := d.db.skew(ctx, time.Now); err != nil {
		return err
	} else if text != "" {
		o.Logger.WarnContext(ctx, text)
	}
	d.secure = secure
	if text := certificateText(secure, time.Now()); text != "" {
		o.Logger.WarnContext(ctx, text)
	}
	if o.StartHalted {
		if err := d.haltApps(ctx); err != nil {
			return err
		}
	}
	created, err := d.adminToken(ctx)
	if err != nil {
		return err
	}
	if err := d.hooks.Start(ctx); err != nil { // before the engine, so that it stops after the engine and delivers the last events
		return err
	}
	d.OnClose(d.hooks.Stop)
	if err := d.engine.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	d.OnClose(d.engine.Stop)
	if _, err := d.writeApps(ctx, configured); err != nil {
		return err
	}
	handler, err := d.handler(ctx)
	if err != nil {
		return err
	}
	if o.hooks.handler != nil {
		handler = o.hooks.handler(handler)
	}
	d.metrics.Serve(ctx, d.metricsPage(), o.Logger)
	d.server = serving.Serve(listener, handler, secure, o.Logger)
	d.OnClose(d.server.Close)
	d.OnClose(func(context.Context) error { d.stop(); d.feed.Close(); return nil })
	base := d.server.URL()
	d.ready = Ready{
		BaseURL: base, ConsoleURL: d.consoleURL(ctx, base), EngineURL: base + desiredapi.DefaultPrefix, AdminToken: created,
		MetricsURL: d.metrics.URL(), PID: os.Getpid(),
	}
	if o.ReadyFile == "" {
		return nil
	}
	d.OnClose(func(context.Context) error { return serving.RemoveReady(o.ReadyFile) })
	return serving.WriteReady(o.ReadyFile, d.ready)
}

// ErrNoTLS is returned if other machines can reach the address and the daemon has no certificate.
var ErrNoTLS = errors.New("TLS is required")

// readClientCA reads the certificates that sign those of clients.
func readClientCA(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates of clients: %s contains none in PEM format", file)
	}
	return pool, nil
}

// listen opens the address, and returns the configuration of TLS. Without TLS, only a loopback address is allowed.
func (d *Daemon) listen(ctx context.Context) (net.Listener, *tls.Config, error) {
	o := d.options
	secure, err := serving.ReadCertificate(o.TLSCert, o.TLSKey)
	if err != nil {
		return nil, nil, err
	}
	if o.ClientCA != "" {
		if secure.ClientCAs, err = readClientCA(o.ClientCA); err != nil {
			return nil, nil, err
		}
		secure.ClientAuth = tls.VerifyClientCertIfGiven
	}
	listener, err := serving.Listen(ctx, o.Listen, "--listen")
	if err != nil {
		return nil, nil, err
	}
	if secure == nil && !o.BehindProxy && !serving.OnLoopback(listener.Addr()) {
		_ = listener.Close()
		return nil, nil, fmt.Errorf("%w: other machines can reach %s, and tokens would be sent to it in plaintext; set --tls-cert and "+
			"--tls-key, or --behind-proxy if a proxy terminates TLS", ErrNoTLS, o.Listen)
	}
	return listener, secure, nil
}

// open opens the database and creates the engine.
func (d *Daemon) open(ctx context.Context, listening net.Addr) error {
	o := d.options
	policy, err := egressOf(o.Egress, listening)
	if err != nil {
		return err
	}
	seal, err := o.Keys.seal(ctx, o.DB)
	if err != nil {
		return err
	}
	db, err := d.OpenDatabase(ctx, o.DB, o.Logger)
	if err != nil {
		return err
	}
	d.seal = seal
	if d.db, err = openTables(ctx, db); err != nil {
		return err
	}
	engineStore, err := enginestore.Open(ctx, db, sqlstore.Options{
		Recorded: d.recorded, KeepEvents: int(o.Retention.Events.Rows), Tenant: tenantOf,
	})
	if err != nil {
		return err
	}
	d.engineStore = engineStore
	anyAddress := policy.Range == engine.EgressAny
	stored := desired.Options{Dialect: d.db.dialect(), Seal: seal, Egress: policy, AllowHTTP: anyAddress, Shown: withoutTenant}
	pool := db.Writer()
	if stored.Dialect == sqlstore.SQLite {
		stored.Updater, pool = d.db.transact, db.Readers()
	}
	if d.store, err = desired.Open(ctx, pool, stored); err != nil {
		return err
	}
	d.OnClose(func(context.Context) error { d.store.Close(); return nil })
	d.hooks, err = webhooks.Open(ctx, pool, webhooks.Options{
		Dialect: stored.Dialect, Updater: stored.Updater, Source: engineStore, Seal: seal, Shown: withoutTenant, Egress: policy,
		AllowHTTP: anyAddress, MaxEndpoints: maxWebhooks, Attempts: o.Webhooks.Attempts, Owner: d.owner, Transport: o.hooks.transport,
		RetryInitial: o.Webhooks.RetryInitial, RetryMax: o.Webhooks.RetryMax, Logger: o.Logger, TracerProvider: d.traces.providerOf(),
		MaxDead: int(o.Retention.DeadLetters.Rows), KeepDead: o.Retention.DeadLetters.Age,
	})
	if err != nil {
		return err
	}
	scheduler, err := serving.Scheduler(ctx, &d.Closing, o.DB, db, engineStore, o.Logger)
	if err != nil {
		return err
	}
	if err := scheduler.Register(d.retention(engineStore)); err != nil {
		return err
	}
	var all store.All = engineStore
	if o.hooks.store != nil {
		all = o.hooks.store(all)
	}
	d.counted = enginemetrics.New()
	d.engine, err = provision.New(provision.Options{
		Transport: o.hooks.transport, Store: all, Directory: d.store, Observer: engine.Observers(d.counted, &d.rate), Jobs: scheduler,
		Logger: o.Logger, Owner: d.owner,
		RequestTimeout: o.RequestTimeout, RetryMax: o.RetryMax, Egress: policy, TracerProvider: d.traces.providerOf(),
		TraceHosts: o.Traces.Hosts,
	})
	if err != nil {
		return err
	}
	d.store.Attach(d.engine)
	d.counted.Follow(d.engine.Apps())
	d.counted.FollowFleet(d.engine)
	return nil
}

// The maximum numbers of the endpoints of webhooks.
const (
	maxWebhooks       = 10_000 // of all tenants
	maxTenantWebhooks = 100
)

// recorded wakes the parts that wait for new events of an app. The store calls it for the events of the engine, which starts after these
// parts exist.
func (d *Daemon) recorded(app string) {
	d.feed.Wake(app)
	d.hooks.Wake(app)
}

// tenantOf returns the tenant of an app.
func tenantOf(app string) string {
	tenant, _, _ := strings.Cut(app, ":")
	return tenant
}

// withoutTenant returns the id of an app as its tenant sees it.
func withoutTenant(app string) string {
	_, id, _ := strings.Cut(app, ":")
	return id
}

// egressOf returns the policy for the addresses of targets. By default, services on this machine may be targets only if the daemon listens
// on a loopback address.
func egressOf(name string, listening net.Addr) (engine.Egress, error) {
	policy := engine.Egress{Range: engine.EgressRange(name)}
	if err := checkEgress(name); err != nil {
		return policy, err
	}
	if name == "" {
		policy.Range = engine.EgressPrivate
		if serving.OnLoopback(listening) {
			policy.Range = engine.EgressAny
		}
	}
	return policy, nil
}

// checkEgress returns an error if a policy for addresses is neither known nor empty.
func checkEgress(name string) error {
	known := []string{string(egress.Any), string(egress.Private), string(egress.Public)}
	if name == "" || slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("unknown address policy %q: use %s, %s or %s%s", name, egress.Any, egress.Private, egress.Public,
		similar.Hint(name, known))
}

// Ready returns the addresses of the daemon.
func (d *Daemon) Ready() Ready { return d.ready }

// Done is closed when serving stops on its own; Err returns the cause.
func (d *Daemon) Done() <-chan struct{} { return d.server.Done() }

// Err returns the cause if serving stopped on its own. It is nil while the daemon runs and after Close.
func (d *Daemon) Err() error {
	if d.server == nil {
		return nil
	}
	return d.server.Err()
}

// Close stops the daemon: it accepts no new requests, running requests are completed or aborted when ctx ends, and the engine completes its
// running sequences and hands over its lanes. A second call returns the same error.
func (d *Daemon) Close(ctx context.Context) error {
	defer d.stop()
	return d.CloseAll(ctx)
}
