package docstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Collection keeps documents of the type T. It holds no connection and no state: a program declares it once and hands it to
// Open of every store.
type Collection[T any] struct {
	table  *table
	values []func(*T) []any // parallel to table.indexes
	flat   bool             // a copy of a document shares nothing with it
}

// Doc is a stored document.
type Doc[T any] struct {
	ID      string
	Rev     int64     // 1 after Insert, one more with each Update
	Created time.Time // UTC, in milliseconds
	Updated time.Time // UTC, in milliseconds
	Value   T

	seq     int64
	key     any // in the order of the query that found it: string, int64 or nil
	linked  []string
	hasLink bool
}

// Seq is the document's place in the order of insertion: positive, growing, and never given again.
func (d *Doc[T]) Seq() int64 { return d.seq }

// NewCollection declares a collection. The name is made of lower case letters, digits and single underscores; Open reports
// declarations that are not allowed.
func NewCollection[T any](name string, indexes ...Index[T]) *Collection[T] {
	c := &Collection[T]{flat: isFlat(reflect.TypeFor[T]())}
	erased := make([]index, len(indexes))
	for i, ix := range indexes {
		erased[i] = index{column: column{name: ix.Name, kind: ix.Kind, multi: ix.Multi}, unique: ix.Unique, version: ix.Version}
		c.values = append(c.values, ix.Values)
	}
	c.table = newTable(name, erased)
	if i := slices.IndexFunc(indexes, func(ix Index[T]) bool { return ix.Values == nil }); i >= 0 {
		c.table.err = fmt.Errorf("index %s has no Values", indexes[i].Name)
	}
	return c
}

// Name returns the collection's name.
func (c *Collection[T]) Name() string { return c.table.name }

// Get returns the document with the id, or ErrNotFound.
func (c *Collection[T]) Get(ctx context.Context, q Reader, id string) (Doc[T], error) {
	return c.GetLinked(ctx, q, id, nil)
}

// GetLinked is Get that reads a link along, unless that is nil.
func (c *Collection[T]) GetLinked(ctx context.Context, q Reader, id string, link *Link) (Doc[T], error) {
	if !validID(id) {
		return Doc[T]{}, c.notFound(id)
	}
	with := columns{link: link}
	docs, err := c.read(sqldb.Brief(ctx, q), q, with, c.table.selectSQL(with)+" WHERE id = ?", []any{id})
	if err == nil && len(docs) == 0 {
		err = c.notFound(id)
	}
	if err != nil {
		return Doc[T]{}, err
	}
	return docs[0], nil
}

// GetMany returns the documents with the ids, in the order of the ids; missing ones are left out, repeated ones come once.
func (c *Collection[T]) GetMany(ctx context.Context, q Reader, ids []string) ([]Doc[T], error) {
	byID := make(map[string]Doc[T], len(ids))
	for rest := ids; len(rest) > 0; {
		chunk := rest[:min(len(rest), chunkSize)]
		rest = rest[len(chunk):]
		where, args, err := c.table.where(IDs(chunk...))
		if err != nil {
			return nil, c.wrap(err)
		}
		docs, err := c.read(ctx, q, columns{}, c.table.selectSQL(columns{})+where, args)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			byID[doc.ID] = doc
		}
	}
	out := make([]Doc[T], 0, len(byID))
	for _, id := range ids {
		if doc, ok := byID[id]; ok {
			out = append(out, doc)
			delete(byID, id)
		}
	}
	return out, nil
}

// Insert stores a new document. It returns ErrBadID, or a *UniqueError when the id or a value of a unique index is taken;
// after the latter the transaction can only be rolled back.
func (c *Collection[T]) Insert(ctx context.Context, tx *Tx, id string, value T) (Doc[T], error) {
	p, err := c.Prepare(value)
	if err != nil {
		return Doc[T]{}, err
	}
	return c.InsertPrepared(ctx, tx, id, p)
}

// Prepared is a document with its text and the values of its indexes.
type Prepared[T any] struct {
	value T
	text  []byte
	keys  keys
}

// Prepare does what an insert can do before its transaction, in which others wait for their turn.
func (c *Collection[T]) Prepare(value T) (Prepared[T], error) {
	p := Prepared[T]{value: value}
	var err error
	p.text, p.keys, err = c.encode(&p.value)
	return p, c.wrap(err)
}

// InsertPrepared is Insert.
func (c *Collection[T]) InsertPrepared(ctx context.Context, tx *Tx, id string, p Prepared[T]) (Doc[T], error) {
	if err := checkID(id); err != nil {
		return Doc[T]{}, c.wrap(err)
	}
	if err := tx.changes(ctx, c.table); err != nil {
		return Doc[T]{}, c.wrap(err)
	}
	now := tx.now()
	doc := Doc[T]{ID: id, Rev: 1, Created: now, Updated: now, Value: p.value}
	var err error
	doc.seq, err = c.table.insertRow(ctx, tx.sql, p.columns(make([]any, 0, insertColumns+len(c.values)), id, now))
	if err == nil {
		err = c.table.writeMulti(ctx, tx.sql, doc.seq, p.keys, true)
	}
	if err != nil {
		return Doc[T]{}, c.wrap(c.table.explain(err))
	}
	return doc, nil
}

// columns appends what insertSQL stores of a new document.
func (p *Prepared[T]) columns(args []any, id string, now time.Time) []any {
	return append(append(args, id, 1, now.UnixMilli(), now.UnixMilli(), p.text), p.keys.single...)
}

// New is a document to be stored.
type New[T any] struct {
	ID    string
	Value T
}

// insertBatch is how many documents one statement inserts.
const insertBatch = 64

// InsertMany is Insert of several documents, in their order. It costs less than one after the other, where the collection has no Multi index.
func (c *Collection[T]) InsertMany(ctx context.Context, tx *Tx, docs []New[T]) error {
	if len(docs) < 2 || c.table.hasMulti() {
		for _, doc := range docs {
			if _, err := c.Insert(ctx, tx, doc.ID, doc.Value); err != nil {
				return err
			}
		}
		return nil
	}
	if err := tx.changes(ctx, c.table); err != nil {
		return c.wrap(err)
	}
	now := tx.now()
	for batch := range slices.Chunk(docs, insertBatch) {
		args := make([]any, 0, len(batch)*(insertColumns+len(c.values)))
		for _, doc := range batch {
			if err := checkID(doc.ID); err != nil {
				return c.wrap(err)
			}
			p, err := c.Prepare(doc.Value)
			if err != nil {
				return err
			}
			args = p.columns(args, doc.ID, now)
		}
		if _, err := tx.sql.Exec(ctx, c.table.insertManySQL(len(batch)), args...); err != nil {
			return c.wrap(c.table.explain(err))
		}
	}
	return nil
}

// Update replaces the document with the id. It returns ErrNotFound, ErrConflict when the document's revision is not rev (0
// accepts any), or a *UniqueError as Insert does.
func (c *Collection[T]) Update(ctx context.Context, tx *Tx, id string, rev int64, value T) (Doc[T], error) {
	if !validID(id) {
		return Doc[T]{}, c.notFound(id)
	}
	text, k, err := c.encode(&value)
	if err == nil {
		err = tx.changes(ctx, c.table)
	}
	if err != nil {
		return Doc[T]{}, c.wrap(err)
	}
	doc := Doc[T]{ID: id, Updated: tx.now(), Value: value}
	var created int64
	args := append(append([]any{doc.Updated.UnixMilli(), text}, k.single...), id, rev, rev)
	err = tx.sql.ExecReturning(ctx, []any{&doc.seq, &doc.Rev, &created}, c.table.updateSQL, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return Doc[T]{}, c.missed(ctx, tx, id, rev)
	}
	if err == nil {
		err = c.table.writeMulti(ctx, tx.sql, doc.seq, k, false)
	}
	if err != nil {
		return Doc[T]{}, c.wrap(c.table.explain(err))
	}
	doc.Created = time.UnixMilli(created).UTC()
	return doc, nil
}

// missed says why an update met no row.
func (c *Collection[T]) missed(ctx context.Context, tx *Tx, id string, rev int64) error {
	var found int64
	err := tx.QueryRow(ctx, "SELECT rev FROM "+c.table.quoted+" WHERE id = ?", id).Scan(&found)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return c.notFound(id)
	case err != nil:
		return c.wrap(err)
	}
	return c.wrap(fmt.Errorf("%q: %w: revision %d is expected, it has %d", id, ErrConflict, rev, found))
}

// Delete removes the document with the id, or returns ErrNotFound.
func (c *Collection[T]) Delete(ctx context.Context, tx *Tx, id string) error {
	if !validID(id) {
		return c.notFound(id)
	}
	if err := tx.changes(ctx, c.table); err != nil {
		return c.wrap(err)
	}
	n, err := affected(tx.sql.Exec(ctx, c.table.deleteSQL, id))
	if err != nil {
		return c.wrap(err)
	}
	if n == 0 {
		return c.notFound(id)
	}
	return nil
}

// DeleteWhere removes the documents that fulfil the condition and returns how many there were. A nil condition removes all.
func (c *Collection[T]) DeleteWhere(ctx context.Context, tx *Tx, cond Cond) (int, error) {
	b, err := c.table.build(cond)
	if err == nil && b.inexact {
		err = errInexact // it would delete more
	}
	if err == nil {
		err = tx.changes(ctx, c.table)
	}
	if err != nil {
		return 0, c.wrap(err)
	}
	n, err := affected(tx.sql.Exec(ctx, "DELETE FROM "+c.table.quoted+" WHERE "+b.sql.String(), b.args...))
	return n, c.wrap(err)
}

func affected(res sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// Count returns how many documents fulfil the condition. A nil condition counts all.
func (c *Collection[T]) Count(ctx context.Context, q Reader, cond Cond) (int, error) {
	where, args, err := c.table.where(cond)
	if err != nil {
		return 0, c.wrap(err)
	}
	return c.count(ctx, q, where, args)
}

func (c *Collection[T]) count(ctx context.Context, q Reader, where string, args []any) (int, error) {
	var n int
	err := q.QueryRow(ctx, "SELECT COUNT(*) FROM "+c.table.quoted+where, args...).Scan(&n)
	return n, c.wrap(err)
}

// chunkSize is how many documents are read by one statement where their number is not the caller's.
const chunkSize = 512

// read runs a statement that begins with table.selectSQL of the same columns.
func (c *Collection[T]) read(ctx context.Context, q Reader, with columns, query string, args []any) ([]Doc[T], error) {
	if tx := steadyTx(q, c.table, with); tx != nil {
		return c.readSteady(ctx, tx, with, query, args)
	}
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, c.wrap(err)
	}
	defer rows.Close()
	var (
		out              []Doc[T]
		doc              Doc[T]
		created, updated int64
		text, linked     sql.RawBytes
	)
	dest := []any{&doc.seq, &doc.ID, &doc.Rev, &created, &updated, &text}
	if with.order != nil {
		dest = append(dest, with.order.scanner(&doc.key))
	}
	if with.link != nil {
		dest = append(dest, &linked)
	}
	for rows.Next() {
		doc = Doc[T]{}
		if err := rows.Scan(dest...); err != nil {
			return nil, c.wrap(err)
		}
		doc.Created, doc.Updated = time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
		if err := decode(text, &doc.Value); err != nil {
			return nil, c.wrap(fmt.Errorf("%q: stored document: %w", doc.ID, err))
		}
		if with.link != nil {
			doc.linked, doc.hasLink = linkedIDs(doc.ID, string(linked))
		}
		out = append(out, doc)
	}
	return out, c.wrap(rows.Err())
}

// readSteady is read for steady collections. Each caller gets documents of its own, since values may hold maps and slices.
func (c *Collection[T]) readSteady(ctx context.Context, tx *Tx, with columns, query string, args []any) ([]Doc[T], error) {
	kept, err := tx.steadyRows(ctx, with, query, args)
	if err != nil {
		return nil, c.wrap(err)
	}
	if !c.flat {
		return c.decodeRows(kept.rows)
	}
	docs, _ := kept.docs.Load().([]Doc[T])
	if docs == nil {
		if docs, err = c.decodeRows(kept.rows); err != nil {
			return nil, err
		}
		kept.docs.Store(docs)
	}
	return slices.Clone(docs), nil
}

func (c *Collection[T]) decodeRows(rows []row) ([]Doc[T], error) {
	var out []Doc[T]
	for _, r := range rows {
		doc := Doc[T]{ID: r.id, Rev: r.rev, Created: time.UnixMilli(r.created).UTC(), Updated: time.UnixMilli(r.updated).UTC(), seq: r.seq, key: r.key}
		if err := decode(r.text, &doc.Value); err != nil {
			return nil, c.wrap(fmt.Errorf("%q: stored document: %w", doc.ID, err))
		}
		out = append(out, doc)
	}
	return out, nil
}

// decode reads a stored document. Types that read JSON themselves do so at once: json.Unmarshal would go through the text
// before they do, and what is stored was valid when it was written.
func decode[T any](text []byte, into *T) error {
	if own, ok := any(into).(json.Unmarshaler); ok {
		return own.UnmarshalJSON(text)
	}
	return json.Unmarshal(text, into)
}

// encode returns the JSON text of a value and what its indexes compute. Types that write JSON themselves, by AppendJSON, do
// so at once: encoding/json would read again what they wrote.
func (c *Collection[T]) encode(value *T) ([]byte, keys, error) {
	var text []byte
	if own, ok := any(value).(interface{ AppendJSON([]byte) []byte }); ok {
		text = own.AppendJSON(nil)
	} else {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // "<" stays "<", as it came
		if err := enc.Encode(value); err != nil {
			return nil, keys{}, err
		}
		text = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	k, err := c.table.keysOf(func(i int) []any { return c.values[i](value) })
	return text, k, err
}

// open implements Table.
func (c *Collection[T]) open(ctx context.Context, tx *sqldb.Tx, log *slog.Logger) error {
	return c.wrap(c.table.open(ctx, tx, func(fresh []*index) error {
		began := time.Now()
		documents, err := c.fill(ctx, tx, fresh)
		if err == nil && documents > 0 {
			names := make([]string, len(fresh))
			for i, ix := range fresh {
				names[i] = ix.name
			}
			tx.AfterCommit(func() {
				log.InfoContext(ctx, "indexes filled", "collection", c.Name(), "indexes", names, "documents", documents, "duration", time.Since(began))
			})
		}
		return err
	}))
}

// drop implements Table.
func (c *Collection[T]) drop(ctx context.Context, tx *sqldb.Tx) error {
	return c.wrap(c.table.drop(ctx, tx))
}

// clear implements Table. The rows of side tables go with those that they belong to.
func (c *Collection[T]) clear(ctx context.Context, tx *Tx) error {
	if err := tx.changes(ctx, c.table); err != nil {
		return c.wrap(err)
	}
	_, err := tx.sql.Exec(ctx, "DELETE FROM "+c.table.quoted)
	return c.wrap(err)
}

// fill computes the values of new indexes for the documents that are stored already, and returns how many there are. Few of them
// are in memory at a time.
func (c *Collection[T]) fill(ctx context.Context, tx *sqldb.Tx, fresh []*index) (documents int, err error) {
	for after := int64(0); ; {
		docs, err := c.read(ctx, tx, columns{}, c.table.selectSQL(columns{})+" WHERE seq > ? ORDER BY seq"+sqldb.Limit, []any{after, chunkSize})
		if err != nil {
			return documents, err
		}
		for i := range docs {
			if err := c.fillOne(ctx, tx, fresh, &docs[i]); err != nil {
				return documents, fmt.Errorf("filling indexes: %q: %w", docs[i].ID, err)
			}
		}
		documents += len(docs)
		if len(docs) < chunkSize {
			return documents, nil
		}
		after = docs[len(docs)-1].seq
	}
}

func (c *Collection[T]) fillOne(ctx context.Context, tx *sqldb.Tx, fresh []*index, doc *Doc[T]) error {
	var sets []string
	var args []any
	for i := range c.table.indexes {
		ix := &c.table.indexes[i]
		if !slices.Contains(fresh, ix) {
			continue
		}
		found, err := ix.keys(c.values[i](&doc.Value))
		switch {
		case err != nil:
		case ix.multi:
			err = ix.writeSide(ctx, tx, doc.seq, found, true)
		case len(found) == 1:
			sets, args = append(sets, ix.quoted+" = ?"), append(args, found[0])
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", ix.name, err)
		}
	}
	if len(sets) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE "+c.table.quoted+" SET "+strings.Join(sets, ", ")+" WHERE seq = ?", append(args, doc.seq)...)
	return err
}

func (c *Collection[T]) notFound(id string) error {
	return fmt.Errorf("%s: %q: %w", c.table.name, cut(strings.ToValidUTF8(id, "�"), maxQuotedID), ErrNotFound)
}

// wrap says which collection an error is about.
func (c *Collection[T]) wrap(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*UniqueError](err); ok {
		return err // it says so already
	}
	return fmt.Errorf("%s: %w", c.table.name, err)
}
