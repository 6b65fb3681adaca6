package rest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PageBytes is the maximum size of the stored documents on one page of a list, in bytes. A page ends before the document that would exceed
// it, and its link to the next page continues with that document. A single document that is larger is a page of its own.
const PageBytes = 2 << 20

// DefaultMaxBody is the size limit of a request body, in bytes.
const DefaultMaxBody = 1 << 20

// Headers of every response.
const (
	HeaderRequestID     = "X-Svc-Request-Id"
	HeaderRateLimit     = "X-Rate-Limit-Limit"
	HeaderRateRemaining = "X-Rate-Limit-Remaining"
	HeaderRateReset     = "X-Rate-Limit-Reset"
)

// Quota is the state of a rate-limit bucket after a request has been counted.
type Quota struct {
	Limit     int       // requests per window; 0 for no limit, without headers
	Remaining int       // remaining requests in the window
	Reset     time.Time // end of the window
	Exceeded  bool      // this request exceeds the limit
	First     bool      // this request is the first one in the window that exceeds the limit
	Bucket    string    // name of the bucket
}

// Limiter counts requests.
type Limiter interface {
	// Take counts a request in the bucket of its method and path.
	Take(method, path string) Quota
}

// SharedLimiter is an optional interface of a Limiter whose counts are in a database. A Handler calls TakeShared instead of Take.
type SharedLimiter interface {
	Limiter
	// TakeShared does the same as Take.
	TakeShared(ctx context.Context, method, path string) (Quota, error)
}

// Options configure a Handler.
type Options struct {
	Guard   Guard
	Limiter Limiter
	// BaseURL is the public base of all links. Default: the scheme and host of each request.
	BaseURL string
	// Aliases are further base URLs of the API. They are used only with BaseURL.
	Aliases []string
	// MaxBody is the maximum size of a request body, in bytes. Default: DefaultMaxBody.
	MaxBody int64
	// MaxInFlight is the maximum number of bytes that the requests in flight hold: four times their bodies, and the stored documents of their
	// pages. A caller gets at most half of it. A request that would exceed it fails with CodeRateLimit and Retry-After. Default:
	// DefaultMaxInFlight.
	MaxInFlight int64
	// Limited is called for the first rejected request of a bucket in each window. Default: no callback.
	Limited func(ctx context.Context, q Quota)
	// Words describe types whose fields have no tags of this package. Default: none.
	Words Words
	// Bearer describes the bearer tokens of callers in the OpenAPI document, if they are the only credentials. Default: the API tokens and the
	// access tokens of the management API.
	Bearer string
	// TextPaths rejects variables of paths that contain U+0000 or are not valid UTF-8. Default: the operations receive them, and must not pass
	// them to PostgreSQL, which reports an error.
	TextPaths bool
	// Now returns the time for the Date header. Default: time.Now.
	Now func() time.Time
	// Logger receives one line per internal error, with its id, and at level debug one per request. Default: no logging.
	Logger *slog.Logger
}

// Handler serves a table of operations.
type Handler struct {
	options    Options
	known      []string // BaseURL and its aliases, without duplicates
	operations []*operation
	memory     *memory
	router     *router
}

// NewHandler compiles the routes. An error names the invalid row of the table.
func NewHandler(routes []Route, o Options) (*Handler, error) {
	if o.Guard == nil || o.Limiter == nil {
		return nil, errors.New("rest: a guard and a limiter are required")
	}
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Limited == nil {
		o.Limited = func(context.Context, Quota) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	h := &Handler{options: o, memory: newMemory(o.MaxInFlight)}
	if o.BaseURL != "" {
		h.known = []string{o.BaseURL}
		for _, alias := range o.Aliases {
			if alias = strings.TrimRight(alias, "/"); !slices.Contains(h.known, alias) {
				h.known = append(h.known, alias)
			}
		}
	}
	ids := map[string]bool{}
	for _, route := range routes {
		var r row
		route.row(&r)
		op, err := r.compile(o.Words)
		if err != nil {
			return nil, err
		}
		if ids[op.info.ID] {
			return nil, fmt.Errorf("rest: two operations have the ID %s", op.info.ID)
		}
		ids[op.info.ID] = true
		op.text = o.TextPaths
		h.operations = append(h.operations, op)
	}
	var err error
	if h.router, err = newRouter(h.operations); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP serves one request. The order of checks is part of the API: rate limit, authentication, path and method, permission, existence
// of the entity, body, validation, state.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.around(w, r, h.serve) }

// Guarded returns a handler for a route outside of the table. It calls next for callers that may run op, with the rate limits, headers and
// error responses of the table.
func (h *Handler) Guarded(op Info, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.around(w, r, func(ctx context.Context, c *call, w http.ResponseWriter, r *http.Request) (err error) {
			if err := h.takeQuota(ctx, w.Header(), r); err != nil {
				return err
			}
			if c.principal, err = h.options.Guard.Authenticate(r.WithContext(ctx)); err != nil {
				return err
			}
			c.route = op.ID
			if err := h.options.Guard.Authorize(ctx, c.principal, op); err != nil {
				return err
			}
			next.ServeHTTP(w, r.WithContext(ctx))
			return nil
		})
	})
}

// around calls the handler of a request and adds the headers of every response, the log and the errors.
func (h *Handler) around(
	w http.ResponseWriter, r *http.Request, serve func(ctx context.Context, c *call, w http.ResponseWriter, r *http.Request) error,
) {
	ctx := r.Context()
	// If guarded is true, a handler of Guarded has called this handler. That handler has set the headers, and logs the request.
	c, guarded := ctx.Value(callKey{}).(*call)
	if !guarded {
		c = &call{request: describe(r, "req"+randomText()), bases: h.basesOf(r), memory: h.memory}
		defer func() { c.memory.release(c.holder, c.held) }()
		ctx = context.WithValue(ctx, callKey{}, c)
		header := w.Header()
		header.Set(HeaderRequestID, c.request.ID)
		header.Set("Date", h.options.Now().UTC().Format(http.TimeFormat))
		header.Set("Cache-Control", "no-cache, no-store")
	}
	if !guarded && h.options.Logger.Enabled(ctx, slog.LevelDebug) {
		answer := &statusWriter{ResponseWriter: w}
		w = answer
		defer func(began time.Time) {
			// The log line contains the template instead of the path, because ids and logins in paths must not be logged.
			h.options.Logger.DebugContext(ctx, "request", "method", r.Method, "route", c.route, "status", answer.status,
				"duration", time.Since(began), "request_id", c.request.ID)
		}(time.Now())
	}

	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
				panic(p)
			}
			h.fail(ctx, w, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := serve(ctx, c, w, r); err != nil {
		h.fail(ctx, w, err)
	}
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (h *Handler) serve(ctx context.Context, c *call, w http.ResponseWriter, r *http.Request) error {
	if err := h.takeQuota(ctx, w.Header(), r); err != nil {
		return err
	}
	e, vars, found := match(h.router, r)
	var op *operation
	if found {
		op, c.oauth = e.byMethod[r.Method], e.oauth()
	}
	// OAuth endpoints accept no credentials of the management API, whatever the method.
	public := op != nil && op.info.Public || op == nil && c.oauth
	if !public {
		principal, err := h.options.Guard.Authenticate(r.WithContext(ctx))
		if err != nil {
			return err
		}
		c.principal = principal
	}
	if !found {
		return Fail(CodeNoPath)
	}
	c.route, c.vars = e.template, vars
	if op == nil {
		return &Error{Code: CodeMethod, Header: http.Header{"Allow": {e.allow()}}}
	}
	if !accepts(r.Header.Values("Accept"), op.media()) {
		return Fail(CodeNotAcceptable)
	}
	if !public {
		if err := h.options.Guard.Authorize(ctx, c.principal, op.info); err != nil {
			return err
		}
	}
	if err := Hold(ctx, bodyFactor*h.bodySize(r)); err != nil {
		return err
	}
	result, err := op.run(ctx, &input{request: r, vars: vars, limit: h.options.MaxBody})
	if err != nil {
		return err
	}
	return h.answer(ctx, c, w, r, op, result)
}

// bodyFactor is the estimated number of bytes of memory for each byte of a request body, because the body is also in memory as decoded
// values.
const bodyFactor = 4

// bodySize returns the maximum number of bytes that are read of the body.
func (h *Handler) bodySize(r *http.Request) int {
	if r.ContentLength < 0 || r.ContentLength > h.options.MaxBody {
		return int(h.options.MaxBody)
	}
	return int(r.ContentLength)
}

func (h *Handler) takeQuota(ctx context.Context, header http.Header, r *http.Request) error {
	quota, err := h.take(ctx, r)
	if err != nil || quota.Limit == 0 {
		return err
	}
	header.Set(HeaderRateLimit, strconv.Itoa(quota.Limit))
	header.Set(HeaderRateRemaining, strconv.Itoa(quota.Remaining))
	header.Set(HeaderRateReset, strconv.FormatInt(quota.Reset.Add(time.Second-1).Unix(), 10))
	if quota.Exceeded {
		if quota.First {
			h.options.Limited(ctx, quota)
		}
		return Fail(CodeRateLimit)
	}
	return nil
}

func (h *Handler) take(ctx context.Context, r *http.Request) (Quota, error) {
	if shared, ok := h.options.Limiter.(SharedLimiter); ok {
		return shared.TakeShared(ctx, r.Method, r.URL.Path)
	}
	return h.options.Limiter.Take(r.Method, r.URL.Path), nil
}

// answer writes a success. A body up to streamAfter bytes is encoded before the status is written, so that an encoding failure is an
// internal error and not a truncated response.
func (h *Handler) answer(ctx context.Context, c *call, w http.ResponseWriter, r *http.Request, op *operation, result any) error {
	header, media := w.Header(), op.media()
	maps.Copy(header, c.header)
	var table []byte
	if t, ok := result.(tabular); ok {
		if media, table = mediaJSON, t.table(); table != nil {
			media = mediaCSV + "; charset=utf-8"
		}
	}
	list, isList := result.(pager)
	if isList {
		header.Add("Link", "<"+listURL(c.bases.public, r, nil)+`>; rel="self"`)
		if next := list.next(); next != nil {
			header.Add("Link", "<"+listURL(c.bases.public, r, next)+`>; rel="next"`)
		}
	}
	if l, ok := result.(Located); ok {
		header.Add("Link", "<"+l.Location()+`>; rel="self"`)
	}
	if t, ok := result.(ETagger); ok {
		header.Set("ETag", t.ETag())
	}
	if s, ok := result.(EventStream); ok {
		if err := s.stream(ctx, w, op.info.Status); err != nil && !errors.Is(err, ErrDisconnected) && ctx.Err() == nil {
			h.options.Logger.ErrorContext(ctx, "stream ended", "request_id", c.request.ID, "error", err)
		}
		return nil
	}
	if _, nothing := result.(NoContent); nothing {
		w.WriteHeader(op.info.Status)
		return nil
	}
	if media == mediaHTML || media == mediaSVG { // browsers execute scripts in these media types
		header.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
	}
	if media == mediaHTML {
		media += "; charset=utf-8"
	}
	status := op.info.Status
	if s, ok := result.(StatusCoder); ok {
		status = cmp.Or(s.HTTPStatus(), status)
	}
	out := newOutput(ctx, w, status, media)
	var err error
	switch v := result.(type) {
	case nonJSON:
		_, body := v.content()
		_, err = out.buffer.Write(body)
	case pager:
		if table != nil {
			_, err = out.buffer.Write(table)
		} else {
			err = v.write(out)
		}
	default:
		err = out.encode(v)
	}
	if err = out.end(err); err == nil || !out.sent {
		return err
	}
	if !errors.Is(err, errDisconnected) {
		h.options.Logger.ErrorContext(ctx, "response aborted", "request_id", c.request.ID, "error", err)
	}
	panic(http.ErrAbortHandler) // so that the caller detects the truncated body
}

// listURL returns the absolute URL of the list. If next is not nil, the URL contains this cursor.
func listURL(base string, r *http.Request, next *cursor) string {
	query := r.URL.RawQuery
	if next != nil {
		values := r.URL.Query()
		values.Set(next.parameter, next.value)
		query = values.Encode()
	}
	url := base + r.URL.EscapedPath()
	if query != "" {
		url += "?" + query
	}
	return url
}

// fail writes an error. Internal errors are logged with their cause and two ids: that of the error, which the body of an OAuth error lacks,
// and that of the request, which every response has in a header.
func (h *Handler) fail(ctx context.Context, w http.ResponseWriter, err error) {
	id := "oae" + randomText()
	wire := wireError(err)
	var oauth *OAuthError
	if callFrom(ctx).oauth {
		oauth = oauthError(err)
	}
	if wire.Code == CodeUnavailable && ctx.Err() == nil { // without ids, so that the log omits the repetitions
		h.options.Logger.ErrorContext(ctx, "requests failed: the database does not respond", "error", wire.Err)
	}
	if wire.Code == CodeInternal && (oauth == nil || oauth.Code == oauthServerError) {
		level := slog.LevelError
		if ctx.Err() != nil { // the caller has disconnected
			level = slog.LevelInfo
		}
		h.options.Logger.Log(ctx, level, "request failed", "error_id", id, "request_id", RequestID(ctx), "error", err)
	}
	headers, status, content := wire.Header, wire.Status(), any(wire.body(id))
	if oauth != nil {
		headers, status = oauth.Header, cmp.Or(oauth.Status, http.StatusBadRequest)
		content = OAuthErrorBody{Error: oauth.Code, Description: oauth.Description}
	}
	for name, values := range headers {
		w.Header()[name] = values
	}
	out := newOutput(ctx, w, status, mediaJSON)
	_ = out.end(out.encode(content)) // strings only; cannot fail
}

// accepts reports whether the Accept headers allow a media type below application, or application/json, which error responses use. Without
// a header, everything is allowed.
func accepts(accept []string, wanted string) bool {
	if len(accept) == 0 {
		return true
	}
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q == 0 {
			continue
		}
		switch media {
		case "*/*", "application/*", mediaJSON, wanted:
			return true
		}
	}
	return strings.TrimSpace(strings.Join(accept, "")) == ""
}

// randomText returns 22 URL-safe characters, 128 bits.
func randomText() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
