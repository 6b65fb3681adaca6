package conformance

import (
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
	header, open, err := readJournal(path)
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

// sweep looks for what the run has created without having been told: in answers that did not come or named no id, by requests that
// were refused and obeyed all the same. One query per collection shows it where the target knows sw; what was announced and
// never seen is looked up by name besides. Whatever is found is removed.
func (s *session) sweep(ctx context.Context) {
	for _, collection := range slices.Sorted(maps.Keys(s.naming)) {
		if !s.journal.used[collection] {
			continue
		}
		attribute := s.naming[collection]
		res, err := s.call(ctx, Request{Method: http.MethodGet, Path: collection, Query: pairs([]string{"filter", attribute + " sw " + strconv.Quote(s.run+"-")})}, true)
		if err != nil || res.Status != http.StatusOK {
			continue // no target has to know sw
		}
		for _, o := range res.Resources() {
			found := &Created{ID: o.Text("id"), Collection: collection, name: o.Text(attribute)}
			if found.ID != "" && strings.HasPrefix(strings.ToLower(found.name), s.run+"-") && !s.accounted(found) {
				s.remove(ctx, []*Created{found})
			}
		}
	}
	blind, looked := map[string]bool{}, 0
	for _, number := range slices.Sorted(maps.Keys(s.journal.open)) {
		entry := s.journal.open[number]
		if entry.name == "" || !entry.claimed && (blind[entry.collection] || looked == maxLookups) {
			continue
		}
		looked++
		before := len(s.leftovers)
		s.finish(ctx, s.run, entry, &CleanupResult{})
		if !entry.claimed && len(s.leftovers) > before && s.leftovers[before].Path == (&Created{Collection: entry.collection}).Path() {
			// The lookup failed, and nothing says that there is anything to be found.
			s.leftovers, blind[entry.collection] = s.leftovers[:before], true
		}
	}
}

// maxLookups bounds what a sweep asks for by name of which the target never said that it was created: a target that answers 500
// to everything has most likely stored nothing.
const maxLookups = 50

// accounted tells whether an object is one that was already deleted or left behind: [session.confirm] has the say on those.
func (s *session) accounted(c *Created) bool {
	return slices.ContainsFunc(s.departed, func(f farewell) bool { return f.object.Path() == c.Path() }) ||
		slices.ContainsFunc(s.leftovers, func(l Leftover) bool { return l.Path == c.Path() })
}

// finish removes what one open entry of a journal stands for.
func (s *session) finish(ctx context.Context, run string, e openEntry, result *CleanupResult) {
	object := &Created{ID: e.created, Collection: e.collection, name: e.name}
	lookup := Request{Method: http.MethodGet, Path: object.Path()}
	if e.created == "" {
		if e.name == "" {
			result.Absent++ // a body without a name, refused or never sent: nothing that could be ours
			return
		}
		lookup = Request{Method: http.MethodGet, Path: e.collection, Query: pairs([]string{"filter", e.attribute + " eq " + strconv.Quote(e.name)})}
	}
	res, err := s.call(ctx, lookup, true)
	if err != nil {
		s.leave(object, err.Error())
		return
	}
	var candidates []*scim.Object
	switch {
	case res.Status == http.StatusNotFound:
	case res.Status != http.StatusOK || res.Object() == nil:
		s.leave(object, res.Name+" answered "+statusText(res.Status))
		return
	case e.created != "":
		candidates = []*scim.Object{res.Object()}
	default:
		candidates = res.Resources()
	}
	before := len(s.leftovers)
	for _, c := range candidates {
		name := c.Text(e.attribute)
		switch {
		case e.created == "" && !strings.EqualFold(name, e.name):
			// A target that ignores the filter lists strangers.
		case !strings.HasPrefix(strings.ToLower(name), run):
			s.leave(object, "it does not carry the marker of the run any more, so it was left alone")
		default:
			s.remove(ctx, []*Created{{ID: c.Text("id"), Collection: e.collection, name: name}})
			if len(s.leftovers) == before {
				result.Removed++
			}
			return
		}
	}
	if len(s.leftovers) == before {
		result.Absent++
	}
}
