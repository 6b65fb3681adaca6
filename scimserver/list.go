package scimserver

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// scanBatch is how many candidates of a scan are looked at together.
const scanBatch = 100

// query is a list request, from the URL or from the body of a search.
type query struct {
	filter     filter.Expr // nil when there is none
	start      int         // 1-based
	count      int
	projection schema.Projection
}

// list answers GET on an endpoint (RFC 7644 section 3.4.2). Parameters of what the ServiceProviderConfig says is not
// supported, sortBy, sortOrder and cursor, are ignored.
func (s *server) list(r *request, t *resourceType) (*reply, error) {
	return s.listTypes(r, t)
}

// queryRoot answers GET on the root, a query over all resource types (RFC 7644 section 3.4.2.1).
func (s *server) queryRoot(r *request) (*reply, error) {
	return s.listTypes(r, s.types...)
}

func (s *server) listTypes(r *request, types ...*resourceType) (*reply, error) {
	q, err := s.urlQuery(r)
	if err != nil {
		return nil, err
	}
	return s.answerQuery(r, q, types)
}

// urlQuery reads a query from the URL.
func (s *server) urlQuery(r *request) (query, error) {
	req := scim.SearchRequest{
		Attributes:         r.params["attributes"],
		ExcludedAttributes: r.params["excludedAttributes"],
	}
	for name, values := range r.params {
		switch name {
		case "filter", "startIndex", "count":
			if len(values) > 1 {
				return query{}, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "%s is given more than once", name)
			}
		}
	}
	var err error
	if req.StartIndex, err = wholeParam(r, "startIndex"); err != nil {
		return query{}, err
	}
	if req.Count, err = wholeParam(r, "count"); err != nil {
		return query{}, err
	}
	if r.params.Has("filter") {
		req.Filter = r.params.Get("filter")
		if strings.TrimSpace(req.Filter) == "" {
			return query{}, scim.Errorf(http.StatusBadRequest, scim.InvalidFilter, "the filter is empty")
		}
	}
	return s.readQuery(&req)
}

// wholeParam reads a whole number from the URL, nil when it is not there. What is out of range becomes the nearest number
// that is not.
func wholeParam(r *request, name string) (*int, error) {
	if !r.params.Has(name) {
		return nil, nil
	}
	n, err := strconv.ParseInt(r.params.Get(name), 10, 32)
	if err != nil && n == 0 {
		return nil, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "%s is not a whole number", name)
	}
	whole := int(n)
	return &whole, nil
}

// readQuery checks a query and applies the limits of the server.
func (s *server) readQuery(req *scim.SearchRequest) (query, error) {
	q := query{start: 1, count: s.limits.DefaultPage}
	if req.StartIndex != nil {
		q.start = min(max(*req.StartIndex, 1), math.MaxInt32)
	}
	if req.Count != nil {
		q.count = min(max(*req.Count, 0), s.limits.MaxPage)
	}
	var err error
	if q.projection, err = schema.ParseProjection(req.Attributes, req.ExcludedAttributes); err != nil {
		return query{}, err
	}
	if req.Filter != "" {
		q.filter, err = s.parseFilter(req.Filter)
	}
	return q, err
}

func (s *server) parseFilter(text string) (filter.Expr, error) {
	if len(text) > s.limits.MaxFilter {
		return nil, scim.Errorf(http.StatusBadRequest, scim.InvalidFilter, "the filter is longer than %d bytes", s.limits.MaxFilter)
	}
	return filter.Parse(text)
}

// answerQuery answers a query over one type, or over several of them one after the other.
func (s *server) answerQuery(r *request, q query, types []*resourceType) (*reply, error) {
	if len(types) == 1 && q.filter != nil {
		if err := filter.Check(q.filter, types[0].ResourceType); err != nil {
			return nil, err
		}
	}
	list := &scim.ListResponse{StartIndex: q.start}
	for _, t := range types {
		// A filter may fit one type and not another; where it does not fit, nothing matches.
		if len(types) > 1 && q.filter != nil && filter.Check(q.filter, t.ResourceType) != nil {
			continue
		}
		skip := max(q.start-1-list.TotalResults, 0)
		recs, total, err := s.selectRecords(r.Context(), r.base, t, Query{
			Type: t.Name, Filter: q.filter, Offset: skip, Limit: q.count - len(list.Resources),
		})
		if err != nil {
			return nil, err
		}
		resources, err := s.represent(r.Context(), r.base, t, recs, q.projection)
		if err != nil {
			return nil, err
		}
		list.TotalResults += total
		list.Resources = append(list.Resources, resources...)
	}
	list.ItemsPerPage = len(list.Resources)
	return &reply{status: http.StatusOK, body: list}, nil
}

// selectRecords returns one page and the number of all matches: from the store's indexes when they suffice, else by
// testing every candidate while keeping no more than the page.
func (s *server) selectRecords(ctx context.Context, base string, t *resourceType, q Query) ([]*Record, int, error) {
	if selector, ok := s.store.(Selector); ok {
		found, exact, err := selector.Select(ctx, q)
		if err != nil {
			return nil, 0, fmt.Errorf("select resources: %w", err)
		}
		if exact {
			return found.Records, found.Total, nil
		}
	}
	var (
		page    []*Record
		total   int
		pending = make([]*Record, 0, scanBatch)
		derived = mentions(q.Filter, t)
	)
	test := func() error {
		matches, err := s.matching(ctx, base, t, pending, q.Filter, derived)
		if err != nil {
			return err
		}
		for _, rec := range matches {
			if total >= q.Offset && len(page) < q.Limit {
				page = append(page, rec)
			}
			total++
		}
		pending = pending[:0]
		return nil
	}
	for rec, err := range s.store.Scan(ctx, t.Name, q.Filter) {
		if err != nil {
			return nil, 0, fmt.Errorf("scan resources: %w", err)
		}
		if pending = append(pending, rec); len(pending) == scanBatch {
			if err := test(); err != nil {
				return nil, 0, err
			}
		}
	}
	if err := test(); err != nil {
		return nil, 0, err
	}
	return page, total, nil
}

// matching returns the records that a filter matches.
func (s *server) matching(ctx context.Context, base string, t *resourceType, recs []*Record, f filter.Expr, derived bool) ([]*Record, error) {
	if f == nil {
		return recs, nil
	}
	full, err := s.complete(ctx, base, t, recs, derived)
	if err != nil {
		return nil, err
	}
	var out []*Record
	for i, rec := range recs {
		if filter.Eval(f, full[i], t.ResourceType) {
			out = append(out, rec)
		}
	}
	return out, nil
}

// mentions says whether a filter looks at the type's derived attribute.
func mentions(f filter.Expr, t *resourceType) bool {
	found := false
	filter.Walk(f, func(e filter.Expr) bool {
		var path scim.AttrPath
		switch e := e.(type) {
		case filter.Compare:
			path = e.Path
		case filter.Present:
			path = e.Path
		case filter.ValuePath:
			path = e.Path
		}
		found = found || t.derived() != "" && scim.EqualName(path.Name, t.derived())
		return !found
	})
	return found
}
