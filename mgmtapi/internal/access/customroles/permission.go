package customroles

import (
	"context"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Permission is a permission of a role in JSON.
type Permission struct {
	Label       string      `json:"label" readOnly:"true" doc:"Name of the permission."`
	Conditions  *Conditions `json:"conditions" readOnly:"true" doc:"Profile attributes that the permission covers; null for all."`
	Created     rest.Time   `json:"created" readOnly:"true" doc:"When the permission was added to the role."`
	LastUpdated rest.Time   `json:"lastUpdated" readOnly:"true" doc:"When the conditions last changed."`
	Links       rest.Links  `json:"_links" readOnly:"true" doc:"Links to the permission and its role."`
}

// SchemaName implements rest.SchemaNamer.
func (Permission) SchemaName() string { return "iam.Permission" }

// Permissions are all permissions of a role.
type Permissions struct {
	Permissions []Permission `json:"permissions" readOnly:"true" doc:"The permissions."`
}

// Conditions limit a permission to profile attributes. Either include or exclude is set.
type Conditions struct {
	Include map[string][]string `json:"include,omitempty" doc:"Covered attributes under the key svc:ResourceAttribute/User/Profile."`
	Exclude map[string][]string `json:"exclude,omitempty" doc:"Attributes that the permission does not cover, under the same key."`
}

// SchemaName implements rest.SchemaNamer.
func (Conditions) SchemaName() string { return "iam.Conditions" }

// conditionKey is the only key of conditions.
const conditionKey = "svc:ResourceAttribute/User/Profile"

func renderPermission(ctx context.Context, role string, p *model.RolePermission) Permission {
	out := Permission{
		Label: p.Name, Created: rest.TimeOf(p.Created), LastUpdated: rest.TimeOf(p.LastUpdated),
		Links: rest.Links{"self": url(ctx, "roles", role, "permissions", p.Name), "role": url(ctx, "roles", role)},
	}
	if c := p.Conditions; c != nil {
		out.Conditions = &Conditions{}
		if names := map[string][]string{conditionKey: c.Attributes}; c.Exclude {
			out.Conditions.Exclude = names
		} else {
			out.Conditions.Include = names
		}
	}
	return out
}

func (s *Slice) listPermissions(ctx context.Context, r *roleRequest) (Permissions, error) {
	out := Permissions{Permissions: []Permission{}}
	for i := range r.found.Value.Permissions {
		out.Permissions = append(out.Permissions, renderPermission(ctx, r.found.ID, &r.found.Value.Permissions[i]))
	}
	return out, nil
}

// permissionTarget is the permission in a path.
type permissionTarget struct {
	roleTarget
	Name string `path:"permissionType" doc:"Name of the permission."`
}

func (t *permissionTarget) permission() (*model.RolePermission, error) {
	p, ok := t.found.Value.Permission(t.Name)
	if !ok {
		return nil, rest.NotFound("Permission", t.Name)
	}
	return p, nil
}

func (t *permissionTarget) self() *permissionTarget { return t }

// withPermission extends the loader of a role to load a permission of the role.
func withPermission(
	role func(context.Context, docstore.Reader, *roleTarget) error,
) func(context.Context, docstore.Reader, *permissionTarget) error {
	return func(ctx context.Context, q docstore.Reader, t *permissionTarget) error {
		if err := role(ctx, q, &t.roleTarget); err != nil {
			return err
		}
		_, err := t.permission()
		return err
	}
}

type permissionRequest struct{ permissionTarget }

func (s *Slice) getPermission(ctx context.Context, r *permissionRequest) (Permission, error) {
	p, err := r.permission()
	if err != nil {
		return Permission{}, err
	}
	return renderPermission(ctx, r.found.ID, p), nil
}

func (s *Slice) deletePermission(ctx context.Context, r *permissionRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.changePermission(ctx, &r.permissionTarget, func(role *model.CustomRole) ([]audit.Type, error) {
		if _, err := r.permission(); err != nil {
			return nil, err
		}
		role.Permissions = slices.DeleteFunc(role.Permissions, func(p model.RolePermission) bool { return p.Name == r.Name })
		return []audit.Type{audit.PermissionDelete}, nil
	})
}

// changePermission changes a copy of the permissions of a custom role and stores it. fn returns the events to log; without events, nothing
// is stored.
func (s *Slice) changePermission(ctx context.Context, t *permissionTarget, fn func(*model.CustomRole) ([]audit.Type, error)) error {
	return s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.custom(ctx, tx, &t.roleTarget); err != nil {
			return err
		}
		role := t.found.Value
		role.Permissions = slices.Clone(role.Permissions)
		events, err := fn(&role)
		if err != nil || len(events) == 0 {
			return err
		}
		if _, err := s.CustomRoles.Update(ctx, tx, t.found.ID, t.found.Rev, role); err != nil {
			return err
		}
		for _, event := range events {
			if err := s.log(ctx, tx, event, audit.Role(t.found.ID, t.found.Value.Label), audit.Permission(t.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}

type setPermissionRequest struct {
	permissionTarget
	Body struct {
		Conditions *Conditions `json:"conditions" doc:"Profile attributes that the permission covers. Absent means all."`
	} `body:"optional"`

	attributes map[string]bool // the profile attributes of all user types
	conditions *model.PermissionConditions
}

// findForSetPermission finds the role, which need not have the permission yet.
func (s *Slice) findForSetPermission(ctx context.Context, r *setPermissionRequest) (err error) {
	q := s.Store.Reader()
	if err := s.custom(ctx, q, &r.roleTarget); err != nil {
		return err
	}
	r.attributes, err = s.attributes(ctx, q)
	return err
}

func (s *Slice) findForReplacePermission(ctx context.Context, r *setPermissionRequest) error {
	if err := s.findForSetPermission(ctx, r); err != nil {
		return err
	}
	_, err := r.permission()
	return err
}

// attributes returns the profile attributes of all user types.
func (s *Slice) attributes(ctx context.Context, q docstore.Reader) (map[string]bool, error) {
	names := map[string]bool{}
	for _, name := range model.UserAttributes() {
		names[name] = true
	}
	err := model.Each(ctx, q, s.UserSchemas, nil, func(doc docstore.Doc[model.UserSchema]) error {
		for name := range doc.Value.Custom {
			names[name] = true
		}
		return nil
	})
	return names, err
}

// checkSetPermission validates the name of the permission and its conditions.
func checkSetPermission(_ context.Context, r *setPermissionRequest, causes *rest.Causes) error {
	if problem := permissionProblem(r.Name); problem != "" {
		causes.Add("permissionType", "%s", problem)
	}
	c := r.Body.Conditions
	if c == nil {
		return nil
	}
	switch {
	case !authz.Conditional(r.Name):
		causes.Add("conditions", "Only %s and %s can have conditions", authz.UsersRead, authz.UsersProfile)
		return nil
	case (c.Include == nil) == (c.Exclude == nil):
		causes.Add("conditions", "Exactly one of include and exclude must be given")
		return nil
	}
	r.conditions = &model.PermissionConditions{Exclude: c.Exclude != nil}
	lists := c.Include
	if c.Exclude != nil {
		lists = c.Exclude
	}
	names, ok := lists[conditionKey]
	if !ok || len(lists) != 1 || len(names) == 0 {
		causes.Add("conditions", "The only key must be %s, with at least one attribute", conditionKey)
		return nil
	}
	for _, name := range names {
		switch {
		case !r.attributes[name]:
			causes.Add("conditions", "No user has the attribute %s", name)
		case !slices.Contains(r.conditions.Attributes, name):
			r.conditions.Attributes = append(r.conditions.Attributes, name)
		}
	}
	return nil
}

func (s *Slice) addPermission(ctx context.Context, r *setPermissionRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.changePermission(ctx, &r.permissionTarget, func(role *model.CustomRole) ([]audit.Type, error) {
		if _, ok := role.Permission(r.Name); ok {
			return nil, rest.Invalid("permissionType", "The role already has the permission")
		}
		now := s.Now()
		role.Permissions = append(role.Permissions,
			model.RolePermission{Name: r.Name, Conditions: r.conditions, Created: now, LastUpdated: now})
		if r.conditions == nil {
			return []audit.Type{audit.PermissionAdd}, nil
		}
		return []audit.Type{audit.PermissionAdd, audit.PermissionConditionAdd}, nil
	})
}

func (s *Slice) replacePermission(ctx context.Context, r *setPermissionRequest) (out Permission, err error) {
	err = s.changePermission(ctx, &r.permissionTarget, func(role *model.CustomRole) ([]audit.Type, error) {
		p, ok := role.Permission(r.Name)
		if !ok {
			return nil, rest.NotFound("Permission", r.Name)
		}
		unchanged := reflect.DeepEqual(p.Conditions, r.conditions)
		if !unchanged {
			p.Conditions, p.LastUpdated = r.conditions, s.Now()
		}
		out = renderPermission(ctx, r.found.ID, p)
		switch {
		case unchanged:
			return nil, nil
		case r.conditions == nil:
			return []audit.Type{audit.PermissionConditionDelete}, nil
		}
		return []audit.Type{audit.PermissionConditionAdd}, nil
	})
	return out, err
}
