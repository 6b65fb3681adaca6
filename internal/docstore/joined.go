package docstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Joined reading: SQLite joins the columns of many documents to two texts, one with the documents and one with the other columns. A row of
// a result costs two calls of C and a value in the heap for each of its columns; this is more than SQLite needs to find and to join the
// columns. With a single text, which would be a tenth slower, SQLite would copy each document twice.

const (
	// joinedRows is the maximum number of documents in a text, and joinedLength that of the bytes of each, so that a text has at most about
	// 256 KiB. A longer document is read as a row.
	joinedRows   = 128
	joinedLength = 2 << 10
	// eachRows and eachLength are the same for texts of short documents, such as memberships.
	eachRows   = 512
	eachLength = 512
	// joinedMin is the number of documents from which joining them is faster.
	joinedMin = 8
	// noLink stands for the result of Link.sql of a document without relations.
	noLink = "-"
	// joiner separates columns and documents. No id and no JSON text contains it.
	joiner = "\x00"
)

// docUpTo selects the text of a document, or an empty text if it is too long.
func docUpTo(length int) string {
	return "CASE WHEN octet_length(doc) <= " + strconv.Itoa(length) + " THEN doc ELSE '' END"
}

// joins reports whether documents of the table may be read joined.
func (t *table) joins(q Reader) bool {
	db, ok := q.(interface{ Dialect() sqldb.Dialect })
	return ok && db.Dialect() == sqldb.SQLite && !t.cached
}

// joins reports whether the documents of the walk may be read joined.
func (w *walk) joins(q Reader) bool {
	return w.t.joins(q) && w.order == nil && (w.longest == 0 || w.longest >= joinedLength)
}

// joinedSQL returns the statement that reads joined documents. A statement without a limit needs no subquery, which costs a tenth of the
// time.
func (w *walk) joinedSQL(clauses string, limited bool) string {
	columns := "concat_ws(char(0), " + plainNames
	if w.link != nil {
		columns += ", COALESCE(" + w.link.sql(w.t) + ", '" + noLink + "')"
	}
	columns += ")"
	doc := docUpTo(joinedLength)
	if limited {
		return "SELECT string_agg(columns, char(0)), string_agg(text, char(0)) FROM " +
			"(SELECT " + columns + " AS columns, " + doc + " AS text FROM " + w.t.quoted + clauses + ")"
	}
	return "SELECT string_agg(" + columns + ", char(0)), string_agg(" + doc + ", char(0)) FROM " + w.t.quoted + clauses
}

// stepJoined does the same as step.
func (w *walk) stepJoined(ctx context.Context, q Reader, offset, n int, each func(*row) error) (read int, err error) {
	for read < n {
		part := min(n-read, joinedRows)
		var got int
		var long bool
		if !w.desc && offset == 0 {
			got, long, err = w.joinNumbers(ctx, q, part, each)
		}
		if err == nil && got < part && !long {
			var more int
			more, long, err = w.join(ctx, q, offset, part-got, each)
			got += more
		}
		if got > 0 {
			offset = 0
		}
		if err == nil && long {
			var more int
			more, err = w.stepRows(ctx, q, offset, part-got, each)
			got, offset = got+more, 0
		}
		if read += got; err != nil || got < part {
			return read, err
		}
	}
	return read, nil
}

// joinNumbers is join for the next n numbers. It reads fewer documents if some of the numbers are not used.
func (w *walk) joinNumbers(ctx context.Context, q Reader, n int, each func(*row) error) (read int, long bool, err error) {
	after := int64(0)
	if w.pos != nil {
		after = w.pos.Seq
	}
	return w.joinRows(sqldb.Brief(ctx, q), q, w.joinedSQL(" WHERE seq > ? AND seq <= ?", false), []any{after, after + int64(n)}, each)
}

// join reads n documents joined, and moves the position after the last one. It ends early before a document that is too long.
func (w *walk) join(ctx context.Context, q Reader, offset, n int, each func(*row) error) (read int, long bool, err error) {
	clauses, args := w.clauses(offset, n)
	return w.joinRows(w.context(ctx, q, offset), q, w.joinedSQL(clauses, true), args, each)
}

// joinRows runs a statement that reads joined documents.
func (w *walk) joinRows(ctx context.Context, q Reader, query string, args []any, each func(*row) error) (read int, long bool, err error) {
	var text, docs string
	err = sqldb.Each(ctx, q, 2, query, args, func(values []driver.Value) error {
		text, docs = sqldb.String(values[0]), sqldb.String(values[1])
		return sqldb.ErrStop
	})
	if err != nil {
		return 0, false, w.t.wrap(err)
	}
	var r row
	last := int64(0) // the number of the last document that was read
	for text != "" {
		if text, err = r.cut(text, w.link != nil); err != nil {
			return read, false, w.t.wrap(err)
		}
		var doc string
		doc, docs, _ = strings.Cut(docs, joiner)
		r.text, r.length = append(r.text[:0], doc...), int64(len(doc))
		if read > 0 && (r.seq < last) != w.desc {
			return read, false, w.t.wrap(fmt.Errorf("document %d was read after %d", r.seq, last))
		}
		if len(r.text) == 0 {
			long = true
			break
		}
		read, last = read+1, r.seq
		if err := each(&r); err != nil {
			return read, false, err
		}
	}
	if read > 0 {
		w.pos = newCursor(nil, last)
	}
	return read, long, nil
}

// cut sets the columns of the row, except the text of the document, to those of the first document of a joined text. It returns the rest of
// the joined text.
func (r *row) cut(text string, link bool) (rest string, err error) {
	for _, n := range []*int64{&r.seq, &r.rev, &r.created, &r.updated} {
		digits, after, _ := strings.Cut(text, joiner)
		if *n, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return "", fmt.Errorf("a column of a document is %q, not an integer", digits)
		}
		text = after
	}
	r.id, text, _ = strings.Cut(text, joiner)
	if link {
		var linked string
		if linked, text, _ = strings.Cut(text, joiner); linked == noLink {
			linked = ""
		}
		r.linked, r.hasLink = linkedIDs(r.id, linked)
	}
	return text, nil
}

// eachJoined is EachRaw with joined texts. The context stop is checked after each of them.
func (t *table) eachJoined(ctx, stop context.Context, q Reader, where string, args []any, use func(text string) error) error {
	const order = " AND seq > ? ORDER BY seq" + sqldb.Limit
	query := "SELECT MAX(seq), COUNT(*), string_agg(joined, char(0)) " +
		"FROM (SELECT seq, " + docUpTo(eachLength) + " AS joined FROM " + t.quoted + where + order + ")"
	args = append(slices.Clone(args), int64(0), int64(eachRows))
	for {
		var last, read int64
		var text string
		err := sqldb.Each(ctx, q, 3, query, args, func(values []driver.Value) error {
			last, _ = values[0].(int64)
			read, _ = values[1].(int64)
			text = sqldb.String(values[2])
			return sqldb.ErrStop
		})
		if err != nil || read == 0 {
			return err
		}
		if text == "" || strings.HasPrefix(text, joiner) || strings.HasSuffix(text, joiner) || strings.Contains(text, joiner+joiner) {
			return t.eachText(ctx, stop, q, where+" AND seq > ? ORDER BY seq", args[:len(args)-1], use)
		}
		for rest, more := text, true; more; {
			text, rest, more = strings.Cut(rest, joiner)
			if err := use(text); err != nil {
				return err
			}
		}
		if err := stop.Err(); err != nil || read < eachRows {
			return err
		}
		args[len(args)-2] = last
	}
}
