package sandbox

import (
	"cmp"
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// notThere are the kinds of things that are not found, by the kind of principals.
var notThere = map[string]string{sandboxapi.KindUser: "User", sandboxapi.KindGroup: "UserGroup"}

// Principals implements sandboxapi.Principals.
func (e *engineAPI) Principals(ctx context.Context, q sandboxapi.PrincipalQuery) ([]sandboxapi.Principal, error) {
	query := engine.StateQuery{App: q.App, Kind: engine.Kind(q.Kind), Status: engine.Status(q.Status), Limit: q.Limit}
	if q.After != "" {
		query.After = &engine.State{App: q.App, Kind: engine.Kind(q.AfterKind), ID: q.After}
	}
	states, err := e.engine.States(ctx, query)
	if err != nil {
		return nil, err
	}
	return e.principals(ctx, q.App, states)
}

// Principal implements sandboxapi.Principals.
func (e *engineAPI) Principal(ctx context.Context, app, kind, id string) (sandboxapi.Principal, error) {
	s, err := e.engine.State(ctx, app, engine.Kind(kind), id)
	if err != nil {
		return sandboxapi.Principal{}, refused(err, notThere[kind], id)
	}
	all, err := e.principals(ctx, app, []engine.State{s})
	if err != nil {
		return sandboxapi.Principal{}, err
	}
	return all[0], nil
}

func (e *engineAPI) principals(ctx context.Context, app string, states []engine.State) ([]sandboxapi.Principal, error) {
	about := make([]engine.Principal, 0, len(states))
	for _, s := range states {
		about = append(about, engine.Principal{Kind: s.Kind, ID: s.ID})
	}
	names, err := e.names(ctx, app, about)
	if err != nil {
		return nil, err
	}
	all := make([]sandboxapi.Principal, 0, len(states))
	for i, s := range states {
		all = append(all, sandboxapi.Principal{
			Kind: string(s.Kind), ID: s.ID, Name: cmp.Or(names[about[i]], s.RemoteName), State: known(s), WaitingOn: s.WaitingOn, DirtySince: s.DirtySince,
		})
	}
	return all, nil
}

func known(s engine.State) sandboxapi.Known {
	k := sandboxapi.Known{
		Desired: s.Desired, Synced: s.Synced, Status: string(s.Status), Want: string(s.Want), NextAt: s.NextAt, Attempts: s.Attempts,
		RemoteID: s.RemoteID, RemoteName: s.RemoteName, Origin: string(s.Origin), Operation: string(s.LastOperation), HTTP: s.LastStatus,
		Error: s.LastError, UpdatedAt: s.UpdatedAt, Pending: pendingOf(s.Pending),
	}
	for path, u := range s.IgnoredAttributes {
		if k.Unkept == nil {
			k.Unkept = map[string]sandboxapi.Unkept{}
		}
		k.Unkept[path] = sandboxapi.Unkept(u)
	}
	return k
}

// assigned reports whether a principal is assigned or pushed to an app. The error is NotFound for one that neither the directory nor the
// engine knows.
func (e *engineAPI) assigned(ctx context.Context, app, kind, id string) (assigned bool, err error) {
	p := principalOf(app, engine.Kind(kind), id)
	assigned, err = e.bridge.wanted.Assigned(ctx, p)
	if err != nil || assigned {
		return assigned, err
	}
	names, err := e.bridge.wanted.Names(ctx, p.Kind, []string{id})
	if _, exists := names[id]; err == nil && !exists {
		_, err = e.engine.State(ctx, app, engine.Kind(kind), id)
	}
	return false, refused(err, notThere[kind], id)
}

func pendingOf(p *engine.Pending) *sandboxapi.Pending {
	if p == nil {
		return nil
	}
	return &sandboxapi.Pending{
		Operation: string(p.Operation), Method: p.Method, Path: p.Path, Transaction: p.Txn, Location: p.Location, Generation: p.Gen,
		At: p.At, Deadline: p.Deadline, Reads: p.Reads,
	}
}

// Rehearse implements sandboxapi.Principals.
func (e *engineAPI) Rehearse(ctx context.Context, app, kind, id string) (sandboxapi.Trace, error) {
	assigned, err := e.assigned(ctx, app, kind, id)
	if err != nil {
		return sandboxapi.Trace{}, err
	}
	t, err := e.engine.DryRun(ctx, app, engine.Kind(kind), id)
	if err != nil {
		return sandboxapi.Trace{}, refused(err, notThere[kind], id)
	}
	out, err := shown[sandboxapi.Trace](t)
	out.Assigned, out.Idle = assigned, t.Idle()
	return out, err
}

// Provision implements sandboxapi.Principals.
func (e *engineAPI) Provision(ctx context.Context, app, kind, id string, forceSync, allMembers bool) (sandboxapi.Trace, error) {
	if err := e.relayed(ctx); err != nil {
		return sandboxapi.Trace{}, refused(err, notThere[kind], id)
	}
	assigned, err := e.assigned(ctx, app, kind, id)
	if err != nil {
		return sandboxapi.Trace{}, err
	}
	t, err := e.engine.Provision(ctx, app, engine.Kind(kind), id, engine.ProvisionOptions{ForceSync: forceSync, AllMembers: allMembers})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return sandboxapi.Trace{}, refused(err, notThere[kind], id)
	}
	out, err := shown[sandboxapi.Trace](t) // when time is up: what was done so far, and what keeps the rest
	out.Assigned = assigned
	return out, err
}

// Verify implements sandboxapi.Principals.
func (e *engineAPI) Verify(ctx context.Context, app, kind, id string) (sandboxapi.Proof, error) {
	assigned, err := e.assigned(ctx, app, kind, id)
	if err != nil {
		return sandboxapi.Proof{}, err
	}
	p, err := e.engine.Verify(ctx, app, engine.Kind(kind), id)
	if err != nil {
		return sandboxapi.Proof{}, refused(err, notThere[kind], id)
	}
	out, err := shown[sandboxapi.Proof](p)
	out.Assigned, out.Converged, out.Summary = assigned, p.Converged(), p.String()
	return out, err
}

// Explain implements sandboxapi.Principals.
func (e *engineAPI) Explain(ctx context.Context, app, kind, id string) (sandboxapi.Explanation, error) {
	assigned, err := e.assigned(ctx, app, kind, id)
	if err != nil {
		return sandboxapi.Explanation{}, err
	}
	x, err := e.engine.Explain(ctx, app, engine.Kind(kind), id)
	if err != nil {
		return sandboxapi.Explanation{}, refused(err, notThere[kind], id)
	}
	out, err := shown[sandboxapi.Explanation](x)
	out.Assigned = assigned
	return out, err
}

// WaitFor implements sandboxapi.Principals.
func (e *engineAPI) WaitFor(ctx context.Context, app, kind, id string) error {
	if err := e.relayed(ctx); err != nil {
		return refused(err, notThere[kind], id)
	}
	_, err := e.engine.WaitFor(ctx, app, engine.Kind(kind), id)
	return e.waited(ctx, err, notThere[kind], app, kind, id)
}

// Dismiss implements sandboxapi.Principals.
func (e *engineAPI) Dismiss(ctx context.Context, app, task string) error {
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		switch err := e.engine.Dismiss(ctx, app, kind, task); {
		case errors.Is(err, engine.ErrNotFound):
			continue
		case errors.Is(err, engine.ErrStale):
			return &rest.Error{Code: rest.CodeMoved, Summary: "It is no task any more: it is neither failed nor held.", Err: err}
		default:
			return err
		}
	}
	return sandboxapi.ErrNoTask
}

// RetryAll implements sandboxapi.Principals.
func (e *engineAPI) RetryAll(ctx context.Context, app string) (int, error) {
	return e.engine.RetryAll(ctx, app)
}
