// Package sqlstore stores the resources of a scimserver in an SQLite or PostgreSQL database: a separate database or the embedder's.
//
// [Open] takes the embedder's *sql.DB. The package imports no driver: the embedder imports one, such as github.com/jackc/pgx/v5/stdlib or
// github.com/mattn/go-sqlite3. The tables are: one per resource type, one for the membership relation, and three for internal data. The
// tables of resource types have indexes for the attributes that clients search for (userName, externalId, displayName, email addresses and
// attributes that a schema declares unique).
//
// The names of the tables start with the prefix "scimwright_" or another prefix (Options.Prefix), or the tables are in a separate
// PostgreSQL schema (Options.Schema). Stores with different prefixes or schemas can share a database. Tables of other programs are not
// modified. The columns are not part of the API.
//
// On SQLite, the connections need foreign keys, a busy timeout, and immediate transactions. The DSN for mattn/go-sqlite3 is
// file:scim.db?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=on.
package sqlstore
