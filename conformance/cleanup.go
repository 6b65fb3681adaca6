package conformance

import (
	"context"
	"fmt"
	"os"
)

// A CleanupResult describes what [Cleanup] did.
type CleanupResult struct {
	// Target is the base URL that the journal names.
	Target string
	// Removed is the number of deleted objects, Absent the number of objects that no longer existed.
	Removed, Absent int
	// Leftovers are objects that could not be removed, and objects whose absence could not be verified. If Leftovers is not empty, the journal
	// is not deleted.
	Leftovers []Leftover
}

// Cleanup removes the objects that an aborted run left on the target, using its journal. The base URL is that of the journal; token,
// headers and transport are those of the parameter target. Of the options, Cleanup uses only Timeout, RequestTimeout, Now and Logger.
//
// Cleanup deletes an object only if its name still contains the marker of that run. It reports all other objects without modifying them.
// Afterwards it verifies each object by its id and by its name, and searches the lists of the target for the marker, up to 20 pages of each
// collection. The error is a [*UsageError] if the file is not a journal.
func Cleanup(ctx context.Context, path string, target Target, opts Options) (*CleanupResult, error) {
	header, open, places, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	opts.AllowWrites, opts.Journal = true, "" // the operator has already permitted the writes of the aborted run
	target.URL = header.Target
	s, err := newSession(target, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	result := &CleanupResult{Target: header.Target}
	e := s.created
	e.run = header.Run
	for p := range places {
		if p.attribute != secondName {
			e.naming[p.collection] = p.attribute // the aborted run may have created objects in collections that only its checks registered
		}
	}
	for _, entry := range open {
		if e.finish(ctx, entry) {
			result.Absent++
		}
	}
	e.sweep(ctx, places)
	e.removeStuck(ctx)
	e.verifyLists(ctx, places)
	deleted := e.deletes
	e.confirmDeletes(ctx, true)
	for _, d := range deleted {
		if !e.isLeftover(d.object) {
			result.Removed++
		}
	}
	result.Leftovers = e.leftovers
	if len(result.Leftovers) > 0 {
		return result, nil
	}
	if err := os.Remove(path); err != nil {
		return result, fmt.Errorf("conformance: all objects are removed, but the journal could not be deleted: %w", err)
	}
	return result, nil
}

// cleanUp removes what remains of a run at its end: the objects of fixtures, objects that no response has reported, and objects that the
// target did not delete before. If the parameter `all` is set, it confirms each deletion.
func (e *createdObjects) cleanUp(ctx context.Context, all bool) {
	e.remove(ctx, e.shared)
	for _, open := range e.journal.unsettled() {
		e.finish(ctx, open)
	}
	e.sweep(ctx, e.journal.places)
	e.removeStuck(ctx)
	e.confirmDeletes(ctx, all)
}

// finish removes the objects of an open entry in a journal, if they exist and carry the marker of the run. It reports whether no such
// object exists. If this cannot be determined, the entry becomes a leftover.
func (e *createdObjects) finish(ctx context.Context, open openEntry) (absent bool) {
	found, problem := e.find(ctx, open)
	if problem != "" {
		e.addLeftover(&Created{ID: open.created, Collection: open.collection, name: open.name}, problem)
		return false
	}
	for _, o := range found {
		c := &Created{ID: o.Text("id"), Collection: open.collection, name: o.Text(open.attribute), entry: open.entry}
		switch {
		case !e.ours(o, open.collection):
			e.addLeftover(c, "it no longer carries the marker of the run, so it was not deleted")
		case !e.handled(c):
			e.remove(ctx, []*Created{c})
		}
	}
	if len(found) == 0 {
		e.journaled(e.journal.gone(open.entry))
	}
	return len(found) == 0
}
