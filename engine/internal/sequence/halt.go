package sequence

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/internal/errtext"
)

// halted returns the halt of one of the operations, or nil if none of them is halted. It misses no halt that was stored before the last
// step of the sequence.
func (r *run) halted(ctx context.Context, ops ...engine.Operation) (*engine.Halt, error) {
	halts, err := r.Halts.Current(ctx, r.stepped)
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
// Invariant 14: The engine checks halts before each request that changes something, with a read that began after the previous step of the
// sequence and at most 5 ms ago. A principal with a blocked request does not count as synchronized. Halt rows are locked before any other
// row.
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
