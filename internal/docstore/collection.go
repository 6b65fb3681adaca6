package docstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Collection stores documents of the type T. It holds no connection and no state: a program declares it once, by NewCollection, and passes
// it to Open of every store.
//
// It is an interface to reduce compile time: the compiler instantiates the methods of a generic struct again in each package that uses one
// of its types. With a struct, these instantiations took nine tenths of the compiler's time.
type Collection[T any] interface {
	Table

	// Get returns the document with the id, or ErrNotFound.
	Get(ctx context.Context, q Reader, id string) (Doc[T], error)
	// GetLinked does the same as Get, and also reads the link unless it is nil.
	GetLinked(ctx context.Context, q Reader, id string, link *Link) (Doc[T], error)
	// GetMany returns the documents with the ids, in the order of the ids. Missing documents are omitted, and repeated ids count once.
	GetMany(ctx context.Context, q Reader, ids []string) ([]Doc[T], error)
	// GetUpTo is GetMany that ends before the document with which the stored text would exceed maxBytes. It returns the number n of ids that
	// it looked up: n is less than len(ids) if it ended early, and at least 1 if ids is not empty.
	GetUpTo(ctx context.Context, q Reader, ids []string, maxBytes int) (docs []Doc[T], n int, err error)
	// Query returns a page. It returns ErrBadCursor if the cursor is invalid, and other errors for failures.
	//
	// On PostgreSQL, two concurrent transactions may commit in another order than they inserted their documents. A caller that reads pages in
	// insertion order between the two commits can miss the document that is committed last.
	Query(ctx context.Context, q Reader, query Query[T]) (Page[T], error)
	// CursorAfter returns the Next of a page that ends with the document, for a query in insertion order.
	CursorAfter(query Query[T], doc *Doc[T]) (string, error)
	// Count returns the number of documents that match the condition. A nil condition counts all.
	Count(ctx context.Context, q Reader, cond Cond) (int, error)
	// Version returns the version of a document of the collection.
	Version(doc Doc[T]) Version

	// These methods read documents without decoding them.
	GetRaw(ctx context.Context, q Reader, id string, link *Link, longest int, use func(*Raw) error) error
	GetManyRaw(ctx context.Context, q Reader, ids []string, use func(*Raw) error) error
	EachRaw(ctx context.Context, q Reader, cond Cond, use func(text string) error) error
	// ScanRaw passes the Seq, the id and the text of the documents that match the condition and whose Seq is greater than after to the
	// function use, in insertion order, at most limit of them. It returns their number. A text is valid until the next one is read.
	ScanRaw(ctx context.Context, q Reader, cond Cond, after int64, limit int, use func(seq int64, id string, text []byte) error) (int, error)
	QueryRaw(ctx context.Context, q Reader, query RawQuery, take func(*Raw) (bool, error)) (RawPage, error)
	SizeRaw(ctx context.Context, q Reader, query RawQuery) (int64, error)

	// Insert stores a new document. It returns ErrBadID, or a *UniqueError if the id or a value of a unique index is taken. After a
	// *UniqueError the transaction can only be rolled back.
	Insert(ctx context.Context, tx *Tx, id string, value T) (Doc[T], error)
	// Prepare does the part of an insert that needs no transaction, so that other updates do not wait for it.
	Prepare(value T) (Prepared[T], error)
	// InsertPrepared inserts a prepared document, as Insert does.
	InsertPrepared(ctx context.Context, tx *Tx, id string, p Prepared[T]) (Doc[T], error)
	// InsertMany inserts several documents, in their order. It costs less than single inserts if the collection has no Multi index.
	InsertMany(ctx context.Context, tx *Tx, docs []New[T]) error
	// Update replaces the document with the id. It returns ErrNotFound, ErrConflict if the document's revision is not rev (0 accepts any), or
	// a *UniqueError as Insert does.
	Update(ctx context.Context, tx *Tx, id string, rev int64, value T) (Doc[T], error)
	// PrepareRevision does the part of a revision that needs no transaction.
	PrepareRevision(old Doc[T], value T) (Revision[T], error)
	// Revise is Update of a document that was read before, if its revision is still the same. It writes only the document and the index values
	// that change, and reads nothing.
	Revise(ctx context.Context, tx *Tx, r Revision[T]) (Doc[T], error)
	// Delete removes the document with the id, or returns ErrNotFound.
	Delete(ctx context.Context, tx *Tx, id string) error
	// DeleteWhere removes the documents that match the condition and returns their number. A nil condition removes all.
	DeleteWhere(ctx context.Context, tx *Tx, cond Cond) (int, error)

	// Cached marks a collection of settings: documents that very many updates read and hardly any update changes. An update caches the stored
	// rows that it reads of the collection, for later updates of the store. Cached returns the collection.
	//
	// The database remains authoritative: all cached collections of a database share one state, a random number. Each change of a cached
	// collection replaces that number in the same transaction. An update reads the number once and does not use rows that were cached under
	// another number. So a change by another process takes effect immediately, and a change that is rolled back has no effect.
	Cached() Collection[T]

	// Positioned marks a collection of which callers count all documents and read pages at any offset, in insertion order. On SQLite, such a
	// count and such a page cost the same in a collection of any size. A deletion costs a little more. Positioned returns the collection.
	Positioned() Collection[T]

	// CachedReads marks a collection whose documents are cached, if the database caches rows (see sqldb.Rows). Reads outside of transactions
	// then may return a document without a query. CachedReads returns the collection.
	CachedReads() Collection[T]
	// Remember caches a document that the transaction has inserted, after the commit. If link is not nil, the document is cached with the
	// information that no relation of the link references it.
	Remember(tx *Tx, doc Doc[T], p Prepared[T], link *Link)
}

// collection is the only Collection. It does not embed the table, because the compiler would then instantiate each method of the table for
// each type.
type collection[T any] struct {
	untyped // the methods of the table that do not depend on T
	t       *table
}

// untyped is the part of a Collection that does not depend on T.
type untyped interface {
	Table
	Count(ctx context.Context, q Reader, cond Cond) (int, error)
	GetRaw(ctx context.Context, q Reader, id string, link *Link, longest int, use func(*Raw) error) error
	GetManyRaw(ctx context.Context, q Reader, ids []string, use func(*Raw) error) error
	EachRaw(ctx context.Context, q Reader, cond Cond, use func(text string) error) error
	ScanRaw(ctx context.Context, q Reader, cond Cond, after int64, limit int, use func(seq int64, id string, text []byte) error) (int, error)
	QueryRaw(ctx context.Context, q Reader, query RawQuery, take func(*Raw) (bool, error)) (RawPage, error)
	SizeRaw(ctx context.Context, q Reader, query RawQuery) (int64, error)
	Delete(ctx context.Context, tx *Tx, id string) error
	DeleteWhere(ctx context.Context, tx *Tx, cond Cond) (int, error)
}

// Doc is a stored document.
type Doc[T any] struct {
	ID      string
	Rev     int64     // 1 after Insert; each Update adds 1
	Created time.Time // UTC, in milliseconds
	Updated time.Time // UTC, in milliseconds
	Value   T

	seq     int64
	size    int
	linked  []string
	hasLink bool
}

// Seq returns the document's position in the order of insertion: positive, increasing, and never reused.
func (d *Doc[T]) Seq() int64 { return d.seq }

// Stored returns a document that was read before, from its parts. For Revise, the value must be equal to the one that was read.
func Stored[T any](id string, seq, rev int64, created time.Time, value T) Doc[T] {
	return Doc[T]{ID: id, Rev: rev, Created: created, Value: value, seq: seq}
}

// Size returns the length of the document's stored text in bytes. It is 0 for a document that was not read but written.
func (d *Doc[T]) Size() int { return d.size }

// document returns the document of a row and its value.
func document[T any](r *row, value T) Doc[T] {
	return Doc[T]{
		ID: r.id, Rev: r.rev, Created: time.UnixMilli(r.created).UTC(), Updated: time.UnixMilli(r.updated).UTC(), Value: value,
		seq: r.seq, size: len(r.text), linked: r.linked, hasLink: r.hasLink,
	}
}

// read decodes the document of a row. Each caller gets its own copy, since values may hold maps and slices.
func (c *collection[T]) read(r *row) (Doc[T], error) {
	var value T
	if r.value == nil {
		err := c.t.decode(r, &value)
		return document(r, value), err
	}
	kept, ok := r.value.Load().(T)
	if !ok {
		if err := c.t.decode(r, &kept); err != nil {
			return Doc[T]{}, err
		}
		r.value.Store(kept)
	}
	return document(r, kept), nil
}

// NewCollection declares a collection. The name consists of lowercase letters, digits and single underscores; Open reports invalid
// declarations.
func NewCollection[T any](name string, indexes ...Index[T]) Collection[T] {
	erased := make([]index, len(indexes))
	for i, ix := range indexes {
		erased[i] = index{
			column: column{name: ix.Name, kind: ix.Kind, multi: ix.Multi}, unique: ix.Unique, version: ix.Version,
			values: func(document any) []any { return ix.Values(document.(*T)) },
		}
	}
	t := newTable(name, erased)
	t.flat, t.blank = isFlat(reflect.TypeFor[T]()), func() any { return new(T) }
	if i := slices.IndexFunc(indexes, func(ix Index[T]) bool { return ix.Values == nil }); i >= 0 {
		t.err = fmt.Errorf("index %s has no Values: set Index.Values to the function that computes them", indexes[i].Name)
	}
	return &collection[T]{untyped: t, t: t}
}

func (c *collection[T]) Get(ctx context.Context, q Reader, id string) (Doc[T], error) {
	return c.GetLinked(ctx, q, id, nil)
}

func (c *collection[T]) GetLinked(ctx context.Context, q Reader, id string, link *Link) (doc Doc[T], err error) {
	err = c.t.getRow(ctx, q, id, link, func(r *row) (err error) {
		doc, err = c.read(r)
		return err
	})
	if err != nil {
		return Doc[T]{}, err
	}
	return doc, nil
}

func (c *collection[T]) GetMany(ctx context.Context, q Reader, ids []string) ([]Doc[T], error) {
	byID := make(map[string]Doc[T], len(ids))
	err := c.t.getRows(ctx, q, ids, func(r *row) (err error) {
		byID[r.id], err = c.read(r)
		return err
	})
	if err != nil {
		return nil, err
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

// upToChunk is the number of documents that the first statement of GetUpTo reads. Further statements read up to four times as many.
const upToChunk = 32

func (c *collection[T]) GetUpTo(ctx context.Context, q Reader, ids []string, maxBytes int) (docs []Doc[T], n int, err error) {
	// left is the number of bytes that further documents may have, total the size of docs. The two may differ: documents of the first chunk
	// may be read before its first document, which is read although it does not fit. They are then not returned.
	left, total := maxBytes, 0
	for size := upToChunk; n < len(ids); size = min(4*size, chunkSize) {
		chunk := ids[n:min(n+size, len(ids))]
		found, passed := make(map[string]Doc[T], len(chunk)), false
		// The rows are in any order. The first document is read whatever its size, and the reading ends when another one does not fit.
		err := c.t.getRows(ctx, q, chunk, func(r *row) (err error) {
			first := n == 0 && r.id == chunk[0]
			if first || len(r.text) <= left && !passed {
				left -= len(r.text)
				found[r.id], err = c.read(r)
			} else {
				passed = true
			}
			if _, ok := found[chunk[0]]; err == nil && passed && (n > 0 || ok) {
				return errPageFull
			}
			return err
		})
		if err != nil && !errors.Is(err, errPageFull) {
			return nil, 0, err
		}
		for _, id := range chunk {
			doc, ok := found[id]
			switch {
			case ok && len(docs) > 0 && total+doc.size > maxBytes:
				return docs, n, nil
			case ok:
				docs, total = append(docs, doc), total+doc.size
				delete(found, id)
			case passed && n > 0 && !slices.ContainsFunc(docs, func(d Doc[T]) bool { return d.ID == id }):
				return docs, n, nil
			}
			n++
		}
	}
	return docs, n, nil
}

func (c *collection[T]) Insert(ctx context.Context, tx *Tx, id string, value T) (Doc[T], error) {
	p, err := c.Prepare(value)
	if err != nil {
		return Doc[T]{}, err
	}
	return c.InsertPrepared(ctx, tx, id, p)
}

// Prepared is a document with its JSON text and the values of its indexes.
type Prepared[T any] struct {
	value   T
	encoded encoded
}

// Text returns the JSON text. It must not be modified.
func (p *Prepared[T]) Text() []byte { return p.encoded.text }

func (c *collection[T]) Prepare(value T) (Prepared[T], error) {
	e, err := c.t.encode(&value)
	return Prepared[T]{value, e}, err
}

func (c *collection[T]) InsertPrepared(ctx context.Context, tx *Tx, id string, p Prepared[T]) (Doc[T], error) {
	r, err := c.t.insertOne(ctx, tx, id, p.encoded)
	if err != nil {
		return Doc[T]{}, err
	}
	return document(&r, p.value), nil
}

// New is a document to be stored.
type New[T any] struct {
	ID    string
	Value T
}

func (c *collection[T]) InsertMany(ctx context.Context, tx *Tx, docs []New[T]) error {
	return c.t.insertAll(ctx, tx, len(docs), func(i int) (id string, document any) { return docs[i].ID, &docs[i].Value })
}

func (c *collection[T]) Update(ctx context.Context, tx *Tx, id string, rev int64, value T) (Doc[T], error) {
	r, err := c.t.replace(ctx, tx, id, rev, &value)
	if err != nil {
		return Doc[T]{}, err
	}
	return document(&r, value), nil
}

// Revision is a document that was read before, and its new content.
type Revision[T any] struct {
	value    T
	revision revision
}

// Text returns the JSON text of the new content. It must not be modified.
func (r *Revision[T]) Text() []byte { return r.revision.text }

func (c *collection[T]) PrepareRevision(old Doc[T], value T) (Revision[T], error) {
	e, err := c.t.encode(&value)
	if err != nil {
		return Revision[T]{}, err
	}
	keys, err := c.t.keysOf(&old.Value)
	if err != nil {
		return Revision[T]{}, c.t.wrap(err)
	}
	r := row{id: old.ID, seq: old.seq, rev: old.Rev, created: old.Created.UnixMilli()}
	return Revision[T]{value, c.t.revision(r, keys, e)}, nil
}

func (c *collection[T]) Revise(ctx context.Context, tx *Tx, r Revision[T]) (Doc[T], error) {
	stored, err := c.t.revise(ctx, tx, r.revision)
	if err != nil {
		return Doc[T]{}, err
	}
	return document(&stored, r.value), nil
}
