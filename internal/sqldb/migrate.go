package sqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// schemaLock is the name of the lock of transactions that change the tables of a schema. Earlier versions use the same name.
const schemaLock = "sqldb.schema"

// LockTables waits until no other transaction changes tables, in the schema of Names and in the current schema of the connection, in which
// earlier versions created their tables. On SQLite it does nothing, because SQLite runs one update at a time.
func (tx *Tx) LockTables(ctx context.Context) error {
	if tx.Dialect() != Postgres {
		return nil
	}
	schemas, err := tx.Schemas(ctx)
	if err != nil {
		return err
	}
	slices.Sort(schemas) // prevents deadlocks
	for _, schema := range schemas {
		if err := tx.lock(ctx, schema, schemaLock); err != nil {
			return err
		}
	}
	return nil
}

// Schemas returns the schema in Names and, if different, the current schema of the connection. On SQLite it returns one schema with an
// empty name.
func (tx *Tx) Schemas(ctx context.Context) ([]string, error) {
	if tx.Dialect() != Postgres {
		return []string{""}, nil
	}
	var current sql.NullString
	if err := tx.QueryRow(ctx, `SELECT current_schema()`).Scan(&current); err != nil {
		return nil, err
	}
	own := tx.texts.names.Schema
	switch {
	case own == "":
		return []string{current.String}, nil
	case !current.Valid || current.String == own:
		return []string{own}, nil
	}
	return []string{own, current.String}, nil
}

// Lock waits until no other transaction holds the lock with this name, and holds it until this transaction ends. Transactions with another
// schema or prefix in Names have other locks. On SQLite, Lock does nothing, because SQLite runs one update at a time.
func (tx *Tx) Lock(ctx context.Context, name string) error {
	if tx.Dialect() != Postgres {
		return nil
	}
	name, args := tx.lockKey(name)
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(`+name+`)`, args...)
	return err
}

// ShareLock waits until no other transaction holds the lock with the name shared by Lock, and then takes it together with other callers of
// ShareLock. After that it takes the locks with the names alone one after the other, in the same way as Lock. Callers pass these names in
// the same order, so that they do not deadlock. On SQLite, ShareLock does nothing.
func (tx *Tx) ShareLock(ctx context.Context, shared string, alone ...string) error {
	if tx.Dialect() != Postgres {
		return nil
	}
	key, args := tx.lockKey(shared)
	query := `SELECT pg_advisory_xact_lock_shared(` + key + `)`
	if len(alone) > 0 { // the scan of the CTE makes sure that the shared lock is the first one
		names := make([]string, len(alone))
		for i, name := range alone {
			_, arg := tx.lockKey(name)
			names[i] = arg[0].(string)
		}
		values, err := JSON(names)
		if err != nil {
			return err
		}
		query = `WITH shared AS MATERIALIZED (` + query + `) SELECT pg_advisory_xact_lock(` + strings.Replace(key, `?`, `v.name`, 1) + `)
			FROM shared CROSS JOIN LATERAL (SELECT * FROM json_array_elements_text(CAST(? AS JSON)) AS e (name) OFFSET 0) AS v`
		args = append(args, values)
	}
	_, err := tx.Exec(ctx, query, args...)
	return err
}

func (tx *Tx) lock(ctx context.Context, schema, name string) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(`+namedLock+`)`, schema+"/"+name)
	return err
}

// namedLock is the key of a lock. Its parameter is the name.
const namedLock = `hashtextextended(CAST(? AS TEXT), 0)`

// lockKey returns the key of a lock for transactions with the schema and the prefix of tx.
func (tx *Tx) lockKey(name string) (key string, args []any) {
	names := tx.texts.names
	if names.Schema != "" {
		return namedLock, []any{names.Schema + "/" + names.Prefix + name}
	}
	return `hashtextextended(current_schema() || '/' || ?, 0)`, []any{names.Prefix + name}
}

// Apply runs statements that are separated by semicolons, without placeholders and without trigger bodies.
func (tx *Tx) Apply(ctx context.Context, statements string) error {
	for _, statement := range splitStatements(statements) {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Hash returns an identifier of the text of a migration step.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// CreateSchema creates the schema in Names if it does not exist.
func (tx *Tx) CreateSchema(ctx context.Context) error {
	schema := tx.texts.names.Schema
	if tx.Dialect() != Postgres || schema == "" {
		return nil
	}
	var n int
	if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM pg_catalog.pg_namespace WHERE nspname = ?`, schema).Scan(&n); err != nil || n > 0 {
		return err
	}
	_, err := tx.Exec(ctx, `CREATE SCHEMA `+Quote(schema))
	return err
}

// Columns returns the names of the columns of a table or view, in their order, or none if it does not exist. The name has no schema and no
// quotes; the schema is one of Schemas.
func (tx *Tx) Columns(ctx context.Context, schema, table string) ([]string, error) {
	if tx.Dialect() == Postgres {
		return tx.strings(ctx, `SELECT a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = ? AND c.relname = ? AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, schema, table)
	}
	return tx.strings(ctx, `SELECT name FROM pragma_table_info(?)`, table)
}

// HasTable reports whether a table exists where CREATE TABLE {name} would create one.
func (tx *Tx) HasTable(ctx context.Context, name string) (bool, error) {
	names := tx.texts.names
	query, args := `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, []any{names.Plain(name)}
	if tx.Dialect() == Postgres {
		query = `SELECT COUNT(*) FROM pg_catalog.pg_tables
			WHERE tablename = ? AND schemaname = COALESCE(NULLIF(CAST(? AS TEXT), ''), current_schema())`
		args = append(args, names.Schema)
	}
	var n int
	err := tx.QueryRow(ctx, query, args...).Scan(&n)
	return n > 0, err
}

// strings returns the rows of a query with one string column.
func (tx *Tx) strings(ctx context.Context, query string, args ...any) (out []string, err error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// TakeOver moves tables of an earlier version, which had no prefix, to the schema and prefix of Names, with their indexes, constraints and
// sequences. An index, constraint or sequence is renamed if its name starts with the name of the table, as in all tables that this module
// has created. On SQLite, indexes are rebuilt.
func (tx *Tx) TakeOver(ctx context.Context, schema string, tables ...string) error {
	for _, table := range tables {
		var err error
		if tx.Dialect() == Postgres {
			err = tx.takeOverPostgres(ctx, schema, table)
		} else {
			err = tx.takeOverSQLite(ctx, table)
		}
		if err != nil {
			return fmt.Errorf("rename the table %s: %w", table, err)
		}
	}
	return nil
}

func (tx *Tx) takeOverPostgres(ctx context.Context, schema, table string) error {
	names := tx.texts.names
	if schema != names.Schema {
		_, err := tx.Exec(ctx, `ALTER TABLE `+Quote(schema)+`.`+Quote(table)+` SET SCHEMA `+Quote(names.Schema))
		if err != nil {
			return err
		}
	}
	if names.Prefix == "" {
		return nil
	}
	at := Names{Schema: names.Schema}
	whole := at.Quoted(table)
	for _, part := range []struct {
		query  string
		rename func(name string) string
	}{
		{`SELECT c.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
			WHERE i.indrelid = CAST(? AS regclass) ORDER BY c.relname`,
			func(name string) string { return `ALTER INDEX ` + at.Quoted(name) + ` RENAME` }},
		{`SELECT c.conname FROM pg_catalog.pg_constraint c
			WHERE c.conrelid = CAST(? AS regclass) AND (c.conindid = 0 OR c.contype = 'f') ORDER BY c.conname`,
			func(name string) string { return `ALTER TABLE ` + whole + ` RENAME CONSTRAINT ` + Quote(name) }},
		{`SELECT s.relname FROM pg_catalog.pg_class s JOIN pg_catalog.pg_depend d ON d.objid = s.oid
			WHERE s.relkind = 'S' AND d.deptype IN ('a', 'i') AND d.refobjid = CAST(? AS regclass) ORDER BY s.relname`,
			func(name string) string { return `ALTER SEQUENCE ` + at.Quoted(name) + ` RENAME` }},
	} {
		found, err := tx.strings(ctx, part.query, whole)
		if err != nil {
			return err
		}
		for _, name := range found {
			if !strings.HasPrefix(name, table+"_") {
				continue
			}
			if _, err := tx.Exec(ctx, part.rename(name)+` TO `+Quote(names.Plain(name))); err != nil {
				return err
			}
		}
	}
	_, err := tx.Exec(ctx, `ALTER TABLE `+whole+` RENAME TO {.`+table+`}`)
	return err
}

// indexText matches the form in which SQLite stores the definition of an index.
var indexText = regexp.MustCompile(`(?s)^(CREATE (?:UNIQUE )?INDEX )("[^"]+"|\w+)(\s+ON\s.*)$`)

func (tx *Tx) takeOverSQLite(ctx context.Context, table string) error {
	names := tx.texts.names
	if names.Prefix == "" {
		return nil
	}
	if _, err := tx.Exec(ctx, `ALTER TABLE `+Quote(table)+` RENAME TO {`+table+`}`); err != nil {
		return err
	}
	texts, err := tx.strings(ctx, `SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ? ORDER BY rowid`,
		names.Plain(table))
	if err != nil {
		return err
	}
	for _, text := range texts {
		parts := indexText.FindStringSubmatch(text)
		if parts == nil {
			continue // another program created the index, with a statement of another form
		}
		name := strings.Trim(parts[2], `"`)
		if !strings.HasPrefix(name, table+"_") {
			continue
		}
		if _, err := tx.Exec(ctx, `DROP INDEX `+Quote(name)); err != nil {
			return err
		}
		// parts come from the definition of the index in the database, which contains no placeholders and no names in braces.
		if _, err := tx.Exec(ctx, parts[1]+Quote(names.Plain(name))+parts[3]); err != nil {
			return err
		}
	}
	return nil
}
