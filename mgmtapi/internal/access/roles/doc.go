// Package roles serves the roles of users, groups and clients: the assignments of standard roles with their targets, and those
// of custom roles, which are members of bindings. It also explains decisions.
//
// What a role permits is decided in mgmtapi/internal/access/authz; custom roles and resource sets themselves are served by mgmtapi/internal/access/customroles. Nobody
// can take the last SUPER_ADMIN away, whatever the way: by the assignment, the group, or the user. An assignment whose last
// target is deleted ends with it, because without targets it would not be limited any more.
package roles
