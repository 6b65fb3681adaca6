package sandbox

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/mgmtapi"
)

// label returns the label of an app, "" for an unknown one.
func (p *parts) label(ctx context.Context, app string) string {
	a, err := p.api.Wanted().App(ctx, app)
	if err != nil {
		return ""
	}
	return a.Label
}

// namesOf returns the names of principals of an app, by kind and id: the login of a user, the name of a group. One that was deleted has the
// name that it had at the target, if the engine knows one.
func namesOf(
	ctx context.Context, wanted *mgmtapi.Wanted, e *provision.Engine, app string, principals []engine.Principal,
) (map[engine.Principal]string, error) {
	ids := map[engine.Kind][]string{}
	for _, p := range principals {
		ids[p.Kind] = append(ids[p.Kind], p.ID)
	}
	names := make(map[engine.Principal]string, len(principals))
	for kind, some := range ids {
		found, err := wanted.Names(ctx, kinds[kind], some)
		if err != nil {
			return nil, err
		}
		for id, name := range found {
			names[engine.Principal{Kind: kind, ID: id}] = name
		}
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
