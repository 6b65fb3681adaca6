package docstore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Collection keeps documents of the type T. It holds no connection and no state: a program declares it once, by NewCollection, and hands it
// to Open of every store.
//
// It is an interface for the compiler's sake, which makes the methods of a generic struct anew in each package that knows one of its types:
// that was nine tenths of what it had to do.
type Collection[T any] interface {
	Table

	// Get returns the document with the id, or ErrNotFound.
	Get(ctx context.Context, q Reader, id string) (Doc[T], error)
	// GetLinked is Get that reads a link along, unless that is nil.
	GetLinked(ctx context.Context, q Reader, id string, link *Link) (Doc[T], error)
	// GetMany returns the documents with the ids, in the order of the ids; missing ones are left out, repeated ones come once.
	GetMany(ctx context.Context, q Reader, ids []string) ([]Doc[T], error)
	// Query returns a page. Its errors are ErrBadCursor, which the sender of the cursor caused, and failures.
	//
	// In insertion order, PostgreSQL may commit a document after one that was inserted later; who walks the pages meanwhile can
	// miss the former.
	Query(ctx context.Context, q Reader, query Query[T]) (Page[T], error)
	// Count returns how many documents fulfil the condition. A nil condition counts all.
	Count(ctx context.Context, q Reader, cond Cond) (int, error)
	// Version is the version of a document of the collection.
	Version(doc Doc[T]) Version

	// Insert stores a new document. It returns ErrBadID, or a *UniqueError when the id or a value of a unique index is taken;
	// after the latter the transaction can only be rolled back.
	Insert(ctx context.Context, tx *Tx, id string, value T) (Doc[T], error)
	// Prepare does what an insert can do before its transaction, in which others wait for their turn.
	Prepare(value T) (Prepared[T], error)
	// InsertPrepared is Insert.
	InsertPrepared(ctx context.Context, tx *Tx, id string, p Prepared[T]) (Doc[T], error)
	// InsertMany is Insert of several documents, in their order. It costs less than one after the other, where the collection has no
	// Multi index.
	InsertMany(ctx context.Context, tx *Tx, docs []New[T]) error
	// Update replaces the document with the id. It returns ErrNotFound, ErrConflict when the document's revision is not rev (0
	// accepts any), or a *UniqueError as Insert does.
	Update(ctx context.Context, tx *Tx, id string, rev int64, value T) (Doc[T], error)
	// Delete removes the document with the id, or returns ErrNotFound.
	Delete(ctx context.Context, tx *Tx, id string) error
	// DeleteWhere removes the documents that fulfil the condition and returns how many there were. A nil condition removes all.
	DeleteWhere(ctx context.Context, tx *Tx, cond Cond) (int, error)

	// Cached marks a collection of settings: documents that very many updates read and hardly any changes. What an update of the store
	// reads of them is kept in memory, as it is stored, for the updates that follow. It returns the collection.
	//
	// The database stays the truth: all its steady collections have one state, a number that is drawn anew by whoever changes any of
	// them, in the same transaction. An update reads that number once, and what was read under another one is not used. So a change by
	// another process counts at once, and one that is rolled back never did.
	Cached() Collection[T]
}

// collection is the only Collection. It does not embed the table: the compiler would make each method of the table anew for each type.
type collection[T any] struct {
	untyped // the table, as far as callers use it
	t       *table
}

// untyped is what needs no type of a Collection.
type untyped interface {
	Table
	Count(ctx context.Context, q Reader, cond Cond) (int, error)
	Delete(ctx context.Context, tx *Tx, id string) error
	DeleteWhere(ctx context.Context, tx *Tx, cond Cond) (int, error)
}

// Doc is a stored document.
type Doc[T any] struct {
	ID      string
	Rev     int64     // 1 after Insert, one more with each Update
	Created time.Time // UTC, in milliseconds
	Updated time.Time // UTC, in milliseconds
	Value   T

	seq     int64
	linked  []string
	hasLink bool
}

// Seq is the document's place in the order of insertion: positive, growing, and never given again.
func (d *Doc[T]) Seq() int64 { return d.seq }

// document is a row with its value.
func document[T any](r *row, value T) Doc[T] {
	return Doc[T]{
		ID: r.id, Rev: r.rev, Created: time.UnixMilli(r.created).UTC(), Updated: time.UnixMilli(r.updated).UTC(), Value: value,
		seq: r.seq, linked: r.linked, hasLink: r.hasLink,
	}
}

// read makes the document of a row. Each caller gets one of its own, since values may hold maps and slices.
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

// NewCollection declares a collection. The name is made of lower case letters, digits and single underscores; Open reports
// declarations that are not allowed.
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
		t.err = fmt.Errorf("index %s has no Values", indexes[i].Name)
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

func (c *collection[T]) Insert(ctx context.Context, tx *Tx, id string, value T) (Doc[T], error) {
	p, err := c.Prepare(value)
	if err != nil {
		return Doc[T]{}, err
	}
	return c.InsertPrepared(ctx, tx, id, p)
}

// Prepared is a document with its text and the values of its indexes.
type Prepared[T any] struct {
	value   T
	encoded encoded
}

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
