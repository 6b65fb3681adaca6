package docstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// A side table has one row per value and document, in a single B-tree ordered by value. It has neither an index by document nor a foreign
// key: both would double the cost of a row. To find the rows of a document, docstore computes its values again from its text. These values
// are the stored ones, because an index is filled again whenever its declaration changes. If a program changes what Values computes without
// a new Version, docstore does not find the rows with earlier values, and these rows remain. A query by such a value then still returns the
// document, unless the document was deleted. A later change of the document does not fail because of such a row.

// createSide returns the statement that creates the side table of an index under a name.
func (ix *index) createSide(d sqldb.Dialect, name string) string {
	options := ""
	if d == sqldb.SQLite {
		options = " WITHOUT ROWID"
	}
	return "CREATE TABLE " + name + " (" + ix.quoted + " " + ix.valueType(d) + " NOT NULL, seq BIGINT NOT NULL, " +
		"PRIMARY KEY (" + ix.quoted + ", seq))" + options
}

// addKeys stores the values of a new document in the side tables.
func (t *table) addKeys(ctx context.Context, tx *sqldb.Tx, seq int64, k keys) error {
	for i := range t.indexes {
		if ix := &t.indexes[i]; ix.multi {
			if err := ix.add(ctx, tx, seq, k.multi[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (ix *index) add(ctx context.Context, tx *sqldb.Tx, seq int64, values []any) error {
	for _, key := range values {
		tx.Changing() // no document
		if _, err := tx.Exec(ctx, ix.insertSQL, key, seq); err != nil {
			return err
		}
	}
	return nil
}

func (ix *index) remove(ctx context.Context, tx *sqldb.Tx, seq int64, values []any) error {
	for _, key := range values {
		tx.Changing() // no document
		if _, err := tx.Exec(ctx, ix.deleteSQL, key, seq); err != nil {
			return err
		}
	}
	return nil
}

// revision is a change of a stored document: its row, its new text, and the index values that change.
type revision struct {
	old    row // without its text
	text   []byte
	sql    string
	set    []any // the new values of single-valued indexes, in the order of sql
	sides  []sideChange
	unique bool // a value of a unique index changes
}

// sideChange is the change of one document in a side table.
type sideChange struct {
	ix           *index
	gone, coming []any
}

// revisionSQL returns the statement of a revision that sets the given columns in addition to the document.
func (t *table) revisionSQL(sets string) string {
	return "UPDATE " + t.quoted + " SET rev = rev + 1, updated = ?, doc = ?" + sets + " WHERE seq = ? AND rev = ?"
}

// revision compares the index values of a stored document with those of its new content.
func (t *table) revision(old row, before, document any) (r revision, err error) {
	r = revision{old: old, sql: t.reviseSQL}
	if r.text, err = t.text(document); err == nil {
		err = t.compare(&r, before, document)
	}
	return r, t.wrap(err)
}

// compare adds the index values that change to a revision.
func (t *table) compare(r *revision, before, document any) error {
	sets := ""
	for i := range t.indexes {
		ix := &t.indexes[i]
		if ix.same != nil && ix.same(before, document) {
			continue
		}
		if !ix.multi {
			have, err := ix.keyOf(before)
			if err != nil {
				return err
			}
			want, err := ix.keyOf(document)
			if err != nil {
				return err
			}
			if want != have {
				sets, r.set = sets+", "+ix.quoted+" = ?", append(r.set, want)
				r.unique = r.unique || ix.unique
			}
			continue
		}
		have, err := ix.keysOf(before)
		if err != nil {
			return err
		}
		want, err := ix.keysOf(document)
		if err != nil {
			return err
		}
		gone, coming := without(have, want), without(want, have)
		if len(gone) > 0 || len(coming) > 0 {
			r.sides = append(r.sides, sideChange{ix, gone, coming})
		}
	}
	if sets != "" {
		r.sql = t.revisionSQL(sets)
	}
	return nil
}

// without returns the keys that are not in others.
func without(keys, others []any) (out []any) {
	if len(others) > linearKeys {
		in := make(map[any]bool, len(others))
		for _, key := range others {
			in[key] = true
		}
		return slices.DeleteFunc(slices.Clone(keys), func(key any) bool { return in[key] })
	}
	for _, key := range keys {
		if !slices.Contains(others, key) {
			out = append(out, key)
		}
	}
	return out
}

// revise stores a revision and returns the new row, without its text.
func (t *table) revise(ctx context.Context, tx *Tx, v revision) (row, error) {
	if err := tx.changes(ctx, t); err != nil {
		return row{}, t.wrap(err)
	}
	r := v.old
	r.rev++
	r.updated = tx.store.now().UnixMilli()
	t.changing(tx, r.id)
	args := append(append(append(make([]any, 0, len(v.set)+4), r.updated, v.text), v.set...), r.seq, v.old.rev)
	n, err := affected(tx.sql.Exec(ctx, v.sql, args...))
	if err == nil && n == 0 {
		return row{}, t.missed(ctx, tx, r.id, v.old.rev)
	}
	for _, side := range v.sides {
		if err == nil {
			err = side.ix.remove(ctx, tx.sql, r.seq, side.gone)
		}
		if err == nil {
			err = side.ix.add(ctx, tx.sql, r.seq, side.coming)
		}
	}
	if err == nil {
		t.renew(tx, r, &v)
	}
	return r, t.wrap(t.explain(err))
}

// stored reads the row of a document, without its text, and the document. On PostgreSQL, it locks the row.
func (t *table) stored(ctx context.Context, tx *Tx, id string) (r row, document any, err error) {
	where, args := t.byID(id)
	query := t.selectPlainSQL + " WHERE " + where
	if tx.sql.Dialect() == sqldb.Postgres {
		query += " FOR UPDATE"
	}
	found := false
	err = t.stream(ctx, tx, columns{}, query, args, func(read *row) (err error) {
		found, r = true, *read
		r.text = nil
		document = t.blank()
		return t.decode(read, document)
	})
	if err == nil && !found {
		return r, nil, t.notFound(id)
	}
	return r, document, t.wrap(err)
}

// storedKeys returns the values of the indexes for the text of a row.
func (t *table) storedKeys(r *row) (keys, error) {
	document := t.blank()
	if err := t.decode(r, document); err != nil {
		return keys{}, err
	}
	return t.keysOf(document)
}

// deleteRows runs a DELETE, also deletes the rows of the side tables, and returns the number of documents.
func (t *table) deleteRows(ctx context.Context, tx *Tx, query string, args ...any) (n int, err error) {
	if !t.hasMulti() {
		return affected(tx.sql.Exec(ctx, query, args...))
	}
	type deleted struct {
		seq  int64
		keys keys
	}
	var all []deleted
	err = t.stream(ctx, tx, columns{}, query+" RETURNING "+plainNames+", doc", args, func(r *row) error {
		k, err := t.storedKeys(r)
		all = append(all, deleted{r.seq, k})
		return err
	})
	if err != nil {
		return 0, err
	}
	for i := range t.indexes {
		ix := &t.indexes[i]
		if !ix.multi {
			continue
		}
		for _, d := range all {
			if err := ix.remove(ctx, tx.sql, d.seq, d.keys.multi[i]); err != nil {
				return 0, fmt.Errorf("index %s: %w", ix.name, err)
			}
		}
	}
	return len(all), nil
}
