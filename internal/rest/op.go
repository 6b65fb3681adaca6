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
// it.
type Route interface {
	// Info describes the operation.
	Info() Info
	compile(words Words) (*operation, error)
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
	// Scopes are the scopes that a caller needs. Required, unless the operation is Public.
	Scopes []string
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

// Info describes the operation.
func (o Op[Req, Resp]) Info() Info {
	method, path, _ := strings.Cut(o.Route, " ")
	status := o.Status
	if status == 0 {
		status = http.StatusOK
		if _, nothing := any(*new(Resp)).(NoContent); nothing {
			status = http.StatusNoContent
		}
	}
	return Info{
		ID: o.ID, Method: method, Path: path, Tag: o.Tag, Summary: o.Summary, Description: o.Description,
		Scopes: slices.Clone(o.Scopes), Public: o.Public, OAuth: o.OAuth, Status: status, Also: o.Also,
	}
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
	// run binds the request and runs the operation.
	run func(ctx context.Context, in *input) (any, error)
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (o Op[Req, Resp]) compile(words Words) (*operation, error) {
	info := o.Info()
	switch {
	case o.ID == "":
		return nil, fmt.Errorf("rest: operation %q has no ID", o.Route)
	case !slices.Contains(methods, info.Method) || !strings.HasPrefix(info.Path, "/"):
		return nil, fmt.Errorf("rest: operation %s: route %q is not a method and a path", o.ID, o.Route)
	case o.Tag == "" || o.Summary == "":
		return nil, fmt.Errorf("rest: operation %s requires a tag and a summary", o.ID)
	case o.Public == (len(o.Scopes) > 0):
		return nil, fmt.Errorf("rest: operation %s requires a scope unless it is public", o.ID)
	case o.OAuth && !o.Public:
		return nil, fmt.Errorf("rest: operation %s is an OAuth endpoint and must be public", o.ID)
	case o.Do == nil:
		return nil, fmt.Errorf("rest: operation %s has no Do", o.ID)
	}
	shape, err := shapeOfRequest(reflect.TypeFor[Req](), words)
	if err != nil {
		return nil, fmt.Errorf("rest: operation %s: %w", o.ID, err)
	}
	if err := shape.matchesPath(info.Path); err != nil {
		return nil, fmt.Errorf("rest: operation %s: %w", o.ID, err)
	}
	return &operation{
		info:     info,
		request:  shape,
		response: reflect.TypeFor[Resp](),
		run: func(ctx context.Context, in *input) (any, error) {
			req := new(Req)
			shape.bindPath(reflect.ValueOf(req).Elem(), in.vars)
			if o.Find != nil {
				if err := o.Find(ctx, req); err != nil {
					return nil, err
				}
			}
			var causes Causes
			if err := shape.bind(reflect.ValueOf(req).Elem(), in, &causes); err != nil {
				return nil, err
			}
			var failure error
			if o.Check != nil {
				failure = o.Check(ctx, req, &causes)
			}
			if err := cmp.Or(causes.Err(), failure); err != nil {
				return nil, err
			}
			return o.Do(ctx, req)
		},
	}, nil
}
