package conformance

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scimwright/scimwright/scim/wirelog"
)

const (
	// repeatPause is the time between a request that failed and its repeat.
	repeatPause = 50 * time.Millisecond
	// maxEqualRepeats is a number of repeats: after that many repeats of one kind of request with the same result as the first request, the
	// run does not repeat this kind.
	maxEqualRepeats = 3
	// maxRepeatExamples is the maximum number of repeats that a result describes; all are counted.
	maxRepeatExamples = 20
	// minShortTimeout and maxShortTimeout limit the short timeout: a tenth of Options.RequestTimeout.
	minShortTimeout, maxShortTimeout = time.Second, 5 * time.Second
	// idleLimit is a duration: if a connection was unused for longer, the server may close it just when the run sends a request. Some servers
	// also close a connection after an error response without announcing it. Whether the next request then gets a response depends on the
	// time when the client notices it.
	idleLimit = time.Second
	// patience is the factor by which the timeout of a repeat after a timeout is longer: whether a slow target responds just in time
	// depends on the load of its machine.
	patience = 3
	// slowFactor and slowShare tell a slow request from one that hung once. After a timeout, the repeat of a slow request takes at least
	// slowFactor times the median duration of the requests of the run, and at least the share 1/slowShare of the timeout.
	slowFactor = 5
	slowShare  = 10
	// largerFactor is the factor by which the timeout of a request with Smaller is longer than the smaller request took. A request that is
	// twice as large takes 8 times as long if the time grows with the cube of the size.
	largerFactor = 16
	// largeRequest is the number of bytes of the URL and the body from which on a server may reject a request before it has read all of it.
	largeRequest = 4 << 10
)

// A Repeat is a request that failed and had another result when the run repeated it.
type Repeat struct {
	// Request is the method and the path, such as "GET /Users/42".
	Request string
	// First and Second are the results: a status such as "503 Service Unavailable", or the reason why there was no response.
	First, Second string
}

// repeats is what a wire has detected by repeating requests.
type repeats struct {
	examples []Repeat
	count    int // repeated requests whose result differed from the first result
	slow     int // requests that timed out, and whose repeat got a response after a long time
	failures int // responses with a server error, and requests without a response
	equal    map[string]int
	hung     map[string]bool // kinds of requests that timed out twice while the target responded to another request
}

// call sends one request. A request fails if it gets no response, or a server error other than 501. A request that fails is repeated once,
// after a short pause. If the repeat has another result, call returns that result and records both. After a server error, call repeats only
// GET, HEAD, OPTIONS, PUT, DELETE and searches, because any other request may have taken effect. Without a response, call repeats every
// request.
//
// If the repeat gets no response either, but the target responds to another request, the error is confirmed: it is then a finding.
func (w *wire) call(ctx context.Context, req Request, unlimited bool) (*Response, error) {
	res, err := w.attempt(ctx, req, unlimited)
	failure := failureOf(ctx, res, err)
	if failure == "" {
		w.countUnanswered(err)
		return res, err
	}
	w.repeats.failures++
	kind := kindOf(req)
	known := w.repeats.equal[kind] >= maxEqualRepeats || w.repeats.hung[kind]
	if err == nil {
		w.countUnanswered(nil)
		if known || !repeatable(req) {
			return res, nil
		}
		return w.repeatAfterServerError(ctx, req, unlimited, res, failure)
	}
	call, _ := errors.AsType[*callError](err)
	if w.repeats.hung[kind] && timedOut(err) {
		call.known = true
		return nil, err
	}
	again, err := w.repeatUnanswered(ctx, req, unlimited, call, failure)
	w.countUnanswered(err)
	if call, ok := errors.AsType[*callError](err); ok && call.confirmed {
		w.unanswered = 0 // the target has responded to another request
	}
	return again, err
}

// repeatAfterServerError repeats a request that got a server error.
func (w *wire) repeatAfterServerError(ctx context.Context, req Request, unlimited bool, res *Response, failure string) (*Response, error) {
	if !pause(ctx, repeatPause) {
		return res, nil
	}
	req.first = failure
	again, err := w.attempt(ctx, req, unlimited)
	second := failureOf(ctx, again, err)
	switch {
	case err == nil && performed(req, again):
		// The first request has taken effect, so the repeat is rejected. call returns the response to the first request.
	case err == nil && second == "":
		w.differed(req, failure, statusText(again.Status))
		return again, nil
	case err != nil && second != "":
		w.differed(req, failure, second) // the first result is a response, so call returns it
	case err == nil:
		w.same(req)
	}
	return res, nil
}

// repeatUnanswered repeats a request that got no response.
func (w *wire) repeatUnanswered(ctx context.Context, req Request, unlimited bool, call *callError, failure string) (*Response, error) {
	hangs := timedOut(call)
	if hangs && !w.responds(ctx, req) || !pause(ctx, repeatPause) {
		return nil, call
	}
	if !call.idle {
		req.first = failure
	}
	if req.repeated != nil {
		req.repeated()
	}
	req.patient = hangs
	again, err := w.attempt(ctx, req, unlimited)
	if err == nil {
		switch {
		case performed(req, again):
			again.lost = call
		case again.slow:
			w.repeats.slow++
			w.repeats.failures--
		case call.cut() && again.Status >= 400 && again.Status < 500:
			w.repeats.failures--
		case !call.idle:
			w.differed(req, failure, statusText(again.Status))
		}
		return again, nil
	}
	later, _ := errors.AsType[*callError](err)
	switch {
	case failureOf(ctx, nil, err) == "": // the run ends
		return nil, call
	case later.network() || !hangs && !w.responds(ctx, req):
		return nil, later
	}
	later.confirmed = true
	w.same(req)
	if hangs && timedOut(later) {
		w.repeats.hung[kindOf(req)] = true
	}
	return nil, later
}

// cut reports whether the connection was closed while the run sent a large request. A server may reject such a request before it has read
// all of it, and close the connection. Whether the client then receives the response depends on the load of both machines.
func (e *callError) cut() bool {
	if e.exchange == nil || len(e.exchange.URL)+len(e.exchange.RequestBody) < largeRequest {
		return false
	}
	return errors.Is(e.cause, syscall.EPIPE) || errors.Is(e.cause, syscall.ECONNRESET)
}

// differed records a repeat with another result.
func (w *wire) differed(req Request, first, second string) {
	w.repeats.count++
	if len(w.repeats.examples) < maxRepeatExamples {
		w.repeats.examples = append(w.repeats.examples, Repeat{Request: req.name(), First: first, Second: second})
	}
	w.repeats.equal[kindOf(req)] = -w.opts.MaxRequests // a negative number, so that this kind never reaches maxEqualRepeats
}

// same counts a repeat with the same result.
func (w *wire) same(req Request) { w.repeats.equal[kindOf(req)]++ }

// slow reports whether the repeat of a request that has timed out took long, compared with the other requests of the run. The target then
// needs long for each such request, and whether it responds in time depends on the load of its machine.
func (w *wire) slow(req Request, took time.Duration) bool {
	if !req.patient || len(w.took) == 0 {
		return false
	}
	durations := slices.Sorted(slices.Values(w.took))
	return took >= w.opts.RequestTimeout/slowShare && took >= slowFactor*durations[len(durations)/2]
}

// responds reports whether the target sends any response to a plain GET. If it does, the network works, and the failed request itself is
// the reason why it got no response.
func (w *wire) responds(ctx context.Context, failed Request) bool {
	for _, probe := range []Request{
		{Method: http.MethodGet, Path: "/ServiceProviderConfig", short: true},
		{Method: http.MethodGet, Path: "/Schemas", short: true},
	} {
		if probe.Path == failed.Path {
			continue
		}
		if _, err := w.attempt(ctx, probe, true); err == nil {
			return true
		}
	}
	return false
}

// timeout returns the timeout of a request. It is short for a request of [wire.responds], and for a kind of request that has timed out
// twice before. It is long for the repeat of a request that has timed out, and for a request of which a smaller one took long.
func (w *wire) timeout(req Request) time.Duration {
	limit := w.opts.RequestTimeout
	if req.short || w.repeats.hung[kindOf(req)] {
		return min(limit, max(minShortTimeout, min(maxShortTimeout, limit/10)))
	}
	if req.Smaller != nil && req.Smaller.exchange != nil {
		limit = max(limit, largerFactor*req.Smaller.exchange.Duration)
	}
	if req.patient {
		limit *= patience
	}
	return limit
}

// keepUnanswered masks the evidence of a request without a complete response, and stores it if the run records all exchanges.
func (w *wire) keepUnanswered(err error) {
	call, ok := errors.AsType[*callError](err)
	if !ok || call.exchange == nil {
		return
	}
	e := call.exchange
	// The response is omitted: an incomplete body cannot be masked, and the text of a network error contains port numbers.
	e.Status, e.ResponseHeader, e.ResponseBody, e.Err = 0, http.Header{}, "", call.reason
	w.masker.maskPasswords(e)
	if w.opts.Record {
		w.traffic = append(w.traffic, Sent{Check: w.checking, Exchange: e})
	}
}

// failureOf describes how a request failed: it got no response or a server error. It returns "" after any other response, and after an
// error that the target has not caused.
func failureOf(ctx context.Context, res *Response, err error) string {
	if err == nil {
		if res.Status >= 500 && res.Status != http.StatusNotImplemented {
			return statusText(res.Status)
		}
		return ""
	}
	call, ok := errors.AsType[*callError](err)
	if !ok || call.exchange == nil || ctx.Err() != nil {
		return ""
	}
	return call.reason
}

// network reports whether no connection to the target could be established. This is never a finding.
func (e *callError) network() bool {
	var op *net.OpError
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	return errors.As(e.cause, &dns) || errors.As(e.cause, &unknown) || errors.As(e.cause, &op) && op.Op == "dial"
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// repeatable reports whether a server can process a request twice with the same result as once.
func repeatable(req Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Method == http.MethodPost && strings.HasSuffix(req.Path, "/.search")
}

// kindOf returns the kind of a request: the method, the path without ids and the names of the query parameters.
func kindOf(req Request) string {
	segments := strings.Split(strings.TrimPrefix(req.Path, "/"), "/")
	for i := 1; i < len(segments); i++ {
		if segments[i] != ".search" {
			segments[i] = "{id}"
		}
	}
	return req.Method + " /" + strings.Join(segments, "/") + "?" + strings.Join(parameterNames(req.Query), "&")
}

func parameterNames(q url.Values) []string {
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// performed reports whether the status of a repeat shows that the target had performed the first request, although the response to it was
// missing or a server error.
func performed(req Request, repeat *Response) bool {
	switch req.Method {
	case http.MethodPost:
		return repeat.Status == http.StatusConflict
	case http.MethodDelete:
		return repeat.Status == http.StatusNotFound || repeat.Status == http.StatusGone
	}
	return repeat.Status == http.StatusPreconditionFailed
}

// fail ends the check because a request got no response. If the error is confirmed, fail records a finding of the outcome Fail, whatever
// the level of the check. Otherwise the check ends with the outcome Error.
func (t *T) fail(err error) {
	call, ok := errors.AsType[*callError](err)
	t.hung = ok && (call.known || call.confirmed && timedOut(err))
	switch {
	case ok && call.known:
		t.Skip(fmt.Sprintf("blocked: %s gets no response, like an earlier request of this kind", call.name))
	case !ok || !call.confirmed:
		panic(noAnswer{err})
	}
	t.robustness(call.name, call.reason+", also when repeated; the target responds to other requests", call.exchange)
	panic(stopped{})
}

// lost ends the check with a finding: the target performed a request, but sent no response to it. repeat is the response to the repeat of
// the request, which shows this.
func (t *T) lost(repeat *Response) {
	t.robustness(repeat.Name, repeat.lost.reason+"; the target had performed the request, because the repeat returned "+
		statusText(repeat.Status), repeat.lost.exchange)
	panic(stopped{})
}

// robustness records the finding that a request gets no complete response.
func (t *T) robustness(name, got string, e *wirelog.Exchange) {
	t.last, t.stoppedBy = e, "blocked: "+name+" gets no response: "+got
	t.find(Fail, "robustness: response to "+name, "a complete HTTP response", got)
}
