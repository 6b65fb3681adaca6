// Package sqldb runs the same SQL statements on SQLite and PostgreSQL with the same guarantees. A successful update is on disk, and a
// failed update changes nothing. Unique violations and lost connections are reported the same way on both.
//
// On SQLite one goroutine owns the only writing connection and commits waiting updates together (group commit). Each caller but the first
// works inside its own savepoint, and all calls return after the shared COMMIT, so one disk flush serves many callers. Readers run
// concurrently on separate connections. On PostgreSQL every update is a separate transaction, which is repeated when the server reports a
// serialization failure or a deadlock.
//
// The package imports no driver and builds no SQL: package sqlopen opens the drivers, and package docstore stores documents. There is no
// query builder, no mapping of rows to structs and no schema derivation here.
package sqldb
