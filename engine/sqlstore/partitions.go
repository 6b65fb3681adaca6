package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// partitionedTables are the tables that Options.Partitions divides: those with a row per app, and those with many rows per app. Their
// primary keys contain the app. Halts are few, and apply to all apps. Imports and plans, of which an app has few, are found by their ids,
// and the items of a plan by the id of the plan.
var partitionedTables = []string{
	"app_lane", "sync_state", "member_state", "sync_attempt", "removal", "remote_object", "lifecycle_event", "in_flight", "mark_trace",
}

// maxPartitions limits Options.Partitions. Open creates all partitions in one transaction, which locks each of them and each index.
const maxPartitions = 128

// tableText matches the definition of a table in a step.
var tableText = regexp.MustCompile(`(?s)CREATE TABLE \{(\w+)\} \((.*?)\n\);`)

// serialText matches a column that the database numbers. Before version 17, PostgreSQL has no identity columns in partitioned tables.
var serialText = regexp.MustCompile(`\n\tid +SERIAL,`)

// partition divides the tables that a step creates into n hash partitions by app. With n = 0 it returns the step unchanged.
func partition(step string, n int, names sqldb.Names) string {
	if n == 0 {
		return step
	}
	return tableText.ReplaceAllStringFunc(step, func(text string) string {
		parts := tableText.FindStringSubmatch(text)
		table, columns := parts[1], parts[2]
		if !slices.Contains(partitionedTables, table) {
			return text
		}
		before, after := "", ""
		if serialText.MatchString(columns) {
			sequence := table + "_id_seq"
			literal := `'` + strings.ReplaceAll(names.Quoted(sequence), `'`, `''`) + `'`
			// the name of a schema may contain a $, which a replacement must not expand
			columns = serialText.ReplaceAllLiteralString(columns, "\n\tid BIGINT NOT NULL DEFAULT nextval("+literal+"),") +
				",\n\tPRIMARY KEY (app_id, id)"
			before = "CREATE SEQUENCE {" + sequence + "};\n"
			after = "\nALTER SEQUENCE {" + sequence + "} OWNED BY {" + table + "}.id;"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%sCREATE TABLE {%s} (%s\n) PARTITION BY HASH (app_id);%s", before, table, columns, after)
		for i := range n {
			fmt.Fprintf(&b, "\nCREATE TABLE {%s_p%d} PARTITION OF {%[1]s} FOR VALUES WITH (MODULUS %[3]d, REMAINDER %[2]d);", table, i, n)
		}
		return b.String()
	})
}

// partitionsOf returns the number of partitions of the tables of a database, and checks that it is the wanted one, unless that is 0.
func partitionsOf(ctx context.Context, tx *sqldb.Tx, names sqldb.Names, wanted int) (n int, err error) {
	if tx.Dialect() != sqldb.Postgres {
		return 0, nil
	}
	err = tx.QueryRow(ctx, `SELECT COUNT(i.inhrelid) FROM pg_catalog.pg_inherits i
		JOIN pg_catalog.pg_class c ON c.oid = i.inhparent JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
		WHERE s.nspname = ? AND c.relname = ? AND c.relkind = 'p'`, names.Schema, names.Plain("app_lane")).Scan(&n)
	switch {
	case err != nil || wanted == 0 || n == wanted:
		return n, err
	case n == 0:
		return 0, errors.New("the tables of this database are not partitioned, and Options.Partitions applies to new databases only: " +
			"unset Options.Partitions, or choose another Options.Schema")
	}
	return 0, fmt.Errorf("the tables of this database have %d partitions: unset Options.Partitions, or set it to %[1]d", n)
}
