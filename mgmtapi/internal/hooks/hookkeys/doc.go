// Package hookkeys serves the hook keys: the key pairs that inline hooks use to authenticate at the token endpoints of their OAuth servers.
//
// The configuration of an inline hook names its key; package mgmtapi/internal/hooks/calls signs with it. The private key is stored
// encrypted only.
package hookkeys
