package plans

import (
	"context"
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/store"
)

// Apply marks the principals of a plan within the caller's transaction; see provision.Plans.Apply.
//
// Invariant 20: A dry run uses the sequences of a real run with a client that cannot write and without a lease. Applying a plan marks
// exactly the listed principals, and only if no generation, desired state or base URL has changed.
func (d Deps) Apply(ctx context.Context, tx engine.Execer, id string, o engine.ApplyOptions) error {
	if o.Directory == nil {
		o.Directory = d.Directory
	}
	p, items, err := d.Store.Planned(ctx, tx, id)
	if err != nil {
		return fmt.Errorf("engine: plan %s: %w", id, err)
	}
	part, to, err := d.applicable(p, items, o)
	if err != nil {
		return err
	}
	t, err := o.Directory.Target(ctx, p.App)
	switch {
	case err != nil:
		return fmt.Errorf("engine: target of %s: %w", p.App, err)
	case t.BaseURL != p.BaseURL:
		return fmt.Errorf("%w: the target of %s is %s, and was %s", engine.ErrStale, p.App, t.BaseURL, p.BaseURL)
	}
	var moved []store.Planned
	marks := make([]engine.PlanItem, len(part))
	for i, item := range part {
		marks[i] = item.PlanItem
		if item.Now != item.Generation {
			moved = append(moved, item)
			continue
		}
		digest, err := directory.Digest(ctx, o.Directory, p.App, engine.Principal{Kind: item.Kind, ID: item.ID})
		if err != nil {
			return fmt.Errorf("engine: the desired state of the %s %s is unavailable: %w", item.Kind, item.ID, err)
		}
		if digest != item.Digest {
			moved = append(moved, item)
		}
	}
	if len(moved) > 0 {
		return fmt.Errorf("%w since the plan was made: %s", engine.ErrStale, firstNames(moved))
	}
	return d.Store.ApplyPlan(ctx, tx, d.Now(), p, to, marks)
}

// applicable returns the items to apply, and the resulting status of the plan.
func (d Deps) applicable(
	p engine.Plan, items []store.Planned, o engine.ApplyOptions,
) (part []store.Planned, to engine.PlanStatus, err error) {
	switch {
	case p.Status == engine.PlanApplied:
		return nil, "", engine.ErrApplied
	case p.Status == engine.PlanMaking:
		return nil, "", fmt.Errorf("engine: plan %s is not complete: wait until its status is open, or make a new plan", p.ID)
	case !d.Now().Before(p.ExpiresAt):
		return nil, "", fmt.Errorf("%w at %s", engine.ErrExpired, p.ExpiresAt)
	}
	var failed []store.Planned
	for _, item := range items {
		switch planned := item.Status == engine.StatusSkipped && item.Outcome == engine.Skipped; {
		case !item.Marked:
			part = append(part, item)
		case item.Status != engine.StatusClean && !planned:
			failed = append(failed, item)
		}
	}
	if len(failed) > 0 {
		return nil, "", fmt.Errorf("%w: %s", engine.ErrCanary, firstNames(failed))
	}
	if o.First > 0 && o.First < len(part) {
		return part[:o.First], engine.PlanPartial, nil
	}
	return part, engine.PlanApplied, nil
}

// maxNames is the maximum number of principals that an error names.
const maxNames = 5

// firstNames returns the names of the first items.
func firstNames(items []store.Planned) string {
	var names []string
	for _, item := range items[:min(len(items), maxNames)] {
		name := string(item.Kind) + " " + item.ID
		if item.Marked {
			name += " (" + string(item.Status) + ")"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if n := len(items) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
