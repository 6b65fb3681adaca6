package conformance

import (
	"context"
	"net/http"
	"sync"
)

// CallConcurrently sends requests concurrently and returns the responses in the order of the requests. Objects that the requests create are
// removed at the end of the check, as with [T.Call]. If a request gets no response, the check ends with the outcome Error.
//
// The evidence of findings is the last response; [T.About] selects another one.
func (t *T) CallConcurrently(ctx context.Context, requests ...Request) []*Response {
	t.sent = append(t.sent, requests...)
	t.admitCreation(ctx, requests...)
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
		if res != nil && res.Status == http.StatusTooManyRequests && t.session.wire.waitOut(ctx, res, 0) {
			res, errs[i] = t.session.wire.call(ctx, sent[i], false)
		}
		if res != nil {
			t.last = res.exchange
			res = t.substitution.response(requests[i], res)
			answers[i] = res
			t.session.created.recordOutcome(t.ledger, pending[i], requests[i], res)
		}
	}
	for _, err := range errs {
		if err != nil {
			panic(noAnswer{err})
		}
	}
	for i, res := range answers {
		if t.session.waitForLag(ctx, requests[i], res) {
			break // once for all requests
		}
	}
	return answers
}
