package authz

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Assignee is a user, a group or an application that roles can be assigned to.
type Assignee struct {
	Kind model.AssigneeKind
	ID   string // id of the user, group or application
	// Ref identifies the assignee in paths: the client id of an application, the id of a user or group.
	Ref   string
	Party model.LogParty // the assignee in the form of log entries
}

// FindAssignee reads a user or a group by its id, and a service application by its id or its client id. It returns a *rest.Error if the
// assignee does not exist, or if the client has another type.
func FindAssignee(ctx context.Context, q docstore.Reader, d model.Deps, kind model.AssigneeKind, ref string) (Assignee, error) {
	switch kind {
	case model.AssigneeGroup:
		doc, err := d.Groups.Get(ctx, q, ref)
		return Assignee{kind, doc.ID, doc.ID, audit.Group(doc)}, rest.Missing(err, "UserGroup", ref)
	case model.AssigneeClient:
		doc, err := d.FindClient(ctx, q, ref)
		if err != nil {
			return Assignee{}, rest.Missing(err, "OAuth2Client", ref)
		}
		return Assignee{kind, doc.ID, doc.Value.Credentials.OAuthClient.ID, audit.App(doc.ID, &doc.Value)}, nil
	default:
		doc, err := d.FindUser(ctx, q, ref)
		return Assignee{kind, doc.ID, doc.ID, audit.User(doc)}, rest.Missing(err, "User", ref)
	}
}

// CheckAssignable returns an error if the assignee cannot have a role. The error names the request member `member`.
func CheckAssignable(ctx context.Context, q docstore.Reader, d model.Deps, a Assignee, member string) error {
	switch a.Kind {
	case model.AssigneeGroup:
		group, err := d.Groups.Get(ctx, q, a.ID)
		if err != nil {
			return err
		}
		if group.Value.Type == model.GroupBuiltIn {
			return rest.Invalid(member, "The built-in group %s cannot have roles", a.ID)
		}
		active, err := d.GroupRules.Count(ctx, q, docstore.All(
			docstore.Eq(model.GroupRuleByGroup, a.ID), docstore.Eq(model.GroupRuleByStatus, string(model.RuleActive))))
		if err != nil {
			return err
		}
		if active > 0 {
			return rest.Invalid(member, "The group %s cannot have roles: an active group rule assigns its members", a.ID)
		}
	case model.AssigneeClient:
		app, err := d.Apps.Get(ctx, q, a.ID)
		if err != nil {
			return err
		}
		if app.Value.Settings.OAuthClient.ApplicationType != model.OAuthService {
			return rest.Invalid(member, "Only clients of the type %s can have roles", model.OAuthService)
		}
	case model.AssigneeUser:
		user, err := d.Users.Get(ctx, q, a.ID)
		if err != nil {
			return err
		}
		if user.Value.Status == model.UserDeprovisioned {
			return rest.Fail(rest.CodeStatus)
		}
	}
	return nil
}

// Bind binds an assignee to a custom role on a resource set, and logs it. The second result reports whether the binding is new. An existing
// binding is not modified.
func Bind(
	ctx context.Context, tx *docstore.Tx, d model.Deps, role docstore.Doc[model.CustomRole], set docstore.Doc[model.ResourceSet], a Assignee,
) (docstore.Doc[model.RoleMember], bool, error) {
	page, err := d.RoleMembers.Query(ctx, tx, docstore.Query[model.RoleMember]{
		Where: docstore.Eq(model.RoleMemberByMember, model.RoleMemberKey(set.ID, role.ID, a.ID)), Limit: 1,
	})
	if err != nil {
		return docstore.Doc[model.RoleMember]{}, false, err
	}
	if len(page.Docs) > 0 {
		return page.Docs[0], false, nil
	}
	doc, err := d.RoleMembers.Insert(ctx, tx, model.NewID(model.KindRoleMember), model.RoleMember{
		Role: role.ID, Set: set.ID, Kind: a.Kind, Assignee: a.ID,
	})
	if err != nil {
		return doc, false, err
	}
	targets := []model.LogParty{a.Party, audit.Role(role.ID, role.Value.Label), audit.ResourceSet(set.ID, set.Value.Label)}
	return doc, true, audit.Write(ctx, tx, d,
		audit.Entry{Type: audit.BindingAdd, Targets: targets}, audit.Entry{Type: Granted(a.Kind), Targets: targets})
}

// Unbind deletes the membership of an assignee in a binding, and logs it.
func Unbind(ctx context.Context, tx *docstore.Tx, d model.Deps, m docstore.Doc[model.RoleMember]) error {
	role, err := d.CustomRoles.Get(ctx, tx, m.Value.Role)
	if err != nil {
		return fmt.Errorf("role of the binding member %s: %w", m.ID, err)
	}
	set, err := d.ResourceSets.Get(ctx, tx, m.Value.Set)
	if err != nil {
		return fmt.Errorf("resource set of the binding member %s: %w", m.ID, err)
	}
	if err := d.RoleMembers.Delete(ctx, tx, m.ID); err != nil {
		return err
	}
	targets := []model.LogParty{
		Party(ctx, tx, d, m.Value.Kind, m.Value.Assignee), audit.Role(role.ID, role.Value.Label), audit.ResourceSet(set.ID, set.Value.Label),
	}
	return audit.Write(ctx, tx, d,
		audit.Entry{Type: audit.BindingDelete, Targets: targets}, audit.Entry{Type: Revoked(m.Value.Kind), Targets: targets})
}

// Party returns the log entry of an assignee, with the id alone if the assignee was deleted.
func Party(ctx context.Context, q docstore.Reader, d model.Deps, kind model.AssigneeKind, id string) model.LogParty {
	if a, err := FindAssignee(ctx, q, d, kind, id); err == nil {
		return a.Party
	}
	types := map[model.AssigneeKind]string{
		model.AssigneeUser: audit.TypeUser, model.AssigneeGroup: audit.TypeGroup, model.AssigneeClient: audit.TypeApp,
	}
	return model.LogParty{ID: id, Type: types[kind], AlternateID: id}
}

// Granted returns the event type of a role assignment.
func Granted(kind model.AssigneeKind) audit.Type {
	switch kind {
	case model.AssigneeGroup:
		return audit.GroupRoleGrant
	case model.AssigneeClient:
		return audit.ClientRoleGrant
	default:
		return audit.UserRoleGrant
	}
}

// Revoked returns the event type of a role revocation.
func Revoked(kind model.AssigneeKind) audit.Type {
	switch kind {
	case model.AssigneeGroup:
		return audit.GroupRoleRevoke
	case model.AssigneeClient:
		return audit.ClientRoleRevoke
	default:
		return audit.UserRoleRevoke
	}
}
