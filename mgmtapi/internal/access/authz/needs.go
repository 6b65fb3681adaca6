package authz

import (
	"regexp"
	"strings"
)

// Kind is the kind of a resource.
type Kind int

// The kinds of resources. KindNone is for operations without such a resource: targets do not limit them, and no resource set permits them.
const (
	KindNone Kind = iota
	KindUser
	KindGroup
	KindApp
	KindServer
	KindIAM
	// KindToken is identified by the id of an API token; the owner of the token is the resource. KindClient is identified by the id of a
	// client, which is an application.
	KindToken
	KindClient
)

// Need is one requirement of an operation.
type Need struct {
	// Column is the column of the table of standard roles in which the role must have access; Write requires access that permits changes.
	Column Column
	Write  bool
	// Help is true for the operations that a help desk performs.
	Help bool
	// Permissions are the permissions of which a custom role must have one. If empty, no custom role meets the need.
	Permissions []string
	// Kind is the kind of the resource. Var is the number of the path variable that identifies the resource, counted from 1, or 0 for the
	// whole collection.
	Kind Kind
	Var  int
	// Later means that access to any resource of the kind meets the need at first: the operation then filters a list, or checks the resources
	// that the body names.
	Later bool
	// Unrestricted means that neither targets nor the roles of the resource limit the need: a caller who may assign an application may assign
	// it to any user.
	Unrestricted bool
	// Into and OutOf are the path variables, counted from 1, of the group that a user is added to or removed from. Targets do not limit these
	// needs: a caller who may change the members of a group may add any user. The exception is a user whom the caller could change only
	// because of the new membership.
	Into, OutOf int
	// Of is the kind of the second path variable: a user or a group. The target groups of the role must then contain the group, or a group of
	// the user: a caller who reads all applications may be denied some of their users.
	Of Kind
}

// free reports whether targets do not limit the need.
func (n *Need) free() bool { return n.Later || n.Unrestricted || n.moves() }

// moves reports whether the need is about adding a user to a group or removing it.
func (n *Need) moves() bool { return n.Into > 0 || n.OutOf > 0 }

// rule assigns needs to operations.
type rule struct {
	// do holds methods and a path, as "PUT,DELETE /api/v1/groups/*/users/*". In the path, * represents a variable, and ** at the end any
	// number of segments, including none.
	do    string
	needs []Need
}

func read(c Column, k Kind, variable int, permissions ...string) Need {
	return Need{Column: c, Kind: k, Var: variable, Permissions: permissions}
}

func write(c Column, k Kind, variable int, permissions ...string) Need {
	return Need{Column: c, Write: true, Kind: k, Var: variable, Permissions: permissions}
}

func later(n Need) Need        { n.Later = true; return n }
func unrestricted(n Need) Need { n.Unrestricted = true; return n }
func help(n Need) Need         { n.Help = true; return n }
func of(k Kind, n Need) Need   { n.Of = k; return n }

// lifecycle returns the need of an operation on the lifecycle or the credentials of a user.
func lifecycle(permission string) Need { return write(ColumnCredentials, KindUser, 1, permission) }

// membership returns the need to change the group memberships of the user in the second path variable.
func membership(n Need) Need {
	n.Column, n.Write, n.Kind, n.Var, n.Permissions = ColumnMembership, true, KindUser, 2, []string{UsersMembership}
	return n
}

const (
	anyRead  = "GET "
	anyWrite = "POST,PUT,PATCH,DELETE "
)

// rules is the table. The first rule whose path matches an operation applies. A rule without needs is for an operation without
// authentication.
var rules = []rule{
	// Users.
	{"GET /api/v1/users", []Need{later(read(ColumnUsers, KindUser, 0, UsersRead))}},
	{"POST /api/v1/users", []Need{later(write(ColumnUsers, KindUser, 0, UsersCreate, UsersManage))}},
	{anyRead + "/api/v1/users/*/roles**", []Need{read(ColumnRoles, KindIAM, 0, IAMRead)}},
	{anyWrite + "/api/v1/users/*/roles**", []Need{write(ColumnRoles, KindIAM, 0)}},
	{"GET /api/v1/users/*/factors/*/qr/*", nil}, // no API token: the token in the path authenticates the request
	{anyRead + "/api/v1/users/*/factors**", []Need{help(read(ColumnCredentials, KindUser, 1, UsersRead))}},
	{"DELETE /api/v1/users/*/factors/*", []Need{help(lifecycle(UsersResetFactors))}},
	{anyWrite + "/api/v1/users/*/factors**", []Need{lifecycle(UsersCredentials)}},
	{"DELETE /api/v1/users/*/sessions", []Need{help(lifecycle(UsersClearSessions))}},
	{"POST /api/v1/users/*/lifecycle/activate", []Need{lifecycle(UsersActivate)}},
	{"POST /api/v1/users/*/lifecycle/reactivate", []Need{lifecycle(UsersActivate)}},
	{"POST /api/v1/users/*/lifecycle/deactivate", []Need{lifecycle(UsersDeactivate)}},
	{"POST /api/v1/users/*/lifecycle/suspend", []Need{lifecycle(UsersSuspend)}},
	{"POST /api/v1/users/*/lifecycle/unsuspend", []Need{lifecycle(UsersUnsuspend)}},
	{"POST /api/v1/users/*/lifecycle/unlock", []Need{help(lifecycle(UsersUnlock))}},
	{"POST /api/v1/users/*/lifecycle/reset_password", []Need{help(lifecycle(UsersResetPassword))}},
	{"POST /api/v1/users/*/lifecycle/expire_password", []Need{help(lifecycle(UsersExpirePassword))}},
	{"POST /api/v1/users/*/lifecycle/expire_password_with_temp_password", []Need{help(lifecycle(UsersExpirePassword))}},
	{"POST /api/v1/users/*/lifecycle/reset_factors", []Need{help(lifecycle(UsersResetFactors))}},
	{anyWrite + "/api/v1/users/*/lifecycle/**", []Need{lifecycle(UsersLifecycle)}},
	{anyWrite + "/api/v1/users/*/credentials/**", []Need{lifecycle(UsersCredentials)}},
	{"DELETE /api/v1/users/*", []Need{lifecycle(UsersDelete)}},
	{"POST,PUT /api/v1/users/*", []Need{write(ColumnUsers, KindUser, 1, UsersProfile, UsersCredentials)}},
	{anyRead + "/api/v1/users/**", []Need{read(ColumnUsers, KindUser, 1, UsersRead)}},
	{anyWrite + "/api/v1/users/**", []Need{write(ColumnUsers, KindUser, 1, UsersManage)}},
	{"POST /api/v1/sessions", []Need{write(ColumnCredentials, KindUser, 0)}},
	{"GET /api/v1/sessions/*", []Need{read(ColumnCredentials, KindUser, 0)}},
	{"DELETE /api/v1/sessions/*", []Need{write(ColumnCredentials, KindUser, 0)}},
	{"POST /api/v1/sessions/*/lifecycle/refresh", []Need{write(ColumnCredentials, KindUser, 0)}},

	// Operations on groups. A group rule can change the memberships of all users of the organization.
	{"GET /api/v1/groups", []Need{later(read(ColumnGroups, KindGroup, 0, GroupsRead))}},
	{"POST /api/v1/groups", []Need{write(ColumnGroups, KindGroup, 0, GroupsCreate)}},
	{anyRead + "/api/v1/groups/rules**", []Need{read(ColumnGroups, KindGroup, 0, GroupsRead)}},
	{anyWrite + "/api/v1/groups/rules**", []Need{
		write(ColumnGroups, KindGroup, 0, GroupsManage),
		write(ColumnMembership, KindUser, 0, UsersMembership),
	}},
	{anyRead + "/api/v1/groups/*/roles**", []Need{read(ColumnRoles, KindIAM, 0, IAMRead)}},
	{anyWrite + "/api/v1/groups/*/roles**", []Need{write(ColumnRoles, KindIAM, 0)}},
	{"PUT /api/v1/groups/*/users/*", []Need{write(ColumnMembership, KindGroup, 1, GroupsMembers), membership(Need{Into: 1})}},
	{"DELETE /api/v1/groups/*/users/*", []Need{write(ColumnMembership, KindGroup, 1, GroupsMembers), membership(Need{OutOf: 1})}},
	{anyRead + "/api/v1/groups/**", []Need{read(ColumnGroups, KindGroup, 1, GroupsRead)}},
	{anyWrite + "/api/v1/groups/**", []Need{write(ColumnGroups, KindGroup, 1, GroupsManage)}},

	// Applications.
	{"GET /api/v1/apps", []Need{later(read(ColumnApps, KindApp, 0, AppsRead))}},
	{"POST /api/v1/apps", []Need{later(write(ColumnApps, KindApp, 0, AppsManage))}},
	{"POST /api/v1/apps/*/users", []Need{
		write(ColumnApps, KindApp, 1, AppsAssignment),
		later(write(ColumnApps, KindUser, 0, UsersAppAssignment)),
	}},
	{"POST,PUT,DELETE /api/v1/apps/*/users/*", []Need{
		write(ColumnApps, KindApp, 1, AppsAssignment),
		unrestricted(write(ColumnApps, KindUser, 2, UsersAppAssignment)),
	}},
	{"PUT,PATCH,DELETE /api/v1/apps/*/groups/*", []Need{
		write(ColumnApps, KindApp, 1, AppsAssignment),
		unrestricted(write(ColumnApps, KindGroup, 2, GroupsAppAssignment)),
	}},
	// only for a SUPER_ADMIN: the granted scopes could exceed the permissions of the caller
	{"POST /api/v1/apps/*/grants", []Need{write(ColumnSuper, KindNone, 0)}},
	{"POST /api/v1/apps/*/group-push/mappings", []Need{
		write(ColumnApps, KindApp, 1, AppsManage),
		later(write(ColumnApps, KindGroup, 0, GroupsAppAssignment)),
	}},
	{"GET /api/v1/apps/*/users/*", []Need{of(KindUser, read(ColumnApps, KindApp, 1, AppsRead))}},
	{"GET /api/v1/apps/*/groups/*", []Need{of(KindGroup, read(ColumnApps, KindApp, 1, AppsRead))}},
	{anyRead + "/api/v1/apps/**", []Need{read(ColumnApps, KindApp, 1, AppsRead)}},
	{anyWrite + "/api/v1/apps/**", []Need{write(ColumnApps, KindApp, 1, AppsManage)}},

	// Operations on OAuth clients, which are applications.
	{anyRead + "/oauth2/v1/clients/*/roles**", []Need{read(ColumnRoles, KindIAM, 0, IAMRead)}},
	{anyWrite + "/oauth2/v1/clients/*/roles**", []Need{write(ColumnRoles, KindIAM, 0)}},
	{"GET /oauth2/v1/clients", []Need{later(read(ColumnApps, KindClient, 0, AppsRead))}},
	{"POST /oauth2/v1/clients", []Need{later(write(ColumnApps, KindClient, 0, AppsManage))}},
	{anyRead + "/oauth2/v1/clients/**", []Need{read(ColumnApps, KindClient, 1, AppsRead)}},
	{anyWrite + "/oauth2/v1/clients/**", []Need{write(ColumnApps, KindClient, 1, AppsManage)}},

	// Authorization servers.
	{"GET /api/v1/authorizationServers", []Need{later(read(ColumnServers, KindServer, 0, ServersRead))}},
	{"POST /api/v1/authorizationServers", []Need{write(ColumnServers, KindServer, 0, ServersManage)}},
	{anyRead + "/api/v1/authorizationServers/**", []Need{read(ColumnServers, KindServer, 1, ServersRead)}},
	{anyWrite + "/api/v1/authorizationServers/**", []Need{write(ColumnServers, KindServer, 1, ServersManage)}},

	// Operations on roles and resource sets.
	{anyRead + "/api/v1/iam/**", []Need{read(ColumnRoles, KindIAM, 0, IAMRead)}},
	{anyRead + "/api/v1/catalog/**", []Need{read(ColumnRoles, KindIAM, 0, IAMRead)}}, // the catalog lists the possible targets of roles
	{anyWrite + "/api/v1/iam/**", []Need{write(ColumnRoles, KindIAM, 0)}},

	// Operations on hooks and their keys.
	{anyRead + "/api/v1/inlineHooks**", []Need{read(ColumnHooks, KindNone, 0)}},
	{anyWrite + "/api/v1/inlineHooks**", []Need{write(ColumnHooks, KindNone, 0)}},
	{anyRead + "/api/v1/hook-keys**", []Need{read(ColumnHooks, KindNone, 0)}},
	{anyWrite + "/api/v1/hook-keys**", []Need{write(ColumnHooks, KindNone, 0)}},

	// Operations on schemas, types, mappings, policies and templates.
	{"GET /api/v1/meta/schemas/apps/*/default", []Need{read(ColumnSchemas, KindApp, 1)}},
	{anyRead + "/api/v1/meta/**", []Need{read(ColumnSchemas, KindNone, 0)}},
	{anyWrite + "/api/v1/meta/**", []Need{write(ColumnSchemas, KindNone, 0)}},
	{anyRead + "/api/v1/mappings**", []Need{read(ColumnSchemas, KindNone, 0)}},
	{anyWrite + "/api/v1/mappings**", []Need{write(ColumnSchemas, KindNone, 0)}},
	{anyRead + "/api/v1/policies**", []Need{read(ColumnSchemas, KindNone, 0)}},
	{anyWrite + "/api/v1/policies**", []Need{write(ColumnSchemas, KindNone, 0)}},
	{anyRead + "/api/v1/templates/**", []Need{read(ColumnSchemas, KindNone, 0)}},
	{anyWrite + "/api/v1/templates/**", []Need{write(ColumnSchemas, KindNone, 0)}},

	// Operations on the factors of the organization, with its hardware tokens.
	{anyRead + "/api/v1/org/factors**", []Need{read(ColumnCredentials, KindUser, 0)}},
	{anyWrite + "/api/v1/org/factors**", []Need{write(ColumnCredentials, KindUser, 0)}},

	{"GET /api/v1/logs", []Need{read(ColumnLog, KindNone, 0)}},

	// Operations on API tokens. Every caller may revoke its own token.
	{"DELETE /api/v1/api-tokens/current", []Need{write(ColumnAny, KindNone, 0)}},
	{"GET /api/v1/api-tokens", []Need{later(read(ColumnSuper, KindUser, 0, UsersTokensRead))}},
	{"GET /api/v1/api-tokens/*", []Need{read(ColumnSuper, KindToken, 1, UsersTokensRead)}},
	{"DELETE /api/v1/api-tokens/*", []Need{write(ColumnSuper, KindToken, 1, UsersTokensManage)}},
}

// userWrites are the needs of operations that change a user itself.
var userWrites = func() (needs []Need) {
	for _, r := range rules {
		for _, n := range r.needs {
			if n.Kind == KindUser && n.Write && n.Var > 0 && !n.free() {
				needs = append(needs, n)
			}
		}
	}
	return needs
}()

// onlySuper are the needs of an operation without a rule.
var onlySuper = []Need{{Column: ColumnSuper, Write: true}}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// NeedsOf returns the needs of an operation, and whether the table has a rule for it. Without one, only a SUPER_ADMIN may run the
// operation.
func NeedsOf(method, path string) ([]Need, bool) {
	path = variable.ReplaceAllString(path, "*")
	for _, r := range rules {
		methods, pattern, _ := strings.Cut(r.do, " ")
		if hasMethod(methods, method) && fits(pattern, path) {
			if r.needs == nil {
				break
			}
			return r.needs, true
		}
	}
	return onlySuper, false
}

func hasMethod(methods, method string) bool {
	for m := range strings.SplitSeq(methods, ",") {
		if m == method {
			return true
		}
	}
	return false
}

// fits reports whether a path template matches a pattern.
func fits(pattern, path string) bool {
	begins, open := strings.CutSuffix(pattern, "**")
	switch {
	case !open:
		return pattern == path
	case strings.HasSuffix(begins, "/"):
		return strings.HasPrefix(path, begins)
	default: // the resource itself and its subresources
		return path == begins || strings.HasPrefix(path, begins+"/")
	}
}

// variablesOf returns the names of the variables of a path template, in order.
func variablesOf(path string) []string {
	var names []string
	for _, v := range variable.FindAllString(path, -1) {
		names = append(names, strings.Trim(v, "{}"))
	}
	return names
}

// String returns a human-readable description of the need.
func (n *Need) String() string {
	verb := "read"
	if n.Write {
		verb = "change"
	}
	switch n.Column {
	case ColumnSuper, ColumnAny:
		return columnNames[n.Column]
	default:
		return verb + " " + columnNames[n.Column]
	}
}
