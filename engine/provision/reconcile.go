package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
)

// Reconcile brings a target and the engine's knowledge of it back in line with the directory, e.g. after one of them was restored
// from a backup: [Engine.Drift] with Repair for users and, if groups are pushed, for groups, and a look for principals that the
// engine was never told about, if the directory is a [engine.Lister].
//
// Nothing follows from absence. Who is not listed, by the directory or by the target, is not deprovisioned: only an explicit
// Inactive or Absent of Directory.User does that, under the target's Guard. After an error nothing more is marked.
func (e *Engine) Reconcile(ctx context.Context, app string) (map[engine.Kind]engine.Reconciliation, error) {
	t, err := e.o.Directory.Target(ctx, app)
	if err != nil {
		return nil, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	kinds := []engine.Kind{engine.User}
	if t.PushGroups {
		kinds = append(kinds, engine.Group)
	}
	out := map[engine.Kind]engine.Reconciliation{}
	for _, kind := range kinds {
		r, err := e.reconcile(ctx, app, kind)
		if out[kind] = r; err != nil {
			return out, fmt.Errorf("engine: reconcile the %ss of %s: %w", kind, app, err)
		}
	}
	return out, nil
}

func (e *Engine) reconcile(ctx context.Context, app string, kind engine.Kind) (r engine.Reconciliation, err error) {
	unknown, listed, err := e.unknown(ctx, app, kind)
	if err != nil {
		return r, err
	}
	if r.Drift, err = e.Drift(ctx, app, engine.DriftRequest{Kind: kind, Repair: true}); err != nil {
		return r, err
	}
	if _, ok := e.o.Directory.(engine.Lister); ok {
		r.Unlisted = max(r.Drift.Known-listed, 0)
	}
	r.Unknown = len(unknown)
	return r, e.repair(ctx, app, unknown)
}

// unknown lists whom the directory names and the engine does not know, and counts whom both know.
func (e *Engine) unknown(ctx context.Context, app string, kind engine.Kind) (unknown []engine.Repair, known int, err error) {
	lister, ok := e.o.Directory.(engine.Lister)
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
		states, err := e.o.Store.StatesByID(ctx, app, kind, page)
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
				unknown = append(unknown, engine.Repair{Mark: engine.Mark{App: app, Kind: kind, ID: id, AllMembers: kind == engine.Group}})
			}
		}
	}
	return unknown, known, nil
}

// repair marks principals, some at a time, and has their lane look.
func (e *Engine) repair(ctx context.Context, app string, repairs []engine.Repair) error {
	for part := range slices.Chunk(repairs, repairBatch) {
		if err := e.o.Store.Repair(ctx, e.o.Now(), part); err != nil {
			return err
		}
	}
	e.Wake(app)
	return nil
}
