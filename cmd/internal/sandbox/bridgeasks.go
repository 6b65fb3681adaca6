package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/scim"
)

// bridge also implements the optional interfaces of an engine.Directory.
var (
	_ engine.Explainer = (*bridge)(nil)
	_ engine.Lister    = (*bridge)(nil)
	_ engine.Matcher   = (*bridge)(nil)
)

// Explain implements engine.Explainer.
func (b *bridge) Explain(ctx context.Context, app string, kind engine.Kind, id string) (engine.Explanation, error) {
	why, err := b.wanted.Explain(ctx, principalOf(app, kind, id))
	x := engine.Explanation{Reasons: why.Reasons, Values: []engine.Value{}}
	for _, v := range why.Values {
		x.Values = append(x.Values, engine.Value{Path: v.Path, Source: v.Source, Rule: v.Rule, Value: v.Value})
	}
	return x, err
}

// Principals implements engine.Lister.
func (b *bridge) Principals(ctx context.Context, app string, kind engine.Kind, after string, limit int) ([]string, error) {
	return b.wanted.Principals(ctx, app, kinds[kind], after, limit)
}

// Match implements engine.Matcher.
func (b *bridge) Match(ctx context.Context, app string, kind engine.Kind, objects []engine.RemoteObject) ([][]engine.Candidate, error) {
	all := make([][]engine.Candidate, len(objects))
	if kind == engine.Group {
		owners, err := b.wanted.GroupOwners(ctx, app)
		for i := range all {
			all[i] = candidates(owners) // every group is a candidate for every object; the engine compares their names
		}
		return all, err
	}
	accounts := make([]*scim.Resource, len(objects))
	for i, o := range objects {
		accounts[i] = o.Resource
	}
	owners, err := b.wanted.UserOwners(ctx, app, accounts)
	for i := range owners {
		all[i] = candidates(owners[i])
	}
	return all, err
}

func candidates(owners []mgmtapi.Owner) []engine.Candidate {
	out := make([]engine.Candidate, 0, len(owners))
	for _, o := range owners {
		out = append(out, engine.Candidate{ID: o.ID, UserName: o.Name, ExternalID: o.ExternalID, Emails: o.Emails, DisplayName: o.DisplayName})
	}
	return out
}
