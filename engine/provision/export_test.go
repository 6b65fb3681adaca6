package provision

import (
	"context"
)

// Watch returns a look for overdue deactivations, which an engine that was started makes from time to time.
func (e *Engine) Watch() func(context.Context) error { return e.overdue.Look }
