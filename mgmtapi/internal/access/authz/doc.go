// Package authz decides what callers may do.
//
// Who: a caller is a user or a client (the application of an access token). Its grants are the role assignments that count for
// it: those made for itself, and those of the groups that a user is in, whether a caller or a group rule made the user a member.
// Grants are loaded for every request, so that a decision never rests on a role that is gone.
//
// Operation: every operation has needs, all of which a caller has to meet, each by any one grant. A need names a column of the
// table of standard roles and whether it changes something, the permissions of which a custom role must hold one, and the
// resource that it is about. The needs stand in one table by method and path (needs.go), for all operations of the
// specification; an operation without a row is left to SUPER_ADMIN, so that a forgotten row refuses and does not permit.
//
// Resource: a user, a group, an application, an authorization server, or a whole collection. What the decision has to know of it
// (the groups of a user, the name of an application) is read only when a grant is limited. A resource that does not exist
// refuses nobody who may do the same to another one: "not found" is the answer then.
//
// A grant of a standard role meets a need by its cell in the table (roles.go); targets limit it to groups with their members,
// or to applications. A grant of a custom role meets it by a permission, held or implied (permissions.go), on a resource of its
// resource set (scope.go). Lists need no particular resource: what they show is filtered by the same grants (filter.go). What
// is only known once a body is read, such as the groups of a new user, is asked by the operation itself (later.go).
//
// Decision: it says which grants met the needs, or for each grant why it does not; Explain serves that to people.
//
// Rules stand above the table, because without them a role could be turned into a greater one (protect.go): a user or a group that
// has a role, and an application that has one or was granted scopes of this API, is changed by a SUPER_ADMIN only, except that an
// ORG_ADMIN changes users whose roles permit no more than its own; only a SUPER_ADMIN grants such scopes; and nobody comes to be able
// to change a user by the group that it puts the user into, or takes it out of.
//
// The package keeps no roles; mgmtapi/internal/access/customroles and mgmtapi/internal/access/roles do. It checks no scopes: the scopes of an access token are checked
// by whoever authenticates it, and a call needs both.
package authz
