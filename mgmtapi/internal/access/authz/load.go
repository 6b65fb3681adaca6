package authz

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Loader reads the grants of callers.
type Loader struct {
	deps model.Deps
	sets docstore.Cache[*scope] // compiled resource sets, by id
}

// maxSets is the maximum number of cached compiled resource sets.
const maxSets = 1000

// NewLoader returns a loader.
func NewLoader(d model.Deps) *Loader {
	return &Loader{deps: d, sets: docstore.Cache[*scope]{Max: maxSets}}
}

// batch is the maximum number of assignees in one query.
const batch = 200

// User reads the grants of a user that is ACTIVE.
func (l *Loader) User(ctx context.Context, q docstore.Reader, id string) (*Access, error) {
	// Most callers are SUPER_ADMINs. This role permits everything, so the other roles need not be read.
	role, _, err := l.super(ctx, q, id)
	if err != nil {
		return nil, err
	}
	if role != nil {
		return role.access(id), nil
	}
	a, assignees := &Access{User: id}, []any{id}
	err = model.Each(ctx, q, l.deps.Memberships, docstore.Eq(model.MembershipByUser, id), func(m docstore.Doc[model.Membership]) error {
		assignees = append(assignees, m.Value.Group)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, l.grants(ctx, q, a, assignees)
}

// superAdminRole is the role SUPER_ADMIN of a user to whom the role is assigned directly, not through a group.
type superAdminRole struct{ grant Grant }

// super returns the superAdminRole of a user and the document that it is derived from. It returns nil for a user without this role.
func (l *Loader) super(ctx context.Context, q docstore.Reader, id string) (*superAdminRole, []docstore.Version, error) {
	found, err := model.Optional(ctx, q, l.deps.RoleAssignments, model.RoleAssignmentID(id, model.RoleSuperAdmin))
	if err != nil || found == nil {
		return nil, nil, err
	}
	return &superAdminRole{standardGrant(&found.Value, id)}, []docstore.Version{l.deps.RoleAssignments.Version(*found)}, nil
}

// access returns the grants of the user.
func (r *superAdminRole) access(user string) *Access {
	a := &Access{User: user}
	a.add(r.grant)
	return a
}

// Client reads the grants of the client of an application.
func (l *Loader) Client(ctx context.Context, q docstore.Reader, app string) (*Access, error) {
	a := &Access{Client: app}
	err := l.grants(ctx, q, a, []any{app})
	a.consented = len(a.Grants) == 0
	return a, err
}

func (l *Loader) grants(ctx context.Context, q docstore.Reader, a *Access, assignees []any) error {
	self := assignees[0].(string)
	for len(assignees) > 0 {
		some := assignees[:min(batch, len(assignees))]
		assignees = assignees[len(some):]
		err := model.Each(ctx, q, l.deps.RoleAssignments, docstore.In(model.RoleAssignmentByAssignee, some...),
			func(doc docstore.Doc[model.RoleAssignment]) error {
				a.add(standardGrant(&doc.Value, self))
				return nil
			})
		if err != nil {
			return err
		}
		err = model.Each(ctx, q, l.deps.RoleMembers, docstore.In(model.RoleMemberByAssignee, some...),
			func(doc docstore.Doc[model.RoleMember]) error {
				grant, err := l.customGrant(ctx, q, &doc, self)
				if err == nil {
					a.add(grant)
				}
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func standardGrant(r *model.RoleAssignment, self string) Grant {
	g := Grant{Assignment: r.ID, Type: r.Type, groups: map[string]bool{}, apps: map[string]bool{}, types: map[string]bool{}}
	if r.Assignee != self {
		g.Via = r.Assignee
	}
	for _, target := range r.Targets {
		switch {
		case target.Group != "":
			g.groups[target.Group] = true
		case target.App != "":
			g.apps[target.App] = true
		default:
			g.types[target.AppName] = true
		}
	}
	return g
}

func (l *Loader) customGrant(ctx context.Context, q docstore.Reader, m *docstore.Doc[model.RoleMember], self string) (Grant, error) {
	g := Grant{Assignment: m.ID, Type: model.RoleCustom, Role: m.Value.Role, Set: m.Value.Set}
	if m.Value.Assignee != self {
		g.Via = m.Value.Assignee
	}
	role, err := l.deps.CustomRoles.Get(ctx, q, m.Value.Role)
	if err != nil {
		return Grant{}, err
	}
	g.held = compile(&role.Value)
	g.scope, err = l.scopeOf(ctx, q, m.Value.Set)
	return g, err
}

// scopeOf returns the compiled resource set. It caches the set by the version of the document. The id of the organization, which the
// compiled set depends on, never changes.
func (l *Loader) scopeOf(ctx context.Context, q docstore.Reader, set string) (*scope, error) {
	kept, ok, err := l.sets.Get(ctx, q, set)
	if err != nil || ok {
		return kept, err
	}
	doc, err := l.deps.ResourceSets.Get(ctx, q, set)
	if err != nil {
		return nil, err
	}
	org, err := l.deps.Org(ctx, q)
	if err != nil {
		return nil, err
	}
	var resources []model.SetResource
	err = model.Each(ctx, q, l.deps.SetResources, docstore.Eq(model.SetResourceBySet, set), func(r docstore.Doc[model.SetResource]) error {
		resources = append(resources, r.Value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// If the resources changed after the document was read, the version of the cache entry is outdated, so that no later call uses the entry.
	s := newScope(resources, org.ID)
	l.sets.Put(q, set, s, l.deps.ResourceSets.Version(doc))
	return s, nil
}
