package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A CleanupResult describes what [Cleanup] did.
type CleanupResult struct {
	// Target is the base URL that the journal names.
	Target string
	// Removed is the number of deleted objects, Absent the number of objects that no longer existed.
	Removed, Absent int
	// Leftovers are objects that could not be removed. If Leftovers is not empty, the journal is not deleted.
	Leftovers []Leftover
}

// Cleanup removes the objects that an aborted run left on the target, using its journal. The base URL is that of the journal; token,
// headers and transport are those of the parameter target. Of the options, Cleanup uses only Timeout, RequestTimeout, Now and Logger.
//
// Cleanup deletes an object only if its name still contains the marker of that run. It reports all other objects without modifying them.
// The error is a [*UsageError] if the file is not a journal.
func Cleanup(ctx context.Context, path string, target Target, opts Options) (*CleanupResult, error) {
	header, open, places, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	opts.AllowWrites, opts.Journal = true, "" // the aborted run already had the consent
	target.URL = header.Target
	s, err := newSession(target, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	result := &CleanupResult{Target: header.Target}
	for _, entry := range open {
		s.created.finish(ctx, header.Run, entry, result)
	}
	result.Removed += s.created.sweep(ctx, header.Run, places)
	result.Removed -= s.created.confirmDeletes(ctx, true)
	result.Leftovers = s.created.leftovers
	if len(result.Leftovers) > 0 {
		return result, nil
	}
	if err := os.Remove(path); err != nil {
		return result, fmt.Errorf("conformance: all objects are removed, but the journal could not be deleted: %w", err)
	}
	return result, nil
}

const (
	// sweepPage is the number of objects per page. maxSweeps is the maximum number of pages per collection.
	sweepPage = 100
	maxSweeps = 20
)

// sweep removes objects whose names contain the run's marker although no response reported their creation: objects that a target stored in
// spite of an error response, or stored twice. It returns the number of removed objects. It skips targets that do not support the filter
// operator sw.
func (e *createdObjects) sweep(ctx context.Context, run string, places map[place]bool) (removed int) {
	for _, p := range slices.SortedFunc(maps.Keys(places), func(a, b place) int {
		return strings.Compare(a.collection+a.attribute, b.collection+b.attribute)
	}) {
		for range maxSweeps {
			query := pairs([]string{"filter", p.attribute + " sw " + strconv.Quote(run), "count", strconv.Itoa(sweepPage)})
			res, err := e.wire.call(ctx, Request{Method: http.MethodGet, Path: p.collection, Query: query}, true)
			if err != nil || res.Status != http.StatusOK {
				break
			}
			var found []*Created
			for _, o := range res.Resources() {
				c := &Created{ID: o.Text("id"), Collection: p.collection, name: o.Text(p.attribute)}
				if c.ID != "" && strings.HasPrefix(strings.ToLower(c.name), run) && !e.handled(c) {
					found = append(found, c)
				}
			}
			if len(found) == 0 {
				break
			}
			before := len(e.leftovers)
			e.remove(ctx, found)
			removed += len(found) - (len(e.leftovers) - before)
		}
	}
	return removed
}

// resolve searches for objects that the run may have created although no response reported an id: the request got no response, a server
// error or a response without an id. After one failed lookup in a collection, it does not look up the other names in that collection.
func (e *createdObjects) resolve(ctx context.Context) {
	var result CleanupResult
	// by collection: the index of the leftover of the failed lookup; the number of names not looked up
	blind, skipped := map[string]int{}, map[string]int{}
	for _, open := range e.journal.unsettled() {
		if _, ok := blind[open.collection]; ok {
			skipped[open.collection]++
			continue
		}
		before := len(e.leftovers)
		e.finish(ctx, e.run, open, &result)
		if len(e.leftovers) > before && e.leftovers[before].Path == open.collection {
			blind[open.collection] = before
		}
	}
	for collection, n := range skipped {
		e.leftovers[blind[collection]].Reason += fmt.Sprintf("; %s not looked up after that", plural(n, "further name"))
	}
}

// finish removes the object of an open entry in a journal, if the object exists and its name contains the marker of the run.
func (e *createdObjects) finish(ctx context.Context, run string, open openEntry, result *CleanupResult) {
	before := len(e.leftovers)
	for _, found := range e.find(ctx, open) {
		object := &Created{ID: found.Text("id"), Collection: open.collection, name: found.Text(open.attribute), entry: open.entry}
		switch {
		case open.created == "" && object.ID != open.id && !strings.EqualFold(object.name, open.name):
			// A target that ignores the filter lists other objects.
		case !slices.ContainsFunc([]string{object.name, object.ID, found.Text(secondName)}, func(text string) bool {
			return strings.HasPrefix(strings.ToLower(text), run)
		}):
			e.addLeftover(object, "it no longer carries the marker of the run, so it was not deleted")
		default:
			e.remove(ctx, []*Created{object})
			if len(e.leftovers) == before {
				result.Removed++
			}
			return
		}
	}
	if len(e.leftovers) == before {
		e.journaled(e.journal.gone(open.entry))
		result.Absent++
	}
}

// find returns the objects that the open entry may describe: the object with its id, or else all objects with its name. If a lookup gets no
// usable response, the entry becomes a leftover.
func (e *createdObjects) find(ctx context.Context, open openEntry) []*scim.Object {
	object := &Created{ID: cmp.Or(open.created, open.id), Collection: open.collection, name: open.name}
	var lookups []Request
	if object.ID != "" {
		lookups = append(lookups, Request{Method: http.MethodGet, Path: object.Path()})
	}
	// For a body without a name there is no object to search for: the target rejected the request, or the run did not send it.
	if open.created == "" && open.name != "" {
		lookups = append(lookups,
			Request{Method: http.MethodGet, Path: open.collection,
				Query: pairs([]string{"filter", open.attribute + " eq " + strconv.Quote(open.name)})})
	}
	for _, lookup := range lookups {
		res, err := e.wire.call(ctx, lookup, true)
		switch {
		case err != nil:
			e.addLeftover(object, err.Error())
			return nil
		case res.Status == http.StatusNotFound:
		case res.Status != http.StatusOK || res.Object() == nil:
			e.addLeftover(object, res.Name+" answered "+statusText(res.Status))
			return nil
		case len(lookup.Query) == 0:
			return []*scim.Object{res.Object()}
		default:
			return res.Resources()
		}
	}
	return nil
}
