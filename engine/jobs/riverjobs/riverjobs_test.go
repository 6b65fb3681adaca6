package riverjobs_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
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
	pool, err := pgxpool.New(t.Context(), sqldbtest.PostgresURL(t))
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
