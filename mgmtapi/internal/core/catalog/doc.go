// Package catalog is the table of applications that can be added: the templates, the integrations known by name, and the custom
// applications with a generated name. An entry lists its sign-on modes and its settings.
//
// The package holds no instances (see mgmtapi/internal/apps/apps) and does not depend on storage.
package catalog
