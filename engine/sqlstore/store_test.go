package sqlstore_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/engine/storetest"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

func TestStore(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		store, err := enginestore.Open(t.Context(), db, sqlstore.Options{Tenant: storetest.Tenant})
		require.NoError(t, err)
		storetest.Run(t, store, func(ctx context.Context, fn func(engine.Execer) error) error {
			return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
		})
	})
}

func TestStore_RequiredOnly(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		all, err := enginestore.Open(t.Context(), db, sqlstore.Options{Tenant: storetest.Tenant})
		require.NoError(t, err)
		storetest.Run(t, struct{ store.Store }{all}, func(ctx context.Context, fn func(engine.Execer) error) error {
			return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
		})
	})
}
