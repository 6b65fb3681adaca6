package docstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// DefaultLimit is the size of a page when Query.Limit is 0.
const DefaultLimit = 100

// Query asks for a page of documents.
type Query[T any] struct {
	// Where selects documents. Nil selects all.
	Where Cond
	// OrderBy names a single-valued index. Documents with equal values come in the order of their insertion, documents without
	// a value after all others. Defaults to the order of insertion.
	OrderBy string
	// Desc turns the whole order around: documents without a value come first then.
	Desc bool
	// After is the Next of the page before; it goes with the same Where (the values in it may differ), OrderBy and Desc only.
	// Documents that come or go meanwhile, the last one of that page too, neither repeat nor hide others.
	After string
	// From begins the page behind a position instead, for callers that make their own cursors. It goes without After.
	From *Position
	// Offset leaves out so many documents, counted from After. Defaults to 0.
	Offset int
	// Limit is the size of the page. Defaults to DefaultLimit.
	Limit int
	// Link is read along, when set; see Doc.Linked.
	Link *Link
	// Match, when set, checks exactly what Where selects; the page is filled with documents that match, and Offset counts them.
	Match func(*Doc[T]) bool
}

// Position is a place in the order of a query, whether or not a document stands there.
type Position struct {
	Key any   // a value of the index in OrderBy, as Index.Values computes it; nil for «no value» and without OrderBy
	Seq int64 // as Doc.Seq
}

// Page is a part of the documents of a query.
type Page[T any] struct {
	Docs []Doc[T]
	// Next is the cursor of the following page; "" when there is none at this time. It is opaque text of URL-safe characters.
	Next string
}

// Query returns a page. Its errors are ErrBadCursor, which the sender of the cursor caused, and failures.
//
// In insertion order, PostgreSQL may commit a document after one that was inserted later; who walks the pages meanwhile can
// miss the former.
func (c *Collection[T]) Query(ctx context.Context, q Reader, query Query[T]) (Page[T], error) {
	w, err := c.walk(query)
	if err != nil {
		return Page[T]{}, c.wrap(err)
	}
	limit := query.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	var docs []Doc[T]
	if query.Match == nil {
		docs, err = w.take(ctx, q, max(query.Offset, 0), limit+1)
	} else {
		docs, err = w.takeMatching(ctx, q, query.Match, max(query.Offset, 0), limit+1)
	}
	if err != nil {
		return Page[T]{}, err
	}
	if len(docs) <= limit {
		return Page[T]{Docs: docs}, nil
	}
	next, err := w.cursorAt(&docs[limit-1])
	return Page[T]{Docs: docs[:limit:limit], Next: next}, c.wrap(err)
}

// walk goes through the documents of a query in its order. An order by index is walked in two stretches, the documents with a
// value and those without, because no single ORDER BY both puts NULL at the same end on both databases and uses their indexes.
type walk[T any] struct {
	c         *Collection[T]
	order     *column // nil for the order of insertion
	link      *Link
	lookup    bool // an index gives the documents in their order
	desc      bool
	where     string // the condition, beginning with " WHERE "
	args      []any
	stretches []stretch
	at        int     // the current stretch
	pos       *cursor // the last document that was read of the current stretch, nil at its beginning
}

// stretch is a run of documents.
type stretch int

const (
	everything stretch = iota
	withValue
	withoutValue
)

// cursor is a position behind a document: its key in the order, if it has one, and its seq.
type cursor struct {
	Text *string `json:"t,omitempty"`
	Int  *int64  `json:"i,omitempty"`
	Seq  int64   `json:"s"`
}

func (c *cursor) key() any {
	switch {
	case c.Text != nil:
		return *c.Text
	case c.Int != nil:
		return *c.Int
	}
	return nil
}

func (c *Collection[T]) walk(query Query[T]) (*walk[T], error) {
	w := &walk[T]{c: c, desc: query.Desc, link: query.Link, stretches: []stretch{everything}}
	if query.OrderBy != "" {
		var err error
		if w.order, err = c.table.column(query.OrderBy); err != nil {
			return nil, err
		}
		if w.order.multi {
			return nil, fmt.Errorf("index %s is Multi and gives no order", query.OrderBy)
		}
		w.stretches = []stretch{withValue, withoutValue}
		if w.desc {
			slices.Reverse(w.stretches)
		}
	}
	w.lookup = w.order == nil && c.table.lookup(query.Where)
	var err error
	if w.where, w.args, err = c.table.where(query.Where); err != nil {
		return nil, err
	}
	switch {
	case query.From != nil:
		w.pos, err = w.from(*query.From)
	case query.After != "":
		w.pos, err = w.parse(query.After)
	}
	if err != nil || w.pos == nil {
		return w, err
	}
	if w.order != nil {
		found := withValue
		if w.pos.key() == nil {
			found = withoutValue
		}
		w.at = slices.Index(w.stretches, found)
	}
	return w, nil
}

// take returns the next n documents behind the next offset ones; fewer only at the end.
func (w *walk[T]) take(ctx context.Context, q Reader, offset, n int) ([]Doc[T], error) {
	var out []Doc[T]
	for {
		docs, err := w.step(ctx, q, offset, n-len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, docs...)
		if len(out) == n || w.at == len(w.stretches)-1 {
			return out, nil
		}
		if offset > 0 && len(docs) == 0 {
			where, args := w.rest()
			passed, err := w.c.count(ctx, q, where, args)
			if err != nil {
				return nil, err
			}
			offset = max(0, offset-passed)
		} else {
			offset = 0
		}
		w.at, w.pos = w.at+1, nil
	}
}

// The sizes of the chunks in which documents are read that Match then checks: they double, because few matches in the first
// chunk announce a long way.
const (
	firstChunk = 64
	lastChunk  = 1024
)

// takeMatching is take for documents that match.
func (w *walk[T]) takeMatching(ctx context.Context, q Reader, match func(*Doc[T]) bool, offset, n int) ([]Doc[T], error) {
	var out []Doc[T]
	for chunk := min(max(firstChunk, n), lastChunk); ; chunk = min(2*chunk, lastChunk) {
		docs, err := w.take(ctx, q, 0, chunk)
		if err != nil {
			return nil, err
		}
		for i := range docs {
			if !match(&docs[i]) {
				continue
			}
			if offset > 0 {
				offset--
				continue
			}
			if out = append(out, docs[i]); len(out) == n {
				return out, nil
			}
		}
		if len(docs) < chunk {
			return out, nil
		}
	}
}

// step reads from the current stretch and moves behind what it read.
func (w *walk[T]) step(ctx context.Context, q Reader, offset, n int) ([]Doc[T], error) {
	where, args := w.rest()
	direction := ""
	if w.desc {
		direction = " DESC"
	}
	orderBy := "seq" + direction
	if w.stretches[w.at] == withValue {
		orderBy = w.order.quoted + direction + ", " + orderBy
	}
	with := columns{order: w.order, link: w.link}
	query := w.c.table.selectSQL(with) + where + " ORDER BY " + orderBy + sqldb.Limit
	args = append(args, n)
	if offset > 0 {
		query += sqldb.Offset
		args = append(args, offset)
	}
	if w.lookup && offset == 0 {
		ctx = sqldb.Brief(ctx, q)
	}
	docs, err := w.c.read(ctx, q, with, query, args)
	if err == nil && len(docs) > 0 {
		w.pos = position(&docs[len(docs)-1])
	}
	return docs, err
}

// rest is the WHERE clause of what is left of the current stretch.
func (w *walk[T]) rest() (where string, args []any) {
	where, args = w.where, slices.Clone(w.args)
	after := " > "
	if w.desc {
		after = " < "
	}
	if w.stretches[w.at] == withValue {
		where += " AND " + w.order.quoted + " IS NOT NULL"
		if w.pos != nil {
			where += " AND (" + w.order.quoted + ", seq)" + after + "(?, ?)"
			args = append(args, w.pos.key(), w.pos.Seq)
		}
		return where, args
	}
	if w.stretches[w.at] == withoutValue {
		where += " AND " + w.order.quoted + " IS NULL"
	}
	if w.pos != nil {
		where += " AND seq" + after + "?"
		args = append(args, w.pos.Seq)
	}
	return where, args
}

func position[T any](doc *Doc[T]) *cursor { return newCursor(doc.key, doc.seq) }

// from converts a position of the caller.
func (w *walk[T]) from(p Position) (*cursor, error) {
	if w.order == nil {
		return newCursor(nil, p.Seq), nil
	}
	key, err := w.order.key(p.Key)
	if err != nil {
		return nil, fmt.Errorf("position in %s: %w", w.order.name, err)
	}
	return newCursor(key, p.Seq), nil
}

func newCursor(key any, seq int64) *cursor {
	c := &cursor{Seq: seq}
	switch key := key.(type) {
	case string:
		c.Text = &key
	case int64:
		c.Int = &key
	}
	return c
}

// A cursor is written as a checksum and the position, in base64url. The checksum covers the shape of the query: the cursor of
// another query, or one that was cut or altered by mistake, is refused. It is no signature, since a forged cursor only begins
// elsewhere in what the same query may see anyway.
const checksumLength = 9

func (w *walk[T]) cursorAt(doc *Doc[T]) (string, error) {
	payload, err := json.Marshal(position(doc))
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(w.checksum(payload), payload...)), nil
}

func (w *walk[T]) parse(text string) (*cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < checksumLength {
		return nil, ErrBadCursor
	}
	sum, payload := raw[:checksumLength], raw[checksumLength:]
	var c cursor
	if !bytes.Equal(sum, w.checksum(payload)) || json.Unmarshal(payload, &c) != nil {
		return nil, ErrBadCursor
	}
	return &c, nil
}

func (w *walk[T]) checksum(payload []byte) []byte {
	order := ""
	if w.order != nil {
		order = w.order.name
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %t %q %s", w.c.table.name, order, w.desc, w.where, payload))
	return sum[:checksumLength]
}
