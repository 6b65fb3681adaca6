package docstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Raw is a stored document that is not decoded.
type Raw struct {
	ID      string
	Rev     int64
	Seq     int64
	Created time.Time // UTC, in milliseconds
	Updated time.Time // UTC, in milliseconds
	// JSON is the stored text. It is valid until the next document is read, and nil if the document is longer than RawQuery.Longest.
	JSON []byte
	// Owned is true if the memory of JSON will not be used again, so that the text remains valid.
	Owned bool
	// Length is the length of the stored text in bytes.
	Length int64

	linked  []string
	hasLink bool
}

// Linked is Doc.Linked.
func (d *Raw) Linked() (from []string, ok bool) { return d.linked, d.hasLink }

// RawQuery is a Query for texts.
type RawQuery struct {
	Where   Cond
	OrderBy string
	Desc    bool
	// After is the Next of the previous result; see Query.After.
	After  string
	From   *Position
	Offset int
	Limit  int
	Link   *Link
	// Longest is the length in bytes of the longest text to read. Default: no limit.
	Longest int
}

// RawPage is the result of a RawQuery.
type RawPage struct {
	// Next is the position after the last document that was taken, if the caller stopped before the end of the page.
	Next string
	// More reports whether further documents follow the last one that was taken.
	More bool
}

// Texts reads the documents of a collection without decoding them.
type Texts struct{ t *table }

// TextsOf returns the Texts that reads a collection.
func TextsOf(c Table) Texts { return Texts{c.core()} }

// Get passes the document with the id to the function use, until whose return the Raw is valid. It returns ErrNotFound if there is none.
// longest is RawQuery.Longest.
func (c Texts) Get(ctx context.Context, q Reader, id string, link *Link, longest int, use func(*Raw) error) error {
	return c.t.getRowWith(ctx, q, id, columns{link: link, longest: longest}, func(r *row) error { return use(r.asRaw()) })
}

// GetMany passes the documents with the ids to the function use, in any order. The link, unless it is nil, is for RecallLinked: documents
// that are read one by one are cached with it.
func (c Texts) GetMany(ctx context.Context, q Reader, ids []string, link *Link, use func(*Raw) error) error {
	return c.t.getRows(ctx, q, ids, link, func(r *row) error { return use(r.asRaw()) })
}

// RecallLinked returns Linked of the document with the id if it is in the cache with its link.
func (c Texts) RecallLinked(q Reader, id string, link *Link) (from []string, ok bool) {
	found, err := c.t.recall(c.t.rows(q), id, nil, columns{link: link}, func(r *row) error {
		from = r.linked
		return nil
	})
	return from, found && err == nil
}

// Each passes the texts of the documents that match the condition to the function use, in insertion order. The condition should be one
// that an index evaluates. Documents that change meanwhile may be passed in either state; they are not passed twice.
func (c Texts) Each(ctx context.Context, q Reader, cond Cond, use func(text string) error) error {
	t := c.t
	where, args, err := t.where(cond)
	if err != nil {
		return t.wrap(err)
	}
	ctx, stop := sqldb.Brief(ctx, q), ctx
	if t.joins(q) {
		return t.wrap(t.eachJoined(ctx, stop, q, where, args, use))
	}
	return t.wrap(t.eachText(ctx, stop, q, where+" ORDER BY seq", args, use))
}

// eachText passes the texts that one statement selects to the function use. The context stop is checked before each of them.
func (t *table) eachText(ctx, stop context.Context, q Reader, where string, args []any, use func(text string) error) error {
	return sqldb.Each(ctx, q, 1, "SELECT doc FROM "+t.quoted+where, args, func(values []driver.Value) error {
		if err := stop.Err(); err != nil {
			return err
		}
		return use(sqldb.String(values[0]))
	})
}

// Scan examines the documents that match the condition and whose Seq is greater than after, in insertion order, at most limit of them. It
// passes the Seq, the id and the text of the examined ones to the function use, and returns their number and the Seq of the last one, which
// is after if there is none. A text is valid until the next one is read.
//
// A document that certainly does not contain the string contains, in any case of its ASCII letters, is examined but not passed. The
// database then does not copy its text to this process, which costs more than the search. Documents with other characters than ASCII are
// passed, and so are all documents on PostgreSQL.
func (c Texts) Scan(ctx context.Context, q Reader, cond Cond, after int64, limit int, contains string,
	use func(seq int64, id string, text []byte) error) (n int, last int64, err error) {
	t := c.t
	where, args, err := t.where(cond)
	if err != nil {
		return 0, after, t.wrap(err)
	}
	from := " FROM " + t.quoted + where + " AND seq > ? ORDER BY seq" + sqldb.Limit
	args = append(args, after, limit)
	query := "SELECT seq, id, doc" + from
	counted := contains != "" && onSQLite(q)
	if counted {
		// The last row has the number and no text. A text is stored as a BLOB, whose length is that in bytes.
		query = "SELECT * FROM (" + query + `) WHERE doc LIKE ? ESCAPE '\' OR length(CAST(doc AS TEXT)) <> octet_length(doc)` +
			" UNION ALL SELECT max(seq), count(*), NULL FROM (SELECT seq" + from + ")"
		args = slices.Concat(args, []any{"%" + likeLiteral.Replace(contains) + "%"}, args)
	}
	last = after
	err = sqldb.Each(sqldb.Brief(ctx, q), q, 3, query, args, func(values []driver.Value) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		seq, ok := values[0].(int64)
		if counted && values[2] == nil {
			if number, _ := values[1].(int64); number > 0 {
				n, last = int(number), seq
			}
			return nil
		}
		if !ok {
			return fmt.Errorf("the seq of a document is %T, not an integer", values[0])
		}
		if !counted {
			n, last = n+1, seq
		}
		return use(seq, sqldb.String(values[1]), sqldb.Text(values[2]))
	})
	return n, last, t.wrap(err)
}

// likeLiteral escapes a text for LIKE with the escape character \.
var likeLiteral = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// errEnd ends the reading of all stretches of an order.
var errEnd = errors.New("end of the page")

// Query passes the documents of a page to the function take, until it returns false: the page then ends before that document.
func (c Texts) Query(ctx context.Context, q Reader, query RawQuery, take func(*Raw) (bool, error)) (RawPage, error) {
	t := c.t
	cache := t.rows(q)
	id, u, ok := t.uniqueOf(query.Where)
	var keep func(*row)
	if ok && cache != nil && query.Offset == 0 && query.After == "" && query.From == nil {
		found, err := t.recall(cache, id, u, columns{link: query.Link, longest: query.Longest}, func(r *row) error {
			_, err := take(r.asRaw())
			return err
		})
		if found {
			return RawPage{}, t.wrap(err)
		}
		if at, current := cache.Now(); current {
			var unique []uniqueValue
			if u != nil {
				unique = []uniqueValue{*u}
			}
			keep = func(r *row) { t.keep(cache, at, r, unique) }
		}
	}
	return t.queryTexts(ctx, q, query, keep, take)
}

// queryTexts is Texts.Query without the cache. It calls keep, unless it is nil, for each row that it reads.
func (t *table) queryTexts(ctx context.Context, q Reader, query RawQuery, keep func(*row),
	take func(*Raw) (bool, error)) (page RawPage, err error) {
	w, err := t.walk(query.erased())
	if err != nil {
		return page, t.wrap(err)
	}
	offset, err := w.skip(ctx, q, query.erased())
	if err != nil {
		return page, t.wrap(err)
	}
	w.joined = query.Limit >= joinedMin && query.Where == nil && w.joins(q) // most conditions select few documents
	var last row
	var d Raw
	taken, stopped := 0, false
	_, err = w.take(ctx, q, offset, query.Limit+1, func(r *row) error {
		if keep != nil {
			keep(r)
		}
		page.More = taken == query.Limit
		if !page.More {
			d = rawOf(r)
			more, err := take(&d)
			if err != nil {
				return err
			}
			page.More, stopped = !more, !more
		}
		if page.More {
			return errEnd
		}
		taken++
		last.key, last.seq = r.key, r.seq
		return nil
	})
	if err != nil && !errors.Is(err, errEnd) {
		return RawPage{}, err
	}
	if stopped && taken > 0 {
		page.Next, err = w.cursorAt(newCursor(last.key, last.seq))
		return page, t.wrap(err)
	}
	return page, nil
}

// Size returns the total length of the documents of a page.
func (c Texts) Size(ctx context.Context, q Reader, query RawQuery) (size int64, err error) {
	t := c.t
	query.Longest = 1 // no text is read
	w, err := t.walk(query.erased())
	if err != nil {
		return 0, t.wrap(err)
	}
	offset, err := w.skip(ctx, q, query.erased())
	if err != nil {
		return 0, t.wrap(err)
	}
	_, err = w.take(ctx, q, offset, query.Limit, func(r *row) error {
		size += r.length
		return nil
	})
	return size, err
}

func (q *RawQuery) erased() query {
	return query{
		where: q.Where, orderBy: q.OrderBy, desc: q.Desc, after: q.After, from: q.From, offset: max(q.Offset, 0), limit: q.Limit, link: q.Link,
		longest: q.Longest,
	}
}

// asRaw returns the row as a Raw, in the memory that a row from the cache has for it.
func (r *row) asRaw() *Raw {
	d := r.raw
	if d == nil {
		d = new(Raw)
	}
	*d = rawOf(r)
	return d
}

func rawOf(r *row) Raw {
	d := Raw{
		ID: r.id, Rev: r.rev, Seq: r.seq, Created: time.UnixMilli(r.created).UTC(), Updated: time.UnixMilli(r.updated).UTC(),
		JSON: r.text, Owned: r.owned, Length: r.length, linked: r.linked, hasLink: r.hasLink,
	}
	if r.text != nil {
		d.Length = int64(len(r.text))
	}
	return d
}
