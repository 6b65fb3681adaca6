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

// Route is an operation whose request and response types have been erased, so that operations form one table. Only Op and
// Unsupported implement it.
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
	ID          string   // unique; names the operation in documents, logs and metrics
	Method      string   // GET, POST...
	Path        string   // template with {variables}
	Tag         string   // resource it is listed under
	Summary     string   // one line
	Description string   // more, when there is more to say
	Scopes      []string // OAuth scopes a caller needs, all of them
	Public      bool     // needs no credentials
	OAuth       bool     // fails as OAuth endpoints do
	Status      int      // of a success
	Also        int      // another status of a success, 0 for none
	Unsupported bool     // answers with CodeUnsupported, see Unsupported
}

// Op is one operation: a row of the table. Req is a struct with binding tags (see the package comment), Resp a type that
// encoding/json writes, a Page, or Nothing.
type Op[Req, Resp any] struct {
	ID          string
	Route       string // method, space, path template: "GET /api/v1/users/{user}"
	Tag         string
	Summary     string
	Description string
	// Scopes that a caller needs. Every operation has some, but for those that are Public.
	Scopes []string
	// Public says that the operation needs no credentials: nobody is asked who calls, and rest.Caller is zero.
	Public bool
	// OAuth says that the operation fails as OAuth endpoints do (RFC 6749 section 5.2). It is Public, and finds out itself who calls.
	OAuth bool
	// Status of a success. Defaults to 204 when Resp is Nothing, else to 200.
	Status int
	// Also is another status of a success, for responses that choose one, see Statused. Defaults to none.
	Also int
	// Find runs after authorization, with the path variables bound and nothing else read. It answers "not found" before the
	// body is looked at, and may keep what it found in unexported fields of the request. Optional.
	Find func(ctx context.Context, req *Req) error
	// Check validates what the tags cannot express. It adds errors of the caller to causes, which has those of the tags. The error that it
	// returns is a failure of the server, and becomes the response if causes is empty. Members that failed their tags hold zero values.
	// Optional.
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

// media is the media type of a success; a list that can be had as a table has JSON, too.
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
		return nil, fmt.Errorf("rest: operation %s needs a tag and a summary", o.ID)
	case o.Public == (len(o.Scopes) > 0):
		return nil, fmt.Errorf("rest: operation %s needs a scope, or is public", o.ID)
	case o.OAuth && !o.Public:
		return nil, fmt.Errorf("rest: operation %s is an OAuth endpoint, and so public", o.ID)
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
