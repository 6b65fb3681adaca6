// Package lookup provides Find functions for operation tables: they read the documents that a request names in its path, before the body of
// the request is read.
package lookup

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
)

// Found returns a Find function for requests about one document. get reads the document: the method Get of a collection, or a function with
// the same signature. If the document does not exist, the error response names kind. at returns the id in a request and the field in which
// Find stores the document; with a nil field, Find only checks that the document exists.
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

// In returns a Find function for requests that embed a target: the part of a request that names one or more documents. load reads these
// documents; the operation calls load again in the transaction that changes them. at returns the target of a request.
func In[Req, Target any](
	store *docstore.Store, load func(ctx context.Context, q docstore.Reader, target *Target) error, at func(*Req) *Target,
) func(context.Context, *Req) error {
	return func(ctx context.Context, req *Req) error { return load(ctx, store.Reader(), at(req)) }
}

// InView is like In, for targets of several documents: load reads all of them from the same snapshot of the store.
func InView[Req, Target any](
	store *docstore.Store, load func(ctx context.Context, q docstore.Reader, target *Target) error, at func(*Req) *Target,
) func(context.Context, *Req) error {
	return func(ctx context.Context, req *Req) error {
		return store.View(ctx, func(q docstore.Reader) error { return load(ctx, q, at(req)) })
	}
}
