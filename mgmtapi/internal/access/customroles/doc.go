// Package customroles serves what custom roles are made of: the roles with their permissions, the resource sets with their resources,
// and the bindings of roles on sets with their members.
//
// What follows from them is decided in mgmtapi/internal/access/authz, which also knows the names of permissions and of resources; the roles of
// one assignee are served by mgmtapi/internal/access/roles. A binding has no document of its own: it is there as long as it has members.
package customroles
