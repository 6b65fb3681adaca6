package engine

import "context"

// Lags returns how far the targets of all apps are behind, by app.
func (e *Engine) Lags(ctx context.Context) ([]Lag, error) { return e.o.Store.Lags(ctx, "") }

// Lag returns how far the target of an app is behind, or ErrNotFound.
func (e *Engine) Lag(ctx context.Context, app string) (Lag, error) {
	if app == "" {
		return Lag{}, ErrNotFound // it would not restrict the query
	}
	found, err := e.o.Store.Lags(ctx, app)
	if err != nil {
		return Lag{}, err
	}
	if len(found) == 0 {
		return Lag{}, ErrNotFound
	}
	return found[0], nil
}
