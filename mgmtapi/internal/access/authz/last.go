package authz

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// ActiveSuperAdmin reports whether any ACTIVE user is a SUPER_ADMIN, directly or through a group. It ignores the user with the id `except`,
// unless `except` is empty.
func ActiveSuperAdmin(ctx context.Context, q docstore.Reader, d model.Deps, except string) (bool, error) {
	there := errors.New("an active SUPER_ADMIN was found") // stops the iterations
	active := func(id string) error {
		user, err := model.Optional(ctx, q, d.Users, id)
		if err == nil && user != nil && id != except && user.Value.Status == model.UserActive {
			return there
		}
		return err
	}
	err := model.Each(ctx, q, d.RoleAssignments, docstore.Eq(model.RoleAssignmentByType, string(model.RoleSuperAdmin)),
		func(doc docstore.Doc[model.RoleAssignment]) error {
			switch doc.Value.Kind {
			case model.AssigneeUser:
				return active(doc.Value.Assignee)
			case model.AssigneeGroup:
				return model.Each(ctx, q, d.Memberships, docstore.Eq(model.MembershipByGroup, doc.Value.Assignee),
					func(m docstore.Doc[model.Membership]) error {
						return active(m.Value.User)
					})
			default: // a client does not count: it cannot sign in and make another user a SUPER_ADMIN
				return nil
			}
		})
	if errors.Is(err, there) {
		return true, nil
	}
	return false, err
}

// LastSuperAdmin reports whether a user is the only ACTIVE SUPER_ADMIN.
func LastSuperAdmin(ctx context.Context, q docstore.Reader, d model.Deps, user string) (bool, error) {
	doc, err := d.Users.Get(ctx, q, user)
	if err != nil || doc.Value.Status != model.UserActive {
		return false, err
	}
	groups, err := groupsOf(ctx, q, d, user)
	if err != nil {
		return false, err
	}
	super, err := superAdmin(ctx, q, d, user, groups)
	if err != nil || !super {
		return false, err
	}
	other, err := ActiveSuperAdmin(ctx, q, d, user)
	return !other, err
}
