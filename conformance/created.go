package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// createdObjects tracks the objects that a run creates on the target, and the journal that lists them.
type createdObjects struct {
	wire    *wire
	run     string // the marker: part of the name of every created object
	journal *journal
	naming  map[string]string // collection -> the attribute that contains the names of its objects
	owned   map[string]bool   // the paths of the objects that the run has created and not yet removed
	wrote   bool              // the target has created at least one object
	broken  error             // not nil if the journal cannot be written; the run then creates nothing more

	deletes   []pendingDelete // deletions that no GET has confirmed yet
	leftovers []Leftover

	fixtures map[fixtureKey]*builtFixture
	shared   []*Created // the objects of fixtures, removed at the end of the run
}

// A fixtureKey is a fixture and the key of the substitution with which it was built.
type fixtureKey struct {
	fixture      *Fixture
	substitution string
}

type builtFixture struct {
	objects map[string]*Created
	blocked string // why the fixture could not be built; empty if it was built
	by      *Blocker
	sent    []Request
}

func newCreatedObjects(w *wire, run string, j *journal) *createdObjects {
	return &createdObjects{wire: w, run: run, journal: j, naming: naming(), owned: map[string]bool{}, fixtures: map[fixtureKey]*builtFixture{}}
}

// newMarker returns a marker for a run.
func newMarker() string { return "scimconf-" + strings.ToLower(rand.Text()[:8]) }

// remove deletes the objects of a ledger, newest first. An object that cannot be deleted becomes a leftover. After an
// interrupted run, the caller passes a new context, because the context of the run has ended.
func (e *createdObjects) remove(ctx context.Context, ledger []*Created) {
	for _, c := range slices.Backward(ledger) {
		if c.gone {
			continue
		}
		res, err := e.wire.call(ctx, Request{Method: http.MethodDelete, Path: c.Path()}, true)
		switch {
		case err != nil:
			e.addLeftover(c, err.Error())
		case res.OK(), res.Status == http.StatusNotFound:
			e.markDeleted(c, res.Status)
		default:
			e.addLeftover(c, res.Name+" answered "+statusText(res.Status))
		}
	}
}

// addLeftover records an object that remains on the target.
func (e *createdObjects) addLeftover(c *Created, reason string) {
	where := c.Path()
	if c.ID == "" {
		where = c.Collection
	}
	e.leftovers = append(e.leftovers, Leftover{Path: where, Name: c.name, Reason: reason})
}

// handled reports whether nothing remains to be done for an object: the target has reported its deletion, or the object is a leftover.
func (e *createdObjects) handled(c *Created) bool {
	return slices.ContainsFunc(e.deletes, func(d pendingDelete) bool { return d.object.Path() == c.Path() }) ||
		slices.ContainsFunc(e.leftovers, func(l Leftover) bool { return l.Path == c.Path() })
}

// marked reports whether a name starts with the marker of the run.
func (e *createdObjects) marked(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), e.run)
}

// journaled records the error of a write to the journal, unless it is nil. After an error the run stops at the end of the check.
func (e *createdObjects) journaled(err error) { e.broken = errors.Join(e.broken, err) }
