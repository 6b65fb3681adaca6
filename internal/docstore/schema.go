package docstore

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// The catalog is a table with the declaration that each index had when it was filled. Open compares it with the current declarations and
// fills new and changed indexes.
const catalogSQL = `CREATE TABLE IF NOT EXISTS {docstore_indexes} (
	collection TEXT NOT NULL, name TEXT NOT NULL, kind BIGINT NOT NULL, uniq BIGINT NOT NULL, multi BIGINT NOT NULL,
	version BIGINT NOT NULL, PRIMARY KEY (collection, name))`

// declaration is what the catalog records about an index, and what the program declares about it.
type declaration struct {
	kind                   Kind
	unique, multi, version int
}

func (ix *index) declaration() declaration {
	d := declaration{kind: ix.kind, version: ix.version}
	if ix.unique {
		d.unique = 1
	}
	if ix.multi {
		d.multi = sideLayout
	}
	return d
}

// Names of database objects. Neither collections nor indexes have "__" in their names, so these names are unique.
func (t *table) idIndexName() string                 { return t.name + "__id" }
func (t *table) columnIndexName(index string) string { return t.name + "__" + index + "__k" }
func (t *table) sideName(index string) string        { return t.name + "__" + index }
func (t *table) sideUniqueName(index string) string  { return t.name + "__" + index + "__u" }

// ready creates the table and the columns and side tables of its indexes. It drops indexes that are no longer declared or whose declaration
// changed, and calls fill to compute the values of the new indexes. ready runs in the transaction of the caller, which holds the schema
// lock.
func (t *table) ready(ctx context.Context, tx *sqldb.Tx, fill func(fresh []*index) error) error {
	if t.err != nil {
		return t.err
	}
	if prefix := tx.Names().Prefix; len(prefix)+t.maxPlain() > maxNameLength {
		return fmt.Errorf("collection %s: its names are too long for the prefix %q: use a shorter prefix", t.name, prefix)
	}
	if err := execAll(ctx, tx, catalogSQL); err != nil {
		return err
	}
	existed, err := tx.HasTable(ctx, t.name)
	if err != nil {
		return err
	}
	if !existed {
		return t.create(ctx, tx)
	}
	if err := checkOwn(ctx, tx, t.name, documentColumns); err != nil {
		return err
	}
	if err := t.openNumbers(ctx, tx); err != nil {
		return err
	}
	known, err := t.known(ctx, tx)
	if err == nil {
		err = t.compact(ctx, tx, known)
	}
	if err != nil {
		return err
	}
	var fresh []*index
	for i := range t.indexes {
		ix := &t.indexes[i]
		if found, ok := known[ix.name]; ok && found == ix.declaration() {
			delete(known, ix.name)
		} else {
			fresh = append(fresh, ix)
		}
	}
	for name, d := range known {
		if err := t.dropIndex(ctx, tx, name, d); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	for _, ix := range fresh {
		if err := t.addColumn(ctx, tx, ix); err != nil {
			return err
		}
	}
	if err := fill(fresh); err != nil {
		return err
	}
	for _, ix := range fresh { // a database index is built faster after the values are written
		if err := t.addIndex(ctx, tx, ix); err != nil {
			return t.explain(err)
		}
	}
	return nil
}

// create creates the table with the columns of all indexes. SQLite reads its whole schema again for each column that is added later.
func (t *table) create(ctx context.Context, tx *sqldb.Tx) error {
	d := tx.Dialect()
	numbered := t.numbered && d == sqldb.SQLite
	key := d.SerialKey()
	if numbered {
		key = "INTEGER PRIMARY KEY"
	}
	columns := "seq " + key + ", id " + d.TextType() + " NOT NULL, rev BIGINT NOT NULL, " +
		"created BIGINT NOT NULL, updated BIGINT NOT NULL, doc " + d.BytesType() + " NOT NULL"
	for i := range t.indexes {
		if ix := &t.indexes[i]; !ix.multi {
			columns += ", " + ix.quoted + " " + ix.valueType(d)
		}
	}
	if numbered {
		columns += ", " + numberedColumn
	}
	err := execAll(ctx, tx,
		"CREATE TABLE "+t.quoted+" ("+columns+")",
		t.createIDIndex(numbered))
	if err != nil {
		return err
	}
	for i := range t.indexes {
		ix := &t.indexes[i]
		if ix.multi {
			if err := t.addSide(ctx, tx, ix); err != nil {
				return err
			}
		}
		if err := t.addIndex(ctx, tx, ix); err != nil {
			return err
		}
	}
	return nil
}

// known returns the declarations in the catalog by index name.
func (t *table) known(ctx context.Context, tx *sqldb.Tx) (map[string]declaration, error) {
	rows, err := tx.Query(ctx, "SELECT name, kind, uniq, multi, version FROM {docstore_indexes} WHERE collection = ?", t.name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]declaration{}
	for rows.Next() {
		var name string
		var d declaration
		if err := rows.Scan(&name, &d.kind, &d.unique, &d.multi, &d.version); err != nil {
			return nil, err
		}
		out[name] = d
	}
	return out, rows.Err()
}

// drop implements Table. It removes all tables that the catalog lists.
func (t *table) drop(ctx context.Context, tx *sqldb.Tx) error {
	if t.err != nil {
		return t.wrap(t.err)
	}
	if err := execAll(ctx, tx, catalogSQL); err != nil {
		return t.wrap(err)
	}
	known, err := t.known(ctx, tx)
	if err != nil {
		return t.wrap(err)
	}
	for name, d := range known {
		if d.multi == 0 {
			continue // the index is a column of the table and is dropped with the table
		}
		if err := t.dropIndex(ctx, tx, name, d); err != nil {
			return t.wrap(err)
		}
	}
	if _, err := tx.Exec(ctx, "DELETE FROM {docstore_indexes} WHERE collection = ?", t.name); err != nil {
		return t.wrap(err)
	}
	if err := execAll(ctx, tx, "DROP TABLE IF EXISTS "+t.quoted); err != nil {
		return t.wrap(err)
	}
	return t.wrap(t.dropPositions(ctx, tx))
}

// dropIndex removes an index and its values, and its row in the catalog.
func (t *table) dropIndex(ctx context.Context, tx *sqldb.Tx, name string, d declaration) error {
	statements := []string{"DROP TABLE {" + t.sideName(name) + "}"}
	if d.multi == 0 {
		statements = []string{
			"DROP INDEX {" + t.columnIndexName(name) + "}",
			"ALTER TABLE " + t.quoted + " DROP COLUMN " + quote(fieldName(name, d.kind, false)),
		}
	}
	if err := execAll(ctx, tx, statements...); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "DELETE FROM {docstore_indexes} WHERE collection = ? AND name = ?", t.name, name)
	return err
}

// valueType returns the type of the column for the values.
func (ix *index) valueType(d sqldb.Dialect) string {
	if ix.kind == Int {
		return "BIGINT"
	}
	return d.TextType()
}

// addColumn creates the column or side table of a new index of an existing table.
func (t *table) addColumn(ctx context.Context, tx *sqldb.Tx, ix *index) error {
	if ix.multi {
		return t.addSide(ctx, tx, ix)
	}
	return execAll(ctx, tx, "ALTER TABLE "+t.quoted+" ADD COLUMN "+ix.quoted+" "+ix.valueType(tx.Dialect()))
}

// addSide creates the side table of an index with several values.
func (t *table) addSide(ctx context.Context, tx *sqldb.Tx, ix *index) error {
	return execAll(ctx, tx, ix.createSide(tx.Dialect(), ix.side))
}

// addIndex creates the database index of a filled index and records the index in the catalog.
func (t *table) addIndex(ctx context.Context, tx *sqldb.Tx, ix *index) error {
	if err := execAll(ctx, tx, t.createIndex(tx.Dialect(), ix)); err != nil {
		return err
	}
	d := ix.declaration()
	_, err := tx.Exec(ctx, "INSERT INTO {docstore_indexes} (collection, name, kind, uniq, multi, version) VALUES (?, ?, ?, ?, ?, ?)",
		t.name, ix.name, int(d.kind), d.unique, d.multi, d.version)
	return err
}

// createIndex returns the statement that creates the database index of an index, or "" if it needs none.
func (t *table) createIndex(d sqldb.Dialect, ix *index) string {
	switch {
	case ix.multi && ix.unique:
		return "CREATE UNIQUE INDEX {." + t.sideUniqueName(ix.name) + "} ON " + ix.side + " (" + ix.quoted + ")"
	case ix.multi: // the primary key is sufficient
		return ""
	case ix.unique:
		return "CREATE UNIQUE INDEX {." + t.columnIndexName(ix.name) + "} ON " + t.quoted + " (" + ix.quoted + ")"
	case d == sqldb.SQLite: // seq is the row id, with which each entry ends
		return "CREATE INDEX {." + t.columnIndexName(ix.name) + "} ON " + t.quoted + " (" + ix.quoted + ")"
	}
	return "CREATE INDEX {." + t.columnIndexName(ix.name) + "} ON " + t.quoted + " (" + ix.quoted + ", seq)"
}

// execAll runs the statements that are not empty.
func execAll(ctx context.Context, tx *sqldb.Tx, statements ...string) error {
	for _, statement := range statements {
		if statement == "" {
			continue
		}
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
