package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Plans is the capability to store plans and to read for dry runs. provision.Plans, Traces.DryRun and Traces.Verify need it. The plan of a
// whole app also uses Counts.
type Plans interface {
	Counts

	// CountRemovals returns the number that Remove would return now, and stores nothing.
	CountRemovals(ctx context.Context, app string, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int, err error)
	// SavePlan stores a plan, or replaces the plan with the same ID. It removes the plans of the app that expired more than engine.PlansKept
	// before this plan was created.
	SavePlan(ctx context.Context, p engine.Plan) error
	// AddPlanItems stores items of a plan.
	AddPlanItems(ctx context.Context, items []engine.PlanItem) error
	// Plans lists plans, newest first. PlanItems lists items of a plan, ascending by Seq.
	Plans(ctx context.Context, q engine.PlanQuery) ([]engine.Plan, error)
	PlanItems(ctx context.Context, q engine.PlanItemQuery) ([]engine.PlanItem, error)
	// DiscardPlan removes a plan and its items. An unknown id is ignored.
	DiscardPlan(ctx context.Context, id string) error
	// Planned reads a plan and its items, ascending by Seq, within the caller's transaction. It returns ErrNotFound for an unknown plan.
	Planned(ctx context.Context, tx engine.Execer, id string) (engine.Plan, []Planned, error)
	// ApplyPlan marks the principals of the items within the caller's transaction (groups with all members), approves the planned
	// deactivations and deletions at the deletion guard, and changes the status of the plan. It returns ErrStale if a principal was marked
	// since the items were created, and ErrApplied if the status of the plan has changed. The caller must then roll back the transaction.
	ApplyPlan(ctx context.Context, tx engine.Execer, now time.Time, p engine.Plan, to engine.PlanStatus, items []engine.PlanItem) error
}

// Planned is an item without its details, and the current state of its principal.
type Planned struct {
	engine.PlanItem
	Now    int64         // current desired generation, 0 for a principal that was never marked
	Status engine.Status // status of the principal, empty if it was never marked
}
