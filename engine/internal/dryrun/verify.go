package dryrun

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// Verify reads a principal on the target and compares it with the desired state; see provision.Traces.Verify.
func (x *App) Verify(ctx context.Context, kind engine.Kind, id string) (engine.Verification, error) {
	r, err := x.Run(ctx, kind, id, Assumptions{Marked: true, Unguarded: true, NameUnknown: true, Unwaiting: true})
	if err != nil {
		return engine.Verification{}, err
	}
	t := r.Trace()
	p := engine.Verification{
		App: x.app, Kind: kind, ID: id, Desired: t.State.Desired, Confirmed: t.State.Synced, Waiting: t.Waiting, Message: t.Message,
	}
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case t.Outcome != engine.Done:
		return p, nil
	case len(t.Requests) == 0: // the principal is not desired and has no account
		p.Equal = true
		return p, nil
	}
	p.ReadAt, p.Diff, p.Members = x.d.Now(), t.Diff, t.Members
	if kind == engine.Group && t.Members != nil && x.MembersHidden() {
		p.Members, p.Ignored = nil, []string{"members"}
	}
	for _, d := range p.Diff {
		p.Differ = append(p.Differ, d.Path)
	}
	if p.Members != nil {
		p.Differ = append(p.Differ, "members")
	}
	for path, u := range r.Outcome.IgnoredAttributes {
		if u.Ignored {
			p.Ignored = append(p.Ignored, path)
		}
	}
	slices.Sort(p.Ignored)
	if t.Operation == engine.OpCreate {
		p.Message = "account or group not found on the target"
		p.Differ = append(p.Differ, "id")
	}
	p.Equal = len(p.Differ) == 0
	return p, nil
}
