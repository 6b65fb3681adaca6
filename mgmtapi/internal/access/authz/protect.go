package authz

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Protection is the role that a caller needs to change a resource, because of the roles of the resource: a caller who sets the password of
// an administrator can act as that administrator.
type Protection int

// The protections.
const (
	// Unprotected is a resource without roles.
	Unprotected Protection = iota
	// ProtectedByOrg is a user with standard roles that permit no more than ORG_ADMIN. Only a SUPER_ADMIN or an ORG_ADMIN changes it.
	ProtectedByOrg
	// ProtectedBySuper is any other user, group or application with a role, or with scopes of this API. Only a SUPER_ADMIN changes it.
	ProtectedBySuper
)

// blocks reports whether the protection prevents a role from changing the resource.
func (p Protection) blocks(role model.RoleType) bool {
	switch p {
	case ProtectedBySuper:
		return role != model.RoleSuperAdmin
	case ProtectedByOrg:
		return role != model.RoleSuperAdmin && role != model.RoleOrgAdmin
	default:
		return false
	}
}

// protectionBy returns the protection that a standard role gives the users that have the role.
func protectionBy(role model.RoleType) Protection {
	for column, c := range standard[role] {
		if c.rank() > standard[model.RoleOrgAdmin][column].rank() {
			return ProtectedBySuper
		}
	}
	return ProtectedByOrg
}

// rank orders cells by the extent of their permissions.
func (c cell) rank() int {
	switch c {
	case writes:
		return 3
	case helpsOut, writesOpt:
		return 2
	case reads:
		return 1
	default:
		return 0
	}
}

// protects reports whether the need may be denied because of the roles of the resource.
func protects(n *Need) bool {
	if !n.Write || n.Unrestricted {
		return false
	}
	switch n.Kind {
	case KindUser, KindGroup, KindApp, KindClient, KindToken:
		return true
	default:
		return false
	}
}

// protectionOf returns the protection of a user by its own roles and those of its groups, regardless of its status.
func protectionOf(ctx context.Context, q docstore.Reader, d model.Deps, user string, groups []string) (Protection, error) {
	assignees := []any{user}
	for _, id := range groups {
		assignees = append(assignees, id)
	}
	p := Unprotected
	for len(assignees) > 0 {
		some := assignees[:min(batch, len(assignees))]
		assignees = assignees[len(some):]
		n, err := d.RoleMembers.Count(ctx, q, docstore.In(model.RoleMemberByAssignee, some...))
		if err != nil || n > 0 {
			return ProtectedBySuper, err
		}
		err = model.Each(ctx, q, d.RoleAssignments, docstore.In(model.RoleAssignmentByAssignee, some...),
			func(doc docstore.Doc[model.RoleAssignment]) error {
				p = max(p, protectionBy(doc.Value.Type))
				return nil
			})
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// Administers reports whether a user has a role, directly or through a group.
func Administers(ctx context.Context, q docstore.Reader, d model.Deps, user string) (bool, error) {
	groups, err := groupsOf(ctx, q, d, user)
	if err != nil {
		return false, err
	}
	p, err := protectionOf(ctx, q, d, user, groups)
	return p != Unprotected, err
}

// protectionOfGroup returns the protection of a group: adding a user to a group gives the user the roles of the group.
func protectionOfGroup(ctx context.Context, q docstore.Reader, d model.Deps, group string) (Protection, error) {
	has, err := d.HasRoles(ctx, q, group)
	if err != nil || !has {
		return Unprotected, err
	}
	return ProtectedBySuper, nil
}

// protectionOfApp returns the protection of an application that can call this API: a caller who changes the keys of the application gains
// its permissions.
func protectionOfApp(ctx context.Context, q docstore.Reader, d model.Deps, app string) (Protection, error) {
	has, err := d.HasRoles(ctx, q, app)
	if err == nil && !has {
		var n int
		n, err = d.AppGrants.Count(ctx, q, docstore.Eq(model.AppGrantByApp, app))
		has = n > 0
	}
	if err != nil || !has {
		return Unprotected, err
	}
	return ProtectedBySuper, nil
}
