package reconcile

import (
	"context"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/store"
)

// Reconcile compares users and, if groups are pushed, groups, and marks the principals that differ. It also marks the principals that the
// directory lists and that have no state in the engine; see provision.Drift.Reconcile.
func (d Deps) Reconcile(ctx context.Context, app string) (map[engine.Kind]engine.Reconciliation, error) {
	t, err := d.Directory.Target(ctx, app)
	if err != nil {
		return nil, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	kinds := []engine.Kind{engine.User}
	if t.PushGroups {
		kinds = append(kinds, engine.Group)
	}
	out := map[engine.Kind]engine.Reconciliation{}
	for _, kind := range kinds {
		r, err := d.reconcile(ctx, app, kind)
		if out[kind] = r; err != nil {
			return out, fmt.Errorf("engine: reconcile the %ss of %s: %w", kind, app, err)
		}
	}
	return out, nil
}

func (d Deps) reconcile(ctx context.Context, app string, kind engine.Kind) (r engine.Reconciliation, err error) {
	unknown, listed, err := d.unknown(ctx, app, kind)
	if err != nil {
		return r, err
	}
	if r.Drift, err = d.Drift(ctx, app, engine.DriftRequest{Kind: kind, Repair: true}); err != nil {
		return r, err
	}
	if _, ok := d.Directory.(engine.Lister); ok {
		r.Unlisted = max(r.Drift.Known-listed, 0)
	}
	r.Unknown = len(unknown)
	return r, d.repair(ctx, app, unknown)
}

// unknown returns the principals that the directory lists and that have no state in the engine. known is the number of the listed
// principals with a state.
func (d Deps) unknown(ctx context.Context, app string, kind engine.Kind) (unknown []store.Repair, known int, err error) {
	lister, ok := d.Directory.(engine.Lister)
	if !ok {
		return nil, 0, nil
	}
	list := directory.Ascending("the directory's principals", func(after string) ([]string, error) {
		page, err := lister.Principals(ctx, app, kind, after, directory.Page)
		if err != nil {
			err = fmt.Errorf("the directory cannot list its principals: %w", err)
		}
		return page, err
	})
	for page, err := range list {
		if err != nil {
			return nil, 0, err
		}
		states, err := d.Store.StatesByID(ctx, app, kind, page)
		if err != nil {
			return nil, 0, err
		}
		there := map[string]bool{}
		for _, s := range states {
			there[s.ID] = true
		}
		known += len(states)
		for _, id := range page {
			if !there[id] {
				unknown = append(unknown, store.Repair{Mark: engine.Mark{App: app, Kind: kind, ID: id, AllMembers: kind == engine.Group}})
			}
		}
	}
	return unknown, known, nil
}

// repairBatch is the number of principals that are marked in one transaction.
const repairBatch = 500

// repair marks principals in batches, and wakes their lane.
func (d Deps) repair(ctx context.Context, app string, repairs []store.Repair) error {
	for part := range slices.Chunk(repairs, repairBatch) {
		if err := d.Store.Repair(ctx, d.Now(), part); err != nil {
			return err
		}
	}
	d.Wake(app)
	return nil
}
