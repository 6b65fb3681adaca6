// Package authz decides which operations callers may run.
//
// Caller: a user or a client (the application of an access token). Its grants are the role assignments made for the caller itself and those
// of the groups that a user is in. It does not matter whether a caller or a group rule added the user to the group. Grants are loaded for
// every request, so that no decision depends on a revoked role.
//
// Operation: every operation has needs. A caller must meet all of them, each by any one grant. A need has three parts. For standard roles
// it names a column of the table of standard roles, and whether the operation writes. For custom roles it lists permissions, of which the
// role must hold one. Both apply to the resource that it names. The needs of the operations are in one table by method and path
// (needs.go). An operation without a row is reserved for SUPER_ADMIN: a forgotten row denies access.
//
// Resource: a user, a group, an application, an authorization server, or a whole collection. Its properties (the groups of a user, the name
// of an application) are read only if a grant is limited. If the resource does not exist, a caller that may run the operation on another
// resource gets "not found" instead of "forbidden".
//
// A grant of a standard role meets a need by its cell in the table (roles.go); targets limit the grant to groups with their members, or to
// applications. A grant of a custom role meets a need by a permission, held or implied (permissions.go), on a resource of its resource set
// (scope.go). Lists need no particular resource: their results are filtered by the same grants (filter.go). Conditions that depend on the
// request body, such as the groups of a new user, are checked by the operation itself (later.go).
//
// Decision: for each need, the grants that meet it, and for each other grant the reason why the grant does not meet the need. Explain
// returns these reasons for administrators.
//
// The following rules override the table, because otherwise callers could gain permissions that their roles do not have (protect.go):
//
//   - Only a SUPER_ADMIN changes a user or a group that has a role, or an application that has a role or was granted scopes of this
//     API. An ORG_ADMIN may also change users whose roles permit no more than its own.
//   - Only a SUPER_ADMIN grants such scopes.
//   - No caller gains the permission to change a user by adding the user to a group or removing it from one.
//
// The package stores no roles; mgmtapi/internal/access/customroles and mgmtapi/internal/access/roles do. It checks no scopes: package
// mgmtapi/internal/access/callers checks the scopes of an access token. A call with an access token must pass both checks.
package authz
