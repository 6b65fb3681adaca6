package assembly

import (
	"context"

	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
)

// Complete copies the sandbox options in ctx to the options and sets Options.Imports to the engine `reads`. If `reads` is nil, imports are
// not supported.
func (o *Options) Complete(ctx context.Context, reads imports.Engine) {
	s := sandboxport.FromContext(ctx)
	o.Work, o.Providers, o.Clock, o.Reset, o.Guarded = s.Work, s.Providers, s.Clock, s.Reset, s.Guarded
	o.Imports = reads
}
