package sqlopen_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// TestAdjustMode checks that the driver prepares statements only if it is connected to PostgreSQL itself, unless the URL selects a mode.
func TestAdjustMode(t *testing.T) {
	direct, pooled := sqldbtest.PostgresURL(t), sqldbtest.PooledURL(t)
	for _, c := range []struct {
		url  string
		want pgx.QueryExecMode
	}{
		{direct, pgx.QueryExecModeCacheStatement},
		{direct + "&default_query_exec_mode=exec", pgx.QueryExecModeExec},
		{pooled, pgx.QueryExecModeCacheDescribe},
		{pooled + "&default_query_exec_mode=exec", pgx.QueryExecModeExec},
		{pooled + "&default_query_exec_mode=cache_statement", pgx.QueryExecModeCacheStatement},
	} {
		config, err := pgx.ParseConfig(c.url)
		require.NoError(t, err)
		require.NoError(t, sqlopen.AdjustMode(t.Context(), c.url, config))
		require.Equal(t, c.want, config.DefaultQueryExecMode, c.url)
	}
}

// TestOpen_Pooled checks transactions and locks of concurrent clients through PgBouncer in transaction mode.
func TestOpen_Pooled(t *testing.T) {
	url := sqldbtest.PooledURL(t)
	var dbs [2]*sqldb.DB
	for i := range dbs {
		db, err := sqlopen.Open(t.Context(), url, sqlopen.Options{MaxConns: 16})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		dbs[i] = db
	}
	require.NoError(t, dbs[0].Update(t.Context(), func(tx *sqldb.Tx) error { return tx.Apply(t.Context(), "CREATE TABLE t (n BIGINT)") }))
	require.NoError(t, dbs[0].Update(t.Context(), func(tx *sqldb.Tx) error { return tx.Apply(t.Context(), "INSERT INTO t VALUES (0)") }))
	var all sync.WaitGroup
	const updates = 20
	for worker := range 24 { // more than PgBouncer has connections
		all.Go(func() {
			for range updates {
				err := dbs[worker%2].Update(t.Context(), func(tx *sqldb.Tx) error {
					if err := tx.Lock(t.Context(), "counter"); err != nil {
						return err
					}
					var n int64
					if err := tx.QueryRow(t.Context(), "SELECT n FROM t WHERE n >= ?", 0).Scan(&n); err != nil {
						return err
					}
					_, err := tx.Exec(t.Context(), "UPDATE t SET n = ?", n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var n int64
	require.NoError(t, dbs[1].Reader().QueryRow(t.Context(), "SELECT n FROM t").Scan(&n))
	require.EqualValues(t, 24*updates, n, "the lock of a transaction is not that of a session")
}
