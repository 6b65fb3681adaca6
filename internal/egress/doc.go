// Package egress defines what applies to every request that is sent to a URL that another party has chosen, by the engine's SCIM client and
// by the inline hooks of the management API: which addresses may be connected to, and what may be said of a failed request.
//
// A [Policy] checks addresses and not names, after resolution and before the connection, so that a name that points elsewhere
// later does not evade it. [Describe] words an error without quoting what a server has sent. The package sends nothing itself.
package egress
