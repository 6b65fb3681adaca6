// Package groups serves the groups and their members.
//
// Everyone, the built-in group of all users that are not DEPROVISIONED, follows the users and cannot be edited. There are no
// group rules and no owners yet. What a change means for applications is the business of reactions to its events.
package groups
