package authz

import (
	"slices"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Grant is a role assignment that is effective for a caller.
type Grant struct {
	// Assignment is the id of the assignment, Type its role. Role and Set are the ids of a custom role and its resource set.
	Assignment string
	Type       model.RoleType
	Role, Set  string
	// Via is the group through which the caller has the role, empty if assigned to the caller itself.
	Via string

	groups map[string]bool // target groups; empty for no limit
	apps   map[string]bool // target applications by id
	types  map[string]bool // target catalog entries
	held   permissions
	scope  *scope
}

// Why is the result of comparing a grant with a need.
type Why string

// The results. WhyMet means that the grant meets the need.
const (
	WhyMet        Why = "met"
	WhyRole       Why = "the role does not permit the operation"
	WhyTargets    Why = "the resource is not among the targets of the assignment"
	WhyPermission Why = "the role has none of the required permissions"
	WhySet        Why = "the resource is not in the resource set"
	WhyEscalates  Why = "the membership would let the caller change users that the caller cannot change now"
	WhyProtected  Why = "only a SUPER_ADMIN may change a user or a group that has a role, or an application that has a role or scopes of " +
		"this API; an ORG_ADMIN may also change users whose roles permit no more than its own role"
)

// limited reports whether the grant depends on the resource.
func (g *Grant) limited() bool {
	return g.Type == model.RoleCustom || len(g.groups)+len(g.apps)+len(g.types) > 0
}

func (g *Grant) meets(n *Need, r *Resource) Why {
	switch {
	case n.Write && !n.Unrestricted && r.Protected.blocks(g.Type):
		return WhyProtected
	case g.Type == model.RoleCustom:
		return g.customMeets(n, r)
	case !n.meets(g.Type, r):
		return WhyRole
	case n.free() || g.targets(n, r):
		return WhyMet
	default:
		return WhyTargets
	}
}

// targets reports whether the resource of the need is among the targets.
func (g *Grant) targets(n *Need, r *Resource) bool {
	inGroups := func() bool {
		return len(g.groups) == 0 || slices.ContainsFunc(r.Groups, func(id string) bool { return g.groups[id] })
	}
	switch n.Kind {
	case KindUser, KindGroup, KindToken:
		return inGroups()
	case KindApp, KindClient:
		return (len(g.apps)+len(g.types) == 0 || !r.Whole && (g.apps[r.ID] || g.types[r.Type])) && (n.Of == KindNone || inGroups())
	default:
		return true
	}
}

func (g *Grant) customMeets(n *Need, r *Resource) Why {
	if n.Column == ColumnAny {
		return WhyMet
	}
	why := WhyPermission
	for _, permission := range n.Permissions {
		if _, ok := g.held[permission]; !ok {
			continue
		}
		why = WhySet
		kind := kindOf(permission, n.Kind)
		if n.Later && g.scope.mayContain(kind) || !n.Later && g.scope.covers(kind, r) {
			return WhyMet
		}
	}
	return why
}

// Access holds the grants of a caller.
type Access struct {
	User, Client string // one of the ids is empty
	Grants       []Grant

	super bool // one of the grants is SUPER_ADMIN
	// consented reports that the caller is a client without any role: only its scopes limit it.
	consented bool
	// byGroup holds the indexes of the grants that are limited to a group, by group.
	byGroup map[string][]int
	// conditional reports that the profile attributes that the caller may see or change depend on conditions.
	conditional bool
}

func (a *Access) add(g Grant) {
	a.super = a.super || g.Type == model.RoleSuperAdmin
	for _, name := range []string{UsersRead, UsersProfile} {
		a.conditional = a.conditional || g.held[name] != nil
	}
	for id := range g.groups {
		if a.byGroup == nil {
			a.byGroup = map[string][]int{}
		}
		a.byGroup[id] = append(a.byGroup[id], len(a.Grants))
	}
	a.Grants = append(a.Grants, g)
}

// everything reports whether nothing is hidden from the caller.
func (a *Access) everything() bool { return a == nil || a.super || a.consented }

// Meets reports whether a grant meets the need for the resource. It returns false for a change of membership with which the caller could
// change more users than before, see escalates.
func (a *Access) Meets(n *Need, r *Resource) bool {
	switch {
	case a.super:
		return true
	case n.moves() && a.escalates(r):
		return false
	case a.consented:
		// The client has no role, so only its scopes limit it. Even so, only a SUPER_ADMIN assigns roles.
		return (!n.Write || n.Column != ColumnRoles && r.Protected == Unprotected) && (n.Column != ColumnSuper || len(n.Permissions) > 0)
	}
	direct := n.free() || n.Kind != KindUser && n.Kind != KindGroup && n.Kind != KindToken
	for i := range a.Grants {
		if g := &a.Grants[i]; (direct || len(g.groups) == 0) && g.meets(n, r) == WhyMet {
			return true
		}
	}
	// byGroup finds the grants that are limited to one of the groups of the resource. A resource has few groups.
	for _, id := range r.Groups {
		for _, i := range a.byGroup[id] {
			if !direct && a.Grants[i].meets(n, r) == WhyMet {
				return true
			}
		}
	}
	return false
}

// meetsAny reports whether a grant that does not depend on the resource meets the need.
func (a *Access) meetsAny(n *Need) bool {
	for i := range a.Grants {
		if g := &a.Grants[i]; !g.limited() && g.meets(n, &Resource{}) == WhyMet {
			return true
		}
	}
	return a.super || a.consented && a.Meets(n, &Resource{})
}

// escalates reports whether a change of membership would let the caller change the user in a way that the grants of the caller do not
// permit before the change. Without this check, the holder of a role limited to a group could extend the role to any user by adding the
// user to the group.
func (a *Access) escalates(r *Resource) bool {
	now, then := *r, *r
	if r.Into != "" {
		then.Groups = append(slices.Clone(r.Groups), r.Into)
	} else {
		then.Groups = slices.DeleteFunc(slices.Clone(r.Groups), func(id string) bool { return id == r.OutOf })
	}
	for i := range a.Grants {
		g := &a.Grants[i]
		if !g.dependsOn(r.Into + r.OutOf) {
			continue
		}
		for n := range slices.Values(userWrites) {
			// The caller gains nothing if another grant already permits the operation. If grants have conditions, that other grant may
			// permit fewer attributes than g, so escalates returns true anyway.
			if g.meets(&n, &then) == WhyMet && g.meets(&n, &now) != WhyMet && (a.conditional || !a.Meets(&n, &now)) {
				return true
			}
		}
	}
	return false
}

// dependsOn reports whether the membership of a user in the group affects the grant.
func (g *Grant) dependsOn(group string) bool {
	if g.scope == nil {
		return g.groups[group]
	}
	return g.scope.usersOf[group] || g.scope.users.except[group]
}
