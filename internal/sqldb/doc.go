// Package sqldb runs the same SQL texts on SQLite and PostgreSQL with the same promises: an update that was answered without
// an error is on disk, a failing one left no trace, and unique violations and lost connections read alike.
//
// On SQLite one goroutine owns the only writing connection and commits waiting updates together (group commit): each caller
// but the first works inside its own savepoint, and all are answered after the shared COMMIT, so one disk flush serves many callers.
// Readers run beside it on connections of their own. On PostgreSQL every update is a transaction of its own, repeated when the server
// reports a serialization failure or a deadlock.
//
// The package imports no driver and builds no SQL: drivers are opened by package sqlopen, documents live in package docstore,
// and there is no query builder, no mapping of rows to structs and no schema derivation here.
package sqldb
