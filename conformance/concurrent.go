package conformance

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// CallConcurrently sends requests concurrently and returns the responses in the order of the requests. Objects that the requests create are
// removed at the end of the check, as with [T.Call]. Without a response to a request, the check ends as with [T.Call]. Requests are not
// repeated.
//
// The evidence of findings is the last response; [T.About] selects another one.
func (t *T) CallConcurrently(ctx context.Context, requests ...Request) []*Response {
	t.sent = append(t.sent, requests...)
	t.admitCreation(ctx, requests...)
	for _, req := range requests {
		t.session.waitForLag(ctx, req)
	}
	pending := make([][]prospect, len(requests))
	sent := make([]Request, len(requests))
	for i, req := range requests {
		sent[i] = t.substitution.request(req)
		if err := t.session.wire.admit(sent[i], false); err != nil {
			panic(noAnswer{err})
		}
		pending[i] = t.session.created.expect(req)
	}
	answers, errs := make([]*Response, len(requests)), make([]error, len(requests))
	var all sync.WaitGroup
	slots := make(chan struct{}, t.session.opts.Concurrency)
	for i, req := range sent {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers[i], errs[i] = t.session.wire.exchange(ctx, req)
		})
	}
	all.Wait()
	// Received responses are recorded before the check ends with an error. Otherwise the created objects would never be removed.
	for i, res := range answers {
		t.session.wire.countUnanswered(errs[i])
		t.session.wire.keep(sent[i], res)
		t.session.wire.keepUnanswered(errs[i])
		if failureOf(ctx, res, errs[i]) != "" {
			t.session.wire.repeats.failures++
		}
		if res != nil && res.Status == http.StatusTooManyRequests && t.session.wire.waitOut(ctx, res, 0) {
			res, errs[i] = t.session.wire.call(ctx, sent[i], false)
		}
		if res != nil {
			t.last = res.exchange
			res = t.substitution.response(requests[i], res)
			answers[i] = res
			t.session.created.recordOutcome(t.ledger, pending[i], requests[i], res)
			t.session.wrote(requests[i], res)
		}
	}
	for i, err := range errs {
		if err == nil {
			continue
		}
		if call, _ := errors.AsType[*callError](err); failureOf(ctx, nil, err) != "" && !call.network() &&
			t.session.wire.responds(ctx, requests[i]) {
			t.session.wire.unanswered = 0
			// Of several requests one probably fails, although each of them would succeed when repeated.
			t.SkipIf(t.session.wire.repeats.count > 0, "a concurrent request got no response, and the target fails at random")
			t.robustness(call.name, call.reason+", when sent concurrently; the target responds to other requests", call.exchange)
			panic(stopped{})
		}
		panic(noAnswer{err})
	}
	return answers
}
