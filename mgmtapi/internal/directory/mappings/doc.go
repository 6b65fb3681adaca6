// Package mappings serves the profile mappings: which attribute of an application's users is made of which attributes of users,
// and the other way round.
//
// The package checks and stores what was changed of a mapping. What mappings have by themselves, and what they make of a user,
// is mgmtapi/internal/core/appprofile; the assignments that follow a change are mgmtapi/internal/apps/assignments.
package mappings
