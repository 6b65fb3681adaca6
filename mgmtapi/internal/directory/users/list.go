package users

import (
	"context"
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

// Page sizes.
const (
	pageSize  = 200
	quickSize = 10
)

type listRequest struct {
	Search string `query:"search" doc:"Expression over profile attributes, id, status, timestamps and type.id. Case-insensitive."`
	Filter string `query:"filter" doc:"Expression over status, lastUpdated, id, profile.{login,email,firstName,lastName}. Case-sensitive."`
	Q      string `query:"q" doc:"Prefix of first name, last name, email address or login."`
	Limit  int    `query:"limit" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200. Default: 200, with q 10."`
	search.Sorting
	// ContentType names the members to omit, as in application/json; svc-response=omitCredentials.
	ContentType string `header:"Content-Type"`
}

func (s *Slice) list(ctx context.Context, r *listRequest) (rest.Page[User], error) {
	page, err := s.query(ctx, r)
	if err != nil {
		return rest.Page[User]{}, err
	}
	out := rest.Page[User]{Next: page.Next}
	for _, doc := range page.Docs {
		user, err := s.redactHidden(ctx, s.Store.Reader(), renderListed(ctx, doc))
		if err != nil {
			return rest.Page[User]{}, err
		}
		out.Items = append(out.Items, trim(user, r.ContentType))
	}
	return out, nil
}

func (s *Slice) query(ctx context.Context, r *listRequest) (page docstore.Page[model.User], err error) {
	by := search.Request{Search: r.Search, Filter: r.Filter, Q: r.Q, Limit: r.Limit, Sorting: r.Sorting}
	visible, err := authz.Users(ctx, s.Store.Reader(), s.Deps)
	if err != nil {
		return page, err
	}
	present := docstore.Not(docstore.Eq(model.UserByStatus, string(model.UserDeprovisioned)))
	list := search.List[model.User]{
		Collection: s.Users, Present: present, Visible: visible, Filter: filterLanguage,
		Search: func(ctx context.Context, q docstore.Reader) (search.Language[model.User], error) {
			language, err := s.searchLanguage(ctx, q)
			return restricted(language, authz.Searchable(ctx)), err
		},
		Quick:    func(text string) (docstore.Cond, string) { return docstore.All(present, startsWith(text)), "" },
		PageSize: pageSize, QuickSize: quickSize,
	}
	if !by.Sorted() {
		return list.Read(ctx, s.Store.Reader(), &by)
	}
	err = s.Store.View(ctx, func(q docstore.Reader) (err error) {
		page, err = list.Read(ctx, q, &by)
		return err
	})
	return page, err
}

// restricted returns the language without the attributes that the caller must not search by. A nil allowed means that all are allowed.
func restricted(language search.Language[model.User], allowed func(attribute string) bool) search.Language[model.User] {
	if allowed == nil {
		return language
	}
	out := search.Language[model.User]{}
	for name, attribute := range language {
		if profile, ok := strings.CutPrefix(name, "profile."); !ok || allowed(profile) {
			out[name] = attribute
		}
	}
	return out
}

// startsWith returns the condition for the parameter q.
func startsWith(q string) docstore.Cond {
	folded := filter.Fold(q)
	return docstore.Any(
		docstore.Prefix(model.UserByFirstName, folded), docstore.Prefix(model.UserByLastName, folded),
		docstore.Prefix(model.UserByEmail, folded), docstore.Prefix(model.UserByLogin, model.LoginKey(q)),
	)
}

type userAttribute = search.Attribute[model.User]

func text(of func(*docstore.Doc[model.User]) string) func(*docstore.Doc[model.User]) []any {
	return func(d *docstore.Doc[model.User]) []any { return []any{of(d)} }
}

func profileText(name string) func(*docstore.Doc[model.User]) []any {
	return text(func(d *docstore.Doc[model.User]) string { return d.Value.Text(name) })
}

// profileIndexes maps profile attributes to their indexes of folded strings.
var profileIndexes = map[string]string{
	"email": model.UserByEmail, "firstName": model.UserByFirstName, "lastName": model.UserByLastName,
}

var (
	idAttribute = userAttribute{Operators: search.Equality, Index: docstore.ID,
		Values: text(func(d *docstore.Doc[model.User]) string { return d.ID })}
	status = userAttribute{Operators: search.Equality, Index: model.UserByStatus,
		Values: text(func(d *docstore.Doc[model.User]) string { return string(d.Value.Status) })}
	loginText   = userAttribute{Operators: search.Equality, Index: model.UserByLogin, Normal: model.LoginKey, Values: profileText("login")}
	lastUpdated = userAttribute{Operators: search.Ordering, Time: true, Index: docstore.Updated,
		Values: func(d *docstore.Doc[model.User]) []any { return []any{d.Updated} }}
)

// filterLanguage is the language of the parameter filter, which is case-sensitive.
var filterLanguage = search.Language[model.User]{
	"id": idAttribute, "status": status, "lastUpdated": lastUpdated, "profile.login": loginText,
	"profile.email": userAttribute{Operators: search.Equality, Index: model.UserByEmail, Key: filter.Fold, Values: profileText("email")},
	"profile.firstName": userAttribute{Operators: search.Equality, Index: model.UserByFirstName, Key: filter.Fold,
		Values: profileText("firstName")},
	"profile.lastName": userAttribute{Operators: search.Equality, Index: model.UserByLastName, Key: filter.Fold,
		Values: profileText("lastName")},
}

// baseLanguage is the language of the parameter search, which is case-insensitive, without custom attributes.
var baseLanguage = func() search.Language[model.User] {
	timestamp := func(index string, of func(*docstore.Doc[model.User]) any) userAttribute {
		return userAttribute{
			Operators: search.Moments, Time: true, Index: index,
			Values: func(d *docstore.Doc[model.User]) []any { return []any{of(d)} },
		}
	}
	language := search.Language[model.User]{
		"id":     {Operators: search.Searches, Index: docstore.ID, Values: idAttribute.Values},
		"status": {Operators: search.Searches, Index: model.UserByStatus, Normal: strings.ToUpper, Values: status.Values},
		"type.id": {Operators: search.Searches, Index: model.UserByType,
			Values: text(func(d *docstore.Doc[model.User]) string { return d.Value.Type })},
		"created":       timestamp(docstore.Created, func(d *docstore.Doc[model.User]) any { return d.Created }),
		"lastUpdated":   timestamp(docstore.Updated, func(d *docstore.Doc[model.User]) any { return d.Updated }),
		"activated":     timestamp("", func(d *docstore.Doc[model.User]) any { return d.Value.Activated }),
		"statusChanged": timestamp("", func(d *docstore.Doc[model.User]) any { return d.Value.StatusChanged }),
		"lastLogin":     timestamp("", func(d *docstore.Doc[model.User]) any { return d.Value.LastLogin }),
	}
	for _, name := range model.UserAttributes() {
		entry := userAttribute{Operators: search.Searches, Normal: filter.Fold, Index: profileIndexes[name], Values: profileText(name)}
		if _, indexed := profileIndexes[name]; indexed {
			entry.Operators = search.Contains
		}
		if name == "login" {
			entry = userAttribute{
				Operators: search.Contains, Normal: filter.Fold, Same: model.LoginKey,
				Index: model.UserByLogin, Key: model.LoginKey, Values: profileText("login"),
			}
		}
		language["profile."+name] = entry
	}
	return language
}()

type membersRequest struct {
	Group string `path:"groupId" doc:"Id of the group."`
	Limit int    `query:"limit" default:"1000" min:"1" max:"1000" clamp:"true" doc:"Size of the page, at most 1000."`
	After string `query:"after" doc:"Cursor from the link to the next page."`
}

func (r *membersRequest) at() (string, *docstore.Doc[model.Group]) { return r.Group, nil }

func (s *Slice) members(ctx context.Context, r *membersRequest) (out rest.Page[User], err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := search.Linked(ctx, s.Memberships, s.Users, q, docstore.Query[model.Membership]{
			Where: docstore.Eq(model.MembershipByGroup, r.Group), After: r.After, Limit: r.Limit,
		}, func(m *model.Membership) string { return m.User })
		if err != nil {
			return err
		}
		visible, err := authz.Users(ctx, q, s.Deps)
		if err != nil {
			return err
		}
		out = rest.Page[User]{Next: page.Next}
		for _, doc := range page.Docs {
			if visible != nil && !visible(doc.ID) {
				continue
			}
			user, err := s.redactHidden(ctx, q, renderListed(ctx, doc))
			if err != nil {
				return err
			}
			out.Items = append(out.Items, user)
		}
		return nil
	})
	return out, err
}

// searchLanguage is baseLanguage with the custom attributes of all user types, except those that are never shown.
func (s *Slice) searchLanguage(ctx context.Context, q docstore.Reader) (search.Language[model.User], error) {
	language := maps.Clone(baseLanguage)
	err := model.Each(ctx, q, s.UserSchemas, nil, func(schema docstore.Doc[model.UserSchema]) error {
		for name, p := range schema.Value.Custom {
			if p.Mutability != model.WriteOnly {
				language["profile."+name] = search.Of(p.ElementKind(), func(d *docstore.Doc[model.User]) any {
					if slices.Contains(d.Value.Hidden, name) {
						return nil // the schema of the user's own type hides the attribute
					}
					return d.Value.Profile[name]
				})
			}
		}
		return nil
	})
	return language, err
}
