package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrSessions is returned if the driver prepares named statements, and a pooler such as PgBouncer runs each transaction in another session.
var ErrSessions = errors.New("the driver prepares statements, and the connections belong to a pooler in transaction mode: " +
	"add default_query_exec_mode=cache_describe to the connection string of pgx, or connect to PostgreSQL itself")

// SQLSTATE codes of the use of a prepared statement in another session than its own.
const (
	stateInvalidStatementName = "26000"
	stateDuplicateStatement   = "42P05"
)

// minCheckedConns is the smallest pool in which checkSessions uses two connections: the caller may hold others.
const minCheckedConns = 4

// checkSessions returns ErrSessions if a statement that was prepared on one connection of PostgreSQL affects another one, or is lost. The
// check may not detect this while other clients use the pooler. The errors of later statements are then converted to ErrSessions.
func checkSessions(ctx context.Context, db *sql.DB, d Dialect) error {
	if n := db.Stats().MaxOpenConnections; d != Postgres || n > 0 && n < minCheckedConns {
		return nil
	}
	var conns [2]*sql.Conn
	for i := range conns {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // it only returns the connection to the pool
		conns[i] = conn
	}
	for _, conn := range []*sql.Conn{conns[0], conns[1], conns[0]} {
		var n int64
		if err := conn.QueryRowContext(ctx, `SELECT CAST($1 AS BIGINT)`, int64(1)).Scan(&n); err != nil {
			return sessions(err)
		}
	}
	return nil
}

// sessions wraps an error of the use of a prepared statement in another session in ErrSessions.
func sessions(err error) error {
	if state, _ := sqlState(err); state == stateInvalidStatementName || state == stateDuplicateStatement {
		return fmt.Errorf("%w: %w", ErrSessions, err)
	}
	return err
}
