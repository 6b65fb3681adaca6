// Package scimstore stores the resources of a scimserver on SQLite or PostgreSQL. It has one table per resource type, with indexes for the
// attributes that clients search for (userName, externalId, displayName, email addresses and attributes that a schema declares unique), and
// one for the membership relation.
//
// layout.go declares the tables and computes the indexed values of a resource. query.go maps attributes to indexes and compiles filters
// with package docstore/filtersql. members.go reads and changes memberships.
//
// It does not open databases: the caller opens a docstore with the tables of a [Layout]. Embedders call scimserver/sqlstore.Open.
package scimstore
