package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/mgmtapi/desired"
	"github.com/scimwright/scimwright/scim"
)

// What the engine may ask a directory beyond what is desired.
var (
	_ engine.Explainer = (*bridge)(nil)
	_ engine.Lister    = (*bridge)(nil)
	_ engine.Matcher   = (*bridge)(nil)
)

// Explain implements engine.Explainer.
func (b *bridge) Explain(ctx context.Context, app string, kind engine.Kind, id string) (engine.Explanation, error) {
	explain := b.desired.ExplainUser
	if kind == engine.Group {
		explain = b.desired.ExplainGroup
	}
	reasons, values, err := explain(ctx, app, id)
	x := engine.Explanation{Reasons: reasons, Values: []engine.Value{}}
	for _, v := range values {
		x.Values = append(x.Values, engine.Value{Path: v.Path, Source: v.Source, Rule: v.Rule, Value: v.Value})
	}
	return x, err
}

// Principals implements engine.Lister.
func (b *bridge) Principals(ctx context.Context, app string, kind engine.Kind, after string, limit int) ([]string, error) {
	if kind == engine.Group {
		return b.desired.PushedGroups(ctx, app, after, limit)
	}
	return b.desired.AssignedUsers(ctx, app, after, limit)
}

// Match implements engine.Matcher.
func (b *bridge) Match(ctx context.Context, app string, kind engine.Kind, objects []engine.RemoteObject) ([][]engine.Candidate, error) {
	all := make([][]engine.Candidate, len(objects))
	if kind == engine.Group {
		owners, err := b.desired.GroupOwners(ctx, app)
		for i := range all {
			all[i] = candidates(owners) // the engine compares
		}
		return all, err
	}
	accounts := make([]*scim.Resource, len(objects))
	for i, o := range objects {
		accounts[i] = o.Resource
	}
	owners, err := b.desired.UserOwners(ctx, app, accounts)
	for i := range owners {
		all[i] = candidates(owners[i])
	}
	return all, err
}

func candidates(owners []desired.Owner) []engine.Candidate {
	out := make([]engine.Candidate, 0, len(owners))
	for _, o := range owners {
		out = append(out, engine.Candidate{ID: o.ID, UserName: o.Name, ExternalID: o.ExternalID, Emails: o.Emails, DisplayName: o.DisplayName})
	}
	return out
}
