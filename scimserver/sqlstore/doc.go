// Package sqlstore stores the resources of a scimserver in an SQLite or PostgreSQL database, its own or the embedder's.
//
// [Open] takes the embedder's *sql.DB. The package imports no driver: the embedder does, such as github.com/jackc/pgx/v5/stdlib or
// github.com/mattn/go-sqlite3. There is one table for each resource type, with indexes for what clients search for (userName, externalId,
// displayName, email addresses and attributes that a schema declares unique), one for the membership relation, and three for bookkeeping.
//
// The tables have the prefix "scimwright_", another one (Options.Prefix), or a PostgreSQL schema of their own (Options.Schema). Stores with
// different prefixes or schemas share a database. Tables of other programs stay as they are. The columns are not part of the API.
//
// On SQLite the connections enforce foreign keys, have a busy timeout, and begin transactions immediately:
// file:scim.db?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=on with mattn/go-sqlite3.
package sqlstore
