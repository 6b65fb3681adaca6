// Package grouprules serves the group rules and makes them work: a user that fulfils the expression of an active rule is a
// member of the groups of that rule, and one that no longer does is taken out again.
//
// Which rules match a user is worked out from what callers have given the user and from nothing that rules gave before, so
// that two rules that test each other's groups cannot keep a user in by themselves. What a rule gives is noted beside the
// membership (model.RuleMember); memberships that callers made are never taken away. All of it happens in the transaction of
// the change that it follows from.
//
// The package knows nothing of the operations on groups and their members, nor of the language of the expressions.
package grouprules
