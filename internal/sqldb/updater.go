package sqldb

import (
	"context"
	"errors"
)

// Updater runs writing transactions one at a time, for several writers to one SQLite database in a process. It runs fn in a transaction and
// returns nil after the commit. If fn returns an error or ctx ends before fn returns, the Updater rolls all writes of fn back.
type Updater func(ctx context.Context, fn func(tx Execer) error) error

// updateElsewhere runs an update with the updater.
func (db *DB) updateElsewhere(ctx context.Context, fn func(tx *Tx) error) error {
	if db.closed.Load() {
		return ErrClosed
	}
	var tx *Tx
	err := db.updater(ctx, func(e Execer) error {
		tx = &Tx{conn: e, texts: db.texts, detach: true}
		return db.run(tx, fn)
	})
	if err != nil {
		return err
	}
	if tx == nil {
		return errors.New("sqldb: updater did not run the update")
	}
	db.afterCommit(tx)
	return nil
}
