package plan

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Paths that are treated in their own way.
const (
	activePath   = "active"
	passwordPath = "password"
)

// change is what is wanted different at an account, and the ways in which that can be asked for.
//
// A way that is refused as such (405, 501, for PATCH also 400; 404 where the account is there) or that is answered with success and
// has no effect is followed by the next one, if there is one. A response that shows the account with what was sent is enough. Otherwise the
// account is read back, once for each way: when the response lacks a value, does not show the account (204, or a body without userName)
// or shows the version that it had before. The last two are believed once the target was seen to mean them ([PatchTrusted], [PutTrusted]).
type change struct {
	what string // begins messages: update, deactivate, reactivate
	op   engine.Operation
	set  []assignment
	have *scim.Resource // as last read, nil when it was not
	etag string         // of have
	ways []way
	// style is the one whose first form is not an Alternative.
	style engine.Style

	tried   []attempt
	missing []assignment // of the last way that had no effect
	read    bool         // that was seen by reading back

	// again starts over when the account was changed meanwhile; then goes on after a success with the account as far as known.
	again func() Step
	then  func(r Response, now *scim.Resource) Step
}

func setActive(value bool) assignment { return assignment{[]string{activePath}, value} }

// must says whether the change is void without its effect: whoever is deactivated must not stay active.
func (c *change) must() bool {
	return slices.ContainsFunc(c.set, func(a assignment) bool { return a.path() == activePath })
}

// visible counts the assignments whose effect can be seen: nobody is shown a password.
func (c *change) visible() (n int) {
	for _, a := range c.set {
		if a.path() != passwordPath {
			n++
		}
	}
	return n
}

// write tries the next way.
func (u *user) write(c *change) Step {
	u.did(c.op)
	u.writing = c
	if len(c.ways) == 0 {
		return u.exhausted(c)
	}
	w := c.ways[0]
	c.ways = c.ways[1:]
	if w == byPut {
		return u.writeByPut(c)
	}
	operations := patchOperations(c.set, w)
	if len(operations) == 0 {
		return c.then(Response{Status: u.out.Status}, c.have)
	}
	req := Request{
		Method: http.MethodPatch, Path: resourcePath(users, u.out.RemoteID), Body: patchBody(operations...), Op: c.does(), Also: c.besides(),
		Alternative: c.alternative(w),
	}
	return u.send(req, func(r Response) Step { return u.answered(c, w, r) })
}

func (u *user) writeByPut(c *change) Step {
	vain := slices.ContainsFunc(c.tried, func(a attempt) bool { return a.refusal == nil })
	if c.have == nil || vain { // what a PATCH without a visible effect left behind is not known
		return u.get(func(r Response, have *scim.Resource) Step {
			c.have, c.etag = have, r.ETag
			if _, told := have.Get(activePath); told && c.must() && len(missing(c.set, have)) == 0 {
				u.out.Status = r.Status
				return c.then(r, have)
			}
			if u.in.Want == engine.Active && u.in.Update { // a read that is behind must not take back what was written before it
				c.have = assigned(have, u.unkept.worth(overlay(have, u.desired())))
			}
			return u.sendPut(c)
		})
	}
	return u.sendPut(c)
}

// sendPut sends the whole account. Of a user who is to be active it never says that the account is not.
func (u *user) sendPut(c *change) Step {
	body := assigned(c.have, c.set)
	if u.in.Want == engine.Active && !active(body) {
		c.set = append(c.set, setActive(true))
		body = assigned(c.have, c.set)
		u.did(engine.OpReactivate)
	}
	req := Request{
		Method: http.MethodPut, Path: resourcePath(users, u.out.RemoteID), IfMatch: c.etag, Body: &body.Object, Op: c.does(), Also: c.besides(),
		Alternative: c.alternative(byPut),
	}
	return u.send(req, func(r Response) Step { return u.answered(c, byPut, r) })
}

func (u *user) answered(c *change, w way, r Response) Step {
	switch {
	case r.Err == nil && r.Status == http.StatusNotFound:
		return u.absent(c, w, r)
	case w == byPut && r.Err == nil && r.Status == http.StatusPreconditionFailed:
		return c.again()
	case unsupported(r), w != byPut && misformed(r):
		c.tried = append(c.tried, attempt{w, fail(r)})
		if unsupported(r) {
			c.withoutMethod(w)
		}
		return u.write(c)
	case !ok(r):
		if unsure(r) && c.visible() < len(c.set) {
			u.out.PasswordVersion = "" // it may have the new one
		}
		return u.fail(fail(r).in(c.what))
	}
	u.out.Status = r.Status
	return u.verify(c, w, r)
}

// withoutMethod drops the other ways with the method of one that the target does not have.
func (c *change) withoutMethod(w way) {
	c.ways = slices.DeleteFunc(c.ways, func(other way) bool { return (other == byPut) == (w == byPut) })
}

// absent finds out what a 404 to a change is about: the account, or the form of the request, which the target may have no route for.
func (u *user) absent(c *change, w way, r Response) Step {
	return u.send(Request{Method: http.MethodGet, Path: resourcePath(users, u.out.RemoteID)}, func(read Response) Step {
		switch {
		case missed(read):
			return u.gone(read)
		case !ok(read):
			return u.fail(fail(read).in("read back"))
		}
		if read.Body != nil && c.must() {
			now := &scim.Resource{Object: *read.Body}
			if _, told := now.Get(activePath); told && len(missing(c.set, now)) == 0 {
				u.out.Status = read.Status
				return c.then(read, now)
			}
		}
		r.Page = "" // what has no route for the method may say so with a page
		refusal := fail(r)
		refusal.message += ", although the account " + u.out.RemoteID + " is there"
		c.tried = append(c.tried, attempt{w, refusal})
		c.withoutMethod(w)
		return u.write(c)
	})
}

// verify finds out whether a change that was answered with success had its effect.
//
// Invariant 10: The engine treats a write as successful only if the response contains the new state. After a 204 or a response with the
// previous version it reads the account back, until the target has applied such a write once. A deactivation without effect is a
// failure.
func (u *user) verify(c *change, w way, r Response) Step {
	trust := engine.PatchTrusted
	if w == byPut {
		trust = engine.PutTrusted
	}
	shown := c.shown(r)
	if c.visible() == 0 {
		return u.effective(c, w, r, shown)
	}
	doubt := shown == nil || c.etag != "" && version(r) == c.etag
	switch {
	case shown == nil && u.traits[trust]:
		return u.effective(c, w, r, nil)
	case shown != nil && (!doubt || u.traits[trust]) && len(missing(c.set, shown)) == 0:
		return u.judge(c, w, r, shown, false)
	}
	return u.send(Request{Method: http.MethodGet, Path: resourcePath(users, u.out.RemoteID)}, func(read Response) Step {
		switch {
		case missed(read):
			return u.gone(read)
		case !ok(read):
			return u.fail(fail(read).in("read back"))
		case read.Body == nil:
			return u.fail(transient(read, "read back: the answer has no body"))
		}
		now := &scim.Resource{Object: *read.Body}
		if doubt && len(missing(c.set, now)) == 0 {
			u.learn(engine.Traits{trust: true})
		}
		return u.judge(c, w, read, now, true)
	})
}

// shown returns the account as an answer shows it, nil when it does not.
func (c *change) shown(r Response) *scim.Resource {
	if r.Body == nil {
		return nil
	}
	_, named := r.Body.Get("userName")
	_, told := r.Body.Get(activePath)
	if named || told && len(c.set) == 1 && c.must() {
		return &scim.Resource{Object: *r.Body}
	}
	return nil
}

// judge compares what was sent with what the account is seen to have. When nothing of it is there, another method may do it.
func (u *user) judge(c *change, w way, r Response, shown *scim.Resource, read bool) Step {
	lacking := missing(c.set, shown)
	void := len(lacking) == c.visible()
	if c.must() {
		void = slices.ContainsFunc(lacking, func(a assignment) bool { return a.path() == activePath })
	}
	if !void {
		u.unkept.sent(c.set, lacking, read)
		return u.effective(c, w, r, shown)
	}
	if !c.must() { // the form is not at fault; and a value that was not kept before is no news
		fought := u.in.Style == engine.Wizard || u.unkept.fought(c.set)
		c.ways = slices.DeleteFunc(c.ways, func(other way) bool { return fought || (other == byPut) == (w == byPut) })
		c.ways = c.ways[:min(len(c.ways), 1)]
	}
	c.tried = append(c.tried, attempt{way: w})
	c.missing, c.read = lacking, read
	return u.write(c)
}

// effective goes on after a success.
func (u *user) effective(c *change, w way, r Response, shown *scim.Resource) Step {
	u.learn(lessons(c.tried, w))
	if shown == nil {
		u.unkept.sent(c.set, nil, false)
	}
	return c.then(r, shown)
}

// exhausted ends a change that no way brought about.
func (u *user) exhausted(c *change) Step {
	var vain []string
	for _, a := range c.tried {
		if a.refusal == nil {
			vain = append(vain, string(a.way))
		}
	}
	switch {
	case len(vain) == 0:
		return u.fail(c.tried[0].refusal.in(c.what))
	case c.must():
		return u.fail(&failure{class: engine.Rejected, status: u.out.Status, message: c.what + ": the target answers with success, but the " +
			"account stays " +
			map[bool]string{true: "inactive", false: "active"}[c.activates()] + " (" + strings.Join(vain, ", ") + ")"})
	}
	u.unkept.sent(c.set, c.missing, c.read)
	return c.then(Response{Status: u.out.Status}, nil)
}

// activates says which of the two a change of active is.
func (c *change) activates() bool {
	return slices.ContainsFunc(c.set, func(a assignment) bool { return a.path() == activePath && a.value == true })
}

// does says what a request for the change changes.
func (c *change) does() engine.Operation {
	if c.activates() {
		return engine.OpReactivate
	}
	return c.op
}

// besides says what else it changes: a PUT may reactivate and update.
func (c *change) besides() engine.Operation {
	if c.activates() && len(c.set) > 1 {
		return engine.OpUpdate
	}
	return ""
}

// patchOperations words assignments as PATCH operations, one each.
func patchOperations(set []assignment, w way) (out []*scim.Object) {
	for _, a := range set {
		op, path := "replace", a.path()
		switch {
		case path == "schemas": // belongs to the server
			continue
		case a.clears():
			out = append(out, operation("remove", path, nil))
			continue
		case w == byBarePatch:
			value := scim.NewObject()
			a.set(value)
			out = append(out, operation(op, "", value))
		default:
			out = append(out, operation(op, path, a.value))
		}
	}
	return out
}

// operation is one PATCH operation; an empty path and a nil value are left out.
func operation(op, path string, value any) *scim.Object {
	o := scim.NewObject(scim.Member{Name: "op", Value: op})
	if path != "" {
		o.Set("path", path)
	}
	if value != nil {
		o.Set("value", value)
	}
	return o
}

func patchBody(operations ...*scim.Object) *scim.Object {
	list := make([]any, len(operations))
	for i, o := range operations {
		list[i] = o
	}
	return scim.NewObject(
		scim.Member{Name: "schemas", Value: []string{scim.PatchOpMessage}},
		scim.Member{Name: "Operations", Value: list},
	)
}

// version is the entity tag of an answer, or what its body says about it.
func version(r Response) string {
	if r.ETag != "" || r.Body == nil {
		return r.ETag
	}
	return (&scim.Resource{Object: *r.Body}).Meta().Version
}
