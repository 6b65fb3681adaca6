// Package roles serves the roles of users, groups and clients: the assignments of standard roles with their targets, and those of custom
// roles, which are members of bindings. It also explains authorization decisions.
//
// Package mgmtapi/internal/access/authz decides what a role permits; package mgmtapi/internal/access/customroles serves the custom roles
// and resource sets. The last SUPER_ADMIN cannot be removed, neither through the assignment, nor the group, nor the user. If the last
// target of an assignment is deleted, the assignment is deleted too, because without targets it would be unlimited.
package roles
