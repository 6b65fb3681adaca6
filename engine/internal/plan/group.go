package plan

import (
	"fmt"
	"net/http"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/scim"
)

// DefaultBatch is the default number of members per request.
const DefaultBatch = 100

// GroupInput is the input of the sequence of a group.
type GroupInput struct {
	Want        engine.Want
	DisplayName string
	RemoteID    string // empty if unknown
	RemoteName  string // displayName on the target, if known
	Origin      engine.Origin

	Style        engine.Style
	Fallback     engine.Fallback
	OnMissing    engine.Missing
	DeleteRemote bool          // Absent: delete the group instead of leaving it
	Batch        int           // Default: DefaultBatch
	Traits       engine.Traits // known traits of the target

	// Pending and Expired have the same meaning as in UserInput.
	Pending *engine.Pending
	Expired bool

	// HaltedLinks returns the reason why existing groups must not be linked, empty if linking is allowed. It does not apply to a group that
	// the engine created or that RemoteID names. Default: linking is allowed.
	HaltedLinks func() (why string, err error)

	// Full replaces the target's member list by Members. Without RemoteID, all Members are sent in any case.
	Full bool
	// Members returns all users of the group that have an account on the target. It is called when the complete list is needed. Default: no
	// members.
	Members func() ([]engine.RemoteMember, error)
	// First returns the members that Members returns: at least the first n, or all of them, which complete reports. Further calls return the
	// same members and possibly more. A new group is created when the first members are known. Default: Members.
	First func(n int) (known []engine.RemoteMember, complete bool, err error)
	// Leaving returns the members of Remove. It is called after Members, and only if Members is. Default: Remove.
	Leaving func() ([]engine.RemoteMember, error)
	// Add and Remove are the deltas since the last push.
	Add, Remove []engine.RemoteMember
}

// Group returns the sequence that brings a group to its desired state.
//
//	active, no id:   lookup; none: POST with the members; one: link and replace the members; several: held
//	active, id:      Catalog: PATCH with the new name and the deltas, or with all members; Wizard: GET, overlay, PUT
//	inactive:        nothing
//	absent:          DELETE if requested, otherwise remove the link
//
// Members that do not fit in one request follow in further requests; Step.Acked has what each response acknowledges. If the target rejects
// a request as too large (413, tooMany), the sequence sends half as many members per request. If the target rejects a form, another one
// follows: operations with a path instead of without, removal by value instead of by filter, single additions and removals instead of
// replacement, PUT instead of PATCH and vice versa. A response with the group but without the sent values is a success without effect: the
// sequence then tries the other method (PUT or PATCH). After a PATCH without a response body nothing is read back: a group may be large.
//
// If the target never returns members, the effect of requests cannot be detected. The sequence then sends every form: members of a POST are
// added again, the known removals are sent first, the request that replaces the members also adds them, and PATCH is sent instead of PUT.
//
// After a change whose response was lost, the caller passes the members of that change again in the next sequence, and the name as unknown
// (empty RemoteName). The same applies after a crash: Step.Push has the progress to store before a request is sent.
func Group(in GroupInput) *Sequence {
	if in.HaltedLinks == nil {
		in.HaltedLinks = linksAllowed
	}
	if in.Batch <= 0 {
		in.Batch = DefaultBatch
	}
	g := &group{
		in: in, out: Outcome{Operation: engine.OpNone, RemoteID: in.RemoteID, Name: in.RemoteName, Origin: in.Origin},
		traits: usedTraits(in.Fallback, in.Traits), batch: in.Batch, full: in.Full, tried: map[engine.Trait]bool{},
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

	traits engine.Traits // known traits, including those that this sequence has detected
	batch  int
	full   bool // a push of all members is pending

	// Members that are still to be sent by PATCH.
	replace bool
	add     []engine.RemoteMember
	remove  []engine.RemoteMember
	first   int // number of members from in.First, of which those in add are the last; 0 if no other members follow add

	tried       map[engine.Trait]bool // traits for which this sequence has switched to the other form or method
	unconfirmed bool                  // a PATCH succeeded, but its response lacks the sent values
	refusal     *failure              // the first rejection
	acked       *Change               // change to return as Acked with the next step

	confirming bool // the sequence checks an accepted change
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
		g.out.Pending = nil // do not wait for the accepted change: the principal needs a decision in any case
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

// members returns all members. Those to remove are then known, too.
func (g *group) members() ([]engine.RemoteMember, *failure) {
	g.first = 0
	if g.in.Members == nil {
		return nil, nil
	}
	all, err := g.in.Members()
	if err == nil && g.in.Leaving != nil {
		g.in.Remove, err = g.in.Leaving()
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return all, nil
}

func unavailable(err error) *failure {
	return transient(Response{}, "the members are unavailable: "+errtext.Plain(err))
}

// Ahead is the number of requests whose members Push.Next can return, including the pending request: so many are known before a request is
// sent, unless the push needs fewer.
const Ahead = 16

// initial returns members for the create of a group, and records how many are known.
func (g *group) initial() ([]engine.RemoteMember, *failure) {
	if g.in.First == nil || g.strict() {
		return g.members()
	}
	known, complete, err := g.in.First(g.batch + 1)
	if err != nil {
		return nil, unavailable(err)
	}
	if g.first = len(known); complete {
		g.first = 0
	}
	return known, nil
}

// extend appends further members to the members to add, if fewer are known than the next requests have.
func (g *group) extend() *failure {
	if g.first == 0 || len(g.add) >= Ahead*g.batch {
		return nil
	}
	sent := g.first - len(g.add)
	known, complete, err := g.in.First(sent + Ahead*g.batch)
	if err != nil {
		return unavailable(err)
	}
	if g.add, g.first = known[sent:], len(known); complete {
		g.first = 0
	}
	return nil
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

// remote deletes the group on the target, or only removes the link. Without an id, only a group of a lost create is deleted: another group
// with the same name does not belong to the engine.
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
		if !ok(r) && !notFound(r) {
			return g.fail(fail(r).in("delete"))
		}
		g.out.Status, g.out.RemoteID, g.out.Origin = r.Status, "", ""
		return g.end(engine.Done, "")
	})
}

func (g *group) lookup(then func(Response, []*scim.Resource) Step) Step {
	// The directory may return no name for an Absent group. A group whose create had no response has the name of that create.
	if name := g.in.RemoteName; name != "" && (g.in.DisplayName == "" || g.in.Want == engine.Absent) {
		return g.lookupName(name, then)
	}
	return g.lookupName(g.in.DisplayName, then)
}

func (g *group) lookupName(name string, then func(Response, []*scim.Resource) Step) Step {
	const attribute = "displayName"
	if name == "" {
		return g.fail(rejected(Response{}, "the group has no name for a lookup"))
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

// adoptOrCreate links a found group or creates one. If the response to an earlier create was lost and the group was renamed since, it first
// searches for the earlier name.
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

// adopt links a found group. Its members are replaced: the directory is authoritative for a pushed group.
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
	known, f := g.initial()
	if f != nil {
		return g.fail(f)
	}
	first, rest := split(known, g.batch)
	if g.strict() {
		first, rest = known, nil
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
						message: "create: the target reports that the group exists (" + fail(r).message + "), but a lookup does not find it"})
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
			return g.fail(rejected(r, "create: the response has an empty body: the id of the group is unknown"))
		case r.Body.Text("id") == "":
			return g.fail(rejected(r, "create: the response has no id"))
		}
		g.out.RemoteID, g.out.Origin, g.out.Status = r.Body.Text("id"), engine.Created, r.Status
		switch shown := shownGroup(r); {
		case shown == nil, len(first) == 0, contains(shown, first):
		case !g.strict():
			first, rest = nil, known // the target does not return members or has ignored them: send all members again
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

// gone handles a known group that the target reports as missing. A lookup checks whether the group is really missing, except if OnMissing
// is Fail and the 404 is the response to a read: some targets also return 404 for an unknown member, or for an unsupported method.
func (g *group) gone(r Response, read bool) Step {
	lost, origin, cause := g.out.RemoteID, g.out.Origin, fail(r)
	if g.rounds++; g.rounds > maxRounds {
		return g.fail(changingGroup)
	}
	gone := rejected(r, "the group "+lost+" no longer exists on the target: "+cause.message)
	if g.in.OnMissing == engine.Fail && read {
		return g.fail(gone)
	}
	listed := func(found []*scim.Resource) bool { return len(found) == 1 && found[0].ID() == lost }
	there := func() Step {
		return g.fail(rejected(r, "push: the target has the group "+lost+", but returns "+cause.message))
	}
	startAgain := func(r Response, found []*scim.Resource) Step {
		if g.in.OnMissing == engine.Fail {
			return g.fail(gone)
		}
		if !g.full && !puts(g.traits, g.in.Style) {
			// The group has to be created with all members, but the input has only the deltas. Without the id, the next sequence starts
			// with a lookup and gets all members.
			g.out.RemoteID, g.out.Origin = "", ""
			return g.fail(transient(r, "the group "+lost+" no longer exists on the target: it is pushed again"))
		}
		g.out.RemoteID, g.out.Name, g.out.Origin = "", "", origin
		return g.adoptOrCreate(r, found)
	}
	return g.lookup(func(r Response, found []*scim.Resource) Step {
		switch earlier := g.in.RemoteName; {
		case listed(found):
			return there()
		case len(found) > 0 || earlier == "" || earlier == g.in.DisplayName || g.in.Want != engine.Active:
			return startAgain(r, found)
		default: // the last rename may have had no effect: search for the previous name
			return g.lookupName(earlier, func(r Response, under []*scim.Resource) Step {
				if listed(under) {
					return there()
				}
				return startAgain(r, found)
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
