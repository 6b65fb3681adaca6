package daemon_test

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

var (
	benchLines = flag.Int("daemon.lines", 1_000_000, "number of lines of the upload in BenchmarkUpload")
	benchApps  = flag.Int("daemon.apps", 10_000, "number of apps in BenchmarkIdle")
	benchIdle  = flag.Duration("daemon.idle", 30*time.Second, "duration of the measurement in BenchmarkIdle")
)

func eachBench(b *testing.B, fn func(b *testing.B, databaseURL string)) {
	b.Run("sqlite", func(b *testing.B) { fn(b, "sqlite:"+filepath.Join(b.TempDir(), "engine.db")) })
	b.Run("postgres", func(b *testing.B) { fn(b, sqldbtest.PostgresURL(b, sqldbtest.Durable)) })
}

// status returns a value of /proc/PID/status in MiB, such as VmHWM, the maximum resident memory.
func (c *child) status(b *testing.B, name string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	require.NoError(b, err)
	_, after, ok := strings.Cut(string(text), name+":")
	require.True(b, ok)
	kb, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	require.NoError(b, err)
	return kb / 1024
}

// user writes lines of users.
type users struct {
	n, next int
	rest    []byte
}

func (u *users) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		if u.next == u.n {
			return 0, io.EOF
		}
		u.rest = fmt.Appendf(u.rest[:0], `{"op":"putUser","id":"u-%d","version":1,"want":"active","resource":{"userName":"user%d@example.com",`+
			`"name":{"givenName":"Given %d","familyName":"Family %d"}}}`+"\n", u.next, u.next, u.next, u.next)
		u.next++
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// BenchmarkUpload uploads users in one request to a daemon in its own process, whose app is paused, and restarts the daemon. It reports the
// lines per second, the maximum resident memory, and the time of the restart until the daemon is ready.
func BenchmarkUpload(b *testing.B) {
	eachBench(b, func(b *testing.B, databaseURL string) {
		args := []string{"--db", databaseURL, "--key", testKey, "--admin-token", adminToken}
		running := startCommand(b, args...)
		c := &caller{t: b, url: running.ready.EngineURL, token: adminToken}
		app := `{"version":1,"target":{"baseUrl":"http://127.0.0.1:1/","createUsers":true,"paused":true}}`
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", app)
		before := running.status(b, "VmRSS")
		began := time.Now()
		r, err := c.send(http.MethodPost, "/apps/crm/batch", "application/x-ndjson", &users{n: *benchLines})
		require.NoError(b, err)
		require.Equal(b, http.StatusOK, r.status, r.body)
		var report struct{ Applied int }
		require.NoError(b, json.Unmarshal([]byte(r.body), &report))
		require.Equal(b, *benchLines, report.Applied, r.body[:min(len(r.body), 500)])
		b.ReportMetric(float64(*benchLines)/time.Since(began).Seconds(), "lines/s")
		b.ReportMetric(running.status(b, "VmHWM"), "MiB_maximum")
		b.ReportMetric(before, "MiB_before")
		running.kill()
		began = time.Now()
		startCommand(b, args...)
		b.ReportMetric(time.Since(began).Seconds(), "s_restart")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkWait changes a user, and reports the time from the response of the target to the response of wait. In "other", the change and
// the wait are requests to a daemon that does not provision the app.
func BenchmarkWait(b *testing.B) {
	eachBench(b, func(b *testing.B, databaseURL string) { benchWait(b, databaseURL, false) })
	b.Run("other", func(b *testing.B) { benchWait(b, sqldbtest.PostgresURL(b, sqldbtest.Durable), true) })
}

func benchWait(b *testing.B, databaseURL string, other bool) {
	b.Helper()
	target := enginetest.NewTarget()
	var responded atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target.ServeHTTP(w, r)
		responded.Store(time.Now().UnixNano())
	}))
	b.Cleanup(server.Close)
	url := server.URL
	running := startCommand(b, "--db", databaseURL, "--key", testKey, "--admin-token", adminToken, "--rate", "1000000")
	c := &caller{t: b, url: running.ready.EngineURL, token: adminToken}
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
	c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "user1"))
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/principals/user/u-1/wait", "")
	if other {
		c.url = startCommand(b, "--db", databaseURL, "--key", testKey, "--admin-token", adminToken, "--rate", "1000000").ready.EngineURL
	}
	var late []time.Duration
	version := 1
	for b.Loop() {
		version++
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(version, fmt.Sprint("user", version)))
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/principals/user/u-1/wait", "")
		late = append(late, time.Since(time.Unix(0, responded.Load())))
	}
	slices.Sort(late)
	b.ReportMetric(late[len(late)/2].Seconds()*1000, "ms_median")
	b.ReportMetric(late[len(late)*99/100].Seconds()*1000, "ms_p99")
}

// BenchmarkIdle reports the resident memory of a daemon with idle apps, and the transactions per second in PostgreSQL.
func BenchmarkIdle(b *testing.B) {
	eachBench(b, func(b *testing.B, databaseURL string) {
		args := []string{"--db", databaseURL, "--key", testKey, "--admin-token", adminToken, "--rate", "1000000"}
		_, target := newTarget(b)
		running := startCommand(b, args...)
		c := &caller{t: b, url: running.ready.EngineURL, token: adminToken}
		for i := range *benchApps {
			c.do(http.StatusOK, http.MethodPut, fmt.Sprintf("/apps/a-%d", i), fmt.Sprintf(`{"version":1,"target":{"baseUrl":%q}}`, target))
			c.do(http.StatusOK, http.MethodPut, fmt.Sprintf("/apps/a-%d/users/u-1", i), userBody(1, "ann"))
		}
		running.kill()
		running = startCommand(b, args...)
		c.url = running.ready.EngineURL
		time.Sleep(25 * time.Second) // the first rounds after a start
		count := transactions(b, databaseURL)
		before := count()
		began := time.Now()
		time.Sleep(*benchIdle)
		b.ReportMetric((count()-before)/time.Since(began).Seconds(), "transactions/s")
		b.ReportMetric(running.status(b, "VmRSS"), "MiB_resident")
		b.ReportMetric(running.status(b, "RssAnon"), "MiB_own")
		b.ReportMetric(0, "ns/op")
	})
}

// transactions returns a function that returns the number of transactions in a PostgreSQL database, and 0 for SQLite.
func transactions(b *testing.B, databaseURL string) func() float64 {
	b.Helper()
	if !strings.HasPrefix(databaseURL, "postgres") {
		return func() float64 { return 0 }
	}
	db, err := sql.Open("pgx", databaseURL)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return func() (n float64) {
		err := db.QueryRowContext(b.Context(),
			`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).Scan(&n)
		require.NoError(b, err)
		return n
	}
}
