package apps

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/authz"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
	"github.com/scimwright/scimwright/scim/filter"
)

type listRequest struct {
	Q      string `query:"q" doc:"Beginning of the name or the label, in any letter case."`
	Filter string `query:"filter" doc:"One comparison with eq of status, name, user.id, group.id or credentials.signing.kid. The value may stand without quotes."`
	Limit  int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page."`
	After  string `query:"after" doc:"Cursor of the page."`
}

func (s *Slice) list(ctx context.Context, req *listRequest) (rest.Page[App], error) {
	if req.Q != "" && req.Filter != "" {
		return rest.Page[App]{}, rest.Fail(rest.CodeQueryAndFilter)
	}
	q := s.Store.Reader()
	query := docstore.Query[model.App]{After: req.After, Limit: req.Limit}
	visible := authz.Apps(ctx)
	switch {
	case req.Q != "":
		query.Where = docstore.Prefix(model.AppByPrefix, filter.Fold(req.Q))
	case req.Filter != "":
		if err := s.filtered(ctx, q, req.Filter, &query); err != nil {
			return rest.Page[App]{}, err
		}
	}
	if match := query.Match; visible != nil {
		query.Match = func(doc *docstore.Doc[model.App]) bool {
			return visible(doc.ID, &doc.Value) && (match == nil || match(doc))
		}
	}
	found, err := s.Apps.Query(ctx, q, query)
	if err != nil {
		return rest.Page[App]{}, err
	}
	connections, err := s.connections(ctx, q, found.Docs)
	if err != nil {
		return rest.Page[App]{}, err
	}
	page := rest.Page[App]{Next: found.Next}
	for _, doc := range found.Docs {
		page.Items = append(page.Items, render(ctx, doc, connections[doc.ID]))
	}
	return page, nil
}

// connections reads the connections of the applications that have one.
func (s *Slice) connections(ctx context.Context, q docstore.Reader, apps []docstore.Doc[model.App]) (map[string]*model.Connection, error) {
	ids := make([]string, len(apps))
	for i, app := range apps {
		ids[i] = app.ID
	}
	docs, err := s.Connections.GetMany(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*model.Connection, len(docs))
	for i := range docs {
		out[docs[i].ID] = &docs[i].Value
	}
	return out, nil
}

// comparison puts the value of a filter into a query for applications.
type comparison func(ctx context.Context, s *Slice, q docstore.Reader, value string, query *docstore.Query[model.App]) error

// comparisons are the attributes that can be filtered by, all with eq.
var comparisons = map[string]comparison{
	"status": func(_ context.Context, _ *Slice, _ docstore.Reader, value string, query *docstore.Query[model.App]) error {
		if value != string(model.AppActive) && value != string(model.AppInactive) {
			return badFilter("status is %s or %s", model.AppActive, model.AppInactive)
		}
		query.Where = docstore.Eq(model.AppByStatus, value)
		return nil
	},
	"name": func(_ context.Context, _ *Slice, _ docstore.Reader, value string, query *docstore.Query[model.App]) error {
		query.Where = docstore.Eq(model.AppByName, value)
		return nil
	},
	"user.id": func(ctx context.Context, s *Slice, q docstore.Reader, user string, query *docstore.Query[model.App]) error {
		return only(ctx, q, s.AppUsers, docstore.Eq(model.AppUserByListedUser, user),
			func(u model.AppUser) string { return u.AppID }, query)
	},
	"group.id": func(ctx context.Context, s *Slice, q docstore.Reader, group string, query *docstore.Query[model.App]) error {
		return only(ctx, q, s.AppGroups, docstore.Eq(model.AppGroupByGroup, group),
			func(g model.AppGroup) string { return g.AppID }, query)
	},
	// No application has a signing key, so that none has this one.
	"credentials.signing.kid": func(_ context.Context, _ *Slice, _ docstore.Reader, _ string, query *docstore.Query[model.App]) error {
		query.Where = docstore.Any()
		return nil
	},
}

// only restricts a query to the applications that the related documents name.
// It does so by Match, not by a condition on ids: a cursor stays valid when a
// relation comes or goes between two pages.
func only[T any](
	ctx context.Context, q docstore.Reader, related *docstore.Collection[T], where docstore.Cond, app func(T) string,
	query *docstore.Query[model.App],
) error {
	apps := map[string]bool{}
	err := model.Each(ctx, q, related, where, func(doc docstore.Doc[T]) error {
		apps[app(doc.Value)] = true
		return nil
	})
	query.Match = func(doc *docstore.Doc[model.App]) bool { return apps[doc.ID] }
	return err
}

// filtered puts the filter, one comparison with eq, into a query.
func (s *Slice) filtered(ctx context.Context, q docstore.Reader, text string, query *docstore.Query[model.App]) error {
	expr, err := filter.ParseWith(text, filter.Options{DeepPaths: true, BareValues: true})
	if err != nil {
		return err
	}
	c, ok := expr.(filter.Compare)
	if !ok || c.Op != filter.Eq {
		return badFilter("the filter must be one comparison with eq")
	}
	compare, ok := comparisons[c.Path.String()]
	if !ok {
		return badFilter("%q cannot be filtered by; what can is %s", c.Path.String(),
			strings.Join(slices.Sorted(maps.Keys(comparisons)), ", "))
	}
	value, ok := c.Value.(string)
	if !ok {
		return badFilter("the value of %s must be a text", c.Path.String())
	}
	return compare(ctx, s, q, value, query)
}

func badFilter(format string, args ...any) error {
	return rest.Failf(rest.CodeFilter, "Invalid search criteria. %s", fmt.Sprintf(format, args...))
}
