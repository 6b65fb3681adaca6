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

// A CleanupResult says what [Cleanup] did.
type CleanupResult struct {
	// Target is the base URL that the journal names.
	Target string
	// Removed counts the objects that were deleted, Absent those that were not there any more.
	Removed, Absent int
	// Leftovers could not be removed. The journal stays when there are any.
	Leftovers []Leftover
}

// Cleanup removes what a run that was killed left behind, going by its journal. The target's URL is the journal's; its
// token, headers and transport are the caller's, and only Timeout, RequestTimeout, Now and Logger of the options count.
//
// An object is only deleted when it still carries the marker of that run in its name; everything else is left alone and
// reported. The error is a [*UsageError] when the file is no journal.
func Cleanup(ctx context.Context, path string, target Target, opts Options) (*CleanupResult, error) {
	header, open, places, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	opts.AllowWrites, opts.Journal = true, "" // consent was given to the run that is being finished
	target.URL = header.Target
	s, err := newSession(target, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	result := &CleanupResult{Target: header.Target}
	for _, entry := range open {
		s.finish(ctx, header.Run, entry, result)
	}
	result.Removed += s.sweep(ctx, header.Run, places)
	result.Removed -= s.confirm(ctx, true)
	result.Leftovers = s.leftovers
	if len(result.Leftovers) > 0 {
		return result, nil
	}
	if err := os.Remove(path); err != nil {
		return result, fmt.Errorf("conformance: everything is cleaned up, but the journal stays: %w", err)
	}
	return result, nil
}

const (
	// sweepPage is how many objects a sweep asks for at once, maxSweeps how often.
	sweepPage = 100
	maxSweeps = 20
)

// sweep removes what carries the run's marker although no answer has said that it was created: what a target refused and
// stored all the same, or stored twice. It returns how many objects it removed. A target that cannot filter by the beginning
// of a name is not searched.
func (s *session) sweep(ctx context.Context, run string, places map[place]bool) (removed int) {
	for _, p := range slices.SortedFunc(maps.Keys(places), func(a, b place) int {
		return strings.Compare(a.collection+a.attribute, b.collection+b.attribute)
	}) {
		for range maxSweeps {
			query := pairs([]string{"filter", p.attribute + " sw " + strconv.Quote(run), "count", strconv.Itoa(sweepPage)})
			res, err := s.call(ctx, Request{Method: http.MethodGet, Path: p.collection, Query: query}, true)
			if err != nil || res.Status != http.StatusOK {
				break
			}
			var found []*Created
			for _, o := range res.Resources() {
				c := &Created{ID: o.Text("id"), Collection: p.collection, name: o.Text(p.attribute)}
				if c.ID != "" && strings.HasPrefix(strings.ToLower(c.name), run) && !s.handled(c) {
					found = append(found, c)
				}
			}
			if len(found) == 0 {
				break
			}
			before := len(s.leftovers)
			s.remove(ctx, found)
			removed += len(found) - (len(s.leftovers) - before)
		}
	}
	return removed
}

// handled tells whether an object has been deleted, as the target says, or left behind already.
func (s *session) handled(c *Created) bool {
	return slices.ContainsFunc(s.departed, func(f farewell) bool { return f.object.Path() == c.Path() }) ||
		slices.ContainsFunc(s.leftovers, func(l Leftover) bool { return l.Path == c.Path() })
}

// resolve looks for what the run may have created without having been told: where no answer came, where the answer was a
// server error, and where it named no id. A collection in which one name cannot be looked up is not asked for the others.
func (s *session) resolve(ctx context.Context) {
	var result CleanupResult
	blind, skipped := map[string]int{}, map[string]int{} // the leftover that tells it, and how many names it stands for besides
	for _, e := range s.journal.unsettled() {
		if _, ok := blind[e.collection]; ok {
			skipped[e.collection]++
			continue
		}
		before := len(s.leftovers)
		s.finish(ctx, s.run, e, &result)
		if len(s.leftovers) > before && s.leftovers[before].Path == e.collection {
			blind[e.collection] = before
		}
	}
	for collection, n := range skipped {
		s.leftovers[blind[collection]].Reason += fmt.Sprintf("; %s not looked up after that", plural(n, "further name"))
	}
}

// finish removes what one open entry of a journal stands for.
func (s *session) finish(ctx context.Context, run string, e openEntry, result *CleanupResult) {
	before := len(s.leftovers)
	for _, found := range s.find(ctx, e) {
		object := &Created{ID: found.Text("id"), Collection: e.collection, name: found.Text(e.attribute), entry: e.entry}
		switch {
		case e.created == "" && object.ID != e.id && !strings.EqualFold(object.name, e.name):
			// A target that ignores the filter lists strangers.
		case !slices.ContainsFunc([]string{object.name, object.ID, found.Text(secondName)}, func(text string) bool {
			return strings.HasPrefix(strings.ToLower(text), run)
		}):
			s.leave(object, "it does not carry the marker of the run any more, so it was left alone")
		default:
			s.remove(ctx, []*Created{object})
			if len(s.leftovers) == before {
				result.Removed++
			}
			return
		}
	}
	if len(s.leftovers) == before {
		s.note(s.journal.gone(e.entry))
		result.Absent++
	}
}

// find returns what may be the object of an open entry: what has its id, or else what is listed under its name. What the
// target does not tell becomes a leftover.
func (s *session) find(ctx context.Context, e openEntry) []*scim.Object {
	object := &Created{ID: cmp.Or(e.created, e.id), Collection: e.collection, name: e.name}
	var lookups []Request
	if object.ID != "" {
		lookups = append(lookups, Request{Method: http.MethodGet, Path: object.Path()})
	}
	// A body without a name was refused, or never sent: there is nothing to look for.
	if e.created == "" && e.name != "" {
		lookups = append(lookups,
			Request{Method: http.MethodGet, Path: e.collection, Query: pairs([]string{"filter", e.attribute + " eq " + strconv.Quote(e.name)})})
	}
	for _, lookup := range lookups {
		res, err := s.call(ctx, lookup, true)
		switch {
		case err != nil:
			s.leave(object, err.Error())
			return nil
		case res.Status == http.StatusNotFound:
		case res.Status != http.StatusOK || res.Object() == nil:
			s.leave(object, res.Name+" answered "+statusText(res.Status))
			return nil
		case len(lookup.Query) == 0:
			return []*scim.Object{res.Object()}
		default:
			return res.Resources()
		}
	}
	return nil
}
