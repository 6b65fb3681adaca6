// Package tables opens the tables of the console in the database of its host.
package tables

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Tables are tables with the prefix of embedded tables, in the database of a host.
type Tables struct {
	host  *sqldb.DB // its transactions are those of the host, which orders the writes
	named *sqldb.DB // with the prefix of the tables
}

// Open creates or upgrades tables.
func Open(ctx context.Context, db *sqldb.DB, steps sqldb.Steps) (*Tables, error) {
	pool := db.Writer()
	if db.Dialect() == sqldb.SQLite {
		pool = db.Readers()
	}
	named, err := sqldb.Embed(ctx, pool, db.Dialect().String(), "", "")
	if err != nil {
		return nil, fmt.Errorf("open the tables %q: %w", steps.Name, err)
	}
	t := &Tables{host: db, named: named}
	if err := t.Update(ctx, func(tx *sqldb.Tx) error { return tx.Upgrade(ctx, steps) }); err != nil {
		return nil, fmt.Errorf("open the tables %q: %w", steps.Name, err)
	}
	return t, nil
}

// Update runs a function in a transaction of the host.
func (t *Tables) Update(ctx context.Context, fn func(tx *sqldb.Tx) error) error {
	return t.host.Update(ctx, func(outer *sqldb.Tx) error {
		tx := t.named.Wrap(outer.Execer())
		if err := fn(tx); err != nil {
			return err
		}
		return tx.Err()
	})
}

// Reader reads outside of transactions.
func (t *Tables) Reader() sqldb.Queryer { return t.named.Reader() }
