// Package sqlstore stores the engine's state in an SQLite or PostgreSQL database, which may also contain the tables of the embedder.
//
// [Open] takes the embedder's *sql.DB. The package imports no driver. The embedder imports one, such as github.com/jackc/pgx/v5/stdlib or
// github.com/mattn/go-sqlite3. The examples are complete programs.
//
// # Tables
//
// The tables have the prefix "scimwright_", another prefix (Options.Prefix), or their own PostgreSQL schema (Options.Schema). Engines with
// different prefixes or schemas can share a database. The package does not change tables of other programs, whatever their names. Times are
// integers, milliseconds since 1970. The names without prefix are steps, app_lane, process, in_flight, sync_state, member_state, removal,
// halt, mark_trace, sync_attempt, lifecycle_event, import_run, remote_object, plan, plan_item and job. The columns are not part of the API.
//
// Open upgrades the tables to the current schema, in one transaction. It also renames the tables of versions without a prefix. Stop the
// engines of such a version first: after the upgrade they do not find their tables, and cannot be started again.
//
// # SQLite
//
// The connections need a busy timeout and must start transactions with BEGIN IMMEDIATE:
// file:idp.db?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate with mattn/go-sqlite3.
package sqlstore

// schema.go has the tables. To add a column, append a step there. states.go, lanes.go or the file of the subject reads and writes the
// column. Package storetest tests for every store that the value is stored.
