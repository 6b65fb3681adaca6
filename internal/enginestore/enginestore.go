// Package enginestore opens the engine's store on a database of this module, whose writes are serialized and committed in groups. Embedders
// call sqlstore.Open.
package enginestore

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Open opens a store. It sets the fields Dialect and Updater of the options. On PostgreSQL the store needs no Updater: its transactions are
// those of a sqldb, and it sends heartbeats on a connection of its own.
func Open(ctx context.Context, db *sqldb.DB, o sqlstore.Options) (*sqlstore.Store, error) {
	o.Dialect = sqlstore.Dialect(db.Dialect().String())
	if db.Dialect() == sqldb.Postgres {
		return sqlstore.Open(ctx, db.Writer(), o)
	}
	o.Updater = func(ctx context.Context, fn func(tx engine.Execer) error) error {
		return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
	}
	return sqlstore.Open(ctx, db.Readers(), o)
}
