package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// stepsTable creates the table with a row for each applied step. stepsOf is the value of the column name for the steps of this store.
const stepsTable = `CREATE TABLE {steps} (name KEY NOT NULL, step BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, step))`

const stepsOf = "engine"

// legacyStepsTable is the table that records the applied legacySteps, with the name stepsOf.
const legacyStepsTable = "sqldb_steps"

// adoptedStep is a step number that no version has. It is recorded with the legacy steps after the tables were renamed, so that an earlier
// version returns an error ("it was migrated by a newer one") instead of creating its tables again.
const adoptedStep = 1_000_000

var stepColumns = []string{"name", "step", "hash"}

// migrate updates the tables to the current schema, in the transaction of the caller. The tables of a new database get the given number of
// partitions.
func migrate(ctx context.Context, tx *sqldb.Tx, names sqldb.Names, partitions int) error {
	if err := tx.LockTables(ctx); err != nil {
		return err
	}
	if err := tx.CreateSchema(ctx); err != nil {
		return fmt.Errorf("create the schema %s: %w", names.Schema, err)
	}
	applied, err := appliedSteps(ctx, tx, names)
	if err != nil {
		return err
	}
	if applied > 0 {
		if partitions, err = partitionsOf(ctx, tx, names, partitions); err != nil {
			return err
		}
	}
	for i := applied; i < len(steps); i++ {
		if step := withTypes(partition(steps[i], partitions, names), tx.Dialect()); step != "" {
			if err := tx.Apply(ctx, step); err != nil {
				return fmt.Errorf("step %d: %w", i+1, err)
			}
		}
		if err := recordStep(ctx, tx, i); err != nil {
			return err
		}
	}
	return nil
}

// appliedSteps returns the number of applied steps, after it has adopted the tables of an earlier version.
func appliedSteps(ctx context.Context, tx *sqldb.Tx, names sqldb.Names) (int, error) {
	columns, err := tx.Columns(ctx, names.Schema, names.Plain("steps"))
	switch {
	case err != nil:
		return 0, err
	case len(columns) == 0:
		if err := tx.Apply(ctx, withTypes(stepsTable, tx.Dialect())); err != nil {
			return 0, err
		}
	case !slices.Equal(columns, stepColumns):
		return 0, foreignTableError(names, "steps")
	}
	found, err := readSteps(ctx, tx, names.Quoted("steps"))
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return adopt(ctx, tx, names)
	}
	return len(found), verify(found, func(i int) string { return sqldb.Hash(steps[i]) }, len(steps))
}

// recordStep records that steps[i] is applied.
func recordStep(ctx context.Context, tx *sqldb.Tx, i int) error {
	_, err := tx.Exec(ctx, `INSERT INTO {steps} (name, step, hash) VALUES (?, ?, ?)`, stepsOf, i+1, sqldb.Hash(steps[i]))
	return err
}

// adopt searches for tables of a version without a prefix, applies the missing steps to them and renames them. It returns the number of
// steps of this version that the renamed tables already contain.
func adopt(ctx context.Context, tx *sqldb.Tx, names sqldb.Names) (applied int, err error) {
	schemas, err := tx.Schemas(ctx)
	if err != nil {
		return 0, err
	}
	for _, schema := range schemas {
		found, err := legacy(ctx, tx, schema)
		if err != nil {
			return 0, err
		}
		if found == nil {
			continue
		}
		if err := upgrade(ctx, tx, schema, len(found)); err != nil {
			return 0, fmt.Errorf("upgrade the tables of an earlier version: %w", err)
		}
		return 1, recordStep(ctx, tx, 0)
	}
	for _, table := range append([]string{"process", "in_flight"}, legacyTables...) {
		columns, err := tx.Columns(ctx, names.Schema, names.Plain(table))
		if err == nil && len(columns) > 0 {
			err = foreignTableError(names, table)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// foreignTableError returns the error for a table of another program with the name of an engine table.
func foreignTableError(names sqldb.Names, table string) error {
	return fmt.Errorf("the table %s exists and was not created by the engine: choose another Options.Prefix or Options.Schema",
		names.Plain(table))
}

// legacy returns the recorded steps of an earlier version in a schema, or nil if the schema has no such version. Another program may have a
// table of the same name.
func legacy(ctx context.Context, tx *sqldb.Tx, schema string) ([]step, error) {
	columns, err := tx.Columns(ctx, schema, legacyStepsTable)
	if err != nil || !slices.Equal(columns, stepColumns) {
		return nil, err
	}
	found, err := readSteps(ctx, tx, sqldb.Names{Schema: schema}.Quoted(legacyStepsTable))
	if err != nil || len(found) == 0 || found[len(found)-1].number == strconv.Itoa(adoptedStep) {
		return nil, err
	}
	hash := func(i int) string { return sqldb.Hash(withTypes(legacySteps[i], tx.Dialect())) }
	if found[0].hash != hash(0) {
		columns, err := tx.Columns(ctx, schema, "sync_state")
		if err != nil || !slices.Contains(columns, "principal_id") {
			return nil, err // another program's steps
		}
	}
	return found, verify(found, hash, len(legacySteps))
}

// step is a row of a table of steps. A table of another program may have any types.
type step struct{ number, hash string }

func readSteps(ctx context.Context, tx *sqldb.Tx, table string) ([]step, error) {
	rows, err := tx.Query(ctx, `SELECT CAST(s.step AS TEXT), COALESCE(CAST(s.hash AS TEXT), '') FROM `+table+` AS s
		WHERE CAST(s.name AS TEXT) = ? ORDER BY s.step`, stepsOf)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []step
	for rows.Next() {
		var s step
		if err := rows.Scan(&s.number, &s.hash); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// verify compares the recorded steps of a database with the steps of this program.
func verify(found []step, hash func(i int) string, known int) error {
	for i, s := range found {
		switch {
		case i >= known:
			return fmt.Errorf("the database has migration step %s, and this program has only %d steps: a newer version migrated the database",
				s.number, known)
		case s.number != strconv.Itoa(i+1):
			return fmt.Errorf("the database lacks migration step %d", i+1)
		case s.hash != hash(i):
			return fmt.Errorf("migration step %d was changed after it had been applied", i+1)
		}
	}
	return nil
}

// upgrade applies the legacy steps that are missing, and renames the tables.
func upgrade(ctx context.Context, tx *sqldb.Tx, schema string, applied int) error {
	if tx.Dialect() == sqldb.Postgres {
		if _, err := tx.Exec(ctx, `SET LOCAL search_path TO `+sqldb.Quote(schema)); err != nil {
			return err
		}
	}
	for i := applied; i < len(legacySteps); i++ {
		if err := tx.Apply(ctx, withTypes(legacySteps[i], tx.Dialect())); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+sqldb.Names{Schema: schema}.Quoted(legacyStepsTable)+` (name, step, hash) VALUES (?, ?, ?)`,
		stepsOf, adoptedStep, "the tables were renamed by a later version")
	if err != nil {
		return err
	}
	return tx.TakeOver(ctx, schema, legacyTables...)
}
