package docstore

import (
	"context"
	"errors"
	"slices"
)

// upToChunk is the number of documents that the first statement of GetUpTo reads. Further statements read up to four times as many.
const upToChunk = 32

// GetUpTo is Collection.GetMany that ends before the document with which the stored text would exceed maxBytes. It returns the number n of
// ids that it looked up: n is less than len(ids) if it ended early, and at least 1 if ids is not empty.
func GetUpTo[T any](ctx context.Context, c Collection[T], q Reader, ids []string, maxBytes int) (docs []Doc[T], n int, err error) {
	t := c.core()
	// left is the number of bytes that further documents may have, total the size of docs. The two may differ: documents of the first chunk
	// may be read before its first document, which is read although it does not fit. They are then not returned.
	left, total := maxBytes, 0
	for size := upToChunk; n < len(ids); size = min(4*size, chunkSize) {
		chunk := ids[n:min(n+size, len(ids))]
		found, passed := make(map[string]Doc[T], len(chunk)), false
		// The rows are in any order. The first document is read whatever its size, and the reading ends when another one does not fit.
		err := t.getRows(ctx, q, chunk, nil, func(r *row) (err error) {
			first := n == 0 && r.id == chunk[0]
			if first || len(r.text) <= left && !passed {
				left -= len(r.text)
				found[r.id], err = read[T](t, r)
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
