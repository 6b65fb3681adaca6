package desired

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// rowsPerStatement is the number of rows that one statement writes or selects by id.
const rowsPerStatement = 100

// selectByID returns a query for the rows of a table that satisfy the condition where and have one of the ids, with its arguments.
//
// Without statistics, which are missing after the first upload to a table, PostgreSQL reads for a list of ids all rows that satisfy the
// other conditions: every user of the app. The query for PostgreSQL therefore forces one lookup in the index for each id.
func selectByID(d sqldb.Dialect, columns, table, id, where string, whereArgs []any, ids []string) (query string, args []any) {
	query = `SELECT ` + columns + ` FROM ` + table + ` WHERE ` + where + ` AND ` + id
	if d != sqldb.Postgres {
		return query + ` IN ` + list(len(ids)), withIDs(ids, slices.Clone(whereArgs)...)
	}
	query = `SELECT ` + columns + ` FROM (VALUES (CAST(? AS TEXT))` + strings.Repeat(`, (?)`, len(ids)-1) + `) AS wanted (id)
		CROSS JOIN LATERAL (` + query + ` = wanted.id COLLATE "C" LIMIT 1) AS found`
	return query, append(withIDs(ids), whereArgs...)
}

// amongIDs returns a condition for a statement that changes the rows with some ids, which must ascend, with its arguments. The range
// bounds the rows that PostgreSQL reads without statistics.
func amongIDs(column string, ids []string, args ...any) (condition string, all []any) {
	return column + ` BETWEEN ? AND ? AND ` + column + ` IN ` + list(len(ids)), withIDs(ids, append(args, ids[0], ids[len(ids)-1])...)
}

// list returns (?, ?, ...) for n values.
func list(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }

// withIDs returns the arguments followed by the ids.
func withIDs(ids []string, args ...any) []any {
	for _, id := range ids {
		args = append(args, id)
	}
	return args
}
