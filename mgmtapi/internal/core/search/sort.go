package search

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
)

// Sort is an order by one attribute. Documents with equal values are ordered by id. Documents without the attribute come last, or first if
// Descending is set.
type Sort struct {
	By         string
	Descending bool
}

// sortKey is the position of a document in an order. The cursor of the page that starts after the document has this position.
type sortKey struct {
	Missing bool   `json:"m,omitempty"`
	Text    string `json:"t,omitempty"`
	ID      string `json:"i"`
}

func (k sortKey) compare(o sortKey, descending bool) int {
	missing := 0
	if k.Missing != o.Missing {
		missing = 1
		if o.Missing {
			missing = -1
		}
	}
	order := cmp.Or(missing, cmp.Compare(k.Text, o.Text))
	if descending {
		order = -order
	}
	return cmp.Or(order, cmp.Compare(k.ID, o.ID))
}

// Sorted returns a page of the documents that match the query, in an order without an index: it reads all of them, but only holds one page
// in memory. q must be a snapshot. The language must contain the attribute to sort by.
func (l Language[T]) Sorted(
	ctx context.Context, c docstore.Collection[T], q docstore.Reader, query Query[T], by Sort, after string, limit int,
) (docstore.Page[T], error) {
	attribute, ok := l[by.By]
	if !ok {
		return docstore.Page[T]{}, invalid("cannot sort by the unknown attribute '%s'", by.By)
	}
	var behind *sortKey
	if after != "" {
		behind = new(sortKey)
		data, err := base64.RawURLEncoding.DecodeString(after)
		if err == nil {
			err = json.Unmarshal(data, behind)
		}
		if err != nil || behind.ID == "" {
			return docstore.Page[T]{}, fmt.Errorf("%w: not a cursor of a sorted list", docstore.ErrBadCursor)
		}
	}
	// best has the positions of the first documents that were read so far: as many as the page may have, or fewer if their sort keys exceed
	// rest.PageBytes in total.
	var best []sortKey
	keys, more := 0, false
	visit := func(doc *docstore.Doc[T]) bool {
		if query.Match != nil && !query.Match(doc) {
			return false
		}
		key := attribute.sortKey(doc)
		if behind != nil && key.compare(*behind, by.Descending) <= 0 {
			return false
		}
		at, _ := slices.BinarySearchFunc(best, key, func(a, b sortKey) int { return a.compare(b, by.Descending) })
		best, keys = slices.Insert(best, at, key), keys+len(key.Text)
		for len(best) > 1 && (len(best) > limit || keys > rest.PageBytes) {
			last := len(best) - 1
			keys, more = keys-len(best[last].Text), true
			best = slices.Delete(best, last, last+1)
		}
		return false // only the position is stored
	}
	if _, err := c.Query(ctx, q, docstore.Query[T]{Where: query.Where, Match: visit, Limit: 1}); err != nil {
		return docstore.Page[T]{}, err
	}
	ids := make([]string, len(best))
	for i := range best {
		ids[i] = best[i].ID
	}
	docs, n, err := docstore.GetUpTo(ctx, c, q, ids, rest.PageBytes)
	if err != nil {
		return docstore.Page[T]{}, err
	}
	out := docstore.Page[T]{Docs: docs}
	for i := range docs {
		out.Bytes += docs[i].Size()
	}
	if more || n < len(best) {
		data, err := json.Marshal(best[n-1])
		if err != nil {
			return out, fmt.Errorf("cursor: %w", err)
		}
		out.Next = base64.RawURLEncoding.EncodeToString(data)
	}
	return out, rest.Hold(ctx, out.Bytes)
}

func (a Attribute[T]) sortKey(doc *docstore.Doc[T]) sortKey {
	key := sortKey{ID: doc.ID}
	values := present(a.Values(doc))
	if len(values) == 0 {
		key.Missing = true
		return key
	}
	switch v := values[0].(type) {
	case time.Time:
		key.Text = v.UTC().Format("2006-01-02T15:04:05Z")
	case float64:
		key.Text = sortableNumber(v)
	case bool:
		key.Text = strconv.FormatBool(v)
	case string:
		key.Text = v
		if a.Normal != nil {
			key.Text = a.Normal(v)
		}
	}
	return key
}

// sortableNumber encodes a number as a string with the same order.
func sortableNumber(n float64) string {
	bits := math.Float64bits(n)
	if n < 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return fmt.Sprintf("%016x", bits)
}
