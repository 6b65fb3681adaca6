// Package egress says which addresses may be connected to, for everything that sends requests to URLs that somebody else has chosen:
// the engine's SCIM client and the inline hooks of the management API.
//
// It looks at addresses and not at names, after resolution and before the connection, so that a name that points somewhere else
// later does not get around it. It sends nothing itself.
package egress
