package provision

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Watch returns a look for overdue deactivations, which an engine that was started makes from time to time.
func (e *Engine) Watch() func(context.Context) error { return (&watcher{e: e}).look }

// Closed is until when one of the windows after the other is open, zero when none is.
func Closed(all []engine.Window, now time.Time) (time.Time, error) {
	c, err := compile(all)
	return closed(c, now), err
}
