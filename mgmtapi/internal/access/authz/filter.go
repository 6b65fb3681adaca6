package authz

import (
	"context"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// From returns what the caller of a request may do. It is nil outside of requests, and where somebody else decides: nothing is
// hidden then.
func From(ctx context.Context) *Access {
	access, _ := rest.Admitted(ctx).(*Access)
	return access
}

var (
	readUser   = Need{Column: ColumnUsers, Kind: KindUser, Permissions: []string{UsersRead}}
	readGroup  = Need{Column: ColumnGroups, Kind: KindGroup, Permissions: []string{GroupsRead}}
	readApp    = Need{Column: ColumnApps, Kind: KindApp, Permissions: []string{AppsRead}}
	readServer = Need{Column: ColumnServers, Kind: KindServer, Permissions: []string{ServersRead}}
	readToken  = Need{Column: ColumnSuper, Kind: KindUser, Permissions: []string{UsersTokensRead}}
)

// Users returns what tells which users the caller may see, by id; nil for all. Who is in which group is read here, so that the
// filter costs a look-up a user.
func Users(ctx context.Context, q docstore.Reader, d model.Deps) (func(id string) bool, error) {
	return userFilter(ctx, q, d, &readUser)
}

// TokenOwners is Users for the owners of API tokens.
func TokenOwners(ctx context.Context, q docstore.Reader, d model.Deps) (func(id string) bool, error) {
	return userFilter(ctx, q, d, &readToken)
}

func userFilter(ctx context.Context, q docstore.Reader, d model.Deps, n *Need) (func(id string) bool, error) {
	a := From(ctx)
	if a.everything() || a.meetsAny(n) {
		return nil, nil
	}
	var in, notIn []map[string]bool // sets of users; one is enough, not to be in one is enough
	for i := range a.Grants {
		g := &a.Grants[i]
		some := *n
		some.Later = true
		if g.meets(&some, &Resource{}) != WhyMet {
			continue
		}
		if g.scope == nil && len(g.groups) == 0 {
			return nil, nil // its targets are applications
		}
		groups := g.groups
		if g.scope != nil {
			groups = g.scope.usersOf
			if g.scope.users.all {
				except, err := membersOf(ctx, q, d, g.scope.users.except)
				if err != nil {
					return nil, err
				}
				notIn = append(notIn, except)
			}
		}
		users, err := membersOf(ctx, q, d, groups)
		if err != nil {
			return nil, err
		}
		in = append(in, users)
	}
	return func(id string) bool {
		return slices.ContainsFunc(in, func(s map[string]bool) bool { return s[id] }) ||
			slices.ContainsFunc(notIn, func(s map[string]bool) bool { return !s[id] })
	}, nil
}

// membersOf are the users who are in one of the groups.
func membersOf(ctx context.Context, q docstore.Reader, d model.Deps, groups map[string]bool) (map[string]bool, error) {
	users := map[string]bool{}
	for group := range groups {
		err := model.Each(ctx, q, d.Memberships, docstore.Eq(model.MembershipByGroup, group), func(m docstore.Doc[model.Membership]) error {
			users[m.Value.User] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return users, nil
}

// UsersOf returns what tells which users of an application the caller may see that may read the application; nil for all.
func UsersOf(ctx context.Context, q docstore.Reader, d model.Deps, app docstore.Doc[model.App]) (func(id string) bool, error) {
	groups, some := groupsReading(ctx, app)
	if !some {
		return nil, nil
	}
	users, err := membersOf(ctx, q, d, groups)
	return func(id string) bool { return users[id] }, err
}

// GroupsOf is UsersOf for the groups of an application.
func GroupsOf(ctx context.Context, app docstore.Doc[model.App]) func(id string) bool {
	if groups, some := groupsReading(ctx, app); some {
		return func(id string) bool { return groups[id] }
	}
	return nil
}

// groupsReading are the target groups of the roles that let the caller read an application, and whether there is none without any.
func groupsReading(ctx context.Context, app docstore.Doc[model.App]) (groups map[string]bool, some bool) {
	a := From(ctx)
	if a.everything() || a.meetsAny(&readApp) {
		return nil, false
	}
	groups = map[string]bool{}
	for i := range a.Grants {
		g := &a.Grants[i]
		if g.meets(&readApp, appResource(app.ID, app.Value.Name, app.Value.OAuth())) != WhyMet {
			continue
		}
		if len(g.groups) == 0 {
			return nil, false
		}
		maps.Copy(groups, g.groups)
	}
	return groups, true
}

// Groups returns what tells which groups the caller may see; nil for all.
func Groups(ctx context.Context) func(id string) bool {
	a := From(ctx)
	if a.everything() || a.meetsAny(&readGroup) {
		return nil
	}
	return func(id string) bool {
		return a.Meets(&readGroup, &Resource{Kind: KindGroup, ID: id, Groups: []string{id}})
	}
}

// Apps returns what tells which applications the caller may see; nil for all.
func Apps(ctx context.Context) func(id string, app *model.App) bool {
	a := From(ctx)
	if a.everything() || a.meetsAny(&readApp) {
		return nil
	}
	return func(id string, app *model.App) bool { return a.Meets(&readApp, appResource(id, app.Name, app.OAuth())) }
}

// Servers returns what tells which authorization servers the caller may see; nil for all.
func Servers(ctx context.Context) func(id string) bool {
	a := From(ctx)
	if a.everything() || a.meetsAny(&readServer) {
		return nil
	}
	return func(id string) bool { return a.Meets(&readServer, &Resource{Kind: KindServer, ID: id}) }
}

func appResource(id, name string, oauth bool) *Resource {
	return &Resource{Kind: KindApp, ID: id, Type: name, OAuth: oauth}
}

// Shown returns what tells which attributes of a user's profile the caller may see; nil for all.
func Shown(ctx context.Context, q docstore.Reader, d model.Deps, user string) (func(attribute string) bool, error) {
	return attributes(ctx, q, d, user, &readUser, UsersRead)
}

// Changeable returns what tells which attributes of a user's profile the caller may change; nil for all.
func Changeable(ctx context.Context, q docstore.Reader, d model.Deps, user string) (func(attribute string) bool, error) {
	return attributes(ctx, q, d, user, &changeProfile, UsersProfile)
}

// attributes puts together what all grants permit that cover the user.
func attributes(
	ctx context.Context, q docstore.Reader, d model.Deps, user string, n *Need, permission string,
) (func(attribute string) bool, error) {
	a := From(ctx)
	if a.everything() || !a.conditional || a.meetsAny(n) {
		return nil, nil
	}
	groups, err := groupsOf(ctx, q, d, user)
	if err != nil {
		return nil, err
	}
	r := &Resource{Kind: KindUser, ID: user, Groups: groups}
	var conditions []*model.PermissionConditions
	for i := range a.Grants {
		g := &a.Grants[i]
		if g.meets(n, r) != WhyMet {
			continue
		}
		if c := g.held[permission]; c == nil {
			return nil, nil
		}
		conditions = append(conditions, g.held[permission])
	}
	return func(attribute string) bool {
		return slices.Contains(always, attribute) ||
			slices.ContainsFunc(conditions, func(c *model.PermissionConditions) bool { return permit(c, attribute) })
	}, nil
}

// Searchable returns what tells which attributes the caller may search users by: those that it sees of every user, or a search
// would tell what a list hides. It is nil for all.
func Searchable(ctx context.Context) func(attribute string) bool {
	a := From(ctx)
	if a.everything() || !a.conditional || a.meetsAny(&readUser) {
		return nil
	}
	return func(attribute string) bool {
		return !slices.ContainsFunc(a.Grants, func(g Grant) bool {
			c, ok := g.held[UsersRead]
			return ok && !permit(c, attribute)
		})
	}
}
