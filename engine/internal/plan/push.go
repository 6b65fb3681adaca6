package plan

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// changingGroup ends a sequence whose group changes on each read.
var changingGroup = transient(Response{}, fmt.Sprintf("the group changed or was deleted %d times during the update", maxRounds))

// push updates a known group.
func (g *group) push() Step {
	if g.rounds++; g.rounds > maxRounds {
		return g.fail(changingGroup)
	}
	if g.puts() {
		return g.pushByPut()
	}
	return g.pushByPatch()
}

// puts reports whether the group is written by PUT. A target that hides members gets PATCH if it supports PATCH, because the engine could
// not detect the effect of a PUT.
func (g *group) puts() bool {
	return puts(g.traits, g.in.Style) && (!g.traits[engine.MembersHidden] || g.traits[engine.NoPatch])
}

func (g *group) pushByPatch() Step {
	if !g.full {
		g.replace, g.add, g.remove = false, g.in.Add, g.in.Remove
		return g.batches()
	}
	all, f := g.members()
	if f != nil {
		return g.fail(f)
	}
	if g.traits[engine.NoMembersReplace] {
		return g.replaceByDeltas(all)
	}
	g.replaceBy(all)
	return g.batches()
}

// replaceBy replaces the members. A target that hides members may ignore the replacement, so the known differences are also sent in a form
// that every target supports. With FallbackNone one request has all members, as in a create.
func (g *group) replaceBy(all []engine.RemoteMember) {
	g.replace, g.add, g.remove = true, all, nil
	if g.strict() {
		g.batch = max(g.batch, len(all))
	}
	if g.traits[engine.MembersHidden] {
		g.remove = g.in.Remove
	}
}

// replaceByDeltas reads the group. It then adds the desired members that the group lacks, and removes the others.
func (g *group) replaceByDeltas(all []engine.RemoteMember) Step {
	return g.get(func(_ Response, have *scim.Resource) Step {
		shown, wanted := memberIDs(have), map[string]bool{}
		g.replace, g.add, g.remove = false, nil, nil
		var kept []engine.RemoteMember
		for _, m := range all {
			wanted[m.ID] = true
			if shown[m.ID] {
				kept = append(kept, m)
			} else {
				g.add = append(g.add, m)
			}
		}
		for _, m := range g.in.Remove { // the read does not show these members if the target hides members; remove them in any case
			if !wanted[m.ID] && !shown[m.ID] {
				g.remove = append(g.remove, m)
			}
		}
		for _, v := range have.Array("members") {
			o, _ := v.(*scim.Object)
			if id := o.Text("value"); !wanted[id] {
				g.remove = append(g.remove, engine.RemoteMember{ID: id})
			}
		}
		g.acked = &Change{Replace: true, Read: true, Add: kept}
		return g.batches()
	})
}

// batches sends the next PATCH with as many members as fit in one request. A new name is sent with the first.
func (g *group) batches() Step {
	if f := g.extend(); f != nil {
		return g.fail(f)
	}
	c := Change{Rename: g.out.Name != g.in.DisplayName, Replace: g.replace && len(g.remove) == 0}
	c.Remove, _ = split(g.remove, g.batch)
	if c.Replace || !g.replace {
		c.Add, _ = split(g.add, g.batch-len(c.Remove))
	}
	if !c.Rename && !c.Replace && len(c.Add)+len(c.Remove) == 0 {
		return g.end(engine.Done, "")
	}
	g.did(engine.OpMembers)
	req := Request{
		Method: http.MethodPatch, Path: resourcePath(groups, g.out.RemoteID), Body: patchBody(g.operations(c)...), Members: &c,
		Op:          engine.OpMembers,
		Alternative: g.alternative(http.MethodPatch, c),
	}
	return g.send(req, func(r Response) Step { return g.patched(c, r) })
}

// operations returns a change in the forms that the target is known to accept.
func (g *group) operations(c Change) (out []*scim.Object) {
	switch {
	case c.Rename && g.traits[engine.NeedsPath]:
		out = append(out, operation("replace", "displayName", g.in.DisplayName))
	case c.Rename:
		out = append(out, operation("replace", "", scim.NewObject(
			scim.Member{Name: "id", Value: g.out.RemoteID},
			scim.Member{Name: "displayName", Value: g.in.DisplayName},
		)))
	}
	switch {
	case len(c.Remove) > 0 && g.traits[engine.NoValuePath]:
		list := make([]any, len(c.Remove))
		for i, m := range c.Remove {
			list[i] = scim.NewObject(scim.Member{Name: "value", Value: m.ID})
		}
		out = append(out, operation("remove", "members", list))
	default:
		for _, m := range c.Remove {
			out = append(out, operation("remove", "members[value eq "+string(scim.AppendValue(nil, m.ID))+"]", nil))
		}
	}
	switch {
	// also add the members, because a replacement without effect could not be detected
	case c.Replace && g.traits[engine.MembersHidden] && len(c.Add) > 0:
		members := memberValues(c.Add)
		out = append(out, operation("replace", "members", members), operation("add", "members", members))
	case c.Replace:
		out = append(out, operation("replace", "members", memberValues(c.Add)))
	case len(c.Add) > 0:
		out = append(out, operation("add", "members", memberValues(c.Add)))
	}
	return out
}

func (g *group) patched(c Change, r Response) Step {
	switch {
	case r.Err == nil && r.Status == http.StatusNotFound:
		return g.gone(r, false)
	case !g.strict() && (unsupported(r) || misformed(r) || tooLarge(r)):
		return g.retryInOtherForm(c, r)
	case !ok(r):
		if mayHaveEffect(r) {
			g.out.MembersUnknown = true // the next push must have all members: a push of differences requires known members
			if c.Rename {
				g.out.Name = "" // the name on the target is unknown: the next push sends it again
			}
			if n := len(c.Add) + len(c.Remove); slow(r) && n > 1 {
				g.halve(n)
			}
		}
		if g.strict() && misformed(r) && len(c.Remove) > 0 {
			g.out.MembersUnknown = true // see retryInOtherForm
		}
		return g.fail(fail(r).in("push"))
	}
	g.out.Status = r.Status
	switch shown := shownGroup(r); {
	case g.strict():
		if shown == nil || g.mayHide(shown, c) {
			break
		}
		if !g.hasChange(shown, c) || c.Replace && !only(shown, c.Add) {
			return g.fail(rejected(r, ineffective))
		}
	case shown != nil && c.Replace && !g.tried[engine.NoMembersReplace] && !only(shown, c.Add):
		g.tried[engine.NoMembersReplace], g.traits[engine.NoMembersReplace] = true, true
		return g.replaceByDeltas(g.add)
	case shown == nil, g.hasChange(shown, c):
	case g.switchMethod(engine.NoPatch):
		if g.unconfirmed = g.mayHide(shown, c); !g.unconfirmed && g.refusal == nil {
			g.refusal = rejected(r, ineffective)
		}
		return g.pushByPut()
	case !g.mayHide(shown, c):
		return g.fail(rejected(r, ineffective))
	default:
		return g.restartHidden()
	}
	return g.accepted(c)
}

// accepted continues after a PATCH that took effect.
func (g *group) accepted(c Change) Step {
	g.confirm()
	g.out.Name, g.acked = g.in.DisplayName, &c
	if c.Replace {
		g.replace, g.full = false, false
	}
	g.remove, g.add = g.remove[len(c.Remove):], g.add[len(c.Add):]
	return g.batches()
}

// switchMethod reports whether the sequence tries the other method (PUT or PATCH), at most once. t is the trait that a success of that
// method will show.
func (g *group) switchMethod(t engine.Trait) bool {
	if g.tried[engine.NoPatch] || g.tried[engine.NoPut] {
		return false
	}
	g.tried[t], g.full = true, true
	return true
}

// retryInOtherForm repeats a rejected PATCH in another form or size.
func (g *group) retryInOtherForm(c Change, r Response) Step {
	if g.refusal == nil {
		g.refusal = fail(r).in("push")
	}
	change := func(t engine.Trait) Step {
		g.tried[t], g.traits[t] = true, !g.traits[t]
		return g.batches()
	}
	size := len(c.Add) + len(c.Remove)
	switch {
	case unsupported(r):
	case tooLarge(r) && size > 1:
		g.halve(size)
		return g.batches()
	case tooLarge(r):
		return g.fail(g.refusal)
	case c.Rename && !g.tried[engine.NeedsPath]:
		return change(engine.NeedsPath)
	case len(c.Remove) > 0 && !g.tried[engine.NoValuePath]:
		return change(engine.NoValuePath)
	case len(c.Remove) > 0 && g.replace: // the members may be absent already, and the replacement that follows removes them in any case
		g.traits[engine.NoValuePath] = !g.traits[engine.NoValuePath]
		delete(g.tried, engine.NoValuePath)
		g.remove = nil
		return g.batches()
	case c.Replace && !g.tried[engine.NoMembersReplace]:
		g.tried[engine.NoMembersReplace], g.traits[engine.NoMembersReplace] = true, true
		return g.replaceByDeltas(g.add)
	case size > 1:
		g.halve(size)
		return g.batches()
	}
	if !g.switchMethod(engine.NoPatch) {
		if len(c.Remove) > 0 && !unsupported(r) {
			g.out.MembersUnknown = true // the rejection may mean that a member to remove is absent: push all members next
		}
		return g.fail(g.refusal)
	}
	return g.pushByPut()
}

// halve halves the batch size after a request with size members.
func (g *group) halve(size int) {
	g.batch = max(size/2, 1)
	g.out.Batch = g.batch
}

// confirm records, after a success, the traits that explain why earlier requests of the sequence were rejected or had no effect.
func (g *group) confirm() {
	learned := engine.Traits{}
	for _, t := range []engine.Trait{engine.NeedsPath, engine.NoValuePath, engine.NoMembersReplace} {
		if g.tried[t] {
			learned[t] = g.traits[t]
			g.traits[t] = !g.traits[t] // undo the change of the attempt: learn records only traits that differ from g.traits
			delete(g.tried, t)
		}
	}
	switch {
	case g.tried[engine.NoPatch]:
		learned[engine.NoPatch], learned[engine.NoPut] = true, false
	case g.tried[engine.NoPut]:
		learned[engine.NoPut], learned[engine.NoPatch] = true, false
	}
	g.out.learn(g.traits, learned)
}

// pushByPut reads the group and writes it with all its members, if it differs.
func (g *group) pushByPut() Step {
	all, f := g.members()
	if f != nil {
		return g.fail(f)
	}
	return g.get(func(r Response, have *scim.Resource) Step {
		if have.Text("displayName") == g.in.DisplayName && sameMembers(have, all) {
			return g.pushed(r, all)
		}
		want := have.Clone()
		want.Set("displayName", g.in.DisplayName)
		want.Set("members", memberValues(all))
		g.did(engine.OpMembers)
		put := Request{
			Method: http.MethodPut, Path: resourcePath(groups, g.out.RemoteID), IfMatch: r.ETag, Body: &want.Object,
			Members: &Change{Rename: true, Replace: true, Add: all}, Op: engine.OpMembers, Alternative: g.alternative(http.MethodPut, Change{}),
		}
		return g.send(put, func(answer Response) Step { return g.replaced(all, r.ETag, answer) })
	})
}

func (g *group) replaced(all []engine.RemoteMember, before string, r Response) Step {
	switch {
	case r.Err == nil && r.Status == http.StatusNotFound:
		return g.gone(r, false)
	case r.Err == nil && r.Status == http.StatusPreconditionFailed:
		return g.push()
	case unsupported(r) && !g.strict():
		if g.refusal == nil {
			g.refusal = fail(r).in("push")
		}
		if g.switchMethod(engine.NoPut) {
			return g.pushByPatch()
		}
		if g.unconfirmed { // PUT is unsupported: PATCH is the only method, although its response lacked the members
			g.out.learn(g.traits, engine.Traits{engine.NoPut: true})
			return g.restartHidden()
		}
		return g.fail(g.refusal)
	case !ok(r):
		if mayHaveEffect(r) {
			g.out.Name = ""
		}
		return g.fail(fail(r).in("push"))
	}
	g.out.Status = r.Status
	shown := shownGroup(r)
	if shown != nil && before != "" && version(r) == before && !g.traits[engine.PutTrusted] {
		return g.get(func(r Response, have *scim.Resource) Step {
			if have.Text("displayName") == g.in.DisplayName && sameMembers(have, all) {
				g.out.learn(g.traits, engine.Traits{engine.PutTrusted: true})
			}
			return g.compared(r, have, all)
		})
	}
	switch {
	case shown == nil:
		return g.pushed(r, all)
	case !g.hasChange(shown, Change{Rename: true, Replace: true, Add: all}):
		return g.get(func(r Response, have *scim.Resource) Step { return g.compared(r, have, all) })
	}
	return g.compared(r, shown, all)
}

// compared decides how the sequence continues after a PUT: have is the group in the response or in a later read.
func (g *group) compared(r Response, have *scim.Resource, all []engine.RemoteMember) Step {
	if g.hasChange(have, Change{Rename: true, Replace: true, Add: all}) {
		return g.pushed(r, all)
	}
	if !g.strict() && g.switchMethod(engine.NoPut) {
		return g.pushByPatch()
	}
	switch {
	case !g.mayHide(have, Change{Rename: true}):
		return g.fail(rejected(r, ineffective))
	case g.strict():
		return g.pushed(r, all)
	}
	return g.restartHidden()
}

const ineffective = "push: the target returned success, but the group does not have the name and the members that were sent"

// mayHide reports whether the target may have stored the sent members although the response lacks them: the response has no members, and
// the sent name.
func (g *group) mayHide(shown *scim.Resource, c Change) bool {
	return len(shown.Array("members")) == 0 && (!c.Rename || shown.Text("displayName") == g.in.DisplayName)
}

// restartHidden is called if neither PATCH nor PUT had a response with members. It records that the target hides members, and starts again
// with the forms for such a target.
func (g *group) restartHidden() Step {
	g.out.learn(g.traits, engine.Traits{engine.MembersHidden: true})
	g.tried, g.unconfirmed, g.full = map[engine.Trait]bool{}, false, true
	return g.push()
}

// pushed records that the target has exactly the desired members and name.
func (g *group) pushed(r Response, all []engine.RemoteMember) Step {
	g.confirm()
	g.out.Status, g.out.Name = r.Status, g.in.DisplayName
	g.acked = &Change{Rename: true, Replace: true, Add: all}
	return g.end(engine.Done, "")
}

// get reads the group.
func (g *group) get(then func(Response, *scim.Resource) Step) Step {
	id := g.out.RemoteID
	return g.send(Request{Method: http.MethodGet, Path: resourcePath(groups, id)}, func(r Response) Step {
		switch {
		case notFound(r):
			return g.gone(r, true)
		case !ok(r):
			return g.fail(fail(r).in("read"))
		case r.Body == nil:
			return g.fail(transient(r, "read: the response has no body"))
		}
		have := &scim.Resource{Object: *r.Body}
		if got := have.ID(); got != "" && got != id {
			return g.fail(rejected(r, fmt.Sprintf("read: requested %s, but the target returned %s", id, got)))
		}
		r.ETag = version(r)
		return then(r, have)
	})
}

// shownGroup returns the group in a response, nil if there is none.
func shownGroup(r Response) *scim.Resource {
	if r.Body == nil || r.Body.Text("displayName") == "" {
		return nil
	}
	return &scim.Resource{Object: *r.Body}
}

// hasChange reports whether a group has the name and the members of a change, and lacks the removed members.
func (g *group) hasChange(shown *scim.Resource, c Change) bool {
	if c.Rename && shown.Text("displayName") != g.in.DisplayName {
		return false
	}
	if g.traits[engine.MembersHidden] {
		return true
	}
	ids := memberIDs(shown)
	return contains(shown, c.Add) && !slices.ContainsFunc(c.Remove, func(m engine.RemoteMember) bool { return ids[m.ID] })
}

func contains(shown *scim.Resource, members []engine.RemoteMember) bool {
	ids := memberIDs(shown)
	return !slices.ContainsFunc(members, func(m engine.RemoteMember) bool { return !ids[m.ID] })
}

// only reports whether a group has no members other than the given ones.
func only(shown *scim.Resource, members []engine.RemoteMember) bool {
	others := memberIDs(shown)
	for _, m := range members {
		delete(others, m.ID)
	}
	return len(others) == 0
}

func memberIDs(r *scim.Resource) map[string]bool {
	list := r.Array("members")
	ids := make(map[string]bool, len(list))
	for _, v := range list {
		o, _ := v.(*scim.Object)
		ids[o.Text("value")] = true
	}
	return ids
}

// sameMembers compares members by value only, because the target may set display.
func sameMembers(have *scim.Resource, want []engine.RemoteMember) bool {
	return len(have.Array("members")) == len(want) && contains(have, want)
}
