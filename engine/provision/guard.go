package provision

import (
	"context"
	"fmt"
)

// Approve lets the deactivations and deletions of an app through that its Guard holds back, as many as were looked at: when there
// are more or fewer by now, nothing is done and the error is ErrStale. [Engine.Counts] and [Engine.States] tell what is held.
func (e *Engine) Approve(ctx context.Context, app string, expected int) error {
	if _, err := e.o.Store.Approve(ctx, app, e.o.Now(), expected); err != nil {
		return fmt.Errorf("engine: approve the removals of %s: %w", app, err)
	}
	e.Wake(app)
	return nil
}
