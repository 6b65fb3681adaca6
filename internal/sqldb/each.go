package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"

	"github.com/scimwright/scimwright/internal/processor"
)

// ErrStop is returned by the function of [Each] to end the reading. Each then returns nil.
var ErrStop = errors.New("sqldb: stop")

// Each runs a query with the given number of columns and calls the function each with every row. The values are those of the driver:
// nil, int64, float64, bool, string, []byte or time.Time; text is a string or a []byte. The slice is reused for the next row, and so is the
// memory of a []byte unless [Copies] returns true. The function must not use the database, because Each holds a connection. ctx is also
// checked between the rows, so that a [Brief] query needs no goroutine that watches it.
//
// Outside of a transaction, and in an update on SQLite, Each calls the driver without the conversions and locks of sql.Rows, which cost
// more than the query itself for a single row that an index finds. Drivers without driver.QueryerContext, and other transactions, use
// database/sql.
func Each(ctx context.Context, q Queryer, columns int, query string, args []any, each func(row []driver.Value) error) error {
	if wrapper, ok := q.(interface{ SQL() *Tx }); ok {
		q = wrapper.SQL()
	}
	err := errNotRun
	switch q := q.(type) {
	case reader:
		if db, ok := q.conn.(*sql.DB); ok {
			err = eachOfDriver(ctx, db, columns, q.texts.rewrite(query), args, each)
		}
	case *Tx:
		if conn, ok := q.conn.(*sql.Conn); ok && q.Dialect() == SQLite {
			err = q.each(ctx, conn, columns, query, args, each)
		}
	}
	if !errors.Is(err, errNotRun) {
		return err
	}
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	row, values, dest := make([]driver.Value, columns), make([]any, columns), make([]any, columns)
	for i := range values {
		dest[i] = &values[i] // database/sql does not scan NULL into a driver.Value
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i, v := range values {
			row[i] = v
		}
		switch err := each(row); {
		case errors.Is(err, ErrStop):
			return nil
		case err != nil:
			return err
		}
	}
	return rows.Err()
}

// RowReader is a connection of a driver that passes rows to a function itself, without copies of their texts. EachRow returns
// driver.ErrBadConn if it did not send the query, and nil if the function returned ErrStop.
type RowReader interface {
	EachRow(ctx context.Context, columns int, query string, args []any, each func(row []driver.Value) error) error
}

// errNotRun is returned if the driver has not run the query: it has no direct call for queries, or its connection is broken.
var errNotRun = errors.New("sqldb: query not run")

func eachOfDriver(ctx context.Context, db *sql.DB, columns int, query string, args []any, each func(row []driver.Value) error) error {
	values, err := named(args)
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it only returns the connection to the pool
	return eachOfConn(ctx, conn, columns, query, args, values, each)
}

// eachOfConn is eachOfDriver on a connection. The values are the arguments in the form of a driver.
func eachOfConn(ctx context.Context, conn *sql.Conn, columns int, query string, args []any, values []driver.NamedValue,
	each func(row []driver.Value) error) error {
	result := errNotRun
	broken := conn.Raw(func(c any) error {
		if own, ok := c.(RowReader); ok {
			err := own.EachRow(ctx, columns, query, args, each)
			if errors.Is(err, driver.ErrBadConn) {
				return err // the pool closes the connection
			}
			result = err
			return nil
		}
		direct, ok := c.(driver.QueryerContext)
		if !ok {
			return nil
		}
		rows, err := direct.QueryContext(ctx, query, values)
		switch {
		case errors.Is(err, driver.ErrBadConn):
			return err // the pool closes the connection
		case errors.Is(err, driver.ErrSkip):
			return nil
		case err != nil:
			result = err
			return nil
		}
		result = eachRow(ctx, rows, columns, each)
		return nil
	})
	if broken != nil && !errors.Is(broken, driver.ErrBadConn) && errors.Is(result, errNotRun) {
		return broken // the connection or the database is closed
	}
	return result
}

// each does the same as Each. An error of the function each does not fail the transaction.
func (tx *Tx) each(ctx context.Context, conn *sql.Conn, columns int, query string, args []any, each func(row []driver.Value) error) error {
	ctx, err := tx.begin(ctx)
	if err != nil {
		return err
	}
	values, err := named(args)
	if err != nil {
		return err
	}
	query = tx.texts.rewrite(query)
	tx.writes(query)
	tx.changed = tx.changed || !strings.HasPrefix(query, "SELECT")
	var own error
	err = eachOfConn(ctx, conn, columns, query, args, values, func(row []driver.Value) error {
		own = each(row)
		return own
	})
	if err == nil || own != nil || errors.Is(err, errNotRun) {
		return err
	}
	return tx.note(err)
}

// yieldRows is the number of rows after which reading lets other threads run.
const yieldRows = 64

// eachRow reads and closes the rows.
func eachRow(ctx context.Context, rows driver.Rows, columns int, each func(row []driver.Value) error) (err error) {
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	row := make([]driver.Value, columns)
	for n := 1; ; n++ {
		if n%yieldRows == 0 {
			processor.Yield()
		}
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch err := each(row); {
		case errors.Is(err, ErrStop):
			return nil
		case err != nil:
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// exec runs a statement on a connection. It calls the driver without the conversions and locks of database/sql, which cost a fifth of the
// insert of a row.
func exec(ctx context.Context, e Execer, query string, args []any) (sql.Result, error) {
	conn, ok := e.(*sql.Conn)
	if !ok || len(args) == 0 {
		return e.ExecContext(ctx, query, args...)
	}
	values, err := named(args)
	if err != nil {
		return nil, err
	}
	var res driver.Result
	result := errNotRun
	broken := conn.Raw(func(c any) error {
		direct, ok := c.(driver.ExecerContext)
		if !ok {
			return nil
		}
		var err error
		switch res, err = direct.ExecContext(ctx, query, values); {
		case errors.Is(err, driver.ErrBadConn):
			result = err
			return err // the pool closes the connection
		case errors.Is(err, driver.ErrSkip):
		default:
			result = err
		}
		return nil
	})
	switch {
	case !errors.Is(result, errNotRun):
		return res, result
	case broken != nil:
		return nil, broken
	}
	return e.ExecContext(ctx, query, args...)
}

// named converts arguments to the form of a driver.
func named(args []any) ([]driver.NamedValue, error) {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		switch arg.(type) {
		case string, int64, []byte, nil:
		default:
			var err error
			if arg, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
				return nil, fmt.Errorf("sqldb: argument %d: %w", i+1, err)
			}
		}
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return values, nil
}

// Copies reports whether the []byte values of Each remain valid when the next row is read: the driver of SQLite copies them.
func Copies(q Queryer) bool {
	d, ok := q.(interface{ Dialect() Dialect })
	return ok && d.Dialect() == SQLite
}

// Text returns a column of text as bytes, which are valid until the next row is read and must not be modified. The bytes of a string are
// not copied, because a document can have several megabytes.
func Text(v driver.Value) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return unsafe.Slice(unsafe.StringData(v), len(v))
	}
	return nil
}

// String returns a column of text as a string.
func String(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
