package authz

import (
	"context"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// From returns the grants of the caller of a request. It returns nil outside of requests and if the API has another authorizer: the filters
// of this package then hide no data.
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

// Users returns a filter for the users that the caller may see, by id. It returns nil if the caller may see all users. It reads the
// memberships of the groups in advance, so that filtering a user costs one map lookup.
func Users(ctx context.Context, q docstore.Reader, d model.Deps) (func(id string) bool, error) {
	return userFilter(ctx, q, d, &readUser)
}

// TokenOwners is like Users. It selects the users whose API tokens the caller may see.
func TokenOwners(ctx context.Context, q docstore.Reader, d model.Deps) (func(id string) bool, error) {
	return userFilter(ctx, q, d, &readToken)
}

func userFilter(ctx context.Context, q docstore.Reader, d model.Deps, n *Need) (func(id string) bool, error) {
	a := From(ctx)
	if a.everything() || a.meetsAny(n) {
		return nil, nil
	}
	// Sets of users: the caller may see a user whom a set in `in` contains, or whom a set in `notIn` does not contain.
	var in, notIn []map[string]bool
	for i := range a.Grants {
		g := &a.Grants[i]
		some := *n
		some.Later = true
		if g.meets(&some, &Resource{}) != WhyMet {
			continue
		}
		if g.scope == nil && len(g.groups) == 0 {
			return nil, nil // the targets of this role are applications, so it permits the caller to see all users
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

// membersOf returns the users in any of the groups.
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

// UsersOf returns a filter for the users of an application that a caller with read permission for the application may see. It returns nil
// if the caller may see all users.
func UsersOf(ctx context.Context, q docstore.Reader, d model.Deps, app docstore.Doc[model.App]) (func(id string) bool, error) {
	groups, some := groupsReading(ctx, app)
	if !some {
		return nil, nil
	}
	users, err := membersOf(ctx, q, d, groups)
	return func(id string) bool { return users[id] }, err
}

// GroupsOf is like UsersOf. It selects the groups that are assigned to an application.
func GroupsOf(ctx context.Context, app docstore.Doc[model.App]) func(id string) bool {
	if groups, some := groupsReading(ctx, app); some {
		return func(id string) bool { return groups[id] }
	}
	return nil
}

// groupsReading returns the target groups of the roles that permit the caller to read an application. The second result reports that all
// these roles have target groups.
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

// Groups returns a filter for the groups that the caller may see. It returns nil if the caller may see all groups.
func Groups(ctx context.Context) func(id string) bool {
	a := From(ctx)
	if a.everything() || a.meetsAny(&readGroup) {
		return nil
	}
	return func(id string) bool {
		return a.Meets(&readGroup, &Resource{Kind: KindGroup, ID: id, Groups: []string{id}})
	}
}

// Apps returns a filter for the applications that the caller may see. It returns nil if the caller may see all applications.
func Apps(ctx context.Context) func(id string, app *model.App) bool {
	a := From(ctx)
	if a.everything() || a.meetsAny(&readApp) {
		return nil
	}
	return func(id string, app *model.App) bool { return a.Meets(&readApp, appResource(id, app.Name, app.OAuth())) }
}

// Servers returns a filter for the authorization servers that the caller may see. It returns nil if the caller may see all servers.
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

// Shown returns a filter for the profile attributes of a user that the caller may see. It returns nil if the caller may see all attributes.
func Shown(ctx context.Context, q docstore.Reader, d model.Deps, user string) (func(attribute string) bool, error) {
	return attributes(ctx, q, d, user, &readUser, UsersRead)
}

// Changeable returns a filter for the profile attributes of a user that the caller may change. It returns nil if the caller may change all
// attributes.
func Changeable(ctx context.Context, q docstore.Reader, d model.Deps, user string) (func(attribute string) bool, error) {
	return attributes(ctx, q, d, user, &changeProfile, UsersProfile)
}

// attributes returns the union of the attributes permitted by the grants that cover the user.
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

// Searchable returns a filter for the attributes by which the caller may search for users: those that the caller may see of every user.
// Searches by other attributes would reveal hidden values. It returns nil if the caller may search by all attributes.
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
