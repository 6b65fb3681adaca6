package authz

import (
	"slices"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Resource is the resource of a decision.
type Resource struct {
	Kind Kind
	ID   string
	// Whole reports that the resource is the whole collection.
	Whole bool
	// Groups are the groups of a user, or the group itself. For an application they are those of the user or group in the second path
	// variable, if Need.Of is set.
	Groups []string
	// Into is the group to which the operation adds the user, OutOf the group from which the operation removes the user. Each is empty if
	// there is no such group.
	Into, OutOf string
	// Type is the name of the catalog entry of an application; OAuth reports that the application is an OAuth client.
	Type  string
	OAuth bool
	// Protected is the protection of the resource by its roles.
	Protected Protection
}

// collection is a collection in a scope, with its exclusions.
type collection struct {
	all    bool
	except map[string]bool // excluded ids; for users: ids of groups whose members are excluded
	types  map[string]bool // excluded catalog entries, for applications
}

// scope is a compiled resource set with constant-time lookups.
type scope struct {
	users, groups, apps, servers collection
	usersOf                      map[string]bool // groups whose users are in the set
	group, app, server           map[string]bool // by id
	appsOf                       map[string]map[string]bool
	iam                          bool
}

// newScope compiles the resources of a set and ignores unknown names.
func newScope(resources []model.SetResource, org string) *scope {
	s := &scope{
		usersOf: map[string]bool{}, group: map[string]bool{}, app: map[string]bool{}, server: map[string]bool{},
		appsOf: map[string]map[string]bool{},
	}
	for _, r := range resources {
		name, err := ParseORN(r.ORN, org)
		if err != nil {
			continue
		}
		ids, types := excluded(r.Exclude, org)
		whole := collection{all: true, except: ids, types: types}
		switch name.Form {
		case FormUsers:
			s.users = whole
		case FormGroups:
			s.groups = whole
		case FormApps:
			s.apps = whole
		case FormServers:
			s.servers = whole
		case FormGroup:
			s.group[name.ID] = true
		case FormGroupUsers:
			s.usersOf[name.ID] = true
		case FormAppsOf:
			s.appsOf[name.Type] = ids
		case FormApp:
			s.app[name.ID] = true
		case FormServer:
			s.server[name.ID] = true
		case FormIAM:
			s.iam = true
		case FormOther: // the collection has no operations
		}
	}
	return s
}

func excluded(names []string, org string) (ids, types map[string]bool) {
	ids, types = map[string]bool{}, map[string]bool{}
	for _, text := range names {
		name, err := ParseORN(text, org)
		switch {
		case err != nil:
		case name.Form == FormAppsOf:
			types[name.Type] = true
		default:
			ids[name.ID] = true
		}
	}
	return ids, types
}

// covers reports whether the scope contains a resource. kind selects the resources of the set to compare with; for the creation of a user
// it is KindGroup. A whole collection is covered only if nothing is excluded from it.
func (s *scope) covers(kind Kind, r *Resource) bool {
	switch kind {
	case KindUser, KindToken:
		return s.coversUser(r)
	case KindGroup:
		return s.coversGroup(r)
	case KindApp, KindClient:
		return s.coversApp(r)
	case KindServer:
		if r.Whole {
			return s.servers.whole()
		}
		return s.server[r.ID] || s.servers.all && !s.servers.except[r.ID]
	case KindIAM:
		return s.iam
	default:
		return false
	}
}

func (s *scope) coversUser(r *Resource) bool {
	if r.Whole {
		return s.users.whole()
	}
	in := func(groups map[string]bool) bool {
		return slices.ContainsFunc(r.Groups, func(g string) bool { return groups[g] })
	}
	return s.users.all && !in(s.users.except) || in(s.usersOf)
}

// coversGroup reports whether the scope contains a group, or, for a user to be created, at least one of the groups of the user.
func (s *scope) coversGroup(r *Resource) bool {
	if r.Whole {
		return s.groups.whole()
	}
	if r.Kind == KindUser && s.groups.whole() {
		return true
	}
	return slices.ContainsFunc(r.Groups, func(g string) bool { return s.group[g] || s.groups.all && !s.groups.except[g] })
}

func (s *scope) coversApp(r *Resource) bool {
	if r.Whole {
		return s.apps.whole()
	}
	if s.app[r.ID] || s.apps.all && !s.apps.except[r.ID] && !s.apps.types[r.Type] {
		return true
	}
	except, of := s.appsOf[r.Type]
	return of && !except[r.ID]
}

// mayContain reports whether the scope can contain resources of the kind.
func (s *scope) mayContain(kind Kind) bool {
	switch kind {
	case KindUser, KindToken:
		return s.users.all || len(s.usersOf) > 0
	case KindGroup:
		return s.groups.all || len(s.group) > 0
	case KindApp, KindClient:
		return s.apps.all || len(s.app) > 0 || len(s.appsOf) > 0
	case KindServer:
		return s.servers.all || len(s.server) > 0
	case KindIAM:
		return s.iam
	default:
		return false
	}
}

func (c *collection) whole() bool { return c.all && len(c.except) == 0 && len(c.types) == 0 }
