package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/cmd/internal/console/suite"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	enginemetrics "github.com/scimwright/scimwright/engine/metrics"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/observe"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// Sandbox is a running sandbox.
type Sandbox struct {
	options  Options
	egress   egress.Policy
	metrics  *serving.MetricsServer
	ready    Ready
	took     time.Duration // duration of Start
	settings settings
	summary  []appSummary // the provisioned content when the sandbox became ready
	// available is set when the services are available and the seed is provisioned.
	available atomic.Bool

	server *serving.Server
	serving.Closing

	// changing is locked while the organization is seeded or reset.
	changing sync.Mutex
}

// Start starts all services. It returns when they are available and the seed is provisioned. ctx applies to the start only; Close stops the
// sandbox.
func Start(ctx context.Context, o Options) (*Sandbox, error) {
	began := time.Now()
	s := &Sandbox{}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	s.took = time.Since(began)
	return s, nil
}

func (s *Sandbox) start(ctx context.Context, o Options) error {
	cleanup, err := o.complete()
	s.OnClose(func(context.Context) error { return cleanup() })
	if err != nil {
		return err
	}
	failures := serving.NewFailureLog(o.Logger.Handler())
	s.OnClose(failures.Close)
	o.Logger = slog.New(failures)
	s.options = o
	key, err := serving.SecretKey(o.SecretKey, o.SecretKeyFile)
	if err != nil {
		return err
	}
	listener, err := serving.Listen(ctx, o.Listen, "--listen")
	if err != nil {
		return err
	}
	s.OnClose(func(context.Context) error { _ = listener.Close(); return nil }) // fails if serve has already closed the listener

	if s.metrics, err = serving.OpenMetrics(ctx, o.Metrics); err != nil {
		return err
	}
	s.OnClose(s.metrics.Close)
	if s.egress, err = egressPolicy(o.Egress, listener.Addr()); err != nil {
		return err
	}
	owner, err := serving.EngineName(&s.Closing, o.DB, listener, "sandbox")
	if err != nil {
		return err
	}
	if o.ReadyFile != "" { // listen has succeeded, so the file is not that of another running sandbox
		if err := serving.RemoveReady(o.ReadyFile); err != nil {
			return err
		}
	}
	db, err := s.OpenDatabase(ctx, o.DB, o.Logger)
	if err != nil {
		return err
	}
	base := serving.BaseURL(listener, false)
	at, err := o.addresses(listener, base)
	if err != nil {
		return err
	}
	p, err := s.assemble(ctx, db, key, base, at, owner)
	if err != nil {
		return err
	}
	failures.Labels(p.label)

	if s.settings.Seeded {
		// Relay the pending changes before catchUp: the relay marks their principals as not settled, so that catchUp does not report an outdated
		// result.
		if err := p.relay.drain(ctx); err != nil {
			return err
		}
		if p.replicas == nil || p.replicas.first { // otherwise the engine of another replica may be about to report the results
			if err := catchUp(ctx, p.engine, p.bridge); err != nil {
				return err
			}
		}
	}
	s.metrics.Serve(ctx, p.metrics, o.Logger)
	s.server = serving.Serve(listener, p.handler, nil, o.Logger)
	s.OnClose(s.server.Close)
	s.OnClose(p.suite.Close) // before the server, which may be the target of the run
	if err := p.engine.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	s.OnClose(p.engine.Stop)
	relaying, stop := context.WithCancel(context.WithoutCancel(ctx))
	go p.relay.run(relaying)
	s.OnClose(func(context.Context) error { stop(); <-p.relay.done; return nil })
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	worked := make(chan struct{})
	go func() { defer close(worked); _ = p.api.Run(working) }() // runs until its context ends
	s.OnClose(func(context.Context) error { stopWorking(); <-worked; return nil })

	s.ready = Ready{BaseURL: base, APIToken: p.tokens.api, SCIMURL: base + tenants.Prefix(tenants.Default), SCIMToken: p.tokens.scim,
		MetricsURL: s.metrics.URL(), PID: os.Getpid()}
	if s.ready.ConsoleURL, err = p.consoleURL(ctx, o, at.public, base); err != nil {
		return err
	}
	if err := s.seed(ctx, p); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	s.followReplicas(context.WithoutCancel(ctx), p)
	if s.summary, err = p.summarize(ctx, s.settings.Apps); err != nil {
		return err
	}
	s.available.Store(true)
	if o.ReadyFile == "" {
		return nil
	}
	s.OnClose(func(context.Context) error { return serving.RemoveReady(o.ReadyFile) })
	return serving.WriteReady(o.ReadyFile, s.ready)
}

// parts are the services of a sandbox, and the data that they share.
type parts struct {
	tokens     tokens
	store      *docstore.Store
	stored     docstore.Collection[settings]
	engine     *provision.Engine
	bridge     *bridge
	work       *work
	relay      *relay
	handler    http.Handler
	metrics    http.Handler
	console    *console.Console
	suite      *suite.Runner // conformance runs of the console
	scimReader string        // token with which the console reads the SCIM servers, known only to this process
	rate       console.Rate  // of the chart of the console
	api        *mgmtapi.API
	tenants    *tenants.Tenants
	appDeleted func(app string)
	replicas   *replicas // nil on SQLite
	following  *following
}

// initialContent is the initial content of the organization.
func (p *parts) initialContent() mgmtapi.Setup { return mgmtapi.Setup{Token: p.tokens.api} }

// assemble creates and connects all services on one database. It starts none of them.
func (s *Sandbox) assemble(
	ctx context.Context, db *sqldb.DB, key []byte, base string, at addresses, owner string,
) (*parts, error) {
	o := s.options
	secrets, err := seal.New(key)
	if err != nil {
		return nil, err
	}
	p := &parts{stored: settingsCollection(), scimReader: newToken()}
	servers := &providers{stored: tenantCollection(), changes: changeCollection()}
	clk := &clock{stored: clockCollection()}
	collections := []docstore.Table{p.stored, servers.stored, clk.stored}
	if db.Dialect() == sqldb.Postgres {
		p.replicas = &replicas{db: db, kind: "sandbox", log: o.Logger, address: base, public: at.public}
		collections = append(collections, servers.changes)
	}
	if p.store, err = docstore.Open(ctx, db, clk.Now, collections...); err != nil {
		return nil, err
	}
	if err := clk.load(ctx, p.store); err != nil {
		return nil, err
	}
	servers.store, servers.replicas = p.store, p.replicas
	if err := s.joinReplicas(ctx, p, clk, servers); err != nil {
		return nil, err
	}
	if s.settings, p.tokens, err = loadSettings(ctx, p.store, p.stored, secrets, tokens{api: o.APIToken, scim: o.SCIMToken}); err != nil {
		return nil, err
	}
	feed := &control.Feed{}
	engineStore, err := enginestore.Open(ctx, db, sqlstore.Options{Recorded: feed.Wake})
	if err != nil {
		return nil, err
	}
	p.bridge = &bridge{timeout: o.TargetTimeout, guard: engine.Guard{Limit: o.Guard}, log: o.Logger}
	counted := enginemetrics.New()
	scheduler, err := serving.Scheduler(ctx, &s.Closing, o.DB, db, engineStore, o.Logger)
	if err != nil {
		return nil, err
	}
	p.engine, err = provision.New(provision.Options{
		Store: engineStore, Directory: p.bridge, Observer: engine.Observers(p.bridge, counted, &p.rate), Logger: o.Logger,
		Jobs:  scheduler,
		Owner: owner, RequestTimeout: o.TargetTimeout, RetryMax: o.RetryMax, Now: clk.Now, Egress: targetEgress(s.egress),
	})
	if err != nil {
		return nil, err
	}
	clk.moved = func(ctx context.Context, back bool) error { return p.clockMoved(ctx, clk.Now(), back) }
	counted.Follow(p.engine.Apps())
	counted.FollowFleet(p.engine)
	given, err := builtIn(p.tokens.scim, o.Quirks, o.Tenants)
	if err != nil {
		return nil, err
	}
	var metrics *observe.Metrics
	stores := scimStores{db, clk.Now}
	servers.drop = func(ctx context.Context, c tenants.Config) error { return stores.Drop(ctx, c.Name, c.Types) }
	if servers.tenants, metrics, err = newTenants(stores, tenants.Options{
		PasswordCost: min(sandboxPasswordCost, cmp.Or(o.HashCost, sandboxPasswordCost)), Logger: o.Logger,
		Cursors: scimserver.CursorOptions{Key: []byte(p.tokens.cursors)},
		Tokens:  scimserver.Tokens(nil, scimserver.Token{Value: p.scimReader, Grant: scimserver.Grant{ReadOnly: true}}),
	}); err != nil {
		return nil, err
	}
	if err := servers.start(ctx, given); err != nil {
		return nil, err
	}
	if p.following != nil {
		if err := p.following.read(ctx); err != nil {
			return nil, err
		}
	}
	p.work = &work{engine: p.engine, bridge: p.bridge, names: names{p.bridge}, now: clk.Now, replicated: p.replicas != nil}
	hookCA, err := readHookCA(o.HookCA)
	if err != nil {
		return nil, err
	}
	shown := sandboxport.Sandbox{
		Work: p.work, Providers: servers, Clock: clk, Guarded: controlOperations(),
		Reset: func(ctx context.Context, seed bool) error { return s.reset(ctx, p, seed) },
	}
	options := managementOptions(db)
	options.Secrets, options.Now, options.Logger = key, clk.Now, o.Logger
	options.Connections = &connections{engine: p.engine, timeout: o.TargetTimeout}
	options.Imports, options.Syncing = importer{p.engine}, p.work.syncing
	options.Jobs = managementJobs{scheduler}
	options.Limits, options.HashCost = mgmtapi.Limits{Off: o.NoRateLimits}, o.HashCost
	options.BaseURL, options.Aliases, options.CustomDomain, options.DynamicIssuer = at.public, at.aliases, at.custom, o.DynamicIssuer
	options.AnswerReplays, options.RelaxedFIDO, options.OptionalPassword = o.AnswerReplays, o.RelaxedFIDO, o.OptionalPassword
	options.Hooks = mgmtapi.HookNetwork{
		CA: hookCA, CAOption: "--hook-ca", Reach: mgmtapi.Reach(s.egress.Range), Allow: s.egress.Allow, Own: s.egress.Own,
	}
	api, err := mgmtapi.Open(sandboxport.WithSandbox(ctx, shown), options)
	if err != nil {
		return nil, err
	}
	s.OnClose(func(context.Context) error { return api.Close() })
	p.bridge.wanted = api.Wanted()
	p.relay = newRelay(p.bridge.wanted, p.engine, o.Logger)
	p.relay.appDeleted = counted.Forget
	p.api, p.tenants, p.appDeleted = api, servers.tenants, counted.Forget
	if err := api.Setup(ctx, p.initialContent()); err != nil {
		return nil, err
	}
	p.metrics = metricsHandler(metrics, counted)
	controlled := newControl(db, p.engine, feed, p.bridge, api, clk.Now, o.Logger)
	operate, err := control.New(controlled)
	if err != nil {
		return nil, err
	}
	if p.suite, err = s.newSuite(ctx, db, o.Logger); err != nil {
		return nil, err
	}
	if p.console, err = s.newConsole(ctx, db, p, controlled, base, api, o.Logger); err != nil {
		return nil, err
	}
	p.handler = &routes{
		api: api, control: operate, scim: servers.tenants, metrics: s.metrics.MainHandler(p.metrics),
		openAPI: document(func() ([]byte, error) { return withControl(api.OpenAPI()) }, o.Logger), health: http.HandlerFunc(s.health),
		console: p.console, following: p.following,
	}
	if p.following != nil {
		p.following.moved = func() { p.api.Wake(); p.engine.Wake() }
	}
	return p, nil
}

// managementOptions returns the options of the management API for a database. The tables of the management API have no prefix, because the
// database belongs to the sandbox. On SQLite, the management API writes in the same transactions as the engine and the SCIM servers.
func managementOptions(db *sqldb.DB) mgmtapi.Options {
	o := mgmtapi.Options{DB: db.Writer(), Readers: db.Readers(), Dialect: mgmtapi.Postgres, NoPrefix: true}
	if db.Dialect() == sqldb.SQLite {
		o.Dialect = mgmtapi.SQLite
		o.Updater = func(ctx context.Context, fn func(tx mgmtapi.Tx) error) error {
			return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
		}
	}
	return o
}

// seed creates the organization in a new database. For the seeded apps of an earlier run it updates the addresses of the SCIM servers.
func (s *Sandbox) seed(ctx context.Context, p *parts) error {
	ctx, l, err := s.change(ctx, p)
	if err != nil {
		return err
	}
	defer l.release()
	ctx, cancel := context.WithTimeout(ctx, s.options.SeedTime)
	defer cancel()
	seeder, end := s.seeder(p)
	defer end()
	served, err := s.served(ctx, p)
	switch {
	case err != nil:
		return err
	case s.settings.Seeded && served:
		return nil
	case s.settings.Seeded:
		for _, app := range s.settings.Apps {
			if err := seeder.connect(ctx, app.ID, app.Target); err != nil {
				return err
			}
		}
	case !s.options.Empty:
		if s.settings.Apps, err = seeder.seedOrganization(ctx); err != nil {
			return err
		}
	}
	s.settings.Seeded, s.settings.BaseURL = true, s.ready.BaseURL
	return saveSettings(ctx, p.store, p.stored, l, s.settings)
}

// seeder returns a seeder for this sandbox; end releases its connections.
func (s *Sandbox) seeder(p *parts) (made *seeder, end func()) {
	transport := &http.Transport{}
	return &seeder{
		api:    &APIClient{BaseURL: s.ready.BaseURL, Token: s.ready.APIToken, HTTP: &http.Client{Transport: transport}},
		target: s.target,
		drain:  func(ctx context.Context) error { _, err := p.work.Drain(ctx); return err },
		retry:  func(ctx context.Context, app string) error { _, err := p.engine.Tasks().RetryAll(ctx, app); return err },
	}, transport.CloseIdleConnections
}

// target returns the address and token of a service provider named in the seed.
func (s *Sandbox) target(name string) (baseURL, token string) {
	switch {
	case s.options.ExternalTarget != "":
		return s.options.ExternalTarget, s.options.ExternalToken
	default:
		return s.ready.BaseURL + tenants.Prefix(name), s.ready.SCIMToken
	}
}

// Ready returns the addresses and credentials of the sandbox.
func (s *Sandbox) Ready() Ready { return s.ready }

// Done is closed when serving stops on its own; Err returns the cause.
func (s *Sandbox) Done() <-chan struct{} { return s.server.Done() }

// Err returns the cause if serving stopped on its own. It is nil while the sandbox runs and after Close.
func (s *Sandbox) Err() error { return s.server.Err() }

// Close stops the sandbox: it accepts no new requests, running requests are completed or aborted when ctx ends, the engine completes its
// running sequences, and a temporary database is removed. A second call returns the same error.
func (s *Sandbox) Close(ctx context.Context) error { return s.CloseAll(ctx) }
