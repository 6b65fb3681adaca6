package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/engine/webhooks/webhooksapi"
	"github.com/scimwright/scimwright/internal/counted"
	"github.com/scimwright/scimwright/internal/rest"
)

// Paths without credentials.
const (
	livePath    = "/livez"
	readyPath   = "/readyz"
	openAPIPath = "/openapi.json"
)

// engineAPI is the id of the operation that stands for all operations of packages desiredapi, webhooksapi and control. Their own handlers
// authorize each of them.
const engineAPI = "engineAPI"

// maxStreams is the number of callers of all tenants that may wait for events. Each tenant has at most Limits.InFlight of them.
const maxStreams = 1000

// handler returns the handler of all paths.
func (d *Daemon) handler(ctx context.Context) (http.Handler, error) {
	d.usage = newUsage(d.options.Limits, time.Now)
	d.audit = newRecorder(d.db, d.options.Logger)
	d.OnClose(d.audit.close)
	g := &guard{db: d.db, usage: d.usage, audit: d.audit, settings: &d.settings, now: time.Now}
	own, err := newOwn(&api{
		db: d.db, store: d.store, hooks: d.hooks, now: time.Now, seal: d.seal, engineStore: d.engineStore, engine: d.engine,
	}, g, d.options)
	if err != nil {
		return nil, err
	}
	behind := func(next http.Handler) http.Handler { return next } // the handler below is behind the guard
	operators, err := control.New(control.Options{
		Engine: d.engine, Directory: d.store, Update: d.db.transact, Authorize: behind, Permit: g.permitControl, Tenant: tenantPrefix,
		Names: names{d.store}, Feed: &d.feed, Streams: maxStreams, Logger: d.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	known := func(ctx context.Context, id string) error {
		_, err := names{d.store}.App(ctx, id)
		return err
	}
	receivers, err := webhooksapi.New(webhooksapi.Options{
		Service: d.hooks, Authorize: behind, Permit: g.permitWebhooks, Tenant: tenantPrefix, MaxPerTenant: maxTenantWebhooks, App: known,
		Next: operators, Logger: d.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	writers, err := desiredapi.New(desiredapi.Options{
		Store: d.store, Authorize: behind, Permit: g.permitDesired, Tenant: tenantPrefix, Next: receivers, Logger: d.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	guarded := own.Guarded(rest.Info{ID: engineAPI}, withoutSecrets(d.forgetting(writers)))
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+livePath, d.live)
	mux.HandleFunc("GET "+readyPath, d.readiness)
	mux.Handle("GET "+metricsPath, d.metrics.MainHandler(d.metricsPage()))
	mux.HandleFunc("GET "+openAPIPath, d.serveOpenAPI())
	mux.Handle("/", own) // not found, with the errors of the API
	mux.Handle(desiredapi.DefaultPrefix+"/", guarded)
	var paths []string
	for _, r := range (&api{}).routes() {
		paths = append(paths, rest.Describe(r).Path)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		mux.Handle(path, own)
	}
	served := d.traces.handler(d.serve(mux))
	if d.options.NoConsole {
		return served, nil
	}
	if d.console, err = d.newConsole(ctx, g, d.audit, served); err != nil {
		return nil, err
	}
	mux.Handle(consoleBase+"/", d.console)
	mux.Handle("GET /{$}", http.RedirectHandler(consoleBase+"/", http.StatusSeeOther))
	return served, nil
}

// maxInFlight is the maximum number of bytes that all requests in flight hold, uploads included. A tenant gets half of it.
const maxInFlight = 256 << 20

// newOwn returns the handler of the operations of the daemon itself.
func newOwn(a *api, g rest.Guard, o Options) (*rest.Handler, error) {
	return rest.NewHandler(a.routes(), rest.Options{
		TextPaths: true, Guard: g, Limiter: rest.AllowAll{}, MaxInFlight: maxInFlight, Now: time.Now, Logger: o.Logger,
		Bearer: "A token of the daemon (docs/reference/daemon.md).",
	})
}

// withoutSecrets prevents callers without the permission "secrets" from writing secrets.
func withoutSecrets(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if x := exchangeOf(r.Context()); !x.token.has(scopeSecrets) {
			r = r.WithContext(desired.WithoutSecrets(r.Context()))
		}
		next.ServeHTTP(w, r)
	})
}

// forgetting removes the counters of an app from the metrics when it is deleted.
func (d *Daemon) forgetting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		app, ok := strings.CutPrefix(r.URL.Path, desiredapi.DefaultPrefix+"/apps/")
		if !ok || r.Method != http.MethodDelete || strings.Contains(app, "/") {
			return
		}
		id := tenantPrefix(r.Context()) + app
		if _, err := d.store.App(r.Context(), id); errors.Is(err, engine.ErrUnknownApp) {
			d.counted.Forget(id)
		}
	})
}

// readTime is the maximum time between two parts of a request body.
const readTime = 60 * time.Second

// serve sets the exchange of each request, and completes it afterwards.
func (d *Daemon) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{}
		ctx := context.WithValue(r.Context(), exchangeKey{}, x)
		if strings.HasSuffix(r.URL.Path, "/wait") { // a long wait must not delay the end of the daemon
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(d.stopping, cancel)()
		}
		r = r.WithContext(ctx)
		answer := &statusWriter{ResponseWriter: w, stopping: d.stopping}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &steadyBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
		}
		defer func() {
			if x.release != nil {
				x.release()
			}
			if x.audited != 0 {
				d.audit.end(x.audited, answer.status)
			}
		}()
		next.ServeHTTP(answer, r)
	})
}

// steadyBody extends the time limit of a request with each part of its body, so that an upload may take any time as long as it continues.
type steadyBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *steadyBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(readTime)) // without support, the limit of the server applies
	return b.ReadCloser.Read(p)
}

// statusWriter records the status of a response. An error of a request that the end of the daemon interrupts is 503 instead of 500.
type statusWriter struct {
	http.ResponseWriter
	stopping context.Context
	status   int
}

func (w *statusWriter) WriteHeader(status int) {
	if status == http.StatusInternalServerError && w.stopping.Err() != nil {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// live returns 200 as long as the process responds.
func (d *Daemon) live(w http.ResponseWriter, _ *http.Request) { writeHealth(w, "", nil) }

// healthTime is the time limit of the checks of readiness.
const healthTime = 5 * time.Second

// readiness returns 200 if the database responds, the engine of this process is valid, and the daemon is not stopping.
func (d *Daemon) readiness(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	problem := d.notReady(ctx)
	if problem != "" {
		writeHealth(w, problem, nil)
		return
	}
	writeHealth(w, "", d.warnings(ctx))
}

// warnings returns what an operator has to do although the daemon is ready: apps that are halted since the start, a certificate that
// expires, and secrets that no key decrypts. The response has no names.
func (d *Daemon) warnings(ctx context.Context) (texts []string) {
	if halted, err := d.engineStore.HaltedApps(ctx, haltedAtStart); err == nil && len(halted) > 0 {
		texts = append(texts, counted.Of(len(halted), "app")+" halted since the start with --start-halted: resume each of them, or all with "+
			"\"scimwright engine resume --halted-at-start\"")
	}
	if text := certificateText(d.secure, time.Now()); text != "" {
		texts = append(texts, text)
	}
	if d.lost.Load() { // without lost secrets at the start, there are none now
		text, err := d.unreadableText(ctx)
		if err == nil && text == "" {
			d.lost.Store(false)
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// notReady returns why the daemon is not ready, empty if it is. Errors of the database go to the log only.
func (d *Daemon) notReady(ctx context.Context) string {
	if d.stopping.Err() != nil {
		return "the daemon is stopping"
	}
	all, err := d.engine.Processes(ctx)
	if err != nil {
		d.options.Logger.WarnContext(ctx, "not ready: the database does not respond", "error", err)
		return "the database does not respond"
	}
	if !slices.ContainsFunc(all, func(p engine.Process) bool { return p.Name == d.owner && p.State == engine.ProcessAlive }) {
		return "the engine of this process is not valid: its heartbeats did not arrive"
	}
	if err := d.audit.writable(ctx); err != nil {
		d.options.Logger.WarnContext(ctx, "not ready: the database does not store data", "error", err)
		return "the database does not store data: its disk may be full"
	}
	return ""
}

// health is the response of livePath and readyPath.
type health struct {
	Status   string   `json:"status"`
	Reason   string   `json:"reason,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func writeHealth(w http.ResponseWriter, problem string, warnings []string) {
	status, text := http.StatusOK, health{Status: "ok", Warnings: warnings}
	if problem != "" {
		status, text = http.StatusServiceUnavailable, health{Status: "unavailable", Reason: problem}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(text)
}
