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
	"github.com/scimwright/scimwright/scim/filter"
)

type listRequest struct {
	Q      string `query:"q" doc:"Beginning of the name or the label, in any letter case."`
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
			"expand: user/{userId} goes together with the filter user.id eq of the same id, and nothing else can be embedded")
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
		app := render(ctx, doc, connections[doc.ID])
		if expands {
			assigned, err := s.AppUser(ctx, q, doc.ID, user)
			if missing, ok := errors.AsType[*rest.Error](err); ok && missing.Code == rest.CodeNotFound {
				continue // the assignment has just ended
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

// filtersBy says whether the filter asks for the applications of the user.
func (s *Slice) filtersBy(text, user string) bool {
	attribute, value, err := comparisonOf(text)
	return err == nil && attribute == "user.id" && value == user
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
	"credentials.signing.kid": func(_ context.Context, _ *Slice, _ docstore.Reader, kid string, query *docstore.Query[model.App]) error {
		query.Where = docstore.Eq(model.AppByKID, kid)
		return nil
	},
}

// only restricts a query to the applications that the related documents name.
// It does so by Match, not by a condition on ids: a cursor stays valid when a
// relation comes or goes between two pages.
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

// filtered puts the filter, one comparison with eq, into a query.
func (s *Slice) filtered(ctx context.Context, q docstore.Reader, text string, query *docstore.Query[model.App]) error {
	attribute, value, err := comparisonOf(text)
	if err != nil {
		return err
	}
	compare, ok := comparisons[attribute]
	if !ok {
		return badFilter("%q cannot be filtered by; what can is %s", attribute,
			strings.Join(slices.Sorted(maps.Keys(comparisons)), ", "))
	}
	return compare(ctx, s, q, value, query)
}

// comparisonOf reads a filter: one comparison of an attribute with a text.
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
		return "", "", badFilter("the value of %s must be a text", c.Path.String())
	}
	return c.Path.String(), value, nil
}

func badFilter(format string, args ...any) error {
	return rest.Failf(rest.CodeFilter, "Invalid search criteria. %s", fmt.Sprintf(format, args...))
}
