package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Steps are the numbered changes of a set of tables in an embedder's database.
type Steps struct {
	// Name identifies the set in the table steps, which all sets of a schema and prefix share.
	Name string
	// Texts are the statements of the steps, without semicolons in trigger bodies. KEY is replaced by the text type of the dialect. A step
	// never changes after a version with it was used.
	Texts []string
	// First is the name of a table of the first step. If a table of this name exists and no step is recorded, it belongs to another program.
	First string
}

const createSteps = `CREATE TABLE {steps} (name KEY NOT NULL, step BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, step))`

// Upgrade applies the steps that are not recorded, in the transaction of the caller, and records them. Transactions that upgrade at the
// same time wait for each other. On PostgreSQL, Names must have a schema, as those of Embed have.
func (tx *Tx) Upgrade(ctx context.Context, s Steps) error {
	if err := tx.LockTables(ctx); err != nil {
		return err
	}
	if err := tx.CreateSchema(ctx); err != nil {
		return fmt.Errorf("create the schema %s: %w", tx.Names().Schema, err)
	}
	applied, err := tx.appliedSteps(ctx, s)
	if err != nil {
		return err
	}
	for i := applied; i < len(s.Texts); i++ {
		if err := tx.Apply(ctx, keyed(s.Texts[i], tx.Dialect())); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		_, err := tx.Exec(ctx, `INSERT INTO {steps} (name, step, hash) VALUES (?, ?, ?)`, s.Name, i+1, Hash(s.Texts[i]))
		if err != nil {
			return err
		}
	}
	return nil
}

// appliedSteps returns the number of recorded steps, and creates the table steps if it does not exist.
func (tx *Tx) appliedSteps(ctx context.Context, s Steps) (int, error) {
	names := tx.Names()
	columns, err := tx.Columns(ctx, names.Schema, names.Plain("steps"))
	switch {
	case err != nil:
		return 0, err
	case len(columns) == 0:
		if err := tx.Apply(ctx, keyed(createSteps, tx.Dialect())); err != nil {
			return 0, err
		}
	case !slices.Equal(columns, []string{"name", "step", "hash"}):
		return 0, foreignTable(names, "steps")
	}
	rows, err := tx.Query(ctx, `SELECT step, hash FROM {steps} WHERE name = ? ORDER BY step`, s.Name)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var number int
		var hash string
		if err := rows.Scan(&number, &hash); err != nil {
			return 0, err
		}
		switch {
		case n >= len(s.Texts):
			return 0, fmt.Errorf("the database has step %d of %s, and this program has only %d steps: a newer version changed the database",
				number, s.Name, len(s.Texts))
		case number != n+1:
			return 0, fmt.Errorf("the database lacks step %s of %s", strconv.Itoa(n+1), s.Name)
		case hash != Hash(s.Texts[n]):
			return 0, fmt.Errorf("step %d of %s was changed after it had been applied", number, s.Name)
		}
	}
	if err := rows.Err(); err != nil || n > 0 {
		return n, err
	}
	if err := rows.Close(); err != nil {
		return 0, err
	}
	columns, err = tx.Columns(ctx, names.Schema, names.Plain(s.First))
	if err == nil && len(columns) > 0 {
		err = foreignTable(names, s.First)
	}
	return 0, err
}

// foreignTable returns the error for a table of another program.
func foreignTable(names Names, table string) error {
	return fmt.Errorf("the table %s exists and was not created by this module: choose another prefix or schema", names.Plain(table))
}

// keyed replaces the type KEY.
func keyed(step string, d Dialect) string {
	return strings.NewReplacer("PRIMARY KEY", "PRIMARY KEY", " KEY", " "+d.TextType()).Replace(step)
}
