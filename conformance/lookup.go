package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/counted"
	"github.com/scimwright/scimwright/scim"
)

const (
	// lookupPage is the page size of a lookup. maxPages is the maximum number of pages.
	lookupPage = 100
	maxPages   = 20
)

// ours reports whether an object of a collection carries the marker of the run in its id, its name or its externalId.
func (e *createdObjects) ours(o *scim.Object, collection string) bool {
	return slices.ContainsFunc([]string{o.Text("id"), o.Text(secondName), o.Text(e.naming[collection])}, e.marked)
}

// find returns the objects that an open entry of the journal describes. It first requests the object with the id of the entry. If the entry
// has no id, or this request does not return the object, find searches for objects with the name of the entry: by a filter, or in the list
// of the collection if the target does not evaluate the filter.
//
// problem is not empty if the responses of the target do not determine whether such an object exists. A 404 to the request for the id is
// not a problem: find then searches by name.
func (e *createdObjects) find(ctx context.Context, open openEntry) (found []*scim.Object, problem string) {
	id := cmp.Or(open.created, open.id)
	if id != "" {
		c := &Created{ID: id, Collection: open.collection}
		res, err := e.attempt(ctx, Request{Method: http.MethodGet, Path: c.Path()}, transient)
		switch {
		case err != nil:
			problem = err.Error()
		case res.Status == http.StatusOK && res.Object() != nil:
			return []*scim.Object{res.Object()}, ""
		case !isAbsent(res.Status):
			problem = res.Name + " returned " + statusText(res.Status)
		}
	}
	if open.name == "" {
		if open.created == "" {
			// For a body without a name there is no object to search for: the target rejected the request, or the run did not send it.
			return nil, ""
		}
		return nil, problem
	}
	matches := func(o *scim.Object) bool {
		return id != "" && o.Text("id") == id || strings.EqualFold(o.Text(open.attribute), open.name)
	}
	if list, ok := e.filtered(ctx, open.collection, open.attribute+" eq "+strconv.Quote(open.name), matches); ok {
		return list, problem
	}
	l := e.list(ctx, open.collection)
	for _, o := range l.objects {
		if matches(o) {
			found = append(found, o)
		}
	}
	if len(found) > 0 || l.problem == "" {
		return found, ""
	}
	return nil, cmp.Or(problem, "it is unknown whether it exists: "+l.problem)
}

// filtered returns the objects of a collection that match a filter. ok is false if the target does not evaluate the filter: the response is
// not a list, or the list contains other objects. The run then sends no more such filters to the collection.
func (e *createdObjects) filtered(ctx context.Context, collection, filter string, matches func(*scim.Object) bool) (list []*scim.Object,
	ok bool) {
	_, operator, _ := strings.Cut(filter, " ")
	operator, _, _ = strings.Cut(operator, " ")
	kind := collection + " " + operator
	if e.blind[kind] {
		return nil, false
	}
	query := pairs([]string{"filter", filter, "count", strconv.Itoa(lookupPage)})
	res, err := e.attempt(ctx, Request{Method: http.MethodGet, Path: collection, Query: query}, transient)
	if err == nil && res.Status == http.StatusOK && res.Object() != nil {
		list = res.Resources()
		ok = !slices.ContainsFunc(list, func(o *scim.Object) bool { return !matches(o) }) && (len(list) > 0 || res.Total() <= 0)
	}
	e.blind[kind] = !ok
	return list, ok
}

// A listing is the whole list of a collection, as far as the run has read it.
type listing struct {
	objects []*scim.Object
	problem string // why the list is not complete, empty if it is
}

// list returns the list of a collection. It requests at most maxPages pages, once in a run.
func (e *createdObjects) list(ctx context.Context, collection string) *listing {
	if l := e.listings[collection]; l != nil {
		return l
	}
	l := &listing{problem: fmt.Sprintf("the list of %s has more than %d pages", collection, maxPages)}
	e.listings[collection] = l
	seen := map[string]bool{}
	start := 1
	for range maxPages {
		query := pairs([]string{"startIndex", strconv.Itoa(start), "count", strconv.Itoa(lookupPage)})
		res, err := e.attempt(ctx, Request{Method: http.MethodGet, Path: collection, Query: query}, transient)
		switch {
		case err != nil:
			l.problem = err.Error()
			return l
		case res.Status != http.StatusOK || res.Object() == nil:
			l.problem = res.Name + " returned " + statusText(res.Status)
			return l
		}
		page := res.Resources()
		before := len(seen)
		for _, o := range page {
			if id := o.Text("id"); !seen[id] {
				seen[id] = true
				l.objects = append(l.objects, o)
			}
		}
		switch total := res.Total(); {
		case len(seen) >= total && (total >= 0 || len(page) == 0):
			l.problem = ""
			return l
		case len(seen) == before:
			l.problem = fmt.Sprintf("the list of %s contains %s, but totalResults is %d", collection, counted.Of(len(seen), "object"), total)
			return l
		case total > maxPages*lookupPage:
			l.problem = fmt.Sprintf("the list of %s has %d objects, and only lists of up to %d objects are searched", collection, total,
				maxPages*lookupPage)
			return l
		}
		start += len(page)
	}
	return l
}

// placesIn returns the places in a fixed order.
func placesIn(places map[place]bool) []place {
	return slices.SortedFunc(maps.Keys(places), func(a, b place) int {
		return strings.Compare(a.collection+a.attribute, b.collection+b.attribute)
	})
}

// sweep removes objects that carry the marker of the run although no response reported their creation: objects that a target stored in
// spite of an error response, or stored twice. It uses the filter operator "sw". If a target does not support that operator, sweep searches
// the list of the collection.
func (e *createdObjects) sweep(ctx context.Context, places map[place]bool) {
	for _, p := range placesIn(places) {
		if p.attribute == "" {
			continue
		}
		marked := func(o *scim.Object) bool { return e.marked(o.Text(p.attribute)) }
		for range maxPages {
			found, ok := e.filtered(ctx, p.collection, p.attribute+" sw "+strconv.Quote(e.run), marked)
			if !ok {
				found = e.list(ctx, p.collection).objects
			}
			if e.removeFound(ctx, p.collection, found) == 0 || !ok {
				break
			}
		}
	}
}

// removeFound removes those of the found objects that carry the marker of the run and that the run has not handled. It returns their
// number.
func (e *createdObjects) removeFound(ctx context.Context, collection string, found []*scim.Object) int {
	var ledger []*Created
	for _, o := range found {
		c := &Created{ID: o.Text("id"), Collection: collection, name: cmp.Or(o.Text(e.naming[collection]), o.Text(secondName))}
		if c.ID != "" && e.ours(o, collection) && !e.handled(c) {
			ledger = append(ledger, c)
		}
	}
	e.remove(ctx, ledger)
	return len(ledger)
}

// verifyLists searches the lists of the target for objects that carry the marker of the run. It deletes such objects again. The objects
// that a list still contains become leftovers.
func (e *createdObjects) verifyLists(ctx context.Context, places map[place]bool) {
	checked := map[string]bool{}
	for _, p := range placesIn(places) {
		if checked[p.collection] {
			continue
		}
		checked[p.collection] = true
		wait := firstRetry
		for try := 1; try <= maxTries; try++ {
			delete(e.listings, p.collection)
			listed := slices.DeleteFunc(slices.Clone(e.list(ctx, p.collection).objects), func(o *scim.Object) bool {
				return !e.ours(o, p.collection) || e.isLeftover(&Created{ID: o.Text("id"), Collection: p.collection})
			})
			for _, o := range listed {
				c := &Created{ID: o.Text("id"), Collection: p.collection, name: cmp.Or(o.Text(e.naming[p.collection]), o.Text(secondName))}
				reason := e.delete(ctx, c)
				if try == maxTries || reason != "" {
					e.addLeftover(c, cmp.Or(reason, "the list of "+p.collection+" still contains it"))
				}
			}
			if len(listed) == 0 || try < maxTries && !e.removal.pause(ctx, wait) {
				break
			}
			wait *= 3
		}
	}
}
