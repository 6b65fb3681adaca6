// Package filter implements the filter language of RFC 7644 section 3.4.2.2 and the PATCH paths of section 3.5.2, which share one grammar.
// Parse and ParsePath read a string into a tree, and String writes the tree. Check validates an expression against a resource type. Eval
// reports whether a resource matches.
//
// It does not translate filters into the query language of a database. A caller that needs this translates the tree.
package filter
