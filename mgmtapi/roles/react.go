package roles

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/authz"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

func (s *Slice) react() {
	model.On(s.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error { return s.gone(ctx, tx, e.ID) })
	model.On(s.Feed, s.groupDeleted)
	model.On(s.Feed, s.appChanged)
	model.On(s.Feed, s.userDeactivated)
	model.On(s.Feed, s.membershipChanged)
}

// gone ends the roles of what is deleted.
func (s *Slice) gone(ctx context.Context, tx *docstore.Tx, assignee string) error {
	err := model.Each(ctx, tx, s.RoleAssignments, docstore.Eq(model.RoleAssignmentByAssignee, assignee), func(doc docstore.Doc[model.RoleAssignment]) error {
		return s.revoke(ctx, tx, doc)
	})
	if err != nil {
		return err
	}
	return model.Each(ctx, tx, s.RoleMembers, docstore.Eq(model.RoleMemberByAssignee, assignee), func(doc docstore.Doc[model.RoleMember]) error {
		return authz.Unbind(ctx, tx, s.Deps, doc)
	})
}

func (s *Slice) groupDeleted(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error {
	if err := s.gone(ctx, tx, e.ID); err != nil {
		return err
	}
	return s.forget(ctx, tx, docstore.Eq(model.RoleAssignmentByGroup, e.ID), func(t model.RoleTarget) bool { return t.Group == e.ID })
}

func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return nil
	}
	if err := s.gone(ctx, tx, e.App); err != nil {
		return err
	}
	return s.forget(ctx, tx, docstore.Eq(model.RoleAssignmentByApp, e.App), func(t model.RoleTarget) bool { return t.App == e.App })
}

// forget takes targets away that are deleted. An assignment without any left would not be limited, and ends.
func (s *Slice) forget(ctx context.Context, tx *docstore.Tx, where docstore.Cond, deleted func(model.RoleTarget) bool) error {
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

// userDeactivated refuses to deactivate the last SUPER_ADMIN.
func (s *Slice) userDeactivated(ctx context.Context, tx *docstore.Tx, e model.UserDeactivated) error {
	found, err := model.Optional(ctx, tx, s.RoleAssignments, model.RoleAssignmentID(e.ID, model.RoleSuperAdmin))
	if err != nil || found == nil {
		return err
	}
	return s.keepSuperAdmin(ctx, tx)
}

// membershipChanged refuses to take the last SUPER_ADMIN out of the group that makes it one.
func (s *Slice) membershipChanged(ctx context.Context, tx *docstore.Tx, e model.MembershipChanged) error {
	if e.Member {
		return nil
	}
	found, err := model.Optional(ctx, tx, s.RoleAssignments, model.RoleAssignmentID(e.Group, model.RoleSuperAdmin))
	if err != nil || found == nil {
		return err
	}
	return s.keepSuperAdmin(ctx, tx)
}
