package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Plans are dry runs of many principals, stored to be looked at and applied. See [Engine.Plans].
type Plans struct{ e *Engine }

// Plans returns the handle of the plans.
func (e *Engine) Plans() Plans { return Plans{e} }

// Make rehearses principals, as [Traces.DryRun] does but as if they were marked and the deletion guard were asked already, and stores
// what would be done, to be looked at and applied. With All, the plan omits principals for which nothing would change. Groups are
// rehearsed with all their members, and each principal for itself: what another one of the plan would bring about, such as an account
// that a group waits for, is not foreseen. The target is read as fast as the app allows, with as many principals at once; when it asks
// for a pause, the plan waits. The end of ctx ends the making of the plan, of which nothing is then kept. A target that refuses the
// credentials, and a directory that cannot tell what is desired, are errors.
func (p Plans) Make(ctx context.Context, req engine.PlanRequest) (engine.Plan, error) {
	if _, err := p.e.can.plans.get(); err != nil {
		return engine.Plan{}, err
	}
	return p.e.plans.Make(ctx, req)
}

// Apply marks exactly the principals of a plan, inside the caller's transaction: the one in which a new mapping is stored, say.
// Call Wake after the commit. What the plan deactivates or deletes passes the deletion guard, because somebody has looked at it.
//
// It is refused with ErrStale when a principal was marked since, when what is desired of it is not what was planned, and when
// the app has another target; with ErrExpired, ErrApplied, ErrNotFound, and ErrCanary when items of the first part are not clean (or
// skipped, as planned). The error names the first few. After any error the transaction is to be rolled back.
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

// Items lists items of a plan, in the order in which they are applied.
func (p Plans) Items(ctx context.Context, q engine.PlanItemQuery) ([]engine.PlanItem, error) {
	s, err := p.e.can.plans.get()
	if err != nil {
		return nil, err
	}
	return s.PlanItems(ctx, q)
}

// Discard removes a plan. What was applied of it stays applied.
func (p Plans) Discard(ctx context.Context, id string) error {
	s, err := p.e.can.plans.get()
	if err != nil {
		return err
	}
	return s.DiscardPlan(ctx, id)
}
