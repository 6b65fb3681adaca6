package sequence

import (
	"cmp"
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/store"
)

func (r *run) group(ctx context.Context) error {
	want, err := r.Directory.Group(ctx, r.row.App, r.row.ID)
	if err != nil {
		r.directoryFailed(err)
		return nil
	}
	r.desired = want
	if err := r.begin(ctx, directory.GroupIntent(r.row.ID, want)); err != nil || r.outcome.Class != "" {
		return err
	}
	if !r.target.PushGroups {
		r.outcome = r.keep(localOutcome(engine.Skipped, "group push is disabled for this target"))
		return nil
	}
	defer r.endWalk()
	in := r.groupInput(want)
	in.HaltedLinks = func() (string, error) { return trackFailure(r, func() (string, error) { return r.haltedLinks(ctx) }) }
	in.Members = func() ([]engine.RemoteMember, error) {
		return trackFailure(r, func() ([]engine.RemoteMember, error) { return r.accounts(ctx) })
	}
	if in.Want == engine.Active {
		if err := r.members(ctx, &in); err != nil || r.outcome.Class != "" {
			return err
		}
	}
	if in.Want == engine.Absent && in.DeleteRemote {
		if ok, err := r.guarded(ctx, engine.RemoveGroup); !ok {
			return err
		}
	}
	if err := r.exchange(ctx, plan.Group(in)); err != nil {
		return err
	}
	r.finish.Forget = in.Want == engine.Absent && r.outcome.Class == engine.Done
	return nil
}

// groupInput returns the input of the sequence of a group, without the members. It does not access the store, the directory or the target.
func (r *run) groupInput(want engine.GroupState) plan.GroupInput {
	in := plan.GroupInput{
		Want: want.Want, DisplayName: want.DisplayName, RemoteID: r.row.RemoteID, RemoteName: r.row.RemoteName, Origin: r.row.Origin,
		Style: r.known.Style(r.target, r.Now()), Fallback: r.target.Fallback,
		OnMissing: r.target.OnMissing, DeleteRemote: want.DeleteRemote,
		Batch: batch(r.known, r.target.MemberBatch), Traits: r.known.TraitsAt(r.Now()), Full: r.full(),
		Pending: r.row.Pending, Expired: r.expired(),
	}
	if want.RemoteID != "" {
		in.OnMissing = engine.Fail // the embedder chose the group with that id: no other group may replace it
		if want.RemoteID != in.RemoteID {
			in.RemoteID, in.RemoteName, in.Origin, in.Full = want.RemoteID, "", engine.Linked, true
		}
	}
	return in
}

// members updates the member rows from the directory, and adds the members to add and to remove to the input.
func (r *run) members(ctx context.Context, in *plan.GroupInput) error {
	if err := r.updateMarked(ctx); err != nil || r.outcome.Class != "" {
		return err
	}
	if in.Full || in.RemoteID == "" {
		r.membersByWalk(ctx, in)
		return nil
	}
	return r.each(ctx, store.MembersPending, func(page []store.Member) error {
		for _, m := range page {
			switch {
			case !m.Want:
				in.Remove = append(in.Remove, engine.RemoteMember{User: m.User, ID: m.PushedID})
			case m.RemoteID == "":
				r.waiting.on(m.User) // the user's sequence requeues the group once the user has an id
			default:
				in.Add = append(in.Add, engine.RemoteMember{User: m.User, ID: m.RemoteID, Display: m.RemoteName})
			}
		}
		return nil
	})
}

// membersByWalk starts a walk. The sequence gets the members from it while it continues.
func (r *run) membersByWalk(ctx context.Context, in *plan.GroupInput) {
	r.walk = r.startWalk(ctx, (1+plan.Ahead)*cmp.Or(in.Batch, plan.DefaultBatch))
	in.First = func(n int) (known []engine.RemoteMember, complete bool, err error) {
		known, complete, err = r.walk.members(n)
		r.localFailure = r.localFailure || err != nil
		return known, complete, err
	}
	in.Leaving = func() ([]engine.RemoteMember, error) {
		return trackFailure(r, func() (leaving []engine.RemoteMember, err error) {
			err = r.each(ctx, store.MembersLeaving, func(page []store.Member) error {
				for _, m := range page {
					leaving = append(leaving, engine.RemoteMember{User: m.User, ID: m.PushedID})
				}
				return nil
			})
			return leaving, err
		})
	}
}

// endWalk waits for the end of the walk, if there is one: after a failed sequence, too, the store has all members.
func (r *run) endWalk() {
	if r.walk == nil {
		return
	}
	if missing, err := r.walk.missing(); err == nil {
		r.waiting = missing
	}
	r.recordWhole()
}

// accounts returns all members of the group that have an account on the target.
func (r *run) accounts(ctx context.Context) ([]engine.RemoteMember, error) {
	if r.walk != nil {
		all, _, err := r.walk.members(-1)
		return all, err
	}
	var found accountList
	err := r.each(ctx, store.MembersWanted, func(page []store.Member) error {
		for _, m := range page {
			found.add(m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.waiting = found.waiting // without the result of an earlier call
	return found.all, nil
}

// each reads a set of the members page by page. fn may change rows so that they no longer belong to the set: each page starts after the
// last user of the previous one, so that no row is skipped.
func (r *run) each(ctx context.Context, which store.MemberSet, fn func([]store.Member) error) error {
	after := ""
	for {
		page, err := r.Ledger.Members(ctx, r.row.App, store.MemberQuery{Group: r.row.ID, Which: which, After: after, Limit: directory.Page})
		if err != nil {
			return err
		}
		if err := fn(page); err != nil {
			return err
		}
		if len(page) < directory.Page {
			return nil
		}
		after = page[len(page)-1].User
	}
}

// updateMarked queries the directory for the members that were marked.
func (r *run) updateMarked(ctx context.Context) error {
	return r.each(ctx, store.MembersAsked, func(page []store.Member) error {
		if len(page) == 0 || r.outcome.Class != "" {
			return nil
		}
		users := make([]string, len(page))
		for i, m := range page {
			users[i] = m.User
		}
		in, err := r.Directory.IsMember(ctx, r.row.App, r.row.ID, users)
		if err != nil {
			r.directoryFailed(err)
			return nil
		}
		answers := make([]store.MemberAnswer, len(page))
		for i, m := range page {
			answers[i] = store.MemberAnswer{User: m.User, Want: in[m.User], Asked: m.Asked}
		}
		return r.Ledger.SaveMembers(ctx, r.Lease, r.row.ID, 0, answers)
	})
}
