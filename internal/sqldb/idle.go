package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// LimitIdle makes PostgreSQL abort an update that waits for its caller for longer than d. Otherwise a stalled or disconnected process would
// keep its locks for hours. LimitIdle must be called before the first update. On SQLite it does nothing.
func (db *DB) LimitIdle(d time.Duration) {
	if db.dialect == Postgres {
		db.idle = d
	}
}

// SetIdleLimit returns the statement that limits the idle time of a transaction of PostgreSQL.
func SetIdleLimit(d time.Duration) string {
	return `SET LOCAL idle_in_transaction_session_timeout = ` + strconv.FormatInt(d.Milliseconds(), 10)
}

// statementsConn is a connection of PostgreSQL in a transaction.
type statementsConn struct{ *sql.Conn }

// beginTries is the maximum number of connections that an update tries if the driver reports that it has sent nothing.
const beginTries = 3

// updateOnConn runs an update of PostgreSQL whose idle time is limited. The limit is set in the round trip that begins the transaction, and
// not once per connection: a connection pooler gives each transaction another connection of the server.
func (db *DB) updateOnConn(ctx context.Context, level sql.IsolationLevel, fn func(tx *Tx) error) error {
	conn, err := db.beginOnConn(ctx, level)
	if err != nil {
		return fmt.Errorf("sqldb: begin: %w", err)
	}
	defer conn.Close() //nolint:errcheck // it only returns the connection to the pool
	tx := &Tx{conn: statementsConn{conn}, texts: db.texts}
	err = db.run(tx, fn)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		// If the transaction has failed, COMMIT rolls back and PostgreSQL reports no error; SELECT reports one.
		if _, err = conn.ExecContext(ctx, `SELECT 1; COMMIT`); err != nil {
			err = fmt.Errorf("sqldb: commit: %w", classify(err))
		}
	}
	if err != nil {
		rollbackOnConn(ctx, conn)
		return err
	}
	db.afterCommit(tx)
	return nil
}

func (db *DB) beginOnConn(ctx context.Context, level sql.IsolationLevel) (*sql.Conn, error) {
	begin := `BEGIN; `
	if level == sql.LevelSerializable {
		begin = `BEGIN ISOLATION LEVEL SERIALIZABLE; `
	}
	for try := 1; ; try++ {
		conn, err := db.writer.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, begin+SetIdleLimit(db.idle)); err == nil {
			return conn, nil
		}
		rollbackOnConn(ctx, conn)
		_ = conn.Close() // ignore the error: it only returns the connection to the pool
		if !errors.Is(err, driver.ErrBadConn) || try == beginTries {
			return nil, err
		}
	}
}

// rollbackTimeout is the time limit of a rollback. A connection that exceeds it is closed.
const rollbackTimeout = 5 * time.Second

// rollbackOnConn ends the transaction. If that fails, the connection is closed, which ends the transaction too.
func rollbackOnConn(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}
