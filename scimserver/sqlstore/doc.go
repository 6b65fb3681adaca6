// Package sqlstore keeps the resources of a scimserver on SQLite or PostgreSQL: one table for each resource type, with
// indexes for what clients look up (userName, externalId, displayName, e-mail addresses and whatever a schema declares
// unique), and one for the membership relation.
//
// It is the only part of the server that knows a database, and it knows it through internal/docstore alone. It opens
// nothing: the caller opens a docstore with the tables of a [Layout].
package sqlstore
