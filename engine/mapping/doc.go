// Package mapping makes the SCIM attributes of a target out of the attributes of a directory's users, by rules: this
// expression, or this constant, goes to that SCIM path; always, or only when the account is created.
//
// Rules are compiled and checked before they are used: the names and types in the expression, the path against the schemas of
// the target, and whether the one can go to the other. A preview tells for one user what each rule would say, which is also the
// answer to «why does this account have this value». The package sends nothing and knows no storage.
package mapping
