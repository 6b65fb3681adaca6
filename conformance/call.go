package conformance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// MaxBody is the largest response body that is read, in bytes. A larger one is a network error: no check asks for more than
// a page of a hundred resources.
const MaxBody = 8 << 20

// Credentials choose how a request authenticates.
type Credentials struct {
	// Kind is "" for the configured credentials, "none" to send none, "other" to send Authorization instead, "spelled" to
	// send the configured ones with Authorization as the spelling of the scheme, "query" to send the configured token in the
	// address.
	Kind          string
	Authorization string
}

// WithoutCredentials sends no Authorization header.
func WithoutCredentials() Credentials { return Credentials{Kind: "none"} }

// OtherCredentials sends the given Authorization header instead of the configured one.
func OtherCredentials(authorization string) Credentials {
	return Credentials{Kind: "other", Authorization: authorization}
}

// SpelledCredentials sends the configured credentials with another spelling of their scheme, such as "bearer".
func SpelledCredentials(scheme string) Credentials {
	return Credentials{Kind: "spelled", Authorization: scheme}
}

// QueryCredentials sends the configured token in the address, as the parameter access_token, and no Authorization header.
func QueryCredentials() Credentials { return Credentials{Kind: "query"} }

// A Request is one HTTP request to the target.
type Request struct {
	Method string
	// Path is relative to the base URL and begins with a slash; an id in it must be escaped ([Created.Path] is).
	Path  string
	Query url.Values
	// Body is sent as it is when it is a []byte, as JSON otherwise; nil sends none.
	Body any
	// Header overrides what is sent by default: Accept and Content-Type application/scim+json.
	Header      http.Header
	Credentials Credentials
}

// A Response is what came back.
type Response struct {
	// Name is the method and the path, for findings: "GET /Users/42".
	Name   string
	Status int
	Header http.Header
	Body   []byte
	// TLS is the state of the connection, nil when it was not encrypted.
	TLS *tls.ConnectionState

	exchange *wirelog.Exchange
	object   *scim.Object
	problem  error
}

// OK tells whether the status is 2xx.
func (r *Response) OK() bool { return r.Status >= 200 && r.Status < 300 }

// Object returns the body as a JSON object, or nil when it is none. Objects of this suite are nil-safe to read.
func (r *Response) Object() *scim.Object {
	object, _ := r.decode()
	return object
}

func (r *Response) decode() (*scim.Object, error) {
	if r.object == nil && r.problem == nil {
		r.object, r.problem = scim.Decode(r.Body)
	}
	return r.object, r.problem
}

// MediaType returns the Content-Type without parameters, in lower case.
func (r *Response) MediaType() string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(r.Header.Get("Content-Type"))
	}
	return media
}

// ScimType returns the scimType of an Error body, "" when there is none.
func (r *Response) ScimType() string { return r.Object().Text("scimType") }

// Resources returns the items of a ListResponse body that are objects.
func (r *Response) Resources() []*scim.Object {
	var out []*scim.Object
	for _, item := range r.Object().Array("Resources") {
		if o, ok := item.(*scim.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

// IDs returns the ids of the items of a ListResponse body.
func (r *Response) IDs() []string {
	var out []string
	for _, o := range r.Resources() {
		out = append(out, o.Text("id"))
	}
	return out
}

// Total returns totalResults of a ListResponse body, or -1 when it is absent or no integer.
func (r *Response) Total() int {
	v, _ := r.Object().Get("totalResults")
	return integer(v)
}

// integer returns the value of a JSON integer that fits, or -1.
func integer(v any) int {
	n, ok := v.(json.Number)
	if !ok {
		return -1
	}
	i, err := n.Int64()
	if err != nil || int64(int(i)) != i {
		return -1
	}
	return int(i)
}

// callError says why no answer came. It is never the target's verdict: checks end with the outcome Error.
type callError struct {
	name   string
	reason string
	cause  error
	budget bool // the run's own limit, not the network
}

// Why a call got no answer although the target may be well.
var (
	errTooLarge      = errors.New("the answer is too large")
	errNoCredentials = errors.New("no credentials")
)

func (e *callError) Error() string { return e.name + ": " + e.reason }
func (e *callError) Unwrap() error { return e.cause }

// call sends one request and reads the whole answer. A 429 is waited out. The exchange is kept redacted.
func (s *session) call(ctx context.Context, req Request, unlimited bool) (*Response, error) {
	for attempt := 0; ; attempt++ {
		res, err := s.send(ctx, req, unlimited)
		if attempt == 0 && req.Method == http.MethodGet && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
			continue // the target gave up a kept connection while the request was on its way: reading does no harm twice
		}
		if err != nil || res.Status != http.StatusTooManyRequests || !s.waitOut(ctx, res, attempt) {
			return res, err
		}
	}
}

// send is one attempt at a call.
func (s *session) send(ctx context.Context, req Request, unlimited bool) (*Response, error) {
	if err := s.admit(req, unlimited); err != nil {
		return nil, err
	}
	res, err := s.exchange(ctx, req)
	s.account(err)
	s.keep(req, res)
	return res, err
}

// keep makes the exchange of an answer fit to be shown, and records it when the run is to be recorded.
func (s *session) keep(req Request, res *Response) {
	if res == nil || res.exchange == nil {
		return
	}
	s.served = s.served || res.Status != http.StatusTooManyRequests
	s.veil.cover(res.exchange, req.Path, res.Body)
	s.veil.veilExchange(res.exchange)
	s.show(req, res)
	s.observeWrite(req, res)
	s.watch(req, res)
	if s.opts.Record {
		s.traffic = append(s.traffic, Sent{Check: s.checking, Exchange: res.exchange})
	}
}

// admit counts a request, unless the budget is used up.
func (s *session) admit(req Request, unlimited bool) error {
	if !unlimited && s.requests >= s.opts.MaxRequests {
		return &callError{name: req.name(), reason: fmt.Sprintf("the budget of %d requests is used up", s.opts.MaxRequests), budget: true}
	}
	s.requests++
	s.veil.learn(req.Body)
	return nil
}

// account remembers whether an answer came.
func (s *session) account(err error) {
	s.unanswered++
	if err == nil {
		s.unanswered = 0
	}
}

func (r Request) name() string { return r.Method + " " + r.Path }

// exchange is what a call does on the wire. It changes nothing in the session, so that several may run at once.
func (s *session) exchange(ctx context.Context, req Request) (*Response, error) {
	name := req.name()
	if err := s.pace.Wait(ctx); err != nil {
		// The limiter also refuses at once when its turn would come after the deadline.
		return nil, &callError{name: name, reason: "not sent before the time was up", cause: context.DeadlineExceeded}
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.RequestTimeout)
	defer cancel()
	r, err := s.newRequest(ctx, req)
	if err != nil {
		return nil, &callError{name: name, reason: err.Error(), cause: err}
	}
	var exchange *wirelog.Exchange
	transport := wirelog.Transport(s.target.Transport, func(e wirelog.Exchange) { exchange = &e },
		wirelog.Options{Secrets: s.secrets.all(), Now: s.opts.Now})
	res, err := transport.RoundTrip(r)
	if err != nil {
		return nil, &callError{name: name, reason: s.explain(err), cause: err}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxBody+1))
	if err = cmp.Or(err, res.Body.Close()); err != nil {
		return nil, &callError{name: name, reason: "the answer broke off: " + s.explain(err), cause: err}
	}
	if len(body) > MaxBody {
		return nil, &callError{name: name, reason: fmt.Sprintf("the answer is larger than %d MiB", MaxBody>>20), cause: errTooLarge}
	}
	return &Response{Name: name, Status: res.StatusCode, Header: res.Header, Body: body, TLS: res.TLS, exchange: exchange}, nil
}

func (s *session) newRequest(ctx context.Context, req Request) (*http.Request, error) {
	var body io.Reader
	switch b := req.Body.(type) {
	case nil:
	case []byte:
		body = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("the request could not be built: %w", err)
		}
		body = bytes.NewReader(data)
	}
	address := s.base.String() + req.Path
	if len(req.Query) > 0 {
		// Some servers read a plus as a plus sign: blanks are sent as %20, which all understand.
		address += "?" + strings.ReplaceAll(req.Query.Encode(), "+", "%20")
	}
	r, err := http.NewRequestWithContext(ctx, req.Method, address, body)
	if err != nil {
		return nil, fmt.Errorf("the request could not be built: %w", err)
	}
	r.Header.Set("User-Agent", "scim-conformance")
	r.Header.Set("Accept", scim.MediaType)
	if body != nil {
		r.Header.Set("Content-Type", scim.MediaType)
	}
	for name, values := range s.target.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if s.target.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.target.Token)
	}
	switch req.Credentials.Kind {
	case "", "spelled", "query":
		if s.target.Authorize != nil {
			authorization, err := s.target.Authorize(ctx)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errNoCredentials, err)
			}
			s.secrets.credentials(authorization)
			r.Header.Set("Authorization", authorization)
		}
		req.Credentials.respell(r)
	case "none":
		r.Header.Del("Authorization")
	case "other":
		r.Header.Set("Authorization", req.Credentials.Authorization)
	}
	for name, values := range req.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return r, nil
}

// respell changes how a request that carries the configured credentials carries them.
func (c Credentials) respell(r *http.Request) {
	_, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch c.Kind {
	case "spelled":
		r.Header.Set("Authorization", c.Authorization+" "+value)
	case "query":
		r.Header.Del("Authorization")
		query := r.URL.Query()
		query.Set("access_token", value)
		r.URL.RawQuery = query.Encode()
	}
}

// explain turns a transport error into a short reason without the URL, which the name of the call already tells.
func (s *session) explain(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the host name " + dns.Name + " is unknown"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no complete answer within %s", s.opts.RequestTimeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed half-way"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}
