package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Lags returns how far the targets of all apps are behind, by app.
func (e *Engine) Lags(ctx context.Context) ([]engine.Lag, error) { return e.o.Store.Lags(ctx, "") }

// Lag returns how far the target of an app is behind, or ErrNotFound.
func (e *Engine) Lag(ctx context.Context, app string) (engine.Lag, error) {
	if app == "" {
		return engine.Lag{}, engine.ErrNotFound // it would not restrict the query
	}
	found, err := e.o.Store.Lags(ctx, app)
	if err != nil {
		return engine.Lag{}, err
	}
	if len(found) == 0 {
		return engine.Lag{}, engine.ErrNotFound
	}
	return found[0], nil
}
