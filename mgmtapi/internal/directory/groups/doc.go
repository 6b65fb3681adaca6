// Package groups serves the groups and their members.
//
// Everyone is the built-in group of all users that are not DEPROVISIONED. Its members follow from the users and cannot be edited. Owners
// are informational: they have no effect on permissions. Package grouprules serves the group rules. Other packages handle the events of
// this one to update applications.
package groups
