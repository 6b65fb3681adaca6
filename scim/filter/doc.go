// Package filter is the filter language of RFC 7644 section 3.4.2.2 and the PATCH paths of section 3.5.2, which are one
// grammar: Parse and ParsePath read it, String writes it back, Check holds an expression against a resource type and
// Eval says whether a resource matches.
//
// It does not translate filters into the query language of a database; it gives a tree to those who do.
package filter
