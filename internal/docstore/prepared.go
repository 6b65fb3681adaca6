package docstore

import "context"

// Prepared is a document with its JSON text and the values of its indexes.
type Prepared[T any] struct {
	value   T
	encoded encoded
}

// Text returns the JSON text. It must not be modified.
func (p *Prepared[T]) Text() []byte { return p.encoded.text }

// Prepare does the part of an insert that needs no transaction, so that other updates do not wait for it.
func Prepare[T any](c Collection[T], value T) (Prepared[T], error) {
	e, err := c.core().encode(&value)
	return Prepared[T]{value, e}, err
}

// InsertPrepared inserts a prepared document, as Collection.Insert does.
func InsertPrepared[T any](ctx context.Context, c Collection[T], tx *Tx, id string, p Prepared[T]) (Doc[T], error) {
	r, err := c.core().insertOne(ctx, tx, id, p.encoded)
	if err != nil {
		return Doc[T]{}, err
	}
	return document(&r, p.value), nil
}

// Revision is a document that was read before, and its new content.
type Revision[T any] struct {
	value    T
	revision revision
}

// Text returns the JSON text of the new content. It must not be modified.
func (r *Revision[T]) Text() []byte { return r.revision.text }

// PrepareRevision does the part of a revision that needs no transaction.
func PrepareRevision[T any](c Collection[T], old Doc[T], value T) (Revision[T], error) {
	r := row{id: old.ID, seq: old.seq, rev: old.Rev, created: old.Created.UnixMilli()}
	v, err := c.core().revision(r, &old.Value, &value)
	return Revision[T]{value, v}, err
}

// Revise is Collection.Update of a document that was read before, if its revision is still the same. It writes only the document and the
// index values that change, and reads nothing.
func Revise[T any](ctx context.Context, c Collection[T], tx *Tx, r Revision[T]) (Doc[T], error) {
	stored, err := c.core().revise(ctx, tx, r.revision)
	if err != nil {
		return Doc[T]{}, err
	}
	return document(&stored, r.value), nil
}
