package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// createdObjects tracks the objects that a run creates on the target, and the journal that lists them.
type createdObjects struct {
	wire    *wire
	run     string // the marker: part of the name of every created object
	journal *journal
	naming  map[string]string     // collection -> the attribute that contains the names of its objects
	owned   map[string]bool       // the paths of the objects that the run has created and not yet removed
	wrote   bool                  // the target has created at least one object
	settle  func(context.Context) // waits until the last write is visible
	broken  error                 // not nil if the journal cannot be written; the run then creates no further objects

	deletes   []pendingDelete // deletions that no GET has confirmed yet
	stuck     []stuckObject   // objects that the target did not delete; the run deletes them again at its end
	leftovers []Leftover
	removal   removal
	blind     map[string]bool     // the collections in which a filter by name has failed
	listings  map[string]*listing // the collections that the run has listed in search of its objects

	fixtures map[fixtureKey]*builtFixture
	shared   []*Created // the objects of fixtures, removed at the end of the run
}

// A fixtureKey identifies the objects of a fixture. A fixture is built once for each substitution of attributes.
type fixtureKey struct {
	fixture      *Fixture
	substitution string
}

// A stuckObject is an object that the target did not delete, with the reason.
type stuckObject struct {
	object *Created
	reason string
}

type builtFixture struct {
	objects map[string]*Created
	blocked string // why the fixture could not be built; empty if it was built
	by      *Blocker
	sent    []Request
}

func newCreatedObjects(w *wire, run string, j *journal) *createdObjects {
	return &createdObjects{wire: w, run: run, journal: j, naming: naming(), owned: map[string]bool{}, fixtures: map[fixtureKey]*builtFixture{},
		removal: newRemoval(), blind: map[string]bool{}, listings: map[string]*listing{}}
}

// newMarker returns a marker for a run.
func newMarker() string { return "scimconf-" + strings.ToLower(rand.Text()[:8]) }

const (
	// maxTries is the maximum number of attempts to delete an object, and to look one up.
	maxTries = 3
	// firstRetry is the wait before the second attempt. The wait triples with each further attempt.
	firstRetry = 50 * time.Millisecond
	// maxPatience is the maximum time that a run spends in the waits between these attempts. After that time, an attempt follows immediately.
	maxPatience = 5 * time.Second
)

// remove deletes the objects of a ledger, newest first. It records each object that the target does not delete in e.stuck. After an
// interrupted run, the caller passes a new context, because the context of the run has ended.
func (e *createdObjects) remove(ctx context.Context, ledger []*Created) {
	if len(ledger) > 0 {
		e.settle(ctx)
	}
	for _, c := range slices.Backward(ledger) {
		if c.gone {
			continue
		}
		if refusal := e.removal.refusal(c.Collection); refusal != "" {
			e.stick(c, refusal) // removeStuck tries once more at the end of the run
			continue
		}
		if reason := e.delete(ctx, c); reason != "" {
			e.stick(c, reason)
		}
	}
}

// stick records an object that the target did not delete.
func (e *createdObjects) stick(c *Created, reason string) {
	e.stuck = append(e.stuck, stuckObject{c, reason})
	if e.removal.refusal(c.Collection) == "" {
		return
	}
	for _, s := range e.stuck {
		if s.object.Collection == c.Collection {
			e.removal.hold(s.object)
		}
	}
}

// removeStuck deletes the objects in e.stuck again, newest first. As long as an attempt over all of them deletes an object, another one
// follows, because a target may reject the deletion of an object to which another object refers. The objects that remain become leftovers.
func (e *createdObjects) removeStuck(ctx context.Context) {
	for rounds := 0; len(e.stuck) > 0; rounds++ {
		var remaining []stuckObject
		for _, s := range slices.Backward(e.stuck) {
			if s.object.gone {
				continue
			}
			if reason := e.delete(ctx, s.object); reason != "" {
				remaining = append(remaining, stuckObject{s.object, reason})
			}
		}
		slices.Reverse(remaining)
		progress := len(remaining) < len(e.stuck)
		e.stuck = remaining
		if !progress || rounds == maxTries {
			break
		}
	}
	for _, s := range e.stuck {
		e.addLeftover(s.object, s.reason)
	}
	e.stuck = nil
}

// delete deletes one object. After a failure that may be temporary it makes up to maxTries attempts. It returns why the object remains, ""
// if the target has reported the deletion or the object is absent.
func (e *createdObjects) delete(ctx context.Context, c *Created) (reason string) {
	res, err := e.attempt(ctx, Request{Method: http.MethodDelete, Path: c.Path()}, transientDelete)
	switch {
	case err != nil:
		reason = err.Error()
	case res.OK(), isAbsent(res.Status):
		e.removal.succeeded(c.Collection)
		e.markDeleted(c, res.Status)
		return ""
	default:
		reason = res.Name + " returned " + statusText(res.Status)
	}
	if ctx.Err() == nil {
		e.removal.failed(c.Collection, rejection(res))
	}
	return reason
}

// attempt sends a request that is safe to repeat, up to maxTries times, as long as it gets no response or a response for which the function
// `again` returns true. It does not change the number of consecutive requests without a response, because a target that only drops
// DELETE requests can still be tested.
func (e *createdObjects) attempt(ctx context.Context, req Request, again func(status int) bool) (*Response, error) {
	unanswered := e.wire.unanswered
	defer func() { e.wire.unanswered = min(e.wire.unanswered, unanswered) }()
	wait := firstRetry
	for try := 1; ; try++ {
		res, err := e.wire.attempt(ctx, req, true)
		if err == nil && !again(res.Status) || try == maxTries || !e.removal.pause(ctx, wait) {
			return res, err
		}
		wait *= 3
	}
}

// transientDelete reports whether a DELETE that got the status may succeed later.
func transientDelete(status int) bool {
	return transient(status) || slices.Contains([]int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked}, status)
}

// transient reports whether a request that got the status may succeed later.
func transient(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// isAbsent reports whether a status means that the requested object does not exist.
func isAbsent(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

// addLeftover records an object that remains on the target, once per path and name.
func (e *createdObjects) addLeftover(c *Created, reason string) {
	where := c.Path()
	if c.ID == "" {
		where = c.Collection
	}
	if !slices.ContainsFunc(e.leftovers, func(l Leftover) bool { return l.Path == where && (c.ID != "" || l.Name == c.name) }) {
		e.leftovers = append(e.leftovers, Leftover{Path: where, Name: c.name, Reason: reason})
	}
}

// handled reports whether nothing remains to be done for an object: the target has reported its deletion, or the object is stuck or a
// leftover.
func (e *createdObjects) handled(c *Created) bool {
	return slices.ContainsFunc(e.deletes, func(d pendingDelete) bool { return d.object.Path() == c.Path() }) ||
		slices.ContainsFunc(e.stuck, func(s stuckObject) bool { return s.object.Path() == c.Path() }) ||
		e.isLeftover(c)
}

// isLeftover reports whether an object is a leftover.
func (e *createdObjects) isLeftover(c *Created) bool {
	return slices.ContainsFunc(e.leftovers, func(l Leftover) bool { return l.Path == c.Path() })
}

// marked reports whether a name starts with the marker of the run.
func (e *createdObjects) marked(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), e.run)
}

// journaled records the error of a write to the journal, unless it is nil. After an error the run stops at the end of the check.
func (e *createdObjects) journaled(err error) { e.broken = errors.Join(e.broken, err) }
