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
	// MaxBody bounds an answer. A page of 100 large users stays far below.
	MaxBody = 16 << 20
	// maxMediaType is the number of bytes of a media type that an error message quotes, enough for any registered one (RFC 6838).
	maxMediaType = 127
	// maxDetail is the number of bytes of an error's detail that Test quotes.
	maxDetail = 512
)

// Config describes a target.
type Config struct {
	BaseURL   string // http or https, without query and fragment; a trailing slash does not matter
	Auth      engine.Auth
	Timeout   time.Duration    // of one call, answer included. Defaults to DefaultTimeout
	UserAgent string           // Defaults to DefaultUserAgent
	TLS       engine.TLS       // of https targets, the token URL included
	Network   *Network         // Defaults to a new one
	Now       func() time.Time // for the recorded exchanges. Defaults to time.Now
}

// Client talks to one target. It may be used by several goroutines.
type Client struct {
	base      string
	header    http.Header // credentials that do not change
	tokens    *tokens     // nil unless the scheme is ClientCredentials
	c         Config
	transport http.RoundTripper
	http      *http.Client
	redact    *wirelog.Redactor
}

// New checks the configuration. The error may be shown to an administrator: it does not contain the secret.
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
	client.http = over(transport)
	return client, nil
}

func checkBaseURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case base == "":
		return errors.New("SCIM base URL: it is empty")
	case err != nil:
		return errors.New("SCIM base URL: it is not a URL") // the parser's error quotes it, with whatever was pasted there
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("SCIM base URL: it must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("SCIM base URL: it names no host")
	case u.User != nil:
		return errors.New("SCIM base URL: it contains credentials; they belong into the authorization settings")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("SCIM base URL: it must not have a query or a fragment")
	}
	return nil
}

// over returns an HTTP client that follows no redirect: what the target redirects to is not what was configured, and must
// not be given the credentials.
func over(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Record returns a client that hands each exchange to sink, redacted; secrets are further values to be redacted. Fetching an
// access token is not recorded.
func (c *Client) Record(sink func(wirelog.Exchange), secrets ...string) *Client {
	d := *c
	secrets = append(secretsOf(c.c.Auth), secrets...)
	d.redact = wirelog.NewRedactor(secrets...)
	if c.tokens != nil {
		inner := sink
		sink = func(x wirelog.Exchange) { // the token was not known when the recording began
			x.RequestBody, x.ResponseBody = d.Redact(x.RequestBody), d.Redact(x.ResponseBody)
			inner(x)
		}
	}
	d.http = over(wirelog.Transport(c.transport, sink, wirelog.Options{Secrets: secrets, Now: c.c.Now}))
	return &d
}

// Redact replaces the secrets of the client in a text that quotes the target.
//
// Invariant 9: Secrets that a target echoes are removed where the message leaves the exchange, before it is stored, logged or shown.
func (c *Client) Redact(text string) string {
	if c.tokens != nil {
		if token := c.tokens.current(); token != "" {
			text = wirelog.NewRedactor(token).Text(text)
		}
	}
	return c.redact.Text(text)
}

// Do sends a request once. What went wrong is in Response.Err, a *Error; a complete answer with an error status is none. The
// body is as it came: whoever quotes it calls Redact. A 401 for an access token that was fetched earlier says that the request
// was not carried out; it is repeated once with a new token.
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
		return answer // it was new
	}
	if token, out = c.token(ctx, r); out != nil {
		return *out
	}
	return c.do(ctx, r, token)
}

// token returns an access token, or the answer that stands for the lack of one: a client that is refused there is what a
// refused credential is at the target.
func (c *Client) token(ctx context.Context, r plan.Request) (string, *plan.Response) {
	token, err := c.tokens.token(ctx, over(c.transport))
	if err == nil {
		return token, nil
	}
	status := 0
	if e, ok := errors.AsType[*TokenError](err); ok && e.refused() {
		status = http.StatusUnauthorized
	}
	out := c.fail(ctx, r, status, err, "%s", c.Redact(err.Error()))
	return "", &out
}

func (c *Client) fail(ctx context.Context, r plan.Request, status int, err error, format string, args ...any) plan.Response {
	if errors.Is(context.Cause(ctx), errTimeout) {
		format, args, err = "no complete answer within %s", []any{c.c.Timeout}, errTimeout
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
		return fail(0, err, "%s", c.Redact(noAnswer(err)))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return fail(resp.StatusCode, err, "the answer breaks off after %d bytes", len(data))
	case len(data) > MaxBody:
		return fail(resp.StatusCode, nil, "the answer is longer than %d bytes", MaxBody)
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
		return out // what it says of the resource is not true yet
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode >= 400 {
		out.Page = cmp.Or(c.Redact(mediaType), "a body of no declared type")
		return out // the status says enough, and proxies answer errors with pages; the exchange is recorded
	}
	// The body is not quoted: the host of the base URL need not be a SCIM server, nor one that the administrator may read.
	if !json(mediaType) {
		return fail(resp.StatusCode, err, "the answer is %s, not SCIM", cmp.Or(cut(c.Redact(mediaType), maxMediaType), "of no declared type"))
	}
	at := int64(0)
	if e, ok := errors.AsType[*scim.SyntaxError](err); ok {
		at = e.Offset
	}
	return fail(resp.StatusCode, err, "the answer is not a JSON object (error at byte %d)", at)
}

// below returns a location relative to the base URL if it is below that, and otherwise as it is.
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

// TestTimeout bounds Test.
const TestTimeout = 5 * time.Second

// Test requests the first page of users. It returns nil if the answer is 200 with a ListResponse, and otherwise a *Error, which quotes no
// more of the answer than its status, its media type and the detail of a SCIM error.
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
			problem += "; the target says: " + cut(c.Redact(detail), maxDetail)
		}
	case got.Body == nil:
		problem = "the answer is empty"
	default:
		list.Object = *got.Body
		if !list.HasSchema(scim.ListResponseMessage) {
			problem = "the answer is not a ListResponse"
		}
	}
	if problem == "" {
		return nil
	}
	return &Error{Method: r.Method, URL: d.base + r.Path, Status: got.Status, Problem: problem}
}

// Error says what was sent and what came back instead of a usable answer.
type Error struct {
	Method, URL string
	Status      int // 0 when there was no status line
	Problem     string
	cause       error
}

// Error returns a line such as "GET https://h/Users: 200: the answer is text/html, not SCIM".
func (e *Error) Error() string {
	s := e.Method + " " + e.URL + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("%d: ", e.Status)
	}
	return s + e.Problem
}

// Unwrap returns the error of the HTTP client, if any.
func (e *Error) Unwrap() error { return e.cause }

// errTimeout lets a caller tell a slow target from a broken connection.
var errTimeout = fmt.Errorf("connect: timeout: %w", context.DeadlineExceeded)

// errorDetail returns the detail of a SCIM error, "" for any other body.
func errorDetail(body *scim.Object) string {
	if body == nil || !(&scim.Resource{Object: *body}).HasSchema(scim.ErrorMessage) {
		return ""
	}
	return body.Text("detail")
}

// noAnswer words the ways in which a connection can fail.
func noAnswer(err error) string {
	_, dns := errors.AsType[*net.DNSError](err)
	_, forbidden := errors.AsType[*EgressError](err)
	switch {
	case dns, forbidden:
		return egress.Describe(err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the target closed the connection without an answer"
	case errors.Is(err, context.Canceled):
		return "the call was cut off because the engine stops or lost the lane"
	default:
		return "no answer: " + egress.Describe(err)
	}
}

// json says whether a body of this type is expected to be JSON.
func json(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// cut returns the beginning of a text.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}
