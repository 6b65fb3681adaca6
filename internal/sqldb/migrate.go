package sqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
)

// schemaLock makes transactions that change the schema wait for each other.
const schemaLock = "sqldb.schema"

const stepsTable = `CREATE TABLE IF NOT EXISTS sqldb_steps (
	name TEXT NOT NULL, step BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, step))`

// Migrate brings the schema called name to the state after the last of steps. Each step runs once in the life of a database,
// in a transaction of its own, in order; processes that migrate at the same time wait for each other. A step is one or more
// statements separated by semicolons, without placeholders and without trigger bodies.
//
// Steps are only ever appended: Migrate fails when a step that was applied before reads differently now, or when the database
// has more steps than the program knows.
func (db *DB) Migrate(ctx context.Context, name string, steps []string) error {
	err := db.Update(ctx, func(tx *Tx) error {
		if err := tx.Lock(ctx, schemaLock); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, stepsTable); err != nil {
			return err
		}
		var last int
		err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(step), 0) FROM sqldb_steps WHERE name = ?`, name).Scan(&last)
		if err == nil && last > len(steps) {
			err = fmt.Errorf("the database is at step %d and this program knows %d: it was migrated by a newer one", last, len(steps))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqldb: migrate %s: %w", name, err)
	}
	for i, step := range steps {
		err := db.Update(ctx, func(tx *Tx) error { return applyStep(ctx, tx, name, i+1, step) })
		if err != nil {
			return fmt.Errorf("sqldb: migrate %s, step %d: %w", name, i+1, err)
		}
	}
	return nil
}

func applyStep(ctx context.Context, tx *Tx, name string, number int, step string) error {
	if err := tx.Lock(ctx, schemaLock); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(step))
	hash := hex.EncodeToString(sum[:])
	var applied string
	err := tx.QueryRow(ctx, `SELECT hash FROM sqldb_steps WHERE name = ? AND step = ?`, name, number).Scan(&applied)
	switch {
	case err == nil && applied != hash:
		return errors.New("it was changed after it had been applied")
	case err == nil:
		return nil
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	for _, statement := range splitStatements(step) {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `INSERT INTO sqldb_steps (name, step, hash) VALUES (?, ?, ?)`, name, number, hash)
	return err
}

// Lock waits until no other transaction holds the lock called name, and holds it until this one ends. Names belong to the
// current schema of the database. SQLite runs one update at a time anyway.
func (tx *Tx) Lock(ctx context.Context, name string) error {
	if tx.Dialect() != Postgres {
		return nil
	}
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/' || ?, 0))`, name)
	return err
}
