package provision_test

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

var (
	takeovers    = flag.Int("engine.takeovers", 2, "number of processes that BenchmarkTakeover ends in each way; 20 take 10 to 14 minutes")
	takeoverApps = flag.Int("engine.takeoverapps", 40, "apps of BenchmarkTakeover; with a few apps per process, the spread is coarse")
)

const (
	takeoverProcesses = 4
	takeoverAnswer    = 300 * time.Millisecond // latency of the targets
	takeoverUsers     = 10                     // of each app
	takeoverLimit     = 30 * time.Second       // maximum wait for a takeover
)

// BenchmarkTakeover ends a process of a fleet of four with default options, and measures how long each of its apps gets no request: from
// the kill or the stop, or, for a process that stops by itself, from its last request. Targets respond in 300 ms, and the apps always have
// changes. After that it replaces the process. s-to-part is the maximum time until the numbers of lanes of all processes, as means over
// 3 s, differ by at most 20 % from the mean of the processes. %-spread is the maximum difference of the means from 20 s to 30 s after the
// replacement.
func BenchmarkTakeover(b *testing.B) {
	for _, c := range []struct {
		name string
		end  func(f *busyFleet, i int)
	}{
		{"killed", func(f *busyFleet, i int) { f.fleet.kill(i) }},
		{"stopped", func(f *busyFleet, i int) { f.fleet.signal(i, syscall.SIGSTOP) }},
		{"drained", func(f *busyFleet, i int) { f.fleet.signal(i, syscall.SIGTERM) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := newBusyFleet(b)
			for b.Loop() {
				var waits []time.Duration
				var slowest time.Duration
				var most float64
				for try := range *takeovers {
					i := try % takeoverProcesses
					waits = append(waits, f.takeover(i, c.name == "drained", func() { c.end(f, i) })...)
					f.fleet.signal(i, syscall.SIGCONT)
					if c.name != "stopped" {
						f.fleet.kill(i)
						f.fleet.restart(i)
					}
					took, spread := f.parts()
					b.Logf("try %d: each process has its part after %.1f s, and then the lanes differ by up to %.0f %%", try, took.Seconds(), spread)
					slowest, most = max(slowest, took), max(most, spread)
				}
				slices.Sort(waits)
				require.NotEmpty(b, waits)
				b.ReportMetric(float64(len(waits))/float64(*takeovers), "lanes/try")
				b.ReportMetric(waits[len(waits)/2].Seconds(), "s-p50")
				b.ReportMetric(waits[len(waits)-1].Seconds(), "s-max")
				b.ReportMetric(slowest.Seconds(), "s-to-part")
				b.ReportMetric(most, "%-spread")
			}
			_, violations := f.target.counts()
			require.Empty(b, violations)
		})
	}
}

// busyFleet is a fleet whose apps always have changes.
type busyFleet struct {
	b      testing.TB
	db     *sqldb.DB
	kept   *sqlstore.Store
	target *fleetTarget
	fleet  *members

	mu   sync.Mutex
	last map[string]arrival // the last request of each app
	wait map[string]string  // apps that wait for a takeover, and their processes
	took map[string]time.Duration
	from func(app string) time.Time // the begin of the wait
}

type arrival struct {
	process string
	at      time.Time
}

func newBusyFleet(b testing.TB) *busyFleet {
	b.Helper()
	url := sqldbtest.PostgresURL(b)
	db, err := sqlopen.Open(b.Context(), url, sqlopen.Options{MaxConns: 8})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	migrateDirectory(b, db)
	f := &busyFleet{b: b, db: db, target: newFleetTarget(), last: map[string]arrival{}}
	f.kept, err = enginestore.Open(b.Context(), db, sqlstore.Options{})
	require.NoError(b, err)
	f.target.latency = func() time.Duration { return takeoverAnswer }
	f.target.arrived = f.arrived
	server := httptest.NewServer(f.target)
	b.Cleanup(server.Close)
	f.fleet = startFleet(b, fleetOrders{Database: url, Target: server.URL, Concurrency: 1}, takeoverProcesses)
	ctx, stop := context.WithCancel(b.Context())
	var marking sync.WaitGroup
	marking.Go(func() { f.mark(ctx) })
	b.Cleanup(func() { stop(); marking.Wait() })
	f.parts()
	return f
}

// mark keeps all apps busy: it changes all their users, and again before a third of them has been provisioned.
func (f *busyFleet) mark(ctx context.Context) {
	mark := func(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
		return f.kept.Mark(ctx, tx, time.Now(), marks)
	}
	for n := 0; ctx.Err() == nil; n++ {
		for a := range *takeoverApps {
			err := sqlDirectory{db: f.db}.change(ctx, fmt.Sprint("app-", a), mark, func(k *directoryTx) {
				for u := range takeoverUsers {
					id := fmt.Sprint("u-", u)
					k.put(id, engine.Active, "name-"+id, strconv.Itoa(n), 0)
				}
			})
			if err != nil && ctx.Err() == nil {
				f.b.Error("change:", err)
				return
			}
		}
		time.Sleep(takeoverUsers * takeoverAnswer / 3) // the pace of the changes
	}
}

// arrived is called for each request.
func (f *busyFleet) arrived(app, process string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if owner, ok := f.wait[app]; ok && owner != process {
		f.took[app] = at.Sub(f.from(app))
		delete(f.wait, app)
	}
	f.last[app] = arrival{process, at}
}

// takeover ends a process, and returns the time for which each of its lanes waited.
func (f *busyFleet) takeover(i int, fromLast bool, end func()) (waits []time.Duration) {
	f.b.Helper()
	rows, err := f.db.Reader().Query(f.b.Context(), `SELECT l.app_id FROM scimwright_app_lane l JOIN scimwright_process p ON p.id = l.process
		WHERE p.name = ?`, f.fleet.name(i))
	require.NoError(f.b, err)
	process := f.fleet.process(i)
	f.mu.Lock()
	f.wait, f.took = map[string]string{}, map[string]time.Duration{}
	for rows.Next() {
		var app string
		require.NoError(f.b, rows.Scan(&app))
		f.wait[app] = process
	}
	began := time.Now()
	f.from = func(app string) time.Time {
		if fromLast {
			return f.last[app].at
		}
		return began
	}
	f.mu.Unlock()
	require.NoError(f.b, rows.Close())
	end()
	require.Eventually(f.b, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.wait) == 0
	}, takeoverLimit, 20*time.Millisecond, "every lane is taken over")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.took {
		waits = append(waits, d)
	}
	return waits
}

// parts returns the time until each process has its part of the lanes, and then the largest difference to the mean in percent. Both are
// those of means: also in a fleet that always has work, a lane is released and claimed again if the changes come late on a busy machine.
func (f *busyFleet) parts() (took time.Duration, last float64) {
	f.b.Helper()
	begun := time.Now()
	short, long := window{length: 3 * time.Second}, window{length: 10 * time.Second}
	for ; time.Since(begun) < takeoverLimit; time.Sleep(fairSample) {
		lanes := f.lanes()
		if means := short.add(lanes); means != nil && took == 0 && spread(means, takeoverProcesses) <= fairTolerance {
			took = time.Since(begun)
		}
		if means := long.add(lanes); means != nil {
			last = spread(means, takeoverProcesses)
		}
	}
	if took == 0 {
		took = time.Since(begun)
	}
	return took, last
}

// lanes returns the number of lanes of each valid process.
func (f *busyFleet) lanes() map[string]float64 {
	f.b.Helper()
	all, err := f.kept.Processes(f.b.Context())
	require.NoError(f.b, err)
	lanes := map[string]float64{}
	for _, p := range all {
		if p.State == engine.ProcessAlive {
			lanes[p.ID] = float64(p.Lanes)
		}
	}
	return lanes
}
