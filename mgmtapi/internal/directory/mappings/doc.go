// Package mappings serves the profile mappings: the rules that derive the attributes of an application's users from those of users, and the
// reverse.
//
// The package validates and stores changes of mappings. mgmtapi/internal/core/appprofile has the default rules and evaluates mappings;
// mgmtapi/internal/apps/assignments updates the assignments after a change.
package mappings
