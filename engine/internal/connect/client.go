package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Defaults and limits.
const (
	DefaultTimeout   = 60 * time.Second
	DefaultUserAgent = "Svc SCIM Client 1.0.0"
	// MaxBody is the maximum size of a response. A page of 100 large users is much smaller.
	MaxBody = 16 << 20
	// maxMediaType is the maximum number of bytes of a media type that an error message quotes, enough for any registered one (RFC 6838).
	maxMediaType = 127
	// maxDetail is the maximum number of bytes of an error's detail that Test quotes.
	maxDetail = 512
)

// Config is the configuration of a Client.
type Config struct {
	BaseURL   string // http or https, without query and fragment; a trailing slash is ignored
	Auth      engine.Auth
	Timeout   time.Duration    // time limit of one request, from sending to the complete response. Default: DefaultTimeout
	UserAgent string           // Default: DefaultUserAgent
	TLS       engine.TLS       // settings for https, also for the token URL
	Network   *Network         // Default: a new one
	Now       func() time.Time // clock of the recorded exchanges. Default: time.Now
}

// Client sends requests to one target. It may be used by several goroutines.
type Client struct {
	base      string
	header    http.Header // static credentials
	tokens    *tokens     // nil unless the scheme is ClientCredentials
	c         Config
	transport http.RoundTripper
	http      *http.Client
	redact    *wirelog.Redactor
}

// New returns a client for a valid configuration. The error for an invalid one does not contain the secret, because administrators can see
// the error.
func New(c Config) (*Client, error) {
	if err := checkBaseURL(c.BaseURL); err != nil {
		return nil, err
	}
	header, err := headerOf(c.Auth)
	if err != nil {
		return nil, fmt.Errorf("SCIM credentials: %w", err)
	}
	if c.Network == nil {
		c.Network = &Network{}
	}
	transport, err := c.Network.transport(c.TLS)
	if err != nil {
		return nil, err
	}
	transport = c.Network.Spans.Transport(transport)
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	client := &Client{
		base: strings.TrimRight(c.BaseURL, "/"), header: header, c: c, transport: transport, redact: wirelog.NewRedactor(secretsOf(c.Auth)...),
	}
	if schemeOf(c.Auth) == engine.ClientCredentials {
		client.tokens = c.Network.tokensFor(c.Auth)
	}
	client.http = newHTTPClient(transport)
	return client, nil
}

func checkBaseURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case base == "":
		return errors.New("SCIM base URL: it is empty")
	case err != nil:
		return errors.New("SCIM base URL: it is not a URL") // without the parser's error: it quotes the URL, which may contain a secret
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("SCIM base URL: it must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("SCIM base URL: it names no host")
	case u.User != nil:
		return errors.New("SCIM base URL: it contains credentials: move them to the authorization settings")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("SCIM base URL: it must not have a query or a fragment")
	}
	return nil
}

// newHTTPClient returns an HTTP client that follows no redirect, because a redirect would send the credentials to a host that is not
// configured.
func newHTTPClient(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Record returns a client that passes each exchange to sink, redacted; secrets are further values to redact. Fetching an access token is
// not recorded.
func (c *Client) Record(sink func(wirelog.Exchange), secrets ...string) *Client {
	d := *c
	secrets = append(secretsOf(c.c.Auth), secrets...)
	d.redact = wirelog.NewRedactor(secrets...)
	if c.tokens != nil {
		inner := sink
		sink = func(x wirelog.Exchange) { // redact the access token too: it is fetched after Record
			x.RequestBody, x.ResponseBody = d.Redact(x.RequestBody), d.Redact(x.ResponseBody)
			inner(x)
		}
	}
	d.http = newHTTPClient(wirelog.Transport(c.transport, sink, wirelog.Options{Secrets: secrets, Now: c.c.Now}))
	return &d
}

// Redact replaces the secrets of the client in a string that quotes the target.
//
// Invariant 9: If a target echoes a secret, the engine removes it where the message leaves package connect, before the message is stored,
// logged or shown.
func (c *Client) Redact(text string) string {
	if c.tokens != nil {
		if token := c.tokens.current(); token != "" {
			text = wirelog.NewRedactor(token).Text(text)
		}
	}
	return c.redact.Text(text)
}

// Do sends a request once. A failure is in Response.Err, a *Error; a complete response with an error status is not a failure. The body is
// not redacted: a caller that quotes the body calls Redact. If the target returns 401 for a cached access token, the request was not
// carried out: Do repeats the request once with a new token.
func (c *Client) Do(ctx context.Context, r plan.Request) plan.Response {
	ctx, cancel := context.WithTimeoutCause(ctx, c.c.Timeout, errTimeout)
	defer cancel()
	if c.tokens == nil {
		return c.do(ctx, r, "")
	}
	before := c.tokens.current()
	token, out := c.token(ctx, r)
	if out != nil {
		return *out
	}
	answer := c.do(ctx, r, token)
	if answer.Status != http.StatusUnauthorized {
		return answer
	}
	c.tokens.drop(token)
	if token != before {
		return answer // the target rejected a token that was fetched for this request: another new token would not help
	}
	if token, out = c.token(ctx, r); out != nil {
		return *out
	}
	return c.do(ctx, r, token)
}

// token returns an access token, or a response that reports why no token is available. If the token endpoint rejects the client, that
// response has the status of rejected credentials.
func (c *Client) token(ctx context.Context, r plan.Request) (string, *plan.Response) {
	token, err := c.tokens.token(ctx, newHTTPClient(c.transport))
	if err == nil {
		return token, nil
	}
	status := 0
	if e, ok := errors.AsType[*TokenError](err); ok && e.rejected() {
		status = http.StatusUnauthorized
	}
	out := c.fail(ctx, r, status, err, "%s", c.Redact(err.Error()))
	return "", &out
}

func (c *Client) fail(ctx context.Context, r plan.Request, status int, err error, format string, args ...any) plan.Response {
	if errors.Is(context.Cause(ctx), errTimeout) {
		format, args, err = "no complete response within %s", []any{c.c.Timeout}, errTimeout
	}
	return plan.Response{Status: status, Err: &Error{
		Method: r.Method, URL: c.base + r.Path, Status: status, Problem: fmt.Sprintf(format, args...), cause: err,
	}}
}

func (c *Client) do(ctx context.Context, r plan.Request, token string) plan.Response {
	fail := func(status int, err error, format string, args ...any) plan.Response {
		return c.fail(ctx, r, status, err, format, args...)
	}
	req, err := c.request(ctx, r)
	if err != nil {
		return fail(0, err, "the request could not be built")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fail(0, err, "%s", c.Redact(describeFailure(err)))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return fail(resp.StatusCode, err, "the response was truncated after %d bytes", len(data))
	case len(data) > MaxBody:
		return fail(resp.StatusCode, nil, "the response is longer than %d bytes", MaxBody)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return fail(resp.StatusCode, nil, "the target redirects; redirects are not followed")
	}

	out := plan.Response{Status: resp.StatusCode, ETag: resp.Header.Get("ETag"), RetryAfter: resp.Header.Get("Retry-After")}
	out.Txn, out.Location = resp.Header.Get("Set-Txn"), c.below(resp.Header.Get("Location"))
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 {
		return out
	}
	out.Body, err = scim.Decode(data)
	if err == nil {
		return out
	}
	if resp.StatusCode == http.StatusAccepted && r.Op != "" {
		return out // the body is ignored: after a 202 it need not describe the changed resource
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode >= 400 {
		out.Page = cmp.Or(c.Redact(mediaType), "a body of undeclared type")
		return out // the body is not parsed: the status suffices, and the error page of a proxy is HTML
	}
	// The body is not quoted: the host of the base URL may not be a SCIM server, or not one that the administrator may read.
	if !json(mediaType) {
		return fail(resp.StatusCode, err, "the response is %s, not SCIM", cmp.Or(cut(c.Redact(mediaType), maxMediaType), "of undeclared type"))
	}
	at := int64(0)
	if e, ok := errors.AsType[*scim.SyntaxError](err); ok {
		at = e.Offset
	}
	return fail(resp.StatusCode, err, "the response is not a JSON object (error at byte %d)", at)
}

// below returns a location relative to the base URL if the location is below the base URL, and otherwise unchanged.
func (c *Client) below(location string) string {
	base, err := url.Parse(c.base + "/")
	if err != nil || location == "" {
		return location
	}
	at, err := base.Parse(location)
	if err != nil {
		return location
	}
	if rest, found := strings.CutPrefix(at.String(), c.base); found && strings.HasPrefix(rest, "/") {
		return rest
	}
	return at.String()
}

func (c *Client) request(ctx context.Context, r plan.Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body.AppendJSON(nil))
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", scim.MediaType)
	req.Header.Set("User-Agent", c.c.UserAgent)
	maps.Copy(req.Header, c.header)
	if r.Body != nil {
		req.Header.Set("Content-Type", scim.MediaType+"; charset=utf-8")
	}
	if r.IfMatch != "" {
		req.Header.Set("If-Match", r.IfMatch)
	}
	return req, nil
}

// TestTimeout is the maximum duration of Test.
const TestTimeout = 5 * time.Second

// Test requests the first page of users. It returns nil if the response is 200 with a ListResponse, and otherwise a *Error. The error
// quotes only the status, the media type and the detail of a SCIM error.
func (c *Client) Test(ctx context.Context) error {
	d := *c
	d.c.Timeout = min(d.c.Timeout, TestTimeout)
	r := plan.Request{Method: http.MethodGet, Path: fmt.Sprintf("/Users?startIndex=1&count=%d", plan.PageSize)}
	got := d.Do(ctx, r)
	problem := ""
	switch list := (scim.Resource{}); {
	case got.Err != nil:
		return got.Err
	case got.Status != http.StatusOK:
		problem = "expected 200"
		if detail := errorDetail(got.Body); detail != "" {
			problem += "; error detail: " + cut(c.Redact(detail), maxDetail)
		}
	case got.Body == nil:
		problem = "the response is empty"
	default:
		list.Object = *got.Body
		if !list.HasSchema(scim.ListResponseMessage) {
			problem = "the response is not a ListResponse"
		}
	}
	if problem == "" {
		return nil
	}
	return &Error{Method: r.Method, URL: d.base + r.Path, Status: got.Status, Problem: problem}
}

// Error describes a request without a usable response.
type Error struct {
	Method, URL string
	Status      int // 0 if no status line was received
	Problem     string
	cause       error
}

// Error returns a line such as "GET https://h/Users: 200: the response is text/html, not SCIM".
func (e *Error) Error() string {
	s := e.Method + " " + e.URL + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("%d: ", e.Status)
	}
	return s + e.Problem
}

// Unwrap returns the error of the HTTP client, if any.
func (e *Error) Unwrap() error { return e.cause }

// errTimeout distinguishes a slow target from a broken connection.
var errTimeout = fmt.Errorf("connect: timeout: %w", context.DeadlineExceeded)

// errorDetail returns the detail of a SCIM error, "" for any other body.
func errorDetail(body *scim.Object) string {
	if body == nil || !(&scim.Resource{Object: *body}).HasSchema(scim.ErrorMessage) {
		return ""
	}
	return body.Text("detail")
}

// describeFailure describes why a connection failed.
func describeFailure(err error) string {
	_, dns := errors.AsType[*net.DNSError](err)
	_, forbidden := errors.AsType[*EgressError](err)
	switch {
	case dns, forbidden:
		return egress.Describe(err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the target closed the connection without a response"
	case errors.Is(err, context.Canceled):
		return "the request was aborted because the engine stops or has lost the lease of the app"
	default:
		return "no response: " + egress.Describe(err)
	}
}

// json reports whether a body of this type is expected to be JSON.
func json(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// cut truncates a string.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}
