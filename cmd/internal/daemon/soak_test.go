package daemon_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

var (
	soakTime = flag.Duration("daemon.soak", 8*time.Minute, "duration of TestSoak_FlatSize for each database")
	soakRate = flag.Int("daemon.rate", 20, "changes per second in TestSoak_FlatSize")
)

// TestSoak_FlatSize writes changes at a steady rate, with limits that the load reaches within a minute, and measures the size of the
// database. From a third of the time on, the size does not grow. "make soak" runs it for 40 minutes.
func TestSoak_FlatSize(t *testing.T) {
	alltest.Only(t, "runs for minutes")
	for name, open := range map[string]func(t *testing.T) (databaseURL string, size func() int64){
		"sqlite": func(t *testing.T) (string, func() int64) {
			path := filepath.Join(t.TempDir(), "engine.db")
			return "sqlite:" + path, func() (n int64) {
				for _, suffix := range []string{"", "-wal", "-shm"} {
					if info, err := os.Stat(path + suffix); err == nil {
						n += info.Size()
					}
				}
				return n
			}
		},
		"postgres": func(t *testing.T) (string, func() int64) {
			url := sqldbtest.PostgresURL(t)
			db, err := sql.Open("pgx", url)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			vacuum := vacuums(t, db)
			return url, func() (n int64) {
				vacuum()
				err := db.QueryRowContext(t.Context(), `SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0) FROM pg_class c
					JOIN pg_namespace s ON s.oid = c.relnamespace WHERE c.relkind = 'r' AND s.nspname LIKE current_schema() || '%'`).Scan(&n)
				require.NoError(t, err)
				return n
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, size := open(t)
			soak(t, url, size)
		})
	}
}

// vacuums returns a function that does the work of autovacuum if the server does not run it.
func vacuums(t *testing.T, db *sql.DB) func() {
	t.Helper()
	var auto string
	require.NoError(t, db.QueryRowContext(t.Context(), `SHOW autovacuum`).Scan(&auto))
	if auto == "on" {
		return func() {}
	}
	return func() {
		rows, err := db.QueryContext(t.Context(), `SELECT format('%I.%I', schemaname, relname) FROM pg_stat_user_tables
			WHERE schemaname LIKE current_schema() || '%' AND n_dead_tup > 50`)
		require.NoError(t, err)
		var tables []string
		for rows.Next() {
			var table string
			require.NoError(t, rows.Scan(&table))
			tables = append(tables, table)
		}
		require.NoError(t, rows.Err())
		for _, table := range tables {
			_, err := db.ExecContext(t.Context(), `VACUUM `+table)
			require.NoError(t, err)
		}
	}
}

func soak(t *testing.T, databaseURL string, size func() int64) {
	t.Helper()
	target, targetURL := newTarget(t)
	limit := daemon.RetentionLimit{Age: time.Minute, Rows: 2000}
	var log logged
	d, _ := start(t, daemon.Options{
		DB: databaseURL, Logger: log.logger(), Limits: daemon.Limits{Rate: 1e6, InFlight: 1000},
		Audit:     daemon.AuditLimits{Age: time.Minute, Rows: 5000},
		Retention: daemon.Retention{Exchanges: limit, Events: limit, Deleted: limit, DeadLetters: limit, Every: 10 * time.Second},
		Webhooks:  daemon.WebhookOptions{Attempts: 2, RetryInitial: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond},
	})
	c := callerOf(t, d)
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, targetURL))
	calls := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls%10 < 3 { // some messages become dead letters
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	c.do(http.StatusCreated, http.MethodPost, "/webhooks", fmt.Sprintf(`{"url":%q}`, receiver.URL))

	ctx, cancel := context.WithTimeout(t.Context(), *soakTime)
	defer cancel()
	pause := time.NewTicker(time.Second / time.Duration(*soakRate))
	defer pause.Stop()
	began, next := time.Now(), time.Now().Add(time.Minute)
	var sizes []int64
	for n := 1; ctx.Err() == nil; n++ {
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		soakChange(c, n, targetURL)
		if time.Now().After(next) {
			next = next.Add(time.Minute)
			sizes = append(sizes, size())
			t.Logf("%s: %d changes, %.1f MiB stored, %d users and %d groups on the target", time.Since(began).Round(time.Second), n,
				float64(sizes[len(sizes)-1])/(1<<20), len(target.Users()), len(target.Groups()))
		}
	}
	require.NotContains(t, log.String(), `"level":"ERROR"`)
	third := len(sizes) / 3
	require.Positive(t, third, "the test is too short: set -daemon.soak to at least 4m")
	before, after := maxOf(sizes[third:2*third]), maxOf(sizes[2*third:])
	require.LessOrEqual(t, after, before+before/10+(1<<20), "sizes in bytes: %s", strings.Trim(fmt.Sprint(sizes), "[]"))
}

// soakChange writes the n-th change. 200 users alternate between active and absent. Each group exists for 100 changes, each app for 200;
// their ids do not occur again.
func soakChange(c *caller, n int, targetURL string) {
	switch n % 10 {
	case 0:
		c.do(http.StatusOK, http.MethodPut, fmt.Sprintf("/apps/crm/groups/g-%d", n), fmt.Sprintf(
			`{"version":1,"want":"active","displayName":"group %d %s"}`, n, strings.Repeat("x", 200)))
		c.do(http.StatusOK, http.MethodPut, fmt.Sprintf("/apps/crm/groups/g-%d/members", n), `{"version":1,"members":["u-1","u-2"]}`)
		if n > 100 {
			c.do(http.StatusOK, http.MethodPut, fmt.Sprintf("/apps/crm/groups/g-%d", n-100), `{"version":2,"want":"absent","deleteRemote":true}`)
		}
	case 5:
		c.do(http.StatusOK, http.MethodPut, fmt.Sprintf("/apps/a-%d", n), appBody(1, targetURL))
		if n > 200 {
			c.do(http.StatusOK, http.MethodDelete, fmt.Sprintf("/apps/a-%d?version=2", n-200), "")
		}
	default:
		user, version := n%200, n/200+1
		body := fmt.Sprintf(`{"version":%d,"want":"active","resource":{"userName":"user%d","title":"version %d %s"}}`, version, user, version,
			strings.Repeat("t", 500))
		if version%4 == 3 {
			body = fmt.Sprintf(`{"version":%d,"want":"absent"}`, version)
		}
		c.do(http.StatusOK, http.MethodPut, fmt.Sprintf("/apps/crm/users/u-%d", user), body)
	}
}

func maxOf(sizes []int64) (n int64) {
	for _, s := range sizes {
		n = max(n, s)
	}
	return n
}
