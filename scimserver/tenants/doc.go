// Package tenants runs several independent SCIM service providers in one process: that of [Default] at /scim/v2, every other
// one at /t/{tenant}/scim/v2. Each has its own resources, tokens, quirks, leniencies and resource types, and none can tell
// that another one has anything: what it knows are its own store and its own tokens. Paths below /scim that name no version of
// the protocol, or another one, are the tenant's too.
//
// Tenants are added and removed while others serve. Package tenants also reads the file that describes them and the text
// form of a token. It keeps nothing itself: resources live where [Stores] puts them, and which tenants there are after a
// restart is for the caller to say again.
package tenants
