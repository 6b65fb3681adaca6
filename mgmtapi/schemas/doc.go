// Package schemas serves the profile schemas: which attributes users of a type, groups and users of an application have, with
// which values, and what may be done to them.
//
// The package changes schemas, and what has to change with them in users and groups that exist. What a schema demands is checked
// where profiles are written: in mgmtapi/users, mgmtapi/groups and mgmtapi/assignments.
package schemas
