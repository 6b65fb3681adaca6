// Package appprofile derives what an application knows of a user: the user
// name, by the template of the application, and the profile, by the rules of the
// mapping from user attributes to app attributes. It also knows which rules a
// mapping has by itself, and where the target has an attribute.
//
// It is pure: it reads nothing from storage and sends nothing. Which values
// callers may supply beside the derived ones is decided in
// mgmtapi/internal/apps/assignments; how a profile looks in SCIM is decided in
// mgmtapi/internal/apps/desired.
package appprofile
