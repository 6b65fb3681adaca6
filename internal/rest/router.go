package rest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// endpoint is a path template with its operations by method.
type endpoint struct {
	template string
	byMethod map[string]*operation
	names    []string // of the variables, in the order of the path
}

func (e *endpoint) allow() string { return strings.Join(slices.Sorted(maps.Keys(e.byMethod)), ", ") }

// oauth reports whether errors of the endpoint have the OAuth form.
func (e *endpoint) oauth() bool {
	for _, op := range e.byMethod {
		if !op.info.OAuth {
			return false
		}
	}
	return true
}

// router has the endpoints by the segments of their paths.
type router struct {
	endpoint *endpoint // of the path that ends here, or nil
	literals map[string]*router
	variable *router // for any segment that is not empty
}

func newRouter(operations []*operation) (*router, error) {
	root := &router{}
	for _, op := range operations {
		at, names := root, []string(nil)
		for segment := range strings.SplitSeq(strings.TrimPrefix(op.info.Path, "/"), "/") {
			if name, ok := variable(segment); ok {
				names = append(names, name)
				at.variable = cmp.Or(at.variable, &router{})
				at = at.variable
				continue
			}
			next, ok := at.literals[segment]
			if !ok {
				if at.literals == nil {
					at.literals = map[string]*router{}
				}
				next = &router{}
				at.literals[segment] = next
			}
			at = next
		}
		if at.endpoint == nil {
			at.endpoint = &endpoint{template: op.info.Path, byMethod: map[string]*operation{}, names: names}
		}
		if !slices.Equal(at.endpoint.names, names) {
			return nil, fmt.Errorf("rest: operation %s names the variables of %s differently", op.info.ID, at.endpoint.template)
		}
		if other, taken := at.endpoint.byMethod[op.info.Method]; taken {
			return nil, fmt.Errorf("rest: operations %s and %s have the same route", other.info.ID, op.info.ID)
		}
		at.endpoint.byMethod[op.info.Method] = op
	}
	return root, nil
}

// find returns the endpoint of a path and appends the values of its variables to the given ones. A literal has precedence over a variable.
func (r *router) find(path string, values []string) (*endpoint, []string) {
	segment, rest, more := strings.Cut(path, "/")
	for _, next := range []*router{r.literals[segment], r.variable} {
		if next == nil || next == r.variable && segment == "" {
			continue
		}
		with := values
		if next == r.variable {
			with = append(values[:len(values):len(values)], segment)
		}
		if !more {
			if next.endpoint != nil {
				return next.endpoint, with
			}
		} else if e, found := next.find(rest, with); e != nil {
			return e, found
		}
	}
	return nil, nil
}

// match returns the endpoint of a request and its variables. Segments are compared in their encoded form, so that an escaped slash remains
// part of its segment.
func match(root *router, r *http.Request) (*endpoint, map[string]string, bool) {
	path, rooted := strings.CutPrefix(strings.TrimRight(r.URL.EscapedPath(), "/"), "/")
	if !rooted {
		return nil, nil, false
	}
	e, values := root.find(path, nil)
	if e == nil {
		return nil, nil, false
	}
	vars := make(map[string]string, len(values))
	for i, value := range values {
		unescaped, err := url.PathUnescape(value)
		if err != nil {
			return nil, nil, false
		}
		vars[e.names[i]] = unescaped
	}
	return e, vars, true
}

func escapeSegment(s string) string { return url.PathEscape(s) }
