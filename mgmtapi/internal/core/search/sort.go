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
)

// sortBatch is the number of documents per read.
const sortBatch = 1000

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
// in memory. The language must contain the attribute to sort by.
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
	type entry struct {
		key sortKey
		doc docstore.Doc[T]
	}
	var best []entry
	order := func(a, b entry) int { return a.key.compare(b.key, by.Descending) }
	for cursor := ""; ; {
		page, err := c.Query(ctx, q, docstore.Query[T]{Where: query.Where, Match: query.Match, After: cursor, Limit: sortBatch})
		if err != nil {
			return docstore.Page[T]{}, err
		}
		for _, doc := range page.Docs {
			key := attribute.sortKey(&doc)
			if behind == nil || key.compare(*behind, by.Descending) > 0 {
				best = append(best, entry{key, doc})
			}
		}
		slices.SortFunc(best, order)
		if len(best) > limit+1 {
			best = slices.Delete(best, limit+1, len(best))
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	var out docstore.Page[T]
	for _, e := range best[:min(limit, len(best))] {
		out.Docs = append(out.Docs, e.doc)
	}
	if len(best) > limit {
		data, err := json.Marshal(best[limit-1].key)
		if err != nil {
			return out, fmt.Errorf("cursor: %w", err)
		}
		out.Next = base64.RawURLEncoding.EncodeToString(data)
	}
	return out, nil
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
