package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Plans is the capability to keep plans, and to read for dry runs: Plans, Traces.DryRun and Traces.Verify. A plan of all
// principals counts them.
type Plans interface {
	Counts

	// CountRemovals is Remove without consequences: what it would answer if the account were to go now.
	CountRemovals(ctx context.Context, app string, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int, err error)
	// SavePlan stores a plan, or replaces the one of the same ID. Plans of the app that had expired PlansKept before it was made are
	// removed.
	SavePlan(ctx context.Context, p engine.Plan) error
	// AddPlanItems stores items of a plan.
	AddPlanItems(ctx context.Context, items []engine.PlanItem) error
	// Plans and PlanItems read.
	Plans(ctx context.Context, q engine.PlanQuery) ([]engine.Plan, error)
	PlanItems(ctx context.Context, q engine.PlanItemQuery) ([]engine.PlanItem, error)
	// DiscardPlan removes a plan and its items. An unknown one is ignored.
	DiscardPlan(ctx context.Context, id string) error
	// Planned reads a plan and its items, ascending by Seq, within the caller's transaction. The error is ErrNotFound for an
	// unknown plan.
	Planned(ctx context.Context, tx engine.Execer, id string) (engine.Plan, []Planned, error)
	// ApplyPlan marks the principals of the items within the caller's transaction (groups with all members), lets those through the
	// deletion guard that the plan deactivates or deletes, and moves the plan from one status to another. The error is ErrStale
	// when a principal was marked since the items were made, and ErrApplied when the plan has another status by now; the
	// transaction is then to be rolled back.
	ApplyPlan(ctx context.Context, tx engine.Execer, now time.Time, p engine.Plan, to engine.PlanStatus, items []engine.PlanItem) error
}

// Planned is an item without its details, and what is known of its principal now.
type Planned struct {
	engine.PlanItem
	Now    int64         // generation that is desired now, 0 for a principal that was never marked
	Status engine.Status // of the principal, empty for one that was never marked
}
