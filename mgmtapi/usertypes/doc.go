// Package usertypes serves the user types: the kinds of users that an organisation tells apart, each with a profile schema of
// its own.
//
// What the schemas hold is the matter of mgmtapi/schemas, and what they demand of users that of mgmtapi/users.
package usertypes
