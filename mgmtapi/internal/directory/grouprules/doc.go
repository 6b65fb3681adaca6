// Package grouprules serves the group rules and applies them: a user who matches the expression of an active rule is a member of the groups
// of that rule, and is removed from them when the user no longer matches.
//
// Which rules match a user depends only on the memberships that clients created, not on those that rules assigned before. Two rules that
// test each other's groups therefore cannot keep a user in their groups. For each membership that a rule assigns, a model.RuleMember is
// stored; rules never remove memberships that clients created. All of this happens in the transaction of the change that causes it.
//
// The package does not depend on the operations on groups and members, nor on the expression language.
package grouprules
