package provision

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
)

// Provision has the engine work on one principal at once, waits as WaitFor does, and returns what was done, step by step. It ends
// a back-off of the principal and a hold of its lane. When ctx ends first, e.g. because the target fails or the app is paused, its
// error comes with what was done so far.
func (e *Engine) Provision(ctx context.Context, app string, kind engine.Kind, id string, o engine.ProvisionOptions) (engine.Trace, error) {
	if err := principal.Check(app, kind, id); err != nil {
		return engine.Trace{}, err
	}
	mark := engine.Mark{App: app, Kind: kind, ID: id, Retry: true, AllMembers: o.AllMembers && kind == engine.Group}
	generation, err := e.o.Store.Requeue(ctx, e.o.Now(), mark, o.ForceSync)
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
	t, err := e.explanations.LastRun(report, s, generation)
	return t, errors.Join(waited, err)
}
