// Package scimstore stores the resources of a scimserver on SQLite or PostgreSQL. It has one table per resource type, with indexes for the
// attributes that clients search for (userName, externalId, displayName, email addresses and attributes that a schema declares unique), and
// one for the membership relation.
//
// It does not open databases: the caller opens a docstore with the tables of a [Layout]. Embedders call scimserver/sqlstore.Open.
package scimstore
