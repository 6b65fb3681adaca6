package scimserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// search defines which resources of some types to find, and in which order.
type search struct {
	filter        filter.Expr // nil means no filter
	ordering      ordering
	after         *place // the position after which the page starts; nil means the start
	offset, limit int    // relative to after
	groups        bool   // the response includes the derived groups of users
}

// hit is a matching resource. The record is nil if only the position is stored.
type hit struct {
	place
	t   *resourceType
	id  string
	rec *Record
}

// tooMany rejects a query that matches more resources than the limit (RFC 7644 section 3.4.2.1).
func (s *server) tooMany(total int) error {
	if most := s.limits.MaxResults; most > 0 && total > most {
		return scim.Errorf(http.StatusBadRequest, scim.TooMany, "the query matches more than %d resources; use a more specific filter", most)
	}
	return nil
}

// findPage returns one page and the number of all matches. If the search has a start position, the matches are not counted. Hits without a
// record contain only the position; load reads their records.
func (s *server) findPage(ctx context.Context, base string, q *search, types []*resourceType) ([]hit, int, error) {
	if q.ordering.sorted() && len(types) > 1 {
		return s.findMerged(ctx, base, q, types)
	}
	var (
		out   []hit
		total int
	)
	for n := range types {
		if q.ordering.reverse && !q.ordering.sorted() {
			n = len(types) - 1 - n
		}
		part := *q
		part.offset, part.limit = max(q.offset-total, 0), q.limit-len(out)
		if q.after != nil && part.limit == 0 {
			break
		}
		hits, found, err := s.findType(ctx, base, &part, types[n], n, len(types))
		if err != nil {
			return nil, 0, err
		}
		out = append(out, hits...)
		total += found
		if err := s.tooMany(total); err != nil {
			return nil, 0, err
		}
	}
	return out, total, nil
}

// findMerged sorts the resources of several types into one order.
func (s *server) findMerged(ctx context.Context, base string, q *search, types []*resourceType) ([]hit, int, error) {
	part := *q
	part.offset, part.limit = 0, q.offset+q.limit
	if q.limit == 0 {
		part.limit = 0
	}
	var (
		all   []hit
		total int
	)
	for n, t := range types {
		hits, found, err := s.findType(ctx, base, &part, t, n, len(types))
		if err != nil {
			return nil, 0, err
		}
		all = append(all, hits...)
		total += found
		if err := s.tooMany(total); err != nil {
			return nil, 0, err
		}
	}
	slices.SortFunc(all, q.compareHits)
	return all[min(q.offset, len(all)):min(part.limit, len(all))], total, nil
}

// compareHits compares hits in the order of the query.
func (q *search) compareHits(a, b hit) int {
	if q.ordering.reverse {
		a, b = b, a
	}
	return q.ordering.compare(a.place, b.place)
}

// findType does the same as findPage for one of the types of a search. n is the index of the type in the search.
func (s *server) findType(ctx context.Context, base string, q *search, t *resourceType, n, types int) ([]hit, int, error) {
	if types > 1 && q.filter != nil && filter.Check(q.filter, t.ResourceType, s.accept) != nil {
		return nil, 0, nil // a filter may be invalid for one of several types; it matches no resource of that type
	}
	// For merged types and large offsets, scan collects positions instead of records.
	if q.offset == 0 && q.limit > s.limits.MaxPage+1 {
		return s.scan(ctx, base, q, t, n)
	}
	if selector, ok := s.store.(Selector); ok {
		hits, total, exact, err := s.fromIndex(ctx, base, selector, q, t, n)
		if err != nil || exact {
			return hits, total, err
		}
	}
	return s.scan(ctx, base, q, t, n)
}

// indexQuery returns a search for the store's index. n is the index of the type in the search. empty is true if no resource of the type can
// match.
func indexQuery(q *search, t *resourceType, n int) (ask Query, empty bool) {
	ask = Query{Type: t.Name, Filter: q.filter, Reverse: q.ordering.reverse, Offset: q.offset, Limit: q.limit, Groups: q.groups && t.isUser}
	ask.SortBy, _ = q.ordering.path(t) // if the type lacks the attribute, all keys are equal
	if q.after != nil {
		ask.After = &Position{Key: q.after.key, Order: q.after.order}
		// Among equal keys, resources are in the order of the types in the search: all resources of an earlier type precede the start position,
		// all of a later type follow it.
		switch {
		case n < q.after.typ:
			ask.After.Order = math.MaxInt64
		case n > q.after.typ:
			ask.After.Order = 0
		}
		// resources of this type have no key; in ascending order they follow all resources with a key
		if ask.SortBy.IsZero() && q.after.key != nil {
			if !ask.Reverse {
				ask.After = &Position{}
			} else {
				return ask, true
			}
		}
	}
	return ask, false
}

// fromIndex calls the store's Select. exact is false if the store cannot evaluate the search with its indexes.
func (s *server) fromIndex(ctx context.Context, base string, selector Selector, q *search, t *resourceType, n int) (hits []hit, total int,
	exact bool, err error) {
	ask, empty := indexQuery(q, t, n)
	if empty {
		return nil, 0, true, nil
	}
	found, exact, err := selector.Select(ctx, ask)
	if err != nil {
		return nil, 0, false, fmt.Errorf("select resources: %w", err)
	}
	if !exact {
		return nil, 0, false, nil
	}
	hits, err = s.hits(ctx, base, q, t, n, found.Records)
	return hits, found.Total, true, err
}

// hits computes the positions of records.
func (s *server) hits(ctx context.Context, base string, q *search, t *resourceType, n int, recs []*Record) ([]hit, error) {
	out := make([]hit, len(recs))
	for i, rec := range recs {
		out[i] = hit{place: place{typ: n, order: rec.Order}, t: t, id: rec.ID, rec: rec}
	}
	if path, ok := q.ordering.path(t); ok {
		full, err := s.readable(ctx, base, t, recs, t.needs(path))
		if err != nil {
			return nil, err
		}
		for i := range out {
			out[i].key = q.ordering.key(t, full[i])
		}
	}
	return out, nil
}

// load reads the missing records of hits. It omits resources that were deleted in the meantime.
func (s *server) load(ctx context.Context, hits []hit) ([]hit, error) {
	out := hits[:0]
	for _, h := range hits {
		if h.rec == nil {
			rec, err := s.store.Get(ctx, h.t.Name, h.id)
			switch {
			case errors.Is(err, ErrNotFound):
				continue
			case err != nil:
				return nil, fmt.Errorf("read a resource: %w", err)
			}
			h.rec = rec
		}
		out = append(out, h)
	}
	return out, nil
}

// scanBatch is the number of candidates of a scan that are tested together.
const scanBatch = 100

// scan evaluates the filter on every candidate of a type. In the order of creation it keeps only the hits of the page, in other orders the
// positions up to the end of the page.
func (s *server) scan(ctx context.Context, base string, q *search, t *resourceType, n int) ([]hit, int, error) {
	sc := &scan{search: q, server: s, base: base, t: t, typ: n}
	sc.inOrder = !q.ordering.sorted() && !q.ordering.reverse
	if !sc.inOrder && q.offset+q.limit > s.limits.MaxSortStart+s.limits.MaxPage+1 {
		return nil, 0, scim.Errorf(http.StatusBadRequest, scim.TooMany,
			"startIndex exceeds %d, the limit for this sort order; use a cursor", s.limits.MaxSortStart)
	}
	sc.needs = t.filterNeeds(q.filter)
	if path, ok := q.ordering.path(t); ok {
		sc.sortNeeds = t.needs(path)
	}
	sc.window = window{compare: q.compareHits, size: q.offset + q.limit}
	begin := int64(0)
	if sc.inOrder && q.after != nil {
		switch {
		case n < q.after.typ:
			return nil, 0, nil
		case n == q.after.typ:
			begin = q.after.order
		}
	}
	if q.filter != nil {
		sc.matcher = filter.NewMatcher(q.filter, t.ResourceType)
	}
	turn, err := s.turns.enterScan(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer turn.leave()
	if raw, members := sc.raw(); raw != nil {
		return sc.scanRaw(ctx, raw, members, begin, &turn)
	}
	turn.decodes()
	batch := make([]*Record, 0, scanBatch)
	for rec, err := range s.store.Scan(ctx, t.Name, q.filter, begin) {
		if err != nil {
			return nil, 0, fmt.Errorf("scan resources: %w", err)
		}
		if batch = append(batch, rec); len(batch) == scanBatch {
			if err := sc.test(ctx, batch); err != nil {
				return nil, 0, err
			}
			if err := s.tooMany(sc.total); err != nil {
				return nil, 0, err // the matches beyond MaxResults need not be counted
			}
			if batch = batch[:0]; sc.done() {
				return sc.page, sc.total, nil
			}
			if err := turn.yield(ctx); err != nil {
				return nil, 0, err
			}
		}
	}
	if err := sc.test(ctx, batch); err != nil {
		return nil, 0, err
	}
	return sc.result(), sc.total, nil
}

// result returns the hits of the page when all candidates are tested.
func (sc *scan) result() []hit {
	if sc.inOrder {
		return sc.page
	}
	all := sc.window.sorted()
	return all[min(sc.offset, len(all)):]
}

// scan is the state of a scan in progress.
type scan struct {
	*search
	server           *server
	base             string
	t                *resourceType
	typ              int
	needs, sortNeeds needs
	inOrder          bool  // the requested order is the order of Store.Scan
	page             []hit // used if inOrder is true
	window           window
	total            int
	matcher          *filter.Matcher // nil without a filter
	work             int             // see Limits.MaxFilterWork
}

// done reports whether the page is complete and the number of all matches is not needed.
func (sc *scan) done() bool { return sc.inOrder && sc.after != nil && len(sc.page) == sc.limit }

// test evaluates the filter on a batch and adds the matching resources.
func (sc *scan) test(ctx context.Context, batch []*Record) error {
	matches, err := sc.matching(ctx, batch)
	if err != nil {
		return err
	}
	if sc.inOrder {
		for _, rec := range matches {
			if sc.total >= sc.offset && len(sc.page) < sc.limit {
				sc.page = append(sc.page, hit{place: place{typ: sc.typ, order: rec.Order}, t: sc.t, id: rec.ID, rec: rec})
			}
			sc.total++
		}
		return nil
	}
	sc.total += len(matches)
	hits, err := sc.server.hits(ctx, sc.base, sc.search, sc.t, sc.typ, matches)
	if err != nil {
		return err
	}
	for _, h := range hits {
		if sc.after == nil || sc.compareHits(hit{place: *sc.after}, h) < 0 {
			h.rec = nil // only the position is stored
			sc.window.add(h)
		}
	}
	return nil
}

// matching returns the records of a batch that match the filter.
func (sc *scan) matching(ctx context.Context, recs []*Record) ([]*Record, error) {
	if sc.matcher == nil {
		return recs, ctx.Err()
	}
	full, err := sc.server.readable(ctx, sc.base, sc.t, recs, sc.needs)
	if err != nil {
		return nil, err
	}
	var out []*Record
	for i, rec := range recs {
		matches, work := sc.matcher.Match(full[i])
		if matches {
			out = append(out, rec)
		}
		if err := sc.spend(work); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// spend adds work of the filter and rejects a query with too much work.
func (sc *scan) spend(work int) error {
	if sc.work += work; sc.work > sc.server.limits.MaxFilterWork {
		return scim.Errorf(http.StatusBadRequest, scim.TooMany,
			"the filter compares more than %d values; use a filter with fewer comparisons, or one on an attribute with an index",
			sc.server.limits.MaxFilterWork)
	}
	return nil
}

// needs is the data that must be added to a stored resource before an attribute can be read.
type needs int

const (
	needsNothing needs = iota
	needsMeta          // id or meta
	needsDerived       // the attribute derived from the membership relation
)

// needs returns the data that an attribute needs.
func (t *resourceType) needs(path scim.AttrPath) needs {
	switch {
	case t.derived() != "" && scim.EqualName(path.Name, t.derived()):
		return needsDerived
	case scim.EqualName(path.Name, "id"), scim.EqualName(path.Name, "meta"):
		return needsMeta
	}
	return needsNothing
}

// filterNeeds is needs for all attributes in a filter.
func (t *resourceType) filterNeeds(f filter.Expr) needs {
	most := needsNothing
	filter.Walk(f, func(e filter.Expr) bool {
		switch e := e.(type) {
		case filter.Compare:
			most = max(most, t.needs(e.Path))
		case filter.Present:
			most = max(most, t.needs(e.Path))
		case filter.ValuePath:
			most = max(most, t.needs(e.Path))
			return false
		}
		return true
	})
	return most
}

// readable returns the resources of records, including the needed data.
func (s *server) readable(ctx context.Context, base string, t *resourceType, recs []*Record, n needs) ([]*scim.Resource, error) {
	if n > needsNothing {
		return s.complete(ctx, base, t, recs, n == needsDerived)
	}
	out := make([]*scim.Resource, len(recs))
	for i, rec := range recs {
		out[i] = rec.Resource
	}
	return out, nil
}

// window collects hits and keeps the first size hits in the order of the query.
type window struct {
	compare func(a, b hit) int
	size    int
	kept    []hit // up to twice the size, so that most additions need no sorting
	full    bool  // the first size elements of kept are sorted, and hits after the last of them are dropped
}

func (w *window) add(h hit) {
	if w.size == 0 || w.full && w.compare(h, w.kept[w.size-1]) > 0 {
		return
	}
	if w.kept = append(w.kept, h); len(w.kept) >= 2*w.size {
		w.kept = w.sorted()
		w.full = true
	}
}

// sorted returns the hits in the window, sorted.
func (w *window) sorted() []hit {
	slices.SortFunc(w.kept, w.compare)
	return w.kept[:min(w.size, len(w.kept))]
}
