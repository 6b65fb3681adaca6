package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine/plan"
	"github.com/scimwright/scimwright/internal/wirelog"
	"github.com/scimwright/scimwright/scim"
)

// Defaults and limits.
const (
	DefaultTimeout   = 60 * time.Second
	DefaultUserAgent = "Svc SCIM Client 1.0.0"
	// MaxBody bounds an answer. A page of 100 large users stays far below.
	MaxBody = 16 << 20
	// errorExcerpt is how much of an unreadable answer an error message quotes.
	errorExcerpt = 200
)

// Config describes a target.
type Config struct {
	BaseURL   string // http or https, without query and fragment; a trailing slash does not matter
	Auth      Auth
	Timeout   time.Duration     // of one call, answer included. Defaults to DefaultTimeout
	UserAgent string            // Defaults to DefaultUserAgent
	Transport http.RoundTripper // Defaults to http.DefaultTransport
	Now       func() time.Time  // for the recorded exchanges. Defaults to time.Now
}

// Client talks to one target. It may be used by several goroutines.
type Client struct {
	base          string
	authorization string
	c             Config
	http          *http.Client
	redact        *wirelog.Redactor
}

// New checks the configuration. The error may be shown to an administrator: it does not contain the secret.
func New(c Config) (*Client, error) {
	if err := checkBaseURL(c.BaseURL); err != nil {
		return nil, err
	}
	authorization, err := c.Auth.header()
	if err != nil {
		return nil, fmt.Errorf("SCIM credentials: %w", err)
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	client := &Client{
		base: strings.TrimRight(c.BaseURL, "/"), authorization: authorization, c: c, redact: wirelog.NewRedactor(c.Auth.secrets()...),
	}
	client.http = client.over(c.Transport)
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
func (c *Client) over(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Record returns a client that hands each exchange to sink, redacted; secrets are further values to be redacted.
func (c *Client) Record(sink func(wirelog.Exchange), secrets ...string) *Client {
	d := *c
	secrets = append(c.c.Auth.secrets(), secrets...)
	d.redact = wirelog.NewRedactor(secrets...)
	d.http = d.over(wirelog.Transport(c.c.Transport, sink, wirelog.Options{Secrets: secrets, Now: c.c.Now}))
	return &d
}

// Redact replaces the secrets of the client in a text that quotes the target.
func (c *Client) Redact(text string) string { return c.redact.Text(text) }

// Do sends a request once. What went wrong is in Response.Err, a *Error; a complete answer with an error status is none. The
// body is as it came: whoever quotes it calls Redact.
func (c *Client) Do(ctx context.Context, r plan.Request) plan.Response {
	ctx, cancel := context.WithTimeoutCause(ctx, c.c.Timeout, errTimeout)
	defer cancel()
	fail := func(status int, err error, format string, args ...any) plan.Response {
		if errors.Is(context.Cause(ctx), errTimeout) {
			format, args = "no complete answer within %s", []any{c.c.Timeout}
		}
		return plan.Response{Status: status, Err: &Error{
			Method: r.Method, URL: c.base + r.Path, Status: status, Problem: fmt.Sprintf(format, args...), cause: err,
		}}
	}

	req, err := c.request(ctx, r)
	if err != nil {
		return fail(0, err, "the request could not be built")
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
		return fail(resp.StatusCode, nil, "the target redirects to %q; redirects are not followed", c.Redact(resp.Header.Get("Location")))
	}

	out := plan.Response{Status: resp.StatusCode, ETag: resp.Header.Get("ETag"), RetryAfter: resp.Header.Get("Retry-After")}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 {
		return out
	}
	out.Body, err = scim.Decode(data)
	if err == nil {
		return out
	}
	if resp.StatusCode >= 400 {
		return out // the status says enough, and proxies answer errors with pages; the exchange is recorded
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !json(mediaType) {
		return fail(resp.StatusCode, err, "the answer is %s, not SCIM: %s", cmp.Or(c.Redact(mediaType), "of no declared type"), excerpt(c.Redact(string(data))))
	}
	return fail(resp.StatusCode, err, "the answer is not a JSON object (%s): %s", c.Redact(err.Error()), excerpt(c.Redact(string(data))))
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
	if c.authorization != "" {
		req.Header.Set("Authorization", c.authorization)
	}
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

// Test asks for the first page of users. It returns nil when the answer is 200 with a ListResponse, and otherwise a *Error.
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
		if got.Body.Text("detail") != "" {
			problem += "; the target says: " + c.Redact(got.Body.Text("detail"))
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

// Error returns a line such as "GET https://h/Users: 200: the answer is text/html, not SCIM: ...".
func (e *Error) Error() string {
	s := e.Method + " " + e.URL + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("%d: ", e.Status)
	}
	return s + e.Problem
}

// Unwrap returns the error of the HTTP client, if any.
func (e *Error) Unwrap() error { return e.cause }

var errTimeout = errors.New("connect: timeout")

// noAnswer words the ways in which a connection can fail.
func noAnswer(err error) string {
	if urlError, ok := errors.AsType[*url.Error](err); ok {
		err = urlError.Err // the URL is told by Error already
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("the host %q cannot be found", dns.Name)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the target closed the connection without an answer"
	case errors.Is(err, context.Canceled):
		return "the call was cut off because the engine stops or lost the lane"
	default:
		return "no answer: " + err.Error()
	}
}

// json says whether a body of this type is expected to be JSON.
func json(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// excerpt quotes the beginning of a redacted answer. It is redacted as a whole before it is cut: half a secret is not found.
func excerpt(text string) string {
	s := strings.ToValidUTF8(text[:min(len(text), errorExcerpt)], "\uFFFD")
	s = strings.Join(strings.Fields(s), " ")
	if len(text) > errorExcerpt {
		s += "…"
	}
	return fmt.Sprintf("%q", s)
}
