package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/observe"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// metricsPath is where Prometheus finds the metrics of the SCIM servers and of the engine.
const metricsPath = "/metrics"

// MetricsOptions define where metrics are served and to whom. They name tenants and applications, so that the zero value serves them to
// no client.
type MetricsOptions struct {
	// Token is the bearer token that clients must send, or "sha256:" and its digest, as tenants.ParseToken reads it. Default: none.
	Token string
	// Listen is the address of a listener for /metrics alone; port 0 takes a free one. Without a token, every client that reaches it is
	// served. Default: none; with a token, /metrics is then served next to everything else.
	Listen string
}

// Check returns why the options are invalid.
func (o MetricsOptions) Check() error {
	_, err := o.verifier()
	return err
}

// verifier returns what accepts the token, nil without one.
func (o MetricsOptions) verifier() (scimserver.TokenVerifier, error) {
	if o.Token == "" {
		return nil, nil
	}
	t, err := tenants.ParseToken(o.Token)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return scimserver.Tokens(time.Now, scimserver.Token{Digest: t.Digest, Expires: t.Expires}), nil
}

// metricsServer serves metrics as its options say.
type metricsServer struct {
	verifier scimserver.TokenVerifier // nil: no token
	listener net.Listener             // nil: none of its own
	server   *httpServer              // nil until serve
}

// openMetrics takes the address of the options, so that a port in use is detected before anything else is done.
func openMetrics(ctx context.Context, o MetricsOptions) (m *metricsServer, err error) {
	m = &metricsServer{}
	if m.verifier, err = o.verifier(); err != nil || o.Listen == "" {
		return m, err
	}
	m.listener, err = listen(ctx, o.Listen, "--metrics-listen")
	return m, err
}

// serve starts the listener of its own, if there is one.
func (m *metricsServer) serve(ctx context.Context, page http.Handler, log *slog.Logger) {
	if m.listener == nil {
		return
	}
	if m.verifier == nil && !onLoopback(m.listener.Addr()) {
		log.WarnContext(ctx, "metrics are served to other machines without a token; --metrics-token demands one", "listen",
			m.listener.Addr().String())
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, m.guarded(page))
	m.server = serve(m.listener, mux, nil, log)
}

// next is what answers at /metrics next to everything else.
func (m *metricsServer) next(page http.Handler) http.Handler {
	if m.listener == nil && m.verifier != nil {
		return m.guarded(page)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w,
			"Metrics are not served here: --metrics-token TOKEN serves them with that token, --metrics-listen ADDRESS at an address of their own.",
			http.StatusNotFound)
	})
}

// guarded demands the token.
func (m *metricsServer) guarded(page http.Handler) http.Handler {
	if m.verifier == nil {
		return page
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
		_, err := m.verifier.VerifyToken(r.Context(), strings.TrimSpace(token))
		if err != nil || token == "" || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "Metrics need the metrics token: Authorization: Bearer TOKEN.", http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// url is where the listener of its own answers, "" without one.
func (m *metricsServer) url() string {
	if m.listener == nil {
		return ""
	}
	return baseURL(m.listener, false) + metricsPath
}

// close ends the listener of its own.
func (m *metricsServer) close(ctx context.Context) error {
	switch {
	case m.server != nil:
		return m.server.Close(ctx)
	case m.listener != nil:
		_ = m.listener.Close()
	}
	return nil
}

// together serves the metrics of the SCIM servers and those of the engine.
func together(servers *observe.Metrics, provisioning prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(provisioning)
	return promhttp.HandlerFor(prometheus.Gatherers{servers.Gatherer(), registry}, promhttp.HandlerOpts{})
}

// beside serves the metrics next to a SCIM server.
func beside(metrics, scim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == metricsPath {
			metrics.ServeHTTP(w, r)
			return
		}
		scim.ServeHTTP(w, r)
	})
}
