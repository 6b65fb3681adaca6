// Package iam serves what custom roles are made of: the roles with their permissions, the resource sets with their resources,
// and the bindings of roles on sets with their members.
//
// What follows from them is decided in mgmtapi/authz, which also knows the names of permissions and of resources; the roles of
// one assignee are served by mgmtapi/roles. A binding has no document of its own: it is there as long as it has members.
package iam
