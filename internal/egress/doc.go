// Package egress restricts requests to URLs that another party has chosen. It defines which addresses may be connected to, and what the
// description of a failed request may contain. The engine's SCIM client and the inline hooks of the management API use it.
//
// A [Policy] checks addresses and not names, after resolution and before the connection, so that a DNS change cannot bypass it. [Describe]
// returns the description of an error without data that a server has sent. The package sends nothing itself.
package egress
