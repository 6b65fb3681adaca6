package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// A pendingDelete is an object whose deletion the target has reported with the given status. No GET has confirmed the deletion yet.
type pendingDelete struct {
	object *Created
	status int
}

// markDeleted records the response to the DELETE of an object. A 204 closes the entry in the journal immediately. After any other success
// the entry stays open until [createdObjects.confirmDeletes] has read the object.
func (e *createdObjects) markDeleted(c *Created, status int) {
	c.gone = true
	delete(e.owned, c.Path())
	if e.removal.refusal(c.Collection) != "" {
		e.removal.hold(c)
	}
	if !slices.ContainsFunc(e.deletes, func(d pendingDelete) bool { return d.object.Path() == c.Path() }) {
		e.deletes = append(e.deletes, pendingDelete{c, status})
	}
	if status == http.StatusNoContent {
		e.journaled(e.journal.gone(c.entry))
	}
}

// confirmDeletes reads the objects whose deletion the target has reported. Objects that still exist become leftovers; confirmDeletes
// returns their number.
//
// For a conforming target this takes one request per collection: confirmDeletes reads the first object of each collection. It also reads
// every object whose DELETE returned another status than 204. If the parameter `all` is set, or one of these objects still exists, it reads
// all objects. It runs at the end of a run because some targets need a moment to delete.
func (e *createdObjects) confirmDeletes(ctx context.Context, all bool) (kept int) {
	var sampledOut []pendingDelete
	sampled := map[string]bool{}
	for _, d := range e.deletes {
		if !all && d.status == http.StatusNoContent && sampled[d.object.Collection] {
			sampledOut = append(sampledOut, d)
			continue
		}
		sampled[d.object.Collection] = true
		kept += e.confirmDelete(ctx, d)
	}
	if kept > 0 {
		for _, d := range sampledOut {
			kept += e.confirmDelete(ctx, d)
		}
	}
	e.deletes = nil
	return kept
}

// confirmDelete reads one object whose deletion the target has reported. If the object still exists, confirmDelete deletes it once more. It
// returns 1 if the object became a leftover, else 0.
func (e *createdObjects) confirmDelete(ctx context.Context, d pendingDelete) int {
	said := fmt.Sprintf("DELETE %s returned %s", d.object.Path(), statusText(d.status))
	read := Request{Method: http.MethodGet, Path: d.object.Path()}
	res, err := e.attempt(ctx, read, transient)
	if err == nil && remains(res, d.object) {
		if _, err = e.wire.call(ctx, Request{Method: http.MethodDelete, Path: d.object.Path()}, true); err == nil {
			res, err = e.attempt(ctx, read, transient)
		}
	}
	switch {
	case err == nil && isAbsent(res.Status):
		if d.status != http.StatusNoContent {
			e.journaled(e.journal.gone(d.object.entry))
		}
		return 0
	case err == nil && remains(res, d.object):
		e.addLeftover(d.object, said+", but "+res.Name+" still returns it")
	case d.status == http.StatusNoContent:
		return 0 // a 204 suffices, because the response to the GET does not contradict it
	case err != nil:
		e.addLeftover(d.object, said+", and the deletion could not be verified: "+err.Error())
	default:
		e.addLeftover(d.object, said+", and the deletion could not be verified: "+res.Name+" returned "+statusText(res.Status))
	}
	if d.status == http.StatusNoContent {
		e.reopen(d.object)
	}
	return 1
}

// remains reports whether the response to a GET of an object contains the object.
func remains(res *Response, c *Created) bool { return res.OK() && res.Object().Text("id") == c.ID }

// reopen adds an entry to the journal for an object whose entry was closed too early.
func (e *createdObjects) reopen(c *Created) {
	entry, err := e.journal.next(openEntry{collection: c.Collection, attribute: e.naming[c.Collection], name: c.name})
	e.journaled(err)
	c.entry = entry
	e.journaled(e.journal.created(entry, c.Collection, c.ID))
}
