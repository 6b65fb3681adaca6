package docstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// ownTables are the tables that docstore itself uses, in addition to those of the collections. docstore_indexes is the catalog.
var ownTables = []string{"docstore_indexes", "docstore_outbox", "docstore_steady", "docstore_gaps", "docstore_numbers"}

var (
	catalogColumns  = []string{"collection", "name", "kind", "uniq", "multi", "version"}
	documentColumns = []string{"seq", "id", "rev", "created", "updated", "doc"}
)

// checkOwn returns an error if a table exists that has the name of one of ownTables but whose first columns are not begins: another program
// created it.
func checkOwn(ctx context.Context, tx *sqldb.Tx, name string, begins []string) error {
	schemas, err := tx.Schemas(ctx)
	if err != nil {
		return err
	}
	columns, err := tx.Columns(ctx, schemas[0], tx.Names().Plain(name))
	if err != nil || len(columns) == 0 {
		return err
	}
	if !beginWith(columns, begins) {
		return fmt.Errorf("the table %s exists and belongs to another program: choose another prefix or schema", tx.Names().Plain(name))
	}
	return nil
}

func beginWith(columns, begins []string) bool {
	return len(columns) >= len(begins) && slices.Equal(columns[:len(begins)], begins)
}

// checkOwnTables calls checkOwn for each of docstore's own tables.
func checkOwnTables(ctx context.Context, tx *sqldb.Tx) error {
	for i, columns := range [][]string{catalogColumns, {"seq", "topic", "key", "data", "at"}, {"one", "state"}, gapsColumns, numbersColumns} {
		if err := checkOwn(ctx, tx, ownTables[i], columns); err != nil {
			return err
		}
	}
	return nil
}

// adopt takes over the tables of a store without a prefix, see OpenAdopting.
func (a Adoption) adopt(ctx context.Context, tx *sqldb.Tx, collections []Table) error {
	if a.Own == nil {
		return nil
	}
	there, err := tx.HasTable(ctx, ownTables[0])
	if err != nil || there {
		return err
	}
	schemas, err := tx.Schemas(ctx)
	if err != nil {
		return err
	}
	for _, schema := range schemas {
		tables, err := a.tables(ctx, tx, schema, collections)
		if err != nil {
			return err
		}
		if len(tables) > 0 {
			return tx.TakeOver(ctx, schema, tables...)
		}
	}
	return nil
}

// tables returns the tables of a store in a schema, or none if the store has other collections too.
func (a Adoption) tables(ctx context.Context, tx *sqldb.Tx, schema string, collections []Table) (tables []string, err error) {
	columns, err := tx.Columns(ctx, schema, ownTables[0])
	if err != nil || !slices.Equal(columns, catalogColumns) {
		return nil, err // no store exists, or the table belongs to another program
	}
	rows, err := tx.Query(ctx, `SELECT CAST(c.collection AS TEXT), CAST(c.name AS TEXT), CAST(c.multi AS TEXT) FROM `+
		sqldb.Names{Schema: schema}.Quoted(ownTables[0])+` AS c ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	others := false
	for rows.Next() {
		var collection, index, multi string
		if err := rows.Scan(&collection, &index, &multi); err != nil {
			return nil, err
		}
		if !a.Own(collection) {
			others = true
			continue
		}
		if !slices.Contains(tables, collection) {
			tables = append(tables, collection)
		}
		if multi != "0" {
			tables = append(tables, (&table{name: collection}).sideName(index))
		}
	}
	switch err := rows.Err(); {
	case err != nil || len(tables) == 0:
		return nil, err
	case others:
		return nil, a.Mixed
	}
	for _, c := range collections { // collections without an index are not in the catalog, so search for their tables
		columns, err := tx.Columns(ctx, schema, c.Name())
		if err != nil {
			return nil, err
		}
		if !slices.Contains(tables, c.Name()) && beginWith(columns, documentColumns) {
			tables = append(tables, c.Name())
		}
	}
	for _, name := range ownTables {
		columns, err := tx.Columns(ctx, schema, name)
		if err != nil {
			return nil, err
		}
		if len(columns) > 0 {
			tables = append(tables, name)
		}
	}
	return tables, nil
}
