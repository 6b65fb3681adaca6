package sqldbtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// ErrCut is the error of the statement at which a connection was closed.
var ErrCut = errors.New("the connection was cut")

// Faults closes the connection of a database at a given statement.
type Faults struct {
	At      int64        // number of the statement, from 1; 0 means none
	Reached func()       // unless nil, called before the connection is closed
	Count   atomic.Int64 // number of statements so far

	driver driver.Driver
	dsn    string
}

// Open opens the database at p. The caller closes it.
func (f *Faults) Open(t testing.TB, p Place) *sql.DB {
	t.Helper()
	plain, err := sql.Open(p.Driver, p.DSN)
	require.NoError(t, err)
	f.driver, f.dsn = plain.Driver(), p.DSN
	require.NoError(t, plain.Close())
	return sql.OpenDB(f)
}

// Connect implements driver.Connector.
func (f *Faults) Connect(context.Context) (driver.Conn, error) {
	c, err := f.driver.Open(f.dsn)
	if err != nil {
		return nil, err
	}
	return &faultyConn{plainConn: c.(plainConn), faults: f}, nil
}

// Driver implements driver.Connector.
func (f *Faults) Driver() driver.Driver { return f.driver }

// plainConn is the interface that the connections of both drivers implement.
type plainConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type faultyConn struct {
	plainConn
	faults *Faults
	cut    bool
}

// CheckNamedValue implements driver.NamedValueChecker. pgx accepts arguments of any type; for SQLite, database/sql converts the arguments.
func (c *faultyConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.plainConn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// IsValid implements driver.Validator.
func (c *faultyConn) IsValid() bool { return !c.cut }

// Close implements driver.Conn.
func (c *faultyConn) Close() error {
	if c.cut {
		return nil
	}
	return c.plainConn.Close()
}

// next closes the connection if this is the statement that fails.
func (c *faultyConn) next() error {
	if c.cut {
		return ErrCut
	}
	if c.faults.Count.Add(1) != c.faults.At {
		return nil
	}
	if c.faults.Reached != nil {
		c.faults.Reached()
	}
	c.cut = true
	return errors.Join(ErrCut, c.plainConn.Close())
}

// ExecContext implements driver.ExecerContext.
func (c *faultyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.next(); err != nil {
		return nil, err
	}
	return c.plainConn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *faultyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.next(); err != nil {
		return nil, err
	}
	return c.plainConn.QueryContext(ctx, query, args)
}

// BeginTx implements driver.ConnBeginTx.
func (c *faultyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.next(); err != nil {
		return nil, err
	}
	tx, err := c.plainConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &faultyTx{tx, c}, nil
}

type faultyTx struct {
	driver.Tx
	conn *faultyConn
}

// Commit implements driver.Tx.
func (tx *faultyTx) Commit() error {
	if err := tx.conn.next(); err != nil {
		return err
	}
	return tx.Tx.Commit()
}

// Rollback implements driver.Tx.
func (tx *faultyTx) Rollback() error {
	if tx.conn.cut {
		return ErrCut
	}
	return tx.Tx.Rollback()
}
