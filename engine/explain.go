package engine

import (
	"context"
	"errors"
	"fmt"
)

// Explainer is what a Directory may also implement: it says why things are as they are.
type Explainer interface {
	// Explain says why a principal is, or is not, in an app, and where the values of its attributes come from.
	Explain(ctx context.Context, app string, kind Kind, id string) (Explanation, error)
}

// Explanation is the directory's part of an answer to «why is this user there, and why this value».
type Explanation struct {
	// Reasons are a chain, from the cause to the effect: member of the group Sales, the group is assigned to the app.
	Reasons []string `json:"reasons"`
	Values  []Value  `json:"values"`
}

// Value is where the value of one attribute comes from.
type Value struct {
	Path   string `json:"path"`             // at the target, e.g. name.givenName
	Source string `json:"source,omitempty"` // what it is made of, e.g. profile.firstName, or the name of the mapping
	Rule   string `json:"rule,omitempty"`   // how: an expression, or a constant
	Value  any    `json:"value"`
	Error  string `json:"error,omitempty"` // why there is none
}

// Explained is all that is known about one principal at one app.
type Explained struct {
	App  string `json:"app"`
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Explanation is empty when the directory does not explain.
	Explanation
	// State is what is known, the attributes that the target does not keep among it. It is empty for a principal that was never
	// marked.
	State Known `json:"state"`
	// Waiting are the users that a group waits for, because they have no account; the first MaxNamed of them.
	Waiting []string `json:"waiting,omitempty"`
	// Exchanges are the last ones with the target, newest first.
	Exchanges []Sent `json:"exchanges"`
}

// explainedExchanges is how many exchanges come with an explanation.
const explainedExchanges = 20

// Explain joins what the directory says about a principal with what the engine knows. The target is not asked.
func (e *Engine) Explain(ctx context.Context, app string, kind Kind, id string) (Explained, error) {
	if err := named(app, kind, id); err != nil {
		return Explained{}, err
	}
	x := Explained{App: app, Kind: kind, ID: id, Exchanges: []Sent{}}
	target, err := e.o.Directory.Target(ctx, app)
	if err != nil {
		return x, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	if d, ok := e.o.Directory.(Explainer); ok {
		if x.Explanation, err = d.Explain(ctx, app, kind, id); err != nil {
			return x, fmt.Errorf("engine: explain %s %s of %s: %w", kind, id, app, err)
		}
	}
	s, err := e.state(ctx, app, kind, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return x, nil
	case err != nil:
		return x, err
	}
	x.State = known(s)
	if kind == Group {
		if x.Waiting, err = e.waitsOn(ctx, s); err != nil {
			return x, err
		}
	}
	all, err := e.o.Store.Attempts(ctx, AttemptQuery{App: app, Kind: kind, Principal: id, Limit: explainedExchanges})
	for _, a := range all {
		x.Exchanges = append(x.Exchanges, sent(a, target.BaseURL))
	}
	return x, err
}
