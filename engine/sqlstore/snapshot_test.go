package sqlstore_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// oldTables are the tables of versions without a prefix.
var oldTables = []string{
	"app_lane", "sync_state", "member_state", "sync_attempt", "removal", "halt",
	"import_run", "remote_object", "plan", "plan_item", "lifecycle_event",
}

// load fills a new database with a dump of an earlier version.
func load(t testing.TB, p sqldbtest.Place, step int) {
	t.Helper()
	sqldbtest.Load(t, p, fmt.Sprintf("testdata/old/%s-step%d.sql", p.Dialect, step))
}

// rowsOf returns the sorted rows of tables. like has the names of the tables and of the columns to read.
func rowsOf(t testing.TB, db *sql.DB, names sqldb.Names, like map[string][]string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for table, columns := range like {
		lines := sqldbtest.Read(t, db, `SELECT `+strings.Join(columns, ", ")+` FROM `+names.Quoted(table))
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
			continue // the database does not have the table: a later step creates it
		}
		columns, err := rows.Columns()
		require.NoError(t, err)
		require.NoError(t, rows.Close())
		out[table] = columns
	}
	return out
}
