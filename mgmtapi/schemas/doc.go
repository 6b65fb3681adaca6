// Package schemas serves the profile schemas: which attributes users of a type have, with which values, and what may be done to
// them.
//
// The package changes schemas, and what has to change with them in users that exist. What a schema demands of a user is checked
// where users are written, in mgmtapi/users.
package schemas
