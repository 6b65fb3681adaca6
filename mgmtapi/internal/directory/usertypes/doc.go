// Package usertypes serves the user types: the kinds of users that an organisation tells apart, each with a profile schema of
// its own.
//
// What the schemas hold is the matter of mgmtapi/internal/directory/schemas, and what they demand of users that of mgmtapi/internal/directory/users.
package usertypes
