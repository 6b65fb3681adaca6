// Package tenants runs several independent SCIM service providers in one process: the tenant [Default] at /scim/v2, all others at
// /t/{tenant}/scim/v2. Each tenant has its own resources, tokens, quirks, leniencies and resource types. It cannot access the data of
// another tenant, because it uses only its own store and its own tokens. A tenant also handles the paths below its /scim without a protocol
// version or with an unsupported one.
//
// Tenants are added and removed while others serve requests. Package tenants also reads the configuration file of tenants and the string
// form of a token. It stores no data itself: resources are in the stores that [Stores] opens, and after a restart the caller adds the
// tenants again.
package tenants
