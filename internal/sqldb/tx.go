package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// Queryer runs queries. Queries have ? placeholders on both databases; for PostgreSQL they become $1, $2... A ? inside a literal, a quoted
// identifier or a comment is not replaced. Names in braces are replaced, see Names.
type Queryer interface {
	// Query calls sql.DB.QueryContext. The caller closes the rows.
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	// QueryRow calls sql.DB.QueryRowContext.
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// Brief returns the context for a short query of q that uses an index. On SQLite the query does not watch the returned context for
// cancellation. To watch a context, database/sql and the driver each start a goroutine, which takes a fifth of the time of such a query. On
// PostgreSQL, whose responses may be slow at any time, Brief returns ctx.
func Brief(ctx context.Context, q Queryer) context.Context {
	d, ok := q.(interface{ Dialect() Dialect })
	if !ok || d.Dialect() != SQLite || ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Limit and Offset are clauses with a placeholder. The cast hides the placeholder from SQLite's planner, which otherwise inspects the value
// and compiles the statement again for each execution: that took half of the time of a query by index.
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

// Tx is the transaction of one caller, possibly a part of a group commit. It is used by one goroutine at a time and not after the function
// that received it has returned.
//
// After a statement failed, the transaction can only be rolled back: later statements fail with the first error. Update also returns that
// error if its function returns nil. That is PostgreSQL's behavior; the package enforces it on SQLite.
type Tx struct {
	conn    Execer
	texts   *rewriter
	after   []func()
	failed  error
	detach  bool // a started statement is not interrupted by its context
	expired bool

	unguarded bool // see DB.UpdateUnguarded
	changed   bool // a statement may have changed a row

	rows     *cachedRows // of the DB, for updates of its group commit; nil otherwise
	keys     []rowcache.Key
	declared bool           // the next statement changes only rows with the keys
	anyRow   bool           // a statement may have changed other rows of cached tables
	written  []rowcache.Row // see Remember

	shared  map[string]int64 // see Shared
	earlier *[]*job          // the updates of the same commit before this one; nil outside of a group commit
}

// Shared returns a map for values that later updates of the same transaction of the database need: the updates of a group commit share the
// map. It is empty at the start of the transaction, and after changes of one of these updates have been undone. No other connection can
// write to an SQLite database in the meantime.
func (tx *Tx) Shared() map[string]int64 {
	if tx.shared == nil {
		tx.shared = map[string]int64{}
	}
	return tx.shared
}

// committing reports whether the transaction is to be committed even if its context has ended.
func (tx *Tx) committing() bool { return tx.unguarded && tx.changed }

// Wrap returns a Tx of an embedder's own transaction. The embedder commits, and then calls Committed to run the functions passed to
// AfterCommit.
func (db *DB) Wrap(tx Execer) *Tx { return &Tx{conn: tx, texts: db.texts} }

// Err returns the error of the first statement that failed. The transaction can then only be rolled back.
func (tx *Tx) Err() error { return tx.failed }

// Dialect returns the dialect of the transaction's database.
func (tx *Tx) Dialect() Dialect { return tx.texts.dialect }

// Names returns the schema and prefix of the tables.
func (tx *Tx) Names() Names { return tx.texts.names }

// Query runs a query. The caller closes the rows: on SQLite, open rows block every later update. Errors are those of Exec.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := tx.begin(ctx)
	if err != nil {
		return nil, err
	}
	query = tx.texts.rewrite(query)
	tx.writes(query)
	rows, err := tx.conn.QueryContext(ctx, query, args...)
	tx.changed = tx.changed || err == nil && !strings.HasPrefix(query, "SELECT")
	return rows, tx.note(err)
}

// QueryRow reads one row. The caller must call Scan. On a transaction that has failed, Scan returns an error.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	ctx, err := tx.begin(ctx)
	if err != nil {
		// The package cannot create a sql.Row with an error of its own; with a canceled context, database/sql or the driver creates one.
		canceled, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		cancel(err)
		return tx.conn.QueryRowContext(canceled, "SELECT 1")
	}
	query = tx.texts.rewrite(query)
	tx.writes(query)
	row := tx.conn.QueryRowContext(ctx, query, args...)
	_ = tx.note(row.Err()) // Scan reports it
	return row
}

// Exec runs a statement that returns no rows. A unique violation is a *UniqueError.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := tx.begin(ctx)
	if err != nil {
		return nil, err
	}
	query = tx.texts.rewrite(query)
	known := tx.anyRow
	tx.writes(query)
	res, err := exec(ctx, tx.conn, query, args)
	if err == nil && (!tx.changed || tx.anyRow && !known) {
		n, err := res.RowsAffected()
		tx.changed = tx.changed || err != nil || n > 0
		if err == nil && n == 0 && strings.HasPrefix(query, "DELETE ") && !strings.Contains(query, ";") {
			tx.anyRow = known
		}
	}
	return res, tx.note(err)
}

// ExecReturning runs a writing statement with a RETURNING clause and scans its first row into dest. If there is no row, it returns
// sql.ErrNoRows, which does not fail the transaction. Other errors are those of Exec.
func (tx *Tx) ExecReturning(ctx context.Context, dest []any, query string, args ...any) error {
	changed := tx.changed
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
		for rows.Next() { // SQLite completes the statement only when all of its rows are read
		}
	}
	if err := rows.Err(); err != nil {
		return tx.note(err)
	}
	if err := rows.Close(); err != nil {
		return tx.note(err)
	}
	if !found {
		tx.changed = changed
		return sql.ErrNoRows
	}
	return nil
}

// AfterCommit registers f to run once after the commit, in the order of registration, in the goroutine that called Update, before Update
// returns. It does not run after a rollback.
func (tx *Tx) AfterCommit(f func()) { tx.after = append(tx.after, f) }

// Committed runs and removes the functions passed to AfterCommit. Only owners of a transaction passed to Wrap call it.
func (tx *Tx) Committed() {
	after := tx.after
	tx.after = nil
	for _, f := range after {
		f()
	}
}

// Execer returns the transaction as an Execer, for code with its own SQL. The returned Execer treats placeholders and failures in the same
// way as the methods of Tx.
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

var errFinished = errors.New("sqldb: the transaction has ended: use a Tx only inside the function that received it")

// begin rejects statements of a transaction that has ended or failed, and returns the context for the next statement.
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
	if tx.committing() {
		return context.WithoutCancel(ctx), nil
	}
	// When a writing statement is interrupted, SQLite rolls the whole transaction back, including the changes of other callers in a group
	// commit. So the context is checked only between statements, and a started statement runs until complete.
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
