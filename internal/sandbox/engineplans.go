package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// Plan implements sandboxapi.Plans.
func (e *engineAPI) Plan(ctx context.Context, app string, p sandboxapi.NewPlan) (sandboxapi.Plan, error) {
	req := engine.PlanRequest{App: app, Reason: p.Reason, All: p.All}
	for _, id := range p.Users {
		req.Principals = append(req.Principals, engine.Principal{Kind: engine.User, ID: id})
	}
	for _, id := range p.Groups {
		req.Principals = append(req.Principals, engine.Principal{Kind: engine.Group, ID: id})
	}
	made, err := e.engine.Plan(ctx, req)
	if err != nil {
		return sandboxapi.Plan{}, unread(err, app)
	}
	return shown[sandboxapi.Plan](made)
}

// Plans implements sandboxapi.Plans.
func (e *engineAPI) Plans(ctx context.Context, app string) ([]sandboxapi.Plan, error) {
	found, err := e.engine.Plans(ctx, engine.PlanQuery{App: app})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return []sandboxapi.Plan{}, nil
	}
	return shown[[]sandboxapi.Plan](found)
}

// PlanByID implements sandboxapi.Plans.
func (e *engineAPI) PlanByID(ctx context.Context, app, id string) (sandboxapi.Plan, error) {
	found, err := e.engine.Plans(ctx, engine.PlanQuery{App: app, ID: id})
	if err != nil {
		return sandboxapi.Plan{}, err
	}
	if len(found) == 0 {
		return sandboxapi.Plan{}, rest.NotFound("Plan", id)
	}
	return shown[sandboxapi.Plan](found[0])
}

// PlanItems implements sandboxapi.Plans.
func (e *engineAPI) PlanItems(ctx context.Context, app, id string, q sandboxapi.PlanItemQuery) ([]sandboxapi.PlanItem, error) {
	if _, err := e.PlanByID(ctx, app, id); err != nil {
		return nil, err
	}
	items, err := e.engine.PlanItems(ctx, engine.PlanItemQuery{
		Plan: id, Operation: engine.Operation(q.Operation), Outcome: engine.Class(q.Outcome), After: q.After, Limit: q.Limit,
	})
	if err != nil {
		return nil, err
	}
	about := make([]engine.Principal, 0, len(items))
	for _, item := range items {
		about = append(about, engine.Principal{Kind: item.Kind, ID: item.ID})
	}
	names, err := e.names(ctx, app, about)
	if err != nil {
		return nil, err
	}
	all := make([]sandboxapi.PlanItem, 0, len(items))
	for i, item := range items {
		out, err := shown[sandboxapi.PlanItem](item)
		if err != nil {
			return nil, err
		}
		if out.Requests == nil {
			out.Requests = []sandboxapi.Sent{}
		}
		out.Name = names[about[i]]
		all = append(all, out)
	}
	return all, nil
}

// Apply implements sandboxapi.Plans. Changes that the engine was not told about yet are waited for first: they may move the plan.
func (e *engineAPI) Apply(ctx context.Context, app, id string, first int) (sandboxapi.Plan, error) {
	if _, err := e.PlanByID(ctx, app, id); err != nil {
		return sandboxapi.Plan{}, err
	}
	if err := e.relayed(ctx); err != nil {
		return sandboxapi.Plan{}, refused(err, "Plan", id)
	}
	err := e.update(ctx, app, func(tx engine.Execer) error { return e.engine.Apply(ctx, tx, id, engine.ApplyOptions{First: first}) })
	if err != nil {
		return sandboxapi.Plan{}, refused(err, "Plan", id)
	}
	return e.PlanByID(ctx, app, id)
}

// Discard implements sandboxapi.Plans.
func (e *engineAPI) Discard(ctx context.Context, app, id string) error {
	if _, err := e.PlanByID(ctx, app, id); err != nil {
		return err
	}
	return refused(e.engine.Discard(ctx, id), "Plan", id)
}
