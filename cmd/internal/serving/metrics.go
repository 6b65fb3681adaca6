package serving

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// MetricsPath is the path of the metrics.
const MetricsPath = "/metrics"

// MetricsOptions define the address of the metrics and the clients that may read them. Metrics contain names of tenants and applications,
// so the zero value serves them to no client.
type MetricsOptions struct {
	// Token is the bearer token that clients must send, or "sha256:" and its digest, as tenants.ParseToken reads it. Default: none.
	Token string
	// Listen is the address of a listener for /metrics alone; port 0 selects a free port. Without Token, every client that reaches this
	// address can read the metrics. Default: no separate listener. The main listener then serves /metrics if Token is set, otherwise it
	// returns 404 for /metrics.
	Listen string
}

// Check returns an error if the token is invalid.
func (o MetricsOptions) Check() error {
	_, err := o.verifier()
	return err
}

// verifier returns the verifier of the token, nil without a token.
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

// MetricsServer serves metrics as configured in MetricsOptions.
type MetricsServer struct {
	verifier scimserver.TokenVerifier // nil: no token
	listener net.Listener             // nil: no separate listener
	server   *Server                  // nil until Serve
}

// OpenMetrics opens the configured address, so that a port in use is detected before other work starts.
func OpenMetrics(ctx context.Context, o MetricsOptions) (m *MetricsServer, err error) {
	m = &MetricsServer{}
	if m.verifier, err = o.verifier(); err != nil || o.Listen == "" {
		return m, err
	}
	m.listener, err = Listen(ctx, o.Listen, "--metrics-listen")
	return m, err
}

// Serve starts the separate listener, if configured.
func (m *MetricsServer) Serve(ctx context.Context, page http.Handler, log *slog.Logger) {
	if m.listener == nil {
		return
	}
	if m.verifier == nil && !OnLoopback(m.listener.Addr()) {
		log.WarnContext(ctx, "metrics are served to other machines without a token; set one with --metrics-token", "listen",
			m.listener.Addr().String())
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+MetricsPath, m.requireToken(page))
	m.server = Serve(m.listener, mux, nil, log)
}

// MainHandler returns the handler of /metrics on the main listener.
func (m *MetricsServer) MainHandler(page http.Handler) http.Handler {
	if m.listener == nil && m.verifier != nil {
		return m.requireToken(page)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w,
			"This address serves no metrics. Set --metrics-token TOKEN to require a token, or --metrics-listen ADDRESS for a separate address.",
			http.StatusNotFound)
	})
}

// requireToken returns a handler that requires the token, if a token is configured.
func (m *MetricsServer) requireToken(page http.Handler) http.Handler {
	if m.verifier == nil {
		return page
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
		_, err := m.verifier.VerifyToken(r.Context(), strings.TrimSpace(token))
		if err != nil || token == "" || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "Metrics require the metrics token: Authorization: Bearer TOKEN.", http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// URL returns the address of the metrics at the separate listener, "" without a separate listener.
func (m *MetricsServer) URL() string {
	if m.listener == nil {
		return ""
	}
	return BaseURL(m.listener, false) + MetricsPath
}

// Close stops the separate listener.
func (m *MetricsServer) Close(ctx context.Context) error {
	switch {
	case m.server != nil:
		return m.server.Close(ctx)
	case m.listener != nil:
		_ = m.listener.Close()
	}
	return nil
}
