package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

var simulated = flag.Duration("sqlstore.simulate", 30*time.Second, "duration of each simulation of BenchmarkDispatchers")

const (
	simulatedApps  = 100_000
	simulatedConns = 32                     // connections that the dispatchers share
	simulatedKicks = 100                    // lanes per second that become due
	simulatedSweep = 500 * time.Millisecond // as in package provision
	simulatedBeat  = 2500 * time.Millisecond
	simulatedLease = 10 * time.Second
)

// BenchmarkDispatchers simulates the dispatchers of 10, 100 and 1,000 processes with the statements of the store, on PostgreSQL with
// 100,000 apps of which 100 per second become due. Each dispatcher claims lanes twice a second and releases them immediately. Every 2.5s it
// sends a heartbeat and takes over the lanes of dead processes. All dispatchers share 32 connections. tx/s and %-cpu (100 % is one
// processor) are those of the server, claim-p99-ms and beat-p99-ms include the wait for a connection, and wait-p99-ms is the time until a
// due lane is claimed. ended is the number of processes whose heartbeat was too late.
func BenchmarkDispatchers(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				simulate(b, n)
			}
		})
	}
}

// simulation counts what the dispatchers do.
type simulation struct {
	mu                   sync.Mutex
	claims, beats, waits []time.Duration
	ended, lanes         int
	due                  map[string]time.Time
}

func (s *simulation) add(to *[]time.Duration, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, d)
}

func simulate(b *testing.B, dispatchers int) {
	p := sqldbtest.PostgresPlace(b)
	admin := p.Open(b)
	first, err := sqlstore.Open(b.Context(), admin, sqlstore.Options{Dialect: sqlstore.Postgres})
	require.NoError(b, err)
	_, err = admin.Exec(fmt.Sprintf(`INSERT INTO scimwright_app_lane
		(app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak)
		SELECT 'app-' || n, 1, '', 9223372036854775807, NULL, 0, '', 0, '', 0 FROM generate_series(1, %d) n`, simulatedApps))
	require.NoError(b, err)
	_, err = admin.Exec(`VACUUM ANALYZE scimwright_app_lane`)
	require.NoError(b, err)
	var stores []*sqlstore.Store
	for range min(simulatedConns, dispatchers) {
		pool := p.Open(b)
		pool.SetMaxOpenConns(1)
		s, err := sqlstore.Open(b.Context(), pool, sqlstore.Options{Dialect: sqlstore.Postgres})
		require.NoError(b, err)
		stores = append(stores, s)
	}
	sim := &simulation{due: map[string]time.Time{}}
	ctx, stop := context.WithCancel(b.Context())
	var all, joined sync.WaitGroup
	joined.Add(dispatchers)
	for n := range dispatchers {
		all.Go(func() {
			if err := sim.dispatch(ctx, stores[n%len(stores)], joined.Done); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		})
	}
	joined.Wait()
	all.Go(func() {
		for range time.Tick(time.Second / 10) {
			var apps []string
			sim.mu.Lock()
			for range simulatedKicks / 10 {
				app := fmt.Sprint("app-", 1+rand.IntN(simulatedApps))
				apps, sim.due[app] = append(apps, app), time.Now()
			}
			sim.mu.Unlock()
			if err := first.Kick(ctx, time.Now(), apps); ctx.Err() != nil {
				return
			} else if err != nil {
				b.Error(err)
			}
		}
	})
	tx, cpu, begun := transactions(b, admin), processorTime(b, admin), time.Now()
	time.Sleep(*simulated)
	took := time.Since(begun).Seconds()
	b.ReportMetric(float64(transactions(b, admin)-tx)/took, "tx/s")
	b.ReportMetric(100*(processorTime(b, admin)-cpu).Seconds()/took, "%-cpu")
	stop()
	all.Wait()
	b.ReportMetric(float64(sim.lanes)/took, "lanes/s")
	b.ReportMetric(percentile(sim.claims, 99), "claim-p99-ms")
	b.ReportMetric(percentile(sim.claims, 50), "claim-p50-ms")
	b.ReportMetric(percentile(sim.beats, 99), "beat-p99-ms")
	b.ReportMetric(percentile(sim.waits, 99), "wait-p99-ms")
	b.ReportMetric(float64(sim.ended), "ended")
}

// dispatch runs a dispatcher until ctx ends. A process whose heartbeat was too late joins again.
func (s *simulation) dispatch(ctx context.Context, kept *sqlstore.Store, joined func()) error {
	var id string
	join := func() error {
		now := time.Now()
		p, _, err := kept.Join(ctx, store.Joining{Name: "simulated", Lease: simulatedLease, When: when(now)})
		id = p.ID
		return err
	}
	err := join()
	joined()
	if err != nil {
		return err
	}
	beat := time.NewTicker(simulatedBeat)
	defer beat.Stop()
	sweep := time.NewTimer(rand.N(simulatedSweep))
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			begun := time.Now()
			_, err = kept.Beat(ctx, id, store.Load{})
			s.add(&s.beats, time.Since(begun))
			if err == nil {
				_, err = kept.Reap(ctx, id, when(time.Now()))
			}
			if errors.Is(err, store.ErrEnded) {
				s.mu.Lock()
				s.ended++
				s.mu.Unlock()
				err = join()
			}
		case <-sweep.C:
			err = s.sweep(ctx, kept, id)
			sweep.Reset(simulatedSweep - simulatedSweep/10 + rand.N(simulatedSweep/5))
		}
		if err != nil {
			return err
		}
	}
}

// sweep claims lanes and releases them.
func (s *simulation) sweep(ctx context.Context, kept *sqlstore.Store, id string) error {
	begun := time.Now()
	var leases []engine.Lease
	c, err := kept.Claimable(ctx, begun, 128)
	if err == nil && c.Lanes > 0 {
		leases, err = kept.Claim(ctx, id, begun, 32)
	}
	s.add(&s.claims, time.Since(begun))
	if err != nil {
		return err
	}
	for _, l := range leases {
		s.mu.Lock()
		s.lanes++
		if at, ok := s.due[l.App]; ok {
			s.waits = append(s.waits, time.Since(at))
			delete(s.due, l.App)
		}
		s.mu.Unlock()
		if _, err := kept.Release(ctx, l, engine.Hold{}, time.Time{}); err != nil && !errors.Is(err, engine.ErrLeaseLost) {
			return err
		}
	}
	return nil
}

// percentile returns a percentile in milliseconds.
func percentile(all []time.Duration, n int) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)*n/100].Seconds() * 1000
}

func transactions(b *testing.B, db *sql.DB) (n int64) {
	b.Helper()
	err := db.QueryRow(`SELECT SUM(xact_commit + xact_rollback) FROM pg_stat_database WHERE datname = current_database()`).Scan(&n)
	require.NoError(b, err)
	return n
}

// processorTime returns the processor time of the server's processes, in Linux only.
func processorTime(b *testing.B, db *sql.DB) (sum time.Duration) {
	b.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	rows, err := db.Query(`SELECT pid FROM pg_stat_activity`)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var pid int
		require.NoError(b, rows.Scan(&pid))
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, ticks := range fields[11:13] { // utime and stime, in hundredths of a second
			n, err := strconv.Atoi(ticks)
			require.NoError(b, err)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	require.NoError(b, rows.Err())
	return sum
}
