package plan

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Paths of the attributes that a sequence treats differently from all others.
const (
	activePath   = "active"
	passwordPath = "password"
)

// change is a change of an account, and the forms in which it can be requested.
//
// If a form is rejected as unsupported (405, 501, for PATCH also 400; 404 if the account exists), or returns success without effect, the
// next one follows. A form has its effect if the response contains the account with the sent values. The account is read back, once for
// each form, if the response lacks a value, lacks the account (204, or a body without userName) or has the previous version. In the last
// two cases no read follows if an earlier read has shown that the target applies such writes ([PatchTrusted], [PutTrusted]).
type change struct {
	what  string // prefix of messages: update, deactivate or reactivate
	op    engine.Operation
	set   []assignment
	have  *scim.Resource // the account as last read; nil if the sequence has not read it
	etag  string         // entity tag of have
	forms []form
	// style is the update style. A form that this style does not prefer is an Alternative.
	style engine.Style

	tried   []attempt
	missing []assignment // the assignments that the last attempt did not apply
	read    bool         // missing was determined by a read of the account, not from the response

	// again starts the change from scratch if the account was changed concurrently. then continues after a success; now is the account as
	// changed, nil if unknown.
	again func() Step
	then  func(r Response, now *scim.Resource) Step
}

func setActive(value bool) assignment { return assignment{[]string{activePath}, value} }

// mustTakeEffect reports whether the change fails if it has no effect. A change of active does, because a user must not stay active after a
// deactivation.
func (c *change) mustTakeEffect() bool {
	return slices.ContainsFunc(c.set, func(a assignment) bool { return a.path() == activePath })
}

// visible returns the number of assignments whose effect a read can show. A password is not counted, because a target never returns it.
func (c *change) visible() (n int) {
	for _, a := range c.set {
		if a.path() != passwordPath {
			n++
		}
	}
	return n
}

// write sends the change in the first of the remaining forms.
func (u *user) write(c *change) Step {
	u.did(c.op)
	u.writing = c
	if len(c.forms) == 0 {
		return u.exhausted(c)
	}
	w := c.forms[0]
	c.forms = c.forms[1:]
	if w == byPut {
		return u.writeByPut(c)
	}
	operations := patchOperations(c.set, w)
	if len(operations) == 0 {
		return c.then(Response{Status: u.out.Status}, c.have)
	}
	req := Request{
		Method: http.MethodPatch, Path: resourcePath(users, u.out.RemoteID), Body: patchBody(operations...), Op: c.requestOp(),
		Also:        c.requestAlso(),
		Alternative: c.alternative(w),
	}
	return u.send(req, func(r Response) Step { return u.handleResponse(c, w, r) })
}

func (u *user) writeByPut(c *change) Step {
	vain := slices.ContainsFunc(c.tried, func(a attempt) bool { return a.refusal == nil })
	if c.have == nil || vain { // an attempt had no visible effect, so that the state of the account is unknown: read it
		return u.get(func(r Response, have *scim.Resource) Step {
			c.have, c.etag = have, r.ETag
			if _, told := have.Get(activePath); told && c.mustTakeEffect() && len(missing(c.set, have)) == 0 {
				u.out.Status = r.Status
				return c.then(r, have)
			}
			// the read may be stale: include all desired values, so that the PUT does not revert an earlier write
			if u.in.Want == engine.Active && u.in.Update {
				c.have = assigned(have, u.ignored.withoutIgnored(overlay(have, u.desired())))
			}
			return u.sendPut(c)
		})
	}
	return u.sendPut(c)
}

// sendPut sends the complete account. For an active user it always sets active to true.
func (u *user) sendPut(c *change) Step {
	body := assigned(c.have, c.set)
	if u.in.Want == engine.Active && !active(body) {
		c.set = append(c.set, setActive(true))
		body = assigned(c.have, c.set)
		u.did(engine.OpReactivate)
	}
	req := Request{
		Method: http.MethodPut, Path: resourcePath(users, u.out.RemoteID), IfMatch: c.etag, Body: &body.Object, Op: c.requestOp(),
		Also:        c.requestAlso(),
		Alternative: c.alternative(byPut),
	}
	return u.send(req, func(r Response) Step { return u.handleResponse(c, byPut, r) })
}

func (u *user) handleResponse(c *change, w form, r Response) Step {
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
		if mayHaveEffect(r) && c.visible() < len(c.set) {
			u.out.PasswordVersion = "" // the version is unknown: the account may have the new password
		}
		return u.fail(fail(r).in(c.what))
	}
	u.out.Status = r.Status
	return u.verify(c, w, r)
}

// withoutMethod removes the remaining forms with the method of w, which the target does not support.
func (c *change) withoutMethod(w form) {
	c.forms = slices.DeleteFunc(c.forms, func(other form) bool { return (other == byPut) == (w == byPut) })
}

// absent determines whether a 404 to a change means a missing account or an unsupported form of the request.
func (u *user) absent(c *change, w form, r Response) Step {
	return u.send(Request{Method: http.MethodGet, Path: resourcePath(users, u.out.RemoteID)}, func(read Response) Step {
		switch {
		case notFound(read):
			return u.gone(read)
		case !ok(read):
			return u.fail(fail(read).in("read back"))
		}
		if read.Body != nil && c.mustTakeEffect() {
			now := &scim.Resource{Object: *read.Body}
			if _, told := now.Get(activePath); told && len(missing(c.set, now)) == 0 {
				u.out.Status = read.Status
				return c.then(read, now)
			}
		}
		r.Page = "" // the account exists, so that the 404 is a rejection even if its body is an HTML page
		refusal := fail(r)
		refusal.message += ", although the account " + u.out.RemoteID + " exists"
		c.tried = append(c.tried, attempt{w, refusal})
		c.withoutMethod(w)
		return u.write(c)
	})
}

// verify determines whether a change that returned success had its effect.
//
// Invariant 10: The engine treats a write as successful only if the response contains the new state. After a 204, or a response with the
// previous version, it reads the account to verify the write. The engine omits these reads after one of them has shown that the target
// applies such writes. A deactivation without effect is a failure.
func (u *user) verify(c *change, w form, r Response) Step {
	trust := engine.PatchTrusted
	if w == byPut {
		trust = engine.PutTrusted
	}
	shown := c.shown(r)
	if c.visible() == 0 {
		return u.succeeded(c, w, r, shown)
	}
	doubt := shown == nil || c.etag != "" && version(r) == c.etag
	switch {
	case shown == nil && u.traits[trust]:
		return u.succeeded(c, w, r, nil)
	case shown != nil && (!doubt || u.traits[trust]) && len(missing(c.set, shown)) == 0:
		return u.evaluate(c, w, r, shown, false)
	}
	return u.send(Request{Method: http.MethodGet, Path: resourcePath(users, u.out.RemoteID)}, func(read Response) Step {
		switch {
		case notFound(read):
			return u.gone(read)
		case !ok(read):
			return u.fail(fail(read).in("read back"))
		case read.Body == nil:
			return u.fail(transient(read, "read back: the response has no body"))
		}
		now := &scim.Resource{Object: *read.Body}
		if doubt && len(missing(c.set, now)) == 0 {
			u.learn(engine.Traits{trust: true})
		}
		return u.evaluate(c, w, read, now, true)
	})
}

// shown returns the account in a response, nil if there is none.
func (c *change) shown(r Response) *scim.Resource {
	if r.Body == nil {
		return nil
	}
	_, named := r.Body.Get("userName")
	_, told := r.Body.Get(activePath)
	if named || told && len(c.set) == 1 && c.mustTakeEffect() {
		return &scim.Resource{Object: *r.Body}
	}
	return nil
}

// evaluate compares the sent values with the account. If none of the values took effect, the next form follows.
func (u *user) evaluate(c *change, w form, r Response, shown *scim.Resource, read bool) Step {
	lacking := missing(c.set, shown)
	void := len(lacking) == c.visible()
	if c.mustTakeEffect() {
		void = slices.ContainsFunc(lacking, func(a assignment) bool { return a.path() == activePath })
	}
	if !void {
		u.ignored.sent(c.set, lacking, read)
		return u.succeeded(c, w, r, shown)
	}
	// try only one form with the other method, and none in the style Wizard or if the target has ignored one of the values before
	if !c.mustTakeEffect() {
		fought := u.in.Style == engine.Wizard || u.ignored.hadNoEffect(c.set)
		c.forms = slices.DeleteFunc(c.forms, func(other form) bool { return fought || (other == byPut) == (w == byPut) })
		c.forms = c.forms[:min(len(c.forms), 1)]
	}
	c.tried = append(c.tried, attempt{form: w})
	c.missing, c.read = lacking, read
	return u.write(c)
}

// succeeded continues after a success.
func (u *user) succeeded(c *change, w form, r Response, shown *scim.Resource) Step {
	u.learn(learnedTraits(c.tried, w))
	if shown == nil {
		u.ignored.sent(c.set, nil, false)
	}
	return c.then(r, shown)
}

// exhausted ends a change after all its forms have failed.
func (u *user) exhausted(c *change) Step {
	var vain []string
	for _, a := range c.tried {
		if a.refusal == nil {
			vain = append(vain, string(a.form))
		}
	}
	switch {
	case len(vain) == 0:
		return u.fail(c.tried[0].refusal.in(c.what))
	case c.mustTakeEffect():
		return u.fail(&failure{class: engine.Rejected, status: u.out.Status, message: c.what + ": the target returned success, but the " +
			"account remains " +
			map[bool]string{true: "inactive", false: "active"}[c.activates()] + " (" + strings.Join(vain, ", ") + ")"})
	}
	u.ignored.sent(c.set, c.missing, c.read)
	return c.then(Response{Status: u.out.Status}, nil)
}

// activates reports whether the change sets active to true.
func (c *change) activates() bool {
	return slices.ContainsFunc(c.set, func(a assignment) bool { return a.path() == activePath && a.value == true })
}

// requestOp returns the operation of a request for the change.
func (c *change) requestOp() engine.Operation {
	if c.activates() {
		return engine.OpReactivate
	}
	return c.op
}

// requestAlso returns a further operation of the request: a PUT may reactivate and update.
func (c *change) requestAlso() engine.Operation {
	if c.activates() && len(c.set) > 1 {
		return engine.OpUpdate
	}
	return ""
}

// patchOperations converts assignments to PATCH operations, one each.
func patchOperations(set []assignment, w form) (out []*scim.Object) {
	for _, a := range set {
		op, path := "replace", a.path()
		switch {
		case path == "schemas": // a client cannot change the schemas by PATCH
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

// operation returns one PATCH operation; an empty path and a nil value are omitted.
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

// version returns the entity tag of a response, or the version in its body.
func version(r Response) string {
	if r.ETag != "" || r.Body == nil {
		return r.ETag
	}
	return (&scim.Resource{Object: *r.Body}).Meta().Version
}
