// Package riverjobstest opens schedulers on the PostgreSQL databases of tests.
package riverjobstest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/jobs/riverjobs"
)

// Times of the schedulers, which are short for tests.
const (
	Poll = 20 * time.Millisecond
	Dead = 2 * time.Second
)

// New returns a function that opens schedulers, which share their jobs, on the server of a database. The tables are removed at the end of
// the test.
func New(t testing.TB, db *sql.DB) func() jobs.Scheduler {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	var url string
	require.NoError(t, conn.Raw(func(driver any) error {
		c, ok := driver.(interface{ Conn() *pgx.Conn }) // the type of package stdlib
		require.True(t, ok, "%T", driver)
		url = c.Conn().Config().ConnString()
		return nil
	}))
	require.NoError(t, conn.Close())
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	o := riverjobs.Options{
		Schema: "river_" + strings.ToLower(rand.Text()[:10]), Poll: Poll, Dead: Dead, Logger: slog.New(slog.DiscardHandler),
	}
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+o.Schema+" CASCADE")
		require.NoError(t, err)
		pool.Close()
	})
	return func() jobs.Scheduler {
		s, err := riverjobs.Open(t.Context(), pool, o)
		require.NoError(t, err)
		return s
	}
}
