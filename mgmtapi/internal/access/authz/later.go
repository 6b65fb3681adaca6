package authz

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

var (
	createUser     = Need{Column: ColumnUsers, Write: true, Kind: KindUser, Permissions: []string{UsersCreate, UsersManage}}
	changeProfile  = Need{Column: ColumnUsers, Write: true, Kind: KindUser, Permissions: []string{UsersProfile}}
	setCredentials = Need{Column: ColumnCredentials, Write: true, Kind: KindUser, Permissions: []string{UsersCredentials}}
	addMember      = Need{Column: ColumnMembership, Write: true, Kind: KindGroup, Permissions: []string{GroupsMembers, UsersCreate}}
	createApp      = Need{Column: ColumnApps, Write: true, Kind: KindApp, Permissions: []string{AppsManage}}
	pushGroup      = Need{Column: ColumnApps, Write: true, Unrestricted: true, Kind: KindGroup, Permissions: []string{GroupsAppAssignment}}
	assignUser     = Need{Column: ColumnApps, Write: true, Unrestricted: true, Kind: KindUser, Permissions: []string{UsersAppAssignment}}
)

func (a *Access) require(n *Need, r *Resource) error {
	if a != nil && !a.Meets(n, r) {
		return rest.Fail(rest.CodeForbidden)
	}
	return nil
}

// CreateUser checks whether the caller may create a user in these groups. A caller whose permission is limited to some groups must create
// the user in at least one of them. The caller must also be permitted to add users to each of the groups. The error has rest.CodeForbidden.
func CreateUser(ctx context.Context, q docstore.Reader, d model.Deps, groups []string) error {
	a := From(ctx)
	if a == nil || a.super {
		return nil
	}
	if err := a.require(&createUser, &Resource{Kind: KindUser, Groups: groups}); err != nil {
		return err
	}
	for _, id := range groups {
		protected, err := protectionOfGroup(ctx, q, d, id)
		if err != nil {
			return err
		}
		group := &Resource{Kind: KindGroup, ID: id, Groups: []string{id}, Protected: protected}
		if protected == Unprotected && a.managesUsersOf(id) {
			continue
		}
		if err := a.require(&addMember, group); err != nil {
			return err
		}
	}
	return nil
}

// CheckAddAnyUser checks whether the caller may add any user to the groups. The error has rest.CodeForbidden.
func CheckAddAnyUser(ctx context.Context, groups []string) error {
	a := From(ctx)
	if a.everything() {
		return nil
	}
	for _, id := range groups {
		if a.escalates(&Resource{Kind: KindUser, Into: id}) {
			return rest.Fail(rest.CodeForbidden, string(WhyEscalates)+": "+id)
		}
	}
	return nil
}

// managesUsersOf reports whether a custom role permits the caller to manage the users of the group, and thus to create users in it without
// the permission to add members.
func (a *Access) managesUsersOf(group string) bool {
	return slices.ContainsFunc(a.Grants, func(g Grant) bool {
		_, manages := g.held[UsersManage]
		return manages && g.scope.usersOf[group]
	})
}

// SetCredentials checks whether the caller may set the credentials of a user in an operation that also changes the profile.
func SetCredentials(ctx context.Context, q docstore.Reader, d model.Deps, user string) error {
	return requireUser(ctx, q, d, &setCredentials, user)
}

// ChangeProfile checks whether the caller may change these attributes of a user.
func ChangeProfile(ctx context.Context, q docstore.Reader, d model.Deps, user string, changed []string) error {
	if len(changed) == 0 {
		return nil
	}
	if err := requireUser(ctx, q, d, &changeProfile, user); err != nil {
		return err
	}
	changeable, err := Changeable(ctx, q, d, user)
	if err != nil || changeable == nil {
		return err
	}
	var causes []string
	for _, name := range changed {
		if !changeable(name) {
			causes = append(causes, name+": Your role does not permit changing the attribute")
		}
	}
	if len(causes) > 0 {
		return rest.Fail(rest.CodeForbidden, causes...)
	}
	return nil
}

// AssignUser checks whether the caller may assign applications to a user.
func AssignUser(ctx context.Context, q docstore.Reader, d model.Deps, user string) error {
	return requireUser(ctx, q, d, &assignUser, user)
}

// PushGroup checks whether the caller may push a group to applications.
func PushGroup(ctx context.Context, group string) error {
	return From(ctx).require(&pushGroup, &Resource{Kind: KindGroup, ID: group, Groups: []string{group}})
}

// CanReadUser reports whether the caller may read a user.
func CanReadUser(ctx context.Context, q docstore.Reader, d model.Deps, user string) (bool, error) {
	return meetsForUser(ctx, q, d, &readUser, user)
}

func requireUser(ctx context.Context, q docstore.Reader, d model.Deps, n *Need, user string) error {
	met, err := meetsForUser(ctx, q, d, n, user)
	if err == nil && !met {
		err = rest.Fail(rest.CodeForbidden)
	}
	return err
}

func meetsForUser(ctx context.Context, q docstore.Reader, d model.Deps, n *Need, user string) (bool, error) {
	a := From(ctx)
	if a.everything() || a.meetsAny(n) {
		return true, nil
	}
	groups, err := groupsOf(ctx, q, d, user)
	if err != nil {
		return false, err
	}
	return a.Meets(n, &Resource{Kind: KindUser, ID: user, Groups: groups}), nil
}

// CreateApp checks whether the caller may add an application of a catalog entry; name is empty for a custom application.
func CreateApp(ctx context.Context, name string, oauth bool) error {
	return From(ctx).require(&createApp, appResource("", name, oauth))
}

// ChangesApp reports whether the caller may change an application. Only these callers see the secrets of the application: with the secrets
// of an application that can call this API, a caller would have the permissions of the application.
func ChangesApp(ctx context.Context, q docstore.Reader, d model.Deps, app docstore.Doc[model.App]) (bool, error) {
	if caller := rest.Caller(ctx); caller.ClientID != "" && !slices.Contains(strings.Fields(caller.Scopes), appsScope) {
		return false, nil
	}
	a := From(ctx)
	if a == nil || a.super {
		return true, nil
	}
	r := appResource(app.ID, app.Value.Name, app.Value.OAuth())
	var err error
	if r.Protected, err = protectionOfApp(ctx, q, d, app.ID); err != nil {
		return false, err
	}
	return a.Meets(&createApp, r), nil
}

// appsScope is the scope that access tokens need to change applications.
const appsScope = "svc.apps.manage"
