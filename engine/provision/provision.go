package provision

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/trace"
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
	s, waited := e.waitFor(ctx, app, kind, id, generation)
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
	t, err := e.trace(report, s, generation)
	return t, errors.Join(waited, err)
}

// trace tells the last run of a principal that began at or beyond a generation.
func (e *Engine) trace(ctx context.Context, s engine.State, generation int64) (engine.Trace, error) {
	t := engine.Trace{
		App: s.App, Kind: s.Kind, ID: s.ID, At: s.UpdatedAt, Want: s.Want, State: principal.Shown(s), Requests: []engine.Sent{},
		Operation: s.LastOperation, Outcome: s.Status.Outcome(), HTTP: s.LastStatus, Message: s.LastError,
	}
	target, err := e.o.Directory.Target(ctx, s.App)
	if err != nil {
		return t, err
	}
	if s.Kind == engine.User {
		if u, err := e.o.Directory.User(ctx, s.App, s.ID); err == nil {
			_, t.Desired = trace.Desired(u)
		}
	} else if g, err := e.o.Directory.Group(ctx, s.App, s.ID); err == nil {
		_, t.Desired = trace.Desired(g)
	}
	all, err := e.o.Store.Attempts(ctx, engine.AttemptQuery{App: s.App, Kind: s.Kind, Principal: s.ID})
	if err != nil {
		return t, err
	}
	run := trace.LastRun(all, generation)
	for _, a := range run {
		t.Requests = append(t.Requests, trace.Sent(a, target.BaseURL))
	}
	trace.AddChanges(&t, trace.Replay(ctx, t.Requests), nil)
	if s.Kind == engine.Group {
		if t.Waiting, err = e.waitsOn(ctx, s); err != nil {
			return t, err
		}
	}
	l, err := e.o.Store.Lane(ctx, s.App)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return t, err
	}
	now := e.o.Now()
	t.Hold = trace.Hold(l, target, e.targets.Connect(target).Rest(now), t.State, now)
	return t, nil
}

// waitsOn are the users of a group that have no account yet, the first MaxNamed of them.
func (e *Engine) waitsOn(ctx context.Context, s engine.State) (users []string, err error) {
	after := ""
	for {
		page, err := e.o.Store.Members(ctx, s.App, engine.MemberQuery{Group: s.ID, Which: engine.MembersPending, After: after, Limit: directory.Page})
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if m.Want && m.RemoteID == "" && len(users) < engine.MaxNamed {
				users = append(users, m.User)
			}
		}
		if len(page) < directory.Page || len(users) == engine.MaxNamed {
			return users, nil
		}
		after = page[len(page)-1].User
	}
}
