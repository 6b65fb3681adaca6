package sandbox

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/mgmtapi"
)

// label returns the label of an app, "" if the app is unknown.
func (p *parts) label(ctx context.Context, app string) string {
	a, err := p.api.Wanted().App(ctx, app)
	if err != nil {
		return ""
	}
	return a.Label
}

// names looks up the names of apps and principals in the management API, for the engine's control API.
type names struct{ *bridge }

var _ control.Names = names{}

// Apps implements control.Names.
func (n names) Apps(ctx context.Context) (all []control.App, err error) {
	err = n.wanted.Apps(ctx, func(a mgmtapi.App) error {
		all = append(all, control.App{ID: a.ID, Label: a.Label})
		return nil
	})
	return all, err
}

// App implements control.Names.
func (n names) App(ctx context.Context, id string) (control.App, error) {
	a, err := n.wanted.App(ctx, id)
	if errors.Is(err, mgmtapi.ErrNotFound) {
		err = engine.ErrNotFound
	}
	return control.App{ID: a.ID, Label: a.Label}, err
}

// Names implements control.Names. It ignores the app, because a user has the same login in each app.
func (n names) Names(ctx context.Context, _ string, principals []engine.Principal) (map[engine.Principal]string, error) {
	ids := map[engine.Kind][]string{}
	for _, p := range principals {
		ids[p.Kind] = append(ids[p.Kind], p.ID)
	}
	named := make(map[engine.Principal]string, len(principals))
	for kind, some := range ids {
		found, err := n.wanted.Names(ctx, kinds[kind], some)
		if err != nil {
			return nil, err
		}
		for id, name := range found {
			named[engine.Principal{Kind: kind, ID: id}] = name
		}
	}
	return named, nil
}

// Assigned implements control.Names.
func (n names) Assigned(ctx context.Context, app string, p engine.Principal) (bool, error) {
	return n.wanted.Assigned(ctx, principalOf(app, p.Kind, p.ID))
}

// unprovisioned is control.Options.Unprovisioned.
func (n names) unprovisioned(ctx context.Context, app string) (all []client.Unprovisioned, err error) {
	found, err := n.wanted.Unprovisioned(ctx, app)
	for _, u := range found {
		all = append(all, client.Unprovisioned(u))
	}
	return all, err
}
