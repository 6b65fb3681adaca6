package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Plans has dry runs of many principals, which are stored for a review and applied. See [Engine.Plans].
type Plans struct{ e *Engine }

// Plans returns the handle of the plans.
func (e *Engine) Plans() Plans { return Plans{e} }

// Make runs a dry run of principals and stores the results for a review. Each dry run is a [Traces.DryRun] that assumes that the principal
// is marked and that the deletion guard allows all removals. With All, the plan omits principals without changes. A dry run of a group
// includes all its members. The dry runs are independent: the dry run of a group, for example, does not include accounts that other items
// of the plan create. Make reads the target within the app's rate limit and concurrency. It waits when the target requests a pause. If ctx
// ends, Make stores nothing. Rejected credentials, and a directory that cannot return a desired state, are errors.
func (p Plans) Make(ctx context.Context, req engine.PlanRequest) (engine.Plan, error) {
	if _, err := p.e.can.plans.get(); err != nil {
		return engine.Plan{}, err
	}
	return p.e.plans.Make(ctx, req)
}

// Apply marks exactly the principals of a plan, inside the caller's transaction, for example the one that stores a new mapping. Call Wake
// after the commit. The deactivations and deletions of the plan pass the deletion guard, because they were reviewed.
//
// Apply returns ErrStale if a principal was marked after the plan was made, if its desired state differs from the planned one, or if the
// app has another target. Other errors are ErrExpired, ErrApplied, ErrNotFound, and ErrCanary if items that a call with ApplyOptions.First
// has applied are not clean (or skipped, as planned). The errors that wrap ErrStale and ErrCanary name the first such principals. After any
// error the caller must roll back the transaction.
func (p Plans) Apply(ctx context.Context, tx engine.Execer, id string, o engine.ApplyOptions) error {
	if _, err := p.e.can.plans.get(); err != nil {
		return err
	}
	return p.e.plans.Apply(ctx, tx, id, o)
}

// List lists plans, newest first.
func (p Plans) List(ctx context.Context, q engine.PlanQuery) ([]engine.Plan, error) {
	s, err := p.e.can.plans.get()
	if err != nil {
		return nil, err
	}
	return s.Plans(ctx, q)
}

// Items lists the items of a plan, in the order in which the engine applies them.
func (p Plans) Items(ctx context.Context, q engine.PlanItemQuery) ([]engine.PlanItem, error) {
	s, err := p.e.can.plans.get()
	if err != nil {
		return nil, err
	}
	return s.PlanItems(ctx, q)
}

// Discard removes a plan. Applied items stay applied.
func (p Plans) Discard(ctx context.Context, id string) error {
	s, err := p.e.can.plans.get()
	if err != nil {
		return err
	}
	return s.DiscardPlan(ctx, id)
}
