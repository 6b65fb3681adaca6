package provision

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/dryrun"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
)

// Traces show one principal step by step: what the engine did, would do and knows. See [Engine.Traces].
type Traces struct{ e *Engine }

// Traces returns the handle of what is shown about one principal.
func (e *Engine) Traces() Traces { return Traces{e} }

// Run has the engine work on one principal at once, waits as WaitFor does, and returns what was done, step by step. It ends
// a back-off of the principal and a hold of its lane. When ctx ends first, e.g. because the target fails or the app is paused, its
// error comes with what was done so far.
func (t Traces) Run(ctx context.Context, app string, kind engine.Kind, id string, o engine.ProvisionOptions) (engine.Trace, error) {
	if err := principal.Check(app, kind, id); err != nil {
		return engine.Trace{}, err
	}
	e := t.e
	tasks, err := e.can.tasks.get()
	if err == nil {
		_, err = e.can.attempts.get() // the trace is made of them
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
		return engine.Trace{}, waited // the store failed, or the app is forgotten
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

// DryRun tells what the engine would do now about one principal, with the exact requests, without doing it: reads go to the
// target, writes are pretended, nothing is stored and no lane is taken. A principal that was never marked is rehearsed as if it
// were marked now. What the directory or the target cannot tell is in Trace.Message, as it would be in State.LastError; the error
// is about the app (ErrUnknownApp) or the store.
//
// The target may answer otherwise than is pretended: it may refuse, alter what it is sent, or answer without the resource, which
// is then read back.
func (t Traces) DryRun(ctx context.Context, app string, kind engine.Kind, id string) (engine.Trace, error) {
	x, err := t.open(ctx, app)
	if err != nil {
		return engine.Trace{}, err
	}
	return x.Trace(ctx, kind, id)
}

// Verify reads a principal at the target and compares it with what the directory says now. Nothing is written, neither at the
// target nor in the store. A group is compared by its name and all its members; one whose members the target never shows cannot
// be, and Ignored names them. What the options of the app exclude, such as updates, is not compared. The error is about the app
// (ErrUnknownApp), the store or ctx; what the target or the directory cannot tell is in Verification.Message.
func (t Traces) Verify(ctx context.Context, app string, kind engine.Kind, id string) (engine.Verification, error) {
	x, err := t.open(ctx, app)
	if err != nil {
		return engine.Verification{}, err
	}
	return x.Verify(ctx, kind, id)
}

// open begins a dry run of an app, which reads the guard's counts.
func (t Traces) open(ctx context.Context, app string) (*dryrun.App, error) {
	if _, err := t.e.can.plans.get(); err != nil {
		return nil, err
	}
	return t.e.dryRuns.Open(ctx, app, nil)
}

// Explain joins what the directory says about a principal with what the engine knows. The target is not asked.
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
