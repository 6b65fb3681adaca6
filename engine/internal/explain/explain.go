package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/internal/trace"
	"github.com/scimwright/scimwright/engine/store"
)

// explainedExchanges is the number of exchanges in an explanation.
const explainedExchanges = 20

// Store has the methods of package store that an explanation uses. All of them are reads.
type Store interface {
	Lane(ctx context.Context, app string) (engine.Lane, error)
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	Attempts(ctx context.Context, q engine.AttemptQuery) ([]engine.Attempt, error)
	Members(ctx context.Context, app string, q store.MemberQuery) ([]store.Member, error)
}

// Deps are the dependencies of explanations; all fields are required.
type Deps struct {
	Store     Store
	Directory engine.Directory
	Targets   *target.Connector
	Now       func() time.Time
}

// Explain combines the directory's explanation of a principal with the stored state; see provision.Traces.Explain.
func (d Deps) Explain(ctx context.Context, app string, kind engine.Kind, id string) (engine.PrincipalExplanation, error) {
	if err := principal.Check(app, kind, id); err != nil {
		return engine.PrincipalExplanation{}, err
	}
	x := engine.PrincipalExplanation{App: app, Kind: kind, ID: id, Exchanges: []engine.Sent{}}
	target, err := d.Directory.Target(ctx, app)
	if err != nil {
		return x, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	if explainer, ok := d.Directory.(engine.Explainer); ok {
		if x.Explanation, err = explainer.Explain(ctx, app, kind, id); err != nil {
			return x, fmt.Errorf("engine: explain %s %s of %s: %w", kind, id, app, err)
		}
	}
	s, err := principal.State(ctx, d.Store, app, kind, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return x, nil
	case err != nil:
		return x, err
	}
	x.State = principal.Shown(s)
	if kind == engine.Group {
		if x.Waiting, err = d.waitsOn(ctx, s); err != nil {
			return x, err
		}
	}
	all, err := d.Store.Attempts(ctx, engine.AttemptQuery{App: app, Kind: kind, Principal: id, Limit: explainedExchanges})
	for _, a := range all {
		x.Exchanges = append(x.Exchanges, trace.Sent(a, target.BaseURL))
	}
	return x, err
}
