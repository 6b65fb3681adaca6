package roles

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Options configure the slice.
type Options struct {
	// Operations returns all operations, for the explanation of decisions. Default: none, which disables the explanation.
	Operations func() []rest.Info
}

// Slice serves the roles of users, groups and clients.
type Slice struct {
	model.Deps
	operations func() []rest.Info
	authorizer *authz.Authorizer
}

// New returns the slice and subscribes its event handlers.
func New(d model.Deps, o Options) *Slice {
	s := &Slice{Deps: d, operations: o.Operations, authorizer: authz.New(d)}
	s.react()
	return s
}

const tag = "Role assignments"

var (
	readScope  = []string{"svc.roles.read"}
	writeScope = []string{"svc.roles.manage"}
)

// kindRoutes serves the operations for one kind of assignees.
type kindRoutes struct {
	*Slice
	kind model.AssigneeKind
	// at is the path of an assignee; name is the word for the kind of assignee in summaries of operations.
	at, name string
	// ids maps the operation ids for users to those for this kind.
	ids map[string]string
}

// groupIDs and clientIDs map the operation ids for role assignments of users to those of groups and clients. Client libraries contain these
// ids, which follow no rule.
var (
	groupIDs = map[string]string{
		"listAssignedRolesForUser": "listGroupAssignedRoles", "assignRoleToUser": "assignRoleToGroup",
		"getUserAssignedRole": "getGroupAssignedRole", "unassignRoleFromUser": "unassignRoleFromGroup",
		"listGroupTargetsForRole":                                      "listGroupTargetsForGroupRole",
		"assignGroupTargetToUserRole":                                  "assignGroupTargetToGroupAdminRole",
		"unassignGroupTargetFromUserAdminRole":                         "unassignGroupTargetFromGroupAdminRole",
		"listApplicationTargetsForApplicationAdministratorRoleForUser": "listApplicationTargetsForApplicationAdministratorRoleForGroup",
		"assignAppTargetToAdminRoleForUser":                            "assignAppTargetToAdminRoleForGroup",
		"unassignAppTargetFromAppAdminRoleForUser":                     "unassignAppTargetToAdminRoleForGroup",
		"assignAppInstanceTargetToAppAdminRoleForUser":                 "assignAppInstanceTargetToAppAdminRoleForGroup",
		"unassignAppInstanceTargetFromAdminRoleForUser":                "unassignAppInstanceTargetToAppAdminRoleForGroup",
	}
	clientIDs = map[string]string{
		"listAssignedRolesForUser": "listRolesForClient", "assignRoleToUser": "assignRoleToClient",
		"getUserAssignedRole": "retrieveClientRole", "unassignRoleFromUser": "deleteRoleFromClient",
		"listGroupTargetsForRole":                                      "listGroupTargetRoleForClient",
		"assignGroupTargetToUserRole":                                  "assignGroupTargetRoleForClient",
		"unassignGroupTargetFromUserAdminRole":                         "removeGroupTargetRoleFromClient",
		"listApplicationTargetsForApplicationAdministratorRoleForUser": "listAppTargetRoleToClient",
		"assignAppTargetToAdminRoleForUser":                            "assignAppTargetRoleToClient",
		"unassignAppTargetFromAppAdminRoleForUser":                     "removeAppTargetRoleFromClient",
		"assignAppInstanceTargetToAppAdminRoleForUser":                 "assignAppTargetInstanceRoleForClient",
		"unassignAppInstanceTargetFromAdminRoleForUser":                "removeAppTargetInstanceRoleForClient",
	}
)

func (s *Slice) kinds() []kindRoutes {
	return []kindRoutes{
		{s, model.AssigneeUser, "/api/v1/users/{assignee}/roles", "a user", nil},
		{s, model.AssigneeGroup, "/api/v1/groups/{assignee}/roles", "a group", groupIDs},
		{s, model.AssigneeClient, "/oauth2/v1/clients/{assignee}/roles", "a client", clientIDs},
	}
}

// id returns the operation id for this kind of assignees.
func (o kindRoutes) id(forUsers string) string {
	if id, ok := o.ids[forUsers]; ok {
		return id
	}
	return forUsers
}

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	var routes []rest.Route
	for _, o := range s.kinds() {
		routes = append(routes, o.assignments()...)
		routes = append(routes, o.targets()...)
	}
	user := s.kinds()[0]
	routes = append(routes,
		rest.Op[assignmentRequest, rest.Empty]{
			ID: "assignAllAppsAsTargetToRoleForUser", Route: "PUT " + user.at + "/{roleAssignmentId}/targets/catalog/apps", Tag: targetTag,
			Scopes:  writeScope,
			Summary: "Removes the application targets of a role of a user",
			Find:    lookup.In(s.Store, user.findAssignment, (*assignmentRequest).self),
			Do:      user.clearApps,
		},
		rest.Op[assignmentRequest, []AnyTarget]{
			ID: "getRoleTargetsByUserIdAndRoleId", Route: "GET " + user.at + "/{roleAssignmentId}/targets", Tag: targetTag, Scopes: readScope,
			Summary: "Lists all targets of a user's role", Find: lookup.In(s.Store, user.findAssignment, (*assignmentRequest).self),
			Do: user.listTargets,
		},
		rest.Op[catalogRequest, AppTarget]{
			ID: "getCatalogApplication", Route: "GET /api/v1/catalog/apps/{appName}", Tag: targetTag, Scopes: readScope,
			Summary: "Reads a catalog entry that can be a role target", Find: s.findCatalogEntry, Do: s.catalogEntry,
		},
		rest.Op[assigneesRequest, Assignees]{
			ID: "listUsersWithRoleAssignments", Route: "GET /api/v1/iam/assignees/users", Tag: tag, Scopes: readScope,
			Summary: "Lists the users that have a role, directly or through a group", Do: s.assignees,
		},
	)
	if s.operations != nil {
		routes = append(routes, s.explainRoute())
	}
	return routes
}

func (o kindRoutes) assignments() []rest.Route {
	one := o.at + "/{roleAssignmentId}"
	return []rest.Route{
		rest.Op[listRequest, rest.Page[RoleAssignment]]{
			ID: o.id("listAssignedRolesForUser"), Route: "GET " + o.at, Tag: tag, Scopes: readScope,
			Summary: "Lists the roles of " + o.name, Find: lookup.In(o.Store, o.find, (*listRequest).self), Do: o.list,
		},
		rest.Op[assignRequest, RoleAssignment]{
			ID: o.id("assignRoleToUser"), Route: "POST " + o.at, Tag: tag, Scopes: writeScope, Status: 201,
			Summary: "Assigns a role to " + o.name, Find: lookup.In(o.Store, o.find, (*assignRequest).self), Check: checkAssign, Do: o.assign,
		},
		rest.Op[assignmentRequest, RoleAssignment]{
			ID: o.id("getUserAssignedRole"), Route: "GET " + one, Tag: tag, Scopes: readScope,
			Summary: "Reads a role of " + o.name, Find: lookup.In(o.Store, o.findAssignment, (*assignmentRequest).self), Do: o.get,
		},
		rest.Op[assignmentRequest, rest.NoContent]{
			ID: o.id("unassignRoleFromUser"), Route: "DELETE " + one, Tag: tag, Scopes: writeScope,
			Summary: "Revokes a role from " + o.name, Find: lookup.In(o.Store, o.findOwn, (*assignmentRequest).self), Do: o.unassign,
		},
	}
}

// assignee is the assignee in a path.
type assignee struct {
	Assignee string `path:"assignee" doc:"Id of the user, the group or the client; for a user also the login, or me."`

	who authz.Assignee
}

func (a *assignee) self() *assignee { return a }

func (o kindRoutes) find(ctx context.Context, q docstore.Reader, a *assignee) (err error) {
	ref := a.Assignee
	if o.kind == model.AssigneeUser && ref == callers.Me {
		ref = rest.Caller(ctx).UserID
	}
	a.who, err = authz.FindAssignee(ctx, q, o.Deps, o.kind, ref)
	return err
}
