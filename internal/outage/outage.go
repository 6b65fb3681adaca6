// Package outage recognizes errors of a database that does not respond. A later request may succeed, so HTTP APIs return 503 for them
// instead of 500. The package imports no driver: it recognizes errors by their SQLSTATE, their type in the standard library, or their text.
package outage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
)

// RetryAfter is the number of seconds for the header Retry-After of a response 503.
const RetryAfter = "5"

// states are the SQLSTATE codes, or their first two characters, of a PostgreSQL server that does not accept connections or statements, or
// cannot store data: connection exceptions, rejected credentials, insufficient resources (such as a full disk), shutdown, system errors.
// The last three codes are a read-only transaction (a standby server), a missing database, and a lock that was not available in time.
var states = []string{"08", "28", "53", "57P0", "58", "25006", "3D000", "55P03"}

// texts are parts of the messages of SQLite, of pgx and of database/sql that have no type of their own.
var texts = []string{
	"database or disk is full", "disk I/O error", "attempt to write a readonly database", "unable to open database file", "database is locked",
	"failed to connect to", "conn closed", "sql: database is closed", "database is closed",
}

// Is reports whether err is, or wraps, the error of a database that does not respond. A canceled context is no such error.
// An exceeded deadline is one: a caller first checks for its own deadline.
func Is(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		state := e.SQLState()
		return slices.ContainsFunc(states, func(prefix string) bool { return strings.HasPrefix(state, prefix) })
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	message := err.Error()
	return slices.ContainsFunc(texts, func(part string) bool { return strings.Contains(message, part) })
}
