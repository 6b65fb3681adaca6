package provision_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

const (
	fleet       = 50                     // apps that share an engine
	fleetUsers  = 40                     // users that each app creates
	fleetAnswer = 200 * time.Millisecond // latency of their targets: long enough that the processor is not the bottleneck
	slowAnswer  = 2 * time.Second        // latency of the slow target
)

// fleetTime measures the time in which the other apps create their users, while the first app has a slow target or no work.
func fleetTime(b *testing.B, slow bool) time.Duration {
	b.Helper()
	s := newLargeWorld(b, sqldbtest.SQLite(b, sqldbtest.Durable), 0)
	s.fake.latency = fleetAnswer
	snail, server := newGroupTarget(b)
	snail.latency = slowAnswer
	var marks []engine.Mark
	for n := range fleet {
		name, target := fmt.Sprintf("app-%02d", n), s.directory.target[app]
		switch {
		case n == 0 && !slow:
			continue
		case n == 0:
			target.BaseURL = server.URL
		}
		s.directory.target[name] = target
		for i := range fleetUsers {
			marks = append(marks, engine.Mark{App: name, Kind: engine.User, ID: crowdID(i)})
		}
	}
	s.mark(marks...)
	start := time.Now()
	e := s.start(provision.Options{}, 0)
	for n := 1; n < fleet; n++ {
		s.wait(e, fmt.Sprintf("app-%02d", n))
	}
	took := time.Since(start)
	stopNow(b, e)
	return took
}

// BenchmarkSlowApp compares how long 49 apps take to create their users with and without a 50th app whose target has a latency of 2 s. Runs
// with and without the slow app alternate. %_lost is the median of the slowdown. Commits wait for the disk.
func BenchmarkSlowApp(b *testing.B) {
	var lost []float64
	for b.Loop() {
		without, with := fleetTime(b, false), fleetTime(b, true)
		lost = append(lost, 100*(with.Seconds()/without.Seconds()-1))
	}
	slices.Sort(lost)
	b.ReportMetric(lost[len(lost)/2], "%_lost")
}

// counting counts the transactions and queries of an engine.
type counting struct {
	store.All
	reads, writes atomic.Int64
}

func (c *counting) Claim(ctx context.Context, process string, due time.Time, limit int) ([]engine.Lease, error) {
	leases, err := c.All.Claim(ctx, process, due, limit)
	c.reads.Add(1)
	if len(leases) > 0 {
		c.writes.Add(1)
	}
	return leases, err
}

func (c *counting) Release(ctx context.Context, l engine.Lease, h engine.Hold, notBefore time.Time) (time.Time, error) {
	c.writes.Add(1)
	return c.All.Release(ctx, l, h, notBefore)
}

func (c *counting) Start(ctx context.Context, l engine.Lease, intents []store.Intent, inFlight []engine.Principal) error {
	c.writes.Add(1)
	return c.All.Start(ctx, l, intents, inFlight)
}

func (c *counting) Learn(ctx context.Context, l engine.Lease, change func(*engine.Learned)) (engine.Learned, error) {
	c.writes.Add(1)
	return c.All.Learn(ctx, l, change)
}

func (c *counting) Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error) {
	c.reads.Add(3)
	return c.All.Due(ctx, app, now, limit)
}

func (c *counting) Lane(ctx context.Context, app string) (engine.Lane, error) {
	c.reads.Add(1)
	return c.All.Lane(ctx, app)
}

const (
	idleApps   = 10_000
	idleFor    = 20 * time.Second // duration of the measurement
	clockSpeed = 60               // speed of the engine's clock for paused apps
)

// BenchmarkIdle counts the database operations of an idle engine with 10,000 apps: nothing is pending, or all apps are paused. The engine
// checks paused apps every ten minutes, so the clock runs 60 times faster for them. The rates are by the engine's clock. They include the
// query for due lanes every second.
func BenchmarkIdle(b *testing.B) {
	for _, paused := range []bool{false, true} {
		name := map[bool]string{false: "nothing-due", true: "paused"}[paused]
		b.Run(name, func(b *testing.B) {
			s := newLargeWorld(b, sqldbtest.SQLite(b, sqldbtest.Durable), 0)
			target := s.directory.target[app]
			target.Paused = paused
			for from := 0; from < idleApps; from += 1000 {
				var marks []engine.Mark
				for n := from; n < from+1000; n++ {
					id := fmt.Sprintf("app-%05d", n)
					s.directory.target[id] = target
					marks = append(marks, engine.Mark{App: id, Kind: engine.User, ID: crowdID(n)})
				}
				s.mark(marks...)
			}
			if !paused {
				s.seed(0) // give each user an account, so that nothing is pending
			}
			c := &counting{All: s.store}
			factor := map[bool]float64{false: 1, true: clockSpeed}[paused]
			begin := time.Now()
			clock := func() time.Time { return begin.Add(time.Duration(factor * float64(time.Since(begin)))) }
			e := s.start(provision.Options{Store: c, Now: clock}, 0)
			time.Sleep(idleFor) // not measured: the engine checks each pending lane once and schedules it again at a random time
			var reads, writes float64
			for b.Loop() {
				r, w := c.reads.Load(), c.writes.Load()
				time.Sleep(idleFor) // the measured time
				reads += float64(c.reads.Load()-r) / idleFor.Seconds() / factor
				writes += float64(c.writes.Load()-w) / idleFor.Seconds() / factor
			}
			b.ReportMetric(reads/float64(b.N), "reads/s")
			b.ReportMetric(writes/float64(b.N), "writes/s")
			s.stop(e)
		})
	}
}

const largest = 100_000 // members

// BenchmarkLargestPush pushes a group of 100,000 members and then one change, and counts the requests.
func BenchmarkLargestPush(b *testing.B) {
	for b.Loop() {
		s := newLargeWorld(b, sqldbtest.SQLite(b, sqldbtest.Durable), largest+1)
		s.directory.first = largest
		s.mark(groupMark("g"))
		before := peakMemory(b)
		start := time.Now()
		e := s.start(provision.Options{}, 0)
		s.wait(e, app)
		b.ReportMetric(time.Since(start).Seconds(), "s/push")
		b.ReportMetric(float64(s.fake.counted()), "requests/push")
		b.ReportMetric(peakMemory(b)-before, "MB-more")
		s.fake.sent()
		s.directory.set(func() { s.directory.in[crowdID(largest)] = true })
		start = time.Now()
		s.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{crowdID(largest)}})
		e.Wake(app)
		s.wait(e, app)
		b.ReportMetric(1000*time.Since(start).Seconds(), "ms/change")
		b.ReportMetric(float64(s.fake.counted()), "requests/change")
		s.stop(e)
		_, members := s.fake.has(b)
		require.Len(b, members, largest+1)
	}
}

var million = flag.Bool("engine.million", false, "queue 1,000,000 creates instead of 50,000")

// measuredUsers is the number of principals that are provisioned during the measurement.
const measuredUsers = 2_000

// BenchmarkLongLane provisions the first part of a long queue of creates. peak-MB is the peak memory of the process, including the target:
// run the benchmark alone.
func BenchmarkLongLane(b *testing.B) {
	queued := 50_000
	if *million {
		queued = 1_000_000
	}
	for b.Loop() {
		s := newLargeWorld(b, sqldbtest.SQLite(b, sqldbtest.Durable), 0)
		s.target(func(t *engine.Target) { t.Concurrency = benchConcurrency })
		for from := 0; from < queued; from += 1000 {
			marks := make([]engine.Mark, 1000)
			for i := range marks {
				marks[i] = userMark(crowdID(from + i))
			}
			s.mark(marks...)
		}
		done := make(chan struct{})
		var sequences atomic.Int64
		start := time.Now()
		e := s.start(provision.Options{Observer: engine.ObserverFunc(func(context.Context, engine.Result) {
			if sequences.Add(1) == measuredUsers {
				close(done)
			}
		})}, 0)
		<-done
		b.ReportMetric(measuredUsers/time.Since(start).Seconds(), "sequences/s")
		b.ReportMetric(peakMemory(b), "peak-MB")
		stopNow(b, e)
	}
}

// peakMemory returns the peak memory of this process in MB (10^6 bytes), or 0 if it is unavailable.
func peakMemory(b *testing.B) float64 {
	b.Helper()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(b, err)
			return float64(kib) * 1024 / 1e6
		}
	}
	return 0
}
