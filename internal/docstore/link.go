package docstore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Link reads, along with documents, who points at them: a relation is a collection whose ids are JoinID(from, to), and which
// has an index with to. One statement then tells of each document, in one snapshot, what else would take a second one.
type Link struct {
	relation *table
	to       *column
}

// NewLink is the link that a single-valued index of kind Text of the relation gives. It panics when there is no such index:
// that is a mistake in the calling program.
func NewLink(relation Table, index string) *Link {
	t := relation.core()
	to, err := t.column(index)
	if err != nil || to.multi || to.kind != Text {
		panic(fmt.Sprintf("docstore: %s has no single-valued text index %q", relation.Name(), index))
	}
	return &Link{relation: t, to: to}
}

// Linked returns the first parts of the ids that point at the document, by growing Seq. It is false when no link was read,
// and for the rare ids that the index holds in another form (longer than 1000 bytes, or with U+0001).
func (d *Doc[T]) Linked() (from []string, ok bool) { return d.linked, d.hasLink }

// sql is the relations of a document as one text: the seq of each, and its id. All is joined by the character that joins the
// two parts of the id, which no part can contain. The order is made here: an ORDER BY inside of the aggregate costs SQLite
// several microseconds, even where there is nothing to sort.
func (l *Link) sql(t *table) string {
	return "(SELECT string_agg(r.seq || '" + idSeparator + "' || r.id, '" + idSeparator + "') FROM " + l.relation.quoted +
		" r WHERE r." + l.to.quoted + " = " + t.quoted + ".id)"
}

// linkedIDs takes such a text apart.
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
			return nil, false // an id that JoinID did not make
		}
		relations = append(relations, relation{seq, parts[1]})
	}
	slices.SortFunc(relations, func(a, b relation) int { return cmp.Compare(a.seq, b.seq) })
	for _, r := range relations {
		from = append(from, r.from)
	}
	return from, true
}
