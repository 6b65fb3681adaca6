package daemon

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/pull"
	"github.com/scimwright/scimwright/internal/rest"
)

// names describes the apps and principals of the desired state to operators.
type names struct{ store *desired.Store }

var _ control.Names = names{}

// Apps implements control.Names. It returns the apps of the tenant of the request.
func (n names) Apps(ctx context.Context) (all []control.App, err error) {
	return n.apps(ctx, tenantPrefix(ctx))
}

// apps returns the apps whose ids begin with the prefix of a tenant.
func (n names) apps(ctx context.Context, prefix string) (all []control.App, err error) {
	for after := prefix; ; {
		page, err := n.store.Apps(ctx, after, desired.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, a := range page {
			if len(a.ID) < len(prefix) || a.ID[:len(prefix)] != prefix {
				return all, nil // the apps of a tenant are consecutive
			}
			all = append(all, control.App{ID: a.ID, Label: a.ID})
			after = a.ID
		}
		if len(page) < desired.MaxPage {
			return all, nil
		}
	}
}

// App implements control.Names.
func (n names) App(ctx context.Context, id string) (control.App, error) {
	_, err := n.store.App(ctx, id)
	if errors.Is(err, engine.ErrUnknownApp) {
		err = engine.ErrNotFound
	}
	return control.App{ID: id, Label: id}, err
}

// Names implements control.Names.
func (n names) Names(ctx context.Context, app string, principals []engine.Principal) (map[engine.Principal]string, error) {
	named := make(map[engine.Principal]string, len(principals))
	if a, err := n.store.App(ctx, app); err == nil && a.Pull.URL != "" {
		return named, nil // a list must not wait for the endpoint of the identity provider
	}
	for _, p := range principals {
		name, err := n.name(ctx, app, p)
		if err != nil {
			return nil, err
		}
		if name != "" {
			named[p] = name
		}
	}
	return named, nil
}

// name returns the userName or displayName of a principal, empty if it is not stored or cannot be derived.
func (n names) name(ctx context.Context, app string, p engine.Principal) (string, error) {
	if p.Kind == engine.Group {
		g, err := n.store.StoredGroup(ctx, app, p.ID)
		if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUnknownApp) {
			return "", nil
		}
		return g.DisplayName, err
	}
	u, err := n.store.User(ctx, app, p.ID)
	if err != nil {
		return "", nil //nolint:nilerr // the state of the engine has the error of the rules
	}
	return u.UserName, nil
}

// Assigned implements control.Names. Its error for an endpoint of the identity provider that has returned no state is an error response.
func (n names) Assigned(ctx context.Context, app string, p engine.Principal) (assigned bool, err error) {
	if p.Kind == engine.User {
		u, failed := n.store.User(ctx, app, p.ID)
		assigned, err = u.Want == engine.Active, failed
	} else {
		g, failed := n.store.Group(ctx, app, p.ID)
		assigned, err = g.Want == engine.Active, failed
	}
	if e, ok := errors.AsType[*pull.Error](err); ok {
		err = &rest.Error{Code: rest.CodeConnection, Summary: "The desired state is unavailable: " + e.Detail + ".", Err: e}
	}
	return assigned, err
}
