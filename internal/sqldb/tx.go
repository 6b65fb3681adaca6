package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Queryer reads. Texts are written once, with ? placeholders; PostgreSQL gets $1, $2... instead. A ? inside of a literal, a
// quoted identifier or a comment stays. Names in braces are replaced, see Names.
type Queryer interface {
	// Query is sql.DB.QueryContext. The caller closes the rows.
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	// QueryRow is sql.DB.QueryRowContext.
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// Brief returns the context for a query of q that an index answers at once. On SQLite it is not watched for its end: that
// takes a goroutine of database/sql and one of the driver, which cost a fifth of such a query and a switch between
// goroutines. On PostgreSQL, which may be slow to answer at any time, it is ctx.
func Brief(ctx context.Context, q Queryer) context.Context {
	d, ok := q.(interface{ Dialect() Dialect })
	if !ok || d.Dialect() != SQLite || ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Limit and Offset are clauses with a placeholder. The cast hides it from SQLite's planner, which otherwise looks at the
// value and compiles the statement again for each execution: that took half of the time of a query by index.
const (
	Limit  = " LIMIT CAST(? AS BIGINT)"
	Offset = " OFFSET CAST(? AS BIGINT)"
)

// Execer is the part of *sql.Tx, *sql.Conn and *sql.DB that runs statements.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx is one caller's share of a transaction. It is used by one goroutine at a time and not after the function it was handed
// to has returned.
//
// After a statement failed, the transaction can only be rolled back: later statements fail with the first error, and an
// Update whose function hides it fails with it too. PostgreSQL behaves so by itself; SQLite is held to the same.
type Tx struct {
	conn    Execer
	texts   *rewriter
	after   []func()
	failed  error
	detach  bool // a started statement is not interrupted by its context
	expired bool
}

// Wrap returns a Tx of an embedder's own transaction. The embedder commits, and calls Committed afterwards so that the
// functions given to AfterCommit run.
func (db *DB) Wrap(tx Execer) *Tx { return &Tx{conn: tx, texts: db.texts} }

// Err returns the error of the first statement that failed: the transaction can only be rolled back then.
func (tx *Tx) Err() error { return tx.failed }

// Dialect tells which database the transaction runs on.
func (tx *Tx) Dialect() Dialect { return tx.texts.dialect }

// Names returns where the tables are.
func (tx *Tx) Names() Names { return tx.texts.names }

// Query reads rows, which the caller closes: on SQLite rows that stay open hold up every update that follows. Errors are those of Exec.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := tx.begin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.conn.QueryContext(ctx, tx.texts.rewrite(query), args...)
	return rows, tx.note(err)
}

// QueryRow reads one row, by Scan, which has to be called. On a transaction that already failed, Scan returns an error.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	ctx, err := tx.begin(ctx)
	if err != nil {
		// A sql.Row with an error of our own cannot be made; a cancelled context lets database/sql make one, or the driver.
		cancelled, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		cancel(err)
		return tx.conn.QueryRowContext(cancelled, "SELECT 1")
	}
	row := tx.conn.QueryRowContext(ctx, tx.texts.rewrite(query), args...)
	_ = tx.note(row.Err()) // Scan reports it
	return row
}

// Exec runs a statement that returns no rows. A unique violation is a *UniqueError.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := tx.begin(ctx)
	if err != nil {
		return nil, err
	}
	res, err := tx.conn.ExecContext(ctx, tx.texts.rewrite(query), args...)
	return res, tx.note(err)
}

// ExecReturning runs a writing statement with a RETURNING clause and scans its first row into dest. It returns sql.ErrNoRows,
// which does not fail the transaction, when there is none. Other errors are those of Exec.
func (tx *Tx) ExecReturning(ctx context.Context, dest []any, query string, args ...any) error {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := rows.Next()
	if found {
		if err := rows.Scan(dest...); err != nil {
			return tx.note(err)
		}
		for rows.Next() { // SQLite finishes the statement only when it is read to its end
		}
	}
	if err := rows.Err(); err != nil {
		return tx.note(err)
	}
	if err := rows.Close(); err != nil {
		return tx.note(err)
	}
	if !found {
		return sql.ErrNoRows
	}
	return nil
}

// AfterCommit registers f to run once after the commit, in the order of registration, in the goroutine that called Update,
// before Update returns. It does not run when the transaction is rolled back.
func (tx *Tx) AfterCommit(f func()) { tx.after = append(tx.after, f) }

// Committed runs and forgets the functions given to AfterCommit. Only owners of a transaction given to WrapTx call it.
func (tx *Tx) Committed() {
	after := tx.after
	tx.after = nil
	for _, f := range after {
		f()
	}
}

// Execer gives the transaction in the shape of database/sql, for code that writes SQL of its own. Placeholders and failures
// are treated as by the methods of Tx.
func (tx *Tx) Execer() Execer { return txExecer{tx} }

type txExecer struct{ tx *Tx }

func (e txExecer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return e.tx.Exec(ctx, query, args...)
}

func (e txExecer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return e.tx.Query(ctx, query, args...)
}

func (e txExecer) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return e.tx.QueryRow(ctx, query, args...)
}

var errFinished = errors.New("sqldb: the transaction is over")

// begin refuses statements of a transaction that is over or failed, and returns the context to run the next one with.
func (tx *Tx) begin(ctx context.Context) (context.Context, error) {
	switch {
	case tx.expired:
		return ctx, errFinished
	case tx.failed != nil:
		return ctx, fmt.Errorf("sqldb: the transaction already failed: %w", tx.failed)
	}
	if !tx.detach {
		return ctx, nil
	}
	// SQLite rolls the whole transaction back when a writing statement is interrupted, and that would take the other callers
	// of a group commit along. So a context is looked at between statements, and a started statement comes to its end.
	if err := context.Cause(ctx); err != nil {
		return ctx, tx.note(err)
	}
	return context.WithoutCancel(ctx), nil
}

func (tx *Tx) note(err error) error {
	if err == nil {
		return nil
	}
	err = tx.texts.names.own(classify(err))
	if tx.failed == nil {
		tx.failed = err
	}
	return err
}
