package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// deferred reports whether a response accepts a change that is carried out later (RFC 9967 section 2.5.1).
func deferred(req *Request, r Response) bool {
	return req.Op != "" && r.Err == nil && r.Status == http.StatusAccepted
}

// maxHeader is the maximum number of stored bytes of a response header.
const maxHeader = 200

// pendingOf returns the pending change of an accepted request.
func pendingOf(req Request, r Response) *engine.Pending {
	return &engine.Pending{
		Operation: req.Op, Method: req.Method, Path: req.Path, Version: req.IfMatch,
		Txn: r.Txn[:min(len(r.Txn), maxHeader)], Location: r.Location[:min(len(r.Location), maxHeader)],
	}
}

// located returns the id of the resource that a location below the base URL names, empty if it names no resource of the endpoint.
func located(location, endpoint string) string {
	rest, found := strings.CutPrefix(location, endpoint+"/")
	if !found || rest == "" || strings.ContainsAny(rest, "/?#") {
		return ""
	}
	id, err := url.PathUnescape(rest)
	if err != nil {
		return ""
	}
	return id
}

// combined returns the operation of a sequence that first confirmed an accepted change, with the operation `confirmed`, and then performed
// o: confirmed if o changed nothing, otherwise o.
func combined(confirmed engine.Operation, o engine.Operation) engine.Operation {
	if confirmed != "" && (o == engine.OpNone || o == engine.OpLookup || o == engine.OpLink && confirmed == engine.OpCreate) {
		return confirmed
	}
	return o
}

// outstanding records in out that an accepted change is not confirmed. It returns a failure if the time limit of the change has passed, nil
// otherwise.
func outstanding(out *Outcome, p *engine.Pending, expired bool) *failure {
	out.Status = http.StatusAccepted
	if !expired {
		return nil
	}
	out.Pending, out.Lapsed = nil, true
	return &failure{class: engine.Transient, status: http.StatusAccepted,
		message: string(p.Operation) + ": " + p.String() + ", not carried out"}
}

// Parts of the digests of an attribute: lengthKey ends the key of a list's length, nothing is the digest of an absent value.
const (
	lengthKey = "#"
	nothing   = ""
)

func digestOf(v any) string {
	sum := sha256.Sum256(scim.AppendValue(nil, v))
	return hex.EncodeToString(sum[:8])
}

// expect returns the expected attributes of a user after assignments. password and schemas are omitted: a target never returns passwords,
// and may set schemas itself.
func expect(set []assignment) map[string]engine.Expected {
	out := map[string]engine.Expected{}
	for _, a := range set {
		path := a.path()
		if path == "schemas" || path == passwordPath {
			continue
		}
		values := map[string]string{}
		flatten("", comparable(path, a.value), values)
		out[path] = engine.Expected{Sent: a.digest(), Values: values}
	}
	return out
}

// comparable returns a form of a value that is the same for all values that mean the same in a response, such as "True" and true for
// active.
func comparable(path string, v any) any {
	text, isText := v.(string)
	switch {
	case path == activePath && isText:
		return !strings.EqualFold(text, "false")
	case path == activePath && v == nil:
		return true
	case isText && scim.EqualName(path, "userName"):
		return strings.ToLower(text)
	}
	return v
}

// flatten adds the digests of the simple values in a value to out, by their position in the value. Within a complex value, false has the
// digest of an absent value.
func flatten(at string, v any, out map[string]string) {
	switch v := v.(type) {
	case *scim.Object:
		for name, inner := range v.All() {
			flatten(at+"."+strings.ToLower(name), inner, out)
		}
	case []any:
		if len(v) == 0 {
			out[at] = nothing
			return
		}
		out[at+lengthKey] = strconv.Itoa(len(v))
		for i, inner := range v {
			flatten(at+"["+strconv.Itoa(i)+"]", inner, out)
		}
	case nil:
		out[at] = nothing
	default:
		out[at] = digestOf(v)
		if v == false && at != "" {
			out[at] = nothing
		}
	}
}

// lacks returns the paths in which a user differs from the expectation, in order.
func lacks(e engine.Expectation, have *scim.Resource) (paths []string) {
	for path, want := range e.Attributes {
		shown := map[string]string{}
		flatten("", comparable(path, valueOf(&have.Object, path)), shown)
		if !shownIn(want, shown) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// shownIn reports whether an attribute of an account has all values that e expects. shown has the digests of the simple values of the
// attribute, by position.
func shownIn(e engine.Expected, shown map[string]string) bool {
	for at, digest := range e.Values {
		if shown[at] != digest {
			return false
		}
		if digest != nothing {
			continue
		}
		for other, value := range shown { // a digest below this position: the value is a complex one, not absent
			if strings.HasPrefix(other, at) && value != nothing {
				return false
			}
		}
	}
	return true
}

// valueOf returns the value at a path in the form that [Path] returns.
func valueOf(o *scim.Object, path string) any {
	if i := strings.LastIndexByte(path, ':'); i >= 0 && strings.HasPrefix(path, "urn:") {
		if v, whole := o.Get(path); whole {
			return v
		}
		o, path = o.Complex(path[:i]), path[i+1:]
	}
	return valueAt(o, strings.Split(path, "."))
}

// idsDigest identifies a set of ids.
func idsDigest(ids []string) string {
	all := make([]any, len(ids))
	for i, id := range slices.Sorted(slices.Values(ids)) {
		all[i] = id
	}
	return digestOf(all)
}

// met reports whether a group has the expected state. hidden reports that the target never returns its members.
func met(e engine.Expectation, have *scim.Resource, hidden bool) bool {
	if e.Name != "" && digestOf(have.Text("displayName")) != e.Name {
		return false
	}
	if hidden {
		return true
	}
	shown := memberIDs(have)
	if e.Members != "" {
		all := make([]string, 0, len(shown))
		for id := range shown {
			all = append(all, id)
		}
		if idsDigest(all) != e.Members {
			return false
		}
	}
	return !slices.ContainsFunc(e.Add, func(id string) bool { return !shown[id] }) &&
		!slices.ContainsFunc(e.Remove, func(id string) bool { return shown[id] })
}

// accept ends the sequence of a user with an accepted change. The engine sends nothing else until a read confirms the change.
func (u *user) accept(req Request, r Response) Step {
	p := pendingOf(req, r)
	if req.Op == engine.OpCreate {
		u.out.Operation, u.out.Origin = engine.OpCreate, engine.Unconfirmed
		p.RemoteID, p.PasswordVersion = located(p.Location, users), u.in.PasswordVersion
	} else {
		p.RemoteID, p.Version = u.out.RemoteID, u.writing.etag
		p.Expected.Attributes = expect(u.writing.set)
		if u.writing.visible() < len(u.writing.set) {
			// the version is unknown until the target has carried out the change
			p.PasswordVersion, u.out.PasswordVersion = u.in.PasswordVersion, ""
		}
	}
	u.out.Status, u.out.Pending = r.Status, p
	return u.end(engine.Accepted, "")
}

// isAbout reports whether the change applies to the resource with the id; a create applies if there is no id yet.
func isAbout(p *engine.Pending, remoteID string) bool {
	if p.Operation == engine.OpCreate {
		return remoteID == ""
	}
	return remoteID == p.RemoteID
}

// readAgain returns a copy with the number of reads incremented.
func readAgain(p *engine.Pending) *engine.Pending {
	next := *p
	next.Reads++
	return &next
}

// await reads the account and checks whether the target has carried out the accepted change.
func (u *user) await() Step {
	p := u.in.Pending
	creates := p.Operation == engine.OpCreate
	if !isAbout(p, u.out.RemoteID) {
		return u.start()
	}
	u.out.Pending, u.out.Operation, u.confirming = readAgain(p), p.Operation, true
	if p.RemoteID == "" {
		return u.lookup(func(_ Response, found []*scim.Resource) Step {
			if len(found) == 0 || !u.ours(found[0]) {
				return u.outstanding()
			}
			return u.carriedOut(found[0])
		})
	}
	return u.send(Request{Method: http.MethodGet, Path: resourcePath(users, p.RemoteID)}, func(r Response) Step {
		have, f := readBack(r)
		switch {
		case r.Err == nil && r.Status == http.StatusNotFound && !creates:
			u.out.Pending, u.out.Operation, u.confirming = nil, engine.OpNone, false // the account was deleted, which makes the change obsolete
			return u.start()
		case f != nil:
			return u.fail(f)
		case have == nil, creates && have.ID() != p.RemoteID:
			return u.outstanding()
		case creates:
			return u.carriedOut(have)
		}
		return u.compare(have, version(r))
	})
}

// readBack returns the resource in the response to a read. It returns nil if the resource does not exist (404) or is not available yet
// (202, 204).
func readBack(r Response) (*scim.Resource, *failure) {
	switch {
	case r.Err == nil && (r.Status == http.StatusNotFound || r.Status == http.StatusAccepted || r.Status == http.StatusNoContent):
		return nil, nil
	case !ok(r):
		return nil, fail(r).in("read")
	case r.Body == nil:
		return nil, transient(r, "read: the response has no body")
	}
	return &scim.Resource{Object: *r.Body}, nil
}

// compare compares the account with the expectation. If the time limit has passed and the account has some of the changed values, the
// change counts as carried out, and the other values as ignored by the target.
func (u *user) compare(have *scim.Resource, etag string) Step {
	p := u.in.Pending
	lacking := lacks(p.Expected, have)
	if len(lacking) == 0 {
		return u.carriedOut(have)
	}
	part := len(lacking) < len(p.Expected.Attributes) || p.Version != "" && etag != p.Version
	if !u.in.Expired || !part || slices.Contains(lacking, activePath) {
		return u.outstanding()
	}
	for _, path := range lacking {
		u.ignored.addRound(path, p.Expected.Attributes[path].Sent)
		u.withoutEffect = append(u.withoutEffect, path)
	}
	return u.carriedOut(have)
}

// outstanding ends the sequence as Accepted while the time limit of the change has not passed. Afterwards the sequence fails as Transient,
// so that the next one sends the change again.
func (u *user) outstanding() Step {
	u.confirming = false
	if f := outstanding(&u.out, u.in.Pending, u.in.Expired); f != nil {
		return u.fail(f)
	}
	return u.end(engine.Accepted, "")
}

// carriedOut continues with the account that was read.
func (u *user) carriedOut(have *scim.Resource) Step {
	p := u.in.Pending
	u.out.Pending, u.out.Confirmed, u.out.Operation, u.confirming = nil, p.Operation, engine.OpNone, false
	if p.Operation == engine.OpCreate {
		u.in.RemoteID = have.ID() // the created account
		if u.in.Want != engine.Active {
			u.link(have)
		}
	}
	if p.PasswordVersion != "" {
		u.out.PasswordVersion = p.PasswordVersion
	}
	if p.Operation == engine.OpCreate && u.in.Want == engine.Active {
		return u.adopt(have)
	}
	u.inactive, u.in.Activating = !active(have), false
	return u.start()
}

// accept ends the sequence of a group with an accepted change.
func (g *group) accept(req Request, r Response) Step {
	p := pendingOf(req, r)
	p.RemoteID = g.out.RemoteID
	switch c := req.Members; req.Op {
	case engine.OpCreate:
		g.out.Operation, g.out.Origin, g.out.Name = engine.OpCreate, engine.Unconfirmed, g.in.DisplayName
		p.RemoteID = located(p.Location, groups)
	case engine.OpDelete:
		p.Expected.Gone = true
	case engine.OpUpdate, engine.OpMembers, engine.OpNone, engine.OpLookup, engine.OpLink,
		engine.OpReactivate, engine.OpDeactivate, engine.OpUnlink:
		if c.Rename {
			p.Expected.Name, g.out.Name = digestOf(g.in.DisplayName), ""
		}
		if c.Replace {
			p.Expected.Members = idsDigest(remoteIDs(c.Add))
		} else {
			p.Expected.Add, p.Expected.Remove = remoteIDs(c.Add), remoteIDs(c.Remove)
		}
	}
	g.out.Status, g.out.Pending = r.Status, p
	return g.end(engine.Accepted, "")
}

func remoteIDs(members []engine.RemoteMember) []string {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	return ids
}

// await reads the group and checks whether the target has carried out the accepted change.
func (g *group) await() Step {
	p := g.in.Pending
	if !isAbout(p, g.out.RemoteID) {
		return g.start()
	}
	g.out.Pending, g.out.Operation, g.confirming = readAgain(p), p.Operation, true
	if p.RemoteID != "" {
		return g.readPending(p.RemoteID)
	}
	return g.lookup(func(_ Response, found []*scim.Resource) Step {
		if len(found) == 0 {
			return g.outstanding()
		}
		return g.readPending(found[0].ID()) // read the group itself, because lists may omit members
	})
}

func (g *group) readPending(id string) Step {
	p := g.in.Pending
	return g.send(Request{Method: http.MethodGet, Path: resourcePath(groups, id)}, func(r Response) Step {
		have, f := readBack(r)
		gone := r.Err == nil && r.Status == http.StatusNotFound
		switch {
		case gone && p.Operation == engine.OpDelete:
			g.out.Pending, g.out.Confirmed, g.out.Operation, g.confirming = nil, engine.OpDelete, engine.OpNone, false
			g.out.RemoteID, g.out.Origin = "", ""
			if g.in.Want == engine.Absent {
				g.out.Status = r.Status
				return g.end(engine.Done, "")
			}
			return g.start()
		case gone && p.Operation != engine.OpCreate:
			g.out.Pending, g.out.Operation, g.confirming = nil, engine.OpNone, false
			return g.start()
		case f != nil:
			return g.fail(f)
		case have == nil, p.Expected.Gone, p.Operation != engine.OpCreate && !met(p.Expected, have, g.traits[engine.MembersHidden]):
			return g.outstanding()
		}
		g.out.RemoteID = id
		return g.carriedOut(r, have)
	})
}

// outstanding ends the sequence as Accepted while the time limit of the change has not passed. Afterwards the sequence fails as Transient,
// so that the next one sends the change again.
func (g *group) outstanding() Step {
	g.confirming = false
	if f := outstanding(&g.out, g.in.Pending, g.in.Expired); f != nil {
		return g.fail(f)
	}
	return g.end(engine.Accepted, "")
}

// carriedOut continues with the group that was read: its present members are not sent again.
func (g *group) carriedOut(r Response, have *scim.Resource) Step {
	g.out.Pending, g.out.Confirmed, g.out.Operation, g.confirming = nil, g.in.Pending.Operation, engine.OpNone, false
	if g.in.Pending.Operation == engine.OpCreate {
		g.out.Origin, g.full = engine.Created, true
	}
	g.out.Name = have.Text("displayName")
	if g.in.Want != engine.Active {
		return g.start()
	}
	hidden := g.traits[engine.MembersHidden]
	if !g.full {
		shown := memberIDs(have)
		c := &Change{}
		there := func(m engine.RemoteMember) bool { return hidden || shown[m.ID] }
		for _, m := range g.in.Add {
			if there(m) {
				c.Add = append(c.Add, m)
			}
		}
		for _, m := range g.in.Remove {
			if hidden || !shown[m.ID] {
				c.Remove = append(c.Remove, m)
			}
		}
		g.acked = c
		g.in.Add = slices.DeleteFunc(slices.Clone(g.in.Add), there)
		g.in.Remove = slices.DeleteFunc(slices.Clone(g.in.Remove), func(m engine.RemoteMember) bool { return hidden || !shown[m.ID] })
		if len(g.in.Add)+len(g.in.Remove) == 0 && g.out.Name == g.in.DisplayName {
			return g.end(engine.Done, "")
		}
		return g.push()
	}
	all, f := g.members()
	switch {
	case f != nil:
		return g.fail(f)
	case g.out.Name == g.in.DisplayName && (hidden || sameMembers(have, all)):
		return g.pushed(r, all)
	case g.puts():
		return g.pushByPut()
	}
	return g.replaceByDeltas(all)
}
