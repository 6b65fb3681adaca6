package docstore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Link reads, along with documents, the ids of the documents that reference them. A relation is a collection whose ids are JoinID(from,
// to), with an index of to. One statement then returns the documents and these ids from one snapshot; without a Link, the ids require a
// second statement.
type Link struct {
	relation *table
	to       *column
	anySQL   string // finds a relation that references a document
}

// NewLink returns the link for a single-valued index of kind Text of the relation. It panics if the relation has no such index: that is an
// error in the calling program.
func NewLink(relation Table, index string) *Link {
	t := relation.core()
	to, err := t.column(index)
	if err != nil || to.multi || to.kind != Text {
		panic(fmt.Sprintf("docstore: %s has no single-valued text index %q", relation.Name(), index))
	}
	t.related = true
	return &Link{relation: t, to: to, anySQL: "SELECT 1 FROM " + t.quoted + " WHERE " + to.quoted + " = ? LIMIT 1"}
}

// Any reports whether a relation references the document with the id in the collection c.
func (l *Link) Any(ctx context.Context, tx *Tx, c Table, id string) (found bool, err error) {
	t := c.core()
	if cache := t.written(tx); cache != nil && tx.sql.Unchanged(cache.Key(keyID, id)) {
		cached, err := t.recall(cache, id, nil, columns{link: l}, func(r *row) error {
			found = len(r.linked) > 0
			return nil
		})
		if cached || err != nil {
			return found, err
		}
	}
	err = sqldb.Each(ctx, tx, 1, l.anySQL, []any{textKey(id)}, func([]driver.Value) error {
		found = true
		return sqldb.ErrStop
	})
	return found, l.relation.wrap(err)
}

// Linked returns the first parts of the ids that reference the document, by increasing Seq. ok is false if no link was read. It is also
// false for a document whose id the index stores in another form: an id longer than 1000 bytes, or with U+0001.
func (d *Doc[T]) Linked() (from []string, ok bool) { return d.linked, d.hasLink }

// sql selects the relations of a document as one string: the seq and the id of each, joined by the character that joins the two parts of
// the id and that no part can contain. The caller sorts the result: an ORDER BY inside the aggregate costs SQLite several microseconds,
// even with nothing to sort.
func (l *Link) sql(t *table) string {
	return "(SELECT string_agg(" + relationSQL + ", '" + idSeparator + "') FROM " + l.relation.quoted +
		" r WHERE r." + l.to.quoted + " = " + t.quoted + ".id)"
}

// relationSQL selects a relation r in the form that linkedIDs parses.
const relationSQL = "r.seq || '" + idSeparator + "' || r.id"

// linkedIDs parses the string that sql selects.
func linkedIDs(id, joined string) (from []string, ok bool) {
	if textKey(id) != id {
		return nil, false
	}
	if joined == "" {
		return nil, true
	}
	type relation struct {
		seq  int64
		from string
	}
	var relations []relation
	for parts := range slices.Chunk(strings.Split(joined, idSeparator), 3) {
		seq, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil || len(parts) < 3 {
			return nil, false // an id that JoinID did not create
		}
		relations = append(relations, relation{seq, parts[1]})
	}
	slices.SortFunc(relations, func(a, b relation) int { return cmp.Compare(a.seq, b.seq) })
	for _, r := range relations {
		from = append(from, r.from)
	}
	return from, true
}
