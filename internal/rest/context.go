package rest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Principal is who calls.
type Principal struct {
	UserID  string // owner of the API token
	Login   string // of the owner
	Name    string // of the owner, for people
	TokenID string // id of the API token

	// ClientID is the application whose client calls with an access token. There is no UserID then.
	ClientID string
	// AccessTokenID is the id (jti) of that access token.
	AccessTokenID string
	// Scopes are what the access token may be used for, with spaces between.
	Scopes string

	// Standing is what was found out about the owner's rights while finding out who calls; nil for nothing.
	Standing any
}

// Guard decides who calls and what a caller may do.
type Guard interface {
	// Authenticate finds out who calls. Its error is answered as it is when it is an *Error.
	Authenticate(r *http.Request) (Principal, error)
	// Authorize says whether the caller may run an operation.
	Authorize(ctx context.Context, p Principal, op Info) error
}

// call is what belongs to one request and travels in its context.
type call struct {
	request   Request
	bases     bases
	principal Principal
	route     string // the template that matched, empty while none has
	vars      map[string]string
	admitted  any
	oauth     bool        // the operation fails as OAuth endpoints do
	header    http.Header // of a success
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return &call{}
	}
	return c
}

// Caller returns who sent the request. It is zero outside of a request.
func Caller(ctx context.Context) Principal { return callFrom(ctx).principal }

// PathVar returns a variable of the path of the request, unescaped, for guards. Operations bind theirs.
func PathVar(ctx context.Context, name string) string { return callFrom(ctx).vars[name] }

// Admit keeps what a guard has found out about what the caller may do, for the operation that it lets pass.
func Admit(ctx context.Context, admitted any) { callFrom(ctx).admitted = admitted }

// Admitted returns what Admit has kept for the request, nil for nothing.
func Admitted(ctx context.Context) any { return callFrom(ctx).admitted }

// RequestID returns the id of the request, which is also in its answer and in log lines.
func RequestID(ctx context.Context) string { return callFrom(ctx).request.ID }

// Request is what a log tells of a request.
type Request struct {
	ID        string
	Host      string // as it was sent
	Path      string // as it was sent, without the query
	Query     url.Values
	IP        string // of the peer; what a proxy says of others is not believed
	UserAgent string
}

// RequestOf returns the request that is answered. It is zero outside of a request.
func RequestOf(ctx context.Context) Request { return callFrom(ctx).request }

// describe is what is told of a request.
func describe(r *http.Request, id string) Request {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		ip = ""
	}
	return Request{ID: id, Host: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.Query(), IP: ip, UserAgent: r.UserAgent()}
}

// NextURL is the URL of the request with another cursor in "after", for lists whose links stand in the body.
func NextURL(ctx context.Context, after string) string {
	c := callFrom(ctx)
	query := url.Values{}
	for name, values := range c.request.Query {
		query[name] = values
	}
	query.Set("after", after)
	return c.bases.public + c.request.Path + "?" + query.Encode()
}

// URL makes an absolute URL below the public base of the API from path segments, which are escaped:
// URL(ctx, "api", "v1", "users", id).
func URL(ctx context.Context, segments ...string) string {
	var b strings.Builder
	b.WriteString(callFrom(ctx).bases.public)
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(escapeSegment(s))
	}
	return b.String()
}

// Outside is a context that is not of the request any more, but ends with it.
func Outside(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, &call{})
}

// WithBaseURL is a context that belongs to no request, in which URL makes addresses below a base.
func WithBaseURL(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, callKey{}, &call{bases: bases{public: base, all: []string{base}}})
}

// SetHeader sets a header of the answer to the request, for when it succeeds.
func SetHeader(ctx context.Context, name, value string) {
	c := callFrom(ctx)
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Set(name, value)
}
