package groups

import (
	"context"
	"maps"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/authz"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/search"
	"github.com/scimwright/scimwright/scim/filter"
)

// Page sizes.
const (
	pageSize  = 200
	quickSize = 300
)

type listRequest struct {
	Search    string `query:"search" doc:"Expression over profile attributes, id, type and timestamps. Case does not count."`
	Filter    string `query:"filter" doc:"Expression over id, type, lastUpdated and lastMembershipUpdated. Case counts."`
	Q         string `query:"q" doc:"Beginning of the name. Exact matches come first."`
	Limit     int    `query:"limit" min:"1" max:"10000" clamp:"true" doc:"Size of the page, at most 10000. Defaults to 200, and to 300 with q."`
	After     string `query:"after" doc:"Cursor from the link to the next page."`
	SortBy    string `query:"sortBy" doc:"Attribute to sort a search by."`
	SortOrder string `query:"sortOrder" doc:"asc or desc; other values count as asc."`
	Expand    string `query:"expand" doc:"stats adds the numbers of what belongs to each group."`
}

func (s *Slice) list(ctx context.Context, r *listRequest) (out rest.Page[Group], err error) {
	given := 0
	for _, expression := range []string{r.Search, r.Filter, r.Q} {
		if expression != "" {
			given++
		}
	}
	if given > 1 {
		return out, rest.Fail(rest.CodeQueryAndFilter)
	}
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := s.query(ctx, q, r)
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

func (s *Slice) query(ctx context.Context, q docstore.Reader, r *listRequest) (docstore.Page[model.Group], error) {
	visible := authz.Groups(ctx)
	query := docstore.Query[model.Group]{After: r.After, Limit: r.Limit, Match: both(nil, visible)}
	if query.Limit == 0 {
		query.Limit = pageSize
	}
	switch {
	case r.Q != "":
		if r.Limit == 0 {
			query.Limit = quickSize
		}
		// In the order of the folded names, an exact match comes before all that go on.
		query.Where, query.OrderBy, query.After = docstore.Prefix(model.GroupByName, filter.Fold(r.Q)), model.GroupByName, ""
		page, err := s.Groups.Query(ctx, q, query)
		page.Next = ""
		return page, err
	case r.Filter != "":
		compiled, err := filterLanguage.Compile(r.Filter)
		if err != nil {
			return docstore.Page[model.Group]{}, err
		}
		query.Where, query.Match = compiled.Where, both(compiled.Match, visible)
	case r.Search != "":
		language, err := s.searchLanguage(ctx, q)
		if err != nil {
			return docstore.Page[model.Group]{}, err
		}
		compiled, err := language.Compile(r.Search)
		if err != nil {
			return docstore.Page[model.Group]{}, err
		}
		compiled.Match = both(compiled.Match, visible)
		if r.SortBy != "" {
			by := search.Sort{By: r.SortBy, Descending: strings.EqualFold(r.SortOrder, "desc")}
			return language.Sorted(ctx, s.Groups, q, compiled, by, r.After, query.Limit)
		}
		query.Where, query.Match = compiled.Where, compiled.Match
	}
	return s.Groups.Query(ctx, q, query)
}

// both matches what match does and the caller may see; either may be nil, which is everything.
func both(match func(*doc) bool, visible func(id string) bool) func(*doc) bool {
	if visible == nil {
		return match
	}
	return func(d *doc) bool { return visible(d.ID) && (match == nil || match(d)) }
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

// filterLanguage is the language of the parameter filter, where case counts.
var filterLanguage = search.Language[model.Group]{
	"id":                    {Operators: search.Equality, Index: docstore.ID, Values: id},
	"type":                  {Operators: search.Equality, Index: model.GroupByType, Values: groupType},
	"lastUpdated":           {Operators: search.Ordering, Time: true, Values: lastUpdated},
	"lastMembershipUpdated": {Operators: search.Ordering, Time: true, Values: lastMembershipUpdated},
}

// baseLanguage is the language of the parameter search, where case does not count, without custom attributes. Only groups of
// applications have a source.
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
