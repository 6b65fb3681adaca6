// Package usertypes serves the user types: the kinds of users in an organization, each with its own profile schema.
//
// mgmtapi/internal/directory/schemas serves the schemas, and mgmtapi/internal/directory/users validates users against them.
package usertypes
