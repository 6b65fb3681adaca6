// Package expression implements the expression language of attribute mappings, group rules, user name templates and claims.
//
// It is expr-lang/expr with spellings and rules that administrators of identity services expect: AND, OR, NOT and null; String.*, Arrays.*,
// Convert.*, Time.* and group functions; templates that mix literals and ${expressions}; and null instead of an error for missing values.
// An expression is checked at compile time against the names and types that it may use. It cannot loop, and its length, nodes and memory
// are bounded.
//
// The package does not depend on a directory, SCIM or storage: its callers define the names.
package expression
