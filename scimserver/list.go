package scimserver

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// query is a list request, from the URL or from the body of a search.
type query struct {
	search
	filterText        string
	sortBy, sortOrder string
	cursor            *string // nil for paging by index; "" requests the first page
	projection        schema.Projection
}

// list handles GET on an endpoint (RFC 7644 section 3.4.2).
func (s *server) list(r *request, t *resourceType) (*reply, error) {
	return s.listTypes(r, t)
}

// queryRoot handles GET on the root, a query over all resource types (RFC 7644 section 3.4.2.1).
func (s *server) queryRoot(r *request) (*reply, error) {
	return s.listTypes(r, s.types...)
}

func (s *server) listTypes(r *request, types ...*resourceType) (*reply, error) {
	q, err := s.urlQuery(r)
	if err != nil {
		return nil, err
	}
	return s.runQuery(r, q, types)
}

// urlQuery reads a query from the URL.
func (s *server) urlQuery(r *request) (query, error) {
	var params [len(queryParams)][]string // most requests have few parameters, so a look at each costs less than a search for each name
	for name, values := range r.params {
		if i := slices.Index(queryParams[:], name); i >= 0 {
			params[i] = values
		}
	}
	req := scim.SearchRequest{Attributes: params[paramAttributes], ExcludedAttributes: params[paramExcluded]}
	for i, values := range params[:paramAttributes] {
		if len(values) > 1 {
			return query{}, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "%s occurs more than once", queryParams[i])
		}
	}
	var err error
	if req.StartIndex, err = wholeParam("startIndex", params[paramStartIndex]); err != nil {
		return query{}, err
	}
	if values := params[paramCursor]; values != nil {
		req.Cursor = &values[0]
	}
	if req.Count, err = wholeParam("count", params[paramCount]); err != nil {
		if req.Cursor != nil {
			err = scim.Errorf(http.StatusBadRequest, scim.InvalidCount, "count is not a whole number")
		}
		return query{}, err
	}
	if values := params[paramSortBy]; values != nil {
		req.SortBy = values[0]
	}
	if values := params[paramSortOrder]; values != nil {
		req.SortOrder = values[0]
	}
	if values := params[paramFilter]; values != nil {
		req.Filter = values[0]
		if strings.TrimSpace(req.Filter) == "" {
			return query{}, scim.Errorf(http.StatusBadRequest, scim.InvalidFilter, "the filter is empty")
		}
	}
	return s.readQuery(&req)
}

// The parameters of a query in a URL (RFC 7644 section 3.4.2). Those before paramAttributes occur at most once.
const (
	paramFilter = iota
	paramStartIndex
	paramCount
	paramSortBy
	paramSortOrder
	paramCursor
	paramAttributes
	paramExcluded
)

var queryParams = [...]string{"filter", "startIndex", "count", "sortBy", "sortOrder", "cursor", "attributes", "excludedAttributes"}

// wholeParam reads an integer from the URL. It returns nil if the parameter is absent. It replaces a number outside the range of a 32-bit
// integer by the minimum or maximum of that range.
func wholeParam(name string, values []string) (*int, error) {
	if values == nil {
		return nil, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 32)
	if err != nil && n == 0 {
		return nil, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "%s is not a whole number", name)
	}
	whole := int(n)
	return &whole, nil
}

// readQuery validates a query and applies the limits of the server.
func (s *server) readQuery(req *scim.SearchRequest) (query, error) {
	q := query{filterText: req.Filter, sortBy: strings.TrimSpace(req.SortBy), sortOrder: req.SortOrder, cursor: req.Cursor}
	if req.StartIndex != nil && req.Cursor != nil {
		return query{}, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "startIndex and cursor are mutually exclusive")
	}
	q.limit = s.limits.DefaultPage
	if req.StartIndex != nil {
		q.offset = min(max(*req.StartIndex, 1), math.MaxInt32) - 1
	}
	if req.Count != nil {
		q.limit = min(max(*req.Count, 0), s.limits.MaxPage)
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
	f, err := filter.Parse(text)
	if err != nil {
		return nil, err
	}
	terms := 0
	filter.Walk(f, func(e filter.Expr) bool {
		switch e := e.(type) {
		case filter.Compare, filter.Present:
			terms++
		case filter.ValuePath:
			if e.Op != "" {
				terms++
			}
		}
		return true
	})
	if terms > s.limits.MaxFilterTerms {
		return nil, scim.Errorf(http.StatusBadRequest, scim.InvalidFilter, "the filter has %d comparisons; the limit is %d", terms,
			s.limits.MaxFilterTerms)
	}
	return f, nil
}

// runQuery handles a query over one or several resource types.
func (s *server) runQuery(r *request, q query, types []*resourceType) (*reply, error) {
	if len(types) == 1 && q.filter != nil {
		if err := filter.Check(q.filter, types[0].ResourceType, s.accept); err != nil {
			return nil, err
		}
	}
	q.groups = slices.ContainsFunc(types, func(t *resourceType) bool { return t.isUser && shows(t, q.projection) })
	var err error
	if q.ordering, err = newOrdering(q.sortBy, q.sortOrder, types); err != nil {
		return nil, err
	}
	if q.cursor != nil {
		return s.runCursorQuery(r, &q, types)
	}
	return s.runIndexQuery(r, &q, types)
}

// representHits is represent for resources of several types. It keeps their order.
func (s *server) representHits(ctx context.Context, base string, hits []hit, p schema.Projection) ([]*scim.Resource, error) {
	out := make([]*scim.Resource, len(hits))
	places := map[*resourceType][]int{}
	for i, h := range hits {
		places[h.t] = append(places[h.t], i)
	}
	for t, at := range places {
		recs := make([]*Record, len(at))
		for i, place := range at {
			recs[i] = hits[place].rec
		}
		resources, err := s.represent(ctx, base, t, recs, p)
		if err != nil {
			return nil, err
		}
		for i, place := range at {
			out[place] = resources[i]
		}
	}
	return out, nil
}
