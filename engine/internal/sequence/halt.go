package sequence

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/internal/errtext"
)

// halted returns the halt of one of the operations, or nil if none of them is halted.
func (r *run) halted(ctx context.Context, ops ...engine.Operation) (*engine.Halt, error) {
	halts, err := r.currentHalts(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range halts {
		if slices.Contains(ops, h.Operation) {
			return &h, nil
		}
	}
	return nil, nil
}

// haltsAge is the maximum age of halts that were read ahead.
const haltsAge = 5 * time.Millisecond

// currentHalts returns the halts. It reads them, unless they were just read ahead.
func (r *run) currentHalts(ctx context.Context) ([]engine.Halt, error) {
	if ahead := r.waitForHalts(); ahead != nil && time.Since(ahead.begun) <= haltsAge {
		return ahead.halts, ahead.err
	}
	return r.Ledger.Halts(ctx, r.row.App)
}

// aheadHalts are halts that are read while a response is processed.
type aheadHalts struct {
	done  chan struct{} // closed after the read
	begun time.Time     // when the read began
	halts []engine.Halt
	err   error
}

// readHaltsAhead reads the halts when the caller calls arrived, because the response to a request begins: the next request of the push
// then need not wait for them. The caller may call arrived several times, but must call it.
func (r *run) readHaltsAhead(ctx context.Context) (arrived func()) {
	begin, ahead := make(chan struct{}), &aheadHalts{done: make(chan struct{})}
	r.ahead = ahead
	go func() {
		defer close(ahead.done)
		<-begin
		ahead.begun = time.Now()
		ahead.halts, ahead.err = r.Ledger.Halts(ctx, r.row.App)
	}()
	return sync.OnceFunc(func() { close(begin) })
}

// waitForHalts returns the halts that were read ahead for the next request, nil if there are none. It returns them once.
func (r *run) waitForHalts() *aheadHalts {
	ahead := r.ahead
	r.ahead = nil
	if ahead != nil {
		<-ahead.done
	}
	return ahead
}

// haltedLinks returns the reason why existing accounts must not be linked, empty if linking is allowed.
func (r *run) haltedLinks(ctx context.Context) (string, error) {
	h, err := r.halted(ctx, engine.OpLink)
	if err != nil || h == nil {
		return "", err
	}
	return h.String(), nil
}

// stop returns the outcome of the sequence if the request must not be sent, because it changes something and a halt applies or the halts
// cannot be read. It returns nil if the request may be sent.
//
// Invariant 14: The engine checks halts before each request that changes something. A principal with a blocked request does not count as
// synchronized. Halt rows are locked before any other row.
func (r *run) stop(ctx context.Context, req plan.Request) *plan.Outcome {
	if req.Op == "" {
		return nil
	}
	h, err := r.halted(ctx, req.Op, req.Also)
	switch {
	case err != nil:
		r.localFailure = true
		return &plan.Outcome{Class: engine.Transient, Operation: req.Op, Message: "the halts cannot be read: " + errtext.Plain(err)}
	case h != nil:
		return &plan.Outcome{Class: engine.Held, Operation: h.Operation, Message: h.String(), Halted: true}
	}
	return nil
}
