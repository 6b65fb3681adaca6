package provision

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// Verify reads a principal at the target and compares it with what the directory says now. Nothing is written, neither at the
// target nor in the store. A group is compared by its name and all its members; one whose members the target never shows cannot
// be, and Ignored names them. What the options of the app exclude, such as updates, is not compared. The error is about the app
// (ErrUnknownApp), the store or ctx; what the target or the directory cannot tell is in Verification.Message.
func (e *Engine) Verify(ctx context.Context, app string, kind engine.Kind, id string) (engine.Verification, error) {
	x, err := e.rehearsal(ctx, app, nil)
	if err != nil {
		return engine.Verification{}, err
	}
	r, err := x.one(ctx, kind, id, rehearsalOptions{marked: true, unguarded: true, unsure: true, unwaiting: true})
	if err != nil {
		return engine.Verification{}, err
	}
	t := r.trace()
	p := engine.Verification{
		App: app, Kind: kind, ID: id, Desired: t.State.Desired, Confirmed: t.State.Synced, Waiting: t.Waiting, Message: t.Message,
	}
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case t.Outcome != engine.Done:
		return p, nil
	case len(t.Requests) == 0: // there is nothing to be done, and nothing that it could be done to
		p.Equal = true
		return p, nil
	}
	p.ReadAt, p.Diff, p.Members = e.o.Now(), t.Diff, t.Members
	if kind == engine.Group && t.Members != nil && r.known.TraitsAt(e.o.Now())[engine.MembersHidden] {
		p.Members, p.Ignored = nil, []string{"members"}
	}
	for _, d := range p.Diff {
		p.Differ = append(p.Differ, d.Path)
	}
	if p.Members != nil {
		p.Differ = append(p.Differ, "members")
	}
	for path, u := range r.outcome.Unkept {
		if u.Ignored {
			p.Ignored = append(p.Ignored, path)
		}
	}
	slices.Sort(p.Ignored)
	if t.Operation == engine.OpCreate {
		p.Message = "there is no account or group at the target"
		p.Differ = append(p.Differ, "id")
	}
	p.Equal = len(p.Differ) == 0
	return p, nil
}
