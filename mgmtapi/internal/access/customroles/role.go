package customroles

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// CustomRole is a custom role in JSON.
type CustomRole struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id of the role."`
	Label       string     `json:"label" readOnly:"true" doc:"Name of the role, unique ignoring case."`
	Description string     `json:"description" readOnly:"true" doc:"Description of the role."`
	Created     rest.Time  `json:"created" readOnly:"true" doc:"When the role was created."`
	LastUpdated rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the role or its permissions last changed."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Links to the role and its permissions."`
}

// LocatedRole is a role with its URL for the Location header.
type LocatedRole struct {
	CustomRole
	location string
}

// Location returns the URL of the role.
func (r LocatedRole) Location() string { return r.location }

// CustomRoles is a page of custom roles.
type CustomRoles struct {
	Roles []CustomRole `json:"roles" readOnly:"true" doc:"The roles."`
	Links rest.Links   `json:"_links,omitempty" readOnly:"true" doc:"Link to the next page, if there is one."`
}

func renderRole(ctx context.Context, doc docstore.Doc[model.CustomRole]) CustomRole {
	return CustomRole{
		ID: doc.ID, Label: doc.Value.Label, Description: doc.Value.Description,
		Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		Links: rest.Links{"self": url(ctx, "roles", doc.ID), "permissions": url(ctx, "roles", doc.ID, "permissions")},
	}
}

func locate(ctx context.Context, doc docstore.Doc[model.CustomRole]) LocatedRole {
	return LocatedRole{renderRole(ctx, doc), rest.URL(ctx, "api", "v1", "iam", "roles", doc.ID)}
}

// RoleBody holds the writable members of a custom role.
type RoleBody struct {
	Label string `json:"label" required:"true" min:"1" max:"255" doc:"Name of the role. Not an id or a standard role."`

	Description string `json:"description" required:"true" max:"1024" doc:"Description of the role."`
}

func (b *RoleBody) check(causes *rest.Causes) {
	switch {
	case model.KindCustomRole.LooksLike(b.Label):
		causes.Add("label", "The value must not have the form of a role id")
	case model.RoleType(b.Label).Standard() || model.RoleType(b.Label) == model.RoleCustom:
		causes.Add("label", "The value must not be the name of a standard role")
	}
}

type createRoleRequest struct {
	Body struct {
		RoleBody
		Permissions []string `json:"permissions" required:"true" doc:"Names of at least one permission."`
	} `body:"required"`
}

// checkCreateRole validates the label and the permissions.
func checkCreateRole(_ context.Context, r *createRoleRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	if len(r.Body.Permissions) == 0 {
		causes.Blank("permissions")
	}
	for _, name := range r.Body.Permissions {
		if problem := permissionProblem(name); problem != "" {
			causes.Add("permissions", "%s", problem)
		}
	}
	return nil
}

// permissionProblem returns the reason why a custom role cannot have a permission, "" if it can.
func permissionProblem(name string) string {
	switch {
	case authz.ReservedPermission(name):
		return "The permission " + name + " is for standard roles only"
	case !authz.KnownPermission(name):
		return "Unknown permission " + name
	}
	return ""
}

func (s *Slice) createRole(ctx context.Context, r *createRoleRequest) (LocatedRole, error) {
	role := model.CustomRole{Label: r.Body.Label, Description: r.Body.Description}
	now := s.Now()
	for _, name := range r.Body.Permissions {
		if _, ok := role.Permission(name); !ok {
			role.Permissions = append(role.Permissions, model.RolePermission{Name: name, Created: now, LastUpdated: now})
		}
	}
	id := model.NewID(model.KindCustomRole)
	var doc docstore.Doc[model.CustomRole]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if doc, err = s.CustomRoles.Insert(ctx, tx, id, role); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.CustomRoleCreate, audit.Role(id, role.Label))
	})
	if err != nil {
		return LocatedRole{}, err
	}
	return locate(ctx, doc), nil
}

func (s *Slice) listRoles(ctx context.Context, r *pageRequest) (CustomRoles, error) {
	roles, links, err := page(ctx, s, s.CustomRoles, r, renderRole)
	return CustomRoles{Roles: roles, Links: links}, err
}

// roleTarget is the role in a path.
type roleTarget struct {
	Role string `path:"roleIdOrLabel" doc:"Id or label of the role."`

	found docstore.Doc[model.CustomRole]
}

func (t *roleTarget) self() *roleTarget { return t }

// custom finds a custom role.
func (s *Slice) custom(ctx context.Context, q docstore.Reader, t *roleTarget) (err error) {
	if t.found, err = s.FindCustomRole(ctx, q, t.Role); err == nil {
		return nil
	}
	if model.RoleType(t.Role).Permission() != "" {
		return rest.Invalid("roleIdOrLabel", "The role %s is standard and cannot be changed", t.Role)
	}
	return rest.Missing(err, "Role", t.Role)
}

// governance returns a governance role, which is a standard role with a fixed resource set, in the form of a custom role. Its times are
// those of the organization.
func (s *Slice) governance(ctx context.Context, q docstore.Reader, role model.RoleType) (docstore.Doc[model.CustomRole], error) {
	org, err := s.Orgs.Get(ctx, q, model.OrgDocument)
	since := org.Created.Truncate(time.Second)
	return docstore.Doc[model.CustomRole]{
		ID: string(role), Created: since, Updated: since, Value: model.CustomRole{
			Label: role.Label(), Description: role.Label(),
			Permissions: []model.RolePermission{{Name: role.Permission(), Created: since, LastUpdated: since}},
		},
	}, err
}

// readable finds a custom role or a governance role.
func (s *Slice) readable(ctx context.Context, q docstore.Reader, t *roleTarget) (err error) {
	if role := model.RoleType(t.Role); role.Permission() != "" {
		t.found, err = s.governance(ctx, q, role)
		return err
	}
	return s.custom(ctx, q, t)
}

type roleRequest struct{ roleTarget }

func (s *Slice) getRole(ctx context.Context, r *roleRequest) (CustomRole, error) {
	return renderRole(ctx, r.found), nil
}

type replaceRoleRequest struct {
	roleTarget
	Body RoleBody `body:"required"`
}

// checkReplaceRole validates the label.
func checkReplaceRole(_ context.Context, r *replaceRoleRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	return nil
}

func (s *Slice) replaceRole(ctx context.Context, r *replaceRoleRequest) (LocatedRole, error) {
	var doc docstore.Doc[model.CustomRole]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if err := s.custom(ctx, tx, &r.roleTarget); err != nil {
			return err
		}
		role := r.found.Value
		role.Label, role.Description = r.Body.Label, r.Body.Description
		if doc, err = s.CustomRoles.Update(ctx, tx, r.found.ID, r.found.Rev, role); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.CustomRoleUpdate, audit.Role(doc.ID, role.Label))
	})
	if err != nil {
		return LocatedRole{}, err
	}
	return locate(ctx, doc), nil
}

func (s *Slice) deleteRole(ctx context.Context, r *roleRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.custom(ctx, tx, &r.roleTarget); err != nil {
			return err
		}
		var labels []string
		err := model.Each(ctx, tx, s.RoleMembers, docstore.Eq(model.RoleMemberByRole, r.found.ID), func(m docstore.Doc[model.RoleMember]) error {
			set, err := s.ResourceSets.Get(ctx, tx, m.Value.Set)
			if err == nil && !slices.Contains(labels, set.Value.Label) {
				labels = append(labels, set.Value.Label)
			}
			return err
		})
		if err != nil {
			return err
		}
		if len(labels) > 0 {
			return rest.Invalid("roleIdOrLabel", "The role is bound to the resource sets %s", strings.Join(labels, ", "))
		}
		if err := s.CustomRoles.Delete(ctx, tx, r.found.ID); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.CustomRoleDelete, audit.Role(r.found.ID, r.found.Value.Label))
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.CustomRoleDelete, Targets: []model.LogParty{audit.Role(r.found.ID, r.found.Value.Label)}}, err)
}
