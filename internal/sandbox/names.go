package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// namesOf finds what to call principals, by kind and id: the login of a user, the name of a group. One that is not there any more
// has no name.
func namesOf(ctx context.Context, m *model.Model, q docstore.Reader, principals []engine.Principal) (map[engine.Principal]string, error) {
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
	return names, nil
}
