package principal

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Check returns an error unless app, kind and id name a principal.
func Check(app string, kind engine.Kind, id string) error {
	if app == "" || id == "" || kind != engine.User && kind != engine.Group {
		return fmt.Errorf("engine: invalid principal: app %q, kind %q, id %q", app, kind, id)
	}
	return nil
}

// Of returns the name of the principal of a row.
func Of(s engine.State) engine.Principal { return engine.Principal{Kind: s.Kind, ID: s.ID} }

// States is the part of a store that State uses.
type States interface {
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
}

// State returns the stored state of one principal, or ErrNotFound.
func State(ctx context.Context, store States, app string, kind engine.Kind, id string) (engine.State, error) {
	if app == "" || kind == "" || id == "" {
		return engine.State{}, engine.ErrNotFound // a query with an empty field would return another principal
	}
	found, err := store.States(ctx, engine.StateQuery{App: app, Kind: kind, ID: id, Limit: 1})
	if err != nil {
		return engine.State{}, err
	}
	if len(found) == 0 {
		return engine.State{}, fmt.Errorf("%s %s of %s: %w", kind, id, app, engine.ErrNotFound)
	}
	return found[0], nil
}
