// Package tenants runs several independent SCIM service providers in one process: the tenant [Default] at /scim/v2, all others at
// /t/{tenant}/scim/v2. Each has its own resources, tokens, quirks, leniencies and resource types, and cannot access the data of another
// one: it uses only its own store and its own tokens. Paths below /scim without a protocol version, or with an unsupported one, belong to
// the tenant too.
//
// Tenants are added and removed while others serve requests. Package tenants also reads the configuration file of tenants and the string
// form of a token. It stores nothing: resources are in the stores that [Stores] opens, and after a restart the caller adds the tenants
// again.
package tenants
