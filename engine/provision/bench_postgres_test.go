package provision_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

const (
	sharing    = 4     // engines that share a database
	shortLanes = 2_000 // lanes that the engines claim and release
)

var resting = flag.Int("engine.resting", 100_000, "number of apps in which nothing is pending, in BenchmarkIdleFleet")

// rest adds apps in which nothing is pending, with SQL: marks would take minutes.
func (s *largeWorld) rest(b *testing.B, n int) (apps []string) {
	b.Helper()
	for i := range n {
		name := fmt.Sprintf("app-%07d", i)
		apps = append(apps, name)
		s.directory.target[name] = s.directory.target[app]
	}
	s.mark(userMark(crowdID(0)))
	s.seed(0) // nothing is pending in this app either
	require.NoError(b, s.db.Update(b.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(b.Context(), `INSERT INTO scimwright_app_lane
			(app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak)
			SELECT 'app-' || lpad(CAST(n AS TEXT), 7, '0'), 1, '', l.lease_until, NULL, 0, '', 0, '', 0
			FROM generate_series(0, CAST(? AS BIGINT)) n, scimwright_app_lane l WHERE l.app_id = ?`, n-1, app)
		return err
	}))
	_, err := s.db.Writer().ExecContext(b.Context(), `VACUUM ANALYZE scimwright_app_lane, scimwright_sync_state`)
	require.NoError(b, err)
	return apps
}

func (s *largeWorld) number(query string) (n int64) {
	s.t.Helper()
	require.NoError(s.t, s.db.Reader().QueryRow(s.t.Context(), query).Scan(&n))
	return n
}

// BenchmarkShortTenures measures how many lanes per second four engines on PostgreSQL claim, query and release. No request is sent.
func BenchmarkShortTenures(b *testing.B) {
	s := newLargeWorld(b, sqldbtest.Postgres(b), 0)
	apps := s.rest(b, shortLanes)
	for range sharing {
		e := s.start(provision.Options{}, 0)
		defer s.stop(e)
	}
	var took time.Duration
	for b.Loop() {
		start := time.Now()
		require.NoError(b, s.store.Kick(b.Context(), start, apps))
		start = time.Now()
		for s.number(`SELECT COUNT(*) FROM scimwright_app_lane WHERE next_at IS NOT NULL`) > 0 {
			time.Sleep(10 * time.Millisecond) // poll interval
		}
		took += time.Since(start)
	}
	b.ReportMetric(float64(shortLanes*b.N)/took.Seconds(), "lanes/s")
}

// BenchmarkIdleFleet counts the transactions of four engines on PostgreSQL with apps in which nothing is pending, and the blocks that these
// transactions read.
func BenchmarkIdleFleet(b *testing.B) {
	s := newLargeWorld(b, sqldbtest.Postgres(b), 0)
	s.rest(b, *resting)
	for range sharing {
		e := s.start(provision.Options{}, 0)
		defer s.stop(e)
	}
	time.Sleep(idleFor) // not measured: the engines join
	const transactions = `SELECT SUM(xact_commit + xact_rollback) FROM pg_stat_database WHERE datname = current_database()`
	const blocks = `SELECT COALESCE(SUM(heap_blks_read + heap_blks_hit + COALESCE(idx_blks_read + idx_blks_hit, 0)), 0)
		FROM pg_statio_user_tables WHERE schemaname = current_schema()`
	var sent, read float64
	for b.Loop() {
		t, r := s.number(transactions), s.number(blocks)
		time.Sleep(idleFor)
		sent += float64(s.number(transactions)-t-2) / idleFor.Seconds() // without the queries of the benchmark
		read += float64(s.number(blocks)-r) / idleFor.Seconds()
	}
	b.ReportMetric(sent/float64(b.N), "tx/s")
	b.ReportMetric(read/float64(b.N), "blocks/s")
}

// BenchmarkAgainstBareLoopPostgres does the same as BenchmarkAgainstBareLoop on PostgreSQL.
func BenchmarkAgainstBareLoopPostgres(b *testing.B) {
	againstBareLoop(b, func(b *testing.B) *sqldb.DB { return sqldbtest.Postgres(b, sqldbtest.Durable) })
}

// BenchmarkMarkLatency measures one mark per transaction, by one and by eight clients. p50-ms is the median.
func BenchmarkMarkLatency(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		for _, clients := range []int{1, 8} {
			b.Run(fmt.Sprintf("%d", clients), func(b *testing.B) {
				s := newLargeWorld(b, db, 0)
				var mu sync.Mutex
				var all []time.Duration
				const perClient = 50
				for b.Loop() {
					var group sync.WaitGroup
					for c := range clients {
						group.Go(func() {
							for n := range perClient {
								start := time.Now()
								s.mark(engine.Mark{App: fmt.Sprint("app-", c), Kind: engine.User, ID: crowdID(n)})
								took := time.Since(start)
								mu.Lock()
								all = append(all, took)
								mu.Unlock()
							}
						})
					}
					group.Wait()
				}
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2].Seconds()*1000, "p50-ms")
			})
		}
	}, sqldbtest.Durable)
}

// processors limits the benchmark to the default number of processors of cmd/scimwright.
func processors(b *testing.B) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(sqlopen.Processors(before))
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}
