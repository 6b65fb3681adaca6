// Package search is the filter and search language of the lists: which attributes of a collection can be asked for, with
// which operators, and how an expression becomes a query.
//
// What an index can answer is asked of the database; every document is then compared exactly, in Go. Strings compare
// without regard to case where the attribute says so, timestamps to the second, as they are shown. A missing attribute
// matches nothing.
//
// The grammar is that of SCIM filters, without "ne", "not" and value paths. The package does not serve the attributes of SCIM
// resources; scim/filter does.
package search
