package docstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// DefaultLimit is the size of a page when Query.Limit is 0.
const DefaultLimit = 100

// Query selects a page of documents.
type Query[T any] struct {
	// Where selects documents. Nil selects all.
	Where Cond
	// OrderBy names a single-valued index. Documents with equal values are in insertion order, documents without a value come last. Default:
	// insertion order.
	OrderBy string
	// Desc reverses the whole order: documents without a value come first.
	Desc bool
	// After is the Next of the previous page. It is valid only with the same Where (the values in it may differ), OrderBy and Desc. Documents
	// that are inserted or deleted in the meantime, even the last one of that page, do not make other documents repeat or disappear.
	After string
	// From starts the page after a position, for callers that create their own cursors. It must not be combined with After.
	From *Position
	// Offset is the number of documents to skip, counted from After. Default: 0.
	Offset int
	// Limit is the size of the page. Default: DefaultLimit.
	Limit int
	// MaxBytes ends the page before the document with which the stored text of its documents would exceed that number of bytes. The first
	// document is on the page, whatever its size. Page.Next then continues with the next one. Default: no limit.
	MaxBytes int
	// Link, if set, is read with the documents; see Doc.Linked.
	Link *Link
	// Match, if set, selects among the documents that Where selects. The page contains documents that match, and Offset counts them. Match
	// must not use the database, which is being read while it runs.
	Match func(*Doc[T]) bool
}

// Position is a position in the order of a query, whether or not a document is at that position.
type Position struct {
	Key any   // a value of the index in OrderBy, as Index.Values computes it; nil for no value and without OrderBy
	Seq int64 // as Doc.Seq
}

// Page is a part of the documents of a query.
type Page[T any] struct {
	Docs []Doc[T]
	// Next is the cursor of the next page, or "" if no more documents exist at this time. It is an opaque string of URL-safe characters.
	Next string
	// Bytes is the size of the stored text of the documents.
	Bytes int
}

func (c *collection[T]) Query(ctx context.Context, q Reader, query Query[T]) (Page[T], error) {
	var page Page[T]
	next, err := c.t.page(ctx, q, query.erased(), func(r *row, keep bool) (bool, error) {
		if !keep && query.Match == nil {
			return true, nil
		}
		doc, err := read[T](c.t, r)
		if err != nil || query.Match != nil && !query.Match(&doc) {
			return false, err
		}
		if keep {
			page.Docs, page.Bytes = append(page.Docs, doc), page.Bytes+len(r.text)
		}
		return true, nil
	})
	if err != nil {
		return Page[T]{}, err
	}
	page.Next = next
	return page, nil
}

// CursorAfter returns the Next of a page of the collection that ends with the document, for a query in insertion order.
func CursorAfter[T any](c Collection[T], query Query[T], doc *Doc[T]) (string, error) {
	t := c.core()
	if query.OrderBy != "" {
		return "", t.wrap(fmt.Errorf("CursorAfter with the order %s: use a query in insertion order", query.OrderBy))
	}
	w, err := t.walk(query.erased())
	if err != nil {
		return "", t.wrap(err)
	}
	next, err := w.cursorAt(newCursor(nil, doc.seq))
	return next, t.wrap(err)
}

// erased returns the query in the form that does not depend on the type of the documents.
func (q *Query[T]) erased() query {
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	return query{
		where: q.Where, orderBy: q.OrderBy, desc: q.Desc, after: q.After, from: q.From, offset: max(q.Offset, 0), limit: limit, link: q.Link,
		matching: q.Match != nil, maxBytes: q.MaxBytes,
	}
}

// query is a Query. matching is true if Query.Match is set, so that rows may be rejected.
type query struct {
	where         Cond
	orderBy       string
	desc          bool
	after         string
	from          *Position
	offset, limit int
	link          *Link
	longest       int
	matching      bool
	maxBytes      int // 0 for no limit
}

// plain reports whether the query reads all documents in insertion order from the first one.
func (q *query) plain() bool {
	return q.where == nil && q.orderBy == "" && !q.desc && q.after == "" && q.from == nil && !q.matching
}

// sink receives the rows of a query in order. The result counts is false for a row that Query.Match rejects: such a row takes no place on
// the page. The sink stores the row only if keep is true.
type sink func(r *row, keep bool) (counts bool, err error)

// page passes the rows of a page to the sink and returns the cursor of the next page.
func (t *table) page(ctx context.Context, q Reader, query query, into sink) (next string, err error) {
	tx, vacant := emptyResultOf(q, t, &query)
	if tx != nil {
		if err := tx.readState(ctx); err != nil || tx.store.cache.isEmpty(tx.state, vacant) {
			return "", t.wrap(err)
		}
	}
	found := false
	next, err = t.search(ctx, q, query, func(r *row, keep bool) (bool, error) {
		found = true
		return into(r, keep)
	})
	if tx != nil && err == nil && !found {
		tx.store.cache.putEmpty(tx.state, vacant)
	}
	return next, err
}

// search does the same as page, without the cache of empty results.
func (t *table) search(ctx context.Context, q Reader, query query, into sink) (next string, err error) {
	w, err := t.walk(query)
	if err != nil {
		return "", t.wrap(err)
	}
	// n may exceed the page size by one: the additional row shows that a next page exists, and is not stored.
	n, size, offset, last := 0, 0, query.offset, (*cursor)(nil)
	each := func(r *row) error {
		if n > query.limit {
			return nil
		}
		passed := query.matching && offset > 0
		fits := n < query.limit && (query.maxBytes <= 0 || n == 0 || size+len(r.text) <= query.maxBytes)
		counts, err := into(r, !passed && fits)
		switch {
		case err != nil || !counts:
			return err
		case passed:
			offset--
			return nil
		case !fits:
			n = query.limit + 1
			return errPageFull
		}
		if n, size = n+1, size+len(r.text); n == query.limit || query.maxBytes > 0 {
			last = newCursor(r.key, r.seq)
		}
		return nil
	}
	rest, err := w.skip(ctx, q, query)
	if err != nil {
		return "", t.wrap(err)
	}
	chunk := query.limit + 1
	switch {
	case query.matching:
		chunk = min(max(firstChunk, chunk), lastChunk)
	case query.maxBytes > 0:
		chunk = min(chunk, sizedChunk)
	}
	if query.matching {
		rest = 0 // each counts the matches
	}
	for n <= query.limit {
		var read int
		if read, err = w.take(ctx, q, rest, chunk, each); err != nil || read < chunk {
			break
		}
		rest, chunk = 0, min(2*chunk, lastChunk)
	}
	if err != nil && !errors.Is(err, errPageFull) || n <= query.limit {
		return "", err
	}
	next, err = w.cursorAt(last)
	return next, t.wrap(err)
}

// errPageFull ends the reading of a page at its first document that is not stored.
var errPageFull = errors.New("docstore: the page is full")

// sizedChunk is the number of documents that the first statement for a page with a limit of bytes reads. The statement returns all of them,
// although the page may end at the first few: PostgreSQL cannot stop in between.
const sizedChunk = 256

// Sizes of the chunks of documents that are read for Match. They double, because few matches in the first chunk suggest that many chunks
// follow.
const (
	firstChunk = 64
	lastChunk  = 1024
)

// walk reads the documents of a query in its order. An order by index consists of two stretches, the documents with a value and those
// without, because no single ORDER BY both puts NULL at the same end on both databases and uses their indexes.
type walk struct {
	t         *table
	order     *column // nil for insertion order
	link      *Link
	longest   int  // see columns
	single    bool // at most one document matches
	merged    bool // the order is that of numberedOrder
	joined    bool // documents are read joined, see joins
	brief     bool // an index returns the documents in order without a search or a sort
	desc      bool
	where     string // the condition, starting with " WHERE "
	args      []any
	stretches []stretch
	at        int     // the current stretch
	pos       *cursor // the last document that was read of the current stretch, nil at its start
}

// stretch is a part of the order of a query.
type stretch int

const (
	everything stretch = iota
	withValue
	withoutValue
)

// cursor is a position after a document: its key in the order, if it has one, and its seq.
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
	w := &walk{t: t, desc: query.desc, link: query.link, longest: query.longest, stretches: []stretch{everything}}
	if query.orderBy != "" {
		var err error
		if w.order, err = t.column(query.orderBy); err != nil {
			return nil, err
		}
		if w.order.multi {
			return nil, fmt.Errorf("index %s is Multi and cannot be used for ordering: use an index with one value per document", query.orderBy)
		}
		w.stretches = []stretch{withValue, withoutValue}
		if w.desc {
			slices.Reverse(w.stretches)
		}
	}
	switch {
	case query.where == nil:
		w.merged = w.order != nil && w.order.name == ID && t.numbering.Load()
		w.brief = w.order == nil || w.order.name != Created && w.order.name != Updated
	case w.order == nil:
		w.brief = t.lookup(query.where)
		w.single = t.single(query.where)
	}
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

// skip moves the walk near the query's offset, if the collection has positions, and returns the rest of the offset.
func (w *walk) skip(ctx context.Context, q Reader, query query) (rest int, err error) {
	if query.offset == 0 || !query.plain() || !w.t.hasPositions(q) {
		return query.offset, nil
	}
	after, rest, err := w.t.seek(ctx, q, query.offset)
	w.pos = newCursor(nil, after)
	return rest, err
}

// take skips offset rows, calls each for the next n rows, and returns the number of calls. The number is less than n only at the end of the
// order.
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

// step reads from the current stretch and moves the position after the rows that it read.
func (w *walk) step(ctx context.Context, q Reader, offset, n int, each func(*row) error) (read int, err error) {
	if w.joined {
		return w.stepJoined(ctx, q, offset, n, each)
	}
	return w.stepRows(ctx, q, offset, n, each)
}

// stepRows is step with one row of a result for each document.
func (w *walk) stepRows(ctx context.Context, q Reader, offset, n int, each func(*row) error) (read int, err error) {
	with := columns{order: w.order, link: w.link, longest: w.longest}
	clauses, args := w.clauses(offset, n)
	err = w.t.readRows(w.context(ctx, q, offset), q, with, w.t.selectSQL(with)+clauses, args, func(r *row) error {
		read++
		if read == n { // fewer rows than requested mean that the stretch has ended
			w.pos = newCursor(r.key, r.seq)
		}
		if err := each(r); err != nil || !w.single {
			return err
		}
		return sqldb.ErrStop // looking for another row costs a call of the driver
	})
	return read, err
}

// clauses returns the end of a statement that skips offset documents of the current stretch and reads the next n.
func (w *walk) clauses(offset, n int) (clauses string, args []any) {
	if w.merged && w.stretches[w.at] == withValue {
		return w.numberedOrder(offset, n)
	}
	where, args := w.rest()
	direction := ""
	if w.desc {
		direction = " DESC"
	}
	clauses = where + " ORDER BY "
	if w.stretches[w.at] == withValue {
		clauses += w.order.quoted + direction + ", "
	}
	clauses += "seq" + direction + sqldb.Limit
	args = append(args, n)
	if offset > 0 {
		clauses += sqldb.Offset
		args = append(args, offset)
	}
	return clauses, args
}

// context returns the context to run the statement with.
func (w *walk) context(ctx context.Context, q Reader, offset int) context.Context {
	if w.brief && offset == 0 {
		return sqldb.Brief(ctx, q)
	}
	return ctx
}

// rest returns the WHERE clause of the rest of the current stretch.
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

// from converts a position of the caller to a cursor.
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

// A cursor is the base64url of a checksum and the position. The checksum covers the form of the query: the cursor of another query, or one
// that was accidentally truncated or altered, is rejected. It is not a signature: a forged cursor only starts at another position among
// documents that the same query may read anyway.
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
