package docstore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/processor"
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
	// joiner separates columns and documents. No id and no JSON text contains it.
	joiner = "\x00"
	// joinedNames joins the columns of plainNames. The columns rev and updated of a document that was never updated are empty, because the
	// conversion of two integers to text takes a tenth of the time of the statement.
	joinedNames = "concat_ws(char(0), seq, iif(rev = 1, '', rev), created, iif(updated = created, '', updated), id)"
)

// docUpTo selects the text of a document, or an empty text if it is too long.
func docUpTo(length int) string {
	return "CASE WHEN octet_length(doc) <= " + strconv.Itoa(length) + " THEN doc ELSE '' END"
}

// joins reports whether documents of the table may be read joined.
func (t *table) joins(q Reader) bool {
	return onSQLite(q) && !t.cached
}

func onSQLite(q Reader) bool {
	db, ok := q.(interface{ Dialect() sqldb.Dialect })
	return ok && db.Dialect() == sqldb.SQLite
}

// joins reports whether the documents of the walk may be read joined.
func (w *walk) joins(q Reader) bool {
	return w.t.joins(q) && w.order == nil && (w.longest == 0 || w.longest >= joinedLength)
}

// joinedSQL returns the statement that reads joined documents.
func (w *walk) joinedSQL(clauses string) string {
	return "SELECT string_agg(names, char(0)), string_agg(text, char(0))" + w.linkedSQL("(SELECT seq, id FROM "+w.t.quoted+clauses+") d", "") +
		" FROM (SELECT " + joinedNames + " AS names, " + docUpTo(joinedLength) + " AS text FROM " + w.t.quoted + clauses + ")"
}

// joinedNumbersSQL is joinedSQL for the documents whose numbers are in a range. Without a limit, it needs no subqueries, which cost a tenth
// of the time.
func (w *walk) joinedNumbersSQL() string {
	return "SELECT string_agg(" + joinedNames + ", char(0)), string_agg(" + docUpTo(joinedLength) + ", char(0))" +
		w.linkedSQL(w.t.quoted+" d", " WHERE d.seq > ? AND d.seq <= ?") + " FROM " + w.t.quoted + " WHERE seq > ? AND seq <= ?"
}

// linkedSQL selects the relations of documents d as a third text: for each relation, the number of the document and relationSQL.
// This takes less time than Link.sql for each document. The relations are of the same snapshot as the documents, because one statement
// reads both.
func (w *walk) linkedSQL(documents, where string) string {
	if w.link == nil {
		return ""
	}
	relation := w.link.relation
	return ", (SELECT string_agg(concat_ws(char(0), d.seq, " + relationSQL + "), char(0)) FROM " + documents +
		" CROSS JOIN " + relation.quoted + " r ON r." + w.link.to.quoted + " = d.id" + where + ")"
}

// stepJoined does the same as step.
func (w *walk) stepJoined(ctx context.Context, q Reader, offset, n int, each func(*row) error) (read int, err error) {
	for read < n {
		if read > 0 {
			processor.Yield()
		}
		part := min(n-read, joinedRows)
		var got int
		var long bool
		if !w.desc && offset == 0 {
			got, err = w.recallPage(ctx, q, part, each)
			if err == nil && got < part {
				var more int
				more, long, err = w.joinNumbers(ctx, q, part-got, each)
				got += more
			}
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
	return w.joinRows(sqldb.Brief(ctx, q), q, w.joinedNumbersSQL(), []any{after, after + int64(n)}, each)
}

// join reads n documents joined, and moves the position after the last one. It ends early before a document that is too long.
func (w *walk) join(ctx context.Context, q Reader, offset, n int, each func(*row) error) (read int, long bool, err error) {
	clauses, args := w.clauses(offset, n)
	return w.joinRows(w.context(ctx, q, offset), q, w.joinedSQL(clauses), args, each)
}

// joinRows runs a statement that reads joined documents, with the arguments of one of its two equal conditions.
func (w *walk) joinRows(ctx context.Context, q Reader, query string, args []any, each func(*row) error) (read int, long bool, err error) {
	var text, docs string
	var relations map[int64][]string
	columns := 2
	if w.link != nil {
		columns, args = 3, slices.Concat(args, args)
	}
	err = sqldb.Each(ctx, q, columns, query, args, func(values []driver.Value) (err error) {
		text, docs = sqldb.String(values[0]), sqldb.String(values[1])
		if w.link != nil {
			relations, err = relationsIn(sqldb.String(values[2]))
		}
		return cmp.Or(err, sqldb.ErrStop)
	})
	if err != nil {
		return 0, false, w.t.wrap(err)
	}
	var r row
	last := int64(0) // the number of the last document that was read
	for text != "" {
		if text, err = r.cut(text); err != nil {
			return read, false, w.t.wrap(err)
		}
		if w.link != nil {
			r.linked, r.hasLink = linkedIDs(r.id, strings.Join(relations[r.seq], idSeparator))
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

// cut sets the row to the first document of a joined text, except for the text of the document and its relations. It returns the rest of
// the joined text.
func (r *row) cut(text string) (rest string, err error) {
	if r.seq, text, err = cutNumber(text, 0); err == nil {
		r.rev, text, err = cutNumber(text, 1)
	}
	if err == nil {
		r.created, text, err = cutNumber(text, 0)
	}
	if err == nil {
		r.updated, text, err = cutNumber(text, r.created)
	}
	r.id, rest, _ = strings.Cut(text, joiner)
	return rest, err
}

// cutNumber returns the integer that a text starts with, or the number usual if there is none, and the rest after the joiner.
func cutNumber(text string, usual int64) (n int64, rest string, err error) {
	digits, rest, _ := strings.Cut(text, joiner)
	if digits == "" {
		return usual, rest, nil
	}
	if n, err = strconv.ParseInt(digits, 10, 64); err != nil {
		return 0, "", fmt.Errorf("a column of a document is %q, not an integer", digits)
	}
	return n, rest, nil
}

// relationsIn returns the relations in the text of linkedSQL by the number of the document.
func relationsIn(text string) (map[int64][]string, error) {
	if text == "" {
		return nil, nil
	}
	out := map[int64][]string{}
	for text != "" {
		seq, rest, err := cutNumber(text, 0)
		if err != nil {
			return nil, err
		}
		var relation string
		relation, text, _ = strings.Cut(rest, joiner)
		out[seq] = append(out[seq], relation)
	}
	return out, nil
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
