// Package schemas serves the profile schemas: which attributes users of a type, groups and users of an application have, with
// which values, and what may be done to them.
//
// The package changes schemas, and what has to change with them in users and groups that exist. What a schema demands is checked
// where profiles are written: in mgmtapi/internal/directory/users, mgmtapi/internal/directory/groups and mgmtapi/internal/apps/assignments.
package schemas
