// Package groups serves the groups and their members.
//
// Everyone, the built-in group of all users that are not DEPROVISIONED, follows the users and cannot be edited. Owners
// are only listed: nothing is allowed or forbidden because of them. Group rules are a package of their own, grouprules; what
// a change means for applications is the business of reactions to its events.
package groups
