package docstore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Collection stores documents of the type T. It holds no connection and no state: a program declares it once, by NewCollection, and passes
// it to Open of every store.
//
// It is an interface to reduce compile time: the compiler instantiates the methods of a generic struct again in each package that uses one
// of its types. With a struct, these instantiations took nine tenths of the compiler's time. The linker however keeps every method of an
// interface for each type of document, so operations that few collections need are functions: GetLinked, GetUpTo, Prepare and others.
type Collection[T any] interface {
	Table

	// Get returns the document with the id, or ErrNotFound.
	Get(ctx context.Context, q Reader, id string) (Doc[T], error)
	// GetMany returns the documents with the ids, in the order of the ids. Missing documents are omitted, and repeated ids count once.
	GetMany(ctx context.Context, q Reader, ids []string) ([]Doc[T], error)
	// Query returns a page. It returns ErrBadCursor if the cursor is invalid, and other errors for failures.
	//
	// On PostgreSQL, two concurrent transactions may commit in another order than they inserted their documents. A caller that reads pages in
	// insertion order between the two commits can miss the document that is committed last.
	Query(ctx context.Context, q Reader, query Query[T]) (Page[T], error)
	// Count returns the number of documents that match the condition. A nil condition counts all.
	Count(ctx context.Context, q Reader, cond Cond) (int, error)
	// Version returns the version of a document of the collection.
	Version(doc Doc[T]) Version

	// Insert stores a new document. It returns ErrBadID, or a *UniqueError if the id or a value of a unique index is taken. After a
	// *UniqueError the transaction can only be rolled back.
	Insert(ctx context.Context, tx *Tx, id string, value T) (Doc[T], error)
	// InsertMany inserts several documents, in their order. It costs less than single inserts if the collection has no Multi index.
	InsertMany(ctx context.Context, tx *Tx, docs []New[T]) error
	// Update replaces the document with the id. It returns ErrNotFound, ErrConflict if the document's revision is not rev (0 accepts any), or
	// a *UniqueError as Insert does.
	Update(ctx context.Context, tx *Tx, id string, rev int64, value T) (Doc[T], error)
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

	// Numbered does the same as Positioned. In addition, on SQLite, the id of a document may contain its number, so that the document is found
	// without an index of ids: Insert with an empty id creates such an id. See AssignsIDs. Numbered returns the collection.
	Numbered() Collection[T]

	// CachedReads marks a collection whose documents are cached, if the database caches rows (see sqldb.Rows). Reads outside of transactions
	// then may return a document without a query. CachedReads returns the collection.
	CachedReads() Collection[T]
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
func read[T any](t *table, r *row) (Doc[T], error) {
	var value T
	if r.value == nil {
		err := t.decode(r, &value)
		return document(r, value), err
	}
	kept, ok := r.value.Load().(T)
	if !ok {
		if err := t.decode(r, &kept); err != nil {
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
		if ix.Same != nil {
			erased[i].same = func(a, b any) bool { return ix.Same(a.(*T), b.(*T)) }
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
	return GetLinked[T](ctx, c, q, id, nil)
}

// GetLinked does the same as Collection.Get, and also reads the link unless it is nil.
func GetLinked[T any](ctx context.Context, c Collection[T], q Reader, id string, link *Link) (doc Doc[T], err error) {
	t := c.core()
	err = t.getRow(ctx, q, id, link, func(r *row) (err error) {
		doc, err = read[T](t, r)
		return err
	})
	if err != nil {
		return Doc[T]{}, err
	}
	return doc, nil
}

func (c *collection[T]) GetMany(ctx context.Context, q Reader, ids []string) ([]Doc[T], error) {
	byID := make(map[string]Doc[T], len(ids))
	err := c.t.getRows(ctx, q, ids, nil, func(r *row) (err error) {
		byID[r.id], err = read[T](c.t, r)
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

func (c *collection[T]) Insert(ctx context.Context, tx *Tx, id string, value T) (Doc[T], error) {
	e, err := c.t.encode(&value)
	if err != nil {
		return Doc[T]{}, err
	}
	r, err := c.t.insertOne(ctx, tx, id, e)
	if err != nil {
		return Doc[T]{}, err
	}
	return document(&r, value), nil
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
