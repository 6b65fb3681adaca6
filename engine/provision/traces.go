package provision

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/dryrun"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
)

// Traces shows one principal in detail: past requests, a dry run, and the state. See [Engine.Traces].
type Traces struct{ e *Engine }

// Traces returns the handle for traces of one principal.
func (e *Engine) Traces() Traces { return Traces{e} }

// Run makes the engine work on one principal immediately, waits as WaitFor does, and returns the requests. Run ends a backoff of the
// principal and a hold of its lane. If ctx ends first, for example because the target fails or the app is paused, Run returns the error of
// ctx and the trace so far.
func (t Traces) Run(ctx context.Context, app string, kind engine.Kind, id string, o engine.ProvisionOptions) (engine.Trace, error) {
	if err := principal.Check(app, kind, id); err != nil {
		return engine.Trace{}, err
	}
	e := t.e
	tasks, err := e.can.tasks.get()
	if err == nil {
		_, err = e.can.attempts.get() // required, because the trace consists of recorded exchanges
	}
	if err != nil {
		return engine.Trace{}, err
	}
	mark := engine.Mark{App: app, Kind: kind, ID: id, Retry: true, AllMembers: o.AllMembers && kind == engine.Group}
	generation, err := tasks.Requeue(ctx, e.o.Now(), mark, o.ForceSync)
	if err != nil {
		return engine.Trace{}, err
	}
	e.Wake(app)
	s, waited := e.watch.WaitFor(ctx, app, kind, id, generation)
	if waited != nil && ctx.Err() == nil {
		return engine.Trace{}, waited // the store failed, or the app was removed
	}
	report, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
	defer cancel()
	if waited != nil {
		if s, err = principal.State(report, e.o.Store, app, kind, id); err != nil {
			return engine.Trace{}, errors.Join(waited, err)
		}
	}
	trace, err := e.explanations.LastRun(report, s, generation)
	return trace, errors.Join(waited, err)
}

// DryRun returns the exact requests that the engine would send now for one principal, without sending writes. Reads go to the target, and
// writes are simulated. DryRun stores nothing and claims no lane. A principal that was never marked is treated as if it were marked now. If
// the directory or the target returns an error, Trace.Message has the text that State.LastError would have. DryRun itself only returns
// errors of the app (ErrUnknownApp) and the store.
//
// The target's response may differ from the simulated one: the target may reject the request, alter the values, or respond without the
// resource, which the engine then reads back. The simulated response to a create has no entity tag, so that later requests for the created
// resource are predicted without If-Match.
func (t Traces) DryRun(ctx context.Context, app string, kind engine.Kind, id string) (engine.Trace, error) {
	x, err := t.open(ctx, app)
	if err != nil {
		return engine.Trace{}, err
	}
	return x.Trace(ctx, kind, id)
}

// Verify reads a principal on the target and compares it with the current desired state. It writes nothing, neither to the target nor to
// the store. A group is compared by its name and all its members. If the target never returns the members of a group, they cannot be
// compared, and Ignored contains the path members. Changes that the options of the app exclude, such as updates, are not compared. Verify
// returns errors of the app (ErrUnknownApp), the store and ctx. An error of the target or the directory is in Verification.Message.
func (t Traces) Verify(ctx context.Context, app string, kind engine.Kind, id string) (engine.Verification, error) {
	x, err := t.open(ctx, app)
	if err != nil {
		return engine.Verification{}, err
	}
	return x.Verify(ctx, kind, id)
}

// open prepares dry runs of an app. It returns an error if the store does not implement store.Plans.
func (t Traces) open(ctx context.Context, app string) (*dryrun.App, error) {
	if _, err := t.e.can.plans.get(); err != nil {
		return nil, err
	}
	return t.e.dryRuns.Open(ctx, app, nil)
}

// Explain combines the directory's explanation of a principal with the engine's state. It does not query the target.
func (t Traces) Explain(ctx context.Context, app string, kind engine.Kind, id string) (engine.PrincipalExplanation, error) {
	if _, err := t.e.can.attempts.get(); err != nil {
		return engine.PrincipalExplanation{}, err
	}
	return t.e.explanations.Explain(ctx, app, kind, id)
}

// Attempts lists recorded exchanges, newest first.
func (t Traces) Attempts(ctx context.Context, q engine.AttemptQuery) ([]engine.Attempt, error) {
	s, err := t.e.can.attempts.get()
	if err != nil {
		return nil, err
	}
	return s.Attempts(ctx, q)
}
