package roles

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func (s *Slice) react() {
	model.On(s.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
		return s.assigneeRemoved(ctx, tx, e.ID)
	})
	model.On(s.Feed, s.groupDeleted)
	model.On(s.Feed, s.appChanged)
	model.On(s.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeactivated) error {
		return s.assigneeRemoved(ctx, tx, e.ID)
	})
	model.On(s.Feed, s.userActivated)
	model.On(s.Feed, s.membershipChanged)
}

// assigneeRemoved revokes the roles of a deactivated user, and of a deleted user, group or application. It rejects a change after which no
// SUPER_ADMIN remains.
func (s *Slice) assigneeRemoved(ctx context.Context, tx *docstore.Tx, assignee string) error {
	super, err := model.Optional(ctx, tx, s.RoleAssignments, model.RoleAssignmentID(assignee, model.RoleSuperAdmin))
	if err != nil {
		return err
	}
	if err := authz.RevokeAll(ctx, tx, s.Deps, assignee); err != nil || super == nil {
		return err
	}
	return s.requireSuperAdmin(ctx, tx)
}

// userActivated revokes the remaining roles of a reactivated user. Only users deactivated by an earlier version still have roles.
func (s *Slice) userActivated(ctx context.Context, tx *docstore.Tx, e model.UserActivated) error {
	if !e.Returning {
		return nil
	}
	return authz.RevokeAll(ctx, tx, s.Deps, e.ID)
}

func (s *Slice) groupDeleted(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error {
	if err := s.assigneeRemoved(ctx, tx, e.ID); err != nil {
		return err
	}
	return s.removeTargets(ctx, tx, docstore.Eq(model.RoleAssignmentByGroup, e.ID), func(t model.RoleTarget) bool { return t.Group == e.ID })
}

func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return nil
	}
	if err := s.assigneeRemoved(ctx, tx, e.App); err != nil {
		return err
	}
	return s.removeTargets(ctx, tx, docstore.Eq(model.RoleAssignmentByApp, e.App), func(t model.RoleTarget) bool { return t.App == e.App })
}

// removeTargets removes deleted targets. An assignment without remaining targets would be unlimited and is deleted.
func (s *Slice) removeTargets(ctx context.Context, tx *docstore.Tx, where docstore.Cond, deleted func(model.RoleTarget) bool) error {
	return model.Each(ctx, tx, s.RoleAssignments, where, func(doc docstore.Doc[model.RoleAssignment]) error {
		assignment := doc.Value
		assignment.Targets = slices.DeleteFunc(slices.Clone(assignment.Targets), deleted)
		if len(assignment.Targets) == 0 {
			return s.revoke(ctx, tx, doc)
		}
		_, err := s.RoleAssignments.Update(ctx, tx, doc.ID, doc.Rev, assignment)
		return err
	})
}

// membershipChanged rejects the removal of the last SUPER_ADMIN from the group through which it has the role.
func (s *Slice) membershipChanged(ctx context.Context, tx *docstore.Tx, e model.MembershipChanged) error {
	if e.Member {
		return nil
	}
	found, err := model.Optional(ctx, tx, s.RoleAssignments, model.RoleAssignmentID(e.Group, model.RoleSuperAdmin))
	if err != nil || found == nil {
		return err
	}
	return s.requireSuperAdmin(ctx, tx)
}
