package iam

import (
	"context"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/authz"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// Permission is a permission of a role on the wire.
type Permission struct {
	Label       string      `json:"label" readOnly:"true" doc:"Name of the permission."`
	Conditions  *Conditions `json:"conditions" readOnly:"true" doc:"Profile attributes that the permission is about; null for all."`
	Created     rest.Time   `json:"created" readOnly:"true" doc:"When the role got the permission."`
	LastUpdated rest.Time   `json:"lastUpdated" readOnly:"true" doc:"When its conditions last changed."`
	Links       rest.Links  `json:"_links" readOnly:"true" doc:"Links to the permission and its role."`
}

// Permissions are all permissions of a role.
type Permissions struct {
	Permissions []Permission `json:"permissions" readOnly:"true" doc:"The permissions."`
}

// Conditions limit a permission to profile attributes. There is either include or exclude.
type Conditions struct {
	Include map[string][]string `json:"include,omitempty" doc:"The attributes that the permission is about, under the key svc:ResourceAttribute/User/Profile."`
	Exclude map[string][]string `json:"exclude,omitempty" doc:"The attributes that the permission is not about, under the same key."`
}

// conditionKey is the only thing that conditions can be about.
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

// permissionTarget is the permission that a path names.
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

type permissionRequest struct{ permissionTarget }

func (s *Slice) findPermission(ctx context.Context, r *permissionRequest) error {
	if err := s.custom(ctx, s.Store.Reader(), &r.roleTarget); err != nil {
		return err
	}
	_, err := r.permission()
	return err
}

func (s *Slice) findPermissionForRead(ctx context.Context, r *permissionRequest) error {
	if err := s.readable(ctx, s.Store.Reader(), &r.roleTarget); err != nil {
		return err
	}
	_, err := r.permission()
	return err
}

func (s *Slice) getPermission(ctx context.Context, r *permissionRequest) (Permission, error) {
	p, err := r.permission()
	if err != nil {
		return Permission{}, err
	}
	return renderPermission(ctx, r.found.ID, p), nil
}

func (s *Slice) deletePermission(ctx context.Context, r *permissionRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.custom(ctx, tx, &r.roleTarget); err != nil {
			return err
		}
		if _, err := r.permission(); err != nil {
			return err
		}
		role := r.found.Value
		role.Permissions = slices.DeleteFunc(slices.Clone(role.Permissions), func(p model.RolePermission) bool { return p.Name == r.Name })
		if _, err := s.CustomRoles.Update(ctx, tx, r.found.ID, r.found.Rev, role); err != nil {
			return err
		}
		return s.logPermission(ctx, tx, audit.PermissionDelete, &r.permissionTarget)
	})
}

func (s *Slice) logPermission(ctx context.Context, tx *docstore.Tx, event audit.Type, t *permissionTarget) error {
	return s.log(ctx, tx, event, audit.Role(t.found.ID, t.found.Value.Label), audit.Permission(t.Name))
}

type setPermissionRequest struct {
	permissionTarget
	Body struct {
		Conditions *Conditions `json:"conditions" doc:"Profile attributes that the permission is about. Without any, it is about all."`
	} `body:"optional"`

	attributes map[string]bool // that users can have
	conditions *model.PermissionConditions
}

// findForSetPermission finds the role, which need not have the permission.
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

// attributes are the profile attributes of all user types.
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

// checkSetPermission checks the name of the permission and its conditions.
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
		causes.Add("conditions", "There must be either include or exclude")
		return nil
	}
	r.conditions = &model.PermissionConditions{Exclude: c.Exclude != nil}
	lists := c.Include
	if c.Exclude != nil {
		lists = c.Exclude
	}
	names, ok := lists[conditionKey]
	if !ok || len(lists) != 1 || len(names) == 0 {
		causes.Add("conditions", "There must be attributes under the key %s, and no other key", conditionKey)
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
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.custom(ctx, tx, &r.roleTarget); err != nil {
			return err
		}
		role := r.found.Value
		if _, ok := role.Permission(r.Name); ok {
			return rest.Invalid("permissionType", "The role has the permission already")
		}
		now := s.Now()
		role.Permissions = append(slices.Clone(role.Permissions),
			model.RolePermission{Name: r.Name, Conditions: r.conditions, Created: now, LastUpdated: now})
		if _, err := s.CustomRoles.Update(ctx, tx, r.found.ID, r.found.Rev, role); err != nil {
			return err
		}
		if err := s.logPermission(ctx, tx, audit.PermissionAdd, &r.permissionTarget); err != nil || r.conditions == nil {
			return err
		}
		return s.logPermission(ctx, tx, audit.PermissionConditionAdd, &r.permissionTarget)
	})
}

func (s *Slice) replacePermission(ctx context.Context, r *setPermissionRequest) (out Permission, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.custom(ctx, tx, &r.roleTarget); err != nil {
			return err
		}
		role := r.found.Value
		role.Permissions = slices.Clone(role.Permissions)
		p, ok := role.Permission(r.Name)
		if !ok {
			return rest.NotFound("Permission", r.Name)
		}
		if reflect.DeepEqual(p.Conditions, r.conditions) {
			out = renderPermission(ctx, r.found.ID, p)
			return nil
		}
		event := audit.PermissionConditionAdd
		if r.conditions == nil {
			event = audit.PermissionConditionDelete
		}
		p.Conditions, p.LastUpdated = r.conditions, s.Now()
		if _, err := s.CustomRoles.Update(ctx, tx, r.found.ID, r.found.Rev, role); err != nil {
			return err
		}
		out = renderPermission(ctx, r.found.ID, p)
		return s.logPermission(ctx, tx, event, &r.permissionTarget)
	})
	return out, err
}
