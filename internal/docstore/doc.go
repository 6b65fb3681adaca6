// Package docstore stores typed JSON documents in SQL tables, one table per collection, on SQLite and PostgreSQL.
//
// A document is stored as its JSON text, byte for byte, because SCIM preserves the order of attributes. The values that queries need are
// declared as indexes, next to the type. They are computed in Go, so that case folding is the same on both databases, and stored in
// columns, or in a side table if a document has several values. Tables, columns and indexes are derived from the declarations; Open fills
// an index that was declared later.
//
// Updates are transactions with optimistic revisions, pages use keyset cursors, and an outbox stores events that commit together with the
// documents they are about.
//
// The package does not depend on SCIM resources or HTTP, has no joins between collections, and is not a query language: conditions that no
// declared index can evaluate are evaluated by Query.Match, in Go. cond.go writes the SQL of conditions. Package filtersql compiles SCIM
// filters to conditions.
package docstore
