package plan

import (
	"fmt"
	"net/http"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/scim"
)

// DefaultBatch is how many members one request carries unless the target says otherwise.
const DefaultBatch = 100

// GroupInput is what is known about a group when its sequence begins.
type GroupInput struct {
	Want        engine.Want
	DisplayName string
	RemoteID    string // empty when not known
	RemoteName  string // displayName the target has, as far as known
	Origin      engine.Origin

	Style        engine.Style
	Fallback     engine.Fallback
	OnMissing    engine.Missing
	DeleteRemote bool          // Absent: delete the group instead of leaving it
	Batch        int           // Defaults to DefaultBatch
	Traits       engine.Traits // what is known about the target

	// Pending and Expired are as in UserInput.
	Pending *engine.Pending
	Expired bool

	// HaltedLinks says why no group that exists may be linked at the moment; empty when it may. A group that we created, and the one that
	// RemoteID names, are not meant. Defaults to nothing.
	HaltedLinks func() (why string, err error)

	// Full says that the target's member list is to be replaced by Members. It is implied by everything but deltas to a
	// group with a known id.
	Full bool
	// Members returns all users of the group that have an account at the target. It is called when the whole list is needed.
	// Defaults to none.
	Members func() ([]engine.RemoteMember, error)
	// Add and Remove are the deltas since the last push.
	Add, Remove []engine.RemoteMember
}

// Group returns the sequence that brings a group to its desired state.
//
//	active, no id:   lookup; none: POST with the members; one: link and replace the members; several: held
//	active, id:      Catalog: PATCH with the new name and the deltas, or with the whole list; Wizard: GET, overlay, PUT
//	inactive:        nothing
//	absent:          DELETE if asked for, otherwise forget the link
//
// More members than fit in one request follow in further ones; what each acknowledges is told in Step.Acked. A target that finds
// a request too large (413, tooMany) is sent half of it. A form that it refuses is followed by another one: operations with a
// path instead of without, removal by value instead of by filter, single additions and removals instead of replacement, PUT
// instead of PATCH and the reverse. An answer that shows the group without what was sent counts as a success without effect,
// and is followed by the other method. After a PATCH without an answer body nothing is read back: a group may be large.
//
// What nobody can see at a target that never shows members is asked for in every form: members that a POST brought are added
// again, a replacement goes with an addition and after the removals that are known of, and PATCH is sent instead of PUT.
//
// After a change whose answer was lost, the caller gives the members that it was about again; the name counts as not known. So it
// does after a crash: Step.Push tells what is to be kept before a request is sent.
func Group(in GroupInput) *Sequence {
	if in.HaltedLinks == nil {
		in.HaltedLinks = linksAllowed
	}
	if in.Batch <= 0 {
		in.Batch = DefaultBatch
	}
	g := &group{
		in: in, out: Outcome{Operation: engine.OpNone, RemoteID: in.RemoteID, Name: in.RemoteName, Origin: in.Origin},
		traits: believed(in.Fallback, in.Traits), batch: in.Batch, full: in.Full, tried: map[engine.Trait]bool{},
	}
	s := &Sequence{sofar: func() Outcome { return g.out }, accept: g.accept}
	g.s = s
	s.step = g.begin()
	return s
}

type group struct {
	in     GroupInput
	out    Outcome
	s      *Sequence
	rounds int

	traits engine.Traits // as known by now
	batch  int
	full   bool // the whole list is due

	// What is still to be sent by PATCH.
	replace bool
	add     []engine.RemoteMember
	remove  []engine.RemoteMember

	tried   map[engine.Trait]bool // forms and methods that were changed over in this sequence
	doubt   bool                  // a PATCH was answered with success and the group without what it was sent
	refusal *failure              // the first one
	acked   *Change               // goes with the next step

	confirming bool // whether a change that was accepted is carried out is being read
}

func (g *group) send(req Request, then func(Response) Step) Step {
	g.s.next = then
	step := Step{Request: &req, Acked: g.takeAcked()}
	if req.Op == engine.OpMembers {
		step.Push = &Push{RemoteID: g.out.RemoteID, Name: g.out.Name, Origin: g.out.Origin, Add: g.add, Remove: g.remove, Batch: g.batch}
	}
	return step
}

func (g *group) end(class engine.Class, message string) Step {
	g.out.Class, g.out.Message = class, message
	g.out.Operation = combined(g.out.Confirmed, g.out.Operation)
	if g.confirming && class == engine.Held {
		g.out.Pending = nil // a decision is needed whatever becomes of it
	}
	g.out.Full = class != engine.Done && g.full
	out := g.out
	return Step{Outcome: &out, Acked: g.takeAcked()}
}

func (g *group) takeAcked() *Change {
	c := g.acked
	g.acked = nil
	return c
}

func (g *group) fail(f *failure) Step {
	if g.confirming && g.in.Expired && f.class == engine.Rejected {
		return g.outstanding()
	}
	g.out.Status, g.out.ScimType, g.out.RetryAfter = f.status, f.scimType, f.retryAfter
	return g.end(f.class, f.message)
}

// members returns the whole list.
func (g *group) members() ([]engine.RemoteMember, *failure) {
	if g.in.Members == nil {
		return nil, nil
	}
	all, err := g.in.Members()
	if err != nil {
		return nil, transient(Response{}, "the members cannot be told: "+errtext.Plain(err))
	}
	return all, nil
}

func (g *group) begin() Step {
	if g.in.Pending != nil {
		return g.await()
	}
	return g.start()
}

func (g *group) start() Step {
	switch g.in.Want {
	case engine.Active:
		if g.out.RemoteID == "" {
			return g.lookup(g.adoptOrCreate)
		}
		return g.push()
	case engine.Inactive:
		return g.end(engine.Done, "")
	case engine.Absent, engine.Keep:
	}
	return g.remote()
}

// remote deletes the group at the target, or only forgets it. Without an id nothing is deleted unless a create of ours was
// lost: a group that merely has the same name is not ours.
func (g *group) remote() Step {
	g.out.Operation = engine.OpUnlink
	switch {
	case !g.in.DeleteRemote, g.out.RemoteID == "" && g.in.Origin != engine.Unconfirmed:
		g.out.RemoteID, g.out.Origin = "", ""
		return g.end(engine.Done, "")
	case g.out.RemoteID == "":
		return g.lookup(func(_ Response, found []*scim.Resource) Step {
			if len(found) == 0 {
				g.out.Origin = ""
				return g.end(engine.Done, "")
			}
			g.out.RemoteID = found[0].ID()
			return g.delete()
		})
	default:
		return g.delete()
	}
}

func (g *group) delete() Step {
	g.out.Operation = engine.OpDelete
	return g.send(Request{Method: http.MethodDelete, Path: resourcePath(groups, g.out.RemoteID), Op: engine.OpDelete}, func(r Response) Step {
		if !ok(r) && !missed(r) {
			return g.fail(fail(r).in("delete"))
		}
		g.out.Status, g.out.RemoteID, g.out.Origin = r.Status, "", ""
		return g.end(engine.Done, "")
	})
}

func (g *group) lookup(then func(Response, []*scim.Resource) Step) Step {
	// A tombstone may have lost its name, and what is left of a lost create has the name it was sent with.
	if name := g.in.RemoteName; name != "" && (g.in.DisplayName == "" || g.in.Want == engine.Absent) {
		return g.lookupName(name, then)
	}
	return g.lookupName(g.in.DisplayName, then)
}

func (g *group) lookupName(name string, then func(Response, []*scim.Resource) Step) Step {
	const attribute = "displayName"
	if name == "" {
		return g.fail(rejected(Response{}, "the group has no name to look it up by"))
	}
	hit := func(r Response, found []*scim.Resource, f *failure) Step {
		switch {
		case f != nil:
			return g.fail(f.in("lookup by " + attribute))
		case len(found) > 1:
			g.out.Status = r.Status
			return g.end(engine.Held, fmt.Sprintf("%d groups match %s %q: %s", len(found), attribute, name, ids(found)))
		}
		return then(r, found)
	}
	if g.traits[engine.NoGroupFilter] {
		return readList(g.send, listInstead(nil), groups, attribute, name, hit)
	}
	return g.send(Request{Method: http.MethodGet, Path: LookupPath(groups, attribute, name)}, func(r Response) Step {
		if unfiltered(r) && !g.strict() {
			return readList(g.send, listInstead(&r), groups, attribute, name, func(r Response, found []*scim.Resource, f *failure) Step {
				if f == nil && ordinary(name) {
					g.out.learn(g.traits, engine.Traits{engine.NoGroupFilter: true})
				}
				return hit(r, found, f)
			})
		}
		found, f := hits(r, attribute, name)
		return hit(r, found, f)
	})
}

// adoptOrCreate also looks for the earlier name of a group whose create was lost, and which was renamed since.
func (g *group) adoptOrCreate(_ Response, found []*scim.Resource) Step {
	if len(found) == 1 {
		return g.adopt(found[0])
	}
	if g.in.Origin == engine.Unconfirmed && g.in.RemoteName != "" && g.in.RemoteName != g.in.DisplayName {
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
	if g.in.Origin != engine.Unconfirmed {
		if f := haltedLink(g.in.HaltedLinks, &g.out); f != nil {
			return g.fail(f)
		}
	}
	g.out.RemoteID, g.out.Name, g.out.Operation = hit.ID(), hit.Text("displayName"), engine.OpLink
	g.out.Origin = engine.Linked
	if g.in.Origin == engine.Unconfirmed {
		g.out.Origin = engine.Created
	}
	g.full = true
	return g.push()
}

func (g *group) create() Step {
	all, f := g.members()
	if f != nil {
		return g.fail(f)
	}
	first, rest := split(all, g.batch)
	if g.strict() {
		first, rest = all, nil
	}
	body := scim.NewObject(
		scim.Member{Name: "schemas", Value: []string{scim.GroupSchema}},
		scim.Member{Name: "displayName", Value: g.in.DisplayName},
		scim.Member{Name: "members", Value: memberValues(first)},
	)
	req := Request{Method: http.MethodPost, Path: groups, Body: body, Members: &Change{Rename: true, Replace: true, Add: first},
		Op: engine.OpCreate}
	if len(first) > 0 {
		req.Also = engine.OpMembers
	}
	return g.send(req, func(r Response) Step {
		g.out.Operation, g.out.Origin, g.out.Name = engine.OpCreate, engine.Unconfirmed, g.in.DisplayName
		switch {
		case g.strict() && (conflict(r) || tooLarge(r)):
			g.out.Origin = ""
			return g.fail(fail(r).in("create"))
		case conflict(r):
			g.out.Origin = ""
			return g.lookup(func(_ Response, found []*scim.Resource) Step {
				if len(found) == 0 {
					return g.fail(&failure{class: engine.Rejected, status: r.Status,
						message: "create: the target says that the group exists (" + fail(r).message + "), but a lookup does not find it"})
				}
				return g.adopt(found[0])
			})
		case tooLarge(r) && len(first) > 1:
			g.out.Origin = ""
			g.halve(len(first))
			return g.create()
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
		g.out.RemoteID, g.out.Origin, g.out.Status = r.Body.Text("id"), engine.Created, r.Status
		switch shown := shownGroup(r); {
		case shown == nil, len(first) == 0, contains(shown, first):
		case !g.strict():
			first, rest = nil, all // it hides its members, or has dropped them
		case !g.mayHide(shown, Change{}):
			g.full = true
			return g.fail(rejected(r, ineffective))
		}
		g.acked = &Change{Rename: true, Replace: true, Add: first}
		if len(rest) > 0 && g.puts() {
			return g.pushByPut()
		}
		g.full, g.replace, g.add, g.remove = false, false, rest, nil
		return g.batches()
	})
}

// gone handles a known group that the target does not have any more. Unless that was the answer to a read, a lookup shows whether it is
// so: some targets also answer 404 for an unknown member, or for a method that they do not have.
func (g *group) gone(r Response, read bool) Step {
	lost, origin, cause := g.out.RemoteID, g.out.Origin, fail(r)
	if g.rounds++; g.rounds > maxRounds {
		return g.fail(vanishing)
	}
	gone := rejected(r, "the group "+lost+" is gone at the target: "+cause.message)
	if g.in.OnMissing == engine.Fail && read {
		return g.fail(gone)
	}
	listed := func(found []*scim.Resource) bool { return len(found) == 1 && found[0].ID() == lost }
	there := func() Step {
		return g.fail(rejected(r, "push: the target has the group "+lost+", but answers "+cause.message))
	}
	anew := func(r Response, found []*scim.Resource) Step {
		if g.in.OnMissing == engine.Fail {
			return g.fail(gone)
		}
		if !g.full && !puts(g.traits, g.in.Style) {
			// The whole list is needed now, and only deltas were given: forget the id, the next sequence starts over.
			g.out.RemoteID, g.out.Origin = "", ""
			return g.fail(transient(r, "the group "+lost+" is gone at the target, it is pushed anew"))
		}
		g.out.RemoteID, g.out.Name, g.out.Origin = "", "", origin
		return g.adoptOrCreate(r, found)
	}
	return g.lookup(func(r Response, found []*scim.Resource) Step {
		switch earlier := g.in.RemoteName; {
		case listed(found):
			return there()
		case len(found) > 0 || earlier == "" || earlier == g.in.DisplayName || g.in.Want != engine.Active:
			return anew(r, found)
		default: // it was to be renamed, so it may be there under the name it has
			return g.lookupName(earlier, func(r Response, under []*scim.Resource) Step {
				if listed(under) {
					return there()
				}
				return anew(r, found)
			})
		}
	})
}

func (g *group) did(op engine.Operation) {
	if g.out.Operation == engine.OpNone {
		g.out.Operation = op
	}
}

func memberValues(members []engine.RemoteMember) []any {
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

func split(members []engine.RemoteMember, n int) (first, rest []engine.RemoteMember) {
	n = min(max(n, 0), len(members))
	return members[:n], members[n:]
}
