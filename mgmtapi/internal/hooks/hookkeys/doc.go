// Package hookkeys serves the hook keys: the key pairs with which inline hooks authenticate where they get their access tokens.
//
// Who uses a key is said by the inline hooks; what is signed with it is the matter of mgmtapi/internal/hooks/calls. The private half never
// leaves the store in clear.
package hookkeys
