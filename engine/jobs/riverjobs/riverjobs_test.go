package riverjobs_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/jobs/jobstest"
	"github.com/scimwright/scimwright/engine/jobs/riverjobs"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// newPool returns a pool of connections to the server of the tests, and the name of a schema that is dropped at the end of the test.
func newPool(t testing.TB) (*pgxpool.Pool, string) {
	t.Helper()
	return newPoolAt(t, sqldbtest.PostgresURL(t))
}

// newPoolAt returns a pool of connections to a database.
func newPoolAt(t testing.TB, url string) (*pgxpool.Pool, string) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	schema := "river_" + strings.ToLower(rand.Text()[:10])
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+schema+" CASCADE")
		require.NoError(t, err)
		pool.Close()
	})
	return pool, schema
}

// quick returns options with short times.
func quick(schema string) riverjobs.Options {
	return riverjobs.Options{
		Schema: schema, LongWorkers: 2, Poll: 20 * time.Millisecond, Dead: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
	}
}

func TestScheduler(t *testing.T) {
	jobstest.Run(t, func(t *testing.T) jobstest.Open {
		t.Parallel()
		pool, schema := newPool(t)
		return func() jobs.Scheduler {
			s, err := riverjobs.Open(t.Context(), pool, quick(schema))
			require.NoError(t, err)
			return s
		}
	})
}

// TestScheduler_Pooled runs the tests through PgBouncer in transaction mode.
func TestScheduler_Pooled(t *testing.T) {
	jobstest.Run(t, func(t *testing.T) jobstest.Open {
		t.Parallel()
		pool, schema := newPoolAt(t, sqldbtest.PooledPlace(t).DSN)
		return func() jobs.Scheduler {
			s, err := riverjobs.Open(t.Context(), pool, quick(schema))
			require.NoError(t, err)
			return s
		}
	})
}

// TestOpen_PooledProcesses opens more schedulers concurrently than PgBouncer has connections.
func TestOpen_PooledProcesses(t *testing.T) {
	url := sqldbtest.PooledPlace(t).DSN
	_, schema := newPoolAt(t, url)
	var all sync.WaitGroup
	for range 12 {
		pool, err := pgxpool.New(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		all.Go(func() {
			if _, err := riverjobs.Open(t.Context(), pool, quick(schema)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestOpen_PooledPreparedStatements checks that Open names the parameter of the connection string if the driver prepares statements and a
// pooler would run them in other sessions.
func TestOpen_PooledPreparedStatements(t *testing.T) {
	pool, schema := newPoolAt(t, sqldbtest.PooledURL(t))
	_, err := riverjobs.Open(t.Context(), pool, quick(schema))
	require.ErrorContains(t, err, "add default_query_exec_mode=cache_describe to the connection string")
}
