package assembly

import (
	"context"

	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
)

// Complete sets the options of the sandbox that ctx carries, and the reader of accounts. A nil reads means no reader.
func (o *Options) Complete(ctx context.Context, reads imports.Engine) {
	s := sandboxport.FromContext(ctx)
	o.Work, o.Providers, o.Clock, o.Reset, o.Guarded = s.Work, s.Providers, s.Clock, s.Reset, s.Guarded
	o.Imports = reads
}
