package search

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
)

// Page returns a page for a response. The page ends at rest.PageBytes, and its bytes count toward the memory of the requests in flight
// (rest.Hold). All lists with a cursor read their pages by Page or Linked.
func Page[T any](
	ctx context.Context, c docstore.Collection[T], q docstore.Reader, query docstore.Query[T],
) (docstore.Page[T], error) {
	query.MaxBytes = rest.PageBytes
	page, err := c.Query(ctx, q, query)
	if err != nil {
		return page, err
	}
	return page, rest.Hold(ctx, page.Bytes)
}

// Linked returns a page of the documents that the documents of another collection refer to, in the order of that collection. The query
// selects the referring documents in insertion order; ref returns the id in one of them. Missing documents are omitted.
func Linked[L, T any](
	ctx context.Context, from docstore.Collection[L], to docstore.Collection[T], q docstore.Reader, query docstore.Query[L],
	ref func(*L) string,
) (docstore.Page[T], error) {
	links, err := Page(ctx, from, q, query)
	if err != nil {
		return docstore.Page[T]{}, err
	}
	docs, err := Join(ctx, from, to, q, query, &links, func(doc *docstore.Doc[L]) string { return ref(&doc.Value) })
	return docstore.Page[T]{Docs: docs, Next: links.Next}, err
}

// Join reads the documents that those of a page refer to, for a response with both. If they exceed rest.PageBytes, Join shortens the page.
// The query is that of the page, in insertion order; ref returns the id in a document. Missing documents are omitted.
func Join[L, T any](
	ctx context.Context, from docstore.Collection[L], to docstore.Collection[T], q docstore.Reader, query docstore.Query[L],
	page *docstore.Page[L], ref func(*docstore.Doc[L]) string,
) ([]docstore.Doc[T], error) {
	ids := make([]string, len(page.Docs))
	for i := range page.Docs {
		ids[i] = ref(&page.Docs[i])
	}
	docs, n, err := docstore.GetUpTo(ctx, to, q, ids, rest.PageBytes)
	if err != nil {
		return nil, err
	}
	if n < len(ids) {
		if page.Next, err = docstore.CursorAfter(from, query, &page.Docs[n-1]); err != nil {
			return nil, err
		}
		page.Docs = page.Docs[:n]
	}
	bytes := 0
	for i := range docs {
		bytes += docs[i].Size()
	}
	return docs, rest.Hold(ctx, bytes)
}
