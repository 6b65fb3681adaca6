package sqlstore_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/storetest"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// TestStore_Pooled runs the suite through PgBouncer in transaction mode: with the mode that sqlopen selects and, in a run of all tests, on
// databases that embedders open with each mode of pgx that prepares no named statements.
func TestStore_Pooled(t *testing.T) {
	t.Run("sqlopen", func(t *testing.T) {
		db, err := sqlopen.Open(t.Context(), sqldbtest.PooledURL(t), sqlopen.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		store, err := enginestore.Open(t.Context(), db, sqlstore.Options{Tenant: storetest.Tenant})
		require.NoError(t, err)
		storetest.Run(t, store, func(ctx context.Context, fn func(engine.Execer) error) error {
			return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
		})
	})
	for _, mode := range []string{"cache_describe", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			alltest.Only(t, "runs the suite once more")
			db, err := sql.Open("pgx", sqldbtest.PooledURL(t)+"&default_query_exec_mode="+mode)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			store, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres})
			require.NoError(t, err)
			storetest.Run(t, store, func(ctx context.Context, fn func(engine.Execer) error) error { return inTx(ctx, db, fn) })
		})
	}
}

// TestOpen_PooledPreparedStatements checks that Open names the parameter of the connection string if the driver prepares statements and a
// pooler would run them in other sessions.
func TestOpen_PooledPreparedStatements(t *testing.T) {
	db, err := sql.Open("pgx", sqldbtest.PooledURL(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres})
	require.ErrorIs(t, err, sqldb.ErrSessions)
	require.ErrorContains(t, err, "add default_query_exec_mode=cache_describe to the connection string")
}
