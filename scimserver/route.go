package scimserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver/internal/splice"
)

// anySegment is the placeholder for an id in the routes.
const anySegment = "*"

// maxSegment is the maximum length of an id in a request path, in bytes.
const maxSegment = 512

// action handles one request. Only the server writes its reply.
type action func(r *request) (*reply, error)

// route maps the methods of one path to actions. A route without actions is a part of SCIM that is not implemented.
type route map[string]action

// request is an authenticated request.
type request struct {
	*http.Request
	params url.Values
	base   string       // the URL prefix of locations
	id     string       // the last path segment, if the route has an id
	body   *scim.Object // the body, if it was read already
	inBulk bool         // an operation of a bulk request, whose reply contains no resource
	inTurn bool         // of a bulk request that has a turn
	grant  Grant
	memory *reservation
}

// reply is a response. Without a body only the headers are sent.
type reply struct {
	status   int
	id       string // of the resource in the body
	location string
	etag     string
	header   http.Header
	body     any      // *scim.Resource, scim.BulkResponse or *scim.Error
	text     *text    // instead of a body: its JSON text
	list     *listing // instead of a body: a list
}

// addRoutes builds the table of routes. Its keys are paths without the prefix and the leading slash.
func (s *server) addRoutes() error {
	s.routes = map[string]route{
		"":                      {http.MethodGet: s.queryRoot},
		".search":               {http.MethodPost: s.searchRoot},
		"ServiceProviderConfig": {http.MethodGet: s.getServiceProviderConfig},
		"Schemas":               {http.MethodGet: s.listSchemas},
		"Schemas/*":             {http.MethodGet: s.getSchema},
		"ResourceTypes":         {http.MethodGet: s.listResourceTypes},
		"ResourceTypes/*":       {http.MethodGet: s.getResourceType},
		"Me":                    s.meRoute(),
		"Bulk":                  {http.MethodPost: s.bulk},
	}
	for _, t := range s.types {
		if _, taken := s.routes[t.path]; taken {
			return fmt.Errorf("scimserver: resource type %s: endpoint %q is already in use", t.Name, t.Endpoint)
		}
		s.routes[t.path] = route{
			http.MethodGet:  func(r *request) (*reply, error) { return s.list(r, t) },
			http.MethodPost: func(r *request) (*reply, error) { return s.create(r, t) },
		}
		s.routes[t.path+"/.search"] = route{
			http.MethodPost: func(r *request) (*reply, error) { return s.search(r, t) },
		}
		s.routes[t.path+"/*"] = route{
			http.MethodGet:    func(r *request) (*reply, error) { return s.get(r, t) },
			http.MethodPut:    func(r *request) (*reply, error) { return s.replace(r, t) },
			http.MethodPatch:  func(r *request) (*reply, error) { return s.patch(r, t) },
			http.MethodDelete: func(r *request) (*reply, error) { return s.delete(r, t) },
		}
	}
	return nil
}

// addByID builds the table of routes with an id.
func (s *server) addByID() {
	s.byID = map[string]route{}
	for path, rt := range s.routes {
		if first, ok := strings.CutSuffix(path, "/"+anySegment); ok {
			s.byID[first] = rt
		}
	}
}

// allow returns the methods of a route for the Allow header.
func (rt route) allow() []string {
	out := []string{http.MethodOptions}
	for method := range rt {
		out = append(out, method)
		if method == http.MethodGet {
			out = append(out, http.MethodHead)
		}
	}
	slices.Sort(out)
	return out
}

// exchange is a request with the reservation of its memory.
type exchange struct {
	memory  reservation
	request request
}

// ServeHTTP handles one request and converts a panic to a 500.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, s.limits.MaxBody)
	}
	served.note(s.turns)
	x := &exchange{memory: reservation{own: s.memory, shared: s.shared}}
	defer x.memory.release()
	s.write(w, r, s.handle(r, x))
}

// handle finds and runs the action. It checks the credentials first, so that a client without credentials cannot find out which paths
// exist.
func (s *server) handle(r *http.Request, x *exchange) (rep *reply) {
	defer func() {
		if value := recover(); value != nil {
			rep = s.panicReply(r, value)
		}
	}()
	rep, err := s.dispatch(r, x)
	if err != nil {
		return s.errorReplyFor(r, err)
	}
	return rep
}

func (s *server) dispatch(r *http.Request, x *exchange) (*reply, error) {
	grant, err := s.authenticate(r)
	if err != nil {
		return nil, err
	}
	if !grant.permits(r) {
		return nil, scim.Errorf(http.StatusForbidden, "", "the token does not allow changes")
	}
	rt, id, ok, err := s.find(r.URL)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, scim.Errorf(http.StatusNotFound, "", "no endpoint at this path")
	}
	if len(rt) == 0 {
		return nil, scim.Errorf(http.StatusNotImplemented, "", "this server does not implement this part of SCIM")
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http omits the body
	}
	if method == http.MethodOptions {
		return &reply{status: http.StatusNoContent, header: http.Header{"Allow": {strings.Join(rt.allow(), ", ")}}}, nil
	}
	act, ok := rt[method]
	if !ok {
		return nil, &methodError{method: r.Method, allow: rt.allow()}
	}
	if err := acceptable(r.Header.Values("Accept")); err != nil {
		return nil, err
	}
	var params url.Values
	if r.URL.RawQuery != "" {
		if params, err = url.ParseQuery(r.URL.RawQuery); err != nil {
			return nil, scim.Errorf(http.StatusBadRequest, scim.InvalidSyntax, "the query of the URL is malformed")
		}
	}
	x.request = request{Request: r, params: params, base: s.base(r), id: id, grant: grant, memory: &x.memory}
	return act(&x.request)
}

// find returns the route of a path and its id. One trailing slash is allowed.
func (s *server) find(u *url.URL) (rt route, id string, ok bool, err error) {
	escaped := u.Path
	plain := u.RawPath == "" && isUnreserved(escaped)
	if !plain {
		escaped = u.EscapedPath()
	}
	path, ok, err := s.below(escaped)
	if err != nil || !ok {
		return nil, "", false, err
	}
	if rt, ok = s.routes[path]; ok && !strings.HasSuffix(path, anySegment) {
		return rt, "", true, nil
	}
	first, last, nested := strings.Cut(path, "/")
	if id = last; !plain {
		id, err = url.PathUnescape(last)
	}
	if !nested || err != nil || strings.Contains(last, "/") || !plausibleID(id) {
		return nil, "", false, nil
	}
	rt, ok = s.byID[first]
	return rt, id, ok, nil
}

// isUnreserved reports whether a path is the same with and without escapes.
func isUnreserved(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z', c == '/', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return true
}

// plausibleID reports whether a string can be an id. Other strings are never passed to a store: databases differ in their handling of NUL
// and invalid UTF-8.
func plausibleID(id string) bool {
	if id == "" || len(id) > maxSegment {
		return false
	}
	for i := range len(id) {
		if id[i] < ' ' || id[i] >= 0x7f { // rare: the fast way is not sufficient
			return utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
		}
	}
	return true
}

// base returns the URL prefix of the locations in the response to r.
func (s *server) base(r *http.Request) string {
	if s.baseURL != "" {
		return s.baseURL
	}
	if last := s.lastBase.Load(); last != nil && last.host == r.Host && last.secure == (r.TLS != nil) {
		return last.text
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	text := scheme + "://" + r.Host + s.prefix
	if len(r.Host) <= keptHost {
		s.lastBase.Store(&base{host: r.Host, secure: r.TLS != nil, text: text})
	}
	return text
}

// keptHost is the maximum length of a host whose base is cached for the next request.
const keptHost = 255

// base is the URL prefix of the locations in responses to a host.
type base struct {
	host   string
	secure bool
	text   string
}

// write sends a response.
func (s *server) write(w http.ResponseWriter, r *http.Request, rep *reply) {
	h := w.Header()
	for name, values := range rep.header {
		h[name] = values
	}
	// Resources are personal data: only the client may store them, and it must revalidate them before reuse.
	h["Cache-Control"] = cacheControlHeader
	h["X-Content-Type-Options"] = sniffingHeader
	values := make([]string, 0, 2) // one allocation for both fields
	if rep.location != "" {
		values = append(values, rep.location)
		h["Location"] = values[:1:1]
	}
	if rep.etag != "" {
		values = append(values, rep.etag)
		h["Etag"] = values[len(values)-1:]
	}
	switch {
	case rep.list != nil:
		rep.list.write(w, rep.status)
		return
	case rep.text != nil:
		defer rep.text.release()
		limitTime(w, rep.text.large.weight)
		s.send(w, r, rep.status, rep.text.out, 0, rep.text.cuts)
		return
	case rep.body == nil:
		w.WriteHeader(rep.status)
		return
	}
	b := s.takeBuffers()
	defer s.giveBuffers(b)
	body, err := encode(b.out[:0], rep.body)
	if err != nil {
		rep = s.internalError(r, errorAttr(fmt.Errorf("encode the response: %w", err)))
		body, _ = encode(nil, rep.body)
	}
	b.out = body
	s.send(w, r, rep.status, body, 0, nil)
}

// send sends a complete body, which starts at an offset of its buffer.
func (s *server) send(w http.ResponseWriter, r *http.Request, status int, body []byte, offset int, cuts []splice.Cut) {
	h := w.Header()
	h["Content-Type"] = mediaTypeHeader
	h["Content-Length"] = []string{strconv.FormatInt(int64(len(body))+cutSize(cuts), 10)}
	w.WriteHeader(status)
	if err := s.writePieces(w, body, offset, cuts); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		s.log.DebugContext(r.Context(), "the response could not be sent", errorAttr(err))
	}
}

// The values of header fields that do not depend on the request. They are shared by all responses and never modified.
var (
	mediaTypeHeader    = []string{scim.MediaType}
	cacheControlHeader = []string{"private, no-cache"}
	sniffingHeader     = []string{"nosniff"}
)

// encode appends the JSON encoding of a response body to dst.
func encode(dst []byte, body any) ([]byte, error) {
	if a, ok := body.(interface{ AppendJSON([]byte) []byte }); ok {
		return a.AppendJSON(dst), nil
	}
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(body)
	return buf.Bytes(), err
}
