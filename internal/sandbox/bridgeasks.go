package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/mgmtapi/desired"
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

// Match implements engine.Matcher. All candidates of a page are offered for each of its objects: the engine compares.
func (b *bridge) Match(ctx context.Context, app string, kind engine.Kind, objects []engine.RemoteObject) ([][]engine.Candidate, error) {
	var owners []desired.Owner
	var err error
	if kind == engine.Group {
		owners, err = b.desired.GroupOwners(ctx, app)
	} else {
		accounts := make([]desired.Account, 0, len(objects))
		for _, o := range objects {
			accounts = append(accounts, desired.Account{ExternalID: o.ExternalID, Name: o.UserName, Email: o.Email})
		}
		owners, err = b.desired.UserOwners(ctx, app, accounts)
	}
	if err != nil {
		return nil, err
	}
	candidates := make([]engine.Candidate, 0, len(owners))
	for _, o := range owners {
		candidates = append(candidates, engine.Candidate{ID: o.ID, UserName: o.Name, ExternalID: o.ExternalID, Emails: o.Emails})
	}
	all := make([][]engine.Candidate, len(objects))
	for i := range all {
		all[i] = candidates
	}
	return all, nil
}
