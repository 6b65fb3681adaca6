// Package sqlstore stores the engine's state in an SQLite or PostgreSQL database, its own or the embedder's.
//
// [Open] takes the embedder's *sql.DB. The package imports no driver: the embedder does, such as github.com/jackc/pgx/v5/stdlib or
// github.com/mattn/go-sqlite3. The examples are complete programs.
//
// # Tables
//
// The tables have the prefix "scimwright_", another one (Options.Prefix), or a PostgreSQL schema of their own (Options.Schema). Engines
// with different prefixes or schemas share a database. Tables of other programs stay as they are, whatever their names. Times are
// integers, milliseconds since 1970. The names without prefix are steps, app_lane, sync_state, member_state, removal, halt, sync_attempt,
// lifecycle_event, import_run, remote_object, plan and plan_item. The columns are not part of the API.
//
// schema.go has the tables. A new column is added by a further step there; states.go, lanes.go or the file of its subject reads and writes
// it, and package storetest tests it for every store.
//
// Open brings the tables to the present schema, in one transaction. It also renames the tables of versions that had no prefix. Stop the
// engines of such a version before: they find no tables afterwards, and do not start again.
//
// # SQLite
//
// The connections have a busy timeout and begin transactions immediately:
// file:idp.db?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate with mattn/go-sqlite3.
package sqlstore
