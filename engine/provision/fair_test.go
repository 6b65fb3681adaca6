package provision_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"sync"
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

// fairFleet is a fleet on PostgreSQL whose lanes are counted.
type fairFleet struct {
	t      testing.TB
	db     *sqldb.DB
	kept   *sqlstore.Store
	target *fleetTarget
	fleet  *members
}

// fairAnswer is the latency of the targets.
const fairAnswer = 2 * time.Second

// newFairFleet starts processes that may run all of the lanes. answer is the latency of the targets. o configures the
// processes.
func newFairFleet(t testing.TB, processes, apps int, answer time.Duration, o fleetOrders) *fairFleet {
	t.Helper()
	url := sqldbtest.PostgresURL(t)
	db, err := sqlopen.Open(t.Context(), url, sqlopen.Options{MaxConns: 8})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	migrateDirectory(t, db)
	f := &fairFleet{t: t, db: db, target: newFleetTarget()}
	f.kept, err = enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	f.target.latency = func() time.Duration { return answer }
	server := httptest.NewServer(f.target)
	t.Cleanup(server.Close)
	o.Database, o.Target, o.Lanes, o.Concurrency = url, server.URL, apps, 1
	f.fleet = startFleet(t, o, processes)
	require.Eventually(t, func() bool { return len(f.lanes()) == processes }, 4*deadline, fairSample)
	return f
}

// assign assigns users to each of the apps.
func (f *fairFleet) assign(ctx context.Context, apps, from, to int) error {
	for a := range apps {
		if err := f.assignOne(ctx, a, from, to); err != nil {
			return err
		}
	}
	return nil
}

// assignOne assigns users to an app.
func (f *fairFleet) assignOne(ctx context.Context, app, from, to int) error {
	mark := func(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
		return f.kept.Mark(ctx, tx, time.Now(), marks)
	}
	return sqlDirectory{db: f.db}.change(ctx, fmt.Sprint("app-", app), mark, func(k *directoryTx) {
		for n := from; n < to; n++ {
			id := "u-" + strconv.Itoa(n)
			k.user(id, "name-"+id, strconv.Itoa(n))
		}
	})
}

// lanes returns the number of lanes of each valid process, by name.
func (f *fairFleet) lanes() map[string]float64 {
	f.t.Helper()
	rows, err := f.db.Reader().Query(f.t.Context(), `SELECT p.name, COUNT(l.app_id) FROM scimwright_process p
		LEFT JOIN scimwright_app_lane l ON l.process = p.id
		WHERE p.valid_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000 GROUP BY p.name`)
	require.NoError(f.t, err)
	defer rows.Close()
	found := map[string]float64{}
	for rows.Next() {
		var name string
		var n float64
		require.NoError(f.t, rows.Scan(&name, &n))
		found[name] = n
	}
	require.NoError(f.t, rows.Err())
	return found
}

// window has the lanes of the processes during a time.
type window struct {
	length  time.Duration
	samples []sample
}

type sample struct {
	at    time.Time
	lanes map[string]float64
}

// add adds a sample. It returns the mean number of lanes of each process if samples of the whole length are there.
func (w *window) add(lanes map[string]float64) map[string]float64 {
	now := time.Now()
	w.samples = append(w.samples, sample{now, lanes})
	first := 0
	for first+1 < len(w.samples) && now.Sub(w.samples[first+1].at) >= w.length {
		first++
	}
	w.samples = w.samples[first:]
	if now.Sub(w.samples[0].at) < w.length {
		return nil
	}
	means := map[string]float64{}
	for i, s := range w.samples[1:] {
		part := s.at.Sub(w.samples[i].at).Seconds() / now.Sub(w.samples[0].at).Seconds()
		for name, n := range s.lanes {
			means[name] += n * part
		}
	}
	return means
}

// spread returns the largest difference to the mean of n processes, in percent of the mean.
func spread(means map[string]float64, n int) float64 {
	if len(means) != n {
		return 100
	}
	var sum, most float64
	for _, m := range means {
		sum += m
	}
	mean := sum / float64(n)
	for _, m := range means {
		most = max(most, 100*(m-mean)/mean, 100*(mean-m)/mean)
	}
	return most
}

const fairSample = 100 * time.Millisecond // interval of the samples

// until waits until the mean numbers of lanes over a time differ by at most limit percent between n processes. It returns the time since
// the call and the last spread.
func (f *fairFleet) until(length time.Duration, n int, limit float64, within time.Duration) (took time.Duration, last float64) {
	f.t.Helper()
	begun, w := time.Now(), window{length: length}
	for time.Since(begun) < within {
		if means := w.add(f.lanes()); means != nil {
			if last = spread(means, n); last <= limit {
				break
			}
		}
		time.Sleep(fairSample)
	}
	return time.Since(begun), last
}

// TestFleet_SharesLanes checks that each of the processes of a fleet gets its part of the lanes, and so does a process that starts later.
func TestFleet_SharesLanes(t *testing.T) {
	t.Parallel() // it mostly waits
	const processes, apps = 4, 80
	f := newFairFleet(t, processes, apps, fairAnswer, fleetOrders{})
	require.NoError(t, f.assign(t.Context(), apps, 0, fairUsers))
	_, last := f.until(3*time.Second, processes, fairTolerance, 4*deadline)
	require.LessOrEqual(t, last, fairTolerance)
	f.fleet.add()
	_, last = f.until(3*time.Second, processes+1, fairTolerance, 4*deadline)
	require.LessOrEqual(t, last, fairTolerance)
	_, violations := f.target.counts()
	require.Empty(t, violations)
}

// fairTolerance is the largest allowed difference between a process and the mean, in percent.
const fairTolerance = 20.0

// fairWork is a way to give work to lanes.
type fairWork struct {
	name string
	// assign assigns users until ctx ends.
	assign func(ctx context.Context, f *fairFleet, apps int) error
}

var fairWorks = []fairWork{
	{"always", func(ctx context.Context, f *fairFleet, apps int) error { return f.assign(ctx, apps, 0, fairUsers) }},
	{"random", func(ctx context.Context, f *fairFleet, apps int) error {
		for n := 0; ctx.Err() == nil; n++ {
			next := time.Now().Add(rand.N(2 * fairEvery / time.Duration(apps)))
			if err := f.assignOne(ctx, rand.IntN(apps), n, n+1); err != nil {
				return err
			}
			time.Sleep(time.Until(next)) // the pace of the changes
		}
		return nil
	}},
	{"together", func(ctx context.Context, f *fairFleet, apps int) error {
		for n := 0; ctx.Err() == nil; n++ {
			next := time.Now().Add(fairEvery)
			if err := f.assign(ctx, apps, n, n+1); err != nil {
				return err
			}
			time.Sleep(time.Until(next)) // the pace of the changes
		}
		return nil
	}},
}

const (
	fairApps  = 440
	fairUsers = 60
	fairEvery = 6 * time.Second // mean time between two changes of an app
)

// BenchmarkFleetShares measures the spread of the mean number of running lanes over 10 s: the difference between a process and the mean of
// all, in percent of the mean. Four processes on PostgreSQL have 440 lanes that always have work, or that work for about 4 s of every 6 s,
// at random times or all at the same times. Then a fifth process starts: s-to-part is the time until the spread over 5 s is at most 20.
func BenchmarkFleetShares(b *testing.B) {
	for _, c := range fairWorks {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				f := newFairFleet(b, 4, fairApps, fairAnswer, fleetOrders{})
				ctx, stop := context.WithCancel(b.Context())
				var working sync.WaitGroup
				working.Go(func() {
					if err := c.assign(ctx, f, fairApps); err != nil && ctx.Err() == nil {
						b.Error(err)
					}
				})
				time.Sleep(takeoverLimit) // within this time the processes distribute the lanes
				var worst, lanes float64
				w := window{length: 10 * time.Second}
				for begun := time.Now(); time.Since(begun) < 3*w.length; time.Sleep(fairSample) {
					if means := w.add(f.lanes()); means != nil {
						worst = max(worst, spread(means, 4))
						lanes = 0
						for _, m := range means {
							lanes += m
						}
					}
				}
				f.fleet.add()
				took, last := f.until(5*time.Second, 5, fairTolerance, time.Minute)
				b.ReportMetric(lanes, "lanes")
				b.ReportMetric(worst, "%-spread")
				b.ReportMetric(took.Seconds(), "s-to-part")
				b.ReportMetric(last, "%-spread-5")
				stop()
				working.Wait()
			}
		})
	}
}
