package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// Route is an operation without its request and response types, so that all operations form one table. Only Op and Unsupported implement
// it. Describe returns its Info.
type Route interface {
	row(r *row)
}

// Slice is a part of the API: the operations of one resource.
type Slice interface {
	// Routes lists the operations of the slice.
	Routes() []Route
}

// Info describes an operation.
type Info struct {
	ID          string   // unique name of the operation in documents, logs and metrics
	Method      string   // GET, POST...
	Path        string   // template with {variables}
	Tag         string   // resource under which it is listed
	Summary     string   // one line
	Description string   // more than one line, optional
	Scopes      []string // required OAuth scopes, all of them
	Access      string   // kind of permission, for Permitted
	Public      bool     // requires no credentials
	OAuth       bool     // errors have the OAuth form
	Status      int      // status of a successful response
	Also        int      // second status of a successful response, 0 for none
	Unsupported bool     // always returns CodeUnsupported, see Unsupported
}

// Op is one operation: a row of the table. Req is a struct with binding tags (see the package comment). Resp is a type that encoding/json
// encodes, a Page, or NoContent.
type Op[Req, Resp any] struct {
	ID          string
	Route       string // method, space, path template: "GET /api/v1/users/{user}"
	Tag         string
	Summary     string
	Description string
	// Scopes are the scopes that a caller needs. Required, unless the operation is Public. An empty one stands for Access.
	Scopes []string
	// Access is the kind of permission that Permitted decides about. Default: AccessRead for GET, AccessWrite for all other methods.
	Access string
	// Public means that the operation requires no credentials: callers are not authenticated, and rest.Caller is zero.
	Public bool
	// OAuth means that errors of the operation have the OAuth form (RFC 6749 section 5.2). The operation is Public and authenticates the
	// caller itself.
	OAuth bool
	// Status is the status of a success. Default: 204 if Resp is NoContent, else 200.
	Status int
	// Also is a second status of a success, for responses that implement StatusCoder and choose between Status and Also. Default: none.
	Also int
	// Find runs after authorization, with the path variables bound and nothing else read. It returns the "not found" error before the body is
	// read, and may store what it found in unexported fields of the request. Optional.
	Find func(ctx context.Context, req *Req) error
	// Check validates rules that tags cannot express. Check adds the caller's errors to causes, which already contains the errors that the
	// tags found. A member whose value violates one of its tags has the zero value. An error that Check returns is a failure of the server: it
	// becomes the response if causes is empty. Optional.
	Check func(ctx context.Context, req *Req, causes *Causes) error
	// Do runs the operation on a request that passed binding, the tags and Check.
	Do func(ctx context.Context, req *Req) (Resp, error)
}

// Describe returns the description of an operation.
func Describe(o Route) Info {
	var r row
	o.row(&r)
	return r.describe()
}

// Needs returns an operation with another kind of permission.
func Needs[Req, Resp any](o Op[Req, Resp], access string) Op[Req, Resp] {
	o.Access = access
	return o
}

// row is an Op without its types. All code that does not need them is in methods of row: the compiler generates the methods of Op again for
// each of the several hundred pairs of types.
type row struct {
	info              Info // without the method, the path and the defaults
	route             string
	request, response reflect.Type
	calls             calls
}

// row stores the operation in r.
func (o Op[Req, Resp]) row(r *row) {
	i := &r.info
	i.ID, i.Tag, i.Summary, i.Description, i.Scopes = o.ID, o.Tag, o.Summary, o.Description, o.Scopes
	i.Access, i.Public, i.OAuth, i.Status, i.Also = o.Access, o.Public, o.OAuth, o.Status, o.Also
	r.route, r.request, r.response = o.Route, reflect.TypeFor[Req](), reflect.TypeFor[Resp]()
	r.calls.request = func() any { return new(Req) }
	if find := o.Find; find != nil {
		r.calls.find = func(ctx context.Context, req any) error { return find(ctx, req.(*Req)) }
	}
	if check := o.Check; check != nil {
		r.calls.check = func(ctx context.Context, req any, causes *Causes) error { return check(ctx, req.(*Req), causes) }
	}
	if do := o.Do; do != nil {
		r.calls.do = func(ctx context.Context, req any) (any, error) { return do(ctx, req.(*Req)) }
	}
}

func (r *row) describe() Info {
	info := r.info
	info.Method, info.Path, _ = strings.Cut(r.route, " ")
	info.Scopes = slices.Clone(info.Scopes)
	if info.Access == "" {
		info.Access = AccessWrite
		if info.Method == http.MethodGet {
			info.Access = AccessRead
		}
	}
	for i, scope := range info.Scopes {
		info.Scopes[i] = cmp.Or(scope, info.Access)
	}
	if info.Status == 0 {
		info.Status = http.StatusOK
		if r.response == reflect.TypeFor[NoContent]() {
			info.Status = http.StatusNoContent
		}
	}
	return info
}

// The media types of successes.
const (
	mediaJSON = "application/json"
	mediaXML  = "application/xml"
	mediaCSV  = "text/csv"
	mediaPNG  = "image/png"
	mediaSVG  = "image/svg+xml"
	mediaHTML = "text/html"
)

// media returns the media type of a success. For a Listing, the type is CSV; the list is also available as JSON.
func (o *operation) media() string {
	switch r := reflect.New(o.response).Elem().Interface().(type) {
	case nonJSON:
		media, _ := r.content()
		return media
	case tabular:
		return mediaCSV
	}
	return mediaJSON
}

// operation is a compiled Op.
type operation struct {
	info     Info
	request  *requestShape
	response reflect.Type
	calls    calls
	text     bool // Options.TextPaths
}

// calls are the functions of an Op. The argument req is the result of request, a pointer.
type calls struct {
	request func() any
	find    func(ctx context.Context, req any) error                 // nil for none
	check   func(ctx context.Context, req any, causes *Causes) error // nil for none
	do      func(ctx context.Context, req any) (any, error)          // nil for none
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (r *row) compile(words Words) (*operation, error) {
	info := r.describe()
	switch {
	case info.ID == "":
		return nil, fmt.Errorf("rest: operation %q has no ID", r.route)
	case !slices.Contains(methods, info.Method) || !strings.HasPrefix(info.Path, "/"):
		return nil, fmt.Errorf("rest: operation %s: route %q is not a method and a path", info.ID, r.route)
	case info.Tag == "" || info.Summary == "":
		return nil, fmt.Errorf("rest: operation %s requires a tag and a summary", info.ID)
	case info.Public == (len(info.Scopes) > 0):
		return nil, fmt.Errorf("rest: operation %s requires a scope unless it is public", info.ID)
	case info.OAuth && !info.Public:
		return nil, fmt.Errorf("rest: operation %s is an OAuth endpoint and must be public", info.ID)
	case r.calls.do == nil:
		return nil, fmt.Errorf("rest: operation %s has no Do", info.ID)
	}
	shape, err := shapeOfRequest(r.request, words)
	if err != nil {
		return nil, fmt.Errorf("rest: operation %s: %w", info.ID, err)
	}
	if err := shape.matchesPath(info.Path); err != nil {
		return nil, fmt.Errorf("rest: operation %s: %w", info.ID, err)
	}
	return &operation{info: info, request: shape, response: r.response, calls: r.calls}, nil
}

// run binds the request and runs the operation.
func (o *operation) run(ctx context.Context, in *input) (any, error) {
	req := o.calls.request()
	target := reflect.ValueOf(req).Elem()
	if o.text {
		if err := checkVariables(in.vars); err != nil {
			return nil, err
		}
	}
	o.request.bindPath(target, in.vars)
	if o.calls.find != nil {
		if err := o.calls.find(ctx, req); err != nil {
			return nil, err
		}
	}
	var causes Causes
	if err := o.request.bind(target, in, &causes); err != nil {
		return nil, err
	}
	var failure error
	if o.calls.check != nil {
		failure = o.calls.check(ctx, req, &causes)
	}
	if err := cmp.Or(causes.Err(), failure); err != nil {
		return nil, err
	}
	return o.calls.do(ctx, req)
}
