package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// The defaults of Op.Access.
const (
	AccessRead  = "read"
	AccessWrite = "write"
)

// Permitted is a Guard for handlers behind the authorization of an embedder that decides about each operation.
type Permitted struct {
	// Holder returns the name of the caller whose requests in flight share half of Options.MaxInFlight. Default: all callers share it.
	Holder func(ctx context.Context) string
	// Permit returns an error unless the caller may run an operation. Default: every operation.
	Permit func(ctx context.Context, op Info) error
	// Denied is the error of Permit for a caller that lacks a permission. The response then names the scopes of the operation. Required with
	// Permit.
	Denied error
}

// Authenticate implements Guard.
func (p Permitted) Authenticate(r *http.Request) (Principal, error) {
	caller := Caller(r.Context())
	if p.Holder != nil {
		caller.ClientID = p.Holder(r.Context())
	}
	return caller, nil
}

// Authorize implements Guard.
func (p Permitted) Authorize(ctx context.Context, _ Principal, op Info) error {
	if p.Permit == nil {
		return nil
	}
	err := p.Permit(ctx, op)
	if err != nil && errors.Is(err, p.Denied) {
		return NotPermitted(Info{ID: op.ID, Access: strings.Join(op.Scopes, " and ")})
	}
	return err
}

// NotPermitted returns the error for an operation whose permission the caller lacks.
func NotPermitted(op Info) *Error {
	return Failf(CodeForbidden, "The operation %s requires the permission %s.", op.ID, op.Access)
}

// Renamed returns an error of an operation in whose texts the internal name of an object is replaced by the name that the caller uses.
func Renamed(err error, internal, shown string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || internal == shown {
		return err
	}
	out := *e
	out.Summary = strings.ReplaceAll(e.Summary, internal, shown)
	out.Causes = slices.Clone(e.Causes)
	for i, cause := range out.Causes {
		out.Causes[i] = strings.ReplaceAll(cause, internal, shown)
	}
	return &out
}
