package rest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"
)

// endpoint is a path template with its operations by method.
type endpoint struct {
	template string
	byMethod map[string]*operation
}

func (e *endpoint) ServeHTTP(http.ResponseWriter, *http.Request) {} // never called: the router is used for matching only

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

// newRouter creates one subrouter per resource and registers literals before variables, because gorilla/mux tries the routes one after the
// other.
func newRouter(operations []*operation) (*mux.Router, error) {
	endpoints := map[string]*endpoint{}
	for _, op := range operations {
		e, ok := endpoints[op.info.Path]
		if !ok {
			e = &endpoint{template: op.info.Path, byMethod: map[string]*operation{}}
			endpoints[op.info.Path] = e
		}
		if other, taken := e.byMethod[op.info.Method]; taken {
			return nil, fmt.Errorf("rest: operations %s and %s have the same route", other.info.ID, op.info.ID)
		}
		e.byMethod[op.info.Method] = op
	}
	// Paths stay encoded, so that an escaped slash remains part of its segment; variables are unescaped once, here.
	router := mux.NewRouter().UseEncodedPath().SkipClean(true)
	subrouters := map[string]*mux.Router{}
	for _, e := range slices.SortedFunc(maps.Values(endpoints), func(a, b *endpoint) int {
		return slices.CompareFunc(strings.Split(a.template, "/"), strings.Split(b.template, "/"), compareSegments)
	}) {
		prefix := resourcePrefix(e.template)
		sub, ok := subrouters[prefix]
		if !ok {
			sub = router.PathPrefix(prefix).Subrouter()
			subrouters[prefix] = sub
		}
		sub.Handle(strings.TrimPrefix(e.template, prefix), e)
	}
	return router, nil
}

// compareSegments orders literals before variables.
func compareSegments(a, b string) int {
	_, aVariable := variable(a)
	_, bVariable := variable(b)
	switch {
	case aVariable == bVariable:
		return cmp.Compare(a, b)
	case aVariable:
		return 1
	default:
		return -1
	}
}

// resourcePrefix returns the template up to its first variable, at most three segments: /api/v1/users.
func resourcePrefix(template string) string {
	segments := strings.SplitN(template, "/", 5)
	prefix := ""
	for _, s := range segments[1:min(len(segments), 4)] {
		if _, isVariable := variable(s); isVariable {
			break
		}
		prefix += "/" + s
	}
	return prefix
}

// match returns the endpoint of a request and its variables. It does not modify the request's URL.
func match(router *mux.Router, r *http.Request) (*endpoint, map[string]string, bool) {
	path := strings.TrimRight(r.URL.EscapedPath(), "/")
	probe := &http.Request{Method: r.Method, URL: &url.URL{}}
	unescaped, err := url.PathUnescape(path)
	if err != nil {
		return nil, nil, false
	}
	probe.URL.Path, probe.URL.RawPath = unescaped, path
	var m mux.RouteMatch
	if !router.Match(probe, &m) {
		return nil, nil, false
	}
	e, ok := m.Handler.(*endpoint)
	if !ok {
		return nil, nil, false
	}
	vars := make(map[string]string, len(m.Vars))
	for name, value := range m.Vars {
		if vars[name], err = url.PathUnescape(value); err != nil {
			return nil, nil, false
		}
	}
	return e, vars, true
}

func escapeSegment(s string) string { return url.PathEscape(s) }
