package docstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// table is a collection without the type of its documents: names, and the SQL statements derived from them. The methods of table do not
// depend on the document type, so the compiler compiles them only once.
//
// The columns are seq (insertion order), id, rev, created and updated (Unix milliseconds), doc (the JSON text), and one for each
// single-valued index: k_NAME of kind Text, n_NAME of kind Int. A Multi index has the side table COLLECTION__NAME with seq and k or n; see
// side.go. (The SQL type of a column name never changes, because connections keep prepared statements.)
type table struct {
	name       string
	quoted     string
	columns    map[string]*column // index name -> column; also contains id, created and updated
	indexes    []index            // in the order of declaration
	err        error              // why the declaration is invalid; Open returns it
	cached     bool               // see Collection.Cached
	positioned bool               // see Collection.Positioned
	numbered   bool               // see Collection.Numbered
	numbering  atomic.Bool        // the collection is Numbered, and its store is on SQLite
	recent     bool               // see Collection.CachedReads
	related    bool               // a Link reads the collection
	tag        uint16             // of cached rows
	flat       bool               // copies of a document share no memory
	blank      func() any         // returns a pointer to a new document

	insertSQL, updateSQL string // updateSQL ends before the condition for the id
	insertNumberedSQL    string // insertSQL with the columns seq and numbered
	insertReturningSQL   string // insertSQL with a clause that returns the seq
	lastSQL              string // selects the greatest seq that was used
	insertMarks          string // placeholders of insertSQL for one document
	reviseSQL            string // updates a document whose single-valued indexes do not change
	selectPlainSQL       string // selectSQL without the key of an order and without a link
	versionSQL           string // selects the document with a seq and a rev

	gets    sync.Map // getKey -> statement of getSQL
	selects sync.Map // columns -> result of selectSQL
}

// index is an Index whose values are computed from the JSON text.
type index struct {
	column
	unique  bool
	version int
	values  func(document any) []any // computes the values for a pointer to a document
	same    func(a, b any) bool      // see Index.Same; may be nil

	insertSQL, deleteSQL string // statements for the side table
}

var (
	validCollection = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	validIndex      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$`)
)

// insertColumns is the number of columns that insertSQL fills in addition to those of the indexes.
const insertColumns = 5

// maxNameLength is the length in bytes at which PostgreSQL truncates names.
const maxNameLength = 63

// reservedPrefix is the prefix of the names of docstore's own tables.
const reservedPrefix = "docstore"

// maxPlain returns the length of the longest name of a database index of the table, without the prefix of sqldb.Names.
func (t *table) maxPlain() int {
	n := len(t.idIndexName())
	for i := range t.indexes {
		n = max(n, len(t.columnIndexName(t.indexes[i].name)))
	}
	return n
}

func newTable(name string, indexes []index) *table {
	t := &table{
		name:    name,
		tag:     tagOf(name),
		quoted:  "{" + name + "}",
		indexes: indexes,
		columns: map[string]*column{
			ID:      {name: ID, field: "id", quoted: "id", kind: Text, raw: true},
			Created: {name: Created, field: "created", quoted: "created", kind: Int},
			Updated: {name: Updated, field: "updated", quoted: "updated", kind: Int},
		},
	}
	if !validCollection.MatchString(name) || strings.HasPrefix(name, reservedPrefix) || len(t.idIndexName()) > maxNameLength {
		t.err = fmt.Errorf("collection name %q is not allowed", name)
		return t
	}
	names, sets := "id, rev, created, updated, doc", "rev = rev + 1, updated = ?, doc = ?"
	marks := placeholders(insertColumns)
	// Contains names in lower case, because names are case-insensitive in SQLite.
	folded := map[string]bool{ID: true, Created: true, Updated: true}
	for i := range t.indexes {
		ix := &t.indexes[i]
		lower := strings.ToLower(ix.name)
		if !validIndex.MatchString(ix.name) || folded[lower] || len(t.columnIndexName(ix.name)) > maxNameLength {
			t.err = fmt.Errorf("collection %s: index name %q is not allowed, or another index has the name", name, ix.name)
			return t
		}
		folded[lower] = true
		ix.field = fieldName(ix.name, ix.kind, ix.multi)
		ix.quoted = quote(ix.field)
		if ix.multi {
			ix.side = "{" + t.sideName(ix.name) + "}"
			ix.insertSQL = "INSERT INTO " + ix.side + " (" + ix.quoted + ", seq) VALUES (?, ?) ON CONFLICT (" + ix.quoted + ", seq) DO NOTHING"
			ix.deleteSQL = "DELETE FROM " + ix.side + " WHERE " + ix.quoted + " = ? AND seq = ?"
		} else {
			names += ", " + ix.quoted
			sets += ", " + ix.quoted + " = ?"
			marks += ", ?"
		}
		t.columns[ix.name] = &ix.column
	}
	t.insertMarks = "(" + marks + ")"
	t.insertSQL = "INSERT INTO " + t.quoted + " (" + names + ") VALUES " + t.insertMarks
	t.selectPlainSQL = "SELECT " + plainNames + ", doc FROM " + t.quoted
	t.versionSQL = t.selectPlainSQL + " WHERE seq = ? AND rev = ?"
	t.insertReturningSQL = t.insertSQL + " RETURNING seq"
	t.insertNumberedSQL = "INSERT INTO " + t.quoted + " (" + names + ", seq, numbered) VALUES (" + marks + ", ?, ?)"
	t.lastSQL = "SELECT MAX(COALESCE((SELECT MAX(seq) FROM " + t.quoted + "), 0), " +
		"COALESCE((SELECT last FROM {docstore_numbers} WHERE collection = ?), 0))"
	t.updateSQL = "UPDATE " + t.quoted + " SET " + sets + " WHERE "
	t.reviseSQL = t.revisionSQL("")
	return t
}

// columns are what a statement reads in addition to the document.
type columns struct {
	order   *column // unless nil, the keys of this column are read
	link    *Link   // unless nil, the ids of this link are read
	longest int     // unless 0, the length of each document is read too, and the text only of documents that are not longer
}

// plainNames are the columns that every statement reads before the text of the document.
const plainNames = "seq, rev, created, updated, id"

// plainColumns is the number of columns in plainNames and the text.
const plainColumns = 6

// count returns the number of columns.
func (with columns) count() int {
	n := plainColumns
	if with.order != nil {
		n++
	}
	if with.link != nil {
		n++
	}
	if with.longest > 0 {
		n++
	}
	return n
}

// selectSQL returns the beginning of a statement that reads documents.
func (t *table) selectSQL(with columns) string {
	if with == (columns{}) {
		return t.selectPlainSQL
	}
	if text, ok := t.selects.Load(with); ok {
		return text.(string)
	}
	text := t.composeSelect(with)
	t.selects.Store(with, text) // a program uses few combinations of columns
	return text
}

func (t *table) composeSelect(with columns) string {
	names := "SELECT " + plainNames + ", "
	if with.longest > 0 {
		names += "CASE WHEN octet_length(doc) <= " + strconv.Itoa(with.longest) + " THEN doc END"
	} else {
		names += "doc"
	}
	if with.order != nil {
		names += ", " + with.order.quoted
	}
	if with.link != nil {
		names += ", " + with.link.sql(t)
	}
	if with.longest > 0 {
		names += ", octet_length(doc)"
	}
	return names + " FROM " + t.quoted
}

// getKey selects a statement of getSQL.
type getKey struct {
	columns
	where string
}

// getSQL returns the statement that reads a document with a condition for its id.
func (t *table) getSQL(with columns, where string) string {
	key := getKey{with, where}
	if text, ok := t.gets.Load(key); ok {
		return text.(string)
	}
	text := t.selectSQL(with) + " WHERE " + where
	t.gets.Store(key, text) // a program uses few combinations of columns
	return text
}

// fieldName returns the name of the column for an index.
func fieldName(name string, kind Kind, multi bool) string {
	field := "k"
	if kind == Int {
		field = "n"
	}
	if multi {
		return field
	}
	return field + "_" + name
}

// Name implements Table.
func (t *table) Name() string { return t.name }

func (t *table) core() *table { return t }

func quote(name string) string { return `"` + name + `"` }

// column returns an index or common column by name.
func (t *table) column(name string) (*column, error) {
	if c, ok := t.columns[name]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("no index %q is declared", name)
}

// where returns " WHERE ..." for a condition.
func (t *table) where(cond Cond) (sql string, args []any, err error) {
	b, err := t.build(cond)
	if err != nil {
		return "", nil, err
	}
	return " WHERE " + b.sql.String(), b.args, nil
}

func (t *table) build(cond Cond) (*builder, error) {
	b := &builder{table: t}
	return b, writeCond(b, cond)
}

// insertRow inserts a document and returns its seq. In SQLite, reading the last row id of a connection is free, while RETURNING costs about
// 3 µs.
func (t *table) insertRow(ctx context.Context, tx *sqldb.Tx, args []any) (seq int64, err error) {
	if tx.Dialect() != sqldb.SQLite {
		err = tx.ExecReturning(ctx, []any{&seq}, t.insertReturningSQL, args...)
		return seq, err
	}
	res, err := tx.Exec(ctx, t.insertSQL, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// insertManySQL returns insertSQL for n documents.
func (t *table) insertManySQL(n int) string {
	return t.insertSQL + strings.Repeat(", "+t.insertMarks, n-1)
}

// hasMulti reports whether the table has side tables.
func (t *table) hasMulti() bool {
	return slices.ContainsFunc(t.indexes, func(ix index) bool { return ix.multi })
}

// keys are the index values of one document: single-valued ones in the order of the columns, multi-valued ones by index.
type keys struct {
	single []any
	multi  [][]any // parallel to table.indexes; nil for single-valued ones
}

// keysOf computes the values of the indexes for a document.
func (t *table) keysOf(document any) (keys, error) {
	k := keys{single: make([]any, 0, len(t.indexes)), multi: make([][]any, len(t.indexes))}
	for i := range t.indexes {
		ix := &t.indexes[i]
		if ix.multi {
			found, err := ix.keysOf(document)
			if err != nil {
				return k, err
			}
			k.multi[i] = found
			continue
		}
		key, err := ix.keyOf(document)
		if err != nil {
			return k, err
		}
		k.single = append(k.single, key)
	}
	return k, nil
}

// keysOf computes the values of the index for a document.
func (ix *index) keysOf(document any) ([]any, error) {
	found, err := ix.keys(ix.values(document))
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", ix.name, err)
	}
	return found, nil
}

// keyOf computes the value of a single-valued index for a document, or nil.
func (ix *index) keyOf(document any) (key any, err error) {
	values := ix.values(document)
	if len(values) == 1 { // the usual case needs no list
		if key, err = ix.key(values[0]); err != nil {
			err = fmt.Errorf("index %s: %w", ix.name, err)
		}
		return key, err
	}
	found, err := ix.keys(values)
	switch {
	case err != nil:
		return nil, fmt.Errorf("index %s: %w", ix.name, err)
	case len(found) == 0:
		return nil, nil
	}
	return found[0], nil
}

// keys converts the values of one document: without duplicates and nil.
func (ix *index) keys(values []any) ([]any, error) {
	out := make([]any, 0, len(values))
	var seen map[any]bool // created only for more keys than linearKeys
	for _, value := range values {
		key, err := ix.key(value)
		if err != nil {
			return nil, err
		}
		if len(out) == linearKeys && seen == nil {
			seen = make(map[any]bool, len(values))
			for _, key := range out {
				seen[key] = true
			}
		}
		if key == nil || seen[key] || seen == nil && slices.Contains(out, key) {
			continue
		}
		if seen != nil {
			seen[key] = true
		}
		out = append(out, key)
	}
	if !ix.multi && len(out) > 1 {
		return nil, errors.New("the document has several values, but the index is not declared Multi: set Index.Multi")
	}
	return out, nil
}

// linearKeys is the number of keys up to which comparing them one by one is faster than a map.
const linearKeys = 16

// explain converts a unique violation to a *UniqueError that names the index.
func (t *table) explain(err error) error {
	violation, ok := errors.AsType[*sqldb.UniqueError](err)
	if !ok {
		return err
	}
	for i := range t.indexes {
		ix := &t.indexes[i]
		postgres, sqlite := t.columnIndexName(ix.name), t.name+"."+ix.field
		if ix.multi {
			postgres, sqlite = t.sideUniqueName(ix.name), t.sideName(ix.name)+"."+ix.field
		}
		if violation.Constraint == postgres || violation.Constraint == sqlite {
			return &UniqueError{Collection: t.name, Index: ix.name, err: err}
		}
	}
	return &UniqueError{Collection: t.name, Index: ID, err: err}
}
