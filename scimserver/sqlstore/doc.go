// Package sqlstore stores the resources of a scimserver in an SQLite or PostgreSQL database, a separate one or the embedder's.
//
// [Open] takes the embedder's *sql.DB. The package imports no driver: the embedder does, such as github.com/jackc/pgx/v5/stdlib or
// github.com/mattn/go-sqlite3. The tables are: one per resource type, one for the membership relation, and three for internal data. The
// tables of resource types have indexes for the attributes that clients search for (userName, externalId, displayName, email addresses and
// attributes that a schema declares unique).
//
// The tables have the prefix "scimwright_", another prefix (Options.Prefix), or their own PostgreSQL schema (Options.Schema). Stores with
// different prefixes or schemas can share a database. Tables of other programs are not modified. The columns are not part of the API.
//
// On SQLite, the connections need foreign keys, a busy timeout, and immediate transactions:
// file:scim.db?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=on with mattn/go-sqlite3.
package sqlstore
