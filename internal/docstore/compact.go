package docstore

import (
	"context"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// sideLayout is the number of the layout of side tables, in the column multi of the catalog. Layout 1 had an index by document, and a
// foreign key that deleted the rows with the document. An earlier version of this package, which requires layout 1, fills an index of
// another layout again.
const (
	firstSideLayout = 1
	sideLayout      = 2
)

// compact converts the tables of an earlier version: it removes the index by document and the foreign key of side tables, and on SQLite
// the column seq from indexes, whose entries end with it anyway. It changes the records of the catalog in known.
func (t *table) compact(ctx context.Context, tx *sqldb.Tx, known map[string]declaration) error {
	for i := range t.indexes {
		ix := &t.indexes[i]
		d, ok := known[ix.name]
		if !ok || d.multi != firstSideLayout || !ix.multi {
			continue // not a side table of the first layout: nothing to convert
		}
		d.multi = sideLayout
		if d != ix.declaration() {
			continue
		}
		if err := t.compactSide(ctx, tx, ix); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE {docstore_indexes} SET multi = ? WHERE collection = ? AND name = ?", sideLayout, t.name, ix.name)
		if err != nil {
			return err
		}
		known[ix.name] = d
	}
	if tx.Dialect() != sqldb.SQLite {
		return nil
	}
	long, err := t.names(ctx, tx, "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql LIKE '%, seq)'",
		tx.Names().Plain(t.name))
	if err != nil {
		return err
	}
	for i := range t.indexes {
		ix := &t.indexes[i]
		if name := t.columnIndexName(ix.name); !ix.multi && !ix.unique && long[tx.Names().Plain(name)] {
			if err := execAll(ctx, tx, "DROP INDEX {"+name+"}", t.createIndex(tx.Dialect(), ix)); err != nil {
				return err
			}
		}
	}
	return nil
}

// compactSide converts a side table of the first layout.
func (t *table) compactSide(ctx context.Context, tx *sqldb.Tx, ix *index) error {
	if tx.Dialect() == sqldb.SQLite { // SQLite cannot drop a foreign key: copy the table
		copied := t.sideName(ix.name) + "__c"
		return execAll(ctx, tx,
			ix.createSide(tx.Dialect(), "{"+copied+"}"),
			"INSERT INTO {"+copied+"} SELECT "+ix.quoted+", seq FROM "+ix.side+" ORDER BY "+ix.quoted+", seq",
			"DROP TABLE "+ix.side,
			"ALTER TABLE {"+copied+"} RENAME TO {."+t.sideName(ix.name)+"}",
			t.createIndex(tx.Dialect(), ix))
	}
	keys, err := t.names(ctx, tx, "SELECT conname FROM pg_catalog.pg_constraint WHERE contype = 'f' AND conrelid = to_regclass(?)",
		tx.Names().Quoted(t.sideName(ix.name)))
	if err != nil {
		return err
	}
	for name := range keys {
		if err := execAll(ctx, tx, "ALTER TABLE "+ix.side+" DROP CONSTRAINT "+sqldb.Quote(name)); err != nil {
			return err
		}
	}
	return execAll(ctx, tx, "DROP INDEX {"+t.sideName(ix.name)+"__s}")
}

// names returns the rows of a query with one column.
func (t *table) names(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (map[string]bool, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names[name] = true
	}
	return names, rows.Err()
}
