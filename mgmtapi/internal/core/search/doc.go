// Package search implements the filter and search parameters of lists: the attributes and operators that expressions may use for a
// collection, and the compilation of an expression to a query.
//
// The database evaluates the conditions that an index supports. Go code then compares every document exactly. String comparison ignores
// case for attributes that are declared so. Timestamps are compared to the second, the precision in which the API returns them. A missing
// attribute matches nothing.
//
// The grammar is that of SCIM filters, without "ne", "not" and value paths. For SCIM resources, see scim/filter.
package search
