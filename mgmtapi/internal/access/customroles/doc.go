// Package customroles serves custom roles with their permissions, resource sets with their resources, and bindings of roles on sets with
// their members.
//
// Package mgmtapi/internal/access/authz makes the decisions and defines the names of permissions and resources; package
// mgmtapi/internal/access/roles serves the roles of one assignee. A binding has no document of its own: it exists while it has members.
package customroles
