package authz

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Revoke removes the assignment of a standard role, with its targets, and logs the revocation.
func Revoke(ctx context.Context, tx *docstore.Tx, d model.Deps, doc docstore.Doc[model.RoleAssignment]) error {
	if err := d.RoleAssignments.Delete(ctx, tx, doc.ID); err != nil {
		return err
	}
	role := doc.Value.Type
	return audit.Write(ctx, tx, d, audit.Entry{Type: Revoked(doc.Value.Kind), Targets: []model.LogParty{
		Party(ctx, tx, d, doc.Value.Kind, doc.Value.Assignee), audit.Role(string(role), role.Label()),
	}})
}

// RevokeAll removes the roles that were assigned to the assignee itself: standard roles with their targets, and memberships in bindings of
// custom roles. It does not check whether a SUPER_ADMIN remains.
func RevokeAll(ctx context.Context, tx *docstore.Tx, d model.Deps, assignee string) error {
	err := model.Each(ctx, tx, d.RoleAssignments, docstore.Eq(model.RoleAssignmentByAssignee, assignee),
		func(doc docstore.Doc[model.RoleAssignment]) error {
			return Revoke(ctx, tx, d, doc)
		})
	if err != nil {
		return err
	}
	return model.Each(ctx, tx, d.RoleMembers, docstore.Eq(model.RoleMemberByAssignee, assignee),
		func(doc docstore.Doc[model.RoleMember]) error {
			return Unbind(ctx, tx, d, doc)
		})
}
