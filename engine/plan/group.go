package plan

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/scim"
)

// DefaultBatch is how many members one request carries unless the target says otherwise.
const DefaultBatch = 100

// GroupInput is what is known about a group when its sequence begins.
type GroupInput struct {
	Want        Want
	DisplayName string
	RemoteID    string // empty when not known
	RemoteName  string // displayName the target has, as far as known
	Origin      Origin

	Style        Style
	OnMissing    Missing
	DeleteRemote bool // Absent: delete the group instead of leaving it
	Batch        int  // Defaults to DefaultBatch

	// Full says that the target's member list is to be replaced by Members. It is implied by everything but deltas to a
	// group with a known id.
	Full bool
	// Members are all users of the group that have an account at the target. They are needed when Full is set, when RemoteID
	// is empty, and always for Wizard.
	Members []Member
	// Add and Remove are the deltas since the last push.
	Add, Remove []Member
}

// NeedsMembers says whether the sequence needs the whole list in Members.
func (in GroupInput) NeedsMembers() bool {
	return in.Want == Active && (in.Full || in.RemoteID == "" || in.Style == Wizard)
}

// Group returns the sequence that brings a group to its desired state.
//
//	active, no id:   lookup; none: POST with the members; one: link and replace the members; several: held
//	active, id:      Catalog: PATCH with the new name and the deltas, or with the whole list; Wizard: GET, overlay, PUT
//	inactive:        nothing
//	absent:          DELETE if asked for, otherwise forget the link
//
// More members than fit in one request follow in further ones. After a change whose answer was lost the whole list and the name
// are sent again: the caller sets Full, and the name counts as not known.
func Group(in GroupInput) *Sequence {
	if in.Batch <= 0 {
		in.Batch = DefaultBatch
	}
	g := &group{in: in, out: Outcome{Operation: OpNone, RemoteID: in.RemoteID, Name: in.RemoteName, Origin: in.Origin}}
	s := &Sequence{}
	g.s = s
	s.step = g.begin()
	return s
}

type group struct {
	in     GroupInput
	out    Outcome
	s      *Sequence
	rounds int
}

func (g *group) send(req Request, then func(Response) Step) Step {
	g.s.next = then
	return Step{Request: &req}
}

func (g *group) end(class Class, message string) Step {
	g.out.Class, g.out.Message = class, message
	out := g.out
	return Step{Outcome: &out}
}

func (g *group) fail(f *failure) Step {
	g.out.Status, g.out.ScimType, g.out.RetryAfter = f.status, f.scimType, f.retryAfter
	return g.end(f.class, f.message)
}

func (g *group) begin() Step {
	switch g.in.Want {
	case Active:
		if g.out.RemoteID == "" {
			return g.lookup(g.adoptOrCreate)
		}
		return g.push()
	case Inactive:
		return g.end(Done, "")
	default:
		return g.remove()
	}
}

// remove deletes the group at the target, or only forgets it. Without an id nothing is deleted unless a create of ours was
// lost: a group that merely has the same name is not ours.
func (g *group) remove() Step {
	g.out.Operation = OpUnlink
	switch {
	case !g.in.DeleteRemote, g.out.RemoteID == "" && g.in.Origin != Unconfirmed:
		g.out.RemoteID, g.out.Origin = "", ""
		return g.end(Done, "")
	case g.out.RemoteID == "":
		return g.lookup(func(_ Response, found []*scim.Resource) Step {
			if len(found) == 0 {
				g.out.Origin = ""
				return g.end(Done, "")
			}
			g.out.RemoteID = found[0].ID()
			return g.delete()
		})
	default:
		return g.delete()
	}
}

func (g *group) delete() Step {
	g.out.Operation = OpDelete
	return g.send(Request{Method: http.MethodDelete, Path: resourcePath(groups, g.out.RemoteID)}, func(r Response) Step {
		if !ok(r) && (r.Err != nil || r.Status != http.StatusNotFound) {
			return g.fail(fail(r).in("delete"))
		}
		g.out.Status, g.out.RemoteID, g.out.Origin = r.Status, "", ""
		return g.end(Done, "")
	})
}

func (g *group) lookup(then func(Response, []*scim.Resource) Step) Step {
	// A tombstone may have lost its name, and what is left of a lost create has the name it was sent with.
	if name := g.in.RemoteName; name != "" && (g.in.DisplayName == "" || g.in.Want == Absent) {
		return g.lookupName(name, then)
	}
	return g.lookupName(g.in.DisplayName, then)
}

func (g *group) lookupName(name string, then func(Response, []*scim.Resource) Step) Step {
	const attribute = "displayName"
	if name == "" {
		return g.fail(rejected(Response{}, "the group has no name to look it up by"))
	}
	return g.send(Request{Method: http.MethodGet, Path: lookupPath(groups, attribute, name)}, func(r Response) Step {
		found, f := hits(r, attribute, name)
		switch {
		case f != nil:
			return g.fail(f.in("lookup by " + attribute))
		case len(found) > 1:
			g.out.Status = r.Status
			return g.end(Held, fmt.Sprintf("%d groups match %s %q: %s", len(found), attribute, name, ids(found)))
		}
		return then(r, found)
	})
}

// adoptOrCreate also looks for the earlier name of a group whose create was lost, and which was renamed since.
func (g *group) adoptOrCreate(_ Response, found []*scim.Resource) Step {
	if len(found) == 1 {
		return g.adopt(found[0])
	}
	if g.in.Origin == Unconfirmed && g.in.RemoteName != "" && g.in.RemoteName != g.in.DisplayName {
		return g.lookupName(g.in.RemoteName, func(_ Response, found []*scim.Resource) Step {
			if len(found) == 1 {
				return g.adopt(found[0])
			}
			return g.create()
		})
	}
	return g.create()
}

// adopt links a found group. What it contains is replaced: the source is the truth about a pushed group.
func (g *group) adopt(hit *scim.Resource) Step {
	g.out.RemoteID, g.out.Name, g.out.Operation = hit.ID(), hit.Text("displayName"), OpLink
	g.out.Origin = Linked
	if g.in.Origin == Unconfirmed {
		g.out.Origin = Created
	}
	g.in.Full = true
	return g.push()
}

func (g *group) create() Step {
	g.out.Operation, g.out.Origin, g.out.Name = OpCreate, Unconfirmed, g.in.DisplayName
	first, rest := split(g.in.Members, g.in.Batch)
	body := scim.NewObject(
		scim.Member{Name: "schemas", Value: []string{scim.GroupSchema}},
		scim.Member{Name: "displayName", Value: g.in.DisplayName},
		scim.Member{Name: "members", Value: memberValues(first)},
	)
	return g.send(Request{Method: http.MethodPost, Path: groups, Body: body}, func(r Response) Step {
		switch {
		case conflict(r):
			g.out.Origin = ""
			return g.lookup(func(_ Response, found []*scim.Resource) Step {
				if len(found) == 0 {
					return g.fail(&failure{class: Rejected, status: r.Status,
						message: "create: the target says that the group exists (" + fail(r).message + "), but a lookup does not find it"})
				}
				return g.adopt(found[0])
			})
		case !ok(r):
			if r.Status >= 400 && r.Status < 500 {
				g.out.Origin = ""
			}
			return g.fail(fail(r).in("create"))
		case r.Body == nil:
			return g.fail(rejected(r, "create: the answer has an empty body, so the id of the group is not known"))
		case r.Body.Text("id") == "":
			return g.fail(rejected(r, "create: the answer has no id"))
		}
		g.out.RemoteID, g.out.Origin, g.out.Status = r.Body.Text("id"), Created, r.Status
		g.out.Replaced, g.out.Added = true, slices.Clone(first)
		return g.batches(nil, rest)
	})
}

// push brings a known group up to date.
func (g *group) push() Step {
	if g.rounds++; g.rounds > maxRounds {
		return g.fail(transient(Response{}, fmt.Sprintf("the group changed or vanished %d times while it was being updated", maxRounds)))
	}
	switch {
	case g.in.Style == Wizard:
		return g.pushByPut()
	case g.in.Full:
		first, rest := split(g.in.Members, g.in.Batch)
		replace := scim.NewObject(
			scim.Member{Name: "op", Value: "replace"},
			scim.Member{Name: "path", Value: "members"},
			scim.Member{Name: "value", Value: memberValues(first)},
		)
		return g.patch(append(g.rename(), replace), func() Step {
			g.out.Replaced, g.out.Added, g.out.Removed = true, slices.Clone(first), nil
			return g.batches(nil, rest)
		})
	default:
		return g.batches(g.in.Remove, g.in.Add)
	}
}

// batches sends deltas, as many as fit in one request at a time. A new name goes with the first.
func (g *group) batches(remove, add []Member) Step {
	operations := g.rename()
	removing, remove := split(remove, g.in.Batch)
	adding, add := split(add, g.in.Batch-len(removing))
	for _, m := range removing {
		operations = append(operations, scim.NewObject(
			scim.Member{Name: "op", Value: "remove"},
			scim.Member{Name: "path", Value: "members[value eq " + string(scim.AppendValue(nil, m.ID)) + "]"},
		))
	}
	if len(adding) > 0 {
		operations = append(operations, scim.NewObject(
			scim.Member{Name: "op", Value: "add"},
			scim.Member{Name: "path", Value: "members"},
			scim.Member{Name: "value", Value: memberValues(adding)},
		))
	}
	if len(operations) == 0 {
		return g.end(Done, "")
	}
	return g.patch(operations, func() Step {
		g.out.Removed = append(g.out.Removed, removing...)
		g.out.Added = append(g.out.Added, adding...)
		return g.batches(remove, add)
	})
}

// rename is the operation that gives the group its new name, if it has one.
func (g *group) rename() []*scim.Object {
	if g.out.Name == g.in.DisplayName {
		return nil
	}
	return []*scim.Object{scim.NewObject(
		scim.Member{Name: "op", Value: "replace"},
		scim.Member{Name: "value", Value: scim.NewObject(
			scim.Member{Name: "id", Value: g.out.RemoteID},
			scim.Member{Name: "displayName", Value: g.in.DisplayName},
		)},
	)}
}

func (g *group) patch(operations []*scim.Object, then func() Step) Step {
	g.did(OpMembers)
	req := Request{Method: http.MethodPatch, Path: resourcePath(groups, g.out.RemoteID), Body: patchBody(operations...)}
	return g.send(req, func(r Response) Step {
		switch {
		case r.Err == nil && r.Status == http.StatusNotFound:
			return g.gone(r)
		case !ok(r):
			if unsure(r) { // deltas and a comparison of names would start from what the target may not have any more
				g.out.Unsure, g.out.Name = true, ""
			}
			return g.fail(fail(r).in("push"))
		}
		g.out.Status, g.out.Name = r.Status, g.in.DisplayName
		return then()
	})
}

func (g *group) pushByPut() Step {
	id := g.out.RemoteID
	return g.send(Request{Method: http.MethodGet, Path: resourcePath(groups, id)}, func(r Response) Step {
		switch {
		case r.Err == nil && r.Status == http.StatusNotFound:
			return g.gone(r)
		case !ok(r):
			return g.fail(fail(r).in("read"))
		case r.Body == nil:
			return g.fail(transient(r, "read: the answer has no body"))
		}
		have := &scim.Resource{Object: *r.Body}
		if got := have.ID(); got != "" && got != id {
			return g.fail(rejected(r, fmt.Sprintf("read: asked for %s, the target answered with %s", id, got)))
		}
		if r.ETag == "" {
			r.ETag = have.Meta().Version
		}
		if have.Text("displayName") == g.in.DisplayName && sameMembers(have, g.in.Members) {
			return g.pushed(r)
		}
		want := have.Clone()
		want.Set("displayName", g.in.DisplayName)
		want.Set("members", memberValues(g.in.Members))
		g.did(OpMembers)
		put := Request{Method: http.MethodPut, Path: resourcePath(groups, id), IfMatch: r.ETag, Body: &want.Object}
		return g.send(put, func(r Response) Step {
			switch {
			case r.Err == nil && r.Status == http.StatusNotFound:
				return g.gone(r)
			case r.Err == nil && r.Status == http.StatusPreconditionFailed:
				return g.push()
			case !ok(r):
				return g.fail(fail(r).in("push"))
			}
			return g.pushed(r)
		})
	})
}

// pushed notes that the target has exactly the desired members and name.
func (g *group) pushed(r Response) Step {
	g.out.Status, g.out.Name = r.Status, g.in.DisplayName
	g.out.Replaced, g.out.Added, g.out.Removed = true, slices.Clone(g.in.Members), nil
	return g.end(Done, "")
}

// gone handles a known group that the target does not have any more. Some targets also answer 404 for an unknown member.
func (g *group) gone(r Response) Step {
	lost, origin, cause := g.out.RemoteID, g.out.Origin, fail(r)
	if g.in.OnMissing == Fail {
		return g.fail(rejected(r, "the group "+lost+" is gone at the target: "+cause.message))
	}
	return g.lookup(func(_ Response, found []*scim.Resource) Step {
		if len(found) == 1 && found[0].ID() == lost {
			return g.fail(rejected(r, "push: the target has the group "+lost+", but answers "+cause.message))
		}
		if !g.in.Full && g.in.Style != Wizard {
			// The whole list is needed now, and only deltas were given: forget the id, the next sequence starts over.
			g.out.RemoteID, g.out.Origin = "", ""
			return g.fail(transient(r, "the group "+lost+" is gone at the target, it is pushed anew"))
		}
		g.out.RemoteID, g.out.Name, g.out.Origin = "", "", origin
		g.out.Replaced, g.out.Added, g.out.Removed = false, nil, nil
		return g.adoptOrCreate(r, found)
	})
}

func (g *group) did(op Operation) {
	if g.out.Operation == OpNone {
		g.out.Operation = op
	}
}

// sameMembers compares by value only: what a target shows as display is its own business.
func sameMembers(have *scim.Resource, want []Member) bool {
	list := have.Array("members")
	if len(list) != len(want) {
		return false
	}
	ids := make(map[string]bool, len(list))
	for _, v := range list {
		o, _ := v.(*scim.Object)
		ids[o.Text("value")] = true
	}
	return !slices.ContainsFunc(want, func(m Member) bool { return !ids[m.ID] })
}

func memberValues(members []Member) []any {
	out := make([]any, len(members))
	for i, m := range members {
		o := scim.NewObject(scim.Member{Name: "value", Value: m.ID})
		if m.Display != "" {
			o.Set("display", m.Display)
		}
		out[i] = o
	}
	return out
}

func split(members []Member, n int) (first, rest []Member) {
	n = min(max(n, 0), len(members))
	return members[:n], members[n:]
}
