// Package appprofile derives the application's data of a user: the user name, by the template of the application, and the profile, by the
// rules of the mapping from user attributes to app attributes. It also defines the default rules of a mapping, and the paths of attributes
// on the target.
//
// The package does no I/O. Which values callers may supply in addition to the derived ones is decided in mgmtapi/internal/apps/assignments.
// How a profile is represented in SCIM is decided in mgmtapi/internal/apps/desired.
package appprofile
