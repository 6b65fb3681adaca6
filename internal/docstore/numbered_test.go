package docstore

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestNumbered_UseIndexes compares the plans of the statements that find documents by id.
func TestNumbered_UseIndexes(t *testing.T) {
	db := sqldbtest.SQLite(t)
	c := NewCollection("numbers", Index[struct{}]{Name: "k", Values: func(*struct{}) []any { return nil }}).Numbered()
	_, err := Open(t.Context(), db, nil, c)
	require.NoError(t, err)
	tb := c.core()
	const numbered, named = "00000000-0001-8abc-8abc-abcdefabcdef", "a name"
	const byNumber = "SEARCH numbers USING INTEGER PRIMARY KEY (rowid=?)"
	const byName = "SEARCH numbers USING INDEX numbers__id (id=?)"
	const either = "MULTI-INDEX OR|INDEX 1|" + byNumber + "|INDEX 2|" + byName
	sorted := func(q query) (string, []any) {
		w, err := tb.walk(q)
		require.NoError(t, err)
		if w.order != nil {
			w.at = slices.Index(w.stretches, withValue) // every document has an id
		}
		clauses, args := w.clauses(0, 100)
		return tb.selectSQL(columns{}) + clauses, args
	}
	for _, c := range []struct {
		name string
		cond Cond
		want string
	}{
		{"name", Eq(ID, named), byName},
		{"number", Eq(ID, numbered), either + "|USE TEMP B-TREE FOR ORDER BY"},
		{"names", IDs(named, "other"), byName + "|USE TEMP B-TREE FOR ORDER BY"},
		{"names and numbers", IDs(named, numbered), either + "|USE TEMP B-TREE FOR ORDER BY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, args := sorted(query{where: c.cond})
			require.Equal(t, c.want, explained(t, db, text, args))
		})
	}
	for id, want := range map[string]string{named: byName, numbered: either} {
		where, args := tb.byID(id)
		require.Equal(t, want, explained(t, db, "DELETE FROM numbers WHERE "+where, args))
		require.Equal(t, want, explained(t, db, "UPDATE numbers SET doc = '' WHERE "+where+" AND rev = 1", args))
	}
	require.Equal(t, byNumber, explained(t, db, tb.getSQL(columns{}, byNumberSQL), []any{int64(1), numbered}))
	require.Equal(t, byName, explained(t, db, tb.getSQL(columns{}, byNameSQL), []any{named}))
	for _, q := range []query{{orderBy: ID}, {orderBy: ID, desc: true}, {orderBy: ID, from: &Position{Key: numbered, Seq: 1}}} {
		text, args := sorted(q)
		plan := explained(t, db, text, args)
		require.NotRegexp(t, `SCAN numbers(\||$)`, plan)
		require.Contains(t, plan, "USING INDEX numbers__id")
		require.Contains(t, plan, "USING INTEGER PRIMARY KEY (rowid")
	}
}

// explained returns the plan of a statement.
func explained(t *testing.T, db *sqldb.DB, text string, args []any) string {
	t.Helper()
	rows, err := db.Reader().Query(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	require.NoError(t, err)
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var line string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &line))
		lines = append(lines, line)
	}
	require.NoError(t, rows.Err())
	return strings.ReplaceAll(strings.Join(lines, "|"), "COVERING ", "")
}

func TestNumberedID_Form(t *testing.T) {
	for _, seq := range []int64{1, 4095, 1 << 40, 1<<48 - 1} {
		id, err := numberedID(seq)
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"), id)
		found, ok := numberIn(id)
		require.True(t, ok)
		require.Equal(t, seq, found)
		again, err := numberedID(seq)
		require.NoError(t, err)
		require.NotEqual(t, id, again)
		_, ok = numberIn(strings.ToUpper(id[:14]) + "A" + id[15:])
		require.False(t, ok)
	}
	_, err := numberedID(1 << 48)
	require.Error(t, err)
	for _, id := range []string{"", "1", "00000000-0001-7abc-8abc-abcdefabcdef", "00000000-0001-8abc-cabc-abcdefabcdef",
		"00000000x0001-8abc-8abc-abcdefabcdef"} {
		_, ok := numberIn(id)
		require.False(t, ok, id)
	}
}
