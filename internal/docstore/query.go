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
	// Match, when set, checks exactly what Where selects; the page is filled with documents that match, and Offset counts them. It must
	// not use the database, which is being read while it runs.
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

func (c *collection[T]) Query(ctx context.Context, q Reader, query Query[T]) (Page[T], error) {
	var docs []Doc[T]
	next, err := c.t.page(ctx, q, query.erased(), func(r *row, keep bool) (bool, error) {
		if !keep && query.Match == nil {
			return true, nil
		}
		doc, err := c.read(r)
		if err != nil || query.Match != nil && !query.Match(&doc) {
			return false, err
		}
		if keep {
			docs = append(docs, doc)
		}
		return true, nil
	})
	if err != nil {
		return Page[T]{}, err
	}
	return Page[T]{Docs: docs, Next: next}, nil
}

// erased is the query without the type of the documents.
func (q *Query[T]) erased() query {
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	return query{
		where: q.Where, orderBy: q.OrderBy, desc: q.Desc, after: q.After, from: q.From, offset: max(q.Offset, 0), limit: limit, link: q.Link,
		matching: q.Match != nil,
	}
}

// query is a Query. Matching says that not every row that it finds counts.
type query struct {
	where         Cond
	orderBy       string
	desc          bool
	after         string
	from          *Position
	offset, limit int
	link          *Link
	matching      bool
}

// sink takes the rows that a query finds, in their order, and says whether one counts. It keeps those that it is told to.
type sink func(r *row, keep bool) (counts bool, err error)

// page hands the rows of a page to the sink and returns the cursor of the next one.
func (t *table) page(ctx context.Context, q Reader, query query, into sink) (next string, err error) {
	tx, vacant := vacancyOf(q, t, &query)
	if tx != nil {
		if err := tx.readState(ctx); err != nil || tx.store.steady.isEmpty(tx.state, vacant) {
			return "", t.wrap(err)
		}
	}
	found := false
	next, err = t.search(ctx, q, query, func(r *row, keep bool) (bool, error) {
		found = true
		return into(r, keep)
	})
	if tx != nil && err == nil && !found {
		tx.store.steady.putEmpty(tx.state, vacant)
	}
	return next, err
}

// search is page without what is known before.
func (t *table) search(ctx context.Context, q Reader, query query, into sink) (next string, err error) {
	w, err := t.walk(query)
	if err != nil {
		return "", t.wrap(err)
	}
	var last *cursor
	n, offset := 0, query.offset // n becomes one more than the page holds, when there is one more: that one is counted and not kept
	each := func(r *row) error {
		if n > query.limit {
			return nil
		}
		passed := query.matching && offset > 0
		counts, err := into(r, !passed && n < query.limit)
		switch {
		case err != nil || !counts:
			return err
		case passed:
			offset--
			return nil
		}
		if n++; n == query.limit {
			last = newCursor(r.key, r.seq)
		}
		return nil
	}
	if !query.matching {
		_, err = w.take(ctx, q, offset, query.limit+1, each)
	} else {
		for chunk := min(max(firstChunk, query.limit+1), lastChunk); err == nil && n <= query.limit; chunk = min(2*chunk, lastChunk) {
			var read int
			if read, err = w.take(ctx, q, 0, chunk, each); read < chunk {
				break
			}
		}
	}
	if err != nil || n <= query.limit {
		return "", err
	}
	next, err = w.cursorAt(last)
	return next, t.wrap(err)
}

// The sizes of the chunks in which documents are read that Match then checks: they double, because few matches in the first
// chunk announce a long way.
const (
	firstChunk = 64
	lastChunk  = 1024
)

// walk goes through the documents of a query in its order. An order by index is walked in two stretches, the documents with a
// value and those without, because no single ORDER BY both puts NULL at the same end on both databases and uses their indexes.
type walk struct {
	t         *table
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

func (t *table) walk(query query) (*walk, error) {
	w := &walk{t: t, desc: query.desc, link: query.link, stretches: []stretch{everything}}
	if query.orderBy != "" {
		var err error
		if w.order, err = t.column(query.orderBy); err != nil {
			return nil, err
		}
		if w.order.multi {
			return nil, fmt.Errorf("index %s is Multi and gives no order", query.orderBy)
		}
		w.stretches = []stretch{withValue, withoutValue}
		if w.desc {
			slices.Reverse(w.stretches)
		}
	}
	w.lookup = w.order == nil && t.lookup(query.where)
	var err error
	if w.where, w.args, err = t.where(query.where); err != nil {
		return nil, err
	}
	switch {
	case query.from != nil:
		w.pos, err = w.from(*query.from)
	case query.after != "":
		w.pos, err = w.parse(query.after)
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

// take hands the next n rows behind the next offset ones to each, fewer only at the end, and returns how many there were.
func (w *walk) take(ctx context.Context, q Reader, offset, n int, each func(*row) error) (taken int, err error) {
	for {
		read, err := w.step(ctx, q, offset, n-taken, each)
		if err != nil {
			return taken, err
		}
		taken += read
		if taken == n || w.at == len(w.stretches)-1 {
			return taken, nil
		}
		if offset > 0 && read == 0 {
			where, args := w.rest()
			passed, err := w.t.count(ctx, q, where, args)
			if err != nil {
				return taken, err
			}
			offset = max(0, offset-passed)
		} else {
			offset = 0
		}
		w.at, w.pos = w.at+1, nil
	}
}

// step reads from the current stretch and moves behind what it read.
func (w *walk) step(ctx context.Context, q Reader, offset, n int, each func(*row) error) (read int, err error) {
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
	query := w.t.selectSQL(with) + where + " ORDER BY " + orderBy + sqldb.Limit
	args = append(args, n)
	if offset > 0 {
		query += sqldb.Offset
		args = append(args, offset)
	}
	if w.lookup && offset == 0 {
		ctx = sqldb.Brief(ctx, q)
	}
	err = w.t.readRows(ctx, q, with, query, args, func(r *row) error {
		read++
		if read == n { // only then is there something behind it in this stretch
			w.pos = newCursor(r.key, r.seq)
		}
		return each(r)
	})
	return read, err
}

// rest is the WHERE clause of what is left of the current stretch.
func (w *walk) rest() (where string, args []any) {
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

// from converts a position of the caller.
func (w *walk) from(p Position) (*cursor, error) {
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

func (w *walk) cursorAt(pos *cursor) (string, error) {
	payload, err := json.Marshal(pos)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(w.checksum(payload), payload...)), nil
}

func (w *walk) parse(text string) (*cursor, error) {
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

func (w *walk) checksum(payload []byte) []byte {
	order := ""
	if w.order != nil {
		order = w.order.name
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %t %q %s", w.t.name, order, w.desc, w.where, payload))
	return sum[:checksumLength]
}
