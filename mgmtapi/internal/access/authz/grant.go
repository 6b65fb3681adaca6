package authz

import (
	"slices"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Grant is a role assignment that counts for a caller.
type Grant struct {
	// Assignment is the id of the assignment, Type its role; Role and Set are those of a custom role.
	Assignment string
	Type       model.RoleType
	Role, Set  string
	// Via is the group through which the caller has it, empty when it has it itself.
	Via string

	groups map[string]bool // target groups; empty for no limit
	apps   map[string]bool // target applications by id
	types  map[string]bool // target catalog entries
	held   permissions
	scope  *scope
}

// Why says how a grant stands to a need.
type Why string

// What a grant can say.
const (
	WhyMet        Why = "met"
	WhyRole       Why = "the role does not permit it"
	WhyTargets    Why = "the targets of the assignment do not hold the resource"
	WhyPermission Why = "the role has none of the permissions that permit it"
	WhySet        Why = "the resource set does not hold the resource"
	WhyGains      Why = "the caller could change users by the membership whom it cannot change now"
	WhyProtected  Why = "only a SUPER_ADMIN may change a user or a group that has a role, or an application that has a role or scopes of " +
		"this API, and an ORG_ADMIN may change users whose roles permit no more than its own"
)

// limited says whether the grant depends on the resource.
func (g *Grant) limited() bool {
	return g.Type == model.RoleCustom || len(g.groups)+len(g.apps)+len(g.types) > 0
}

func (g *Grant) meets(n *Need, r *Resource) Why {
	switch {
	case n.Write && !n.Beside && r.Protected.keeps(g.Type):
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

// targets says whether what the need is about is among the targets.
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
		if n.Later && g.scope.touches(kind) || !n.Later && g.scope.covers(kind, r) {
			return WhyMet
		}
	}
	return why
}

// Access is what a caller may do.
type Access struct {
	User, Client string // ids; one of them is empty
	Grants       []Grant

	super bool // one of the grants is SUPER_ADMIN
	// consented says that the caller is a client without any role, which may do what its scopes say.
	consented bool
	// byGroup are the grants that are limited to a group, by their places.
	byGroup map[string][]int
	// conditional says that the profiles that the caller sees or changes depend on conditions.
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

// everything says whether nothing is hidden from the caller.
func (a *Access) everything() bool { return a == nil || a.super || a.consented }

// Meets says whether a grant meets the need for the resource, and the caller gains nothing by it that it must not.
func (a *Access) Meets(n *Need, r *Resource) bool {
	switch {
	case a.super:
		return true
	case n.moves() && a.gains(r):
		return false
	case a.consented:
		// Roles are assigned by a SUPER_ADMIN only, whatever the scopes of a client say.
		return (!n.Write || n.Column != ColumnRoles && r.Protected == Unprotected) && (n.Column != ColumnSuper || len(n.Permissions) > 0)
	}
	direct := n.free() || n.Kind != KindUser && n.Kind != KindGroup && n.Kind != KindToken
	for i := range a.Grants {
		if g := &a.Grants[i]; (direct || len(g.groups) == 0) && g.meets(n, r) == WhyMet {
			return true
		}
	}
	// Those that are limited to groups are found by the groups of the resource, which are few.
	for _, id := range r.Groups {
		for _, i := range a.byGroup[id] {
			if !direct && a.Grants[i].meets(n, r) == WhyMet {
				return true
			}
		}
	}
	return false
}

// meetsAny says whether a grant that does not depend on the resource meets the need.
func (a *Access) meetsAny(n *Need) bool {
	for i := range a.Grants {
		if g := &a.Grants[i]; !g.limited() && g.meets(n, &Resource{}) == WhyMet {
			return true
		}
	}
	return a.super || a.consented && a.Meets(n, &Resource{})
}

// gains says whether the caller could change the user once it has come into a group, or left it, in a way that it cannot now. Without
// that, a role that is limited to a group would hold for everybody whom its holder puts there.
func (a *Access) gains(r *Resource) bool {
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
			// With conditions, another grant need not permit as much.
			if g.meets(&n, &then) == WhyMet && g.meets(&n, &now) != WhyMet && (a.conditional || !a.Meets(&n, &now)) {
				return true
			}
		}
	}
	return false
}

// dependsOn says whether it makes a difference to the grant that a user is in the group.
func (g *Grant) dependsOn(group string) bool {
	if g.scope == nil {
		return g.groups[group]
	}
	return g.scope.usersOf[group] || g.scope.users.except[group]
}
