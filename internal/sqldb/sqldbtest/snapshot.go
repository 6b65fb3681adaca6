package sqldbtest

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Load fills a new database from a dump. In dumps of PostgreSQL, the schema is named old.
func Load(t testing.TB, p Place, path string) {
	t.Helper()
	db := p.Open(t)
	db.SetMaxOpenConns(1)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	dump := string(text)
	if p.Dialect == sqldb.Postgres {
		dump = strings.ReplaceAll(dump, "old.", sqldb.Quote(CurrentSchema(t, db))+".")
	}
	_, err = db.Exec(dump)
	require.NoError(t, err)
}

// CurrentSchema returns the current schema of PostgreSQL.
func CurrentSchema(t testing.TB, db *sql.DB) (name string) {
	t.Helper()
	require.NoError(t, db.QueryRow(`SELECT current_schema()`).Scan(&name))
	return name
}

// Read returns the rows of a query as strings.
func Read(t testing.TB, db *sql.DB, query string, args ...any) (out []string) {
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

// Column returns the first column of a query.
func Column(t testing.TB, db *sql.DB, query string, args ...any) (out []string) {
	for _, line := range Read(t, db, query, args...) {
		_, value, _ := strings.Cut(line, "=")
		out = append(out, strings.TrimSuffix(value, " "))
	}
	return out
}

// Described returns the tables, columns, indexes, constraints and sequences whose names start with prefix, in a schema of PostgreSQL.
func Described(t testing.TB, db *sql.DB, d sqldb.Dialect, in, prefix string) (out []string) {
	t.Helper()
	if d == sqldb.Postgres {
		like := strings.ReplaceAll(prefix, "_", `\_`) + "%"
		for _, query := range []string{
			`SELECT table_name, ordinal_position, column_name, data_type, collation_name, is_nullable, column_default, is_identity,
				identity_generation
				FROM information_schema.columns WHERE table_schema = $1 AND table_name LIKE $2 ORDER BY 1, 2`,
			`SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename LIKE $2 ORDER BY 1, 2`,
			`SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid) FROM pg_constraint
				WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND conname LIKE $2 ORDER BY 1, 2`,
			`SELECT sequencename, data_type, start_value, increment_by, cycle FROM pg_sequences
				WHERE schemaname = $1 AND sequencename LIKE $2 ORDER BY 1`,
		} {
			out = append(out, Read(t, db, query, in, like)...)
		}
		for i, line := range out {
			out[i] = strings.ReplaceAll(strings.ReplaceAll(line, sqldb.Quote(in)+".", ""), in+".", "")
		}
		return out
	}
	for _, table := range Column(t, db, `SELECT name FROM sqlite_master
		WHERE type = 'table' AND substr(name, 1, ?) = ? ORDER BY name`, len(prefix), prefix) {
		out = append(out, table)
		out = append(out, Read(t, db, `SELECT * FROM pragma_table_xinfo(?)`, table)...)
		for _, index := range Column(t, db, `SELECT name FROM pragma_index_list(?) ORDER BY name`, table) {
			out = append(out, Read(t, db, `SELECT name, "unique", origin, partial FROM pragma_index_list(?) WHERE name = ?`, table, index)...)
			out = append(out, Read(t, db, `SELECT * FROM pragma_index_xinfo(?)`, index)...)
			for _, text := range Column(t, db, `SELECT sql FROM sqlite_master WHERE name = ? AND sql IS NOT NULL`, index) {
				_, where, _ := strings.Cut(text, " WHERE ")
				out = append(out, regexp.MustCompile(`\s+`).ReplaceAllString(where, " "))
			}
		}
		out = append(out, Column(t, db, `SELECT 'AUTOINCREMENT' FROM sqlite_master WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'`, table)...)
	}
	return out
}

// Fingerprint describes a whole database, with the rows of some tables.
func Fingerprint(t testing.TB, db *sql.DB, d sqldb.Dialect, tables ...string) (out []string) {
	t.Helper()
	query := `SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2`
	if d == sqldb.Postgres {
		query = `SELECT n.nspname, c.relname, c.relkind, c.relnatts FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1, 2`
	}
	out = Read(t, db, query)
	for _, table := range tables {
		out = append(out, Read(t, db, `SELECT * FROM `+table+` ORDER BY 1`)...)
	}
	return out
}
