package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/trace"
)

// explainedExchanges is how many exchanges come with an explanation.
const explainedExchanges = 20

// Explain joins what the directory says about a principal with what the engine knows. The target is not asked.
func (e *Engine) Explain(ctx context.Context, app string, kind engine.Kind, id string) (engine.PrincipalExplanation, error) {
	if err := principal.Check(app, kind, id); err != nil {
		return engine.PrincipalExplanation{}, err
	}
	x := engine.PrincipalExplanation{App: app, Kind: kind, ID: id, Exchanges: []engine.Sent{}}
	target, err := e.o.Directory.Target(ctx, app)
	if err != nil {
		return x, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	if d, ok := e.o.Directory.(engine.Explainer); ok {
		if x.Explanation, err = d.Explain(ctx, app, kind, id); err != nil {
			return x, fmt.Errorf("engine: explain %s %s of %s: %w", kind, id, app, err)
		}
	}
	s, err := principal.State(ctx, e.o.Store, app, kind, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return x, nil
	case err != nil:
		return x, err
	}
	x.State = principal.Shown(s)
	if kind == engine.Group {
		if x.Waiting, err = e.waitsOn(ctx, s); err != nil {
			return x, err
		}
	}
	all, err := e.o.Store.Attempts(ctx, engine.AttemptQuery{App: app, Kind: kind, Principal: id, Limit: explainedExchanges})
	for _, a := range all {
		x.Exchanges = append(x.Exchanges, trace.Sent(a, target.BaseURL))
	}
	return x, err
}
