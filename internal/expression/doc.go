// Package expression is the expression language of attribute mappings, group rules, user name templates and claims.
//
// It is expr-lang/expr with the spellings and rules that administrators of identity services know: AND, OR, NOT and null;
// String.*, Arrays.*, Convert.*, Time.* and group functions; text that may mix literals and ${expressions}; and null instead of
// an error wherever a value is missing. An expression is checked against the names and types it may use when it is compiled,
// cannot loop, and is bounded in length, nodes and memory.
//
// The package knows no directory, no SCIM and no storage: the names come from its callers.
package expression
