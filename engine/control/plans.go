package control

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) planRoutes() []rest.Route {
	const one = "/apps/{app}/plans/{plan}"
	create := row(a, "createPlan", "POST /apps/{app}/plans",
		"Compute the requests for many users and groups as a plan for review", 201, a.createPlan)
	create.Check = checkCreatePlan
	return []rest.Route{
		create,
		row(a, "listPlans", "GET /apps/{app}/plans", "List the plans of an app, newest first", 0,
			func(ctx context.Context, r *appRequest) ([]engine.Plan, error) {
				found, err := a.o.Engine.Plans().List(ctx, engine.PlanQuery{App: r.App})
				return append([]engine.Plan{}, found...), err
			}),
		row(a, "getPlan", "GET "+one, "Show a plan", 0,
			func(ctx context.Context, r *planRequest) (engine.Plan, error) { return a.plan(ctx, r) }),
		row(a, "listPlanItems", "GET "+one+"/items", "List the items of a plan", 0, a.planItems),
		rest.Needs(
			row(a, "applyPlan", "POST "+one+"/apply", "Apply a plan, unless the desired state has changed since its creation", 0, a.applyPlan),
			engine.AccessApprove,
		),
		row(a, "discardPlan", "DELETE "+one, "Delete a plan without reverting the changes of applied items", 204,
			func(ctx context.Context, r *planRequest) (rest.NoContent, error) {
				if _, err := a.plan(ctx, r); err != nil {
					return rest.NoContent{}, err
				}
				return rest.NoContent{}, Rejected(a.o.Engine.Plans().Discard(ctx, r.Plan), "Plan", r.Plan)
			}),
	}
}

type createPlanRequest struct {
	appRequest
	Body struct {
		UserIDs  []string `json:"userIds"`
		GroupIDs []string `json:"groupIds"`
		All      bool     `json:"all" doc:"all users and groups of the app that have a state in the engine, in addition to the listed ids"`
		Reason   string   `json:"reason" max:"1000" doc:"for operators"`
	} `body:"required"`
}

func checkCreatePlan(_ context.Context, r *createPlanRequest, causes *rest.Causes) error {
	if len(r.Body.UserIDs)+len(r.Body.GroupIDs) == 0 && !r.Body.All {
		causes.Add("userIds", "At least one of userIds, groupIds and all is required")
	}
	return nil
}

type planRequest struct {
	appRequest
	Plan string `path:"plan" doc:"id of the plan"`
}

type planItemsRequest struct {
	planRequest
	Operation string `query:"operation" doc:"only items with this operation"`
	Outcome   string `query:"outcome" doc:"only items with this outcome"`
	After     int    `query:"after" min:"0" doc:"only items with a greater number"`
	Limit     int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

type applyRequest struct {
	planRequest
	Body *struct {
		First int `json:"first" min:"1" doc:"apply only that many of the remaining items; the others can be applied after these have succeeded"`
	} `body:"optional"`
}

func (a *api) createPlan(ctx context.Context, r *createPlanRequest) (engine.Plan, error) {
	req := engine.PlanRequest{App: r.App, Reason: r.Body.Reason, All: r.Body.All}
	for _, id := range r.Body.UserIDs {
		req.Principals = append(req.Principals, engine.Principal{Kind: engine.User, ID: id})
	}
	for _, id := range r.Body.GroupIDs {
		req.Principals = append(req.Principals, engine.Principal{Kind: engine.Group, ID: id})
	}
	p, err := a.o.Engine.Plans().Make(ctx, req)
	return p, targetError(err, r.App)
}

// plan returns a plan of the app, or a not-found error for a plan of another app.
func (a *api) plan(ctx context.Context, r *planRequest) (engine.Plan, error) {
	found, err := a.o.Engine.Plans().List(ctx, engine.PlanQuery{App: r.App, ID: r.Plan})
	if err != nil {
		return engine.Plan{}, err
	}
	if len(found) == 0 {
		return engine.Plan{}, rest.NotFound("Plan", r.Plan)
	}
	return found[0], nil
}

// itemsPart is the number of items per read of the store. An item has up to 20 requests with bodies, and all differences.
const itemsPart = 10

func (a *api) planItems(ctx context.Context, r *planItemsRequest) (page rest.Page[client.PlanItem], err error) {
	if _, err := a.plan(ctx, &r.planRequest); err != nil {
		return page, err
	}
	query := engine.PlanItemQuery{
		Plan: r.Plan, Operation: engine.Operation(r.Operation), Outcome: engine.Class(r.Outcome), After: r.After,
	}
	read := func(after *engine.PlanItem, n int) ([]engine.PlanItem, error) {
		if query.Limit = n; after != nil {
			query.After = after.Seq
		}
		return a.o.Engine.Plans().Items(ctx, query)
	}
	rows, shown, more, err := stretch(ctx, r.Limit, itemsPart, read, showItem)
	if err != nil {
		return page, err
	}
	about := make([]engine.Principal, 0, len(rows))
	for i := range rows {
		about = append(about, engine.Principal{Kind: rows[i].Kind, ID: rows[i].ID})
	}
	names, err := a.names(ctx, r.App, about)
	if err != nil {
		return page, err
	}
	for i := range shown {
		shown[i].Name = names[about[i]]
	}
	page.Items = shown
	if more {
		page.Next = strconv.Itoa(shown[len(shown)-1].Seq)
	}
	return page, nil
}

// showItem returns an item as the API shows it without its name, and its size.
func showItem(item *engine.PlanItem) (client.PlanItem, int, error) {
	shown := *item
	if shown.Requests == nil {
		shown.Requests = []engine.Sent{}
	}
	sortDifferences(shown.Diff)
	data, err := json.Marshal(shown) // the values of differences have any form
	return client.PlanItem{Seq: shown.Seq, Kind: shown.Kind, ID: shown.ID, PlanItem: shown}, len(data), err
}

// applyPlan first waits until the engine has a mark for every earlier change, because such a mark may make the plan stale.
func (a *api) applyPlan(ctx context.Context, r *applyRequest) (engine.Plan, error) {
	var o engine.ApplyOptions
	if r.Body != nil {
		o.First = r.Body.First
	}
	if _, err := a.plan(ctx, &r.planRequest); err != nil {
		return engine.Plan{}, err
	}
	if err := a.synced(ctx); err != nil {
		return engine.Plan{}, Rejected(err, "Plan", r.Plan)
	}
	err := a.update(ctx, r.App, func(tx engine.Execer) error { return a.o.Engine.Plans().Apply(ctx, tx, r.Plan, o) })
	if err != nil {
		return engine.Plan{}, Rejected(err, "Plan", r.Plan)
	}
	return a.plan(ctx, &r.planRequest)
}

var planWords = rest.Words{
	reflect.TypeFor[engine.Plan](): {Served: true, Members: map[string]reflect.StructTag{
		"id":         "",
		"app":        "",
		"reason":     "",
		"baseUrl":    `doc:"base URL of the target that was read"`,
		"status":     `enum:"making,open,partial,applied"`,
		"createdAt":  "",
		"expiresAt":  "",
		"items":      "",
		"operations": `doc:"number of items by operation"`,
		"outcomes":   `doc:"number of items by predicted outcome; review those that are neither done nor skipped"`,
	}},
	reflect.TypeFor[client.PlanItem](): {Served: true, Members: map[string]reflect.StructTag{
		"seq":  `doc:"number of the item from 1, in the order in which the engine applies the items"`,
		"kind": `enum:"user,group"`,
		"id":   "",
		"name": "",
	}},
	reflect.TypeFor[engine.PlanItem](): {Served: true, Members: map[string]reflect.StructTag{
		"seq":        `doc:"number of the item from 1, in the order in which the engine applies the items"`,
		"kind":       `enum:"user,group"`,
		"id":         "",
		"operation":  "",
		"outcome":    "",
		"message":    "",
		"generation": "",
		"digest":     `doc:"digest of the desired state"`,
		"marked":     `doc:"the item was applied"`,
		"sent":       `doc:"number of requests"`,
		"requests":   `doc:"the first requests"`,
		"diff":       "",
		"members":    "",
		"waiting":    "",
	}},
}
