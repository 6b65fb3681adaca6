package sqlstore_test

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// oldTables are the tables of versions without a prefix.
var oldTables = []string{
	"app_lane", "sync_state", "member_state", "sync_attempt", "removal", "halt", "import_run", "remote_object", "plan", "plan_item", "lifecycle_event",
}

// load fills a new database with a dump of an earlier version.
func load(t testing.TB, p sqldbtest.Place, step int) {
	t.Helper()
	db := p.Open(t)
	db.SetMaxOpenConns(1)
	text, err := os.ReadFile(fmt.Sprintf("testdata/old/%s-step%d.sql", p.Dialect, step))
	require.NoError(t, err)
	dump := string(text)
	if p.Dialect == sqldb.Postgres {
		dump = strings.ReplaceAll(dump, "old.", sqldb.Quote(schema(t, db))+".")
	}
	_, err = db.Exec(dump)
	require.NoError(t, err)
}

// schema is the current schema of PostgreSQL.
func schema(t testing.TB, db *sql.DB) (name string) {
	t.Helper()
	require.NoError(t, db.QueryRow(`SELECT current_schema()`).Scan(&name))
	return name
}

// read returns the rows of a query as text.
func read(t testing.TB, db *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	require.NoError(t, err, query)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		line := ""
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			line += fmt.Sprintf("%s=%v ", columns[i], v)
		}
		out = append(out, line)
	}
	require.NoError(t, rows.Err())
	return out
}

// one returns the first column of a query.
func one(t testing.TB, db *sql.DB, query string, args ...any) (out []string) {
	for _, line := range read(t, db, query, args...) {
		_, value, _ := strings.Cut(line, "=")
		out = append(out, strings.TrimSuffix(value, " "))
	}
	return out
}

// described returns the tables, columns, indexes, constraints and sequences whose names begin with prefix, in a schema of PostgreSQL.
func described(t testing.TB, db *sql.DB, d sqldb.Dialect, in, prefix string) (out []string) {
	t.Helper()
	if d == sqldb.Postgres {
		like := strings.ReplaceAll(prefix, "_", `\_`) + "%"
		for _, query := range []string{
			`SELECT table_name, ordinal_position, column_name, data_type, collation_name, is_nullable, column_default, is_identity, identity_generation
				FROM information_schema.columns WHERE table_schema = $1 AND table_name LIKE $2 ORDER BY 1, 2`,
			`SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename LIKE $2 ORDER BY 1, 2`,
			`SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid) FROM pg_constraint
				WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND conname LIKE $2 ORDER BY 1, 2`,
			`SELECT sequencename, data_type, start_value, increment_by, cycle FROM pg_sequences WHERE schemaname = $1 AND sequencename LIKE $2 ORDER BY 1`,
		} {
			out = append(out, read(t, db, query, in, like)...)
		}
		for i, line := range out {
			out[i] = strings.ReplaceAll(strings.ReplaceAll(line, sqldb.Quote(in)+".", ""), in+".", "")
		}
		return out
	}
	for _, table := range one(t, db, `SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, ?) = ? ORDER BY name`, len(prefix), prefix) {
		out = append(out, table)
		out = append(out, read(t, db, `SELECT * FROM pragma_table_xinfo(?)`, table)...)
		for _, index := range one(t, db, `SELECT name FROM pragma_index_list(?) ORDER BY name`, table) {
			out = append(out, read(t, db, `SELECT name, "unique", origin, partial FROM pragma_index_list(?) WHERE name = ?`, table, index)...)
			out = append(out, read(t, db, `SELECT * FROM pragma_index_xinfo(?)`, index)...)
			for _, text := range one(t, db, `SELECT sql FROM sqlite_master WHERE name = ? AND sql IS NOT NULL`, index) {
				_, where, _ := strings.Cut(text, " WHERE ")
				out = append(out, regexp.MustCompile(`\s+`).ReplaceAllString(where, " "))
			}
		}
		out = append(out, one(t, db, `SELECT 'AUTOINCREMENT' FROM sqlite_master WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'`, table)...)
	}
	return out
}

// rowsOf returns the rows of the tables with the names; the columns are those of like, or all.
func rowsOf(t testing.TB, db *sql.DB, names sqldb.Names, like map[string][]string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for table, columns := range like {
		lines := read(t, db, `SELECT `+strings.Join(columns, ", ")+` FROM `+names.Quoted(table))
		slices.Sort(lines)
		out[table] = lines
	}
	return out
}

// columnsOf returns the columns of the tables of an earlier version.
func columnsOf(t testing.TB, db *sql.DB) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, table := range oldTables {
		rows, err := db.Query(`SELECT * FROM ` + table + ` WHERE 1 = 0`)
		if err != nil {
			continue // a later step creates it
		}
		columns, err := rows.Columns()
		require.NoError(t, err)
		require.NoError(t, rows.Close())
		out[table] = columns
	}
	return out
}

// everything is a fingerprint of a whole database.
func everything(t testing.TB, db *sql.DB, d sqldb.Dialect) []string {
	t.Helper()
	if d == sqldb.SQLite {
		return append(read(t, db, `SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2`), read(t, db, `SELECT * FROM sqldb_steps ORDER BY 1`)...)
	}
	return append(read(t, db, `SELECT n.nspname, c.relname, c.relkind, c.relnatts FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1, 2`), read(t, db, `SELECT * FROM sqldb_steps ORDER BY 1`)...)
}
