package model

import (
	"context"
	"encoding/base32"
	"errors"
	"regexp"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim/filter"
)

// RoleType is a standard role, or RoleCustom.
type RoleType string

// The role types.
const (
	RoleSuperAdmin      RoleType = "SUPER_ADMIN"
	RoleOrgAdmin        RoleType = "ORG_ADMIN"
	RoleAppAdmin        RoleType = "APP_ADMIN"
	RoleUserAdmin       RoleType = "USER_ADMIN"
	RoleHelpDesk        RoleType = "HELP_DESK_ADMIN"
	RoleMembershipAdmin RoleType = "GROUP_MEMBERSHIP_ADMIN"
	RoleReadOnly        RoleType = "READ_ONLY_ADMIN"
	RoleReport          RoleType = "REPORT_ADMIN"
	RoleMobile          RoleType = "MOBILE_ADMIN"
	RoleAPIAccess       RoleType = "API_ACCESS_MANAGEMENT_ADMIN"
	RoleCertifications  RoleType = "ACCESS_CERTIFICATIONS_ADMIN"
	RoleRequests        RoleType = "ACCESS_REQUESTS_ADMIN"
	RoleCustom          RoleType = "CUSTOM"
)

// standardRole is an entry of standardRoles.
type standardRole struct {
	label string
	// groups and apps determine which targets an assignment may have.
	groups, apps bool
	// policy is the fixed resource set of a governance role, permission its only permission. The governance roles are the standard roles for
	// access certifications and for access requests.
	policy, permission string
}

var standardRoles = map[RoleType]standardRole{
	RoleSuperAdmin:      {label: "Super Administrator"},
	RoleOrgAdmin:        {label: "Organization Administrator"},
	RoleAppAdmin:        {label: "Application Administrator", apps: true},
	RoleUserAdmin:       {label: "Group Administrator", groups: true},
	RoleHelpDesk:        {label: "Help Desk Administrator", groups: true},
	RoleMembershipAdmin: {label: "Group Membership Administrator", groups: true},
	RoleReadOnly:        {label: "Read-only Administrator"},
	RoleReport:          {label: "Report Administrator"},
	RoleMobile:          {label: "Mobile Administrator"},
	RoleAPIAccess:       {label: "API Access Management Administrator"},
	RoleCertifications: {
		label: "Access Certifications Administrator", policy: "ACCESS_CERTIFICATIONS_IAM_POLICY",
		permission: "svc.governance.accessCertifications.manage",
	},
	RoleRequests: {
		label: "Access Requests Administrator", policy: "ACCESS_REQUESTS_IAM_POLICY",
		permission: "svc.governance.accessRequests.manage",
	},
}

// StandardRoles lists the standard roles.
func StandardRoles() []RoleType {
	return []RoleType{
		RoleSuperAdmin, RoleOrgAdmin, RoleAppAdmin, RoleUserAdmin, RoleHelpDesk, RoleMembershipAdmin, RoleReadOnly, RoleReport,
		RoleMobile, RoleAPIAccess, RoleCertifications, RoleRequests,
	}
}

// Standard reports whether the type is a standard role.
func (t RoleType) Standard() bool {
	_, ok := standardRoles[t]
	return ok
}

// Label returns the human-readable name of a standard role.
func (t RoleType) Label() string { return standardRoles[t].label }

// GroupTargets reports whether assignments of the role can be limited to groups.
func (t RoleType) GroupTargets() bool { return standardRoles[t].groups }

// AppTargets reports whether assignments of the role can be limited to applications.
func (t RoleType) AppTargets() bool { return standardRoles[t].apps }

// Policy returns the fixed resource set of a governance role, empty for all other roles.
func (t RoleType) Policy() string { return standardRoles[t].policy }

// Permission returns the only permission of a governance role, empty for all other roles.
func (t RoleType) Permission() string { return standardRoles[t].permission }

// AssigneeKind is the kind of an assignee.
type AssigneeKind string

// The kinds of assignees.
const (
	AssigneeUser   AssigneeKind = "USER"
	AssigneeGroup  AssigneeKind = "GROUP"
	AssigneeClient AssigneeKind = "CLIENT"
)

// RoleAssignment is the assignment of a standard role. Its document id is RoleAssignmentID(assignee, type).
type RoleAssignment struct {
	// ID is the id in the API. For roles that accept targets, it is the same for all assignees.
	ID   string       `json:"id"`
	Type RoleType     `json:"type"`
	Kind AssigneeKind `json:"kind"`
	// Assignee is the id of a user, of a group, or of the application of a client.
	Assignee string `json:"assignee"`
	// Targets limit the assignment. An assignment without targets is not limited. Each target has a number. LastTarget is the last number that
	// was used.
	Targets    []RoleTarget `json:"targets,omitempty"`
	LastTarget int          `json:"lastTarget,omitempty"`
}

// RoleTarget is a group, an application, or all applications of a catalog entry.
type RoleTarget struct {
	Number int    `json:"number"`
	Group  string `json:"group,omitempty"`
	// AppName is the name of an application, App its id. Without an id, the target is all applications with the name.
	AppName string `json:"appName,omitempty"`
	App     string `json:"app,omitempty"`
}

// Same reports whether both targets are the same group or application.
func (t RoleTarget) Same(o RoleTarget) bool {
	return t.Group == o.Group && t.AppName == o.AppName && t.App == o.App
}

// RoleAssignmentID returns the document id of the assignment of a standard role.
func RoleAssignmentID(assignee string, role RoleType) string {
	return docstore.JoinID(assignee, string(role))
}

// NewRoleAssignmentID returns the id of a new assignment in the API.
func NewRoleAssignmentID(kind AssigneeKind, role RoleType) string {
	switch {
	case role.GroupTargets() || role.AppTargets():
		return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(role))
	case kind == AssigneeGroup:
		return NewID(KindGroupRole)
	case kind == AssigneeClient:
		return NewID(KindClientRole)
	default:
		return NewID(KindUserRole)
	}
}

// The indexes of the role assignments.
const (
	RoleAssignmentByAssignee = "assignee"  // index by the assignee
	RoleAssignmentByType     = "role"      // index by the role
	RoleAssignmentByGroup    = "target"    // index by each target group
	RoleAssignmentByApp      = "targetapp" // index by each target application
)

func roleAssignmentCollection() docstore.Collection[RoleAssignment] {
	return docstore.NewCollection("role_assignments",
		docstore.Index[RoleAssignment]{Name: RoleAssignmentByAssignee, Values: func(a *RoleAssignment) []any { return []any{a.Assignee} }},
		docstore.Index[RoleAssignment]{Name: RoleAssignmentByType, Values: func(a *RoleAssignment) []any { return []any{string(a.Type)} }},
		docstore.Index[RoleAssignment]{Name: RoleAssignmentByGroup, Multi: true, Values: func(a *RoleAssignment) []any {
			return a.targets(func(t RoleTarget) string { return t.Group })
		}},
		docstore.Index[RoleAssignment]{Name: RoleAssignmentByApp, Multi: true, Values: func(a *RoleAssignment) []any {
			return a.targets(func(t RoleTarget) string { return t.App })
		}},
	)
}

func (a *RoleAssignment) targets(of func(RoleTarget) string) []any {
	var values []any
	for _, target := range a.Targets {
		values = append(values, optional(of(target))...)
	}
	return values
}

// CustomRole is a collection of permissions.
type CustomRole struct {
	Label       string           `json:"label"`
	Description string           `json:"description"`
	Permissions []RolePermission `json:"permissions,omitempty"`
}

// RolePermission is a permission of a custom role.
type RolePermission struct {
	Name string `json:"name"`
	// Conditions limit the profile attributes that the permission covers. Nil means all attributes.
	Conditions  *PermissionConditions `json:"conditions,omitempty"`
	Created     time.Time             `json:"created"`
	LastUpdated time.Time             `json:"lastUpdated"`
}

// PermissionConditions list profile attributes: either those that a permission covers, or those that it excludes.
type PermissionConditions struct {
	Exclude    bool     `json:"exclude,omitempty"`
	Attributes []string `json:"attributes"`
}

// Permission returns a permission of the role.
func (r *CustomRole) Permission(name string) (*RolePermission, bool) {
	for i := range r.Permissions {
		if r.Permissions[i].Name == name {
			return &r.Permissions[i], true
		}
	}
	return nil, false
}

// LabelIndex is the index of the folded labels of custom roles and of resource sets, unique.
const LabelIndex = "label"

func customRoleCollection() docstore.Collection[CustomRole] {
	return docstore.NewCollection("custom_roles",
		docstore.Index[CustomRole]{Name: LabelIndex, Version: filter.FoldVersion, Unique: true, Values: func(r *CustomRole) []any {
			return []any{filter.Fold(r.Label)}
		}},
	)
}

// ResourceSet is a set of resources for the bindings of custom roles. Every change of the members of the set also changes the document of
// the set, so that the revision of the document identifies the members.
type ResourceSet struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

func resourceSetCollection() docstore.Collection[ResourceSet] {
	return docstore.NewCollection("resource_sets",
		docstore.Index[ResourceSet]{Name: LabelIndex, Version: filter.FoldVersion, Unique: true, Values: func(s *ResourceSet) []any {
			return []any{filter.Fold(s.Label)}
		}},
	)
}

// SetResource is a resource of a resource set.
type SetResource struct {
	Set string `json:"set"`
	ORN string `json:"orn"`
	// Exclude lists the names of resources that are excluded from a collection.
	Exclude []string `json:"exclude,omitempty"`
}

// The indexes of the resources of sets.
const (
	SetResourceBySet    = "set_id" // index by the resource set
	SetResourceByMember = "member" // index by resource set and name, unique
	SetResourceByORN    = "orn"    // index by the name
)

// SetResourceKey returns the value of a resource in the index SetResourceByMember.
func SetResourceKey(set, orn string) string { return set + "/" + orn }

func setResourceCollection() docstore.Collection[SetResource] {
	return docstore.NewCollection("set_resources",
		docstore.Index[SetResource]{Name: SetResourceBySet, Values: func(r *SetResource) []any { return []any{r.Set} }},
		docstore.Index[SetResource]{Name: SetResourceByMember, Unique: true, Values: func(r *SetResource) []any {
			return []any{SetResourceKey(r.Set, r.ORN)}
		}},
		docstore.Index[SetResource]{Name: SetResourceByORN, Values: func(r *SetResource) []any { return []any{r.ORN} }},
	)
}

// RoleMember binds an assignee to a custom role on a resource set. The members with the same role and set are a binding. Its document id is
// also the id of the assignment.
type RoleMember struct {
	Role string       `json:"role"`
	Set  string       `json:"set"`
	Kind AssigneeKind `json:"kind"`
	// Assignee is the id of a user, of a group, or of the application of a client.
	Assignee string `json:"assignee"`
}

// The indexes of the members of bindings.
const (
	RoleMemberByRole     = "role_id"  // index by the custom role
	RoleMemberBySet      = "set_id"   // index by the resource set
	RoleMemberByBinding  = "binding"  // index by RoleBindingKey of set and role
	RoleMemberByAssignee = "assignee" // index by the assignee
	RoleMemberByMember   = "member"   // index by set, role and assignee, unique
)

// RoleBindingKey returns the value of all members of a binding in the index RoleMemberByBinding.
func RoleBindingKey(set, role string) string { return set + "/" + role }

// RoleMemberKey returns the value of a member in the index RoleMemberByMember.
func RoleMemberKey(set, role, assignee string) string {
	return RoleBindingKey(set, role) + "/" + assignee
}

func roleMemberCollection() docstore.Collection[RoleMember] {
	return docstore.NewCollection("role_members",
		docstore.Index[RoleMember]{Name: RoleMemberByRole, Values: func(m *RoleMember) []any { return []any{m.Role} }},
		docstore.Index[RoleMember]{Name: RoleMemberBySet, Values: func(m *RoleMember) []any { return []any{m.Set} }},
		docstore.Index[RoleMember]{Name: RoleMemberByBinding, Values: func(m *RoleMember) []any { return []any{RoleBindingKey(m.Set, m.Role)} }},
		docstore.Index[RoleMember]{Name: RoleMemberByAssignee, Values: func(m *RoleMember) []any { return []any{m.Assignee} }},
		docstore.Index[RoleMember]{Name: RoleMemberByMember, Unique: true, Values: func(m *RoleMember) []any {
			return []any{RoleMemberKey(m.Set, m.Role, m.Assignee)}
		}},
	)
}

// LooksLike reports whether a string has the form of an id of the kind.
func (k Kind) LooksLike(text string) bool {
	return len(text) == idLength && text[:len(k)] == string(k) && idPattern.MatchString(text)
}

var idPattern = regexp.MustCompile(`^[0-9A-Za-z]+$`)

// FindClient returns the application with the client_id, otherwise the OAuth client with the application id. It returns
// docstore.ErrNotFound if neither exists. No client_id is the id of another application.
func (d Deps) FindClient(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[App], error) {
	doc, err := d.FindOAuthClient(ctx, q, id)
	if !errors.Is(err, docstore.ErrNotFound) {
		return doc, err
	}
	doc, err = d.Apps.Get(ctx, q, id)
	if err == nil && !doc.Value.OAuth() {
		return docstore.Doc[App]{}, docstore.ErrNotFound
	}
	return doc, err
}

// FindCustomRole returns the custom role with an id or a label. It returns docstore.ErrNotFound if none matches.
func (d Deps) FindCustomRole(ctx context.Context, q docstore.Reader, ref string) (docstore.Doc[CustomRole], error) {
	return byIDOrLabel(ctx, q, d.CustomRoles, ref)
}

// FindResourceSet returns the resource set with an id or a label. It returns docstore.ErrNotFound if none matches.
func (d Deps) FindResourceSet(ctx context.Context, q docstore.Reader, ref string) (docstore.Doc[ResourceSet], error) {
	return byIDOrLabel(ctx, q, d.ResourceSets, ref)
}

func byIDOrLabel[T any](ctx context.Context, q docstore.Reader, c docstore.Collection[T], ref string) (docstore.Doc[T], error) {
	doc, err := c.Get(ctx, q, ref)
	if !errors.Is(err, docstore.ErrNotFound) {
		return doc, err
	}
	page, queryErr := c.Query(ctx, q, docstore.Query[T]{Where: docstore.Eq(LabelIndex, filter.Fold(ref)), Limit: 1})
	if queryErr != nil {
		return doc, queryErr
	}
	if len(page.Docs) == 1 {
		return page.Docs[0], nil
	}
	return doc, err
}

// HasRoles reports whether a role is directly assigned to a user, a group, or the application of a client.
func (d Deps) HasRoles(ctx context.Context, q docstore.Reader, assignee string) (bool, error) {
	n, err := d.RoleAssignments.Count(ctx, q, docstore.Eq(RoleAssignmentByAssignee, assignee))
	if err != nil || n > 0 {
		return n > 0, err
	}
	n, err = d.RoleMembers.Count(ctx, q, docstore.Eq(RoleMemberByAssignee, assignee))
	return n > 0, err
}

// SetUpRoles makes the built-in administrator a SUPER_ADMIN if no user is.
func (d Deps) SetUpRoles(ctx context.Context, tx *docstore.Tx, org Org) error {
	n, err := d.RoleAssignments.Count(ctx, tx, docstore.Eq(RoleAssignmentByType, string(RoleSuperAdmin)))
	if err != nil || n > 0 {
		return err
	}
	_, err = d.Users.Get(ctx, tx, org.Administrator)
	if errors.Is(err, docstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = d.RoleAssignments.Insert(ctx, tx, RoleAssignmentID(org.Administrator, RoleSuperAdmin), RoleAssignment{
		ID: NewRoleAssignmentID(AssigneeUser, RoleSuperAdmin), Type: RoleSuperAdmin, Kind: AssigneeUser, Assignee: org.Administrator,
	})
	return err
}
