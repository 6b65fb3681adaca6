package sqldb_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// withUpdater returns a DB whose updater is db.Update.
func withUpdater(t *testing.T, db *sqldb.DB) *sqldb.DB {
	t.Helper()
	o := sqldb.Options{Dialect: sqldb.SQLite, Writer: db.Writer(), Readers: db.Readers(), Updater: updatesOf(db), Borrowed: true}
	upper, err := sqldb.New(o)
	require.NoError(t, err)
	return upper
}

func updatesOf(db *sqldb.DB) sqldb.Updater {
	return func(ctx context.Context, fn func(tx sqldb.Execer) error) error {
		return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
	}
}

func TestUpdater(t *testing.T) {
	withTable(func(t *testing.T, db *sqldb.DB) {
		upper, ctx := withUpdater(t, db), t.Context()
		committed := 0
		insertInto := func(ctx context.Context, id string, end error) error {
			return upper.Update(ctx, func(tx *sqldb.Tx) error {
				tx.AfterCommit(func() { committed++ })
				if _, err := tx.Exec(ctx, `INSERT INTO t (id, v) VALUES (?, 0)`, id); err != nil {
					return err
				}
				return end
			})
		}
		require.NoError(t, insertInto(ctx, "a", nil))
		require.Equal(t, 1, committed, "after the commit")
		broken := errors.New("broken")
		require.ErrorIs(t, insertInto(ctx, "b", broken), broken)
		require.ErrorIs(t, insertInto(ctx, "a", nil), sqldb.ErrUnique)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, insertInto(ended, "c", nil), context.Canceled)
		require.Equal(t, 1, committed, "not after a rollback")
		wantIDs(t, db, "a")

		require.NoError(t, upper.Close())
		require.ErrorIs(t, insertInto(ctx, "d", nil), sqldb.ErrClosed)
		require.NoError(t, insert(ctx, db, "e"), "borrowed connections stay open")
	})(t, sqldbtest.SQLite(t))
}

func TestUpdater_OnlySQLite(t *testing.T) {
	db := sqldbtest.SQLite(t)
	for _, o := range []sqldb.Options{{Dialect: sqldb.Postgres}, {Dialect: sqldb.SQLite, GroupCommit: true}} {
		o.Writer, o.Updater = db.Writer(), updatesOf(db)
		_, err := sqldb.New(o)
		require.ErrorContains(t, err, "an updater is for SQLite")
	}
}
