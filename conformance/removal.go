package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/counted"
)

// A removal contains what the run has detected about DELETE. If the target deletes no object of a collection, every object that the run
// creates there remains. The run then skips the checks that create objects there, and the client flows share a few objects. With
// Options.KeepGoing, it runs all checks.
type removal struct {
	works    map[string]bool       // the collections in which a DELETE has succeeded
	failures map[string]int        // number of objects of a collection that were not deleted, since the last successful DELETE
	refused  map[string]string     // collection -> why its objects cannot be deleted, with %s for the collection
	ignored  map[string]bool       // the collections in which DELETE returns a success, but the object remains
	probed   map[string]bool       // the collections in which the run has tried to delete an object before the first check
	held     map[string]bool       // the paths of the objects that remain in these collections
	pool     map[string][]*Created // the objects of these collections that client flows share
	waited   time.Duration         // the time spent in the waits between attempts
}

func newRemoval() removal {
	return removal{works: map[string]bool{}, failures: map[string]int{}, refused: map[string]string{}, ignored: map[string]bool{},
		probed: map[string]bool{}, held: map[string]bool{}, pool: map[string][]*Created{}}
}

const (
	// maxHeld is the maximum number of objects that remain on a target that deletes none: one user and one group from the test of DELETE
	// before the checks, one object of the checks (those of DELETE, and those whose requests a correct target rejects), one of the client
	// flows, and one that a target creates although its name conflicts with another object.
	maxHeld      = 5
	maxHeldCheck = 3
	maxHeldFlow  = 4
	// maxFailures is a number of objects: if the target has deleted objects of a collection, but then fails to delete that many in a row,
	// the run treats the objects of the collection as not removable.
	maxFailures = 3
)

// rejection returns why objects cannot be deleted, with %s for the collection. The response is nil if the target sent none.
func rejection(res *Response) string {
	if res == nil {
		return "the target does not respond to a DELETE below %s"
	}
	return "the target rejects a DELETE below %s (" + statusText(res.Status) + ")"
}

// refusal returns why the objects of a collection cannot be deleted, "" if the run has not detected that. If no DELETE has succeeded in any
// collection, the reason found for users or groups also applies to the other collections.
func (r *removal) refusal(collection string) string {
	reason := r.refused[collection]
	if reason == "" && len(r.works) == 0 && !slices.Contains(probeable, collection) {
		for _, other := range slices.Sorted(maps.Keys(r.refused)) {
			reason, collection = r.refused[other], other
		}
	}
	if reason == "" {
		return ""
	}
	return fmt.Sprintf(reason, collection)
}

// probeable are the collections in which the run can create and delete an object before the checks.
var probeable = []string{"/Users", "/Groups"}

// succeeded records a successful DELETE.
func (r *removal) succeeded(collection string) {
	r.works[collection] = true
	r.failures[collection] = 0
}

// failed records an object that the target did not delete after all attempts. If no object of the collection has been deleted before, one
// failure makes the collection count as not removable, otherwise maxFailures failures in a row.
func (r *removal) failed(collection, reason string) {
	r.failures[collection]++
	if r.refused[collection] == "" && (!r.works[collection] || r.failures[collection] >= maxFailures) {
		r.refused[collection] = reason
	}
}

// pause waits between two attempts, unless the run has already waited for maxPatience. It reports whether ctx permits another attempt.
func (r *removal) pause(ctx context.Context, d time.Duration) bool {
	if r.waited >= maxPatience {
		return ctx.Err() == nil
	}
	r.waited += d
	return pause(ctx, d)
}

// hold records an object that remains on the target. Client flows share these objects.
func (r *removal) hold(c *Created) {
	r.held[c.Path()] = true
	if !slices.ContainsFunc(r.pool[c.Collection], func(o *Created) bool { return o.Path() == c.Path() }) {
		r.pool[c.Collection] = append(r.pool[c.Collection], c)
	}
}

// heldIn returns the number of objects that remain in a collection.
func (r *removal) heldIn(collection string) int {
	n := 0
	for where := range r.held {
		if dir, _ := splitPath(where); dir == collection {
			n++
		}
	}
	return n
}

// skipReason returns why a check that creates objects in a collection does not run, "" if it may run.
func (s *session) skipReason(collection string) string {
	refusal := s.created.removal.refusal(collection)
	if refusal == "" || s.opts.KeepGoing {
		return ""
	}
	return refusal + ": this check creates objects that could not be removed; --keep-going runs it"
}

// prepareWrites tests, before a check runs, whether the target deletes the objects that the check creates and whether the credentials
// permit writes. It returns why the check can no longer run, "" if it can.
func (s *session) prepareWrites(ctx context.Context, check Check) string {
	s.probeDeletions(ctx, check)
	s.probePermission(ctx)
	return s.unmet(check)
}

// undeletable returns why the run skips checks that create objects, "" if it skips none for this reason.
func (s *session) undeletable() string {
	if s.opts.KeepGoing {
		return ""
	}
	collections := map[string][]string{} // by reason
	for _, collection := range slices.Sorted(maps.Keys(s.created.removal.refused)) {
		reason := s.created.removal.refused[collection]
		collections[reason] = append(collections[reason], collection)
	}
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(collections)) {
		reasons = append(reasons, fmt.Sprintf(reason, strings.Join(collections[reason], " and ")))
	}
	return strings.Join(reasons, "; ")
}

// cautionUndeletable adds a caution if checks were skipped because the target does not delete their objects.
func (s *session) cautionUndeletable(result *Result) {
	skipped := 0
	for _, c := range result.Checks {
		if c.Outcome == Skip && slices.ContainsFunc(slices.Collect(maps.Keys(s.created.removal.refused)), func(collection string) bool {
			return c.Reason != "" && c.Reason == s.skipReason(collection)
		}) {
			skipped++
		}
	}
	if skipped == 0 {
		return
	}
	what := counted.Of(skipped, "check") + " that create objects were"
	if skipped == 1 {
		what = "1 check that creates objects was"
	}
	if len(result.Profiles) > 0 {
		what += " skipped, and the client flows shared objects"
	} else {
		what += " skipped"
	}
	result.Cautions = append(result.Cautions, fmt.Sprintf("%s: %s, so that at most %d objects remain; --keep-going runs these checks",
		s.undeletable(), what, maxHeld))
}

// probeDeletions determines whether the target deletes objects of the collections in which a check creates objects. For each of them, it
// creates a plain object, deletes it and reads it, once in a run. If an object of the collection was deleted before, it only reads that
// object.
func (s *session) probeDeletions(ctx context.Context, check Check) {
	if s.opts.ReadOnly || s.opts.KeepGoing || !check.needs(NeedWrite) && check.Fixture == nil || s.maxCreated() <= maxHeld {
		return
	}
	if s.caps.Users {
		s.probeDeletion(ctx, "/Users")
	}
	if s.caps.Groups && (check.needs(NeedGroup) || !s.caps.Users) {
		s.probeDeletion(ctx, "/Groups")
	}
}

// maxCreated returns the maximum number of objects that the run creates on a conforming target: an object takes two requests, POST and
// DELETE. If the run creates no more than maxHeld objects, a test of DELETE before the checks is not necessary.
func (s *session) maxCreated() int {
	requests := 0
	fixtures := map[*Fixture]bool{}
	for _, c := range s.opts.Checks {
		if c.needs(NeedWrite) && !c.CreatesNothing {
			requests += c.Requests
		}
		if c.Fixture != nil && !fixtures[c.Fixture] {
			fixtures[c.Fixture] = true
			requests += c.Fixture.Requests
		}
	}
	for _, p := range s.opts.Profiles {
		for _, c := range p.Checks() {
			requests += c.Requests
		}
	}
	return requests / 2
}

func (s *session) probeDeletion(ctx context.Context, collection string) {
	r := &s.created.removal
	if r.refused[collection] != "" || r.probed[collection] || s.rights.denied != "" {
		return
	}
	r.probed[collection] = true
	cleanup, done := s.cleanupContext(ctx)
	defer done()
	if !r.works[collection] {
		s.createAndDelete(ctx, cleanup, collection)
	}
	for _, d := range slices.Backward(s.created.deletes) {
		if d.object.Collection != collection {
			continue
		}
		if kept := s.stillReadable(cleanup, d); kept != "" {
			r.refused[collection], r.ignored[collection] = kept, !isAbsent(d.status)
			delete(r.works, collection)
			r.hold(d.object)
		}
		return
	}
}

// createAndDelete creates a plain object in a collection and deletes it. After a temporary failure it creates the object again.
func (s *session) createAndDelete(ctx, cleanup context.Context, collection string) {
	r := &s.created.removal
	for try := 1; try <= maxTries && !r.works[collection] && r.refused[collection] == ""; try++ {
		var ledger []*Created
		t := &T{Capabilities: s.caps, session: s, check: &Check{ID: "discovery.delete"}, ledger: &ledger, outcome: Pass, room: maxHeld,
			prefix: fmt.Sprintf("%s-delete%d-", s.created.run, try)}
		unusable := false
		t.run(func() {
			body := t.User("probe", nil)
			if collection == "/Groups" {
				body = t.Group("probe", nil)
			}
			res := t.Post(ctx, collection, body)
			unusable = !res.OK() && !transient(res.Status)
		})
		if unusable || ctx.Err() != nil {
			return
		}
		s.created.remove(cleanup, ledger)
		if len(ledger) == 0 {
			// The target may have created the object although its response has no id, or the request got no response.
			for _, open := range s.created.journal.unsettled() {
				s.created.finish(cleanup, open)
			}
		}
	}
}

// stillReadable reads an object whose deletion the target has reported. If the object still exists, stillReadable returns a sentence about
// that with %s for the collection, otherwise "". It repeats the GET for Options.Settle, or maxTries times, because a target may delete with
// a delay.
func (s *session) stillReadable(ctx context.Context, d pendingDelete) string {
	wait, tries := s.opts.Settle/lagSteps, lagSteps+1
	if s.opts.Settle <= 0 {
		wait, tries = firstRetry, maxTries
	}
	for try := 1; ; try++ {
		res, err := s.created.wire.call(ctx, Request{Method: http.MethodGet, Path: d.object.Path()}, true)
		if err != nil || !remains(res, d.object) {
			return ""
		}
		if try == tries || !pause(ctx, wait) {
			return "a DELETE below %s has no effect (it returns " + statusText(d.status) + ", but a GET still returns the object)"
		}
	}
}

// admitCreation skips the check if its requests may create objects that could not be removed, and there is no room for more of these.
func (t *T) admitCreation(ctx context.Context, requests ...Request) {
	s := t.session
	e := s.created
	if s.opts.KeepGoing || len(e.removal.refused) == 0 {
		return
	}
	more, reason, ignored := 0, "", true
	for _, req := range requests {
		for _, p := range e.prospects(req) {
			if skip := s.skipReason(p.collection); skip != "" && !e.removal.held[p.path()] {
				more, reason = more+1, skip
				ignored = ignored && e.removal.ignored[p.collection]
			}
		}
	}
	if more == 0 {
		return
	}
	room := t.room
	switch {
	case room > 0:
	case t.check.CreatesNothing:
		room = maxHeldCheck
	case t.check.reports(clauseGone) && ignored:
		room = maxHeldCheck
	}
	if room == 0 || !e.hasRoom(ctx, more, room) {
		t.NotApplicable(reason)
	}
}

// hasRoom reports whether the run may create the given number of objects that could not be removed: with those that already remain, there
// are then at most `room` of them.
func (e *createdObjects) hasRoom(ctx context.Context, more, room int) bool {
	if open := e.uncertain(); len(open) > 0 {
		// The target may have created an object although its response has no id, or the request got no response.
		for _, entry := range open {
			e.holdFound(ctx, entry)
		}
	}
	return len(e.removal.held)+len(e.uncertain())+more <= room
}

// uncertain returns the open entries of the journal in collections whose objects cannot be deleted.
func (e *createdObjects) uncertain() []openEntry {
	return slices.DeleteFunc(e.journal.unsettled(), func(o openEntry) bool { return e.removal.refusal(o.collection) == "" || o.name == "" })
}

// holdFound looks up the object of an open entry. If the object exists, holdFound records that the target has not deleted it. Otherwise it
// closes the entry.
func (e *createdObjects) holdFound(ctx context.Context, open openEntry) {
	found, problem := e.find(ctx, open)
	if problem != "" {
		return // the object may exist, so the entry stays open and hasRoom counts it
	}
	for _, o := range found {
		c := &Created{ID: o.Text("id"), Collection: open.collection, name: open.name, entry: open.entry}
		if !e.removal.held[c.Path()] {
			e.stick(c, e.removal.refusal(c.Collection))
			e.journaled(e.journal.created(open.entry, c.Collection, c.ID))
		}
	}
	if len(found) == 0 {
		e.journaled(e.journal.gone(open.entry))
	}
}

// The clauses of RFC 7644 section 3.6 that a target violates if it rejects a DELETE, or if a DELETE has no effect.
const (
	clauseDeleted = "RFC7644-3.6-04" // a successful DELETE returns 204
	clauseGone    = "RFC7644-3.6-01" // a deleted resource is absent
)

// reports reports whether a check of DELETE has the clause as its primary one. Such a check runs although the target deletes no objects, so
// that the report contains the violation.
func (c Check) reports(clause string) bool {
	areas := []string{"delete", "groups"}
	if clause == clauseGone {
		areas = append(areas, "concurrency")
	}
	return slices.Contains(areas, c.Area()) && len(c.Requirements) > 0 && c.Requirements[0] == clause
}

// standIn returns an object that remains on the target, for a check of DELETE that would otherwise create another one, or nil if the check
// needs a new object. A target that rejects a DELETE rejects it for every object, so any object can be used. A target whose DELETE has no
// effect may reject a second DELETE of the same object.
func (t *T) standIn(collection string) *Created {
	s := t.session
	r := &s.created.removal
	if s.skipReason(collection) == "" || t.room > 0 || !t.check.reports(clauseDeleted) || r.ignored[collection] ||
		len(r.pool[collection]) == 0 {
		return nil
	}
	return r.pool[collection][0]
}
