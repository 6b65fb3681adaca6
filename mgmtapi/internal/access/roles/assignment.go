package roles

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// RoleAssignment is the assignment of a role in JSON.
type RoleAssignment struct {
	ID             string         `json:"id" readOnly:"true" doc:"Id of the assignment, or of the member of the binding for a custom role."`
	Label          string         `json:"label" readOnly:"true" doc:"Human-readable name of the role."`
	Type           model.RoleType `json:"type" readOnly:"true" doc:"Standard role, or CUSTOM."`
	Status         string         `json:"status" readOnly:"true" enum:"ACTIVE" doc:"Always ACTIVE."`
	AssignmentType string         `json:"assignmentType" readOnly:"true"`
	Created        rest.Time      `json:"created" readOnly:"true" doc:"When the role was assigned."`
	LastUpdated    rest.Time      `json:"lastUpdated" readOnly:"true" doc:"When the assignment last changed."`
	Role           string         `json:"role,omitempty" readOnly:"true" doc:"Id of the custom role."`
	ResourceSet    string         `json:"resource-set,omitempty" readOnly:"true" doc:"Id of the resource set of a custom role."`
	Embedded       *Embedded      `json:"_embedded,omitempty" readOnly:"true" doc:"Objects requested by expand."`
	Links          rest.Links     `json:"_links" readOnly:"true" doc:"Links to the assignee, the role and related resources."`
}

// MoreTags implements rest.Described.
func (RoleAssignment) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"assignmentType": `enum:"USER,GROUP,CLIENT" doc:"Kind of the assignee. In the list of a user, GROUP marks a role of a group ` +
			`that the user is in."`,
	}
}

// Embedded holds the objects that are returned with an assignment.
type Embedded struct {
	Targets EmbeddedTargets `json:"targets" doc:"Targets of the assignment."`
}

// EmbeddedTargets are the targets of one kind.
type EmbeddedTargets struct {
	Groups  []GroupTarget    `json:"groups,omitempty" doc:"Target groups."`
	Catalog *EmbeddedCatalog `json:"catalog,omitempty" doc:"Target applications."`
}

// EmbeddedCatalog holds target applications.
type EmbeddedCatalog struct {
	Apps []AppTarget `json:"apps" doc:"Target applications."`
}

// storedAssignment is a stored assignment of a standard or a custom role.
type storedAssignment struct {
	standard *docstore.Doc[model.RoleAssignment]
	custom   *docstore.Doc[model.RoleMember]
	label    string // label of the custom role, empty for a standard role
	who      authz.Assignee
}

func (h *storedAssignment) id() string {
	if h.standard != nil {
		return h.standard.Value.ID
	}
	return h.custom.ID
}

func (s *Slice) render(ctx context.Context, h *storedAssignment) RoleAssignment {
	assigneeURL := map[model.AssigneeKind][]string{
		model.AssigneeUser: {"api", "v1", "users"}, model.AssigneeGroup: {"api", "v1", "groups"},
		model.AssigneeClient: {"oauth2", "v1", "clients"},
	}[h.who.Kind]
	out := RoleAssignment{
		ID: h.id(), Status: "ACTIVE", AssignmentType: string(h.who.Kind),
		Links: rest.Links{"assignee": rest.To(rest.URL(ctx, append(assigneeURL, h.who.Ref)...))},
	}
	if h.standard != nil {
		role := h.standard.Value.Type
		out.Type, out.Label = role, role.Label()
		out.Created, out.LastUpdated = rest.TimeOf(h.standard.Created), rest.TimeOf(h.standard.Updated)
		if role.Policy() == "" {
			return out
		}
		out.Role, out.ResourceSet = string(role), role.Policy()
	} else {
		m := h.custom.Value
		out.Type, out.Label, out.Role, out.ResourceSet = model.RoleCustom, h.label, m.Role, m.Set
		out.Created, out.LastUpdated = rest.TimeOf(h.custom.Created), rest.TimeOf(h.custom.Updated)
		out.Links["member"] = rest.To(rest.URL(ctx, "api", "v1", "iam", "resource-sets", m.Set, "bindings", m.Role, "members", h.custom.ID))
	}
	out.Links["role"] = rest.To(rest.URL(ctx, "api", "v1", "iam", "roles", out.Role))
	out.Links["permissions"] = rest.To(rest.URL(ctx, "api", "v1", "iam", "roles", out.Role, "permissions"))
	out.Links["resource-set"] = rest.To(rest.URL(ctx, "api", "v1", "iam", "resource-sets", out.ResourceSet))
	return out
}

// own reads the assignments of the assignee itself in the order of creation, standard roles first.
func (s *Slice) own(ctx context.Context, q docstore.Reader, who authz.Assignee) ([]storedAssignment, error) {
	var out []storedAssignment
	err := model.Each(ctx, q, s.RoleAssignments, docstore.Eq(model.RoleAssignmentByAssignee, who.ID),
		func(doc docstore.Doc[model.RoleAssignment]) error {
			out = append(out, storedAssignment{standard: &doc, who: who})
			return nil
		})
	if err != nil {
		return nil, err
	}
	err = model.Each(ctx, q, s.RoleMembers, docstore.Eq(model.RoleMemberByAssignee, who.ID), func(doc docstore.Doc[model.RoleMember]) error {
		role, err := s.CustomRoles.Get(ctx, q, doc.Value.Role)
		out = append(out, storedAssignment{custom: &doc, label: role.Value.Label, who: who})
		return err
	})
	return out, err
}

// all returns the result of own and the assignments of the groups of a user.
func (s *Slice) all(ctx context.Context, q docstore.Reader, who authz.Assignee) ([]storedAssignment, error) {
	out, err := s.own(ctx, q, who)
	if err != nil || who.Kind != model.AssigneeUser {
		return out, err
	}
	err = model.Each(ctx, q, s.Memberships, docstore.Eq(model.MembershipByUser, who.ID), func(m docstore.Doc[model.Membership]) error {
		has, err := s.HasRoles(ctx, q, m.Value.Group)
		if err != nil || !has {
			return err
		}
		group, err := authz.FindAssignee(ctx, q, s.Deps, model.AssigneeGroup, m.Value.Group)
		if err != nil {
			return err
		}
		more, err := s.own(ctx, q, group)
		out = append(out, more...)
		return err
	})
	return out, err
}

type listRequest struct {
	assignee
	Expand string `query:"expand" doc:"targets/groups adds the target groups, targets/catalog/apps the target applications."`
}

func (o kindRoutes) list(ctx context.Context, r *listRequest) (out rest.Page[RoleAssignment], err error) {
	err = o.Store.View(ctx, func(q docstore.Reader) error {
		all, err := o.all(ctx, q, r.who)
		if err != nil {
			return err
		}
		for _, h := range all {
			item := o.render(ctx, &h)
			if item.Embedded, err = o.embed(ctx, q, &h, r.Expand); err != nil {
				return err
			}
			out.Items = append(out.Items, item)
		}
		return nil
	})
	return out, err
}

// embed reads the targets requested by the parameter expand and ignores unknown names.
func (s *Slice) embed(ctx context.Context, q docstore.Reader, h *storedAssignment, expand string) (*Embedded, error) {
	if h.standard == nil {
		return nil, nil
	}
	var out Embedded
	var err error
	given := false
	for name := range strings.SplitSeq(expand, ",") {
		switch strings.TrimSpace(name) {
		case "targets/groups":
			given = true
			out.Targets.Groups, err = s.groupTargets(ctx, q, groupsAmong(h.standard.Value.Targets))
		case "targets/catalog/apps":
			given = true
			var apps []AppTarget
			apps, err = s.appTargets(ctx, q, appsAmong(h.standard.Value.Targets))
			out.Targets.Catalog = &EmbeddedCatalog{Apps: apps}
		}
		if err != nil {
			return nil, err
		}
	}
	if !given {
		return nil, nil
	}
	return &out, nil
}

type assignRequest struct {
	assignee

	DisableNotifications bool `query:"disableNotifications" default:"false" doc:"No effect: the service sends no notifications."`

	Body AssignmentBody `body:"required"`
}

// AssignmentBody is the body of a role assignment.
type AssignmentBody struct {
	Type        model.RoleType `json:"type" required:"true" doc:"Standard role, or CUSTOM."`
	Role        string         `json:"role" empty:"absent" doc:"Id of the custom role."`
	ResourceSet string         `json:"resource-set" empty:"absent" doc:"Id of the resource set of a custom role."`
}

// checkAssign validates the type and the members that a custom role requires.
func checkAssign(_ context.Context, r *assignRequest, causes *rest.Causes) error {
	switch role := r.Body.Type; {
	case role == "": // the missing type is already reported
	case role == model.RoleCustom:
		if r.Body.Role == "" {
			causes.Blank("role")
		}
		if r.Body.ResourceSet == "" {
			causes.Blank("resource-set")
		}
	case !role.Standard():
		names := []string{string(model.RoleCustom)}
		for _, name := range model.StandardRoles() {
			names = append(names, string(name))
		}
		causes.Add("type", "The value must be one of %s", strings.Join(names, ", "))
	}
	return nil
}

func (o kindRoutes) assign(ctx context.Context, r *assignRequest) (out RoleAssignment, err error) {
	err = o.Update(ctx, func(tx *docstore.Tx) error {
		if err := o.find(ctx, tx, &r.assignee); err != nil {
			return err
		}
		if err := authz.CheckAssignable(ctx, tx, o.Deps, r.who, "type"); err != nil {
			return err
		}
		h := storedAssignment{who: r.who}
		if r.Body.Type == model.RoleCustom {
			h.custom, h.label, err = o.bind(ctx, tx, r)
		} else {
			h.standard, err = o.give(ctx, tx, r)
		}
		if err != nil {
			return err
		}
		out = o.render(ctx, &h)
		return nil
	})
	return out, err
}

func (o kindRoutes) bind(ctx context.Context, tx *docstore.Tx, r *assignRequest) (*docstore.Doc[model.RoleMember], string, error) {
	role, err := o.FindCustomRole(ctx, tx, r.Body.Role)
	if err != nil {
		return nil, "", rest.Missing(err, "Role", r.Body.Role)
	}
	set, err := o.FindResourceSet(ctx, tx, r.Body.ResourceSet)
	if err != nil {
		return nil, "", rest.Missing(err, "ResourceSet", r.Body.ResourceSet)
	}
	member, begun, err := authz.Bind(ctx, tx, o.Deps, role, set, r.who)
	if err == nil && !begun {
		err = rest.Fail(rest.CodeRoleAssigned)
	}
	return &member, role.Value.Label, err
}

func (o kindRoutes) give(ctx context.Context, tx *docstore.Tx, r *assignRequest) (*docstore.Doc[model.RoleAssignment], error) {
	id := model.RoleAssignmentID(r.who.ID, r.Body.Type)
	old, err := model.Optional(ctx, tx, o.RoleAssignments, id)
	if err != nil {
		return nil, err
	}
	if old != nil {
		return nil, rest.Fail(rest.CodeRoleAssigned)
	}
	doc, err := o.RoleAssignments.Insert(ctx, tx, id, model.RoleAssignment{
		ID: model.NewRoleAssignmentID(o.kind, r.Body.Type), Type: r.Body.Type, Kind: o.kind, Assignee: r.who.ID,
	})
	if err != nil {
		return nil, err
	}
	return &doc, audit.Write(ctx, tx, o.Deps, audit.Entry{Type: authz.Granted(o.kind), Targets: parties(r.who.Party, r.Body.Type)})
}

func parties(who model.LogParty, role model.RoleType) []model.LogParty {
	return []model.LogParty{who, audit.Role(string(role), role.Label())}
}

type assignmentRequest struct {
	assignee
	ID string `path:"roleAssignmentId" doc:"Id of the assignment."`

	found storedAssignment
}

func (r *assignmentRequest) self() *assignmentRequest { return r }

// findAssignment reads an assignment of the assignee; for a user also one through a group.
func (o kindRoutes) findAssignment(ctx context.Context, q docstore.Reader, r *assignmentRequest) error {
	return o.among(ctx, q, r, o.all)
}

// findOwn reads an assignment of the assignee itself.
func (o kindRoutes) findOwn(ctx context.Context, q docstore.Reader, r *assignmentRequest) error {
	return o.among(ctx, q, r, o.own)
}

func (o kindRoutes) among(
	ctx context.Context, q docstore.Reader, r *assignmentRequest,
	list func(context.Context, docstore.Reader, authz.Assignee) ([]storedAssignment, error),
) error {
	if err := o.find(ctx, q, &r.assignee); err != nil {
		return err
	}
	all, err := list(ctx, q, r.who)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(h storedAssignment) bool { return h.id() == r.ID })
	if i < 0 {
		return rest.NotFound("RoleAssignment", r.ID)
	}
	r.found = all[i]
	return nil
}

func (o kindRoutes) get(ctx context.Context, r *assignmentRequest) (RoleAssignment, error) {
	return o.render(ctx, &r.found), nil
}

func (o kindRoutes) unassign(ctx context.Context, r *assignmentRequest) (rest.NoContent, error) {
	err := o.Update(ctx, func(tx *docstore.Tx) error {
		if err := o.among(ctx, tx, r, o.own); err != nil {
			return err
		}
		if r.found.custom != nil {
			return authz.Unbind(ctx, tx, o.Deps, *r.found.custom)
		}
		return o.revoke(ctx, tx, *r.found.standard)
	})
	return rest.NoContent{}, audit.Refused(ctx, o.Deps, audit.Entry{Type: authz.Revoked(o.kind), Targets: []model.LogParty{r.who.Party}}, err)
}

// revoke deletes the assignment of a standard role. The last SUPER_ADMIN cannot be revoked.
func (s *Slice) revoke(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.RoleAssignment]) error {
	if err := authz.Revoke(ctx, tx, s.Deps, doc); err != nil || doc.Value.Type != model.RoleSuperAdmin {
		return err
	}
	return s.requireSuperAdmin(ctx, tx)
}

// requireSuperAdmin returns an error if no active user is a SUPER_ADMIN.
func (s *Slice) requireSuperAdmin(ctx context.Context, tx *docstore.Tx) error {
	there, err := authz.ActiveSuperAdmin(ctx, tx, s.Deps, "")
	if err != nil || there {
		return err
	}
	return rest.Invalid("role", "The last active user with the role %s cannot lose it", model.RoleSuperAdmin)
}
