package control

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
)

// Names describes apps and principals to operators. A host implements this interface.
type Names interface {
	// Apps returns all apps.
	Apps(ctx context.Context) ([]App, error)
	// App returns an app, or engine.ErrNotFound.
	App(ctx context.Context, id string) (App, error)
	// Names returns the logins of users and the names of groups. It omits unknown principals.
	Names(ctx context.Context, app string, principals []engine.Principal) (map[engine.Principal]string, error)
	// Assigned reports whether a user is assigned to an app, or a group is pushed to it.
	Assigned(ctx context.Context, app string, p engine.Principal) (bool, error)
}

// App is an app of the embedder.
type App struct {
	ID    string
	Label string // label for operators
}

// defaultNames is used by a host without Names.
type defaultNames struct {
	engine    *provision.Engine
	directory engine.Directory
}

func (n defaultNames) Apps(ctx context.Context) ([]App, error) {
	lags, err := n.engine.Apps().Lags(ctx)
	apps := make([]App, 0, len(lags))
	for _, l := range lags {
		apps = append(apps, App{ID: l.App, Label: l.App})
	}
	return apps, err
}

// App returns an app that the engine or the directory knows.
func (n defaultNames) App(ctx context.Context, id string) (App, error) {
	_, err := n.engine.Apps().Get(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		if _, err = n.directory.Target(ctx, id); errors.Is(err, engine.ErrUnknownApp) {
			return App{}, engine.ErrNotFound
		}
	}
	return App{ID: id, Label: id}, err
}

func (defaultNames) Names(context.Context, string, []engine.Principal) (map[engine.Principal]string, error) {
	return map[engine.Principal]string{}, nil
}

func (n defaultNames) Assigned(ctx context.Context, app string, p engine.Principal) (bool, error) {
	want, err := desiredWant(ctx, n.directory, app, p)
	return want == engine.Active, err
}

func desiredWant(ctx context.Context, d engine.Directory, app string, p engine.Principal) (engine.Want, error) {
	if p.Kind == engine.User {
		u, err := d.User(ctx, app, p.ID)
		return u.Want, err
	}
	g, err := d.Group(ctx, app, p.ID)
	return g.Want, err
}

// NamesOf returns the names of principals of an app as the API shows them. For a principal that the embedder does not have, NamesOf
// returns the last name on the target, if any.
func NamesOf(
	ctx context.Context, n Names, e *provision.Engine, app string, principals []engine.Principal,
) (map[engine.Principal]string, error) {
	if len(principals) == 0 {
		return nil, nil
	}
	names, err := n.Names(ctx, app, principals)
	if err != nil {
		return nil, err
	}
	unknown := map[engine.Kind][]string{}
	for _, p := range principals {
		if _, known := names[p]; known || p.ID == "" {
			continue
		}
		names[p] = ""
		unknown[p.Kind] = append(unknown[p.Kind], p.ID)
	}
	for kind, ids := range unknown {
		states, err := e.StatesByID(ctx, app, kind, ids)
		if err != nil {
			return nil, err
		}
		for _, s := range states {
			names[engine.Principal{Kind: kind, ID: s.ID}] = s.RemoteName
		}
	}
	return names, nil
}

func (a *api) names(ctx context.Context, app string, principals []engine.Principal) (map[engine.Principal]string, error) {
	return NamesOf(ctx, a.o.Names, a.o.Engine, app, principals)
}
