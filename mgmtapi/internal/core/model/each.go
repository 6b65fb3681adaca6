package model

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
)

// Bounds of a read in Each and EachOf: the number of documents, and the bytes of their stored text.
const (
	eachBatch = 500
	eachBytes = 4 << 20
)

// Each calls fn for every document that matches the condition, in insertion order. It reads the documents in batches, so that fn may
// change, add and delete documents of the same collection. Each also visits added documents that match the condition.
func Each[T any](ctx context.Context, q docstore.Reader, c docstore.Collection[T], where docstore.Cond,
	fn func(docstore.Doc[T]) error) error {
	for after := ""; ; {
		page, err := c.Query(ctx, q, docstore.Query[T]{Where: where, After: after, Limit: eachBatch, MaxBytes: eachBytes})
		if err != nil {
			return err
		}
		for _, doc := range page.Docs {
			if err := fn(doc); err != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// EachOf calls fn for the documents with the ids, in the order of the ids. It reads them in batches, so that memory holds few of them.
// Missing documents are omitted.
func EachOf[T any](ctx context.Context, q docstore.Reader, c docstore.Collection[T], ids []string, fn func(*docstore.Doc[T])) error {
	for len(ids) > 0 {
		docs, n, err := docstore.GetUpTo(ctx, c, q, ids, eachBytes)
		if err != nil {
			return err
		}
		for i := range docs {
			fn(&docs[i])
		}
		ids = ids[n:]
	}
	return nil
}

// Optional reads a document that may be missing. It returns nil and no error for a missing document.
func Optional[T any](ctx context.Context, q docstore.Reader, c docstore.Collection[T], id string) (*docstore.Doc[T], error) {
	doc, err := c.Get(ctx, q, id)
	switch {
	case errors.Is(err, docstore.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &doc, nil
}
