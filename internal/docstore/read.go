package docstore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// row is a stored document as read from the database.
type row struct {
	seq, rev, created, updated int64

	id      string
	text    []byte // for a row that the sink does not keep: valid until the next row is read; nil if it is longer than columns.longest
	owned   bool   // no other row will use the memory of the text
	length  int64  // of the text, if columns.longest is set
	key     any    // key in the order of the query: string, int64 or nil
	linked  []string
	hasLink bool

	value *atomic.Value // for a kept row: the decoded document, if its copies share no memory
	raw   *Raw          // for a row from the cache: memory for row.asRaw
}

// getRow calls each for the row that has the id, or returns ErrNotFound.
func (t *table) getRow(ctx context.Context, q Reader, id string, link *Link, each func(*row) error) error {
	return t.getRowWith(ctx, q, id, columns{link: link}, each)
}

// getRowWith does the same as getRow for any columns.
func (t *table) getRowWith(ctx context.Context, q Reader, id string, with columns, each func(*row) error) error {
	if !validID(id) {
		return t.notFound(id)
	}
	cache := t.rows(q)
	if found, err := t.recall(cache, id, nil, with, each); found {
		return t.wrap(err)
	}
	at, keep := cache.Now()
	found := false
	read := func(where string, args ...any) error {
		return t.readRows(sqldb.Brief(ctx, q), q, with, t.getSQL(with, where), args, func(r *row) error {
			found = true
			if keep {
				t.keep(cache, at, r, nil)
			}
			if err := each(r); err != nil {
				return err
			}
			return sqldb.ErrStop // the id is unique: looking for another row costs a call of the driver
		})
	}
	var err error
	if !t.numbering.Load() {
		err = read(byIDSQL, id)
	} else {
		seq, ok := numberIn(id)
		if ok {
			err = read(byNumberSQL, seq, id)
		}
		if err == nil && !found {
			err = read(byNameSQL, id)
		}
	}
	if err == nil && !found {
		err = t.notFound(id)
	}
	return err
}

// recallMax is the number of documents up to which getRows looks for each one in the cache.
const recallMax = 16

// getEach is getRows with a link, for few ids of a collection whose documents are cached.
func (t *table) getEach(ctx context.Context, q Reader, ids []string, link *Link, each func(*row) error) error {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		if err := t.getRow(ctx, q, id, link, each); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// chunkSize is the number of documents that one statement reads, if the caller does not give a number.
const chunkSize = 512

// getRows calls each for every row that has one of the ids, in any order. Rows that are read one by one have the link.
func (t *table) getRows(ctx context.Context, q Reader, ids []string, link *Link, each func(*row) error) error {
	if cache := t.rows(q); cache != nil && len(ids) <= recallMax {
		return t.getEach(ctx, q, ids, link, each)
	}
	for len(ids) > 0 {
		chunk := ids[:min(len(ids), chunkSize)]
		ids = ids[len(chunk):]
		where, args, err := t.where(IDs(chunk...))
		if err != nil {
			return t.wrap(err)
		}
		if err := ctx.Err(); err != nil {
			return t.wrap(err)
		}
		if err := t.readRows(sqldb.Brief(ctx, q), q, columns{}, t.selectSQL(columns{})+where, args, each); err != nil {
			return err
		}
	}
	return nil
}

// readRows calls each for every row of a query. The query starts with the result of selectSQL for the same columns.
func (t *table) readRows(ctx context.Context, q Reader, with columns, query string, args []any, each func(*row) error) error {
	tx := cachingTx(q, t, with)
	if tx == nil {
		return t.wrap(t.stream(ctx, q, with, query, args, each))
	}
	rows, err := tx.cachedRows(ctx, t, with, query, args)
	if err != nil {
		return t.wrap(err)
	}
	for i := range rows {
		switch err := each(&rows[i]); {
		case errors.Is(err, sqldb.ErrStop):
			return nil
		case err != nil:
			return t.wrap(err)
		}
	}
	return nil
}

// stream does the same as readRows, but never uses the cache.
func (t *table) stream(ctx context.Context, q Reader, with columns, query string, args []any, each func(*row) error) error {
	r := row{owned: sqldb.Copies(q)}
	return sqldb.Each(ctx, q, with.count(), query, args, func(values []driver.Value) error {
		if err := r.read(values, with); err != nil {
			return err
		}
		return each(&r)
	})
}

// read sets the row to the values of the columns.
func (r *row) read(values []driver.Value, with columns) error {
	for i, n := range []*int64{&r.seq, &r.rev, &r.created, &r.updated} {
		var ok bool
		if *n, ok = values[i].(int64); !ok {
			return fmt.Errorf("column %d of a document is %T, not an integer", i, values[i])
		}
	}
	r.id, r.text = sqldb.String(values[4]), sqldb.Text(values[5])
	values = values[plainColumns:]
	if with.order != nil {
		switch {
		case values[0] == nil || with.order.kind == Int:
			r.key = values[0]
		default:
			r.key = sqldb.String(values[0])
		}
		values = values[1:]
	}
	if with.link != nil {
		r.linked, r.hasLink = linkedIDs(r.id, sqldb.String(values[0]))
		values = values[1:]
	}
	if with.longest > 0 {
		r.length, _ = values[0].(int64)
	}
	return nil
}

// decode decodes the JSON text of a row. Types with an UnmarshalJSON method decode it directly: json.Unmarshal would first validate the
// text, and stored text was valid when it was written.
func (t *table) decode(r *row, into any) (err error) {
	if own, ok := into.(json.Unmarshaler); ok {
		err = own.UnmarshalJSON(r.text)
	} else {
		err = json.Unmarshal(r.text, into)
	}
	if err != nil {
		return fmt.Errorf("%q: stored document: %w", r.id, err)
	}
	return nil
}

// Count implements Collection.
func (t *table) Count(ctx context.Context, q Reader, cond Cond) (int, error) {
	if cond == nil && t.hasPositions(q) {
		return t.countPositions(ctx, q)
	}
	where, args, err := t.where(cond)
	if err != nil {
		return 0, t.wrap(err)
	}
	return t.count(ctx, q, where, args)
}

func (t *table) count(ctx context.Context, q Reader, where string, args []any) (int, error) {
	var n int
	err := q.QueryRow(ctx, "SELECT COUNT(*) FROM "+t.quoted+where, args...).Scan(&n)
	return n, t.wrap(err)
}

// Revisions passes the ids and revisions of the documents with the ids to the function use, in the order of the bytes of the ids. lock is a
// clause of PostgreSQL that locks the rows, such as " FOR UPDATE", or empty.
func Revisions(ctx context.Context, c Table, tx *Tx, ids []string, lock string, use func(id string, rev int64)) error {
	t := c.core()
	where, args, err := t.where(IDs(ids...))
	if err != nil {
		return t.wrap(err)
	}
	rows, err := tx.Query(ctx, "SELECT id, rev FROM "+t.quoted+where+" ORDER BY id"+lock, args...)
	if err != nil {
		return t.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var rev int64
		if err := rows.Scan(&id, &rev); err != nil {
			return t.wrap(err)
		}
		use(id, rev)
	}
	return t.wrap(rows.Err())
}

func (t *table) notFound(id string) error {
	return fmt.Errorf("%s: %q: %w", t.name, cut(strings.ToValidUTF8(id, "\ufffd"), maxQuotedID), ErrNotFound)
}
