package provision

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
)

// Events lists what has happened to an app and its principals. Whoever reads on from the last Seq misses nothing, and sees nothing
// twice; a first Seq greater than After + 1 says that older events were removed already.
func (e *Engine) Events(ctx context.Context, q engine.EventQuery) ([]engine.Event, error) {
	if q.App == "" {
		return nil, errors.New("engine: EventQuery.App is required: events have an order within an app")
	}
	return e.o.Store.Events(ctx, q)
}
