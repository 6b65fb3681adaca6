package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine/plan"
	"github.com/scimwright/scimwright/scim"
)

// Trace is one sequence of one principal, step by step: as it would be now (see [Engine.Rehearse]) or as it was (see
// [Engine.Provision]).
type Trace struct {
	App       string    `json:"app"`
	Kind      Kind      `json:"kind"`
	ID        string    `json:"id"`
	Rehearsed bool      `json:"rehearsed"` // writes were pretended
	At        time.Time `json:"at"`

	// Want and Desired are what the directory says: of a user the mapped attributes without secrets, of a group its name.
	Want    Want           `json:"want"`
	Desired *scim.Resource `json:"desired,omitempty"`
	// State is what was known: before a rehearsal, and after a run.
	State Known `json:"state"`

	Requests  []Sent         `json:"requests"`
	Operation plan.Operation `json:"operation"`
	Outcome   plan.Class     `json:"outcome"`
	HTTP      int            `json:"http,omitempty"`    // status that decided
	Message   string         `json:"message,omitempty"` // why it is not done

	// Diff is what changes of the attributes, Members what changes of the members of a group. After a run they tell as much as its
	// exchanges show.
	Diff    []Difference `json:"diff,omitempty"`
	Members *MemberDiff  `json:"members,omitempty"`
	// Waiting are the users of a group that have no account at the target yet; the first MaxNamed of them.
	Waiting []string `json:"waiting,omitempty"`
	// Hold says why the engine sends nothing at the moment, empty when nothing keeps it from it.
	Hold string `json:"hold,omitempty"`
}

// Idle reports whether a dry run leaves the target as it is: it succeeds and changes nothing. What it sends, e.g. because the target is
// not read before, has no effect.
func (t Trace) Idle() bool {
	if t.Outcome != plan.Done || len(t.Diff) > 0 || len(t.Waiting) > 0 || t.Members != nil && t.Members.Added+t.Members.Removed > 0 {
		return false
	}
	switch t.Operation {
	case plan.OpNone, plan.OpLookup, plan.OpDeactivate, plan.OpReactivate, plan.OpMembers:
		return true
	case plan.OpUpdate: // a password shows in no difference
		return !slices.ContainsFunc(t.Requests, func(s Sent) bool { return s.Pretended })
	default:
		return false
	}
}

// Sent is one request and its answer. Secrets were removed from it, and long bodies are cut.
type Sent struct {
	Method    string        `json:"method"`
	Path      string        `json:"path"` // relative to the base URL, with the query
	IfMatch   string        `json:"ifMatch,omitempty"`
	Body      string        `json:"body,omitempty"`
	Pretended bool          `json:"pretended,omitempty"` // the target was not asked
	Status    int           `json:"status"`              // 0 when no answer came
	Answer    string        `json:"answer,omitempty"`
	Error     string        `json:"error,omitempty"` // why there is no complete answer
	At        time.Time     `json:"at,omitzero"`
	Took      time.Duration `json:"took,omitempty"` // nanoseconds
}

// Known is the part of a State that is shown to people.
type Known struct {
	Desired    int64                  `json:"desired"` // generations; 0 for a principal that was never marked
	Synced     int64                  `json:"synced"`
	Status     Status                 `json:"status,omitempty"`
	Want       Want                   `json:"want,omitempty"`
	NextAt     time.Time              `json:"nextAt,omitzero"`
	Attempts   int                    `json:"attempts,omitempty"`
	RemoteID   string                 `json:"remoteId,omitempty"`
	RemoteName string                 `json:"remoteName,omitempty"`
	Origin     plan.Origin            `json:"origin,omitempty"`
	Unkept     map[string]plan.Unkept `json:"unkept,omitempty"`
	Operation  plan.Operation         `json:"operation,omitempty"`
	HTTP       int                    `json:"http,omitempty"`
	Error      string                 `json:"error,omitempty"`
	UpdatedAt  time.Time              `json:"updatedAt,omitzero"`
	Pending    *PendingChange         `json:"pending,omitempty"`
}

// PendingChange is the part of a Pending that is shown to people.
type PendingChange struct {
	Operation   plan.Operation `json:"operation"`
	Method      string         `json:"method"`
	Path        string         `json:"path"`
	Transaction string         `json:"transaction,omitempty"` // Set-Txn of the response
	Location    string         `json:"location,omitempty"`
	Generation  int64          `json:"generation"`
	At          time.Time      `json:"at"`
	Deadline    time.Time      `json:"deadline"`
	Reads       int            `json:"reads"` // since then
}

func pendingChange(p *Pending) *PendingChange {
	if p == nil {
		return nil
	}
	return &PendingChange{
		Operation: p.Operation, Method: p.Method, Path: p.Path, Transaction: p.Txn, Location: p.Location, Generation: p.Gen,
		At: p.At, Deadline: p.Deadline, Reads: p.Reads,
	}
}

func known(s State) Known {
	return Known{
		Desired: s.Desired, Synced: s.Synced, Status: s.Status, Want: s.Want, NextAt: s.NextAt, Attempts: s.Attempts,
		RemoteID: s.RemoteID, RemoteName: s.RemoteName, Origin: s.Origin, Unkept: unkept(s.Unkept),
		Operation: s.LastOperation, HTTP: s.LastStatus, Error: s.LastError, UpdatedAt: s.UpdatedAt,
		Pending: pendingChange(s.Pending),
	}
}

// Difference is one attribute that changes. Before and After are JSON values, secrets replaced; nil says that there is none.
type Difference struct {
	Path   string `json:"path"` // as in RFC 7644 section 3.10: title, name.givenName, urn:…:department
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// MemberDiff is what changes of the members of a group: how many, and the first MaxNamed of them.
type MemberDiff struct {
	Added   int         `json:"added"`
	Removed int         `json:"removed"`
	Add     []MemberRef `json:"add,omitempty"`
	Remove  []MemberRef `json:"remove,omitempty"`
}

// MemberRef names a member.
type MemberRef struct {
	User string `json:"user,omitempty"` // id in the directory, empty for somebody who was not put there by the engine
	ID   string `json:"id"`             // at the target
	Name string `json:"name,omitempty"`
}

// MaxNamed is how many of a long list are named.
const MaxNamed = 100

// differences compares two versions of a resource, of which either may be missing. What belongs to the target, and the members
// of a group, are left out.
func differences(before, after *scim.Resource) []Difference {
	var from, to *scim.Object
	if before != nil {
		from = &before.Object
	}
	if after != nil {
		to = &after.Object
	}
	var out []Difference
	differing(nil, from, to, &out)
	return out
}

// leftOut are attributes that are not compared: the target's own, and those that are compared by other means.
var leftOut = []string{"id", "meta", "schemas", "password", "members"}

func differing(chain []string, before, after *scim.Object, out *[]Difference) {
	each := func(name string) {
		if len(chain) == 0 {
			for _, other := range leftOut {
				if scim.EqualName(name, other) {
					return
				}
			}
		}
		a, _ := before.Get(name)
		b, _ := after.Get(name)
		inner, wasComplex := a.(*scim.Object)
		other, isComplex := b.(*scim.Object)
		switch at := append(chain[:len(chain):len(chain)], name); {
		case wasComplex && (isComplex || b == nil), isComplex && a == nil:
			differing(at, inner, other, out)
		case !same(a, b):
			path := plan.Path(at)
			*out = append(*out, Difference{path, unveiled(path, a), unveiled(path, b)})
		}
	}
	for name := range after.All() {
		each(name)
	}
	for name := range before.All() {
		if _, both := after.Get(name); !both {
			each(name)
		}
	}
}

// same compares values. Null, an empty list and none are the same (RFC 7643 section 2.5), and some targets write booleans as text.
func same(a, b any) bool {
	if none(a) || none(b) {
		return none(a) && none(b)
	}
	return scim.Equal(boolean(a, b), boolean(b, a))
}

func none(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

// boolean reads a text as a boolean if it is compared with one.
func boolean(v, other any) any {
	text, isText := v.(string)
	if _, ok := other.(bool); !ok || !isText {
		return v
	}
	switch {
	case scim.EqualName(text, "true"):
		return true
	case scim.EqualName(text, "false"):
		return false
	}
	return v
}

// memberDiff compares the members of two versions of a group. users are those that the engine knows, by their id at the target.
func memberDiff(before, after *scim.Resource, users map[string]Member) *MemberDiff {
	was, is := memberRefs(before, users), memberRefs(after, users)
	d := &MemberDiff{}
	d.Added, d.Add = lacking(is, was)
	d.Removed, d.Remove = lacking(was, is)
	if d.Added+d.Removed == 0 {
		return nil
	}
	return d
}

// mergeDiffs adds up what changes in two steps.
func mergeDiffs(d, more *MemberDiff) *MemberDiff {
	if d == nil || more == nil {
		return cmp.Or(d, more)
	}
	add, remove := slices.Concat(d.Add, more.Add), slices.Concat(d.Remove, more.Remove)
	return &MemberDiff{
		Added: d.Added + more.Added, Removed: d.Removed + more.Removed,
		Add: add[:min(len(add), MaxNamed)], Remove: remove[:min(len(remove), MaxNamed)],
	}
}

func memberRefs(r *scim.Resource, users map[string]Member) (out []MemberRef) {
	if r == nil {
		return nil
	}
	for _, v := range r.Array("members") {
		o, _ := v.(*scim.Object)
		m := MemberRef{ID: o.Text("value"), Name: o.Text("display")}
		if u, ok := users[m.ID]; ok {
			m.User, m.Name = u.User, u.RemoteName
		}
		out = append(out, m)
	}
	return out
}

// lacking counts those that others lack, and names the first of them.
func lacking(all, others []MemberRef) (n int, named []MemberRef) {
	there := make(map[string]bool, len(others))
	for _, m := range others {
		there[m.ID] = true
	}
	for _, m := range all {
		if there[m.ID] {
			continue
		}
		if n++; n <= MaxNamed {
			named = append(named, m)
		}
	}
	return n, named
}
