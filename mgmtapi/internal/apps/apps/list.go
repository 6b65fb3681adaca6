package apps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
	"github.com/scimwright/scimwright/scim/filter"
)

type listRequest struct {
	Q      string `query:"q" doc:"Prefix of the name or label, case-insensitive."`
	Expand string `query:"expand" doc:"user/{userId} embeds the assignment of the user. Needs the filter user.id eq with the same id."`
	Filter string `query:"filter" doc:"Comparison with eq of status, name, user.id, group.id or credentials.signing.kid. Quotes are optional."`
	Limit  int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page."`
	After  string `query:"after" doc:"Cursor of the page."`
}

func (s *Slice) list(ctx context.Context, req *listRequest) (rest.Page[App], error) {
	if req.Q != "" && req.Filter != "" {
		return rest.Page[App]{}, rest.Fail(rest.CodeQueryAndFilter)
	}
	user, expands := strings.CutPrefix(req.Expand, "user/")
	if req.Expand != "" && (!expands || user == "" || !s.filtersBy(req.Filter, user)) {
		return rest.Page[App]{}, rest.Fail(rest.CodeExclusive,
			"expand: The only value is user/{userId}, with the filter user.id eq and the same id")
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
	found, err := search.Page(ctx, s.Apps, q, query)
	if err != nil {
		return rest.Page[App]{}, err
	}
	if expands { // ends the page early if the assignments are too large for one page
		_, err = search.Join(ctx, s.Apps, s.AppUsers, q, query, &found,
			func(doc *docstore.Doc[model.App]) string { return model.AppUserID(doc.ID, user) })
		if err != nil {
			return rest.Page[App]{}, err
		}
	}
	connections, err := s.connections(ctx, q, found.Docs)
	if err != nil {
		return rest.Page[App]{}, err
	}
	page := rest.Page[App]{Next: found.Next}
	for _, doc := range found.Docs {
		app := render(ctx, doc, connections[doc.ID])
		if expands {
			assigned, err := s.AppUser(ctx, q, doc.ID, user)
			if missing, ok := errors.AsType[*rest.Error](err); ok && missing.Code == rest.CodeNotFound {
				continue // another request has removed the assignment
			}
			if err != nil {
				return rest.Page[App]{}, err
			}
			app.Embedded = &Embedded{User: assigned}
		}
		page.Items = append(page.Items, app)
	}
	return page, nil
}

// filtersBy reports whether the filter selects the applications of the user.
func (s *Slice) filtersBy(text, user string) bool {
	attribute, value, err := comparisonOf(text)
	return err == nil && attribute == "user.id" && value == user
}

// connections returns the connections of the applications that have one.
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

// comparison adds a filter value to a query for applications.
type comparison func(ctx context.Context, s *Slice, q docstore.Reader, value string, query *docstore.Query[model.App]) error

// comparisons lists the filter attributes. All support eq only.
var comparisons = map[string]comparison{
	"status": func(_ context.Context, _ *Slice, _ docstore.Reader, value string, query *docstore.Query[model.App]) error {
		if value != string(model.AppActive) && value != string(model.AppInactive) {
			return badFilter("the value of status must be %s or %s", model.AppActive, model.AppInactive)
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
	"credentials.signing.kid": func(_ context.Context, _ *Slice, _ docstore.Reader, kid string, query *docstore.Query[model.App]) error {
		query.Where = docstore.Eq(model.AppByKID, kid)
		return nil
	},
}

// only restricts a query to the applications that the related documents name. It filters with Match instead of a condition on ids, because
// the ids may change between two pages, and a changed condition would make the cursor invalid.
func only[T any](
	ctx context.Context, q docstore.Reader, related docstore.Collection[T], where docstore.Cond, app func(T) string,
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

// filtered adds the filter, one comparison with eq, to a query.
func (s *Slice) filtered(ctx context.Context, q docstore.Reader, text string, query *docstore.Query[model.App]) error {
	attribute, value, err := comparisonOf(text)
	if err != nil {
		return err
	}
	compare, ok := comparisons[attribute]
	if !ok {
		return badFilter("%q is not a filter attribute; the filter attributes are %s", attribute,
			strings.Join(slices.Sorted(maps.Keys(comparisons)), ", "))
	}
	return compare(ctx, s, q, value, query)
}

// comparisonOf parses a filter: one comparison of an attribute with a string.
func comparisonOf(text string) (attribute, value string, err error) {
	expr, err := filter.ParseWith(text, filter.Options{DeepPaths: true, BareValues: true})
	if err != nil {
		return "", "", err
	}
	c, ok := expr.(filter.Compare)
	if !ok || c.Op != filter.Eq {
		return "", "", badFilter("the filter must be one comparison with eq")
	}
	if value, ok = c.Value.(string); !ok {
		return "", "", badFilter("the value of %s must be a string", c.Path.String())
	}
	return c.Path.String(), value, nil
}

func badFilter(format string, args ...any) error {
	return rest.Failf(rest.CodeFilter, "Invalid search criteria. %s", fmt.Sprintf(format, args...))
}
