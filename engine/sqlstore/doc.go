// Package sqlstore keeps the engine's state in an SQLite or PostgreSQL database, its own or the embedder's.
//
// It works on database/sql with one SQL text for both databases and imports no driver. Instants are integers, milliseconds
// since 1970. The tables are app_lane, sync_state, member_state, removal, halt, sync_attempt, lifecycle_event, import_run, remote_object, plan
// and plan_item; New creates them.
//
// On SQLite the embedder's connections should have a busy timeout and begin transactions immediately (with mattn/go-sqlite3:
// _busy_timeout=5000&_txlock=immediate&_journal_mode=WAL).
package sqlstore
