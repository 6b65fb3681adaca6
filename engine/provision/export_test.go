package provision

import (
	"context"
)

// Watch returns one check for overdue deactivations, which a started engine runs periodically.
func (e *Engine) Watch() func(context.Context) error { return e.overdue.Look }
