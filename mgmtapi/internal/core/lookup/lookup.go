// Package lookup provides Find functions for operation tables: they read the documents that a request names in its path, before the body of
// the request is read.
package lookup

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
)

// Found returns a Find for requests about one document. get reads the document: the Get of a collection or a finder with the same
// signature. kind is the kind of the document in the response for a document that does not exist. at returns the id in a request and the
// field that the document is stored in; a nil field only checks that the document exists.
func Found[Req, T any](
	store *docstore.Store, get func(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[T], error), kind string,
	at func(*Req) (id string, to *docstore.Doc[T]),
) func(context.Context, *Req) error {
	return func(ctx context.Context, req *Req) error {
		id, to := at(req)
		doc, err := get(ctx, store.Reader(), id)
		if to != nil {
			*to = doc
		}
		return rest.Missing(err, kind, id)
	}
}

// In returns a Find for requests that embed a target: the part of a request that names one or more documents. load reads these, here and
// in the transaction that changes them. at returns the target of a request.
func In[Req, Target any](
	store *docstore.Store, load func(ctx context.Context, q docstore.Reader, target *Target) error, at func(*Req) *Target,
) func(context.Context, *Req) error {
	return func(ctx context.Context, req *Req) error { return load(ctx, store.Reader(), at(req)) }
}

// InView is In for targets of several documents that must be consistent: load reads them in one view of the store.
func InView[Req, Target any](
	store *docstore.Store, load func(ctx context.Context, q docstore.Reader, target *Target) error, at func(*Req) *Target,
) func(context.Context, *Req) error {
	return func(ctx context.Context, req *Req) error {
		return store.View(ctx, func(q docstore.Reader) error { return load(ctx, q, at(req)) })
	}
}
