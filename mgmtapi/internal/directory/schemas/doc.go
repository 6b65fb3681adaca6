// Package schemas serves the profile schemas: the attributes of users of a type, of groups, and of users of an application, with their
// types and constraints.
//
// The package changes schemas, and updates existing users and groups accordingly. The packages that write profiles validate them against
// the schemas: mgmtapi/internal/directory/users, mgmtapi/internal/directory/groups and mgmtapi/internal/apps/assignments.
package schemas
