// Package mapping computes the SCIM attributes of an account from the attributes of a directory's user by rules. A rule assigns an
// expression or a constant to a SCIM path: always, or only when the account is created.
//
// Compile checks rules before they are used: the names and types in the expression, the path against the target's schemas, and whether the
// path accepts the type. A preview shows the result of each rule for one user and explains why an account has a value. The package sends
// nothing and stores nothing.
package mapping
