package docstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/uuid"
)

// Numbered ids: on SQLite, the id of a document of a Numbered collection contains the seq of the document, so that the database finds the
// document by its seq. Such a document has no entry in the index of ids, which would cost a fifth of the pages that a commit of new
// documents writes. The column numbered is 1 for these documents and 0 for all others: documents of an earlier version, and documents whose
// id the caller of Insert has chosen. The index has the ids of the others only.
//
// Insert determines the seq of each new document: it is greater than every seq that the collection has used. The greatest used seq is that
// of the last document, or the column last of docstore_numbers, which a trigger sets when the last document is deleted. Insert reads it
// once in each transaction of the database. It needs no column with AUTOINCREMENT, whose number is on a page of its own. A table of an
// earlier version keeps its AUTOINCREMENT.
//
// On PostgreSQL, ids are not numbered: concurrent transactions take their numbers from a sequence when they insert, so that the id would be
// known only after the insert, and would take another update of the row.

func (c *collection[T]) Numbered() Collection[T] {
	c.t.positioned, c.t.numbered = true, true
	return c
}

// AssignsIDs reports whether Insert accepts an empty id for documents of the collection: the store then creates the id. The collection
// must have been opened.
func AssignsIDs(c Table) bool { return c.core().numbering.Load() }

const (
	numbersSchemaSQL = `CREATE TABLE IF NOT EXISTS {docstore_numbers} (
	collection TEXT PRIMARY KEY, first BIGINT NOT NULL, last BIGINT NOT NULL) WITHOUT ROWID`
	numbersSelectSQL = "SELECT first, last FROM {docstore_numbers} WHERE collection = ?"
	numbersInsertSQL = "INSERT INTO {docstore_numbers} (collection, first, last) VALUES (?, ?, ?) " +
		"ON CONFLICT (collection) DO UPDATE SET last = MAX(last, excluded.last)"
	numbersDeleteSQL = "DELETE FROM {docstore_numbers} WHERE collection = ?"
)

// numbersColumns are the columns of docstore_numbers. No document whose seq is at most first has a numbered id.
var numbersColumns = []string{"collection", "first", "last"}

// The form of a numbered id: a UUID of version 8 (RFC 9562) with 48 bits of the seq and 74 random bits.
const (
	numberBits   = uuid.NumberBits
	numberDigits = numberBits / 4
	numberShape  = "xxxxxxxx-xxxx-8xxx-yxxx-xxxxxxxxxxxx" // x: a hexadecimal digit; y: 8, 9, a or b
)

// numberedID returns an id that contains the seq.
func numberedID(seq int64) (string, error) {
	if seq>>numberBits != 0 {
		return "", fmt.Errorf("the number %d has more than %d bits", seq, numberBits)
	}
	return uuid.New(8, uint64(seq)), nil
}

// numberIn returns the seq in an id of the form that numberedID returns. Callers of Insert may have chosen an id of this form, too.
func numberIn(id string) (seq int64, ok bool) {
	if len(id) != uuid.Length {
		return 0, false
	}
	digits := 0
	for i := range len(id) {
		c, shape := id[i], numberShape[i]
		value := strings.IndexByte("0123456789abcdef", c)
		switch {
		case shape == 'x' && value < 0, shape == 'y' && (value < 8 || value > 11), shape != 'x' && shape != 'y' && c != shape:
			return 0, false
		}
		if digits < numberDigits && shape == 'x' {
			seq, digits = seq<<4|int64(value), digits+1
		}
	}
	return seq, true
}

// Conditions that find documents by id in a collection with numbered ids.
const (
	byIDSQL     = "id = ?"
	byNumberSQL = "seq = ? AND id = ?"
	namedSQL    = "numbered = 0" // the condition of the index
	byNameSQL   = namedSQL + " AND id = ?"
	anyFormSQL  = "(" + byNumberSQL + " OR " + byNameSQL + ")"
)

// byID returns the condition for a document by its id.
func (t *table) byID(id string) (where string, args []any) {
	if !t.numbering.Load() {
		return byIDSQL, []any{id}
	}
	if seq, ok := numberIn(id); ok {
		return anyFormSQL, []any{seq, id, id}
	}
	return byNameSQL, []any{id}
}

// maxNumberedList is the number of ids up to which a condition uses the numbers in the ids: SQLite limits the parameters of a statement.
const maxNumberedList = MaxList / 2

// writeIDs appends a condition for documents by their ids, of which there is at least one.
func (b *builder) writeIDs(ids []any) {
	if !b.table.numbering.Load() || len(ids) > maxNumberedList {
		ids = padList(ids)
		b.add("(id IN ("+placeholders(len(ids))+"))", ids...)
		return
	}
	var numbers, numbered []any
	for _, id := range ids {
		text, _ := id.(string)
		if seq, ok := numberIn(text); ok {
			numbers, numbered = append(numbers, seq), append(numbered, id)
		}
	}
	b.add("(")
	if numbers != nil {
		numbers, numbered = padList(numbers), padList(numbered)
		b.add("seq IN ("+placeholders(len(numbers))+") AND ", numbers...)
		b.add("id IN ("+placeholders(len(numbered))+") OR ", numbered...)
	}
	ids = padList(ids)
	b.add(namedSQL+" AND id IN ("+placeholders(len(ids))+"))", ids...)
}

// openNumbers prepares a table for numbered ids, and converts a table of an earlier version.
func (t *table) openNumbers(ctx context.Context, tx *sqldb.Tx) error {
	if !t.numbered || tx.Dialect() != sqldb.SQLite {
		return nil
	}
	schemas, err := tx.Schemas(ctx)
	if err != nil {
		return err
	}
	columns, err := tx.Columns(ctx, schemas[0], tx.Names().Plain(t.name))
	if err != nil {
		return err
	}
	for _, column := range columns {
		if column == "numbered" {
			return nil
		}
	}
	return execAll(ctx, tx,
		"ALTER TABLE "+t.quoted+" ADD COLUMN "+numberedColumn,
		"DROP INDEX {"+t.idIndexName()+"}",
		t.createIDIndex(true))
}

const numberedColumn = "numbered BIGINT NOT NULL DEFAULT 0"

// createIDIndex returns the statement that creates the index of ids.
func (t *table) createIDIndex(numbered bool) string {
	statement := "CREATE UNIQUE INDEX {." + t.idIndexName() + "} ON " + t.quoted + " (id)"
	if numbered {
		statement += " WHERE " + namedSQL
	}
	return statement
}

// openLast stores the greatest seq that was used, in a database of an earlier version, or if an earlier version has changed the database
// meanwhile.
func (t *table) openLast(ctx context.Context, tx *sqldb.Tx) error {
	last, err := t.lastSeq(ctx, tx)
	if err != nil {
		return err
	}
	var counted bool // the database has a table with AUTOINCREMENT
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence')").Scan(&counted); err != nil {
		return err
	}
	if counted {
		var before int64
		err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = ?", tx.Names().Plain(t.name)).Scan(&before)
		if err != nil {
			return err
		}
		last = max(last, before)
	}
	_, err = tx.Exec(ctx, numbersInsertSQL, t.name, last, last)
	return err
}

// lastSeq returns the greatest seq that the collection has used, or 0.
func (t *table) lastSeq(ctx context.Context, q Reader) (last int64, err error) {
	err = eachNumbers(ctx, q, 1, t.lastSQL, []any{t.name}, func(row []int64) error {
		last = row[0]
		return sqldb.ErrStop
	})
	return last, err
}

// number returns the seq of the next document.
func (t *table) number(ctx context.Context, tx *Tx) (seq int64, err error) {
	last, ok := tx.sql.Shared()[t.name]
	if !ok {
		if last, err = t.lastSeq(ctx, tx); err != nil {
			return 0, err
		}
	}
	return last + 1, nil
}

// assign returns the seq and the id of a new document. The argument id is the id that the caller of Insert has chosen, or empty.
func (t *table) assign(ctx context.Context, tx *Tx, id string) (seq int64, assigned string, err error) {
	if seq, err = t.number(ctx, tx); err != nil {
		return 0, "", err
	}
	if id == "" {
		assigned, err = numberedID(seq)
		return seq, assigned, err
	}
	n, ok := numberIn(id)
	if !ok {
		return seq, id, nil // the index of ids rejects a second document
	}
	taken := false
	err = sqldb.Each(ctx, tx, 1, "SELECT 1 FROM "+t.quoted+" WHERE "+byNumberSQL, []any{n, id}, func([]driver.Value) error {
		taken = true
		return sqldb.ErrStop
	})
	if err == nil && taken {
		err = &UniqueError{Collection: t.name, Index: ID, err: errors.New("a document has this id")}
	}
	return seq, id, err
}

// numberedOrder returns the clauses for the order of all documents by id. It merges the order of the index, which has the ids that are not
// numbered, with that of the numbers: numbered ids have the order of their numbers.
func (w *walk) numberedOrder(offset, n int) (clauses string, args []any) {
	direction, after, from := "", " > ", " >= "
	if w.desc {
		direction, after, from = " DESC", " < ", " <= "
	}
	limit := int64(offset) + int64(n)
	named, numbered := namedSQL, "numbered = 1 AND seq > (SELECT first FROM {docstore_numbers} WHERE collection = ?)"
	var namedArgs []any
	numberedArgs := []any{w.t.name}
	if w.pos != nil {
		key, position := w.pos.key(), " AND (id, seq)"+after+"(?, ?)"
		named += position
		namedArgs = append(namedArgs, key, w.pos.Seq)
		text, _ := key.(string)
		numbered += " AND seq" + from + "?" + position
		numberedArgs = append(numberedArgs, w.nearest(text), key, w.pos.Seq)
	}
	part := func(where, order string) string {
		return "SELECT seq, id FROM (SELECT seq, id FROM " + w.t.quoted + " WHERE " + where + " ORDER BY " + order + direction + sqldb.Limit + ")"
	}
	clauses = " WHERE seq IN (SELECT seq FROM (" + part(named, "id") + " UNION ALL " + part(numbered, "seq") + ") ORDER BY id" + direction +
		sqldb.Limit + sqldb.Offset + ") ORDER BY id" + direction
	args = append(append(append(append(namedArgs, limit), numberedArgs...), limit), int64(n), int64(offset))
	return clauses, args
}

// nearest returns the number of the first numbered id that can follow a text in the order of the walk.
func (w *walk) nearest(text string) int64 {
	form := func(seq int, rest string) string {
		digits := fmt.Sprintf("%012x", seq)
		return digits[:8] + "-" + digits[8:] + rest
	}
	if w.desc {
		return int64(sort.Search(1<<numberBits, func(seq int) bool { return form(seq, "-8000-8000-000000000000") >= text })) - 1
	}
	return int64(sort.Search(1<<numberBits, func(seq int) bool { return form(seq, "-8fff-bfff-ffffffffffff") > text }))
}
