package rest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Principal is the authenticated caller.
type Principal struct {
	UserID  string // owner of the API token
	Login   string // of the owner
	Name    string // display name of the owner
	TokenID string // id of the API token

	// ClientID is the application that uses an access token instead of an API token. UserID is then empty.
	ClientID string
	// AccessTokenID is the id (jti) of the access token.
	AccessTokenID string
	// Scopes are the scopes of the access token, separated by spaces.
	Scopes string

	// Standing is the data about the owner's permissions that authentication has read, or nil if it has read none.
	Standing any
}

// Guard authenticates and authorizes callers.
type Guard interface {
	// Authenticate returns the caller. If its error is an *Error, the response is that error unchanged.
	Authenticate(r *http.Request) (Principal, error)
	// Authorize returns an error if the caller may not run an operation.
	Authorize(ctx context.Context, p Principal, op Info) error
}

// call is the data of one request, stored in its context.
type call struct {
	request   Request
	bases     bases
	principal Principal
	route     string // the template that matched, empty if none
	vars      map[string]string
	admitted  any
	oauth     bool // errors have the OAuth form
	memory    *memory
	holder    holder      // set with the first byte that the request holds
	held      int64       // bytes of memory
	header    http.Header // headers of a successful response
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return &call{}
	}
	return c
}

// Caller returns the principal that sent the request. It is zero outside of a request.
func Caller(ctx context.Context) Principal { return callFrom(ctx).principal }

// PathVar returns a variable of the path of the request, unescaped. It is for guards; operations bind variables to fields of the request.
func PathVar(ctx context.Context, name string) string { return callFrom(ctx).vars[name] }

// Admit stores what a guard has determined about the permissions of the caller, for use by the operation.
func Admit(ctx context.Context, admitted any) { callFrom(ctx).admitted = admitted }

// Admitted returns the value that Admit stored for the request, or nil.
func Admitted(ctx context.Context) any { return callFrom(ctx).admitted }

// RequestID returns the id of the request, which is also in its response and in log lines.
func RequestID(ctx context.Context) string { return callFrom(ctx).request.ID }

// Request is the data of a request that may be logged.
type Request struct {
	ID        string
	Host      string // the Host header as the client sent it
	Path      string // the path as the client sent it, without the query
	Query     url.Values
	IP        string // address of the peer; forwarding headers are not trusted
	UserAgent string
}

// RequestOf returns the current request. It is zero outside of a request.
func RequestOf(ctx context.Context) Request { return callFrom(ctx).request }

// describe returns the loggable data of a request.
func describe(r *http.Request, id string) Request {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		ip = ""
	}
	return Request{ID: id, Host: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.Query(), IP: ip, UserAgent: r.UserAgent()}
}

// NextURL returns the URL of the request with the parameter "after" set to the given cursor, for lists with links in the body.
func NextURL(ctx context.Context, after string) string {
	c := callFrom(ctx)
	query := url.Values{}
	for name, values := range c.request.Query {
		query[name] = values
	}
	query.Set("after", after)
	return c.bases.public + c.request.Path + "?" + query.Encode()
}

// URL returns an absolute URL below the public base of the API from path segments, which it escapes: URL(ctx, "api", "v1", "users", id).
func URL(ctx context.Context, segments ...string) string {
	var b strings.Builder
	b.WriteString(callFrom(ctx).bases.public)
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(escapeSegment(s))
	}
	return b.String()
}

// Outside returns a context without the data of the request; it is canceled with the request.
func Outside(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, &call{})
}

// WithBaseURL returns a context outside of a request, in which URL returns URLs below base.
func WithBaseURL(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, callKey{}, &call{bases: bases{public: base, all: []string{base}}})
}

// SetHeader sets a header of a successful response to the request.
func SetHeader(ctx context.Context, name, value string) {
	c := callFrom(ctx)
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Set(name, value)
}
