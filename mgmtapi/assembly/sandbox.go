package assembly

import (
	"context"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/imports"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// Sandbox is what /sandbox/v1 shows and drives. Its types are not those of an embedder: cmd/internal/sandbox hands it to mgmtapi.Open with
// the context, until /sandbox/v1 is a handler of its own behind mgmtapi.API.Authorize.
type Sandbox struct {
	Work      sandboxapi.Work
	Providers sandboxapi.Providers
	Clock     sandboxapi.Clock
	Reset     func(ctx context.Context, seed bool) error
	// Beside is Options.Beside.
	Beside []rest.Info
}

type sandboxKey struct{}

// WithSandbox returns a context that hands s to mgmtapi.Open.
func WithSandbox(ctx context.Context, s Sandbox) context.Context {
	return context.WithValue(ctx, sandboxKey{}, s)
}

// Complete adds to the options what the context hands over, and whoever reads accounts, nil for nobody.
func (o *Options) Complete(ctx context.Context, reads imports.Engine) {
	s, _ := ctx.Value(sandboxKey{}).(Sandbox)
	o.Work, o.Providers, o.Clock, o.Reset, o.Beside = s.Work, s.Providers, s.Clock, s.Reset, s.Beside
	o.Imports = reads
}
