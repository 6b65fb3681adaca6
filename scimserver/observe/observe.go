// Package observe makes a SCIM server observable: a structured access log with one record per request, and metrics for Prometheus. It wraps
// any http.Handler that serves SCIM.
//
// It never records data that could be personal or secret: no bodies, no ids, no filters or other values of queries, and only an id of each
// token. It does not trace and stores nothing except counters.
package observe

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Options configure Wrap. The zero value observes a server of users and groups at the root, without metrics.
type Options struct {
	// Provider is the name of the service provider in log and metrics. Default: "default".
	Provider string
	// Prefix is the path below which the server is mounted, with or without the protocol version. Default: "".
	Prefix string
	// Endpoints are the first path segments of the resource types. Default: Users and Groups. Requests to all other paths share one time
	// series, so that requests with arbitrary paths do not create an unlimited number of series.
	Endpoints []string
	// Logger logs each request at level info. Default: slog.Default.
	Logger *slog.Logger
	// Metrics counts the requests. Default: nil, no metrics.
	Metrics *Metrics
	// TokenID returns an id of a bearer token from which the token cannot be derived. Default: the first 12 hexadecimal digits of its SHA-256.
	TokenID func(token string) string
}

// RequestIDHeader is the response header with the id of the request. The id is that of the same request header if it is valid, otherwise a
// random one.
const RequestIDHeader = "X-Request-Id"

// Keys of the log record.
const (
	keyProvider  = "provider"
	keyMethod    = "method"
	keyRoute     = "route"
	keyStatus    = "status"
	keyDuration  = "duration"
	keyBytes     = "bytes"
	keyRequestID = "request_id"
	keyToken     = "token_id"
	keyAborted   = "aborted"
)

// Wrap returns a handler that calls h and records each request.
func Wrap(h http.Handler, o Options) http.Handler {
	o.Provider = cmp.Or(o.Provider, "default")
	o.Prefix = strings.TrimSuffix(o.Prefix, "/")
	if o.Endpoints == nil {
		o.Endpoints = []string{"Users", "Groups"}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.TokenID == nil {
		o.TokenID = tokenID
	}
	return &observer{next: h, o: o}
}

type observer struct {
	next http.Handler
	o    Options
}

// ServeHTTP calls the handler and records the request. If the handler panics, the request is recorded and the panic continues.
func (ob *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	seen := exchange{provider: ob.o.Provider, method: method(r.Method), route: ob.route(r.URL.Path), aborted: true}
	id := requestID(r.Header.Get(RequestIDHeader))
	w.Header().Set(RequestIDHeader, id)
	counted := &writer{ResponseWriter: w}
	ob.o.Metrics.begin(seen)
	defer func() {
		seen.status, seen.bytes, seen.took = counted.status, counted.bytes, time.Since(began)
		ob.o.Metrics.end(seen)
		ob.log(r, seen, id)
	}()
	ob.next.ServeHTTP(counted, r)
	seen.aborted = false
	if counted.status == 0 {
		counted.status = http.StatusOK // net/http sends 200 if the handler writes nothing
	}
}

// exchange is the recorded data of one request.
type exchange struct {
	provider, method, route string
	status                  int // 0 if the response was not started
	bytes                   int64
	took                    time.Duration
	aborted                 bool // the connection was closed before the end of the response
}

func (ob *observer) log(r *http.Request, seen exchange, id string) {
	if !ob.o.Logger.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	attrs := []slog.Attr{
		slog.String(keyProvider, seen.provider), slog.String(keyMethod, seen.method), slog.String(keyRoute, seen.route),
		slog.Int(keyStatus, seen.status), slog.Duration(keyDuration, seen.took), slog.Int64(keyBytes, seen.bytes), slog.String(keyRequestID, id),
	}
	if token := bearer(r); token != "" {
		attrs = append(attrs, slog.String(keyToken, ob.o.TokenID(token)))
	}
	if seen.aborted {
		attrs = append(attrs, slog.Bool(keyAborted, true))
	}
	ob.o.Logger.LogAttrs(r.Context(), slog.LevelInfo, "scim request", attrs...)
}

// fixed are the routes that every server may have.
var fixed = []string{"", "ServiceProviderConfig", "Schemas", "ResourceTypes", "Bulk", "Me", ".search"}

// otherRoute is the route of all paths that SCIM does not define.
const otherRoute = "other"

// version is the protocol version that may precede an endpoint.
const version = "/v2"

// under returns the rest of a path after a prefix. ok is false if the path does not start with the segments of the prefix.
func under(path, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, prefix)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// route returns the template of a path below the prefix and the version, such as /Users/{id}.
func (ob *observer) route(path string) string {
	rest, ok := under(path, ob.o.Prefix)
	if !ok {
		return otherRoute
	}
	if below, ok := under(rest, version); ok {
		rest = below
	}
	first, last, nested := strings.Cut(strings.Trim(rest, "/"), "/")
	if !slices.Contains(fixed, first) && !slices.Contains(ob.o.Endpoints, first) {
		return otherRoute
	}
	switch {
	case !nested:
		return "/" + first
	case last == ".search":
		return "/" + first + "/.search"
	case strings.Contains(last, "/"):
		return otherRoute
	}
	return "/" + first + "/{id}"
}

func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return otherRoute
}

// maxRequestID is the maximum length of an id from a client, in bytes.
const maxRequestID = 64

// requestID returns the id that the client sent if it is short and has only safe characters, otherwise a random one.
func requestID(given string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/=+", r)
	}
	if given == "" || len(given) > maxRequestID || strings.ContainsFunc(given, func(r rune) bool { return !plain(r) }) {
		return rand.Text()
	}
	return given
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func tokenID(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:6])
}

// writer records the status and counts the bytes of the response.
type writer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader records the first final status.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes to the response and counts the bytes.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController access to the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
