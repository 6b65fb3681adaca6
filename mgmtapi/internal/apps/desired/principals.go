package desired

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// AssignedUsers returns the users that have, or had, an assignment to an application, in ascending order of their ids, starting after the
// given id (empty for the first page). A page with fewer than limit ids is the last one.
func (s *State) AssignedUsers(ctx context.Context, app, after string, limit int) ([]string, error) {
	where := docstore.Prefix(docstore.ID, model.AppUserID(app, ""))
	if after != "" {
		where = docstore.All(where, docstore.Gt(docstore.ID, model.AppUserID(app, after)))
	}
	page, err := s.AppUsers.Query(ctx, s.Store.Reader(), docstore.Query[model.AppUser]{Where: where, OrderBy: docstore.ID, Limit: limit})
	if err != nil {
		return nil, err
	}
	users := make([]string, len(page.Docs))
	for i, d := range page.Docs {
		users[i] = d.Value.UserID
	}
	return users, nil
}

// PushedGroups returns the groups that are, or were, pushed to an application, paged like AssignedUsers.
func (s *State) PushedGroups(ctx context.Context, app, after string, limit int) ([]string, error) {
	var groups []string
	err := model.Each(ctx, s.Store.Reader(), s.PushMappings, docstore.Eq(model.PushMappingByApp, app),
		func(d docstore.Doc[model.PushMapping]) error {
			if d.Value.SourceGroupID > after {
				groups = append(groups, d.Value.SourceGroupID)
			}
			return nil
		})
	slices.Sort(groups)
	groups = slices.Compact(groups)
	return groups[:min(limit, len(groups))], err
}

// Assigned reports whether a user is assigned to an application.
func (s *State) Assigned(ctx context.Context, app, user string) (bool, error) {
	u, err := model.Optional(ctx, s.Store.Reader(), s.AppUsers, model.AppUserID(app, user))
	return u != nil && u.Value.Listed(), err
}

// Pushed reports whether a group has a push mapping to an application.
func (s *State) Pushed(ctx context.Context, app, group string) (bool, error) {
	m, err := s.mapping(ctx, s.Store.Reader(), app, group)
	return m != nil && !m.Value.Deleted, err
}

// Owner is a user or group to which an account or group of a target may belong.
type Owner struct {
	ID         string
	Name       string // userName of a user, displayName of a group
	ExternalID string
	Emails     []string
	// DisplayName is the human-readable name.
	DisplayName string
}

// UserOwners returns, for each account of an application's target, the users to whom the account may belong, whether or not they are
// assigned. A user is a candidate if one of these matches the account:
//   - the id, as externalId
//   - the user name in the application, or the login that an import would derive from the account
//   - the email address
//   - the first and last names
//
// Users who are DEPROVISIONED are omitted.
func (s *State) UserOwners(ctx context.Context, app string, accounts []*scim.Resource) ([][]Owner, error) {
	q := s.Store.Reader()
	login, schema, err := s.importedLogin(ctx, q, app)
	if err != nil {
		return nil, err
	}
	all := make([]accountKeys, len(accounts))
	var ids []string
	var like []docstore.Cond
	for i, r := range accounts {
		shown := AccountProfile(r, schema)
		text := func(name string) string { value, _ := shown[name].(string); return value }
		all[i] = accountKeys{
			externalID: r.ExternalID(), name: r.Text("userName"), login: model.LoginKey(login(shown)), email: filter.Fold(text("email")),
			first: filter.Fold(text("givenName")), last: filter.Fold(text("familyName")), display: displayNameOf(r),
		}
		a := &all[i]
		if a.externalID != "" {
			ids = append(ids, a.externalID)
		}
		for index, value := range map[string]string{model.UserByLogin: a.login, model.UserByEmail: a.email} {
			if value != "" {
				like = append(like, docstore.Eq(index, value))
			}
		}
		if a.first != "" && a.last != "" {
			like = append(like, docstore.All(docstore.Eq(model.UserByFirstName, a.first), docstore.Eq(model.UserByLastName, a.last)))
		}
	}
	names, err := s.assignedNames(ctx, q, app, all)
	if err != nil {
		return nil, err
	}
	for _, user := range names {
		ids = append(ids, user)
	}
	users, err := s.Users.GetMany(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	if len(like) > 0 {
		err = model.Each(ctx, q, s.Users, docstore.Any(like...), func(d docstore.Doc[model.User]) error {
			users = append(users, d)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	owners := make([][]Owner, len(accounts))
	for i := range all {
		for _, u := range users {
			if o, ok := all[i].owner(u, names); ok && !slices.ContainsFunc(owners[i], func(other Owner) bool { return other.ID == o.ID }) {
				owners[i] = append(owners[i], o)
			}
		}
	}
	return owners, nil
}

// accountKeys holds the values of an account by which its owner is found; values that are compared ignoring case are folded.
type accountKeys struct{ externalID, name, login, email, first, last, display string }

// owner returns the user as a possible owner of an account, with Name and DisplayName only if they match. ok reports whether any value
// matches.
func (a *accountKeys) owner(u docstore.Doc[model.User], names map[string]string) (o Owner, ok bool) {
	if u.Value.Status == model.UserDeprovisioned {
		return o, false
	}
	o = Owner{ID: u.ID, ExternalID: u.ID}
	ok = a.externalID == u.ID
	if a.login != "" && a.login == model.LoginKey(u.Value.Login()) || a.name != "" && names[filter.Fold(a.name)] == u.ID {
		o.Name, ok = a.name, true
	}
	if address := u.Value.Text("email"); address != "" {
		o.Emails = []string{address}
		ok = ok || a.email == filter.Fold(address)
	}
	if a.first != "" && a.last != "" && a.first == filter.Fold(u.Value.Text("firstName")) && a.last == filter.Fold(u.Value.Text("lastName")) {
		o.DisplayName, ok = a.display, true
	}
	return o, ok
}

// assignedNames returns the users of an application who have the user name of one of the accounts, by the folded name.
func (s *State) assignedNames(ctx context.Context, q docstore.Reader, app string, all []accountKeys) (map[string]string, error) {
	var like []docstore.Cond
	for i := range all {
		if all[i].name != "" {
			like = append(like, docstore.Eq(model.AppUserByPrefix, model.AppUserPrefixKey(app, all[i].name)))
		}
	}
	names := map[string]string{}
	if len(like) == 0 {
		return names, nil
	}
	return names, model.Each(ctx, q, s.AppUsers, docstore.Any(like...), func(d docstore.Doc[model.AppUser]) error {
		names[filter.Fold(d.Value.UserName)] = d.Value.UserID
		return nil
	})
}

// importedLogin returns a function that derives the login of a user of the default type from an account, and the schema of the application.
func (s *State) importedLogin(ctx context.Context, q docstore.Reader, app string) (func(map[string]any) string, *model.AppSchema, error) {
	a, err := s.Apps.Get(ctx, q, app)
	if err != nil {
		return nil, nil, err
	}
	org, err := s.Org(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.Mappings.Query(ctx, q, docstore.Query[model.Mapping]{
		Where: docstore.Eq(model.MappingByPair, docstore.JoinID(app, org.UserType, string(model.ToUser))), Limit: 1,
	})
	if err != nil {
		return nil, nil, err
	}
	mapping := &model.Mapping{Direction: model.ToUser}
	if len(found.Docs) > 0 {
		mapping = &found.Docs[0].Value
	}
	var conn *model.Connection
	stored, err := model.Optional(ctx, q, s.Connections, app)
	if err != nil {
		return nil, nil, err
	}
	if stored != nil {
		conn = &stored.Value
	}
	schema, err := s.AppSchema(ctx, q, app)
	rule := appprofile.Rules(&a.Value, conn, mapping)["login"]
	var programs appprofile.Programs
	return func(shown map[string]any) string {
		return programs.Text(rule.Expression, &appprofile.Values{Source: shown, AppID: app, App: &a.Value, Org: org.ID})
	}, &schema, err
}

// displayNameOf returns the human-readable name by which accounts are compared.
func displayNameOf(r *scim.Resource) string {
	if name := r.Text("displayName"); name != "" {
		return name
	}
	name := r.Complex("name")
	if formatted := name.Text("formatted"); formatted != "" {
		return formatted
	}
	return strings.TrimSpace(name.Text("givenName") + " " + name.Text("familyName"))
}

// GroupOwners returns the groups that are pushed to an application.
func (s *State) GroupOwners(ctx context.Context, app string) ([]Owner, error) {
	var owners []Owner
	err := s.Store.View(ctx, func(q docstore.Reader) error { // see Group
		return model.Each(ctx, q, s.PushMappings, docstore.Eq(model.PushMappingByLiveApp, app), func(d docstore.Doc[model.PushMapping]) error {
			target, err := s.Groups.Get(ctx, q, d.Value.TargetGroupID)
			if err != nil {
				return err
			}
			owners = append(owners, Owner{ID: d.Value.SourceGroupID, Name: target.Value.Name()})
			return nil
		})
	})
	return owners, err
}
