package quirks

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// wrap returns a handler that applies one deviation to next. shared is nil if the state of the deviation is in memory.
func wrap(next http.Handler, deviate deviation, shared Shared) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := newCall(next, r)
		c.shared = shared
		if a := deviate(c); a != nil {
			a.send(w)
			return
		}
		next.ServeHTTP(w, c.Request)
	})
}

// The collections that quirks distinguish.
const (
	users         = "Users"
	userGroups    = "Groups"
	configuration = "ServiceProviderConfig"
	schemas       = "Schemas"
	resourceTypes = "ResourceTypes"
)

// search is the last path segment of a query by POST.
const search = ".search"

// call is a request before it reaches the server.
type call struct {
	*http.Request
	next       http.Handler
	base       string // path of the service, without a trailing slash
	collection string // first segment below base if it is one of the constants above, else ""
	id         string // the rest of the path
	shared     Shared // nil: the state of quirks is in memory
}

func newCall(next http.Handler, r *http.Request) *call {
	c := &call{Request: r, next: next}
	segments := strings.Split(strings.TrimSuffix(r.URL.Path, "/"), "/")
	for i, s := range segments {
		switch s {
		case users, userGroups, configuration, schemas, resourceTypes:
			c.base, c.collection, c.id = strings.Join(segments[:i], "/"), s, strings.Join(segments[i+1:], "/")
			return c
		}
	}
	return c
}

// creates reports whether the call creates a resource in one of the collections.
func (c *call) creates(collections ...string) bool {
	return c.Method == http.MethodPost && c.id == "" && slices.Contains(collections, c.collection)
}

// changes reports whether the call has that method and its path is one resource of the collections.
func (c *call) changes(method string, collections ...string) bool {
	return c.Method == method && c.id != "" && slices.Contains(collections, c.collection)
}

// writes reports whether the body of the call is a resource or a PATCH for one of the collections.
func (c *call) writes(collections ...string) bool {
	return c.creates(collections...) || c.changes(http.MethodPut, collections...) || c.changes(http.MethodPatch, collections...)
}

// lists reports whether the call queries one of the collections.
func (c *call) lists(collections ...string) bool {
	if !slices.Contains(collections, c.collection) {
		return false
	}
	return c.Method == http.MethodGet && c.id == "" || c.Method == http.MethodPost && c.id == search
}

// reads reports whether the call reads one resource or the discovery document of a collection.
func (c *call) reads(collection string) bool {
	return c.Method == http.MethodGet && c.collection == collection
}

// filter returns the filter of a query, or "" if the query has no filter.
func (c *call) filter() string {
	if c.Method == http.MethodPost {
		return c.body().Text("filter")
	}
	return c.URL.Query().Get("filter")
}

// setQuery changes a parameter of a query by GET, or the corresponding member in the message of a query by POST.
func (c *call) setQuery(name, value string) {
	if c.Method == http.MethodPost {
		if o := c.body(); o != nil {
			o.Delete(name)
			if n, err := strconv.Atoi(value); err == nil {
				o.Set(name, n)
			}
			c.setBody(o)
		}
		return
	}
	query := c.URL.Query()
	query.Del(name)
	if value != "" {
		query.Set(name, value)
	}
	changed := c.Clone(c.Context())
	changed.URL.RawQuery = query.Encode()
	c.Request = changed
}

// query returns a parameter of a query as a number, or 0 if the parameter is not a number.
func (c *call) query(name string) int {
	if c.Method == http.MethodPost {
		v, _ := c.body().Get(name)
		n, _ := strconv.Atoi(strings.Trim(string(scim.AppendValue(nil, v)), `"`))
		return n
	}
	n, _ := strconv.Atoi(c.URL.Query().Get(name))
	return n
}

// body returns the JSON object in the body, or nil if the body is not a JSON object. The server can still read the body.
func (c *call) body() *scim.Object {
	data, err := io.ReadAll(c.Body)
	if err != nil {
		// The server must receive the same read error.
		c.Body = io.NopCloser(io.MultiReader(bytes.NewReader(data), broken{err}))
		return nil
	}
	c.setBytes(data)
	o, err := scim.Decode(data)
	if err != nil {
		return nil
	}
	return o
}

// broken is the end of a body that could not be read completely.
type broken struct{ err error }

// Read returns the error.
func (b broken) Read([]byte) (int, error) { return 0, b.err }

func (c *call) setBody(o *scim.Object) { c.setBytes(o.AppendJSON(nil)) }

func (c *call) setBytes(data []byte) {
	c.Body, c.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
}

// forward forwards the call to the server and returns the response.
func (c *call) forward() *response {
	a := &response{header: http.Header{}}
	c.next.ServeHTTP(a, c.Request)
	return a
}

// get reads a path below the base with the credentials of the call.
func (c *call) get(path string) *response {
	r := c.Clone(c.Context())
	r.Method, r.URL, r.RequestURI = http.MethodGet, &url.URL{Path: c.base + "/" + path}, ""
	r.Body, r.ContentLength = http.NoBody, 0
	for _, name := range []string{"Content-Type", "Content-Length", "If-Match", "If-None-Match"} {
		r.Header.Del(name)
	}
	a := &response{header: http.Header{}}
	c.next.ServeHTTP(a, r)
	return a
}

// self reads the resource in the path of the call.
func (c *call) self() *response { return c.get(c.collection + "/" + c.id) }

// response is the response of a server before it is sent.
type response struct {
	status int
	header http.Header
	body   []byte

	// cut means that half of the body is sent before the connection is closed. dropped means that the connection is closed without a response.
	cut, dropped bool
}

// Header implements http.ResponseWriter, together with WriteHeader and Write.
func (a *response) Header() http.Header { return a.header }

// WriteHeader stores the first status.
func (a *response) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write appends to the body.
func (a *response) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, p...)
	return len(p), nil
}

func (a *response) ok() bool { return a.status >= 200 && a.status < 300 }

// object returns the body, or nil if it is not a JSON object.
func (a *response) object() *scim.Object {
	o, err := scim.Decode(a.body)
	if err != nil {
		return nil
	}
	return o
}

// edit changes the body of a successful response.
func (a *response) edit(change func(o *scim.Object)) *response {
	if o := a.object(); a.ok() && o != nil {
		change(o)
		a.body = o.AppendJSON(nil)
	}
	return a
}

// each changes the resources of a successful response: the body itself, or the items of a list.
func (a *response) each(change func(o *scim.Object)) *response {
	return a.edit(func(o *scim.Object) {
		if _, list := o.Get("totalResults"); !list {
			change(o)
		}
		for _, item := range o.Array("Resources") {
			if resource, ok := item.(*scim.Object); ok {
				change(resource)
			}
		}
	})
}

// keep removes from a list the resources for which the function wanted returns false, and adjusts the counts.
func (a *response) keep(wanted func(o *scim.Object) bool) *response {
	return a.edit(func(o *scim.Object) {
		kept := []any{}
		gone := 0
		for _, item := range o.Array("Resources") {
			if resource, ok := item.(*scim.Object); ok && !wanted(resource) {
				gone++
				continue
			}
			kept = append(kept, item)
		}
		o.Set("Resources", kept)
		o.Set("itemsPerPage", len(kept))
		o.Set("totalResults", integer(o, "totalResults")-gone)
	})
}

func integer(o *scim.Object, name string) int {
	v, _ := o.Get(name)
	n, _ := strconv.Atoi(string(scim.AppendValue(nil, v)))
	return n
}

func (a *response) send(w http.ResponseWriter) {
	if a.dropped {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h.Del("Content-Length")
	if len(a.body) > 0 {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(max(a.status, http.StatusOK))
	if a.cut {
		_, _ = w.Write(a.body[:len(a.body)/2])
		_ = http.NewResponseController(w).Flush() // otherwise net/http might discard the half body with the connection
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(a.body)
}

// errorResponse returns a SCIM error.
func errorResponse(status int, kind scim.Type, detail string) *response {
	e := &scim.Error{Status: status, ScimType: kind, Detail: detail}
	a := &response{status: status, header: http.Header{"Content-Type": {scim.MediaType}}}
	if data, err := e.MarshalJSON(); err == nil {
		a.body = data
	}
	return a
}

// plain returns a response that is not SCIM.
func plain(status int, mediaType, text string) *response {
	return &response{status: status, header: http.Header{"Content-Type": {mediaType}}, body: []byte(text)}
}
