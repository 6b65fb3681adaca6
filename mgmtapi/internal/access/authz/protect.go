package authz

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Protection says who may change a resource at all, because of what it could do by its roles: whoever sets the password of an
// administrator can act as that administrator.
type Protection int

// The protections.
const (
	// Unprotected is what has no role.
	Unprotected Protection = iota
	// ProtectedByOrg is a user with standard roles that permit nothing that ORG_ADMIN does not: changed by an ORG_ADMIN, too.
	ProtectedByOrg
	// ProtectedBySuper is any other user, group or application with a role, or with scopes of this API: changed by a SUPER_ADMIN.
	ProtectedBySuper
)

// keeps says whether the protection keeps a role from changing the resource.
func (p Protection) keeps(role model.RoleType) bool {
	switch p {
	case ProtectedBySuper:
		return role != model.RoleSuperAdmin
	case ProtectedByOrg:
		return role != model.RoleSuperAdmin && role != model.RoleOrgAdmin
	default:
		return false
	}
}

// protectionBy is how far a standard role protects those who have it.
func protectionBy(role model.RoleType) Protection {
	for column, c := range standard[role] {
		if c.rank() > standard[model.RoleOrgAdmin][column].rank() {
			return ProtectedBySuper
		}
	}
	return ProtectedByOrg
}

// rank orders cells by how much they permit.
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

// protects says whether the need may be refused because of what roles the resource has.
func protects(n *Need) bool {
	if !n.Write || n.Beside {
		return false
	}
	switch n.Kind {
	case KindUser, KindGroup, KindApp, KindClient, KindToken:
		return true
	default:
		return false
	}
}

// protectionOf is how far the roles of a user protect it, those that it has itself and those of its groups, whatever its status is.
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

// Administers says whether a user has a role, itself or through a group.
func Administers(ctx context.Context, q docstore.Reader, d model.Deps, user string) (bool, error) {
	groups, err := groupsOf(ctx, q, d, user)
	if err != nil {
		return false, err
	}
	p, err := protectionOf(ctx, q, d, user, groups)
	return p != Unprotected, err
}

// protectionOfGroup is how far a group is protected: whoever puts somebody into it gives its roles away.
func protectionOfGroup(ctx context.Context, q docstore.Reader, d model.Deps, group string) (Protection, error) {
	has, err := d.HasRoles(ctx, q, group)
	if err != nil || !has {
		return Unprotected, err
	}
	return ProtectedBySuper, nil
}

// protectionOfApp is how far an application is protected that can call this API by itself: whoever changes its keys can do what it
// may do.
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
