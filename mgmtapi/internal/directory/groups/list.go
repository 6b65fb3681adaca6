package groups

import (
	"context"
	"maps"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
	"github.com/scimwright/scimwright/scim/filter"
)

// Page sizes.
const (
	pageSize  = 200
	quickSize = 300
)

type listRequest struct {
	Search string `query:"search" doc:"Expression over profile attributes, id, type and timestamps. Case-insensitive."`
	Filter string `query:"filter" doc:"Expression over id, type, lastUpdated and lastMembershipUpdated. Case-sensitive."`
	Q      string `query:"q" doc:"Prefix of the name. Exact matches come first."`
	Limit  int    `query:"limit" min:"1" max:"10000" clamp:"true" doc:"Size of the page, at most 10000. Default: 200, with q 300."`
	search.Sorting
	Expand string `query:"expand" doc:"stats adds counts of the resources related to each group."`
}

func (s *Slice) list(ctx context.Context, r *listRequest) (out rest.Page[Group], err error) {
	list := search.List[model.Group]{
		Collection: s.Groups, Visible: authz.Groups(ctx), Filter: filterLanguage, Search: s.searchLanguage,
		// In the order of the folded names, an exact match precedes longer names.
		Quick: func(text string) (docstore.Cond, string) {
			return docstore.Prefix(model.GroupByName, filter.Fold(text)), model.GroupByName
		},
		PageSize: pageSize, QuickSize: quickSize,
	}
	by := search.Request{Search: r.Search, Filter: r.Filter, Q: r.Q, Limit: r.Limit, Sorting: r.Sorting}
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := list.Read(ctx, q, &by)
		if err != nil {
			return err
		}
		out = rest.Page[Group]{Next: page.Next}
		for _, doc := range page.Docs {
			group, err := s.expand(ctx, q, render(ctx, doc), r.Expand)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, group)
		}
		return nil
	})
	return out, err
}

type doc = docstore.Doc[model.Group]

func id(d *doc) []any                    { return []any{d.ID} }
func groupType(d *doc) []any             { return []any{string(d.Value.Type)} }
func created(d *doc) []any               { return []any{d.Created} }
func lastUpdated(d *doc) []any           { return []any{d.Value.LastUpdated} }
func lastMembershipUpdated(d *doc) []any { return []any{d.Value.LastMembershipUpdated} }
func source(d *doc) []any                { return []any{d.Value.App} }
func name(d *doc) []any                  { return []any{d.Value.Name()} }
func description(d *doc) []any           { return []any{d.Value.Text("description")} }

// filterLanguage is the language of the parameter filter, which is case-sensitive.
var filterLanguage = search.Language[model.Group]{
	"id":                    {Operators: search.Equality, Index: docstore.ID, Values: id},
	"type":                  {Operators: search.Equality, Index: model.GroupByType, Values: groupType},
	"lastUpdated":           {Operators: search.Ordering, Time: true, Values: lastUpdated},
	"lastMembershipUpdated": {Operators: search.Ordering, Time: true, Values: lastMembershipUpdated},
}

// baseLanguage is the language of the parameter search, without custom attributes. It is case-insensitive. Only groups of applications have
// a value of source.id.
var baseLanguage = search.Language[model.Group]{
	"id":                    {Operators: search.Searches, Index: docstore.ID, Values: id},
	"type":                  {Operators: search.Searches, Normal: strings.ToUpper, Index: model.GroupByType, Values: groupType},
	"created":               {Operators: search.Moments, Time: true, Index: docstore.Created, Values: created},
	"lastUpdated":           {Operators: search.Moments, Time: true, Values: lastUpdated},
	"lastMembershipUpdated": {Operators: search.Moments, Time: true, Values: lastMembershipUpdated},
	"source.id":             {Operators: search.Searches, Values: source},
	"profile.name":          {Operators: search.Contains, Normal: filter.Fold, Index: model.GroupByName, Values: name},
	"profile.description":   {Operators: search.Contains, Normal: filter.Fold, Values: description},
}

// searchLanguage is baseLanguage with the custom attributes.
func (s *Slice) searchLanguage(ctx context.Context, q docstore.Reader) (search.Language[model.Group], error) {
	schema, err := s.GroupSchema(ctx, q)
	language := maps.Clone(baseLanguage)
	for name, p := range schema.Custom {
		language["profile."+name] = search.Of(p.ElementKind(), func(d *doc) any { return d.Value.Profile[name] })
	}
	return language, err
}
