package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// On a target that deletes no objects, the client flows share objects: the first flow creates them, and each later flow replaces them by
// PUT with the bodies that the client would create.

// send sends the request of a step. If the request is a POST whose object could not be removed later, send may send a PUT of the same body
// to a shared object instead.
func (t *clientSession) send(ctx context.Context, c *T, step Step, req Request) *Response {
	if t.unshared != "" {
		c.Skip("blocked: " + t.unshared)
	}
	body, ok := req.Body.(Doc)
	if !ok || req.Method != http.MethodPost || t.session.skipReason(req.Path) == "" {
		return c.Call(ctx, req)
	}
	if !slices.Contains(step.Status, http.StatusCreated) {
		// The client expects an error, but a faulty target may create an object.
		if !t.session.created.hasRoom(ctx, 1, maxHeld) {
			t.unsent = fmt.Sprintf("%s, and %s was not sent, because an object that the target creates in place of the expected "+
				"error would remain; --keep-going sends it",
				t.session.created.removal.refusal(req.Path), req.name())
			c.Skip("not sent: " + t.unsent)
		}
		return c.Call(ctx, req)
	}
	if t.mayCreate(ctx, req.Path) {
		return c.Call(ctx, req)
	}
	res := t.replace(ctx, c, req.Path, body)
	c.Note("%s was not sent, because the target would not delete the object; instead, %s sent the body to an object that the "+
		"client flows share", req.name(), res.Name)
	created := *res
	created.Name, created.Status = req.name(), http.StatusCreated
	return &created
}

// maxShared is the number of objects of one collection that a client flow needs at most.
const maxShared = 2

// mayCreate reports whether the flow may create an object in a collection whose objects cannot be deleted: fewer than maxShared objects
// remain in the collection, and fewer than maxHeldFlow on the whole target.
func (t *clientSession) mayCreate(ctx context.Context, collection string) bool {
	e := t.session.created
	return e.removal.heldIn(collection) < maxShared && e.hasRoom(ctx, 1, maxHeldFlow)
}

// replace sends a PUT to a shared object of the collection that the flow does not use yet. It returns the response with the new state. If
// no shared object can be replaced, replace skips the step, and the flow has no verdict.
func (t *clientSession) replace(ctx context.Context, c *T, collection string, body Doc) *Response {
	e := t.session.created
	body = maps.Clone(body)
	// The object may have values from an earlier flow, so these attributes are reset if the body omits them.
	for name, value := range map[string]map[string]any{"/Users": {"active": true}, "/Groups": {"members": []any{}}}[collection] {
		if _, given := body[name]; !given {
			body[name] = value
		}
	}
	problem := "no object that the client flows share is left for this flow"
	for _, shared := range e.removal.pool[collection] {
		if slices.ContainsFunc(t.taken, func(o *Created) bool { return o.Path() == shared.Path() }) {
			continue
		}
		t.taken = append(t.taken, shared)
		switch res := c.Put(ctx, shared.Path(), body); {
		case !res.OK():
			problem = "the object that the client flows share could not be replaced: " + res.Name + " returned " + statusText(res.Status)
		case res.Object() == nil:
			shared.name = nameIn(body, e.naming[collection])
			return c.Read(ctx, shared.Path())
		default:
			shared.name = nameIn(body, e.naming[collection])
			return res
		}
	}
	t.unshared = e.removal.refusal(collection) + ", and " + problem
	c.Skip("blocked: " + t.unshared)
	return nil
}

// object returns an object for a request that is not a step of the client: a new one, or a shared one.
func (t *clientSession) object(ctx context.Context, c *T, collection string, body Doc) *Created {
	if t.session.skipReason(collection) == "" {
		return c.Create(ctx, collection, body)
	}
	t.replace(ctx, c, collection, body)
	return t.taken[len(t.taken)-1]
}
