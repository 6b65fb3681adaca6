package sandboxport

import (
	"context"

	"github.com/scimwright/scimwright/internal/rest"
)

// Sandbox is the part of the sandbox that the management API reads and changes at /sandbox/v1.
type Sandbox struct {
	Work      Work
	Providers Providers
	Clock     Clock
	// Reset restores the initial content of the sandbox. If seed is true, it also creates the seed organization.
	Reset func(ctx context.Context, seed bool) error
	// Guarded lists operations that another handler serves after mgmtapi.API.Authorize has authorized the request. The operation
	// /sandbox/v1/authz/explain also explains the permissions for them.
	Guarded []rest.Info
}

type contextKey struct{}

// WithSandbox returns a context that passes s to mgmtapi.Open.
func WithSandbox(ctx context.Context, s Sandbox) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// FromContext returns the sandbox in the context. Default: the zero Sandbox.
func FromContext(ctx context.Context) Sandbox {
	s, _ := ctx.Value(contextKey{}).(Sandbox)
	return s
}
