package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
	"golang.org/x/time/rate"
)

// A wire sends the requests of a run to the target, and redacts the exchanges for reports.
type wire struct {
	target  Target
	base    *url.URL
	opts    *Options
	secrets *secrets
	masker  *masker
	pace    *rate.Limiter
	// received is called with each response, after masking.
	received func(Request, *Response)

	requests   int // number of requests sent so far
	unanswered int // number of consecutive requests without a response; a request and its repeat count as one
	repeats    repeats
	throttled  int             // number of requests that were sent again after a 429
	took       []time.Duration // the durations of the first maxTook requests
	served     bool            // the target has returned another status than 429 at least once
	rejected   atomic.Bool     // the last response had a status of 400 or more
	checking   string          // the id of the running check, which is stored with each exchange
	traffic    []Sent          // all exchanges, if the run records them
}

// maxTook is the number of requests from which the run estimates its duration.
const maxTook = 50

// newWire returns a wire to the target. The names of the objects that the suite creates start with the marker run; these names are not
// masked.
func newWire(target Target, base *url.URL, run string, opts *Options, received func(Request, *Response)) *wire {
	if target.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		// A run sends requests to one host, mostly one at a time.
		transport.MaxIdleConnsPerHost = 1
		target.Transport = transport
	}
	secrets := &secrets{values: []string{target.Token}}
	for _, values := range target.Header {
		for _, v := range values {
			// The header may contain a credential, so each word of its value is treated as a secret.
			secrets.credentials(v)
		}
	}
	return &wire{
		target: target, base: base, opts: opts, secrets: secrets,
		masker: &masker{run: run, ids: map[string]bool{}, seen: map[string]bool{}, sent: map[string]bool{}},
		pace:   pacer(opts.Rate), received: received, repeats: repeats{equal: map[string]int{}, hung: map[string]bool{}},
	}
}

// callError is the reason why a request got no response. Unless it is confirmed, it is not a finding: the check ends with the outcome
// Error.
type callError struct {
	name      string
	reason    string
	cause     error
	budget    bool              // the cause is a limit of the run, not the network
	exchange  *wirelog.Exchange // the request, for evidence; nil if the request was not sent
	confirmed bool              // the target did not respond to the repeat either, but responded to another request
	idle      bool              // the server may have closed the reused connection before it received the request
	known     bool              // the same kind of request has timed out before, so it was sent once with a short timeout
}

// Reasons for a missing response that the target has not caused.
var (
	errTooLarge      = errors.New("the response is too large")
	errNoCredentials = errors.New("no credentials")
)

func (e *callError) Error() string { return e.name + ": " + e.reason }
func (e *callError) Unwrap() error { return e.cause }

// attempt sends one request and reads the whole response. After a 429 it waits and sends the request again. If unlimited is set, attempt
// ignores the maximum number of requests. [wire.call] also repeats requests that fail.
func (w *wire) attempt(ctx context.Context, req Request, unlimited bool) (*Response, error) {
	for attempt := 0; ; attempt++ {
		res, err := w.send(ctx, req, unlimited)
		if err != nil || res.Status != http.StatusTooManyRequests || !w.waitOut(ctx, res, attempt) {
			return res, err
		}
	}
}

// send sends one request, without a second attempt.
func (w *wire) send(ctx context.Context, req Request, unlimited bool) (*Response, error) {
	if err := w.admit(req, unlimited); err != nil {
		return nil, err
	}
	start := w.opts.Now()
	res, err := w.exchange(ctx, req)
	if len(w.took) < maxTook {
		w.took = append(w.took, w.opts.Now().Sub(start))
	}
	w.keep(req, res)
	w.keepUnanswered(err)
	return res, err
}

// keep masks the exchange of a response, passes the response to received, and stores the exchange if the run records all exchanges.
func (w *wire) keep(req Request, res *Response) {
	if res == nil || res.exchange == nil {
		return
	}
	w.served = w.served || res.Status != http.StatusTooManyRequests
	w.masker.maskResponse(res.exchange, req.Path, res.Body)
	w.masker.maskPasswords(res.exchange)
	if req.Credentials.Kind == "invalid" {
		res.exchange.RequestHeader.Set("Authorization", req.Credentials.Authorization)
	}
	w.received(req, res)
	if w.opts.Record {
		w.traffic = append(w.traffic, Sent{Check: w.checking, Exchange: res.exchange})
	}
}

// admit counts a request. It returns an error if the maximum number of requests is reached.
func (w *wire) admit(req Request, unlimited bool) error {
	if !unlimited && w.requests >= w.opts.MaxRequests {
		return &callError{name: req.name(), reason: w.opts.budgetUsedUp(), budget: true}
	}
	w.requests++
	w.masker.learn(req.Body)
	return nil
}

// countUnanswered counts consecutive requests without a response.
func (w *wire) countUnanswered(err error) {
	w.unanswered++
	if err == nil {
		w.unanswered = 0
	}
}

// exchange sends a request and reads the response. Several exchanges may run concurrently: the only shared state that exchange changes are
// the secrets, which a lock protects, and rejected.
func (w *wire) exchange(ctx context.Context, req Request) (*Response, error) {
	name := req.name()
	if err := w.pace.Wait(ctx); err != nil {
		// Wait also returns an error, without waiting, if the deadline would pass before the request may be sent.
		return nil, &callError{name: name, reason: "not sent before the deadline", cause: context.DeadlineExceeded}
	}
	timeout := w.timeout(req)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := w.newRequest(ctx, req)
	if err != nil {
		return nil, &callError{name: name, reason: err.Error(), cause: err}
	}
	var exchange *wirelog.Exchange
	idle := false
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { idle = c.WasIdle && (c.IdleTime >= idleLimit || w.rejected.Load()) },
	}))
	transport := wirelog.Transport(w.target.Transport, func(e wirelog.Exchange) { exchange = &e },
		wirelog.Options{Secrets: w.secrets.all(), Now: w.opts.Now})
	unanswered := func(reason string, cause error) (*Response, error) {
		return nil, &callError{name: name, reason: reason, cause: cause, exchange: exchange, idle: idle}
	}
	began := w.opts.Now()
	res, err := transport.RoundTrip(r)
	w.rejected.Store(err == nil && res.StatusCode >= http.StatusBadRequest)
	if err != nil {
		return unanswered(w.redacted(explain(err, timeout)), err)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxBody+1))
	if err = cmp.Or(err, res.Body.Close()); err != nil {
		return unanswered(w.redacted("the response was aborted: "+explain(err, timeout)), err)
	}
	if len(body) > MaxBody {
		return unanswered(fmt.Sprintf("the response is larger than %d MiB", MaxBody>>20), errTooLarge)
	}
	response := &Response{Name: name, Status: res.StatusCode, Header: res.Header, Body: body, TLS: res.TLS, exchange: exchange,
		first: req.first, sent: true}
	if w.slow(req, w.opts.Now().Sub(began)) {
		response.first, response.slow = "", true
	}
	return response, nil
}

func (w *wire) newRequest(ctx context.Context, req Request) (*http.Request, error) {
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
	address := w.base.String() + req.Path
	if len(req.Query) > 0 {
		// Some servers do not decode a plus sign in a query as a space, but all servers decode %20 as a space.
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
	for name, values := range w.target.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if w.target.Token != "" {
		r.Header.Set("Authorization", "Bearer "+w.target.Token)
	}
	switch req.Credentials.Kind {
	case "", "spelled", "query":
		if w.target.Authorize != nil {
			authorization, err := w.target.Authorize(ctx)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errNoCredentials, err)
			}
			w.secrets.credentials(authorization)
			r.Header.Set("Authorization", authorization)
		}
		req.Credentials.respell(r)
	case "none":
		r.Header.Del("Authorization")
	case "other", "invalid":
		r.Header.Set("Authorization", req.Credentials.Authorization)
	}
	for name, values := range req.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return r, nil
}

// redacted removes the secrets of the run from the text of an error, which may repeat a part of the response.
func (w *wire) redacted(text string) string {
	return wirelog.NewRedactor(w.secrets.all()...).Text(text)
}

// noResponseWithin is the start of the reason of a timeout.
const noResponseWithin = "no complete response within "

// explain returns a short reason for a transport error, without the URL, because the error message already contains the name of the call.
func explain(err error, limit time.Duration) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the host name " + dns.Name + " is unknown"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return noResponseWithin + limit.String()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the end of the response"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}
