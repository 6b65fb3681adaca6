package mutants

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

type wrap = func(http.Handler) http.Handler

// A reply is a recorded response. Its methods Header, WriteHeader and Write implement http.ResponseWriter.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// Header returns the header of the response.
func (r *reply) Header() http.Header { return r.header }

// WriteHeader records the first status.
func (r *reply) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write appends to the body.
func (r *reply) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	r.body = append(r.body, p...)
	return len(p), nil
}

func (r *reply) ok() bool { return r.status >= 200 && r.status < 300 }

// object returns the body as an object, or nil if it is not a JSON object.
func (r *reply) object() *scim.Object {
	o, err := scim.Decode(r.body)
	if err != nil {
		return nil
	}
	return o
}

func (r *reply) send(w http.ResponseWriter) {
	for name, values := range r.header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	if r.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	w.WriteHeader(max(r.status, 200))
	_, _ = w.Write(r.body) // after an error, the client of the test receives a truncated body
}

// serve passes a request to next and returns the response.
func serve(next http.Handler, r *http.Request) *reply {
	rep := &reply{header: http.Header{}}
	next.ServeHTTP(rep, r)
	return rep
}

// derivedRequest returns a copy of r with another method, path, query and body. The credentials and the host are those of r.
func derivedRequest(r *http.Request, method, path, query string, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.Method = method
	out.URL = &url.URL{Path: path, RawQuery: query}
	out.RequestURI = ""
	out.Header.Set("Content-Type", scim.MediaType)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out
}

// newReply returns a reply with a JSON body. A nil object means an empty body.
func newReply(status int, o *scim.Object) *reply {
	rep := &reply{status: status, header: http.Header{"Content-Type": {scim.MediaType}}}
	if o != nil {
		rep.body = o.AppendJSON(nil)
	}
	return rep
}

func failure(status int, kind scim.Type) *reply {
	data, err := scim.Errorf(status, kind, "error of a mutant").MarshalJSON()
	if err != nil {
		panic(err) // unreachable: the message is constant
	}
	return &reply{status: status, header: http.Header{"Content-Type": {scim.MediaType}}, body: data}
}

// A match reports whether a fault applies to a request.
type match func(*http.Request) bool

// place splits the path of a request into the base path, the collection and the id.
func place(r *http.Request) (base, collection, id string) {
	segments := strings.Split(strings.TrimSuffix(r.URL.Path, "/"), "/")
	for i, s := range segments {
		switch s {
		case "Users", "Groups", "Devices", "Bulk", "Me", "Schemas", "ResourceTypes", "ServiceProviderConfig":
			return strings.Join(segments[:i], "/"), s, strings.Join(segments[i+1:], "/")
		}
	}
	return strings.TrimSuffix(r.URL.Path, "/"), "", ""
}

// on matches requests with a method to a collection: requests with an id in the path if single is set, requests without an id otherwise. An
// empty method or collection matches any.
//
//go:noinline
func on(method, collection string, single bool) match {
	return func(r *http.Request) bool {
		_, c, id := place(r)
		return (method == "" || r.Method == method) && (collection == "" || c == collection) && c != "" && (id != "") == single
	}
}

//go:noinline
func either(matches ...match) match {
	return func(r *http.Request) bool {
		return slices.ContainsFunc(matches, func(m match) bool { return m(r) })
	}
}

var (
	everything  match = func(*http.Request) bool { return true }
	createUser        = on("POST", "Users", false)
	readUser          = on("GET", "Users", true)
	listUsers         = on("GET", "Users", false)
	putUser           = on("PUT", "Users", true)
	patchUser         = on("PATCH", "Users", true)
	deleteUser        = on("DELETE", "Users", true)
	createGroup       = on("POST", "Groups", false)
	readGroup         = on("GET", "Groups", true)
	listGroups        = on("GET", "Groups", false)
	putGroup          = on("PUT", "Groups", true)
	patchGroup        = on("PATCH", "Groups", true)
)

// instead returns a wrapper that returns the result of fn for matching requests. fn decides whether next receives the request.
//
//go:noinline
func instead(m match, fn func(next http.Handler, r *http.Request) *reply) wrap {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !m(r) {
				next.ServeHTTP(w, r)
				return
			}
			fn(next, r).send(w)
		})
	}
}

// after returns a wrapper that changes the response to matching requests.
//
//go:noinline
func after(m match, fn func(r *http.Request, rep *reply)) wrap {
	return instead(m, func(next http.Handler, r *http.Request) *reply {
		rep := serve(next, r)
		fn(r, rep)
		return rep
	})
}

// afterBody returns a wrapper that changes the JSON body of successful responses to matching requests.
//
//go:noinline
func afterBody(m match, fn func(o *scim.Object)) wrap {
	return after(m, func(_ *http.Request, rep *reply) {
		if o := rep.object(); rep.ok() && o != nil {
			fn(o)
			rep.body = o.AppendJSON(nil)
		}
	})
}

// afterEach returns a wrapper that changes every resource in successful responses to matching requests: the body, or the items of a list.
func afterEach(m match, fn func(o *scim.Object)) wrap {
	return afterBody(m, func(o *scim.Object) {
		if _, isList := o.Get("Resources"); !isList {
			fn(o)
		}
		for _, item := range o.Array("Resources") {
			if resource, ok := item.(*scim.Object); ok {
				fn(resource)
			}
		}
	})
}

// readBody returns the body of a request. The body can be read again afterwards.
func readBody(r *http.Request) []byte {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	setBody(r, data)
	return data
}

func setBody(r *http.Request, data []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.Header.Del("Content-Length")
}

// before returns a wrapper that changes the JSON body of matching requests.
//
//go:noinline
func before(m match, fn func(o *scim.Object)) wrap {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if m(r) {
				if o, err := scim.Decode(readBody(r)); err == nil {
					fn(o)
					setBody(r, o.AppendJSON(nil))
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// refuse returns a wrapper that returns the result of rep for matching requests whose JSON body satisfies cond. The server does not
// receive these requests.
func refuse(m match, cond func(o *scim.Object) bool, rep func() *reply) wrap {
	return instead(m, func(next http.Handler, r *http.Request) *reply {
		if o, err := scim.Decode(readBody(r)); err == nil && cond(o) {
			return rep()
		}
		return serve(next, r)
	})
}

// query returns a wrapper that changes the query of matching requests.
//
//go:noinline
func query(m match, fn func(q url.Values)) wrap {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if m(r) {
				q := r.URL.Query()
				fn(q)
				r = r.Clone(r.Context())
				r.URL.RawQuery = q.Encode()
			}
			next.ServeHTTP(w, r)
		})
	}
}

// filtering returns a wrapper that changes the filter of matching requests. If fn returns "", the filter is removed.
func filtering(m match, fn func(filter string) string) wrap {
	return query(m, func(q url.Values) {
		if f := q.Get("filter"); f != "" {
			if f = fn(f); f == "" {
				q.Del("filter")
				return
			}
			q.Set("filter", f)
		}
	})
}

// with matches the requests of m with a nonempty query parameter.
//
//go:noinline
func with(m match, parameter string) match {
	return func(r *http.Request) bool { return m(r) && r.URL.Query().Get(parameter) != "" }
}

// operations returns a wrapper that replaces each operation of a matching PATCH by the result of fn. An empty result removes the operation.
func operations(m match, fn func(op *scim.Object) []*scim.Object) wrap {
	return before(m, func(o *scim.Object) {
		if len(o.Array("Operations")) == 0 {
			return // the mutant must not make such a request valid
		}
		var out []any
		for _, item := range o.Array("Operations") {
			if op, ok := item.(*scim.Object); ok {
				for _, made := range fn(op) {
					out = append(out, made)
				}
			}
		}
		if len(out) == 0 {
			// Servers may reject an empty list of operations, so a remove of locale replaces the removed operations.
			out = append(out, op("remove", "locale", nil))
		}
		o.Set("Operations", out)
	})
}

// edit returns a wrapper that changes each operation in place.
func edit(m match, fn func(op *scim.Object)) wrap {
	return operations(m, func(op *scim.Object) []*scim.Object {
		fn(op)
		return []*scim.Object{op}
	})
}

// drop returns a wrapper that removes the operations that satisfy cond.
func drop(m match, cond func(op *scim.Object) bool) wrap {
	return operations(m, func(op *scim.Object) []*scim.Object {
		if cond(op) {
			return nil
		}
		return []*scim.Object{op}
	})
}

// op returns an operation of a PATCH. It omits an empty path and a nil value.
func op(kind, path string, value any) *scim.Object {
	o := scim.NewObject(scim.Member{Name: "op", Value: kind})
	if path != "" {
		o.Set("path", path)
	}
	if value != nil {
		o.Set("value", value)
	}
	return o
}

// objectOf returns v. If v is not an object, objectOf returns a new object, so that the caller can read and change the result. Another
// mutant can cause such a value.
func objectOf(v any) *scim.Object {
	if o, ok := v.(*scim.Object); ok && o != nil {
		return o
	}
	return scim.NewObject()
}

// complexOf returns the object stored under name. If there is none, complexOf returns a new object that is not stored.
func complexOf(o *scim.Object, name string) *scim.Object { return objectOf(o.Complex(name)) }

// cut returns the first n bytes of text, or a shorter text unchanged.
func cut(text string, n int) string { return text[:min(n, len(text))] }

// parentOf returns location without its last slash and the segment after it, or a location without a slash unchanged.
func parentOf(location string) string {
	if i := strings.LastIndex(location, "/"); i >= 0 {
		return location[:i]
	}
	return location
}

func is(o *scim.Object, kind, path string) bool {
	return o.Text("op") == kind && o.Text("path") == path
}

// pretend returns a wrapper that replaces responses with the given status by the response to a GET of the same path. With the status of a
// rejection, the client receives a success although the server has rejected the request.
func pretend(m match, status int) wrap {
	return instead(m, func(next http.Handler, r *http.Request) *reply {
		rep := serve(next, r)
		if rep.status != status {
			return rep
		}
		return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil))
	})
}

// withJSON matches the requests of m whose JSON body satisfies cond.
func withJSON(m match, cond func(o *scim.Object) bool) match {
	return func(r *http.Request) bool {
		if !m(r) {
			return false
		}
		o, err := scim.Decode(readBody(r))
		return err == nil && cond(o)
	}
}

// anyOp reports whether an operation of a message satisfies cond.
func anyOp(cond func(op *scim.Object) bool) func(*scim.Object) bool {
	return func(o *scim.Object) bool {
		return slices.ContainsFunc(o.Array("Operations"), func(item any) bool {
			op, ok := item.(*scim.Object)
			return ok && cond(op)
		})
	}
}
