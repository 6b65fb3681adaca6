package rest

import (
	"context"
	"net/http"
	"strings"
)

// Principal is who calls.
type Principal struct {
	UserID  string // owner of the API token
	TokenID string // id of the API token
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
	requestID string
	base      string
	principal Principal
	route     string // the template that matched, empty while none has
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

// RequestID returns the id of the request, which is also in its answer and in log lines.
func RequestID(ctx context.Context) string { return callFrom(ctx).requestID }

// URL makes an absolute URL below the public base of the API from path segments, which are escaped:
// URL(ctx, "api", "v1", "users", id).
func URL(ctx context.Context, segments ...string) string {
	var b strings.Builder
	b.WriteString(callFrom(ctx).base)
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(escapeSegment(s))
	}
	return b.String()
}
