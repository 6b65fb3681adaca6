package sequence

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// exchange runs a sequence to completion. It returns only errors of the store.
func (r *run) exchange(ctx context.Context, s *plan.Sequence, secrets ...string) error {
	r.stepped = time.Now()
	line := r.Line(func(x wirelog.Exchange) {
		r.finish.Exchanges = append(r.finish.Exchanges, connect.AttemptOf(r.id, x))
	}, secrets...)
	step := s.Step()
	for {
		r.acknowledge(step.Acked)
		if step.Outcome != nil {
			break
		}
		if err := r.progress(ctx, step); err != nil {
			return err
		}
		answer, why := r.send(ctx, line, step)
		if why != nil {
			step = s.Stop(*why)
			continue
		}
		step = s.Feed(answer)
	}
	for _, a := range r.alternatives {
		r.Logger.InfoContext(ctx, "request in another form", "app", r.row.App, "kind", r.row.Kind, "id", r.row.ID, "form", line.Redact(a))
	}
	r.outcome = r.withAlternatives(*step.Outcome)
	r.outcome.Message = line.Redact(r.outcome.Message) // the message quotes the target, and is stored, logged and passed to the observer
	return r.waitForNote()
}

// noteAlternative records a request form other than the preferred form of the style.
func (r *run) noteAlternative(q plan.Request) {
	if q.Alternative == nil {
		return
	}
	if form := q.Alternative.String(); !slices.Contains(r.alternatives, form) {
		r.alternatives = append(r.alternatives, form)
	}
}

// withAlternatives adds the alternative request forms to the message of a failed sequence.
func (r *run) withAlternatives(o plan.Outcome) plan.Outcome {
	if len(r.alternatives) > 0 && o.Message != "" && o.Class != engine.Done && !o.Halted {
		o.Message += "; other forms were tried: " + strings.Join(r.alternatives, ", ")
	}
	return o
}

// announce stores a create before it is sent, if a lookup could not find the created resource later: a create without the engine's own
// identifier (externalId), or under a name that is not stored yet. The target may carry out the create although the result of this sequence
// is never stored. If a halt blocks the create, announce stores nothing and `why` is the outcome.
//
// Invariant 16: If a create does not contain the identifier that the engine assigns (externalId), the engine stores the create before it
// sends it. A group that is pushed again after its deletion is pushed in full.
func (r *run) announce(ctx context.Context, req plan.Request) (why *plan.Outcome, err error) {
	if req.Op != engine.OpCreate || req.Body.Text("externalId") != "" && r.row.RemoteName == r.name {
		return nil, nil
	}
	if why := r.stop(ctx, req); why != nil {
		return why, nil
	}
	i := store.Intent{Kind: r.row.Kind, ID: r.row.ID, Want: engine.Active, Name: r.name, Creating: true}
	err = r.Ledger.Begin(ctx, r.Lease, []store.Intent{i})
	r.stepped = time.Now()
	return nil, err
}

// send sends a request as soon as three limits allow it: the concurrency of the app, the rate of the app, and the concurrency of all apps.
// If the request must not be sent, `why` is the outcome. A create is announced before send waits for the limits; halts are checked
// afterwards.
func (r *run) send(ctx context.Context, line Line, s plan.Step) (answer plan.Response, why *plan.Outcome) {
	q := *s.Request
	failed := func(err error) (plan.Response, *plan.Outcome) { return plan.Response{Err: err}, nil }
	if why, err := r.announce(ctx, q); err != nil || why != nil {
		r.localFailure = r.localFailure || err != nil
		return plan.Response{Err: err}, why
	}
	done, err := r.turn(ctx, line, q)
	if err != nil {
		return failed(err)
	}
	defer done()
	if why := r.stop(ctx, q); why != nil {
		return answer, why
	}
	if !r.Valid() {
		return failed(engine.ErrLeaseLost)
	}
	if s.Push != nil && r.acknowledged > 0 && r.Draining() {
		r.drained = true
		return failed(errDraining)
	}
	step := engine.Step{Method: q.Method, Path: q.Path}
	if q.Op == engine.OpCreate {
		r.walk.creating()
	}
	if r.noteAlternative(q); q.Alternative != nil {
		step.Alternative = line.Redact(q.Alternative.String())
	}
	// The next request need not wait for the halts: they are read while the response is processed. It is a request of this sequence, or of
	// one that waits for its turn.
	var arrived atomic.Pointer[time.Time]
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() {
		now := time.Now()
		switch first := arrived.CompareAndSwap(nil, &now); {
		case !first:
		case q.Op == "" || s.Push.Further():
			r.Halts.Ahead()
		default:
			r.Halts.AheadOfOthers()
		}
	}})
	for range resetTries {
		answer = line.Do(ctx, q)
		step.Status, step.Message = answer.Status, line.Redact(plan.Refusal(answer))
		r.steps = append(r.steps, step)
		if r.target.Fallback != engine.FallbackNone || q.Method != http.MethodGet || !errors.Is(answer.Err, syscall.ECONNRESET) {
			break // a failure ends the sequence; the next sequence of the principal repeats the read
		}
	}
	if at := arrived.Load(); at != nil {
		r.stepped = *at
	}
	r.late = r.late || q.Op != "" && !r.Valid()
	return answer, nil
}

// turn waits until a request may be sent.
func (r *run) turn(ctx context.Context, line Line, q plan.Request) (done func(), err error) {
	if q.Op != "" {
		defer r.Halts.Queue()()
	}
	return line.Turn(ctx)
}

// errDraining ends a push between two requests.
var errDraining = errors.New("the lane is to be released")

// resetTries is the maximum number of attempts of a read whose connection is reset, if no other sequence repeats it.
const resetTries = 3
