// Package docstore keeps typed JSON documents in SQL tables, one table for each collection, on SQLite and PostgreSQL alike.
//
// A document is stored as its JSON text, byte for byte, because SCIM keeps the order of attributes. What queries need is
// declared beside the type as indexes: their values are computed in Go (so that folding is ours and the same on both
// databases) and stored in real columns, or in a side table where a document has several values. Tables, columns and indexes
// are derived from the declarations; an index that is declared later is filled on Open.
//
// Updates are transactions with optimistic revisions, pages follow keyset cursors, and an outbox carries events that commit
// together with the documents they tell of.
//
// The package knows nothing of SCIM resources or HTTP, has no joins between collections, and is not a query language: what a
// declared index cannot answer is answered by Query.Match, in Go.
package docstore
