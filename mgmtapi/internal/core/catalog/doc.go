// Package catalog is the table of applications that can be added: the
// templates, the integrations known by name, and the custom ones that get a
// generated name. An entry says which sign-on modes it has and which settings
// it asks for.
//
// It holds no instances (see mgmtapi/internal/apps/apps) and knows nothing of storage.
package catalog
