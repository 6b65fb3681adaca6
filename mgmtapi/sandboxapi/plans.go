package sandboxapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
)

// Plans are what would be done about many, looked at before it is done.
type Plans interface {
	Plan(ctx context.Context, app string, p NewPlan) (Plan, error)
	Plans(ctx context.Context, app string) ([]Plan, error)
	// PlanByID, PlanItems, Apply and Discard are about a plan of the app; for others it is not found.
	PlanByID(ctx context.Context, app, plan string) (Plan, error)
	PlanItems(ctx context.Context, app, plan string, q PlanItemQuery) ([]PlanItem, error)
	// Apply applies the first items that are left, all of them when first is 0.
	Apply(ctx context.Context, app, plan string, first int) (Plan, error)
	Discard(ctx context.Context, app, plan string) error
}

// NewPlan says what a plan is about: the users and groups, or with All whoever the engine knows.
type NewPlan struct {
	Users, Groups []string
	All           bool
	Reason        string
}

// PlanItemQuery selects items of a plan. Empty fields do not restrict.
type PlanItemQuery struct {
	Operation, Outcome string
	After, Limit       int
}

// Plan is a plan.
type Plan struct {
	ID         string         `json:"id" readOnly:"true"`
	App        string         `json:"app" readOnly:"true"`
	Reason     string         `json:"reason,omitempty" readOnly:"true"`
	BaseURL    string         `json:"baseUrl" readOnly:"true" doc:"of the target that was read"`
	Status     string         `json:"status" readOnly:"true" enum:"making,open,partial,applied"`
	CreatedAt  time.Time      `json:"createdAt" readOnly:"true"`
	ExpiresAt  time.Time      `json:"expiresAt" readOnly:"true"`
	Items      int            `json:"items" readOnly:"true"`
	Operations map[string]int `json:"operations" readOnly:"true" doc:"items by what would be done"`
	Outcomes   map[string]int `json:"outcomes" readOnly:"true" doc:"items by how that would end; what is neither done nor skipped needs a look"`
}

// PlanItem is what would be done about one user or group.
type PlanItem struct {
	Seq        int          `json:"seq" readOnly:"true" doc:"from 1, in the order in which they are applied"`
	Kind       string       `json:"kind" readOnly:"true" enum:"user,group"`
	ID         string       `json:"id" readOnly:"true"`
	Name       string       `json:"name,omitempty" readOnly:"true"`
	Operation  string       `json:"operation" readOnly:"true"`
	Outcome    string       `json:"outcome" readOnly:"true"`
	Message    string       `json:"message,omitempty" readOnly:"true"`
	Generation int64        `json:"generation" readOnly:"true"`
	Digest     string       `json:"digest" readOnly:"true" doc:"of the desired state"`
	Marked     bool         `json:"marked" readOnly:"true" doc:"it was applied"`
	Sent       int          `json:"sent" readOnly:"true" doc:"how many requests it takes"`
	Requests   []Sent       `json:"requests" readOnly:"true" doc:"the first of them"`
	Diff       []Difference `json:"diff,omitempty" readOnly:"true"`
	Members    *MemberDiff  `json:"members,omitempty" readOnly:"true"`
	Waiting    []string     `json:"waiting,omitempty" readOnly:"true"`
}

func (s *Slice) planRoutes() []rest.Route {
	const one = "/sandbox/v1/apps/{app}/plans/{plan}"
	return []rest.Route{
		row(s, "createPlan", "POST /sandbox/v1/apps/{app}/plans", "Work out what would be sent for many users and groups, to be looked at and applied", 201, func(ctx context.Context, r *createPlanRequest) (Plan, error) {
			return s.o.Engine.Plan(ctx, r.App, NewPlan{Users: r.Body.UserIDs, Groups: r.Body.GroupIDs, All: r.Body.All, Reason: r.Body.Reason})
		}),
		row(s, "listPlans", "GET /sandbox/v1/apps/{app}/plans", "List the plans of an app, newest first", 0, func(ctx context.Context, r *appRequest) ([]Plan, error) {
			return s.o.Engine.Plans(ctx, r.App)
		}),
		row(s, "getPlan", "GET "+one, "Show a plan", 0, func(ctx context.Context, r *planRequest) (Plan, error) {
			return s.o.Engine.PlanByID(ctx, r.App, r.Plan)
		}),
		row(s, "listPlanItems", "GET "+one+"/items", "List what a plan would do", 0, func(ctx context.Context, r *planItemsRequest) ([]PlanItem, error) {
			return s.o.Engine.PlanItems(ctx, r.App, r.Plan, PlanItemQuery{Operation: r.Operation, Outcome: r.Outcome, After: r.After, Limit: r.Limit})
		}),
		row(s, "applyPlan", "POST "+one+"/apply", "Apply a plan, unless something has moved since it was made", 0, func(ctx context.Context, r *applyRequest) (Plan, error) {
			first := 0
			if r.Body != nil {
				first = r.Body.First
			}
			return s.o.Engine.Apply(ctx, r.App, r.Plan, first)
		}),
		row(s, "discardPlan", "DELETE "+one, "Remove a plan; what was applied of it stays", 204, func(ctx context.Context, r *planRequest) (rest.Nothing, error) {
			return rest.Nothing{}, s.o.Engine.Discard(ctx, r.App, r.Plan)
		}),
	}
}

type createPlanRequest struct {
	appRequest
	Body struct {
		UserIDs  []string `json:"userIds"`
		GroupIDs []string `json:"groupIds"`
		All      bool     `json:"all" doc:"whoever the engine knows at the app, beside those that are named"`
		Reason   string   `json:"reason" max:"1000" doc:"for people"`
	} `body:"required"`
}

// Check implements rest.Checker.
func (r *createPlanRequest) Check(_ context.Context, causes *rest.Causes) {
	if len(r.Body.UserIDs)+len(r.Body.GroupIDs) == 0 && !r.Body.All {
		causes.Add("userIds", "A plan is about users, groups or all")
	}
}

type planRequest struct {
	appRequest
	Plan string `path:"plan" doc:"id of the plan"`
}

type planItemsRequest struct {
	planRequest
	Operation string `query:"operation" doc:"only those with this operation"`
	Outcome   string `query:"outcome" doc:"only those with this outcome"`
	After     int    `query:"after" min:"0" doc:"only those after the one with this number"`
	Limit     int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

type applyRequest struct {
	planRequest
	Body *struct {
		First int `json:"first" min:"1" doc:"only so many of those that are left; the rest is refused until all of them have succeeded"`
	} `body:"optional"`
}
