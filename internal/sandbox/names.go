package sandbox

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// label returns the label of an app, "" for an unknown one.
func (p *parts) label(ctx context.Context, app string) string {
	doc, err := p.model.Apps.Get(ctx, p.store.Reader(), app)
	if err != nil {
		return ""
	}
	return doc.Value.Label
}

// namesOf returns the names of principals of an app, by kind and id: the login of a user, the name of a group. One that was deleted has the
// name that it had at the target, if the engine knows one.
func namesOf(
	ctx context.Context, m *model.Model, q docstore.Reader, e *provision.Engine, app string, principals []engine.Principal,
) (map[engine.Principal]string, error) {
	var users, groups []string
	for _, p := range principals {
		if p.Kind == engine.User {
			users = append(users, p.ID)
		} else {
			groups = append(groups, p.ID)
		}
	}
	names := make(map[engine.Principal]string, len(principals))
	people, err := m.Users.GetMany(ctx, q, users)
	if err != nil {
		return nil, err
	}
	for _, u := range people {
		names[engine.Principal{Kind: engine.User, ID: u.ID}] = u.Value.Login()
	}
	teams, err := m.Groups.GetMany(ctx, q, groups)
	if err != nil {
		return nil, err
	}
	for _, g := range teams {
		names[engine.Principal{Kind: engine.Group, ID: g.ID}] = g.Value.Name()
	}
	for _, p := range principals {
		if _, known := names[p]; known || p.ID == "" {
			continue
		}
		s, err := e.State(ctx, app, p.Kind, p.ID)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		names[p] = s.RemoteName
	}
	return names, nil
}
